/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the manager makes of pressure, of the two settings for it, and whom it tells. */
#include <check.h>
#include <errno.h>
#include <ev.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/brakes.h"
#include "../../daemon/manager-state.h"
#include "../../dbus/names.h"
#include "kernel-model.h"
#include "memory-model.h"
#include "suite.h"

#include "manager-scene.h"

/* As region_pool, on one node: who opens the gate for early chunks opens it for no other ones. */
static const char pool_of_node_0[] = "[Pool]\nKind=region\nPageSize=base\nSize=1G\nEarly=128M\n"
				     "Nodes=0\n[Region]\nRegionSize=128M\n";
#define NR_EARLY_CHUNKS 2

#define CONF "[Daemon]\nThreads=4\n"

/* Others lose this part of their time, in percent, from now on. */
static unsigned lost_percent;
static uint64_t lost_usec, told_usec;

/* The same for what waits for CPUs; others do not get any then, and we do. */
static unsigned waited_percent;
static uint64_t waited_nsec;
static ev_timer clockwork;

/* Node 0 on the bus. */
static sd_bus *watcher;
static unsigned nr_braked_signals, nr_released_signals;
static uint32_t nr_threads_shown;

/* The kernel's counters go on by the clock. */
static void on_clockwork(struct ev_loop *on_loop, ev_timer *timer, int events)
{
	uint64_t now_usec = clock_monotonic_usec();

	(void) on_loop, (void) timer, (void) events;
	lost_usec += (now_usec - told_usec) * lost_percent / 100;
	waited_nsec += (now_usec - told_usec) * 1000 * waited_percent / 100;
	told_usec = now_usec;
	kernel_model_set_file(model, "/proc/pressure/memory",
	                      "some avg10=0.00 avg60=0.00 avg300=0.00 total=%llu\n",
	                      (unsigned long long) lost_usec);
	kernel_model_set_file(model, "/proc/schedstat", "version 15\ncpu0 0 0 0 0 0 0 0 %llu 0\n",
	                      (unsigned long long) waited_nsec);
	if (watcher)
		while (sd_bus_process(watcher, NULL) > 0)
			;
}

static int on_changed(sd_bus_message *message, void *arg, sd_bus_error *ret_error)
{
	const char *name, *contents;
	int is_braked;
	char type;

	(void) arg, (void) ret_error;
	ck_assert_int_ge(sd_bus_message_read(message, "s", &name), 0);
	ck_assert_int_ge(sd_bus_message_enter_container(message, 'a', "{sv}"), 0);
	while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
		ck_assert_int_ge(sd_bus_message_read(message, "s", &name), 0);
		ck_assert_int_gt(sd_bus_message_peek_type(message, &type, &contents), 0);
		if (strcmp(name, "Braked") == 0) {
			ck_assert_int_ge(sd_bus_message_read(message, "v", "b", &is_braked), 0);
			nr_braked_signals += is_braked;
			nr_released_signals += !is_braked;
		} else if (strcmp(name, "Threads") == 0) {
			ck_assert_int_ge(sd_bus_message_read(message, "v", "u", &nr_threads_shown),
			                 0);
		} else {
			ck_assert_int_ge(sd_bus_message_skip(message, "v"), 0);
		}
		ck_assert_int_ge(sd_bus_message_exit_container(message), 0);
	}
	return 0;
}

static void watch_node(void)
{
	watcher = bus_fixture_connect(&d.bus);
	ck_assert_int_ge(sd_bus_match_signal(watcher, NULL, NULL, NODEINIT_PATH "/node/0",
	                                     "org.freedesktop.DBus.Properties", "PropertiesChanged",
	                                     on_changed, NULL),
	                 0);
}

static void setup_clockwork(void)
{
	setup();
	lost_percent = 0;
	lost_usec = 0;
	waited_percent = 0;
	waited_nsec = 0;
	nr_braked_signals = nr_released_signals = 0;
	nr_threads_shown = 0;
	told_usec = clock_monotonic_usec();
	ev_timer_init(&clockwork, on_clockwork, 0., 0.02);
	ev_timer_start(loop, &clockwork);
	on_clockwork(loop, &clockwork, 0);
}

static void teardown_clockwork(void)
{
	ev_timer_stop(loop, &clockwork);
	watcher = sd_bus_flush_close_unref(watcher);
	teardown();
}

static struct managed_node *node_0(void)
{
	return inventory_node(&manager->inventory, 0);
}

static bool is_braked(void)
{
	return brakes_is_braked(manager, node_0());
}

static bool is_fully_braked(void)
{
	return is_braked() && node_0()->worker_status.nr_active == 1;
}

static bool is_let_go(void)
{
	return !is_braked() && node_0()->worker_status.nr_active == 4;
}

static bool is_background(void)
{
	return node_0()->worker_status.is_background && node_0()->worker_status.nr_active == 4;
}

static bool is_shown_braked(void)
{
	static const char status_line[] =
		"STATUS=deferred: 128 MiB of 1 GiB, 1 node at work (braked)*";

	return nr_braked_signals == 1 && nr_threads_shown == 1 &&
	       daemon_was_notified(&d, status_line);
}

