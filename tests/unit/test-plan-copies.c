/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which files a node has a copy of, which ones a link to, and what is said of both. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan-world.h"
#include "suite.h"

static struct world world;

static void setup(void)
{
	world_init(&world);
}

static void teardown(void)
{
	world_clear(&world);
}

static void expect_copies(unsigned node_id, const char *pool, const char *copies)
{
	ck_assert_str_eq(world_copies_text(&world, node_id, pool), copies);
}

/* 1 GiB, 3 GiB and 512 MiB. */
static struct pool_config *add_three_files(const char *name)
{
	struct pool_config *pool = world_add_pool(&world, name, POOL_REPLICA, NULL);

	world_add_file(pool, "/srv/a", GIB);
	world_add_file(pool, "/srv/b", 3 * GIB);
	world_add_file(pool, "/srv/c", 512 * MIB);
	return pool;
}

START_TEST(test_every_node_with_memory_has_a_copy_of_every_file_in_whole_pages)
{
	struct pool_config *pool = world_add_pool(&world, "a", POOL_REPLICA, NULL);
	const struct plan_share *share;

	world_add_node(&world, 0, 16 * GIB);
	world_add_node(&world, 1, 16 * GIB);
	world_add_node(&world, 2, 0);
	world_add_file(pool, "/srv/a", 1);
	world_add_file(pool, "/srv/b", 0);
	world_add_file(pool, "/srv/c", 4 * KIB);
	world_add_file(pool, "/srv/d", 4 * KIB + 1);
	world_plan(&world);
	for (unsigned node_id = 0; node_id < 2; node_id++) {
		world_expect(&world, node_id, "a", 16 * KIB, 0, PLAN_ACCEPTED);
		expect_copies(node_id, "a", "cccc");
	}
	ck_assert_ptr_null(world_share(&world, 2, "a"));
	share = world_share(&world, 1, "a");
	for (size_t i = 0; i < 4; i++)
		ck_assert_ptr_eq(share->copies[i].original, &pool->originals.files[i]);
	ck_assert_uint_eq(share->unit_bytes, 4 * KIB);
	ck_assert_uint_eq(share->declared_bytes, 16 * KIB);
	ck_assert_uint_eq(share->minimum_bytes, 0);
	ck_assert_uint_eq(plan_pool(world.plan, "a")->page_bytes, 4 * KIB);
	ck_assert_uint_eq(world.plan->nr_warnings, 0);
}
END_TEST

START_TEST(test_a_link_takes_nothing_and_is_among_the_copies)
{
	struct pool_config *pool = world_add_pool(&world, "a", POOL_REPLICA, NULL);

	world_add_node(&world, 0, 16 * GIB);
	world_add_file(pool, "/srv/a", 64 * KIB);
	world_add_file(pool, "/srv/b", 4 * KIB)->link_target = strdup("a");
	world_plan(&world);
	world_expect(&world, 0, "a", 64 * KIB, 0, PLAN_ACCEPTED);
	expect_copies(0, "a", "cc");
}
END_TEST

START_TEST(test_files_that_do_not_fit_above_the_reserve_are_links_and_smaller_ones_are_copies)
{
	world_add_node(&world, 0, 2 * GIB);
	world_add_node(&world, 1, 16 * GIB);
	world.config.daemon.reserve = world_amount("256M");
	add_three_files("a");
	world_plan(&world);
	world_expect(&world, 0, "a", 1536 * MIB, 3 * GIB, PLAN_EXCEEDS_RESERVE);
	expect_copies(0, "a", "clc");
	world_expect(&world, 1, "a", 4608 * MIB, 0, PLAN_ACCEPTED);
	ck_assert_uint_eq(plan_share_nr_linked(world_share(&world, 0, "a")), 1);
	ck_assert_uint_eq(plan_share_nr_linked(world_share(&world, 1, "a")), 0);
	ck_assert_uint_eq(world.plan->nodes[0].unclaimed_bytes, 256 * MIB);
	ck_assert(plan_pool(world.plan, "a")->can_reach_minimum);
	ck_assert(!plan_pool(world.plan, "a")->is_empty);
	ck_assert_int_eq(plan_exit_code(world.plan), 0);
	ck_assert_uint_eq(world.plan->nr_warnings, 1);
	ck_assert(world_is_warned(&world, "pool a: 3 GiB refused on node 0: Reserve= keeps it"));
}
END_TEST

