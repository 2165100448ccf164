/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "../../daemon/base/size.h"
#include "book-world.h"

struct world world;

static uint64_t now_usec(void)
{
	return world.now_usec;
}

static uint64_t now_realtime_usec(void)
{
	return 1000 * world.now_usec;
}

void world_reset(void)
{
	world = (struct world){
		.quota = { UINT_MAX, UINT64_MAX },
		.store_room = SIZE_MAX,
		.now_usec = 1000000,
	};
	fake_regions_reset();
}

void world_end(void)
{
	world_kill();
	while (world.nr_clients > 0)
		world_close(&world.clients[0]);
	for (size_t i = 0; i < world.nr_kept; i++)
		(void) fd_close(world.kept[i].fd);
	free(world.kept);
	world.kept = NULL;
	world.nr_kept = world.kept_max = 0;
}

size_t world_add_share(const char *pool, unsigned node_id, enum plan_page page,
                       uint64_t region_bytes, size_t nr_regions)
{
	must(world.nr_config < WORLD_SHARES_MAX);
	world.config[world.nr_config] = (struct world_share){
		pool,         node_id,    page, page == PLAN_PAGE_BASE ? 4 * KIB : 2 * MIB,
		region_bytes, nr_regions,
	};
	return world.nr_config++;
}

/* --- the service manager --- */

void world_keep(const char *name, int fd)
{
	struct world_kept *kept;

	if (world.nr_kept == world.kept_max) {
		world.kept_max = world.kept_max ? 2 * world.kept_max : 32;
		world.kept = reallocarray(world.kept, world.kept_max, sizeof(*world.kept));
		must(world.kept);
	}
	kept = &world.kept[world.nr_kept++];
	must(strlen(name) < sizeof(kept->name));
	strcpy(kept->name, name);
	kept->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	must(kept->fd >= 0);
}

static int manager_put(void *arg, const char *name, int fd)
{
	must(arg == &world);
	if (world.put_error)
		return -world.put_error;
	if (fake_step() && world.nr_kept < world.store_room)
		world_keep(name, fd);
	return 0;
}

static void drop(size_t i)
{
	(void) fd_close(world.kept[i].fd);
	world.nr_kept--;
	memmove(&world.kept[i], &world.kept[i + 1], (world.nr_kept - i) * sizeof(*world.kept));
}

static void manager_remove(void *arg, const char *name)
{
	must(arg == &world);
	if (!fake_step())
		return;
	for (size_t i = world.nr_kept; i-- > 0;)
		if (strcmp(world.kept[i].name, name) == 0)
			drop(i);
}

static const struct store_ops manager_ops = { .put = manager_put, .remove = manager_remove };

