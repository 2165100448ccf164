/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Why bytes are refused, in which order, and what is said about it. */
#include <stdlib.h>
#include <string.h>

#include "plan-world.h"
#include "suite.h"

static struct world world;

static void setup(void)
{
	world_init(&world);
	world.config.daemon.reserve = (struct amount){ AMOUNT_BYTES, GIB };
	world.config.daemon.is_reserve_set = true;
}

static void teardown(void)
{
	world_clear(&world);
}

START_TEST(test_a_node_that_does_not_exist_is_refused_as_no_such_node)
{
	const struct plan_node *node;

	world_add_node(&world, 0, 64 * GIB);
	world_set_node_list(world_add_pool(&world, "bytes", POOL_REGION, "4G"), "0,7");
	world_set_node_list(world_add_pool(&world, "pages", POOL_REGION, "512p"), "7");
	world_set_node_list(world_add_pool(&world, "percent", POOL_REGION, "50%"), "7");
	world_plan(&world);
	world_expect(&world, 0, "bytes", 4 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 7, "bytes", 0, 4 * GIB, PLAN_NO_SUCH_NODE);
	world_expect(&world, 7, "pages", 0, 2 * MIB, PLAN_NO_SUCH_NODE);
	world_expect(&world, 7, "percent", 0, 0, PLAN_NO_SUCH_NODE);
	node = plan_node(world.plan, 7);
	ck_assert(!node->exists);
	ck_assert_uint_eq(node->memory_bytes, 0);
	ck_assert_uint_eq(node->reserved_bytes, 0);
	ck_assert_uint_eq(node->early_budget_bytes, 0);
	ck_assert(world_is_warned(&world, "pool bytes: this machine has no node 7"));
	ck_assert(world_is_warned(&world, "pool percent: this machine has no node 7"));
	ck_assert_int_eq(plan_pool(world.plan, "percent")->refusal, PLAN_NO_SUCH_NODE);
	ck_assert_int_eq(plan_exit_code(world.plan), 1);
}
END_TEST

START_TEST(test_a_node_with_cpus_and_no_memory_is_refused_when_it_is_named)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 0);
	world_set_node_list(world_add_pool(&world, "a", POOL_REGION, "4G"), "0-1");
	world_set_node_list(world_add_pool(&world, "b", POOL_REGION, "50%"), "0-1");
	world_plan(&world);
	world_expect(&world, 1, "a", 0, 4 * GIB, PLAN_MEMORYLESS_NODE);
	world_expect(&world, 1, "b", 0, 0, PLAN_MEMORYLESS_NODE);
	ck_assert(world_is_warned(&world, "pool a: no memory on node 1"));
	ck_assert_uint_eq(plan_node(world.plan, 1)->early_budget_bytes, 0);
}
END_TEST

START_TEST(test_pages_of_1g_on_a_64k_kernel_are_refused_and_the_sizes_there_are_are_listed)
{
	world.machine.page_bytes = 64 * KIB;
	world.machine.page_sizes[0] = 2 * MIB;
	world.machine.page_sizes[1] = 512 * MIB;
	world.machine.page_sizes[2] = 16 * GIB;
	world.machine.nr_page_sizes = 3;
	world.machine.huge_page_bytes = 512 * MIB;
	world_add_node(&world, 0, 64 * GIB);
	world_set_page(world_add_pool(&world, "a", POOL_HUGETLB, "4G"), POOL_PAGE_SIZE, GIB);
	world_set_page(world_add_pool(&world, "b", POOL_HUGETLB, "4G"), POOL_PAGE_HUGE, 0);
	world_plan(&world);
	world_expect(&world, 0, "a", 0, 4 * GIB, PLAN_UNSUPPORTED_SIZE);
	ck_assert_uint_eq(plan_pool(world.plan, "b")->page_bytes, 512 * MIB);
	world_expect(&world, 0, "b", 4 * GIB, 0, PLAN_ACCEPTED);
	ck_assert(world_is_warned(&world,
	                          "pool a: no pages of 1 GiB for kind hugetlb here; base pages are "
	                          "64 KiB, huge page sizes: 2 MiB, 512 MiB (huge), 16 GiB"));
	ck_assert_uint_eq(world.plan->nr_warnings, 2); /* and that its Minimum= cannot be reached */
}
END_TEST

