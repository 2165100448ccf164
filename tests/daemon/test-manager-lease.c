/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What leases do to the state of pools and host, on a scripted memory. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../daemon/kinds/region.h"
#include "daemon-lease.h"
#include "manager-scene.h"
#include "suite.h"

#define REGION_BYTES (128 * MIB)
#define NODE_BYTES   GIB

/* Whether a thread can be made; the linker leads pthread_create() here (--wrap). */
static atomic_bool are_threads_short;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg)
{
	return are_threads_short ? EAGAIN : __real_pthread_create(thread, attributes, run, arg);
}

static unsigned nr_unready_looks; /* turns of the loop in which the host was not ready */

static bool is_whole(void)
{
	nr_unready_looks += !manager->is_ready;
	return manager->inventory.done_bytes == 2 * NODE_BYTES && is_settled() &&
	       !share_of("guests", 0)->is_refilling;
}

static bool is_draining(void)
{
	return inventory_pool(&manager->inventory, "guests")->draining_bytes > 0;
}

static bool is_host_failed(void)
{
	return !manager->is_ready && manager->inventory.state == SHARE_FAILED;
}

static unsigned nr_wanted_alive;
static bool is_wanted_alive(void)
{
	struct memory_model_counts counts;

	memory_model_counts(&counts);
	return counts.nr_alive == nr_wanted_alive && is_settled() &&
	       !share_of("guests", 0)->is_refilling;
}

static bool is_book_empty(void)
{
	return book_nr(manager->leases.book) == 0;
}

static void start_with_regions(void)
{
	daemon_write_pool(&d, "guests", region_pool);
	daemon_write_conf(&d, "[Daemon]\nRetry=0\nReserve=0\n");
	start();
	run_until(is_ready, "ready");
	nr_unready_looks = 0;
}

/* A lease of a region of node 0, whose only descriptors are the test's. */
static void lease(struct book_grant *ret)
{
	const struct book_request request = { .pool = "guests", .uid = getuid(), .pid = getpid() };
	struct share *share = share_of("guests", 0)->pieces[0].share;
	int quota;

	ck_assert_int_eq(book_grant(manager->leases.book, &request, &share, 1, ret, &quota), 0);
	ck_assert_uint_eq(ret->bytes, REGION_BYTES);
}

static void lease_end(struct book_grant *grant)
{
	(void) close(grant->memory_fd);
	(void) close(grant->lifetime_fd);
}

START_TEST(test_a_region_that_is_built_anew_changes_no_state)
{
	struct memory_model_counts counts;
	struct book_grant grant;
	unsigned nr_said;

	start_with_regions();
	/* here is no service manager's store, which is said */
	ck_assert_uint_eq(nr_lines_with("do not outlive this process"), 1);
	nr_said = nr_lines_with("pool guests");
	lease(&grant);
	manager_look(manager);
	ck_assert_uint_eq(share_of("guests", 0)->leased_bytes, REGION_BYTES);
	ck_assert_uint_eq(share_of("guests", 0)->done_bytes, NODE_BYTES);

	memory_model_set_in_use(UINT_MAX, 1);
	lease_end(&grant);
	run_until(is_draining, "draining");
	ck_assert_uint_eq(share_of("guests", 0)->draining_bytes, REGION_BYTES);
	ck_assert_uint_eq(share_of("guests", 0)->leased_bytes, 0);
	ck_assert_uint_eq(share_of("guests", 0)->done_bytes, NODE_BYTES - REGION_BYTES);
	ck_assert_uint_eq(share_of("guests", 0)->missing_bytes, 0);
	ck_assert_int_eq(share_of("guests", 0)->state, SHARE_READY);

	memory_model_set_in_use(UINT_MAX, 0);
	run_until(is_whole, "whole again");
	ck_assert_uint_eq(nr_unready_looks, 0);
	ck_assert_uint_eq(manager->completion.generation, 1);
	/* that the lease has ended is all that is said */
	ck_assert_uint_eq(nr_lines_with("pool guests"), nr_said + 1);
	memory_model_counts(&counts);
	ck_assert_uint_eq(counts.nr_made, 2 * NODE_BYTES / REGION_BYTES + 1);
	ck_assert_uint_eq(counts.nr_destroyed_in_use, 0);
}
END_TEST

