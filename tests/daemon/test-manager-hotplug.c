/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/hotplug.h"
#include "../../daemon/manager-state.h"
#include "daemon-fixture.h"
#include "kernel-model.h"
#include "manager-scene.h"
#include "suite.h"

#define BLOCK_BYTES (128 * MIB)
#define BOOT_BLOCKS 16 /* of each node: 2 GiB */

static const char whole_pool[] = "[Pool]\nKind=block\n";

/* Blocks that have been there since boot, and some that were plugged in and are offline. */
static void plug(unsigned node_id, uint64_t first, unsigned nr, bool is_boot)
{
	for (uint64_t block = first; block < first + nr; block++) {
		kernel_model_add_block(model, node_id, block,
		                       MODEL_ZONE_NORMAL | MODEL_ZONE_MOVABLE);
		if (is_boot)
			kernel_model_do_block(model, block, MODEL_ONLINES_NORMAL);
	}
}

static void setup_blocks(void)
{
	setup();
	kernel_model_freep(&model);
	model = kernel_model_new();
	kernel_model_add_page_size(model, HUGE_BYTES);
	kernel_model_set_block_bytes(model, BLOCK_BYTES);
	for (unsigned node_id = 0; node_id < 2; node_id++) {
		kernel_model_add_node(model, node_id, node_id == 0 ? "0-1" : "2-3", 0);
		plug(node_id, 100 * node_id, BOOT_BLOCKS, true);
	}
	daemon_write_conf(&d, "[Daemon]\nReserve=64M\nRetry=1\nSettleTimeout=30s\n");
	run_directory_of_manager = d.directory;
}

static void event(const char *subsystem, const char *action, const char *name)
{
	hotplug_event(subsystem, action, name, manager);
}

static bool is_generation_2_ready(void)
{
	return manager->completion.generation == 2 && is_ready();
}

static unsigned nr_online(uint64_t first, unsigned nr)
{
	unsigned nr_found = 0;

	for (uint64_t block = first; block < first + nr; block++)
		nr_found += kernel_model_block_state(model, block) == MODEL_BLOCK_ONLINE;
	return nr_found;
}

static bool is_no_rescan_due(void)
{
	return !ev_is_active(&manager->rescan);
}

START_TEST(test_offline_blocks_are_brought_online_and_all_are_accounted_for)
{
	plug(1, 120, 6, false);
	daemon_write_pool(&d, "memory", whole_pool);
	start();
	run_until(is_ready, "ready");
	ck_assert_uint_eq(nr_online(120, 6), 6);
	ck_assert_uint_eq(kernel_model_nr_block_writes(model), 6);
	ck_assert_uint_eq(manager->inventory.done_bytes, 6 * BLOCK_BYTES);
	ck_assert_uint_eq(nr_lines_with("6 memory blocks by us, 0 by=other"), 1);
	ck_assert_uint_eq(
		nr_lines_with("node 1: of 22 memory blocks 22 are online, 0 refused, 0 left"), 1);
	ck_assert_uint_eq(nr_lines_with("node 1 initialised, 196608 pages in "), 1);
	ck_assert_uint_eq(manager->completion.generation, 1);
	/* what is online is part of the node */
	ck_assert_uint_eq(inventory_node(&manager->inventory, 1)->memory_bytes,
	                  (BOOT_BLOCKS + 6) * BLOCK_BYTES);
}
END_TEST