START_TEST(test_huge_pages_on_a_kernel_without_any_are_refused)
{
	world.machine.nr_page_sizes = 0;
	world.machine.huge_page_bytes = 0;
	world_add_node(&world, 0, 64 * GIB);
	world_set_page(world_add_pool(&world, "a", POOL_REGION, "4G"), POOL_PAGE_HUGE, 0);
	world.pools[0].early = POOL_EARLY_AMOUNT;
	world.pools[0].early_amount = world_amount("3p");
	world_plan(&world);
	world_expect(&world, 0, "a", 0, 4 * GIB, PLAN_UNSUPPORTED_SIZE);
	ck_assert_uint_eq(plan_pool(world.plan, "a")->page_bytes, 0);
	ck_assert(
		world_is_warned(&world, "no pages of the default huge size for kind region here"));
	ck_assert(world_is_warned(&world, "huge page sizes: none"));
}
END_TEST

START_TEST(test_a_share_smaller_than_a_page_that_does_not_exist_is_refused_and_not_complete)
{
	struct pool_config *pool;

	world_add_node(&world, 0, 64 * GIB);
	pool = world_add_pool(&world, "a", POOL_REGION, "8M");
	world_set_page(pool, POOL_PAGE_SIZE, 16 * GIB);
	pool->region_bytes = 16 * GIB;
	world_set_page(world_add_pool(&world, "b", POOL_HUGETLB, "1G"), POOL_PAGE_SIZE, 16 * GIB);
	world_plan(&world);
	world_expect(&world, 0, "a", 0, 8 * MIB, PLAN_UNSUPPORTED_SIZE);
	world_expect(&world, 0, "b", 0, GIB, PLAN_UNSUPPORTED_SIZE);
	ck_assert_int_eq(plan_exit_code(world.plan), 1);
}
END_TEST

START_TEST(test_thp_without_a_mount_or_the_knob_is_refused)
{
	world.machine.thp = MACHINE_THP_NONE;
	world_add_node(&world, 0, 64 * GIB);
	world_set_page(world_add_pool(&world, "a", POOL_REGION, "4G"), POOL_PAGE_THP, 0);
	world_add_pool(&world, "b", POOL_REGION, "4G");
	world_plan(&world);
	world_expect(&world, 0, "a", 0, 4 * GIB, PLAN_UNSUPPORTED_SIZE);
	world_expect(&world, 0, "b", 4 * GIB, 0, PLAN_ACCEPTED);
	ck_assert(world_is_warned(&world, "pool a: no pages of thp for kind region here"));
	world.machine.thp = MACHINE_THP_MEMFD;
	world_plan(&world);
	world_expect(&world, 0, "a", 4 * GIB, 0, PLAN_ACCEPTED);
	world.machine.thp_bytes = 0;
	world_plan(&world);
	world_expect(&world, 0, "a", 0, 4 * GIB, PLAN_UNSUPPORTED_SIZE);
}
END_TEST

START_TEST(test_a_hugetlb_pool_of_small_pages_is_refused)
{
	world_add_node(&world, 0, 64 * GIB);
	world_set_page(world_add_pool(&world, "a", POOL_HUGETLB, "4G"), POOL_PAGE_BASE, 0);
	world_set_page(world_add_pool(&world, "b", POOL_HUGETLB, "4G"), POOL_PAGE_THP, 0);
	world_plan(&world);
	world_expect(&world, 0, "a", 0, 4 * GIB, PLAN_UNSUPPORTED_SIZE);
	world_expect(&world, 0, "b", 0, 4 * GIB, PLAN_UNSUPPORTED_SIZE);
}
END_TEST

