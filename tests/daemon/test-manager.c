/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/base/log.h"
#include "../../daemon/manager-state.h"
#include "../../dbus/names.h"
#include "daemon-fixture.h"
#include "kernel-model.h"
#include "memory-model.h"
#include "suite.h"

#include "manager-scene.h"

/* The node files end as said, whatever the order; a second run makes no write. */
START_TEST(test_each_node_gets_its_own_number_and_a_second_start_makes_no_write)
{
	unsigned nr_writes;

	daemon_write_pool(&d, "pages",
	                  "[Pool]\nKind=hugetlb\nPageSize=2M\nSize@0=25p\nSize@1=75p\n"
	                  "Nodes=0-1\n");
	start();
	run_until(is_ready, "25 and 75 pages");
	ck_assert_uint_eq(kernel_model_pages(model, 0, HUGE_BYTES).nr_pages, 25);
	ck_assert_uint_eq(kernel_model_pages(model, 1, HUGE_BYTES).nr_pages, 75);
	nr_writes = kernel_model_nr_writes(model, NULL);
	ck_assert_uint_gt(nr_writes, 0);
	manager_freep(&manager);
	start();
	run_until(is_ready, "25 and 75 pages again");
	ck_assert_uint_eq(kernel_model_nr_writes(model, NULL), nr_writes);
	ck_assert_uint_eq(manager->inventory.done_bytes, 100 * HUGE_BYTES);
}
END_TEST

/* One line for each change, not for each attempt; Retry later brings what is missing. */
START_TEST(test_a_fragmented_node_is_short_with_a_reason_said_once_and_retry_completes_it)
{
	scoped(freep) char *sentence = NULL;
	struct managed_share *share;

	daemon_write_conf(&d, "[Daemon]\nRetry=2\n");
	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=100p\nNodes=1\n");
	kernel_model_fragment(model, 1, HUGE_BYTES, 70, 5);
	start();
	run_until(is_failed, "short");
	run_until(is_settled, "settled");
	ck_assert(!manager->is_ready);
	ck_assert_uint_eq(manager->inventory.short_bytes, 25 * HUGE_BYTES);
	ck_assert_str_eq(managed_share_reason(share_of("pages", 1)), "fragmented");
	ck_assert_uint_eq(kernel_model_nr_compactions(model, 1), 1);
	ck_assert_uint_eq(nr_lines_with("pool pages, node 1: failed: 150 MiB of 200 MiB, 50 MiB "
	                                "missing, fragmented"),
	                  1);
	ck_assert_uint_eq(nr_lines_with("trying again"), 1);
	ck_assert_uint_eq(nr_lines_with("not ready, failed"), 1);

	sentence = report_pool_sentence(inventory_pool(&manager->inventory, "pages"));
	ck_assert_ptr_nonnull(strstr(sentence, "pool pages, node 1"));

	/* nothing but a compaction of its own brings the rest */
	kernel_model_fragment(model, 1, HUGE_BYTES, 0, 25);
	ck_assert_uint_eq(manager->completion.generation, 1);
	share = share_of("pages", 1); /* as Pool.Retry does it */
	ck_assert_int_eq(run_retry(share->pieces[0].run), 0);
	ck_assert_int_eq(worker_start(inventory_node(&manager->inventory, 1)->worker), 0);
	inventory_look(&manager->inventory, clock_monotonic_usec());
	manager_arm(manager);
	ck_assert_uint_eq(manager->completion.generation, 2);
	run_until(is_ready, "complete after the retry");
	ck_assert_uint_eq(kernel_model_pages(model, 1, HUGE_BYTES).nr_pages, 100);
	ck_assert_uint_eq(manager->inventory.short_bytes, 0);
	ck_assert_uint_eq(kernel_model_nr_compactions(model, 1), 2);
}
END_TEST

START_TEST(test_less_than_declared_but_more_than_the_minimum_is_ready_and_degraded)
{
	daemon_write_conf(&d, "[Daemon]\nRetry=1\n");
	daemon_write_pool(&d, "pages",
	                  "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=100p\nMinimum=50p\nNodes=1\n");
	kernel_model_fragment(model, 1, HUGE_BYTES, 70, 0);
	start();
	run_until(is_ready, "degraded");
	ck_assert_str_eq(manager_state_text(manager), "degraded");
	ck_assert_uint_eq(manager->inventory.short_bytes, 30 * HUGE_BYTES);
}
END_TEST

START_TEST(test_an_optional_pool_that_fails_does_not_hold_readiness_back)
{
	daemon_write_conf(&d, "[Daemon]\nRetry=0\n");
	daemon_write_pool(&d, "nice",
	                  "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=100p\nRequired=no\n");
	daemon_write_pool(&d, "must", region_pool);
	kernel_model_fragment(model, 0, HUGE_BYTES, 10, 0);
	start();
	run_until(is_ready, "ready without the optional pool");
	run_until(is_settled, "settled");
	ck_assert_str_eq(manager_state_text(manager), "ready");
	ck_assert_int_eq(inventory_pool(&manager->inventory, "nice")->state, SHARE_FAILED);
	ck_assert_int_eq(inventory_pool(&manager->inventory, "must")->state, SHARE_READY);
}
END_TEST