static bool is_shown_let_go(void)
{
	return nr_released_signals == 1 && nr_threads_shown == 4;
}

/* A quarter of the looks of a second, from the call on. */
static uint64_t looks_end_usec;

static bool has_looked_for_a_second(void)
{
	return manager->sampled_usec >= looks_end_usec;
}

static void run_for_a_second(void)
{
	looks_end_usec = clock_monotonic_usec() + 1000000;
	run_until(has_looked_for_a_second, "a second of looks");
}

/* All early parts are done; of the rest each member stands at the gate. */
static void start_background(const char *conf)
{
	daemon_write_conf(&d, conf);
	daemon_write_pool(&d, "guests", pool_of_node_0);
	memory_model_gate_close();
	start();
	run_until(is_a_chunk_at_the_gate, "work has begun");
	memory_model_gate_open(NR_EARLY_CHUNKS);
	run_until(is_background, "the rest has begun");
}

START_TEST(test_while_others_wait_fewer_members_work_and_everybody_is_told)
{
	start_background(CONF);
	watch_node();
	ck_assert(!is_braked());
	lost_percent = 60;
	run_until(is_fully_braked, "braked");
	run_until(is_shown_braked, "shown");
	ck_assert_uint_eq(nr_lines_with("node 0: braked: pressure on memory"), 1);
	ck_assert_uint_eq(nr_lines_with("(BrakePressure=20%), "), 1);
	ck_assert_uint_eq(nr_released_signals, 0);
	lost_percent = 0;
	run_until(is_let_go, "let go");
	run_until(is_shown_let_go, "shown");
	ck_assert_uint_eq(nr_braked_signals, 1);
	ck_assert_uint_eq(nr_lines_with("node 0: not braked any more"), 1);
	memory_model_gate_open(UINT_MAX);
	run_until(is_ready, "ready");
}
END_TEST

START_TEST(test_while_others_wait_for_cpus_one_member_works)
{
	kernel_model_set_file(model, "/proc/stat", "cpu  1 0 0 0 0 0 0 0 0 0\n");
	kernel_model_set_file(model, "/proc/self/task/1/schedstat", "0 0 0\n");
	start_background(CONF);
	run_for_a_second();
	ck_assert(is_let_go());
	waited_percent = 200;
	run_until(is_fully_braked, "braked");
	ck_assert_uint_eq(nr_lines_with("node 0: braked: pressure on cpu 100 % "
	                                "(BrakePressure=20%), 1 of 4 threads"),
	                  1);
	waited_percent = 0;
	run_until(is_let_go, "let go");
}
END_TEST

START_TEST(test_a_brake_that_comes_and_goes_is_logged_once_a_minute)
{
	start_background(CONF);
	for (unsigned i = 0; i < 3; i++) {
		lost_percent = 60;
		run_until(is_braked, "braked");
		lost_percent = 0;
		run_until(is_let_go, "let go");
	}
	ck_assert_uint_eq(nr_lines_with("node 0: braked: "), 1);
	ck_assert_uint_eq(nr_lines_with("node 0: not braked any more"), 1);
}
END_TEST

static bool is_said(void)
{
	return nr_lines_with("node 0: braked: ") == 1;
}

static bool is_one_in_background(void)
{
	return node_0()->worker_status.is_background && node_0()->worker_status.nr_active == 1;
}

START_TEST(test_the_only_thread_that_is_tried_without_rests_is_one_of_one)
{
	struct brake *brake;

	daemon_write_conf(&d, "[Daemon]\nThreads=1\n");
	daemon_write_pool(&d, "guests", pool_of_node_0);
	memory_model_gate_close();
	start();
	run_until(is_a_chunk_at_the_gate, "work has begun");
	memory_model_gate_open(NR_EARLY_CHUNKS);
	run_until(is_one_in_background, "the rest has begun");
	brake = &node_0()->brake;
	brake->full_members = 1;
	brake->reason = BRAKE_BANDWIDTH;
	brake->is_trying = brake->is_unrested = true;
	run_until(is_said, "said");
	ck_assert_uint_eq(nr_lines_with("wanted by others, 1 of 1 threads"), 1);
}
END_TEST

START_TEST(test_with_a_limit_of_0_nobody_looks_and_nothing_is_braked)
{
	kernel_model_refuse_reads(model, "/proc/stat", EIO);
	start_background(CONF "BrakePressure=0\n");
	lost_percent = 100;
	run_for_a_second();
	ck_assert(!manager->brake_host.has_last);
	ck_assert(is_let_go());
	ck_assert_uint_eq(nr_lines_with("braked"), 0);
}
END_TEST

START_TEST(test_a_reload_changes_the_limit_for_work_at_hand)
{
	start_background(CONF "BrakePressure=70\n");
	lost_percent = 60;
	run_for_a_second();
	ck_assert(is_let_go());
	daemon_write_conf(&d, CONF "BrakePressure=50%\n");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_fully_braked, "braked");
	daemon_write_conf(&d, CONF "BrakePressure=0\n");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_let_go, "let go");
}
END_TEST

