/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * SIGKILL at any moment of filling, leasing, returning and starting, with a store that loses,
 * shuffles and repeats. What has to hold is looked at after each start, when all has come to rest:
 *
 *     who leased still has what it wrote, and is listed, unless the store lost its lifetime
 *     regions that were ready or half filled, and whose descriptor was kept, are the same ones
 *     no two lessees have the same memory, and what is leased anew is zero
 *     the daemon and the store have the descriptors of what there is, and no other
 */
#include <check.h>
#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "../../dbus/names.h"
#include "lease-scene.h"
#include "record-copy.h"
#include "suite.h"

#define NR_ROUNDS    200
#define NR_SLOW      40 /* with a sanitizer, which makes each start slow */
#define LESSEES_MAX  12
#define PENDING_MAX  3
#define RECORDED_MAX 1024
#define IDS_MAX      (1 << 20) /* from the first lease's on; a lost record skips some */

static struct daemon_fixture d;
static unsigned seed;

struct test_pool {
	const char *name;
	const char *size;
	const char *region_size;
	uint64_t region_bytes;
	uint64_t total_bytes;
};

static struct test_pool pools[] = {
	{ "bulk", "48M", "16M", 16 * MIB, 0 },
	{ "small", "16M", "1M", MIB, 0 },
};

struct lessee {
	struct daemon_lease lease;
	unsigned seed;
	size_t pool;
	bool has_ended;    /* its lifetime was closed, lost by the store, or it was released */
	bool is_lost;      /* the store lost its region: only the record knows of it */
	bool is_forgotten; /* the store lost the record */
};

static struct lessee lessees[LESSEES_MAX];
static size_t nr_lessees;

/* A call of Lease that is not waited for. */
struct pending {
	sd_bus_message *answer;
	size_t pool;
};

static struct pending pending[PENDING_MAX];
static size_t nr_pending;

/* What has to be there after the next start: regions by name and inode. */
static struct kept {
	char name[32];
	uint64_t inode;
} kept[RECORDED_MAX];
static size_t nr_kept;

static unsigned long base_id;
static bool is_id_used[IDS_MAX]; /* by id - base_id */
static size_t nr_base_fds;

static unsigned any(unsigned nr)
{
	return (unsigned) rand_r(&seed) % nr;
}

/* --- lessees --- */

static void add_lessee(const struct daemon_lease *lease, size_t pool)
{
	unsigned long id = strtoul(lease->id, NULL, 10);
	uint64_t inode = scene_inode(lease->memory_fd);

	if (base_id == 0)
		base_id = id - IDS_MAX / 2;
	ck_assert_uint_lt(id - base_id, IDS_MAX);
	ck_assert_msg(!is_id_used[id - base_id], "region %lu is leased a second time", id);
	is_id_used[id - base_id] = true;
	for (size_t i = 0; i < nr_lessees; i++)
		ck_assert_uint_ne(scene_inode(lessees[i].lease.memory_fd), inode);
	scene_expect_zero(lease);
	ck_assert_uint_lt(nr_lessees, LESSEES_MAX);
	lessees[nr_lessees] = (struct lessee){ *lease, (unsigned) id, pool, false, false, false };
	scene_write_pattern(lease, lessees[nr_lessees].seed);
	nr_lessees++;
}

static void drop_lessee(size_t at)
{
	scene_expect_pattern(&lessees[at].lease, lessees[at].seed);
	daemon_lease_close(&lessees[at].lease);
	lessees[at] = lessees[--nr_lessees];
}

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	(void) ret_error;
	((struct pending *) userdata)->answer = sd_bus_message_ref(reply);
	return 0;
}