/* Somebody else took the memory meanwhile: said, and tried again without anybody asking. */
START_TEST(test_a_region_that_cannot_be_built_anew_is_missing_until_it_can)
{
	struct book_grant grant;

	start_with_regions();
	manager->inventory.refill_wait_usec = 20000;
	lease(&grant);
	memory_model_limit(2 * NODE_BYTES - REGION_BYTES, ENOMEM);
	lease_end(&grant);
	run_until(is_host_failed, "failed");
	ck_assert_uint_eq(share_of("guests", 0)->missing_bytes, REGION_BYTES);
	ck_assert_uint_eq(nr_lines_with("pool guests, node 0: failed: 896 MiB of 1 GiB"), 1);

	memory_model_limit(UINT64_MAX, ENOMEM);
	run_until(is_whole, "whole again");
	ck_assert(manager->is_ready);
	ck_assert_uint_eq(share_of("guests", 0)->refill_usec, UINT64_MAX);
}
END_TEST

/* What was missing before is not tried again and again because of a lease. */
START_TEST(test_a_pool_that_was_short_before_a_lease_is_not_worked_on_for_ever)
{
	struct book_grant grant;

	memory_model_limit(2 * NODE_BYTES - REGION_BYTES, ENOMEM);
	daemon_write_pool(&d, "guests",
	                  "[Pool]\nKind=region\nPageSize=base\nSize=1G\nMinimum=512M\nEarly=none\n"
	                  "[Region]\nRegionSize=128M\n");
	/* one thread a node: two could leave two regions half filled each */
	daemon_write_conf(&d, "[Daemon]\nRetry=0\nReserve=0\nThreads=1\n");
	start();
	manager->inventory.refill_wait_usec = 1000;
	run_until(is_ready, "degraded");
	lease(&grant);
	lease_end(&grant);
	run_until(is_book_empty, "over");
	nr_wanted_alive = 2 * NODE_BYTES / REGION_BYTES - 1;
	run_until(is_wanted_alive, "built anew");
	for (unsigned i = 0; i < 50; i++) {
		manager_look(manager);
		ck_assert_uint_eq(share_of("guests", 0)->refill_usec, UINT64_MAX);
		(void) ev_run(loop, EVRUN_NOWAIT);
	}
}
END_TEST

START_TEST(test_a_reload_takes_from_ready_regions_and_leaves_those_that_are_leased)
{
	struct book_grant grants[6];
	struct memory_model_counts before, counts;

	start_with_regions();
	memory_model_set_in_use(UINT_MAX, 1);
	for (unsigned i = 0; i < ELEMENTS(grants); i++)
		lease(&grants[i]);
	daemon_write_pool(&d, "guests",
	                  "[Pool]\nKind=region\nPageSize=base\nSize=512M\n"
	                  "[Region]\nRegionSize=128M\n");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	/* node 0 keeps its six leased ones, node 1 four */
	nr_wanted_alive = 6 + 4;
	run_until(is_wanted_alive, "smaller");
	memory_model_counts(&before);
	ck_assert_uint_eq(share_of("guests", 0)->leased_bytes, 6 * REGION_BYTES);

	/* two are too many: only the other four are built anew */
	memory_model_set_in_use(UINT_MAX, 0);
	for (unsigned i = 0; i < ELEMENTS(grants); i++)
		lease_end(&grants[i]);
	run_until(is_book_empty, "over");
	nr_wanted_alive = 4 + 4;
	run_until(is_wanted_alive, "built anew");
	memory_model_counts(&counts);
	ck_assert_uint_eq(counts.nr_destroyed_in_use, before.nr_destroyed_in_use);
	ck_assert_uint_eq(share_of("guests", 0)->done_bytes, 4 * REGION_BYTES);
	ck_assert(manager->is_ready);
}
END_TEST

