/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which memory blocks a pool of kind block gets, and what the node has by them. */
#include <stdlib.h>
#include <string.h>

#include "plan-world.h"
#include "suite.h"

#define KERNEL  MACHINE_ZONE_KERNEL
#define MOVABLE MACHINE_ZONE_MOVABLE

static struct world world;

static void setup(void)
{
	world_init(&world);
	world.config.daemon.early_minimum_bytes = 256 * MIB; /* two blocks */
}

static void teardown(void)
{
	world_clear(&world);
}

static void expect_blocks(unsigned node_id, const char *pool, const char *blocks)
{
	ck_assert_str_eq(world_blocks_text(&world, node_id, pool), blocks);
}

START_TEST(test_without_a_size_all_blocks_that_are_offline_are_taken_ascending)
{
	struct plan_node *node;

	world_add_node(&world, 1, 8 * GIB);
	world_add_blocks(&world, 1, 8);
	world_add_pool(&world, "a", POOL_BLOCK, NULL);
	world_plan(&world);
	node = &world.plan->nodes[0];
	world_expect(&world, 1, "a", GIB, 0, PLAN_ACCEPTED);
	expect_blocks(1, "a", "10000-10001,@10002-10007");
	ck_assert_uint_eq(world_share(&world, 1, "a")->unit_bytes, 128 * MIB);
	ck_assert_uint_eq(plan_pool(world.plan, "a")->page_bytes, 4 * KIB);
	ck_assert_uint_eq(world_share(&world, 1, "a")->minimum_bytes, GIB);
	ck_assert_uint_eq(node->coming_bytes, GIB);
	ck_assert_uint_eq(node->offline_bytes, GIB);
	ck_assert_uint_eq(node->memory_bytes, 9 * GIB);
	ck_assert_uint_eq(world.plan->nr_warnings, 0);
	ck_assert(plan_pool(world.plan, "a")->can_reach_minimum);
}
END_TEST

START_TEST(test_a_size_in_percent_is_of_all_blocks_whether_they_are_online_by_now_or_not)
{
	struct machine_block *blocks;

	world_add_node(&world, 0, 8 * GIB);
	blocks = world_add_blocks(&world, 0, 9);
	world_add_pool(&world, "a", POOL_BLOCK, "50%");
	world_plan(&world);
	world_expect(&world, 0, "a", 512 * MIB, 0, PLAN_ACCEPTED);
	expect_blocks(0, "a", "0-1,@2-3");
	world_set_online(&world, 0, blocks, 3, MOVABLE);
	world_plan(&world);
	world_expect(&world, 0, "a", 512 * MIB, 0, PLAN_ACCEPTED);
	expect_blocks(0, "a", "0-1,@2-3");
	ck_assert_uint_eq(world.plan->nodes[0].coming_bytes, 128 * MIB);
	ck_assert_uint_eq(world.plan->nodes[0].offline_bytes, 6 * 128 * MIB);
	ck_assert_uint_eq(world.plan->nodes[0].memory_bytes, 8 * GIB + 512 * MIB);
}
END_TEST

START_TEST(test_a_size_in_bytes_is_rounded_down_to_blocks)
{
	world_add_node(&world, 0, 8 * GIB);
	world_add_blocks(&world, 0, 8);
	world_add_pool(&world, "a", POOL_BLOCK, "500M");
	world_plan(&world);
	world_expect(&world, 0, "a", 384 * MIB, 0, PLAN_ACCEPTED);
	expect_blocks(0, "a", "0-1,@2");
	ck_assert(world_is_warned(&world, "node 0: 640 MiB offline, no pool of kind block takes "
	                                  "them"));
	ck_assert_uint_eq(world.plan->nr_warnings, 1);
}
END_TEST

START_TEST(test_a_size_below_a_block_is_nothing_and_told)
{
	world_add_node(&world, 0, 8 * GIB);
	world_add_pool(&world, "a", POOL_BLOCK, "127M");
	world_plan(&world);
	ck_assert(plan_pool(world.plan, "a")->is_empty);
	world_add_blocks(&world, 0, 8);
	world_plan(&world);
	world_expect(&world, 0, "a", 0, 0, PLAN_ACCEPTED);
	ck_assert(plan_pool(world.plan, "a")->is_empty);
	ck_assert(world_is_warned(&world, "pool a: nothing on node 0: Size= is less than one "
	                                  "memory block there; it would need 128 MiB"));
}
END_TEST