static void ask(void)
{
	const struct daemon_lease_options options = { .may_wait = any(2) };
	scoped(sd_bus_message_unrefp) sd_bus_message *call = NULL;
	struct pending *next = &pending[nr_pending];

	if (nr_pending == PENDING_MAX || nr_lessees + nr_pending >= LESSEES_MAX)
		return;
	next->answer = NULL;
	next->pool = any(ELEMENTS(pools));
	call = daemon_lease_call(daemon_client(&d), pools[next->pool].name, 0, &options);
	ck_assert_int_ge(sd_bus_call_async(d.client, NULL, call, on_answer, next, 0), 0);
	ck_assert_int_ge(sd_bus_flush(d.client), 0);
	nr_pending++;
}

/* What the daemon answered before it was killed counts; the rest is answered by the bus. */
static void collect_answers(void)
{
	uint64_t end_usec = clock_monotonic_usec() + DAEMON_LIMIT_MSEC * UINT64_C(1000);

	for (size_t i = 0; i < nr_pending; i++) {
		struct daemon_lease lease;

		while (!pending[i].answer) {
			int r = sd_bus_process(d.client, NULL);

			ck_assert_int_ge(r, 0);
			ck_assert_msg(clock_monotonic_usec() < end_usec, "a call is not answered");
			if (r == 0 && !pending[i].answer)
				ck_assert_int_ge(sd_bus_wait(d.client, 1000000), 0);
		}
		if (!sd_bus_message_is_method_error(pending[i].answer, NULL)) {
			daemon_lease_read(pending[i].answer, &lease);
			add_lessee(&lease, pending[i].pool);
		}
		pending[i].answer = sd_bus_message_unref(pending[i].answer);
	}
	nr_pending = 0;
}

static void release(struct lessee *lessee)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r = daemon_release(&d, lessee->lease.id, &error);

	ck_assert_msg(r == 0 || lessee->has_ended, "ReleaseLease: %s", error.message);
	lessee->has_ended |= r == 0;
	sd_bus_error_free(&error);
}

static void act(void)
{
	size_t at = nr_lessees ? any((unsigned) nr_lessees) : 0;

	switch (any(6)) {
	case 0:
	case 1:
	case 2:
		ask();
		break;
	case 3:
		if (nr_lessees > 0)
			drop_lessee(at);
		break;
	case 4: /* keeps the memory */
		if (nr_lessees > 0) {
			lessees[at].lease.lifetime_fd = fd_close(lessees[at].lease.lifetime_fd);
			lessees[at].has_ended = true;
		}
		break;
	default: /* numbers begin anew with a new record: it may be somebody else's by now */
		if (nr_lessees > 0 && d.pid > 0 && !lessees[at].is_forgotten)
			release(&lessees[at]);
	}
}

/* --- the store, while there is no daemon --- */

static void lose(const char *pattern)
{
	(void) daemon_store_drop(&d, pattern, 1 + any(4), any(1U << 30));
}

static void spoil_store(void)
{
	if (any(3) == 0)
		lose("region-*");
	if (any(3) == 0)
		lose("lifetime-*");
	if (any(20) == 0)
		lose("state");
	if (any(4) == 0)
		daemon_store_shuffle(&d, any(1U << 30));
	if (any(4) == 0) {
		scoped(freep) char *names = daemon_store_names(&d);
		char *rest = names, *name;

		while ((name = strsep(&rest, "\n")) && *name)
			if (any(4) == 0)
				(void) daemon_store_duplicate(&d, name);
	}
}

static bool is_in_store(const char *kind, const char *id)
{
	char name[32];

	(void) snprintf(name, sizeof(name), "%s-%016lx", kind, strtoul(id, NULL, 10));
	return daemon_store_nr(&d, name) > 0;
}

/* Whatever moment it was killed at, what was handed out was in the store before. */
static void expect_stored(void)
{
	for (size_t i = 0; i < nr_lessees; i++) {
		const struct lessee *lessee = &lessees[i];

		if (lessee->is_forgotten)
			continue;
		ck_assert_msg(lessee->has_ended || is_in_store("lifetime", lessee->lease.id),
		              "the lifetime of lease %s is not in the store", lessee->lease.id);
		ck_assert_msg(lessee->is_lost || is_in_store("region", lessee->lease.id),
		              "the region of lease %s is not in the store", lessee->lease.id);
	}
}