START_TEST(test_a_pool_that_leaves_takes_its_leased_regions_along_when_they_come_back)
{
	struct memory_model_counts counts;
	struct book_grant grant;

	start_with_regions();
	memory_model_set_in_use(UINT_MAX, 1);
	lease(&grant);
	daemon_remove_pool(&d, "guests");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_settled, "gone");
	memory_model_counts(&counts);
	ck_assert_uint_eq(counts.nr_alive, 1);
	ck_assert_uint_eq(book_nr(manager->leases.book), 1);
	/* nothing is to be done until it comes back */
	ck_assert(!inventory_is_busy(&manager->inventory));

	memory_model_set_in_use(UINT_MAX, 0);
	lease_end(&grant);
	while (book_nr(manager->leases.book) > 0 || manager->inventory.nr_leaving > 0)
		ev_run(loop, EVRUN_ONCE);
	memory_model_counts(&counts);
	ck_assert_uint_eq(counts.nr_alive, 0);
}
END_TEST

static bool is_start_failed(void)
{
	return inventory_node(&manager->inventory, 0)->is_start_failed;
}

/* Nothing but the clock comes back to it: the lease is over, and no worker rings. */
START_TEST(test_a_refill_that_gets_no_thread_is_tried_again)
{
	struct book_grant grant;

	start_with_regions();
	run_until(is_settled, "without a thread at work");
	lease(&grant);
	lease_end(&grant);
	are_threads_short = true;
	run_until(is_start_failed, "without threads");
	are_threads_short = false;
	run_until(is_whole, "whole again");
}
END_TEST

static bool is_refill_put_off(void)
{
	return share_of("guests", 0)->refill_usec != UINT64_MAX;
}

static bool is_all_given_back(void)
{
	return share_of("guests", 0)->nr_pieces == 0 && is_settled();
}

static bool is_refill_given_up(void)
{
	return !is_refill_put_off();
}

/* A time that has passed and stays would make the loop turn without end. */
START_TEST(test_what_is_wanted_no_more_is_not_tried_again)
{
	struct book_grant grant;

	start_with_regions();
	manager->inventory.refill_wait_usec = 300000;
	lease(&grant);
	memory_model_limit(2 * NODE_BYTES - REGION_BYTES, ENOMEM);
	lease_end(&grant);
	run_until(is_refill_put_off, "short");
	daemon_write_conf(&d, "[Daemon]\nRetry=0\nReserve=8G\n");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_all_given_back, "empty");
	run_until(is_refill_given_up, "given up");
	ck_assert_uint_gt(share_of("guests", 0)->missing_bytes, 0);
}
END_TEST

static unsigned nr_unready_turns; /* turns of the loop in which it was not ready */

static bool is_back_and_gone(void)
{
	nr_unready_turns += share_of("guests", 0)->state != SHARE_READY || !manager->is_ready;
	return is_book_empty() && share_of("guests", 0)->nr_pieces == 1 && is_settled();
}

/* Of a piece that a Reload has made empty: nobody was promised it. */
START_TEST(test_what_comes_back_and_has_no_place_changes_no_state)
{
	const char small_pool[] = "[Pool]\nKind=region\nPageSize=base\nSize=512M\n"
				  "[Region]\nRegionSize=128M\n";
	const struct book_request request = { .pool = "guests", .uid = getuid(), .pid = getpid() };
	struct book_grant grant;
	struct share *share;
	int quota;

	daemon_write_pool(&d, "guests", small_pool);
	daemon_write_conf(&d, "[Daemon]\nRetry=0\nReserve=0\n");
	start();
	run_until(is_ready, "ready");
	daemon_write_pool(&d, "guests", region_pool);
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_whole, "grown");
	ck_assert_uint_eq(share_of("guests", 0)->nr_pieces, 2);
	share = share_of("guests", 0)->pieces[1].share;
	ck_assert_int_eq(book_grant(manager->leases.book, &request, &share, 1, &grant, &quota), 0);
	daemon_write_pool(&d, "guests", small_pool);
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_settled, "shrunk");
	ck_assert_uint_eq(share_of("guests", 0)->nr_pieces, 2);

	nr_unready_turns = 0;
	lease_end(&grant);
	run_until(is_back_and_gone, "gone");
	ck_assert_uint_eq(nr_unready_turns, 0);
}
END_TEST