START_TEST(test_a_node_that_mems_allowed_lacks_is_refused_as_outside_cpuset)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 64 * GIB)->is_allowed = false;
	idset_clear(&world.machine.allowed_nodes);
	ck_assert_int_eq(idset_add(&world.machine.allowed_nodes, 0), 0);
	world_add_pool(&world, "base", POOL_REGION, "4G");
	world_set_page(world_add_pool(&world, "huge", POOL_HUGETLB, "4G"), POOL_PAGE_HUGE, 0);
	world_plan(&world);
	world_expect(&world, 0, "base", 4 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 1, "base", 0, 4 * GIB, PLAN_OUTSIDE_CPUSET);
	world_expect(&world, 0, "huge", 4 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 1, "huge", 0, 4 * GIB, PLAN_OUTSIDE_CPUSET);
	ck_assert(world_is_warned(&world, "pool base: node 1 outside the cpuset, which allows "
	                                  "memory of 0 only"));
}
END_TEST

START_TEST(test_without_the_right_to_add_huge_pages_those_there_are_used)
{
	struct machine_node *node = world_add_node(&world, 0, 64 * GIB);

	node->hugepages[0].nr_pages = 1536; /* 3 GiB */
	node->hugepages[1].nr_pages = 1;
	world.machine.may_grow_hugepages = false;
	world_set_page(world_add_pool(&world, "a", POOL_HUGETLB, "2G"), POOL_PAGE_HUGE, 0);
	world_set_page(world_add_pool(&world, "b", POOL_REGION, "4G"), POOL_PAGE_HUGE, 0);
	world.pools[1].region_bytes = 512 * MIB;
	world_set_page(world_add_pool(&world, "c", POOL_REGION, "2G"), POOL_PAGE_SIZE, GIB);
	world_set_page(world_add_pool(&world, "d", POOL_REGION, "4G"), POOL_PAGE_BASE, 0);
	world_set_page(world_add_pool(&world, "e", POOL_REGION, "4G"), POOL_PAGE_THP, 0);
	world_plan(&world);
	world_expect(&world, 0, "a", 2 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 0, "b", GIB, 3 * GIB, PLAN_NOT_PERMITTED);
	world_expect(&world, 0, "c", GIB, GIB, PLAN_NOT_PERMITTED);
	world_expect(&world, 0, "d", 4 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 0, "e", 4 * GIB, 0, PLAN_ACCEPTED);
	ck_assert(world_is_warned(&world, "pool b: 3 GiB refused on node 0: the kernel lets this "
	                                  "process add no huge pages"));
	world.machine.may_grow_hugepages = true;
	world_plan(&world);
	world_expect(&world, 0, "b", 4 * GIB, 0, PLAN_ACCEPTED);
}
END_TEST

START_TEST(test_sizes_that_no_machine_has_are_refused_where_huge_pages_may_not_be_added)
{
	world_add_node(&world, 0, 64 * GIB);
	world.machine.may_grow_hugepages = false;
	world_set_page(world_add_pool(&world, "a", POOL_HUGETLB, "2G"), POOL_PAGE_SIZE, 32 * MIB);
	world_plan(&world);
	world_expect(&world, 0, "a", 0, 2 * GIB, PLAN_UNSUPPORTED_SIZE);
}
END_TEST

static void limit_cgroup(uint64_t room_bytes)
{
	world.machine.cgroup_limit_bytes = 16 * GIB;
	world.machine.cgroup_room_bytes = room_bytes;
	snprintf(world.machine.cgroup_path, sizeof(world.machine.cgroup_path), "/a.slice");
}

START_TEST(test_a_memory_max_of_1g_and_4g_to_populate_is_refused_as_cgroup_limit)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "4G")->region_bytes = 64 * MIB;
	limit_cgroup(GIB);
	world.machine.cgroup_limit_bytes = GIB;
	world_plan(&world);
	/* 64 MiB of the room are the daemon's own. */
	world_expect(&world, 0, "a", 960 * MIB, 3136 * MIB, PLAN_CGROUP_LIMIT);
	ck_assert(world_is_warned(&world,
	                          "pool a: 3 GiB refused: cgroup /a.slice is limited to 1 GiB and "
	                          "has room for 1 GiB, of which 64 MiB are kept for the daemon"));
	ck_assert_int_eq(plan_exit_code(world.plan), 1);
}
END_TEST