static void expect_from_store(void)
{
	scoped(record_freep) struct record *record = record_copy(&d);

	for (size_t i = 0; i < nr_lessees; i++) {
		struct lessee *lessee = &lessees[i];

		if (!record) {
			lessee->is_forgotten = true;
			continue;
		}
		ck_assert_msg(lessee->is_forgotten || lessee->has_ended ||
		                      record_get(record, strtoul(lessee->lease.id, NULL, 10)),
		              "lease %s was handed out and is not on record", lessee->lease.id);
		lessee->has_ended |= !is_in_store("lifetime", lessee->lease.id);
		lessee->is_lost |= !is_in_store("region", lessee->lease.id);
	}
	if (!record)
		memset(is_id_used, 0, sizeof(is_id_used));

	nr_kept = 0;
	for (size_t i = 0; record && i < record_nr(record); i++) {
		const struct record_entry *entry = record_at(record, i);
		struct kept *next = &kept[nr_kept];
		scoped(fd_closep) int fd = -1;

		(void) snprintf(next->name, sizeof(next->name), "region-%016" PRIx64, entry->id);
		fd = daemon_store_get(&d, next->name);
		if (fd < 0 || (entry->state != RECORD_READY && entry->state != RECORD_FILLING))
			continue;
		next->inode = scene_inode(fd);
		ck_assert_uint_lt(++nr_kept, RECORDED_MAX);
	}
}

/* --- after a start, when all has come to rest --- */

static size_t nr_daemon_fds(void)
{
	char path[64];
	size_t nr = 0;
	DIR *directory;

	(void) snprintf(path, sizeof(path), "/proc/%d/fd", (int) d.pid);
	directory = opendir(path);
	ck_assert_ptr_nonnull(directory);
	while (readdir(directory))
		nr++;
	ck_assert_int_eq(closedir(directory), 0);
	return nr;
}

/* What a pool has to come to, with who is there now. */
static void wait_at_rest(const struct test_pool *pool)
{
	uint64_t leased_bytes = 0, draining_bytes = 0;

	for (size_t i = 0; i < nr_lessees; i++) {
		const struct lessee *lessee = &lessees[i];

		if (&pools[lessee->pool] != pool || lessee->is_forgotten)
			continue;
		if (!lessee->has_ended)
			leased_bytes += lessee->lease.bytes;
		else if (!lessee->is_lost)
			draining_bytes += lessee->lease.bytes;
	}
	scene_wait_pool_bytes(&d, pool->name, "BytesLeased", leased_bytes);
	scene_wait_pool_bytes(&d, pool->name, "BytesDraining", draining_bytes);
	scene_wait_pool_bytes(&d, pool->name, "BytesDone", pool->total_bytes - draining_bytes);
	ck_assert_uint_eq(scene_pool_bytes(&d, pool->name, "BytesShort"), 0);
}

/* Return: how many are leased, and not draining. */
static size_t expect_lessees(void)
{
	scoped(freep) struct daemon_lease_line *lines = NULL;
	size_t nr_lines = daemon_leases(&d, &lines), nr_leased = 0, nr_listed = 0;

	for (size_t i = 0; i < nr_lessees; i++) {
		const struct lessee *lessee = &lessees[i];
		const char *state = lessee->has_ended ? "draining" : "leased";

		scene_expect_pattern(&lessee->lease, lessee->seed);
		if (lessee->is_forgotten || (lessee->has_ended && lessee->is_lost))
			continue;
		nr_listed++;
		nr_leased += !lessee->has_ended;
		ck_assert_str_eq(scene_lease_state(&d, lessee->lease.id), state);
	}
	ck_assert_uint_eq(nr_lines, nr_listed);
	return nr_leased;
}

