/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the session of the service ranks against others, by what it is at. */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "kernel-model.h"
#include "memory-model.h"
#include "suite.h"

#include "manager-scene.h"

/* On one node: who opens the gate for early chunks opens it for no other ones. */
static const char pool_of_node_0[] = "[Pool]\nKind=region\nPageSize=base\nSize=1G\nEarly=128M\n"
				     "Nodes=0\n[Region]\nRegionSize=128M\n";
#define NR_EARLY_CHUNKS 2
#define NR_THREADS      4
#define AUTOGROUP       "/proc/self/autogroup"

static bool is_session_at(const char *nice)
{
	char *text = kernel_model_file(model, AUTOGROUP);
	bool is_there = strcmp(text, nice) == 0;

	free(text);
	return is_there;
}

static bool is_behind_others(void)
{
	return is_session_at("19\n");
}

static bool is_beside_others(void)
{
	return is_session_at("0\n");
}

static bool is_at_work_in_the_background(void)
{
	const struct worker_status *status = &inventory_node(&manager->inventory, 0)->worker_status;

	return status->is_background && status->nr_active == NR_THREADS;
}

static bool is_rank_due(void)
{
	return manager->is_rank_due;
}

/* Early work stands at the gate. */
static void start_early(const char *is_enabled)
{
	kernel_model_set_file(model, "/proc/sys/kernel/sched_autogroup_enabled", "%s", is_enabled);
	kernel_model_set_file(model, AUTOGROUP, "/autogroup-7 nice 0\n");
	daemon_write_conf(&d, "[Daemon]\nThreads=4\n");
	daemon_write_pool(&d, "guests", pool_of_node_0);
	memory_model_gate_close();
	start();
	run_until(is_a_chunk_at_the_gate, "early work has begun");
}

static void go_on_in_the_background(void)
{
	memory_model_gate_open(NR_EARLY_CHUNKS);
	run_until(is_at_work_in_the_background, "the rest has begun");
}

START_TEST(test_the_session_ranks_behind_others_while_all_that_works_is_deferred)
{
	start_early("1\n");
	ck_assert_uint_eq(kernel_model_nr_writes(model, AUTOGROUP), 0);
	go_on_in_the_background();
	run_until(is_behind_others, "the rest is behind all others");
	memory_model_gate_open(UINT_MAX);
	run_until(is_ready, "all is done");
	run_until(is_beside_others, "the main thread is not behind others any more");
	ck_assert_uint_eq(kernel_model_nr_writes(model, AUTOGROUP), 2);
}
END_TEST

START_TEST(test_while_paused_the_session_is_beside_others)
{
	start_early("1\n");
	go_on_in_the_background();
	run_until(is_behind_others, "the rest is behind all others");
	ck_assert_int_eq(bus_call("Pause"), 0);
	run_until(is_beside_others, "paused, and not behind others");
	ck_assert_int_eq(bus_call("Resume"), 0);
	run_until(is_behind_others, "behind all others again");
	memory_model_gate_open(UINT_MAX);
	run_until(is_ready, "all is done");
}
END_TEST

START_TEST(test_the_end_is_not_behind_others)
{
	start_early("1\n");
	go_on_in_the_background();
	run_until(is_behind_others, "the rest is behind all others");
	memory_model_gate_open(UINT_MAX);
	manager = manager_free(manager);
	ck_assert(is_beside_others());
}
END_TEST

/* Without CAP_SYS_ADMIN the kernel takes a rank ten times a second. */
START_TEST(test_a_kernel_that_is_not_ready_for_a_rank_is_asked_again)
{
	start_early("1\n");
	go_on_in_the_background();
	run_until(is_behind_others, "the rest is behind all others");
	kernel_model_refuse(model, AUTOGROUP, EAGAIN);
	memory_model_gate_open(UINT_MAX);
	run_until(is_rank_due, "all is done, and the way back is refused");
	ck_assert(is_behind_others());
	kernel_model_refuse(model, AUTOGROUP, 0);
	run_until(is_beside_others, "the main thread is not behind others any more");
}
END_TEST

START_TEST(test_a_rank_that_is_refused_is_said_once)
{
	start_early("1\n");
	kernel_model_refuse(model, AUTOGROUP, EACCES);
	go_on_in_the_background();
	memory_model_gate_open(UINT_MAX);
	run_until(is_ready, "all is done");
	ck_assert_uint_eq(nr_lines_with(AUTOGROUP), 1);
	ck_assert(is_session_at("/autogroup-7 nice 0\n"));
}
END_TEST

static const char *const no_autogroups[] = { "0\n", "?\n" };

START_TEST(test_without_autogroups_no_session_is_ranked)
{
	start_early(no_autogroups[_i]);
	go_on_in_the_background();
	memory_model_gate_open(UINT_MAX);
	run_until(is_ready, "all is done");
	ck_assert_uint_eq(kernel_model_nr_writes(model, AUTOGROUP), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("manager-session");
	TCase *session = tcase_create("session");

	bus_fixture_require();
	tcase_set_timeout(session, 60);
	tcase_add_checked_fixture(session, setup, teardown);
	tcase_add_test(session,
	               test_the_session_ranks_behind_others_while_all_that_works_is_deferred);
	tcase_add_test(session, test_while_paused_the_session_is_beside_others);
	tcase_add_test(session, test_the_end_is_not_behind_others);
	tcase_add_test(session, test_a_kernel_that_is_not_ready_for_a_rank_is_asked_again);
	tcase_add_test(session, test_a_rank_that_is_refused_is_said_once);
	tcase_add_loop_test(session, test_without_autogroups_no_session_is_ranked, 0,
	                    (int) ELEMENTS(no_autogroups));
	suite_add_tcase(suite, session);
	return suite_main(suite);
}