START_TEST(test_a_cgroup_without_room_for_the_daemon_grants_nothing)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "4G")->region_bytes = MIB;
	limit_cgroup(63 * MIB);
	world_plan(&world);
	world_expect(&world, 0, "a", 0, 4 * GIB, PLAN_CGROUP_LIMIT);
}
END_TEST

START_TEST(test_huge_pages_are_not_charged_to_the_cgroup)
{
	world_add_node(&world, 0, 64 * GIB);
	world_set_page(world_add_pool(&world, "a", POOL_HUGETLB, "4G"), POOL_PAGE_HUGE, 0);
	world_set_page(world_add_pool(&world, "b", POOL_REGION, "4G"), POOL_PAGE_HUGE, 0);
	world_set_page(world_add_pool(&world, "c", POOL_REGION, "4G"), POOL_PAGE_THP, 0);
	limit_cgroup(2 * GIB + 64 * MIB);
	world_plan(&world);
	world_expect(&world, 0, "a", 4 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 0, "b", 4 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 0, "c", 2 * GIB, 2 * GIB, PLAN_CGROUP_LIMIT);
}
END_TEST

START_TEST(test_a_cgroup_limit_trims_in_proportion_over_the_nodes)
{
	struct pool_config *pool;

	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 64 * GIB);
	pool = world_add_pool(&world, "a", POOL_REGION, "8G");
	world_set_size_on(pool, 1, "4G");
	limit_cgroup(6 * GIB + 64 * MIB);
	world_plan(&world);
	world_expect(&world, 0, "a", 4 * GIB, 4 * GIB, PLAN_CGROUP_LIMIT);
	world_expect(&world, 1, "a", 2 * GIB, 2 * GIB, PLAN_CGROUP_LIMIT);
}
END_TEST

START_TEST(test_what_rounding_leaves_over_of_a_cgroup_goes_to_the_lowest_nodes)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 64 * GIB);
	world_add_node(&world, 2, 64 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "4G");
	/* 5/3 GiB each: one GiB each, and two regions are left. */
	limit_cgroup(5 * GIB + 64 * MIB);
	world_plan(&world);
	world_expect(&world, 0, "a", 3 * GIB, GIB, PLAN_CGROUP_LIMIT);
	world_expect(&world, 1, "a", GIB, 3 * GIB, PLAN_CGROUP_LIMIT);
	world_expect(&world, 2, "a", GIB, 3 * GIB, PLAN_CGROUP_LIMIT);
}
END_TEST

START_TEST(test_required_pools_take_of_a_cgroup_first_then_by_name)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "4G")->is_required = false;
	world_add_pool(&world, "b", POOL_REGION, "4G");
	world_add_pool(&world, "c", POOL_REGION, "4G");
	limit_cgroup(7 * GIB + 64 * MIB);
	world_plan(&world);
	world_expect(&world, 0, "a", 0, 4 * GIB, PLAN_CGROUP_LIMIT);
	world_expect(&world, 0, "b", 4 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 0, "c", 3 * GIB, GIB, PLAN_CGROUP_LIMIT);
}
END_TEST

START_TEST(test_the_reserve_of_a_node_is_not_given_away)
{
	world_add_node(&world, 0, 16 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "100%");
	world_plan(&world);
	world_expect(&world, 0, "a", 15 * GIB, GIB, PLAN_EXCEEDS_RESERVE);
	ck_assert_uint_eq(world.plan->nodes[0].reserved_bytes, GIB);
	ck_assert_uint_eq(world.plan->nodes[0].unclaimed_bytes, 0);
	ck_assert(world_is_warned(&world, "pool a: 1 GiB refused on node 0: Reserve="));
	ck_assert(!world_is_warned(&world, "devices"));
}
END_TEST