/* One chunk for each look of the manager's: it is not to miss the moment. */
static bool is_ready_notified_by_one_more_chunk(void)
{
	static uint64_t opened_usec;

	if (is_ready_notified())
		return true;
	if (is_a_chunk_at_the_gate() && manager->looked_usec > opened_usec) {
		opened_usec = clock_monotonic_usec();
		memory_model_gate_open(1);
	}
	return false;
}

/* READY waits for every early part, for nothing else. */
START_TEST(test_ready_comes_after_the_last_early_part_and_not_before)
{
	daemon_write_pool(&d, "guests", region_pool);
	memory_model_gate_close();
	start();
	run_until(is_a_chunk_at_the_gate, "work has begun");
	ck_assert(!is_ready_notified());
	/* chunk by chunk, whichever node's comes next */
	run_until(is_ready_notified_by_one_more_chunk, "READY=1");
	ck_assert_int_eq(share_of("guests", 0)->stages[STAGE_EARLY].state, STAGE_SETTLED);
	ck_assert_int_eq(share_of("guests", 1)->stages[STAGE_EARLY].state, STAGE_SETTLED);
	ck_assert(!manager->is_ready);
	ck_assert_uint_ge(manager->inventory.done_bytes, 256 * MIB);
	ck_assert_uint_gt(manager->early_monotonic_usec, 0);
	memory_model_gate_open(UINT_MAX);
	run_until(is_ready, "ready");
	ck_assert_uint_eq(manager->inventory.done_bytes, 2 * GIB);
}
END_TEST

static bool is_stalled(void)
{
	return share_of("guests", 0)->is_stalled;
}

START_TEST(test_a_stall_fails_the_pool_and_when_it_moves_after_all_it_counts_again)
{
	daemon_write_conf(&d, "[Daemon]\nStallTimeout=300ms\n");
	daemon_write_pool(&d, "guests",
	                  "[Pool]\nKind=region\nPageSize=base\nSize=1G\nNodes=0\n"
	                  "Early=128M\n[Region]\nRegionSize=128M\n");
	memory_model_gate_close();
	start();
	run_until(is_stalled, "stalled");
	ck_assert(is_failed());
	ck_assert(!manager->is_ready);
	ck_assert_str_eq(managed_share_reason(share_of("guests", 0)), "stalled");
	ck_assert_uint_eq(nr_lines_with("no counter moved for StallTimeout="), 1);
	memory_model_gate_open(UINT_MAX);
	run_until(is_ready, "ready after the stall");
	ck_assert_uint_eq(manager->completion.generation, 2);
	ck_assert_uint_eq(manager->inventory.done_bytes, GIB);
}
END_TEST

/* What runs short is an error with a word, never a signal. */
START_TEST(test_memory_that_runs_out_fails_the_pool_and_keeps_whole_regions)
{
	daemon_write_conf(&d, "[Daemon]\nRetry=0\n");
	daemon_write_pool(&d, "guests", region_pool);
	memory_model_limit(1600 * MIB, ENOMEM);
	start();
	run_until(is_failed, "short");
	run_until(is_settled, "settled");
	ck_assert_uint_lt(manager->inventory.done_bytes, 1600 * MIB);
	ck_assert_uint_eq(manager->inventory.done_bytes % (128 * MIB), 0);
	ck_assert_uint_eq(manager->inventory.done_bytes + manager->inventory.short_bytes, 2 * GIB);
}
END_TEST

START_TEST(test_a_cancelled_start_gives_every_descriptor_and_page_back)
{
	struct memory_model_counts counts;

	daemon_write_pool(&d, "guests", region_pool);
	memory_model_gate_close();
	start();
	run_until(is_a_chunk_at_the_gate, "work has begun");
	memory_model_gate_open(3);
	run_until(is_a_chunk_at_the_gate, "at work");
	memory_model_gate_open(UINT_MAX);
	manager_freep(&manager);
	memory_model_counts(&counts);
	ck_assert_uint_gt(counts.nr_made, 0);
	ck_assert_uint_eq(counts.nr_alive, 0);
	ck_assert_uint_eq(counts.resident_bytes, 0);
}
END_TEST

/* A region pool of a huge page size needs no hugetlb pool beside it; both have one target. */
START_TEST(test_pools_of_one_page_size_have_one_target_and_only_populated_bytes_count)
{
	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=100p\nNodes=0\n");
	daemon_write_pool(&d, "guests",
	                  "[Pool]\nKind=region\nPageSize=2M\nSize=512M\nNodes=0\n"
	                  "[Region]\nRegionSize=128M\n");
	start();
	run_until(is_ready, "ready");
	ck_assert_uint_eq(kernel_model_pages(model, 0, HUGE_BYTES).nr_pages, 100 + 256);
	ck_assert_uint_eq(manager->inventory.done_bytes, 100 * HUGE_BYTES + 512 * MIB);
}
END_TEST

static bool is_long_after_the_pause(void)
{
	return clock_monotonic_usec() - manager->looked_usec > 500000;
}

