/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "scene-leases.h"

#define LIFETIME_LIMIT_MSEC 20000

/* A new lifetime: our end is kept, in place of the oldest one. Return: the client's end. */
static int begin_lifetime(struct scene_leases *leases)
{
	int *ours = &leases->lifetimes[leases->nr_lent % SCENE_LIFETIMES_MAX];
	int fds[2];

	if (leases->nr_lent >= SCENE_LIFETIMES_MAX)
		(void) close(*ours);
	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	*ours = fds[0];
	leases->nr_lent++;
	return fds[1];
}

static void answer(struct scene *scene, struct lease_call *call)
{
	struct scene_leases *leases = &scene->leases;
	struct lease_answer lent = { .node_id = 3, .bytes = 4096 };
	char id[24];

	if (leases->error) {
		leases->result = bus_service_answer_lease(scene->service, call, leases->error,
		                                          scene->sentence, NULL);
		return;
	}
	if (leases->memory < 0)
		leases->memory = memfd_create("region", MFD_CLOEXEC);
	ck_assert_int_ge(leases->memory, 0);
	lent.memory_fd = leases->memory;
	lent.lifetime_fd = begin_lifetime(leases);
	(void) snprintf(id, sizeof(id), "%u", leases->nr_lent);
	lent.id = id;
	leases->result = bus_service_answer_lease(scene->service, call, 0, NULL, &lent);
	(void) close(lent.lifetime_fd);
}

void scene_lease(void *arg, struct lease_call *call, const struct lease_request *request)
{
	struct scene *scene = arg;
	struct scene_leases *leases = &scene->leases;

	leases->nr_requests++;
	leases->request = *request;
	leases->request.gids = NULL; /* borrowed until we return */
	(void) snprintf(leases->pool, sizeof(leases->pool), "%s", request->pool);
	for (size_t i = 0; i < request->nr_gids && i < ELEMENTS(leases->gids); i++)
		leases->gids[i] = request->gids[i];
	if (leases->hook)
		leases->hook(scene);
	if (!leases->is_late) {
		answer(scene, call);
		return;
	}
	ck_assert_uint_lt(leases->nr_calls, SCENE_CALLS_MAX);
	leases->calls[leases->nr_calls++] = call;
}

static void remove_call(struct scene_leases *leases, unsigned i)
{
	ck_assert_uint_lt(i, leases->nr_calls);
	leases->nr_calls--;
	memmove(&leases->calls[i], &leases->calls[i + 1],
	        (leases->nr_calls - i) * sizeof(leases->calls[0]));
}

void scene_answer_lease(struct scene *scene, unsigned i)
{
	struct lease_call *call = scene->leases.calls[i];

	remove_call(&scene->leases, i);
	answer(scene, call);
}

void scene_lease_cancelled(void *arg, struct lease_call *call)
{
	struct scene_leases *leases = &((struct scene *) arg)->leases;
	unsigned i = 0;

	leases->nr_cancelled++;
	while (i < leases->nr_calls && leases->calls[i] != call)
		i++;
	remove_call(leases, i); /* one that was answered is not cancelled as well */
}

void scene_lease_unit(void *arg, const char *id, const char *unit)
{
	struct scene_leases *leases = &((struct scene *) arg)->leases;

	leases->nr_units++;
	(void) snprintf(leases->unit_id, sizeof(leases->unit_id), "%s", id);
	(void) snprintf(leases->unit, sizeof(leases->unit), "%s", unit);
}

int scene_list_leases(void *arg, struct lease_view **ret, size_t *ret_nr)
{
	const struct scene_leases *leases = &((struct scene *) arg)->leases;
	struct lease_view *views = calloc(leases->nr_listed + 1, sizeof(*views));

	ck_assert_ptr_nonnull(views);
	for (unsigned i = 0; i < leases->nr_listed; i++) {
		views[i] = (struct lease_view){
			.pool = "guests",
			.node_id = 3,
			.bytes = 4096,
			.state = i == 0 ? "draining" : "leased",
			.uid = 1000,
			.pid = 77,
			.unit = i == 0 ? "" : "guest-with-a-long-name@17.service",
			.since_realtime_usec = 5,
			.since_monotonic_usec = 6,
		};
		(void) snprintf(views[i].id, sizeof(views[i].id), "%u", i + 1);
	}
	*ret = views;
	*ret_nr = leases->nr_listed;
	return 0;
}

int scene_lease_owner(void *arg, const char *id, uid_t *ret_uid)
{
	const struct scene_leases *leases = &((struct scene *) arg)->leases;

	/* Numbers only: the manager need not look for what cannot be. */
	ck_assert_uint_gt(strlen(id), 0);
	ck_assert_uint_le(strlen(id), 20);
	ck_assert_uint_eq(strspn(id, "0123456789"), strlen(id));
	if (strcmp(id, "7") != 0)
		return -ESRCH;
	*ret_uid = leases->owner;
	return 0;
}

int scene_release(void *arg, const char *id, char **ret_sentence)
{
	struct scene *scene = arg;

	scene->leases.nr_releases++;
	(void) snprintf(scene->leases.released_id, sizeof(scene->leases.released_id), "%s", id);
	if (scene->result < 0 && scene->sentence)
		*ret_sentence = strdup(scene->sentence);
	return scene->result;
}

static unsigned nr_kept(const struct scene_leases *leases)
{
	return leases->nr_lent < SCENE_LIFETIMES_MAX ? leases->nr_lent : SCENE_LIFETIMES_MAX;
}

/* The ends that have not hung up. Return: how many. */
static unsigned find_open(const struct scene_leases *leases, struct pollfd *ret)
{
	unsigned nr_open = 0;

	for (unsigned i = 0; i < nr_kept(leases); i++) {
		struct pollfd end = { .fd = leases->lifetimes[i] };

		if (poll(&end, 1, 0) == 0)
			ret[nr_open++] = end;
	}
	return nr_open;
}

unsigned scene_open_lifetimes(const struct scene *scene)
{
	struct pollfd ends[SCENE_LIFETIMES_MAX];

	return find_open(&scene->leases, ends);
}

void scene_await_lifetimes(const struct scene *scene, unsigned nr_open)
{
	struct pollfd ends[SCENE_LIFETIMES_MAX];
	unsigned nr_now;

	while ((nr_now = find_open(&scene->leases, ends)) > nr_open)
		ck_assert_msg(poll(ends, nr_now, LIFETIME_LIMIT_MSEC) > 0,
		              "%u lifetimes are open, %u should be", nr_now, nr_open);
	ck_assert_uint_eq(nr_now, nr_open);
}

void scene_leases_clear(struct scene_leases *leases)
{
	for (unsigned i = 0; i < nr_kept(leases); i++)
		(void) close(leases->lifetimes[i]);
	(void) fd_close(leases->memory);
}