START_TEST(test_memory_for_devices_is_left_beside_the_reserve)
{
	world_add_node(&world, 0, 16 * GIB);
	world_add_node(&world, 1, 16 * GIB)->device_bytes = 3 * GIB;
	world_add_node(&world, 2, 2 * GIB)->device_bytes = 2 * GIB;
	world_add_pool(&world, "a", POOL_REGION, "100%");
	world_plan(&world);
	world_expect(&world, 0, "a", 15 * GIB, GIB, PLAN_EXCEEDS_RESERVE);
	world_expect(&world, 1, "a", 12 * GIB, 4 * GIB, PLAN_EXCEEDS_RESERVE);
	world_expect(&world, 2, "a", 0, 2 * GIB, PLAN_EXCEEDS_RESERVE);
	ck_assert_uint_eq(world.plan->nodes[0].reserved_bytes, GIB);
	ck_assert_uint_eq(world.plan->nodes[1].reserved_bytes, 4 * GIB);
	ck_assert_uint_eq(world.plan->nodes[2].reserved_bytes, 2 * GIB);
	ck_assert(world_is_warned(&world, "nodes 1-2: 5 GiB set aside for devices (CMA)"));
}
END_TEST

START_TEST(test_the_default_reserve_is_5_percent_and_at_least_256_mib)
{
	world.config.daemon.reserve = world_amount("5%");
	world.config.daemon.is_reserve_set = false;
	world_add_node(&world, 0, 20 * GIB);
	world_add_node(&world, 1, GIB);
	world_add_node(&world, 2, 128 * MIB);
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nodes[0].reserved_bytes, GIB);
	ck_assert_uint_eq(world.plan->nodes[1].reserved_bytes, 256 * MIB);
	ck_assert_uint_eq(world.plan->nodes[2].reserved_bytes, 128 * MIB);
	world.config.daemon.is_reserve_set = true;
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nodes[1].reserved_bytes, GIB / 20);
}
END_TEST

START_TEST(test_120_pages_of_1g_on_125_gib_leave_the_reserve_to_the_system)
{
	world.config.daemon.reserve = world_amount("5%");
	world.config.daemon.is_reserve_set = false;
	world_add_node(&world, 0, 125 * GIB);
	world_set_page(world_add_pool(&world, "a", POOL_HUGETLB, "120p"), POOL_PAGE_SIZE, GIB);
	world_plan(&world);
	world_expect(&world, 0, "a", 118 * GIB, 2 * GIB, PLAN_EXCEEDS_RESERVE);
}
END_TEST

START_TEST(test_a_configuration_for_512_gib_on_8_gib_fails_or_degrades_by_its_minimum)
{
	struct pool_config *pool;

	world_add_node(&world, 0, 8 * GIB);
	pool = world_add_pool(&world, "a", POOL_REGION, "512G");
	world_plan(&world);
	world_expect(&world, 0, "a", 7 * GIB, 505 * GIB, PLAN_EXCEEDS_RESERVE);
	ck_assert(!plan_pool(world.plan, "a")->can_reach_minimum);
	ck_assert_int_eq(plan_exit_code(world.plan), 1);
	ck_assert(world_is_warned(&world, "pool a: will fail: Minimum= is 512 GiB on node 0, and "
	                                  "7 GiB can be had there"));
	world_set_minimum(pool, "7G");
	world_plan(&world);
	ck_assert(plan_pool(world.plan, "a")->can_reach_minimum);
	ck_assert_int_eq(plan_exit_code(world.plan), 0);
	ck_assert(!world_is_warned(&world, "will fail"));
	world_set_minimum(pool, "8G");
	pool->is_required = false;
	world_plan(&world);
	ck_assert(!plan_pool(world.plan, "a")->can_reach_minimum);
	ck_assert_int_eq(plan_exit_code(world.plan), 0);
}
END_TEST

START_TEST(test_a_minimum_that_cannot_be_reached_is_told_with_the_nodes_where)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 8 * GIB);
	world_add_node(&world, 2, 5 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "10G");
	world_plan(&world);
	ck_assert(world_is_warned(&world, "pool a: will fail: Minimum= is 20 GiB on nodes 1-2, "
	                                  "and 11 GiB can be had there"));
}
END_TEST