START_TEST(test_a_file_that_takes_the_last_page_above_the_reserve_is_a_copy)
{
	struct pool_config *pool = world_add_pool(&world, "a", POOL_REPLICA, NULL);

	world_add_node(&world, 0, 2 * GIB);
	world.config.daemon.reserve = world_amount("1G");
	world_add_file(pool, "/srv/a", GIB - 4 * KIB);
	world_add_file(pool, "/srv/b", 1);
	world_add_file(pool, "/srv/c", 1);
	world_add_file(pool, "/srv/d", 0);
	world_plan(&world);
	expect_copies(0, "a", "cclc");
	world_expect(&world, 0, "a", GIB, 4 * KIB, PLAN_EXCEEDS_RESERVE);
}
END_TEST

START_TEST(test_files_come_behind_the_other_kinds_and_before_what_is_not_required)
{
	world_add_node(&world, 0, 8 * GIB);
	world.config.daemon.reserve = world_amount("1G");
	add_three_files("a")->is_required = false;
	add_three_files("b");
	world_add_pool(&world, "c", POOL_REGION, "3G");
	world_plan(&world);
	world_expect(&world, 0, "c", 3 * GIB, 0, PLAN_ACCEPTED);
	expect_copies(0, "b", "ccl");
	expect_copies(0, "a", "lll");
	ck_assert_str_eq(world.plan->nodes[0].shares[0].pool->name, "c");
	ck_assert_str_eq(world.plan->nodes[0].shares[1].pool->name, "b");
	ck_assert_str_eq(world.plan->nodes[0].shares[2].pool->name, "a");
}
END_TEST

START_TEST(test_a_size_is_an_upper_limit_and_what_is_above_it_are_links)
{
	struct pool_config *pool = add_three_files("a");

	world_add_node(&world, 0, 16 * GIB);
	world_add_node(&world, 1, 16 * GIB);
	world_set_size_on(pool, 1, "25%");
	world_plan(&world);
	expect_copies(0, "a", "ccc");
	expect_copies(1, "a", "ccl");
	world_expect(&world, 1, "a", 4 * GIB, 512 * MIB, PLAN_EXCEEDS_SIZE);
	ck_assert_uint_eq(world_share(&world, 1, "a")->declared_bytes, 4608 * MIB);
	ck_assert(world_is_warned(&world, "pool a: 512 MiB refused on node 1: the files are more "
	                                  "than Size= allows"));
	ck_assert_uint_eq(world.plan->nr_warnings, 1);
	pool->size.is_set = true;
	pool->size.amount = world_amount("393216p");
	world_plan(&world);
	expect_copies(0, "a", "clc");
	world_expect(&world, 0, "a", 1536 * MIB, 3 * GIB, PLAN_EXCEEDS_SIZE);
	pool->size.amount = world_amount("64G");
	world_plan(&world);
	expect_copies(0, "a", "ccc");
	ck_assert_uint_eq(world_share(&world, 0, "a")->declared_bytes, 4608 * MIB);
}
END_TEST

START_TEST(test_a_minimum_is_asked_of_the_copies)
{
	struct pool_config *pool = add_three_files("a");

	world_add_node(&world, 0, 2 * GIB);
	world.config.daemon.reserve = world_amount("256M");
	world_set_minimum(pool, "1536M");
	world_plan(&world);
	ck_assert(plan_pool(world.plan, "a")->can_reach_minimum);
	world_set_minimum(pool, "75.1%");
	world_plan(&world);
	ck_assert_uint_eq(world_share(&world, 0, "a")->minimum_bytes,
	                  bytes_round_up(2 * GIB / 1000 * 751, 4 * KIB));
	ck_assert(!plan_pool(world.plan, "a")->can_reach_minimum);
	ck_assert_int_eq(plan_exit_code(world.plan), 1);
	world_set_minimum(pool, "99G");
	world_plan(&world);
	ck_assert_uint_eq(world_share(&world, 0, "a")->minimum_bytes, 4608 * MIB);
}
END_TEST