START_TEST(test_a_size_for_one_node_replaces_the_whole_of_it_and_leaves_the_others)
{
	world_add_node(&world, 0, 8 * GIB);
	world_add_node(&world, 1, 8 * GIB);
	world_add_blocks(&world, 0, 4);
	world_add_blocks(&world, 1, 4);
	world_set_size_on(world_add_pool(&world, "a", POOL_BLOCK, NULL), 1, "128M");
	world_plan(&world);
	world_expect(&world, 0, "a", 512 * MIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 1, "a", 128 * MIB, 0, PLAN_ACCEPTED);
}
END_TEST

START_TEST(test_more_than_there_is_offline_is_refused)
{
	struct pool_config *pool;

	world_add_node(&world, 0, 8 * GIB);
	world_add_node(&world, 1, 8 * GIB);
	world_add_blocks(&world, 0, 4);
	pool = world_add_pool(&world, "a", POOL_BLOCK, "640M");
	world_plan(&world);
	world_expect(&world, 0, "a", 512 * MIB, 128 * MIB, PLAN_NO_OFFLINE_MEMORY);
	world_expect(&world, 1, "a", 0, 640 * MIB, PLAN_NO_OFFLINE_MEMORY);
	ck_assert(!plan_pool(world.plan, "a")->can_reach_minimum);
	ck_assert(world_is_warned(&world, "pool a: 768 MiB refused on nodes 0-1: more than the "
	                                  "memory blocks that are offline there and in no other "
	                                  "pool"));
	ck_assert(world_is_warned(&world, "pool a: will fail: Minimum= is 1.2 GiB on nodes 0-1, "
	                                  "and 512 MiB can be had there"));
	world_set_minimum(pool, "50%");
	world_set_node_list(pool, "0");
	world_plan(&world);
	ck_assert_uint_eq(world_share(&world, 0, "a")->minimum_bytes, 256 * MIB);
	ck_assert(plan_pool(world.plan, "a")->can_reach_minimum);
}
END_TEST

START_TEST(test_744_of_744_are_had_already_and_a_part_of_nothing_is_nothing)
{
	struct machine_block *blocks;

	world_add_node(&world, 0, 8 * GIB);
	world_add_node(&world, 1, 8 * GIB);
	blocks = world_add_blocks(&world, 0, 744);
	world_set_online(&world, 0, blocks, 744, MOVABLE);
	world_add_pool(&world, "a", POOL_BLOCK, "100%");
	world_plan(&world);
	world_expect(&world, 0, "a", 93 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 1, "a", 0, 0, PLAN_ACCEPTED);
	ck_assert_uint_eq(world_share(&world, 0, "a")->nr_blocks, 744);
	ck_assert_uint_eq(world.plan->nodes[0].coming_bytes, 0);
	ck_assert_uint_eq(world.plan->nodes[0].memory_bytes, 101 * GIB);
	ck_assert_uint_eq(world.plan->nr_warnings, 0);
	world_set_node_list(&world.pools[0], "1");
	world_plan(&world);
	ck_assert(!plan_pool(world.plan, "a")->is_empty);
	ck_assert(plan_pool(world.plan, "a")->can_reach_minimum);
	ck_assert_uint_eq(world.plan->nr_warnings, 0);
}
END_TEST

START_TEST(test_a_size_of_zero_takes_no_block_and_is_not_told_as_too_small)
{
	world_add_node(&world, 0, 8 * GIB);
	world_add_blocks(&world, 0, 4);
	world_add_pool(&world, "a", POOL_BLOCK, "0");
	world_plan(&world);
	world_expect(&world, 0, "a", 0, 0, PLAN_ACCEPTED);
	ck_assert(!plan_pool(world.plan, "a")->is_empty);
	ck_assert_uint_eq(world.plan->nr_warnings, 1);
}
END_TEST