START_TEST(test_when_a_node_is_scarce_required_pools_come_first_then_kind_then_name)
{
	world_add_node(&world, 0, 11 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "4G")->is_required = false;
	world_add_pool(&world, "b", POOL_REGION, "4G");
	world_add_pool(&world, "c", POOL_REGION, "4G");
	world_set_page(world_add_pool(&world, "d", POOL_HUGETLB, "4G"), POOL_PAGE_HUGE, 0);
	world_plan(&world);
	world_expect(&world, 0, "d", 4 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 0, "b", 4 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 0, "c", 2 * GIB, 2 * GIB, PLAN_EXCEEDS_RESERVE);
	world_expect(&world, 0, "a", 0, 4 * GIB, PLAN_EXCEEDS_RESERVE);
}
END_TEST

START_TEST(test_a_share_refused_in_two_pieces_has_the_word_of_the_larger_one)
{
	struct machine_node *node = world_add_node(&world, 0, 11 * GIB);

	node->hugepages[0].nr_pages = 12 * 512;
	world.machine.may_grow_hugepages = false;
	world_set_page(world_add_pool(&world, "a", POOL_HUGETLB, "15G"), POOL_PAGE_HUGE, 0);
	world_plan(&world);
	/* 3 GiB are not permitted, 2 GiB more exceed the reserve. */
	world_expect(&world, 0, "a", 10 * GIB, 5 * GIB, PLAN_NOT_PERMITTED);
	world.pools[0].size.amount = world_amount("13G");
	world_plan(&world);
	world_expect(&world, 0, "a", 10 * GIB, 3 * GIB, PLAN_EXCEEDS_RESERVE);
}
END_TEST

START_TEST(test_a_pool_has_the_word_of_its_largest_refused_share)
{
	world_add_node(&world, 0, 11 * GIB);
	world_add_node(&world, 1, 64 * GIB)->is_allowed = false;
	world_set_node_list(world_add_pool(&world, "a", POOL_REGION, "12G"), "0-2");
	world_set_size_on(&world.pools[0], 2, "5G");
	world_set_node_list(world_add_pool(&world, "b", POOL_REGION, "1G"), "1-2");
	world_set_size_on(&world.pools[1], 2, "2G");
	world_plan(&world);
	ck_assert_int_eq(plan_pool(world.plan, "a")->refusal, PLAN_OUTSIDE_CPUSET);
	ck_assert_int_eq(plan_pool(world.plan, "b")->refusal, PLAN_NO_SUCH_NODE);
}
END_TEST

START_TEST(test_the_first_reason_in_order_is_the_one_that_is_given)
{
	world.machine.thp = MACHINE_THP_NONE;
	world_add_node(&world, 0, 0)->is_allowed = false;
	world_add_node(&world, 1, 8 * GIB)->is_allowed = false;
	world_set_page(world_add_pool(&world, "a", POOL_REGION, "4G"), POOL_PAGE_THP, 0);
	world_set_node_list(&world.pools[0], "0-2");
	world_plan(&world);
	world_expect(&world, 0, "a", 0, 4 * GIB, PLAN_MEMORYLESS_NODE);
	world_expect(&world, 1, "a", 0, 4 * GIB, PLAN_UNSUPPORTED_SIZE);
	world_expect(&world, 2, "a", 0, 4 * GIB, PLAN_NO_SUCH_NODE);
}
END_TEST

START_TEST(test_sizes_beyond_64_bits_saturate_and_stay_in_the_account)
{
	const struct plan *plan;

	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 64 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "16383P");
	world_add_pool(&world, "b", POOL_REGION, "16383P");
	limit_cgroup(3 * GIB + 64 * MIB);
	ck_assert_int_eq(plan_make(&world.machine, &world.config, &world.plan), 0);
	plan = world.plan;
	ck_assert_uint_eq(plan->declared_bytes, UINT64_MAX);
	ck_assert_uint_eq(plan->early_bytes + plan->deferred_bytes, 3 * GIB);
	ck_assert_uint_eq(plan->early_bytes + plan->deferred_bytes + plan->refused_bytes,
	                  plan->declared_bytes);
	ck_assert_uint_eq(plan->pools[0].declared_bytes, UINT64_MAX);
	ck_assert_uint_eq(plan->pools[0].minimum_bytes, UINT64_MAX);
	ck_assert_uint_eq(plan->nodes[0].declared_bytes, UINT64_MAX);
	world_expect(&world, 0, "a", 2 * GIB, 16383 * 1024 * TIB - 2 * GIB, PLAN_CGROUP_LIMIT);
	world_expect(&world, 1, "a", GIB, 16383 * 1024 * TIB - GIB, PLAN_CGROUP_LIMIT);
}
END_TEST