START_TEST(test_the_early_part_is_the_first_bytes_of_all_copies)
{
	struct pool_config *pool = add_three_files("a");

	world_add_node(&world, 0, 16 * GIB);
	world_plan(&world);
	ck_assert_uint_eq(world_share(&world, 0, "a")->early_bytes, 2 * GIB);
	pool->early = POOL_EARLY_AMOUNT;
	pool->early_amount = (struct amount){ AMOUNT_BYTES, GIB + 1 };
	world_plan(&world);
	ck_assert_uint_eq(world_share(&world, 0, "a")->early_bytes, GIB + 4 * KIB);
	ck_assert_uint_eq(world_share(&world, 0, "a")->deferred_bytes, 3584 * MIB - 4 * KIB);
}
END_TEST

START_TEST(test_where_nothing_can_be_had_all_files_are_links)
{
	struct pool_config *pool = add_three_files("a");

	world_add_file(pool, "/srv/d", 0);
	world_add_file(pool, "/srv/e", 0)->link_target = strdup("a");
	world_add_node(&world, 0, 0);
	world_add_node(&world, 1, 16 * GIB)->is_allowed = false;
	world_set_node_list(pool, "0-2");
	world_plan(&world);
	for (unsigned node_id = 0; node_id < 3; node_id++)
		expect_copies(node_id, "a", "lllll");
	world_expect(&world, 0, "a", 0, 4608 * MIB, PLAN_MEMORYLESS_NODE);
	world_expect(&world, 1, "a", 0, 4608 * MIB, PLAN_OUTSIDE_CPUSET);
	world_expect(&world, 2, "a", 0, 4608 * MIB, PLAN_NO_SUCH_NODE);
	ck_assert(plan_pool(world.plan, "a")->can_reach_minimum);
	ck_assert(!plan_pool(world.plan, "a")->is_empty);
}
END_TEST

START_TEST(test_empty_files_are_something_also_where_they_cannot_be_copied)
{
	struct pool_config *pool = world_add_pool(&world, "a", POOL_REPLICA, NULL);

	world_add_node(&world, 0, 16 * GIB);
	world_add_file(pool, "/srv/a", 0);
	world_set_node_list(pool, "0,3");
	world_plan(&world);
	world_expect(&world, 0, "a", 0, 0, PLAN_ACCEPTED);
	world_expect(&world, 3, "a", 0, 0, PLAN_NO_SUCH_NODE);
	expect_copies(0, "a", "c");
	expect_copies(3, "a", "l");
	ck_assert(!world_share(&world, 3, "a")->is_unmet);
	ck_assert(!plan_pool(world.plan, "a")->is_empty);
	ck_assert(plan_pool(world.plan, "a")->can_reach_minimum);
}
END_TEST

START_TEST(test_copies_are_charged_to_the_cgroup)
{
	world_add_node(&world, 0, 16 * GIB);
	world_add_node(&world, 1, 16 * GIB);
	add_three_files("a");
	world.machine.cgroup_limit_bytes = 4 * GIB;
	world.machine.cgroup_room_bytes = 4 * GIB + 64 * MIB;
	world_plan(&world);
	/* 2 GiB each: what the files of node 0 leave of it is for node 1. */
	expect_copies(0, "a", "clc");
	expect_copies(1, "a", "clc");
	world_expect(&world, 0, "a", 1536 * MIB, 3 * GIB, PLAN_CGROUP_LIMIT);
	world.machine.cgroup_room_bytes = 6 * GIB + 64 * MIB;
	world_plan(&world);
	/* 3 GiB each, and 1.5 GiB of it are handed on. */
	expect_copies(0, "a", "clc");
	expect_copies(1, "a", "ccc");
	world.machine.cgroup_room_bytes -= 4 * KIB;
	world_plan(&world);
	expect_copies(1, "a", "ccl");
	world_expect(&world, 1, "a", 4 * GIB, 512 * MIB, PLAN_CGROUP_LIMIT);
}
END_TEST

START_TEST(test_files_that_take_nothing_need_no_room_in_a_cgroup)
{
	world_add_node(&world, 0, 16 * GIB);
	world_add_pool(&world, "a", POOL_REPLICA, NULL);
	world_add_file(&world.pools[0], "/srv/a", 0);
	world.machine.cgroup_room_bytes = 0;
	world_plan(&world);
	expect_copies(0, "a", "c");
	world_expect(&world, 0, "a", 0, 0, PLAN_ACCEPTED);
}
END_TEST