START_TEST(test_a_node_that_is_not_there_is_refused_also_where_its_part_is_not_known)
{
	world_add_node(&world, 1, 8 * GIB);
	world_add_blocks(&world, 1, 4);
	world_set_node_list(world_add_pool(&world, "a", POOL_BLOCK, "50%"), "0-1,7");
	world_set_node_list(world_add_pool(&world, "b", POOL_BLOCK, "256M"), "7");
	world_plan(&world);
	world_expect(&world, 7, "a", 0, 0, PLAN_NO_SUCH_NODE);
	ck_assert(world_share(&world, 7, "a")->is_unmet);
	ck_assert(!plan_pool(world.plan, "a")->can_reach_minimum);
	world_expect(&world, 7, "b", 0, 256 * MIB, PLAN_NO_SUCH_NODE);
	world_expect(&world, 0, "a", 0, 0, PLAN_NO_SUCH_NODE);
	world_expect(&world, 1, "a", 256 * MIB, 0, PLAN_ACCEPTED);
	ck_assert_uint_eq(plan_node(world.plan, 1)->coming_bytes, 256 * MIB);
	ck_assert_uint_eq(plan_node(world.plan, 1)->early_budget_bytes, 256 * MIB);
	ck_assert(world_is_warned(&world, "node 1: 256 MiB offline, no pool of kind block"));
}
END_TEST

START_TEST(test_two_pools_on_a_node_have_blocks_of_their_own_required_ones_first)
{
	world_add_node(&world, 0, 8 * GIB);
	world_add_blocks(&world, 0, 10);
	world_add_pool(&world, "a", POOL_BLOCK, "512M")->is_required = false;
	world_add_pool(&world, "b", POOL_BLOCK, "384M");
	world_add_pool(&world, "c", POOL_BLOCK, "512M");
	for (size_t i = 0; i < 3; i++)
		world.pools[i].early = POOL_EARLY_NONE;
	world_plan(&world);
	expect_blocks(0, "b", "@0-2");
	expect_blocks(0, "c", "@3-6");
	expect_blocks(0, "a", "@7-9");
	world_expect(&world, 0, "a", 384 * MIB, 128 * MIB, PLAN_NO_OFFLINE_MEMORY);
	ck_assert_uint_eq(world.plan->nodes[0].coming_bytes, 1280 * MIB);
}
END_TEST

START_TEST(test_the_zone_that_is_asked_for_stands_at_every_block)
{
	static const enum pool_zone zones[] = { POOL_ZONE_AUTO, POOL_ZONE_KERNEL,
		                                POOL_ZONE_MOVABLE };

	world_add_node(&world, 0, 8 * GIB);
	world_add_blocks(&world, 0, 4);
	world_add_pool(&world, "a", POOL_BLOCK, NULL);
	for (size_t i = 0; i < ELEMENTS(zones); i++) {
		world.pools[0].zone = zones[i];
		world_plan(&world);
		ck_assert_uint_eq(world_share(&world, 0, "a")->nr_blocks, 4);
		for (size_t j = 0; j < 4; j++)
			ck_assert_int_eq(world_share(&world, 0, "a")->blocks[j].zone, zones[i]);
	}
}
END_TEST