static void expect_kept(void)
{
	for (size_t i = 0; i < nr_kept; i++) {
		scoped(fd_closep) int fd = daemon_store_get(&d, kept[i].name);

		ck_assert_msg(fd >= 0, "%s was made anew", kept[i].name);
		ck_assert_uint_eq(scene_inode(fd), kept[i].inode);
	}
}

static void start_and_expect(void)
{
	size_t nr_regions = 0, nr_leased;

	daemon_forget_notified(&d);
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	daemon_wait_state(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ready");
	for (size_t i = 0; i < ELEMENTS(pools); i++) {
		pools[i].total_bytes = scene_pool_bytes(&d, pools[i].name, "BytesTotal");
		nr_regions += pools[i].total_bytes / pools[i].region_bytes;
		wait_at_rest(&pools[i]);
	}
	nr_leased = expect_lessees();
	expect_kept();
	daemon_store_wait(&d, "region-*", nr_regions);
	daemon_store_wait(&d, "lifetime-*", nr_leased);
	daemon_store_wait(&d, "*", nr_regions + nr_leased + 1);
	if (nr_base_fds == 0)
		nr_base_fds = nr_daemon_fds() - nr_leased;
	ck_assert_uint_eq(nr_daemon_fds(), nr_base_fds + nr_leased);
}

/* Let it run for a while of which nobody knows where it ends, and kill it. */
static void run_and_kill(unsigned max_usec)
{
	scoped(fd_closep) int pid_fd = (int) syscall(SYS_pidfd_open, d.pid, 0);
	struct pollfd poll_fd = { .fd = pid_fd, .events = POLLIN };
	struct timespec span = { .tv_nsec = (long) any(max_usec) * 1000 };

	ck_assert_int_eq(ppoll(&poll_fd, 1, &span, NULL), 0);
	ck_assert_int_eq(daemon_end(&d, SIGKILL), 128 + SIGKILL);
	collect_answers();
}

static void one_round(void)
{
	for (unsigned nr = any(7); nr > 0; nr--)
		act();
	run_and_kill(any(2) ? 2000 : 30000);
	for (unsigned nr = any(3); nr > 0; nr--)
		if (nr_lessees > 0)
			act();
	collect_answers();
	expect_stored();
	spoil_store();
	expect_from_store();
	if (any(3) == 0) { /* while it starts, or fills what was lost */
		daemon_launch(&d, NULL);
		run_and_kill(any(2) ? 8000 : 60000);
		expect_stored();
		spoil_store();
		expect_from_store();
	}
	start_and_expect();
}

static void setup(void)
{
	daemon_fixture_start(&d);
}

static void teardown(void)
{
	daemon_fixture_stop(&d);
}

START_TEST(test_a_kill_at_any_moment_loses_no_lease_and_fills_no_region_twice)
{
	const char *given = getenv("NODEINIT_SEED");
	unsigned nr_rounds = strcmp(NODEINIT_SANITIZE, "none") == 0 ? NR_ROUNDS : NR_SLOW;
	unsigned first_seed =
		given ? (unsigned) strtoul(given, NULL, 0) : (unsigned) clock_monotonic_usec();

	seed = first_seed;
	for (size_t i = 0; i < ELEMENTS(pools); i++)
		scene_write_pool(&d, pools[i].name, pools[i].size, pools[i].region_size, NULL);
	start_and_expect();
	for (unsigned round = 0; round < nr_rounds; round++) {
		printf("NODEINIT_SEED=%u: round %u, %zu lessees\n", first_seed, round, nr_lessees);
		(void) fflush(stdout);
		one_round();
	}
	while (nr_lessees > 0)
		drop_lessee(0);
	ck_assert_int_eq(daemon_end(&d, SIGKILL), 128 + SIGKILL);
	expect_from_store();
	start_and_expect();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon-kill");
	TCase *tc = tcase_create("kill");

	bus_fixture_require();
	tcase_set_timeout(tc, 280);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_a_kill_at_any_moment_loses_no_lease_and_fills_no_region_twice);
	suite_add_tcase(suite, tc);
	return suite_main(suite);
}