START_TEST(test_a_block_that_comes_after_ready_is_taken_in_and_the_others_grow)
{
	uint64_t plugged_usec;

	daemon_write_pool(&d, "memory", whole_pool);
	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=50%\nNodes=1\n");
	start();
	run_until(is_ready, "ready");
	ck_assert_uint_eq(kernel_model_pages(model, 1, HUGE_BYTES).nr_pages, 512);

	plugged_usec = clock_monotonic_usec();
	plug(1, 130, 2, false);
	event("memory", "add", "memory130");
	event("memory", "add", "memory131");
	run_until(is_generation_2_ready, "ready again");
	/* its line is about the second stretch of work: two blocks, and 64 huge pages more */
	ck_assert_uint_ge(inventory_node(&manager->inventory, 1)->started_usec, plugged_usec);
	ck_assert_uint_eq(nr_lines_with("node 1 initialised, 262144 pages in "), 1);
	ck_assert_uint_eq(nr_lines_with("node 1 initialised, 98304 pages in "), 1);
	/* its time, that of the first one, which brought more */
	ck_assert_uint_lt(inventory_node(&manager->inventory, 1)->largest_started_usec,
	                  plugged_usec);
	ck_assert_uint_eq(nr_online(130, 2), 2);
	ck_assert_uint_eq(kernel_model_pages(model, 1, HUGE_BYTES).nr_pages, 512 + 64);
	ck_assert_uint_eq(share_of("memory", 1)->done_bytes, 2 * BLOCK_BYTES);
}
END_TEST

/* Which blocks go first is one thing before and another after: that is no other list. */
START_TEST(test_blocks_that_only_a_kernel_zone_takes_are_begun_once)
{
	plug(1, 120, 4, false);
	kernel_model_set_block_zones(model, 122, MODEL_ZONE_NORMAL);
	daemon_write_conf(&d, "[Daemon]\nReserve=64M\nEarlyMinimum=1M\nEarlyShift=63\n");
	daemon_write_pool(&d, "memory", whole_pool);
	start();
	run_until(is_ready, "ready");
	event("memory", "online", "memory101");
	event("node", "add", "node7");
	run_until(is_no_rescan_due, "looked at again");
	ck_assert_uint_eq(manager->completion.generation, 1);
	ck_assert_uint_eq(kernel_model_block_write(model, 0, &(const char *){ NULL }), 122);
	ck_assert_uint_eq(nr_lines_with("pool memory, node 1: ready"), 1);
}
END_TEST

static bool is_waiting(void)
{
	return manager->looked_usec > 0 && share_of("memory", 1)->state == SHARE_WAITING;
}

START_TEST(test_memory_that_is_late_is_awaited)
{
	plug(1, 120, 1, false);
	daemon_write_pool(&d, "memory", "[Pool]\nKind=block\nSize=384M\nNodes=1\n");
	start();
	run_until(is_waiting, "waiting");
	ck_assert(!manager->is_ready);
	ck_assert(!is_failed());
	run_until(is_ready_notified, "started");

	plug(1, 121, 2, false);
	event("memory", "add", "memory122");
	run_until(is_ready, "ready");
	ck_assert_uint_eq(share_of("memory", 1)->done_bytes, 3 * BLOCK_BYTES);
}
END_TEST

START_TEST(test_what_does_not_come_within_the_time_is_missing)
{
	daemon_write_conf(&d, "[Daemon]\nReserve=64M\nSettleTimeout=300ms\n");
	plug(1, 120, 1, false);
	daemon_write_pool(&d, "memory", "[Pool]\nKind=block\nSize=384M\nNodes=1\n");
	start();
	run_until(is_failed, "failed");
	ck_assert_str_eq(managed_share_reason(share_of("memory", 1)), "no-offline-memory");
	ck_assert_uint_eq(share_of("memory", 1)->done_bytes, BLOCK_BYTES);

	/* and counts when it comes after all */
	plug(1, 121, 2, false);
	event("memory", "add", "memory121");
	run_until(is_ready, "ready");
}
END_TEST

static bool is_node_2_awaited(void)
{
	return manager->looked_usec > 0 && share_of("memory", 2)->state == SHARE_WAITING;
}

START_TEST(test_a_node_that_may_come_is_awaited_and_joins)
{
	kernel_model_set_file(model, "/sys/devices/system/node/possible", "0-2\n");
	daemon_write_pool(&d, "memory", "[Pool]\nKind=block\nNodes=1-2\n");
	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=128M\n");
	start();
	run_until(is_node_2_awaited, "waiting");
	ck_assert(!manager->is_ready);
	ck_assert_ptr_null(inventory_node(&manager->inventory, 2));

	kernel_model_add_node(model, 2, "", 0);
	plug(2, 200, 4, false);
	event("node", "add", "node2");
	run_until(is_ready, "ready");
	ck_assert_uint_eq(nr_online(200, 4), 4);
	ck_assert_ptr_nonnull(inventory_node(&manager->inventory, 2));
	/* Nodes=all is what there is by now */
	ck_assert_uint_eq(kernel_model_pages(model, 2, HUGE_BYTES).nr_pages, 64);
}
END_TEST