START_TEST(test_blocks_that_cannot_go_into_the_zone_are_refused_with_a_word)
{
	struct machine_block *blocks;
	struct pool_config *pool;

	world_add_node(&world, 0, 8 * GIB);
	blocks = world_add_blocks(&world, 0, 6);
	blocks[0].zones = 0;
	blocks[1].zones = KERNEL;
	blocks[2].zones = MOVABLE;
	pool = world_add_pool(&world, "a", POOL_BLOCK, NULL);
	pool->early = POOL_EARLY_NONE;
	world_plan(&world);
	world_expect(&world, 0, "a", 640 * MIB, 128 * MIB, PLAN_UNSUPPORTED_ZONE);
	expect_blocks(0, "a", "1,@2-5");
	ck_assert(world_is_warned(&world, "pool a: 128 MiB refused on node 0: the valid_zones of "
	                                  "these memory blocks have none that Zone= asks for"));
	ck_assert_uint_eq(world.plan->nodes[0].coming_bytes, 640 * MIB);
	pool->zone = POOL_ZONE_KERNEL;
	world_plan(&world);
	world_expect(&world, 0, "a", 512 * MIB, 256 * MIB, PLAN_UNSUPPORTED_ZONE);
	expect_blocks(0, "a", "1,@3-5");
	ck_assert(world_is_warned(&world, "have no kernel zone as Zone= asks for"));
	pool->zone = POOL_ZONE_MOVABLE;
	world_plan(&world);
	world_expect(&world, 0, "a", 512 * MIB, 256 * MIB, PLAN_UNSUPPORTED_ZONE);
	expect_blocks(0, "a", "@2-5");
	ck_assert(world_is_warned(&world, "have no Movable zone as Zone= asks for"));
}
END_TEST

START_TEST(test_where_enough_blocks_fit_the_others_are_passed_over_and_nothing_is_refused)
{
	struct machine_block *blocks;

	world_add_node(&world, 0, 8 * GIB);
	blocks = world_add_blocks(&world, 0, 6);
	blocks[0].zones = KERNEL;
	world_add_pool(&world, "a", POOL_BLOCK, "256M")->zone = POOL_ZONE_MOVABLE;
	world_plan(&world);
	world_expect(&world, 0, "a", 256 * MIB, 0, PLAN_ACCEPTED);
	expect_blocks(0, "a", "1-2");
}
END_TEST

START_TEST(test_what_is_beyond_all_blocks_and_what_does_not_fit_has_the_word_of_the_larger)
{
	struct machine_block *blocks;

	world_add_node(&world, 0, 8 * GIB);
	blocks = world_add_blocks(&world, 0, 4);
	blocks[1].zones = KERNEL;
	world_add_pool(&world, "a", POOL_BLOCK, "768M")->zone = POOL_ZONE_MOVABLE;
	world_plan(&world);
	world_expect(&world, 0, "a", 384 * MIB, 384 * MIB, PLAN_NO_OFFLINE_MEMORY);
	blocks[2].zones = 0;
	blocks[3].zones = 0;
	world_plan(&world);
	world_expect(&world, 0, "a", 128 * MIB, 640 * MIB, PLAN_UNSUPPORTED_ZONE);
}
END_TEST

START_TEST(test_blocks_that_are_online_in_another_zone_stay_in_the_share)
{
	struct machine_block *blocks;

	world_add_node(&world, 0, 8 * GIB);
	blocks = world_add_blocks(&world, 0, 4);
	world_set_online(&world, 0, blocks, 1, KERNEL);
	world_set_online(&world, 0, blocks + 1, 1, 0);
	world_add_pool(&world, "a", POOL_BLOCK, NULL)->zone = POOL_ZONE_MOVABLE;
	world_plan(&world);
	world_expect(&world, 0, "a", 512 * MIB, 0, PLAN_ACCEPTED);
	expect_blocks(0, "a", "0-1,@2-3");
}
END_TEST

START_TEST(test_blocks_for_a_kernel_zone_only_come_first_and_are_always_early)
{
	struct machine_block *blocks;
	struct pool_config *pool;

	world_add_node(&world, 0, 8 * GIB);
	blocks = world_add_blocks(&world, 0, 8);
	blocks[3].zones = KERNEL;
	blocks[5].zones = KERNEL;
	blocks[6].zones = KERNEL;
	pool = world_add_pool(&world, "a", POOL_BLOCK, NULL);
	pool->early = POOL_EARLY_NONE;
	world_plan(&world);
	expect_blocks(0, "a", "3,5-6,@0-2,4,7");
	/* They are more than the budget: nothing is left of it for others. */
	pool->early = POOL_EARLY_AUTO;
	world_plan(&world);
	expect_blocks(0, "a", "3,5-6,@0-2,4,7");
	world.config.daemon.early_minimum_bytes = 640 * MIB;
	world_plan(&world);
	expect_blocks(0, "a", "3,5-6,0-1,@2,4,7");
	pool->early = POOL_EARLY_AMOUNT;
	pool->early_amount = world_amount("512M");
	world_plan(&world);
	expect_blocks(0, "a", "3,5-6,0,@1-2,4,7");
	pool->early_amount = world_amount("128M");
	world_plan(&world);
	expect_blocks(0, "a", "3,5-6,@0-2,4,7");
	pool->early = POOL_EARLY_ALL;
	world_plan(&world);
	expect_blocks(0, "a", "3,5-6,0-2,4,7");
	/* Online, it is in a kernel zone like others that could have gone elsewhere. */
	pool->early = POOL_EARLY_NONE;
	pool->early_amount = world_amount("640M");
	world_set_online(&world, 0, blocks + 3, 1, KERNEL);
	world_plan(&world);
	expect_blocks(0, "a", "5-6,@0-4,7");
}
END_TEST