static size_t find_kept(const char *kind, uint64_t id)
{
	char name[40];

	(void) snprintf(name, sizeof(name), "%s-%016" PRIx64, kind, id);
	for (size_t i = 0; i < world.nr_kept; i++)
		if (strcmp(world.kept[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}

bool world_keeps(const char *kind, uint64_t id)
{
	return find_kept(kind, id) != SIZE_MAX;
}

size_t world_nr_kept(void)
{
	return world.nr_kept;
}

void world_lose(const char *kind, uint64_t id)
{
	size_t i = find_kept(kind, id);

	must(i != SIZE_MAX);
	drop(i);
}

void world_shuffle(unsigned seed)
{
	for (size_t i = world.nr_kept; i > 1; i--) {
		size_t other = (seed = seed * 1103515245U + 12345U) / 65536U % i;
		struct world_kept kept = world.kept[i - 1];

		world.kept[i - 1] = world.kept[other];
		world.kept[other] = kept;
	}
}

/* --- the daemon --- */

static void open_store(void)
{
	scoped(freep) int *fds = calloc(world.nr_kept + 1, sizeof(*fds));
	scoped(freep) const char **names = calloc(world.nr_kept + 1, sizeof(*names));
	size_t nr = world.has_no_store ? 0 : world.nr_kept;

	for (size_t i = 0; i < nr; i++) {
		fds[i] = fcntl(world.kept[i].fd, F_DUPFD_CLOEXEC, 0);
		must(fds[i] >= 0);
		names[i] = world.kept[i].name;
	}
	must(store_new(world.has_no_store ? NULL : &manager_ops, &world, fds, names, nr,
	               &world.store) == 0);
}

static void open_record(void)
{
	int fd = store_take_state(world.store);
	uint32_t version;

	if (fd < 0)
		must(record_new(&world.record) == 0);
	else
		must(record_open(fd, &world.record, &world.nr_damaged, &version) == 0);
}

void world_start(void)
{
	struct book_setup setup = {
		.memory = &fake_memory,
		.now_monotonic_usec = now_usec,
		.now_realtime_usec = now_realtime_usec,
	};

	open_store();
	open_record();
	setup.store = world.store;
	setup.record = world.record;
	must(book_new(&setup, &world.book) == 0);
	/* A new book has no limits of its own. */
	if (world.quota.nr_leases != UINT_MAX)
		book_set_quota(world.book, &world.quota);
	fake_regions_set_last_id(record_last_id(world.record));
	(void) store_put_state(world.store, record_fd(world.record));
	for (size_t i = 0; i < world.nr_config; i++) {
		const struct world_share *config = &world.config[i];

		world.shares[i] = fake_share_new(config->node_id, config->page, config->page_bytes,
		                                 config->region_bytes, config->nr_regions);
	}
	if (world.before_restore)
		world.before_restore();
	for (size_t i = 0; i < world.nr_config; i++)
		book_restore_share(world.book, world.shares[i], world.config[i].pool);
	book_restore_end(world.book, &world.restored);
}

void world_kill(void)
{
	world.book = book_free(world.book);
	world.record = record_free(world.record);
	world.store = store_free(world.store);
	for (size_t i = 0; i < WORLD_SHARES_MAX; i++) {
		if (world.shares[i])
			region_keep_memory(world.shares[i]);
		world.shares[i] = fake_share_free(world.shares[i]);
	}
}

void world_restart(void)
{
	world_kill();
	fake_end_after(UINT_MAX);
	world_start();
}

int world_lease(uid_t uid, uint64_t bytes)
{
	struct world_client *client = &world.clients[world.nr_clients];
	struct book_request request = { .bytes = bytes, .uid = uid, .pid = 100 + (pid_t) uid };
	struct book_grant grant;
	int r, quota = 0;

	must(world.nr_clients < WORLD_CLIENTS_MAX);
	request.pool = world.nr_config > 0 ? world.config[0].pool : "";
	r = book_grant(world.book, &request, world.shares, world.nr_config, &grant, &quota);
	if (r < 0)
		return r;
	*client = (struct world_client){ grant.id, grant.bytes, uid, grant.lifetime_fd,
		                         grant.memory_fd };
	world.nr_clients++;
	fake_memory_use(grant.id, 1);
	return 0;
}

void world_close_lifetime(struct world_client *client)
{
	client->lifetime_fd = fd_close(client->lifetime_fd);
}

void world_close(struct world_client *client)
{
	world_close_lifetime(client);
	fake_memory_use(client->id, -1);
	(void) fd_close(client->memory_fd);
	*client = world.clients[--world.nr_clients];
}

struct world_client *world_client(uint64_t id)
{
	for (size_t i = 0; i < world.nr_clients; i++)
		if (world.clients[i].id == id)
			return &world.clients[i];
	ck_abort_msg("no client has lease %" PRIu64, id);
}

static void on_event(void *arg, const struct book_event *event)
{
	must(arg == &world);
	world.nr_ended += event->what == BOOK_LEASE_ENDED;
	world.nr_over += event->what == BOOK_LEASE_OVER;
	world.last_event = event->lease;
}

uint64_t world_poll(uint64_t usec)
{
	uint64_t next_usec;

	world.now_usec += usec;
	next_usec = book_poll(world.book, on_event, &world);
	return next_usec == UINT64_MAX ? next_usec : bytes_left(next_usec, world.now_usec);
}

void world_poll_out(void)
{
	uint64_t wait_usec = 0;

	for (unsigned n = 0; n < 10000; n++) {
		wait_usec = world_poll(wait_usec);
		if (wait_usec == UINT64_MAX)
			return;
	}
	ck_abort_msg("it never ends");
}

void world_news(void)
{
	for (size_t i = 0; i < world.nr_config; i++)
		book_take_news(world.book, world.shares[i], world.config[i].pool);
}

unsigned world_recorded(uint64_t id)
{
	const struct record_entry *entry = record_get(world.record, id);

	return entry ? (unsigned) entry->state : 0;
}

struct lease world_find(uint64_t id)
{
	struct lease lease;

	must(book_find(world.book, id, &lease) == 0);
	return lease;
}

size_t world_nr_fds(void)
{
	scoped(dir_closep) DIR *dir = opendir("/proc/self/fd");
	size_t nr = 0;

	must(dir);
	while (readdir(dir))
		nr++;
	return nr;
}

void world_start_full(enum plan_page page, uint64_t region_bytes, size_t nr_regions)
{
	world_reset();
	(void) world_add_share("guests", 0, page, region_bytes, nr_regions);
	world_start();
	fake_share_fill_all(world.shares[0]);
	world_news();
}

uint64_t world_lease_id(uid_t uid)
{
	ck_assert_int_eq(world_lease(uid, 0), 0);
	return world.clients[world.nr_clients - 1].id;
}

struct region_counts world_counts(unsigned i)
{
	struct region_counts counts;

	region_count_states(world.shares[i], &counts);
	return counts;
}

void world_expect_sums(const char *pool, unsigned node_id, uint64_t leased_bytes,
                       uint64_t draining_bytes)
{
	uint64_t leased, draining;

	book_sums(world.book, pool, node_id, &leased, &draining);
	ck_assert_uint_eq(leased, leased_bytes);
	ck_assert_uint_eq(draining, draining_bytes);
}