static bool is_node_2_gone(void)
{
	return !inventory_node(&manager->inventory, 2);
}

static bool is_node_2_back(void)
{
	return is_ready() && nr_online(200, 2) == 2 &&
	       kernel_model_pages(model, 2, HUGE_BYTES).nr_pages == 64;
}

START_TEST(test_a_node_that_goes_is_promised_no_more_and_may_come_back)
{
	struct hugepages_count none = { 0 };

	kernel_model_set_file(model, "/sys/devices/system/node/possible", "0-2\n");
	kernel_model_add_node(model, 2, "", 0);
	plug(2, 200, 2, false);
	daemon_write_pool(&d, "memory", "[Pool]\nKind=block\nNodes=2\n");
	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=128M\nNodes=2\n");
	start();
	run_until(is_node_2_back, "ready");

	kernel_model_set_pages(model, 2, HUGE_BYTES, none);
	kernel_model_do_block(model, 200, MODEL_UNPLUGS);
	kernel_model_do_block(model, 201, MODEL_UNPLUGS);
	kernel_model_set_file(model, "/sys/devices/system/node/online", "0-1\n");
	event("memory", "remove", "memory200");
	event("memory", "remove", "memory201");
	event("node", "remove", "node2");
	run_until(is_node_2_gone, "gone");
	ck_assert(!manager->is_ready);
	ck_assert_uint_eq(manager->inventory.done_bytes, 0);

	kernel_model_set_file(model, "/sys/devices/system/node/online", "0-2\n");
	plug(2, 200, 2, false);
	event("node", "add", "node2");
	run_until(is_node_2_back, "back");
}
END_TEST

static bool is_not_permitted(void)
{
	return strcmp(managed_share_reason(share_of("memory", 1)), "not-permitted") == 0;
}

static bool is_awaiting(void)
{
	return manager->inventory.is_awaiting;
}

/* Blocks that come together are seen with the first one's event, before udev's rule for the others.
 */
START_TEST(test_a_block_that_was_seen_before_it_was_ours_to_write_is_tried_again)
{
	daemon_write_pool(&d, "memory", whole_pool);
	start();
	run_until(is_ready, "ready");
	plug(1, 130, 2, false);
	kernel_model_refuse(model, "/sys/devices/system/memory/memory131", EACCES);
	event("memory", "add", "memory130");
	run_until(is_not_permitted, "refused");
	/* udev has its time; nobody is told of a failure in between */
	run_until(is_awaiting, "awaiting");
	ck_assert_str_eq(manager_state_text(manager), "waiting");
	kernel_model_refuse(model, "/sys/devices/system/memory/memory131", 0);
	event("memory", "add", "memory131");
	run_until(is_ready, "ready again");
	ck_assert_uint_eq(nr_online(130, 2), 2);
}
END_TEST

START_TEST(test_a_node_that_can_never_come_is_not_awaited)
{
	kernel_model_set_file(model, "/sys/devices/system/node/possible", "0-1\n");
	daemon_write_conf(&d, "[Daemon]\nSettleTimeout=infinity\n");
	daemon_write_pool(&d, "memory", "[Pool]\nKind=block\nSize=128M\nNodes=2\n");
	start();
	run_until(is_failed, "failed");
	ck_assert_str_eq(managed_share_reason(share_of("memory", 2)), "no-such-node");
}
END_TEST

static bool is_offlined(void)
{
	return strcmp(managed_share_reason(share_of("memory", 1)), "offlined") == 0;
}

static bool is_130_online(void)
{
	return nr_online(130, 1) == 1;
}