START_TEST(test_what_links_leave_of_a_cgroup_is_for_the_next_pool)
{
	world_add_node(&world, 0, 16 * GIB);
	add_three_files("a");
	world_add_pool(&world, "b", POOL_REPLICA, NULL);
	world_add_file(&world.pools[1], "/srv/d", GIB);
	world.machine.cgroup_room_bytes = 2560 * MIB + 64 * MIB;
	world_plan(&world);
	expect_copies(0, "a", "clc");
	expect_copies(0, "b", "c");
}
END_TEST

START_TEST(test_each_limit_is_held_against_what_the_one_before_has_left)
{
	struct pool_config *pool = add_three_files("a");

	world_add_node(&world, 0, 2 * GIB);
	world.config.daemon.reserve = world_amount("1G");
	pool->size.is_set = true;
	pool->size.amount = world_amount("3G");
	world_plan(&world);
	/* "b" is above Size= beside "a"; then Reserve= has room for one of the others. */
	expect_copies(0, "a", "cll");
	world_expect(&world, 0, "a", GIB, 3584 * MIB, PLAN_EXCEEDS_SIZE);
}
END_TEST

START_TEST(test_refused_paths_are_counted_and_told_and_have_no_copies)
{
	struct pool_config *pool = world_add_pool(&world, "a", POOL_REPLICA, NULL);
	const struct plan_pool *planned;

	world_add_node(&world, 0, 16 * GIB);
	world_add_refused(pool, "/srv/a", ORIGINAL_DIRECTORY);
	world_add_file(pool, "/srv/b", 4 * KIB);
	world_add_refused(pool, "/srv/c\033[2J", ORIGINAL_NO_SUCH_FILE);
	world_add_refused(pool, "/srv/d", ORIGINAL_FAILED)->error = -EIO;
	world_plan(&world);
	planned = plan_pool(world.plan, "a");
	ck_assert_uint_eq(planned->nr_refused_paths, 3);
	ck_assert_int_eq(planned->path_refusal, ORIGINAL_DIRECTORY);
	ck_assert(!planned->is_empty);
	ck_assert(planned->can_reach_minimum);
	world_expect(&world, 0, "a", 4 * KIB, 0, PLAN_ACCEPTED);
	expect_copies(0, "a", "c");
	ck_assert_str_eq(world_share(&world, 0, "a")->copies[0].original->path, "/srv/b");
	ck_assert_uint_eq(world.plan->nr_warnings, 3);
	ck_assert(world_is_warned(&world,
	                          "/etc/nodeinit/pools.d/a.pool:7: Paths=/srv/a is a directory"));
	ck_assert(world_is_warned(&world, "Paths=/srv/c\\x1b[2J "));
	ck_assert(world_is_warned(&world, ": Input/output error"));
}
END_TEST

START_TEST(test_a_pool_whose_paths_are_all_refused_is_nothing_and_fails)
{
	struct pool_config *pool = world_add_pool(&world, "a", POOL_REPLICA, NULL);

	world_add_node(&world, 0, 16 * GIB);
	world_add_refused(pool, "/srv/a", ORIGINAL_UNREADABLE);
	world_plan(&world);
	ck_assert(plan_pool(world.plan, "a")->is_empty);
	ck_assert(!plan_pool(world.plan, "a")->can_reach_minimum);
	ck_assert_int_eq(plan_pool(world.plan, "a")->path_refusal, ORIGINAL_UNREADABLE);
	ck_assert_int_eq(plan_exit_code(world.plan), 1);
	ck_assert_uint_eq(world.plan->nr_warnings, 1);
}
END_TEST

START_TEST(test_of_many_refused_paths_the_first_are_told_and_the_others_counted)
{
	struct pool_config *pool = world_add_pool(&world, "a", POOL_REPLICA, NULL);

	world_add_node(&world, 0, 16 * GIB);
	for (unsigned i = 0; i < 20; i++)
		world_add_refused(pool, "/srv/a", ORIGINAL_HIDDEN);
	world_add_file(pool, "/srv/b", 4 * KIB);
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nr_warnings, 20);
	for (unsigned i = 0; i < 3; i++)
		world_add_refused(pool, "/srv/c", ORIGINAL_HIDDEN);
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nr_warnings, 21);
	ck_assert(world_is_warned(&world, "pool a: 3 more of its Paths= are refused"));
}
END_TEST