START_TEST(test_early_parts_are_not_braked)
{
	daemon_write_conf(&d, CONF);
	daemon_write_pool(&d, "guests", region_pool);
	memory_model_gate_close();
	lost_percent = 100;
	start();
	run_until(is_a_chunk_at_the_gate, "work has begun");
	run_for_a_second();
	ck_assert(!is_braked());
	ck_assert(!brake_is_on(&node_0()->brake));
	ck_assert(!manager->brake_host.has_last);
}
END_TEST

START_TEST(test_a_pause_is_no_time_under_pressure)
{
	start_background(CONF);
	lost_percent = 60;
	run_until(is_braked, "braked");
	ck_assert_int_eq(bus_call("Pause"), 0);
	manager_look(manager);
	ck_assert(!is_braked());
	lost_percent = 0;
	ck_assert_int_eq(bus_call("Resume"), 0);
	run_until(is_let_go, "let go");
}
END_TEST

static bool is_one_resting(void)
{
	return node_0()->worker_status.is_resting;
}

static bool is_resting(void)
{
	return is_one_resting() && inventory_node(&manager->inventory, 1)->worker_status.is_resting;
}

static bool is_past_the_stall(void)
{
	return manager->sampled_usec >= looks_end_usec || is_failed();
}

START_TEST(test_the_rate_limit_holds_back_is_no_stall_and_goes_with_a_reload)
{
	struct memory_model_counts counts;

	daemon_write_conf(&d, CONF "MaxRate=1K\nStallTimeout=500ms\n");
	daemon_write_pool(&d, "guests", region_pool);
	start();
	run_until(is_resting, "both rest");
	/* the first chunk is there, the second has to be paid for */
	memory_model_counts(&counts);
	ck_assert_uint_eq(counts.nr_populated, 2 * (NR_EARLY_CHUNKS + 1));
	looks_end_usec = clock_monotonic_usec() + 1500000;
	run_until(is_past_the_stall, "past the time of a stall");
	ck_assert(!is_failed());
	ck_assert_uint_eq(nr_lines_with("stalled"), 0);
	/* and it is nobody's brake */
	ck_assert(!is_braked());
	memory_model_counts(&counts);
	ck_assert_uint_eq(counts.nr_populated, 2 * (NR_EARLY_CHUNKS + 1));
	daemon_write_conf(&d, CONF "MaxRate=0\nStallTimeout=500ms\n");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_ready, "ready");
}
END_TEST

START_TEST(test_a_reload_limits_the_rate_of_work_at_hand)
{
	struct memory_model_counts before, after;

	start_background(CONF);
	daemon_write_conf(&d, CONF "MaxRate=1K\n");
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	memory_model_counts(&before);
	memory_model_gate_open(UINT_MAX);
	run_until(is_one_resting, "it rests");
	memory_model_counts(&after);
	/* who stood at the gate, and one that was due at once */
	ck_assert_uint_le(after.nr_populated - before.nr_populated, 4 + 1);
	ck_assert(!manager->is_ready);
}
END_TEST

static bool is_at_work(void)
{
	return is_a_chunk_at_the_gate() && node_0()->worker_status.current;
}

START_TEST(test_threads_is_auto_unless_a_number_is_said)
{
	/* auto: one at first, and at the gate nobody knows yet whether two are worth it */
	daemon_write_pool(&d, "guests", region_pool);
	memory_model_gate_close();
	start();
	run_until(is_at_work, "work has begun");
	ck_assert_uint_eq(node_0()->worker_status.nr_threads, 2);
	ck_assert_uint_eq(node_0()->worker_status.nr_active, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("manager-brake");
	TCase *tc = tcase_create("brake");

	bus_fixture_require();
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup_clockwork, teardown_clockwork);
	tcase_add_test(tc, test_while_others_wait_fewer_members_work_and_everybody_is_told);
	tcase_add_test(tc, test_while_others_wait_for_cpus_one_member_works);
	tcase_add_test(tc, test_a_brake_that_comes_and_goes_is_logged_once_a_minute);
	tcase_add_test(tc, test_the_only_thread_that_is_tried_without_rests_is_one_of_one);
	tcase_add_test(tc, test_with_a_limit_of_0_nobody_looks_and_nothing_is_braked);
	tcase_add_test(tc, test_a_reload_changes_the_limit_for_work_at_hand);
	tcase_add_test(tc, test_early_parts_are_not_braked);
	tcase_add_test(tc, test_a_pause_is_no_time_under_pressure);
	tcase_add_test(tc, test_the_rate_limit_holds_back_is_no_stall_and_goes_with_a_reload);
	tcase_add_test(tc, test_a_reload_limits_the_rate_of_work_at_hand);
	tcase_add_test(tc, test_threads_is_auto_unless_a_number_is_said);
	suite_add_tcase(suite, tc);
	return suite_main(suite);
}