START_TEST(test_a_block_that_somebody_takes_offline_is_not_in_service_any_more)
{
	plug(1, 120, 3, false);
	daemon_write_pool(&d, "memory", whole_pool);
	start();
	run_until(is_ready, "ready");

	kernel_model_do_block(model, 121, MODEL_OFFLINES);
	event("memory", "offline", "memory121");
	run_until(is_offlined, "seen");
	ck_assert(!manager->is_ready);
	ck_assert_uint_eq(share_of("memory", 1)->done_bytes, 2 * BLOCK_BYTES);
	ck_assert_uint_eq(kernel_model_nr_block_writes(model), 3);

	/* also when the list of blocks is another one in the meantime */
	plug(1, 130, 1, false);
	event("memory", "add", "memory130");
	run_until(is_130_online, "the new one");
	run_until(is_settled, "settled");
	ck_assert_uint_eq(nr_online(120, 3), 2);
	ck_assert_uint_eq(nr_online(130, 1), 1);

	/* a Reload may come from anywhere; a Retry is meant */
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	ck_assert_uint_eq(nr_online(120, 3), 2);
	ck_assert_int_eq(bus_call_pool("memory", "Retry"), 0);
	run_until(is_ready, "tried again");
	ck_assert_uint_eq(nr_online(120, 3), 3);
}
END_TEST

static bool has_node_1_less_memory(void)
{
	return inventory_node(&manager->inventory, 1)->memory_bytes ==
	       (BOOT_BLOCKS - 1) * BLOCK_BYTES;
}

START_TEST(test_memory_that_was_never_of_a_pool_is_left_to_who_takes_it_offline)
{
	daemon_write_pool(&d, "memory", whole_pool);
	start();
	run_until(is_ready, "ready");
	kernel_model_do_block(model, 103, MODEL_OFFLINES);
	event("memory", "offline", "memory103");
	run_until(has_node_1_less_memory, "seen");
	ck_assert_uint_eq(kernel_model_nr_block_writes(model), 0);
	ck_assert(manager->is_ready);
}
END_TEST

static bool are_two_left(void)
{
	return share_of("memory", 1) && share_of("memory", 1)->declared_bytes == 2 * BLOCK_BYTES &&
	       is_ready();
}

START_TEST(test_a_block_that_is_unplugged_is_promised_no_more)
{
	plug(1, 120, 3, false);
	daemon_write_pool(&d, "memory", whole_pool);
	start();
	run_until(is_ready, "ready");
	kernel_model_do_block(model, 122, MODEL_OFFLINES);
	event("memory", "offline", "memory122");
	kernel_model_do_block(model, 122, MODEL_UNPLUGS);
	event("memory", "remove", "memory122");
	run_until(are_two_left, "counted anew");
	ck_assert_uint_eq(manager->inventory.done_bytes, 2 * BLOCK_BYTES);
}
END_TEST

static bool is_replugged(void)
{
	return nr_online(120, 3) == 3 && is_ready();
}

/* Both within the time in which events are gathered. */
START_TEST(test_a_block_that_is_plugged_in_again_at_once_is_another_one)
{
	plug(1, 120, 3, false);
	daemon_write_pool(&d, "memory", whole_pool);
	start();
	run_until(is_ready, "ready");
	kernel_model_do_block(model, 121, MODEL_UNPLUGS);
	event("memory", "remove", "memory121");
	plug(1, 121, 1, false);
	event("memory", "add", "memory121");
	run_until(is_replugged, "ready again");
	ck_assert_uint_eq(share_of("memory", 1)->detail.nr_by_us, 3);
}
END_TEST

static bool are_pages_missing(void)
{
	/* fewer, once the plan has made room for what Reserve= keeps of the block that is left */
	return share_of("pages", 1)->done_bytes <= 100 * HUGE_BYTES &&
	       share_state_is_settled(share_of("pages", 1)->state);
}

START_TEST(test_huge_pages_that_went_with_their_memory_are_promised_no_more)
{
	struct hugepages_count left = { .nr_pages = 100, .free_pages = 100 };

	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=512M\nNodes=1\n");
	start();
	run_until(is_ready, "ready");
	for (uint64_t block = 101; block < 100 + BOOT_BLOCKS; block++)
		kernel_model_do_block(model, block, MODEL_OFFLINES);
	kernel_model_set_pages(model, 1, HUGE_BYTES, left);
	kernel_model_set_free_bytes(model, 1, 0);
	event("memory", "offline", "memory110");
	run_until(are_pages_missing, "missing");
	ck_assert(!manager->is_ready);
}
END_TEST