START_TEST(test_which_blocks_a_part_gets_does_not_depend_on_where_they_could_go)
{
	struct machine_block *blocks;

	world_add_node(&world, 0, 8 * GIB);
	blocks = world_add_blocks(&world, 0, 8);
	blocks[7].zones = KERNEL;
	world_add_pool(&world, "a", POOL_BLOCK, "50%")->early = POOL_EARLY_NONE;
	world_plan(&world);
	expect_blocks(0, "a", "@0-3");
}
END_TEST

START_TEST(test_blocks_and_pages_divide_what_the_kernel_zone_leaves_of_the_budget)
{
	struct machine_block *blocks;

	world.config.daemon.early_minimum_bytes = 1280 * MIB;
	world_add_node(&world, 0, 7 * GIB);
	blocks = world_add_blocks(&world, 0, 10);
	blocks[9].zones = KERNEL;
	blocks[8].zones = KERNEL;
	world_add_pool(&world, "a", POOL_BLOCK, NULL);
	world_set_page(world_add_pool(&world, "b", POOL_HUGETLB, "3G"), POOL_PAGE_HUGE, 0);
	world_plan(&world);
	/* 1 GiB is left of it, one part in four for the blocks. */
	expect_blocks(0, "a", "8-9,0-1,@2-7");
	ck_assert_uint_eq(world_share(&world, 0, "b")->early_bytes, 768 * MIB);
}
END_TEST

START_TEST(test_reserve_budget_and_percentages_are_of_the_memory_that_is_coming)
{
	struct machine_block *blocks;

	world.config.daemon.early_minimum_bytes = 16 * GIB;
	world_add_node(&world, 0, 4 * GIB);
	blocks = world_add_blocks(&world, 0, 32);
	world_add_pool(&world, "blocks", POOL_BLOCK, NULL);
	world_set_page(world_add_pool(&world, "pages", POOL_HUGETLB, "50%"), POOL_PAGE_HUGE, 0);
	world_set_minimum(&world.pools[1], "25%");
	world_plan(&world);
	world_expect(&world, 0, "pages", 4 * GIB, 0, PLAN_ACCEPTED);
	ck_assert_uint_eq(world_share(&world, 0, "pages")->minimum_bytes, 2 * GIB);
	ck_assert_uint_eq(world.plan->nodes[0].reserved_bytes, 8 * GIB / 20);
	ck_assert_uint_eq(world.plan->nodes[0].early_budget_bytes, 8 * GIB);
	ck_assert_uint_eq(world.plan->nodes[0].unclaimed_bytes, 4 * GIB - 8 * GIB / 20);
	ck_assert_uint_eq(world.plan->nodes[0].declared_bytes, 8 * GIB);
	/* What was tried in vain is not counted on, and stays in the share. */
	for (size_t i = 0; i < 16; i++)
		blocks[i].is_given_up = true;
	world_plan(&world);
	world_expect(&world, 0, "blocks", 4 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 0, "pages", 3 * GIB, 0, PLAN_ACCEPTED);
	ck_assert_uint_eq(world.plan->nodes[0].coming_bytes, 2 * GIB);
	ck_assert_uint_eq(world.plan->nodes[0].offline_bytes, 4 * GIB);
}
END_TEST