START_TEST(test_a_pause_is_no_stall)
{
	ev_timer wake;
	bool is_over;

	daemon_write_conf(&d, "[Daemon]\nStallTimeout=300ms\n");
	daemon_write_pool(&d, "guests", region_pool);
	memory_model_gate_close();
	start();
	run_until(is_a_chunk_at_the_gate, "work has begun");
	ck_assert_int_eq(bus_call("Pause"), 0);
	memory_model_gate_open(UINT_MAX);
	ev_timer_init(&wake, on_limit, 0.1, 0.1);
	wake.data = &is_over;
	ev_timer_start(loop, &wake);
	run_until(is_long_after_the_pause, "time has passed");
	ev_timer_stop(loop, &wake);
	ck_assert_int_eq(bus_call("Resume"), 0);
	run_until(is_ready, "ready");
	ck_assert_uint_eq(nr_lines_with("stalled"), 0);
	ck_assert_uint_eq(manager->completion.generation, 1);
}
END_TEST

START_TEST(test_a_required_pool_that_comes_to_nothing_is_never_ready)
{
	daemon_write_pool(&d, "guests",
	                  "[Pool]\nKind=region\nPageSize=base\nSize=64M\n[Region]\n"
	                  "RegionSize=1G\n");
	start();
	run_until(is_failed, "nothing is no memory");
	ck_assert(!manager->is_ready);
	ck_assert_uint_eq(nr_lines_with("pool guests: nothing on nodes 0-1: Size= is less than one "
	                                "region there"),
	                  1);
	manager_freep(&manager);

	/* nor is % of a node that is not there */
	daemon_write_pool(&d, "guests",
	                  "[Pool]\nKind=region\nPageSize=base\nSize=10%\nNodes=0,7\n");
	start();
	run_until(is_failed, "no such node");
	ck_assert(!manager->is_ready);
}
END_TEST

START_TEST(test_a_node_that_only_a_pool_names_fails_that_pool_in_its_words)
{
	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=10p\nNodes=0,7\n");
	start();
	run_until(is_failed, "no such node");
	run_until(is_settled, "settled");
	ck_assert_str_eq(managed_share_reason(share_of("pages", 7)), "no-such-node");
	ck_assert_int_eq(share_of("pages", 0)->state, SHARE_READY);
	ck_assert_uint_eq(manager->inventory.short_bytes, 10 * HUGE_BYTES);
}
END_TEST

START_TEST(test_more_time_is_asked_for_only_while_counters_move)
{
	struct notify notify = { 0 };
	uint64_t period_usec = NOTIFY_EXTEND_PERIOD_USEC, now_usec = 1000000;

	notify_extend(&notify, now_usec, 0);
	ck_assert(!daemon_was_notified(&d, "EXTEND_TIMEOUT_USEC=30000000"));
	notify_extend(&notify, now_usec, 1);
	daemon_wait_notified(&d, "EXTEND_TIMEOUT_USEC=30000000");
	daemon_forget_notified(&d);
	notify_extend(&notify, now_usec + period_usec - 1, 2); /* too soon */
	notify_extend(&notify, now_usec + 2 * period_usec, 1); /* nothing moved since */
	ck_assert(!daemon_was_notified(&d, "EXTEND_TIMEOUT_USEC=*"));
	notify_extend(&notify, now_usec + 2 * period_usec, 2);
	daemon_wait_notified(&d, "EXTEND_TIMEOUT_USEC=30000000");
	daemon_forget_notified(&d);
	notify_ready(&notify);
	notify_extend(&notify, now_usec + 9 * period_usec, 9); /* nobody waits any more */
	ck_assert(!daemon_was_notified(&d, "EXTEND_TIMEOUT_USEC=*"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("manager");
	TCase *tc = tcase_create("manager");

	bus_fixture_require();
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_each_node_gets_its_own_number_and_a_second_start_makes_no_write);
	tcase_add_test(
		tc, test_a_fragmented_node_is_short_with_a_reason_said_once_and_retry_completes_it);
	tcase_add_test(tc, test_less_than_declared_but_more_than_the_minimum_is_ready_and_degraded);
	tcase_add_test(tc, test_an_optional_pool_that_fails_does_not_hold_readiness_back);
	tcase_add_test(tc, test_ready_comes_after_the_last_early_part_and_not_before);
	tcase_add_test(tc, test_a_stall_fails_the_pool_and_when_it_moves_after_all_it_counts_again);
	tcase_add_test(tc, test_memory_that_runs_out_fails_the_pool_and_keeps_whole_regions);
	tcase_add_test(tc, test_a_cancelled_start_gives_every_descriptor_and_page_back);
	tcase_add_test(tc,
	               test_pools_of_one_page_size_have_one_target_and_only_populated_bytes_count);
	tcase_add_test(tc, test_a_pause_is_no_stall);
	tcase_add_test(tc, test_a_required_pool_that_comes_to_nothing_is_never_ready);
	tcase_add_test(tc, test_a_node_that_only_a_pool_names_fails_that_pool_in_its_words);
	tcase_add_test(tc, test_more_time_is_asked_for_only_while_counters_move);
	suite_add_tcase(suite, tc);
	return suite_main(suite);
}