static bool is_name_owned(void)
{
	return manager->is_name_owned;
}

static bool does_a_call_wait(void)
{
	return manager->leases.nr_waiters > 0;
}

static int on_refused(sd_bus_message *reply, void *arg, sd_bus_error *ret_error)
{
	(void) ret_error;
	ck_assert(sd_bus_message_is_method_error(reply, SD_BUS_ERROR_NOT_SUPPORTED));
	*(bool *) arg = true;
	return 0;
}

START_TEST(test_a_call_does_not_wait_for_a_pool_that_became_another_kind)
{
	const struct daemon_lease_options options = {
		.has_node = true, .node_id = 0, .is_strict = true, .may_wait = true
	};
	scoped(sd_bus_flush_close_unrefp) sd_bus *bus = bus_fixture_connect(&d.bus);
	scoped(sd_bus_message_unrefp) sd_bus_message *call =
		daemon_lease_call(bus, "guests", 0, &options);
	struct book_grant grants[NODE_BYTES / REGION_BYTES];
	bool is_refused = false;

	start_with_regions();
	run_until(is_name_owned, "on the bus");
	for (unsigned i = 0; i < ELEMENTS(grants); i++)
		lease(&grants[i]);
	ck_assert_int_ge(sd_bus_call_async(bus, NULL, call, on_refused, &is_refused, 0), 0);
	ck_assert_int_ge(sd_bus_flush(bus), 0);
	run_until(does_a_call_wait, "waiting");
	daemon_write_pool(&d, "guests", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=20p\n");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	while (!is_refused) {
		ck_assert_int_ge(sd_bus_process(bus, NULL), 0);
		ev_run(loop, EVRUN_NOWAIT);
	}
	for (unsigned i = 0; i < ELEMENTS(grants); i++)
		lease_end(&grants[i]);
}
END_TEST

static int put_nothing(void *arg, const char *name, int fd)
{
	(void) arg, (void) name, (void) fd;
	return 0;
}

static void remove_nothing(void *arg, const char *name)
{
	(void) arg, (void) name;
}

static void end_twice(struct ev_loop *on_loop, ev_timer *timer, int events)
{
	(void) events;
	*(unsigned *) timer->data = ev_iteration(on_loop);
	manager_end(manager);
	ck_assert(ev_is_active(&manager->silence));
	manager_end(manager);
}

/* By whatever signals: the question is not asked again, and its answer is not waited for. */
START_TEST(test_who_asks_twice_to_end_is_not_kept_waiting)
{
	static const struct store_ops deaf = { put_nothing, remove_nothing };
	unsigned nr_turns = 0;
	ev_timer twice;

	store = &deaf;
	start_with_regions();
	ev_timer_init(&twice, end_twice, 0., 0.);
	twice.data = &nr_turns;
	ev_timer_start(loop, &twice);
	(void) ev_run(loop, 0);
	ck_assert_uint_gt(nr_turns, 0);
	ck_assert_uint_eq(ev_iteration(loop), nr_turns);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("manager and leases");
	TCase *tests = tcase_create("lease");

	bus_fixture_require();
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, test_a_region_that_is_built_anew_changes_no_state);
	tcase_add_test(tests, test_a_region_that_cannot_be_built_anew_is_missing_until_it_can);
	tcase_add_test(tests, test_a_pool_that_was_short_before_a_lease_is_not_worked_on_for_ever);
	tcase_add_test(tests,
	               test_a_reload_takes_from_ready_regions_and_leaves_those_that_are_leased);
	tcase_add_test(tests,
	               test_a_pool_that_leaves_takes_its_leased_regions_along_when_they_come_back);
	tcase_add_test(tests, test_a_refill_that_gets_no_thread_is_tried_again);
	tcase_add_test(tests, test_what_is_wanted_no_more_is_not_tried_again);
	tcase_add_test(tests, test_what_comes_back_and_has_no_place_changes_no_state);
	tcase_add_test(tests, test_a_call_does_not_wait_for_a_pool_that_became_another_kind);
	tcase_add_test(tests, test_who_asks_twice_to_end_is_not_kept_waiting);
	suite_add_tcase(suite, tests);
	return suite_main(suite);
}