START_TEST(test_blocks_are_not_held_against_the_reserve_the_cgroup_and_the_cpuset)
{
	world_add_node(&world, 0, GIB)->is_allowed = false;
	world_add_blocks(&world, 0, 32);
	world.machine.cgroup_room_bytes = 65 * MIB;
	world.machine.may_grow_hugepages = false;
	world.config.daemon.reserve = world_amount("100%");
	world_add_pool(&world, "a", POOL_BLOCK, NULL);
	world_plan(&world);
	world_expect(&world, 0, "a", 4 * GIB, 0, PLAN_ACCEPTED);
	ck_assert_uint_eq(world.plan->nodes[0].unclaimed_bytes, 0);
}
END_TEST

START_TEST(test_a_node_whose_memory_is_all_coming_has_it_for_other_kinds_too)
{
	world_add_node(&world, 0, 8 * GIB);
	/* Mems_allowed has no node without memory. */
	world_add_node(&world, 1, 0)->is_allowed = false;
	world_add_node(&world, 2, 0);
	world_add_node(&world, 3, 0);
	world_add_blocks(&world, 1, 16);
	world_add_blocks(&world, 3, 16);
	idset_clear(&world.nodes[3].cpus);
	world_add_pool(&world, "blocks", POOL_BLOCK, NULL)->nodes = POOL_NODES_CPU;
	world_set_page(world_add_pool(&world, "pages", POOL_HUGETLB, "50%"), POOL_PAGE_HUGE, 0);
	world_plan(&world);
	world_expect(&world, 1, "blocks", 2 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 1, "pages", GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 0, "blocks", 0, 0, PLAN_ACCEPTED);
	ck_assert_ptr_null(world_share(&world, 2, "blocks"));
	ck_assert_ptr_null(world_share(&world, 3, "blocks"));
	ck_assert_ptr_null(world_share(&world, 3, "pages"));
	ck_assert(world_is_warned(&world, "node 3: 2 GiB offline, no pool of kind block takes"));
	world.pools[0].nodes = POOL_NODES_ALL;
	world_plan(&world);
	world_expect(&world, 3, "blocks", 2 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 3, "pages", GIB, 0, PLAN_ACCEPTED);
	ck_assert_ptr_null(world_share(&world, 2, "blocks"));
}
END_TEST

START_TEST(test_a_node_that_is_named_and_has_nothing_offline_is_no_failure_for_a_part)
{
	world_add_node(&world, 0, 8 * GIB);
	world_add_node(&world, 1, 0);
	world_set_node_list(world_add_pool(&world, "a", POOL_BLOCK, NULL), "1");
	world_set_node_list(world_add_pool(&world, "b", POOL_BLOCK, "1G"), "1");
	world.machine.block_bytes = 0;
	world_plan(&world);
	world_expect(&world, 1, "a", 0, 0, PLAN_ACCEPTED);
	ck_assert(plan_pool(world.plan, "a")->can_reach_minimum);
	world_expect(&world, 1, "b", 0, GIB, PLAN_NO_OFFLINE_MEMORY);
	ck_assert_uint_eq(world_share(&world, 1, "b")->unit_bytes, 4 * KIB);
	ck_assert(!plan_pool(world.plan, "b")->can_reach_minimum);
}
END_TEST

START_TEST(test_offline_memory_without_a_pool_for_it_is_told)
{
	struct machine_block *blocks;

	world_add_node(&world, 0, 8 * GIB);
	world_add_node(&world, 1, 8 * GIB);
	world_add_node(&world, 2, 8 * GIB);
	blocks = world_add_blocks(&world, 0, 6);
	world_set_online(&world, 0, blocks + 1, 1, KERNEL);
	world_add_blocks(&world, 2, 3);
	world_add_pool(&world, "a", POOL_REGION, "1G");
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nr_warnings, 1);
	ck_assert(world_is_warned(&world, "nodes 0,2: 1 GiB offline; a pool of kind block would "
	                                  "bring them online"));
}
END_TEST