START_TEST(test_a_second_process_finds_its_part_of_the_same_whole_and_writes_nothing)
{
	uint64_t declared_bytes;

	plug(1, 120, 6, false);
	daemon_write_pool(&d, "memory", "[Pool]\nKind=block\nSize=50%\n");
	start();
	run_until(is_ready, "ready");
	declared_bytes = manager->inventory.declared_bytes;
	ck_assert_uint_eq(declared_bytes, 3 * BLOCK_BYTES);
	manager_freep(&manager);
	ck_assert_uint_eq(nr_online(120, 6), 3);

	start();
	run_until(is_ready, "ready again");
	ck_assert_uint_eq(manager->inventory.declared_bytes, declared_bytes);
	ck_assert_uint_eq(manager->inventory.done_bytes, declared_bytes);
	ck_assert_uint_eq(kernel_model_nr_block_writes(model), 3);
	ck_assert_uint_eq(share_of("memory", 1)->detail.nr_by_us, 3);
}
END_TEST

START_TEST(test_memory_that_was_hoped_for_and_refused_is_planned_for_no_more)
{
	plug(1, 120, 8, false);
	for (uint64_t block = 120; block < 128; block++)
		kernel_model_fail_block(model, block, UINT_MAX, EINVAL);
	daemon_write_pool(&d, "memory", "[Pool]\nKind=block\nMinimum=0\nNodes=1\n");
	daemon_write_pool(&d, "pages", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=50%\nNodes=1\n");
	start();
	run_until(is_settled, "settled");
	ck_assert_str_eq(share_state_text(share_of("memory", 1)->state), "degraded");
	ck_assert_uint_eq(share_of("pages", 1)->declared_bytes, 512 * HUGE_BYTES);
	ck_assert_uint_eq(kernel_model_pages(model, 1, HUGE_BYTES).nr_pages, 512);
	ck_assert_uint_eq(nr_lines_with("8 refused (memory120: refused), 0 left"), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("manager-hotplug");
	TCase *tcase = tcase_create("hotplug");

	bus_fixture_require();
	tcase_add_checked_fixture(tcase, setup_blocks, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_offline_blocks_are_brought_online_and_all_are_accounted_for);
	tcase_add_test(tcase, test_a_block_that_comes_after_ready_is_taken_in_and_the_others_grow);
	tcase_add_test(tcase, test_blocks_that_only_a_kernel_zone_takes_are_begun_once);
	tcase_add_test(tcase, test_memory_that_is_late_is_awaited);
	tcase_add_test(tcase, test_what_does_not_come_within_the_time_is_missing);
	tcase_add_test(tcase, test_a_node_that_may_come_is_awaited_and_joins);
	tcase_add_test(tcase, test_a_node_that_goes_is_promised_no_more_and_may_come_back);
	tcase_add_test(tcase,
	               test_a_block_that_was_seen_before_it_was_ours_to_write_is_tried_again);
	tcase_add_test(tcase, test_a_node_that_can_never_come_is_not_awaited);
	tcase_add_test(tcase, test_a_block_that_somebody_takes_offline_is_not_in_service_any_more);
	tcase_add_test(tcase, test_memory_that_was_never_of_a_pool_is_left_to_who_takes_it_offline);
	tcase_add_test(tcase, test_a_block_that_is_unplugged_is_promised_no_more);
	tcase_add_test(tcase, test_a_block_that_is_plugged_in_again_at_once_is_another_one);
	tcase_add_test(tcase, test_huge_pages_that_went_with_their_memory_are_promised_no_more);
	tcase_add_test(tcase,
	               test_a_second_process_finds_its_part_of_the_same_whole_and_writes_nothing);
	tcase_add_test(tcase, test_memory_that_was_hoped_for_and_refused_is_planned_for_no_more);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