START_TEST(test_pages_that_can_be_swapped_are_told_on_a_host_with_swap)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "base", POOL_REGION, "1G");
	world_set_page(world_add_pool(&world, "huge", POOL_REGION, "1G"), POOL_PAGE_HUGE, 0);
	world_add_pool(&world, "locked", POOL_REGION, "1G")->is_locked = true;
	world_add_pool(&world, "none", POOL_REGION, "0");
	world_set_page(world_add_pool(&world, "thp", POOL_REGION, "1G"), POOL_PAGE_THP, 0);
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nr_warnings, 0);
	world.machine.has_swap = true;
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nr_warnings, 2);
	ck_assert(world_is_warned(&world, "pool base: swap is on, and base pages can be swapped "
	                                  "out; Lock=yes"));
	ck_assert(
		world_is_warned(&world, "pool thp: swap is on, and thp pages can be swapped out"));
}
END_TEST

START_TEST(test_percentages_are_of_the_memory_blocks_and_a_smaller_memtotal_is_told)
{
	world_add_node(&world, 0, 24 * GIB)->mem_total_bytes = 4 * GIB;
	world_add_node(&world, 1, 20 * GIB)->mem_total_bytes = 18 * GIB;
	world_add_node(&world, 2, 24 * GIB)->mem_total_bytes = 20 * GIB;
	world_add_node(&world, 3, 0);
	world_add_pool(&world, "a", POOL_REGION, "50%");
	world_plan(&world);
	world_expect(&world, 0, "a", 12 * GIB, 0, PLAN_ACCEPTED);
	ck_assert_uint_eq(world.plan->nr_warnings, 1);
	ck_assert(world_is_warned(&world, "nodes 0,2: memory blocks of 48 GiB, MemTotal so far "
	                                  "24 GiB"));
}
END_TEST

START_TEST(test_pages_of_1g_to_be_added_at_run_time_are_told_with_the_boot_parameter)
{
	world_add_node(&world, 0, 64 * GIB)->hugepages[1].nr_pages = 3;
	world_add_node(&world, 1, 64 * GIB)->hugepages[1].nr_pages = 30;
	world_set_page(world_add_pool(&world, "a", POOL_HUGETLB, "2G"), POOL_PAGE_SIZE, GIB);
	world_set_page(world_add_pool(&world, "b", POOL_REGION, "7G"), POOL_PAGE_SIZE, GIB);
	world_set_page(world_add_pool(&world, "c", POOL_REGION, "7G"), POOL_PAGE_HUGE, 0);
	world_set_node_list(world_add_pool(&world, "d", POOL_REGION, "0"), "7");
	world_plan(&world);
	ck_assert(world_is_warned(&world, "huge pages of 1 GiB to be added at run time: 6;"));
	ck_assert(world_is_warned(&world, "hugepagesz=1G hugepages=6"));
	ck_assert_uint_eq(world.plan->nr_warnings, 3);
	world.nodes[0].hugepages[1].nr_pages = 9;
	world.nodes[1].hugepages[1].nr_pages = 9;
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nr_warnings, 1);
}
END_TEST