START_TEST(test_what_is_coming_is_not_missed_in_memtotal)
{
	world_add_node(&world, 0, 8 * GIB);
	world_add_blocks(&world, 0, 64);
	world_add_pool(&world, "a", POOL_BLOCK, NULL);
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nodes[0].memory_bytes, 16 * GIB);
	ck_assert_uint_eq(world.plan->nr_warnings, 0);
	world.nodes[0].mem_total_bytes = 4 * GIB;
	world_plan(&world);
	ck_assert(world_is_warned(&world, "node 0: memory blocks of 8 GiB, MemTotal so far 4 GiB"));
}
END_TEST

START_TEST(test_pages_have_no_say_in_a_pool_of_blocks)
{
	world_add_node(&world, 0, 8 * GIB);
	world_add_blocks(&world, 0, 8);
	world_set_page(world_add_pool(&world, "a", POOL_BLOCK, "131072p"), POOL_PAGE_SIZE, GIB);
	world_plan(&world);
	world_expect(&world, 0, "a", 512 * MIB, 0, PLAN_ACCEPTED);
	ck_assert_uint_eq(plan_pool(world.plan, "a")->page_bytes, 4 * KIB);
	ck_assert_int_eq(plan_pool(world.plan, "a")->page, PLAN_PAGE_BASE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-blocks");
	TCase *cases = tcase_create("blocks");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, test_without_a_size_all_blocks_that_are_offline_are_taken_ascending);
	tcase_add_test(
		cases,
		test_a_size_in_percent_is_of_all_blocks_whether_they_are_online_by_now_or_not);
	tcase_add_test(cases, test_a_size_in_bytes_is_rounded_down_to_blocks);
	tcase_add_test(cases, test_a_size_below_a_block_is_nothing_and_told);
	tcase_add_test(cases,
	               test_a_size_for_one_node_replaces_the_whole_of_it_and_leaves_the_others);
	tcase_add_test(cases, test_more_than_there_is_offline_is_refused);
	tcase_add_test(cases, test_744_of_744_are_had_already_and_a_part_of_nothing_is_nothing);
	tcase_add_test(cases, test_a_size_of_zero_takes_no_block_and_is_not_told_as_too_small);
	tcase_add_test(cases,
	               test_a_node_that_is_not_there_is_refused_also_where_its_part_is_not_known);
	tcase_add_test(cases,
	               test_two_pools_on_a_node_have_blocks_of_their_own_required_ones_first);
	tcase_add_test(cases, test_the_zone_that_is_asked_for_stands_at_every_block);
	tcase_add_test(cases, test_blocks_that_cannot_go_into_the_zone_are_refused_with_a_word);
	tcase_add_test(
		cases,
		test_where_enough_blocks_fit_the_others_are_passed_over_and_nothing_is_refused);
	tcase_add_test(
		cases,
		test_what_is_beyond_all_blocks_and_what_does_not_fit_has_the_word_of_the_larger);
	tcase_add_test(cases, test_blocks_that_are_online_in_another_zone_stay_in_the_share);
	tcase_add_test(cases, test_blocks_for_a_kernel_zone_only_come_first_and_are_always_early);
	tcase_add_test(cases, test_which_blocks_a_part_gets_does_not_depend_on_where_they_could_go);
	tcase_add_test(cases,
	               test_blocks_and_pages_divide_what_the_kernel_zone_leaves_of_the_budget);
	tcase_add_test(cases, test_reserve_budget_and_percentages_are_of_the_memory_that_is_coming);
	tcase_add_test(cases,
	               test_blocks_are_not_held_against_the_reserve_the_cgroup_and_the_cpuset);
	tcase_add_test(cases, test_a_node_whose_memory_is_all_coming_has_it_for_other_kinds_too);
	tcase_add_test(cases,
	               test_a_node_that_is_named_and_has_nothing_offline_is_no_failure_for_a_part);
	tcase_add_test(cases, test_offline_memory_without_a_pool_for_it_is_told);
	tcase_add_test(cases, test_what_is_coming_is_not_missed_in_memtotal);
	tcase_add_test(cases, test_pages_have_no_say_in_a_pool_of_blocks);
	suite_add_tcase(suite, cases);
	return suite_main(suite);
}
