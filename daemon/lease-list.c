/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What clients see of the leases, and how they end one. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "manager-state.h"

/* Decimal, as in the answer to Lease. Return: 0 for what is no id. */
static uint64_t id_parse(const char *text)
{
	unsigned long long id;
	char *end;

	if (*text < '1' || *text > '9')
		return 0;
	errno = 0;
	id = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' ? id : 0;
}

static int find_lease(const struct manager *manager, const char *id, struct lease *ret)
{
	if (!manager->leases.book || id_parse(id) == 0)
		return -ESRCH;
	return book_find(manager->leases.book, id_parse(id), ret) < 0 ? -ESRCH : 0;
}

void lease_calls_unit(void *arg, const char *id, const char *unit)
{
	const struct manager *manager = arg;

	if (manager->leases.book)
		(void) book_set_unit(manager->leases.book, id_parse(id), unit);
}

int lease_calls_list(void *arg, struct lease_view **ret, size_t *ret_nr)
{
	const struct manager *manager = arg;
	size_t nr = manager->leases.book ? book_nr(manager->leases.book) : 0;
	struct lease_view *views = calloc(nr + 1, sizeof(*views));
	struct lease lease;

	if (!views)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		book_at(manager->leases.book, i, &lease);
		views[i] = (struct lease_view){
			.pool = lease.pool,
			.node_id = lease.node_id,
			.bytes = lease.bytes,
			.state = lease_state_text(lease.state),
			.uid = lease.uid,
			.pid = lease.pid,
			.unit = lease.unit,
			.since_realtime_usec = lease.since_realtime_usec,
			.since_monotonic_usec = lease.since_monotonic_usec,
		};
		(void) snprintf(views[i].id, sizeof(views[i].id), "%" PRIu64, lease.id);
	}
	*ret = views;
	*ret_nr = nr;
	return 0;
}

int lease_calls_owner(void *arg, const char *id, uid_t *ret_uid)
{
	struct lease lease;
	int r;

	r = find_lease(arg, id, &lease);
	if (r < 0)
		return r;
	*ret_uid = lease.uid;
	return 0;
}

int lease_calls_release(void *arg, const char *id, char **ret_sentence)
{
	struct manager *manager = arg;
	struct lease lease;
	int r;

	r = find_lease(manager, id, &lease);
	if (r < 0)
		return r;
	r = book_release(manager->leases.book, lease.id);
	if (r == -EALREADY)
		(void) (asprintf(
				ret_sentence,
				"lease %s was ended already; its memory drains until nobody has it",
				id) < 0);
	if (r == 0 && book_find(manager->leases.book, lease.id, &lease) == 0)
		leases_report_ended(&lease);
	manager_look_soon(manager);
	return r;
}