START_TEST(test_copies_on_a_host_with_swap_are_told)
{
	world_add_node(&world, 0, 16 * GIB);
	add_three_files("a");
	world_add_pool(&world, "b", POOL_REPLICA, NULL);
	world_add_file(&world.pools[1], "/srv/d", 0);
	world_add_pool(&world, "c", POOL_BLOCK, "1G");
	world_add_blocks(&world, 0, 8);
	world.machine.has_swap = true;
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nr_warnings, 1);
	ck_assert(world_is_warned(&world, "pool a: swap is on, and copies of files can be"));
}
END_TEST

START_TEST(test_sparse_files_beyond_64_bits_stay_in_the_account)
{
	struct pool_config *pool = world_add_pool(&world, "a", POOL_REPLICA, NULL);

	world_add_node(&world, 0, 16 * GIB);
	world_add_file(pool, "/srv/a", GIB);
	world_add_file(pool, "/srv/b", INT64_MAX);
	world_add_file(pool, "/srv/c", INT64_MAX);
	world_add_file(pool, "/srv/d", INT64_MAX);
	ck_assert_int_eq(plan_make(&world.machine, &world.config, &world.plan), 0);
	expect_copies(0, "a", "clll");
	world_expect(&world, 0, "a", GIB, UINT64_MAX - 4 * KIB + 1 - GIB, PLAN_EXCEEDS_RESERVE);
}
END_TEST

START_TEST(test_pages_have_no_say_in_a_pool_of_files)
{
	struct pool_config *pool = world_add_pool(&world, "a", POOL_REPLICA, NULL);

	world_add_node(&world, 0, 16 * GIB);
	world_add_file(pool, "/srv/a", 1);
	world_set_page(pool, POOL_PAGE_THP, 0);
	world.machine.page_bytes = 64 * KIB;
	world_plan(&world);
	world_expect(&world, 0, "a", 64 * KIB, 0, PLAN_ACCEPTED);
	ck_assert_uint_eq(plan_pool(world.plan, "a")->page_bytes, 64 * KIB);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-copies");
	TCase *cases = tcase_create("copies");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, test_every_node_with_memory_has_a_copy_of_every_file_in_whole_pages);
	tcase_add_test(cases, test_a_link_takes_nothing_and_is_among_the_copies);
	tcase_add_test(
		cases,
		test_files_that_do_not_fit_above_the_reserve_are_links_and_smaller_ones_are_copies);
	tcase_add_test(cases, test_a_file_that_takes_the_last_page_above_the_reserve_is_a_copy);
	tcase_add_test(cases,
	               test_files_come_behind_the_other_kinds_and_before_what_is_not_required);
	tcase_add_test(cases, test_a_size_is_an_upper_limit_and_what_is_above_it_are_links);
	tcase_add_test(cases, test_a_minimum_is_asked_of_the_copies);
	tcase_add_test(cases, test_the_early_part_is_the_first_bytes_of_all_copies);
	tcase_add_test(cases, test_where_nothing_can_be_had_all_files_are_links);
	tcase_add_test(cases, test_empty_files_are_something_also_where_they_cannot_be_copied);
	tcase_add_test(cases, test_copies_are_charged_to_the_cgroup);
	tcase_add_test(cases, test_files_that_take_nothing_need_no_room_in_a_cgroup);
	tcase_add_test(cases, test_what_links_leave_of_a_cgroup_is_for_the_next_pool);
	tcase_add_test(cases, test_each_limit_is_held_against_what_the_one_before_has_left);
	tcase_add_test(cases, test_refused_paths_are_counted_and_told_and_have_no_copies);
	tcase_add_test(cases, test_a_pool_whose_paths_are_all_refused_is_nothing_and_fails);
	tcase_add_test(cases, test_of_many_refused_paths_the_first_are_told_and_the_others_counted);
	tcase_add_test(cases, test_copies_on_a_host_with_swap_are_told);
	tcase_add_test(cases, test_sparse_files_beyond_64_bits_stay_in_the_account);
	tcase_add_test(cases, test_pages_have_no_say_in_a_pool_of_files);
	suite_add_tcase(suite, cases);
	return suite_main(suite);
}