/* CASES 4: what a wrong boot parameter put elsewhere is left, and said. */
START_TEST(test_pages_that_are_too_many_on_a_node_are_left_and_said)
{
	struct pool_config *pool;

	world_add_node(&world, 0, 64 * GIB)->hugepages[1].nr_pages = 0;
	world_add_node(&world, 1, 64 * GIB)->hugepages[1].nr_pages = 1;
	world_add_node(&world, 2, 64 * GIB)->hugepages[1].nr_pages = 3;
	pool = world_add_pool(&world, "a", POOL_HUGETLB, "1G");
	world_set_page(pool, POOL_PAGE_SIZE, GIB);
	world_plan(&world);
	ck_assert(world_is_warned(&world, "huge pages of 1 GiB to be added at run time: 1;"));
	ck_assert(world_is_warned(&world, "node 2: 2 huge pages of 1 GiB more than the pools want "
	                                  "there, left as they are"));
	ck_assert_uint_eq(world.plan->nr_warnings, 2);
	pool->may_shrink = true;
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nr_warnings, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-refuse");
	TCase *cases = tcase_create("refuse");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, test_a_node_that_does_not_exist_is_refused_as_no_such_node);
	tcase_add_test(cases, test_a_node_with_cpus_and_no_memory_is_refused_when_it_is_named);
	tcase_add_test(
		cases,
		test_pages_of_1g_on_a_64k_kernel_are_refused_and_the_sizes_there_are_are_listed);
	tcase_add_test(cases, test_huge_pages_on_a_kernel_without_any_are_refused);
	tcase_add_test(cases, test_pages_that_are_too_many_on_a_node_are_left_and_said);
	tcase_add_test(
		cases,
		test_a_share_smaller_than_a_page_that_does_not_exist_is_refused_and_not_complete);
	tcase_add_test(cases, test_thp_without_a_mount_or_the_knob_is_refused);
	tcase_add_test(cases, test_a_hugetlb_pool_of_small_pages_is_refused);
	tcase_add_test(cases, test_a_node_that_mems_allowed_lacks_is_refused_as_outside_cpuset);
	tcase_add_test(cases, test_without_the_right_to_add_huge_pages_those_there_are_used);
	tcase_add_test(
		cases,
		test_sizes_that_no_machine_has_are_refused_where_huge_pages_may_not_be_added);
	tcase_add_test(cases,
	               test_a_memory_max_of_1g_and_4g_to_populate_is_refused_as_cgroup_limit);
	tcase_add_test(cases, test_a_cgroup_without_room_for_the_daemon_grants_nothing);
	tcase_add_test(cases, test_huge_pages_are_not_charged_to_the_cgroup);
	tcase_add_test(cases, test_a_cgroup_limit_trims_in_proportion_over_the_nodes);
	tcase_add_test(cases, test_what_rounding_leaves_over_of_a_cgroup_goes_to_the_lowest_nodes);
	tcase_add_test(cases, test_required_pools_take_of_a_cgroup_first_then_by_name);
	tcase_add_test(cases, test_the_reserve_of_a_node_is_not_given_away);
	tcase_add_test(cases, test_memory_for_devices_is_left_beside_the_reserve);
	tcase_add_test(cases, test_the_default_reserve_is_5_percent_and_at_least_256_mib);
	tcase_add_test(cases, test_120_pages_of_1g_on_125_gib_leave_the_reserve_to_the_system);
	tcase_add_test(cases,
	               test_a_configuration_for_512_gib_on_8_gib_fails_or_degrades_by_its_minimum);
	tcase_add_test(cases, test_a_minimum_that_cannot_be_reached_is_told_with_the_nodes_where);
	tcase_add_test(cases,
	               test_when_a_node_is_scarce_required_pools_come_first_then_kind_then_name);
	tcase_add_test(cases, test_a_share_refused_in_two_pieces_has_the_word_of_the_larger_one);
	tcase_add_test(cases, test_a_pool_has_the_word_of_its_largest_refused_share);
	tcase_add_test(cases, test_the_first_reason_in_order_is_the_one_that_is_given);
	tcase_add_test(cases, test_sizes_beyond_64_bits_saturate_and_stay_in_the_account);
	tcase_add_test(cases, test_pages_that_can_be_swapped_are_told_on_a_host_with_swap);
	tcase_add_test(cases,
	               test_percentages_are_of_the_memory_blocks_and_a_smaller_memtotal_is_told);
	tcase_add_test(cases,
	               test_pages_of_1g_to_be_added_at_run_time_are_told_with_the_boot_parameter);
	suite_add_tcase(suite, cases);
	return suite_main(suite);
}
