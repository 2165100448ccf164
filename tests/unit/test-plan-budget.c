/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The early budget of a node, and how its shares divide it. */
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

static void expect_early(unsigned node_id, const char *pool, uint64_t early_bytes,
                         uint64_t deferred_bytes)
{
	const struct plan_share *share = world_share(&world, node_id, pool);

	ck_assert_ptr_nonnull(share);
	ck_assert_uint_eq(share->early_bytes, early_bytes);
	ck_assert_uint_eq(share->deferred_bytes, deferred_bytes);
}

START_TEST(test_the_budget_is_the_larger_of_the_minimum_and_a_part_of_the_span)
{
	ck_assert_uint_eq(plan_early_budget(256 * GIB, 256 * GIB, 128 * MIB, 2 * GIB, 8), 2 * GIB);
	ck_assert_uint_eq(plan_early_budget(2 * TIB, 2 * TIB, 256 * MIB, 2 * GIB, 8), 8 * GIB);
	ck_assert_uint_eq(plan_early_budget(2 * TIB, 2 * TIB, 256 * MIB, 2 * GIB, 10), 2 * GIB);
	ck_assert_uint_eq(plan_early_budget(2 * TIB, 2 * TIB, 256 * MIB, 16 * GIB, 8), 16 * GIB);
}
END_TEST

START_TEST(test_the_budget_is_a_whole_number_of_sections)
{
	ck_assert_uint_eq(plan_early_budget(1025 * GIB, 1025 * GIB, 128 * MIB, 2 * GIB, 8),
	                  4 * GIB + 128 * MIB);
	ck_assert_uint_eq(plan_early_budget(GIB, 8 * GIB, 128 * MIB, 1, 8), 128 * MIB);
}
END_TEST

START_TEST(test_the_budget_is_at_most_what_the_node_has)
{
	ck_assert_uint_eq(plan_early_budget(GIB, GIB, 128 * MIB, 2 * GIB, 8), GIB);
	ck_assert_uint_eq(plan_early_budget(100 * MIB, 100 * MIB, 128 * MIB, MIB, 8), 100 * MIB);
	ck_assert_uint_eq(plan_early_budget(0, 0, 128 * MIB, 2 * GIB, 8), 0);
	ck_assert_uint_eq(plan_early_budget(UINT64_MAX, UINT64_MAX, 128 * MIB, 0, 0),
	                  UINT64_MAX / (128 * MIB) * (128 * MIB));
}
END_TEST

START_TEST(test_a_node_in_two_ranges_has_one_budget_by_its_whole_span)
{
	struct machine_node *node = world_add_node(&world, 2, 512 * GIB);

	node->spanned_bytes = 1024 * GIB;
	world_add_pool(&world, "a", POOL_REGION, "75%");
	world_plan(&world);
	ck_assert_uint_eq(plan_node(world.plan, 2)->early_budget_bytes, 4 * GIB);
	expect_early(2, "a", 4 * GIB, 380 * GIB);
}
END_TEST

START_TEST(test_the_settings_of_the_budget_and_its_section_are_used)
{
	world_add_node(&world, 0, 64 * GIB);
	world.config.daemon.early_minimum_bytes = 3 * GIB;
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nodes[0].early_budget_bytes, 3 * GIB);
	world.config.daemon.early_shift = 4;
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nodes[0].early_budget_bytes, 4 * GIB);
	world.machine.section_bytes = 16 * GIB;
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nodes[0].early_budget_bytes, 16 * GIB);
}
END_TEST

START_TEST(test_pools_divide_the_budget_once_in_proportion_to_their_shares)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "24G")->region_bytes = 512 * MIB;
	world_add_pool(&world, "b", POOL_REGION, "8G")->region_bytes = 512 * MIB;
	world_plan(&world);
	expect_early(0, "a", 1536 * MIB, 24 * GIB - 1536 * MIB);
	expect_early(0, "b", 512 * MIB, 8 * GIB - 512 * MIB);
}
END_TEST

START_TEST(test_each_part_is_rounded_up_to_a_page_or_region)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "24G")->region_bytes = 1400 * MIB;
	world_add_pool(&world, "b", POOL_REGION, "8G");
	world_set_page(world_add_pool(&world, "c", POOL_HUGETLB, "2M"), POOL_PAGE_HUGE, 0);
	world_plan(&world);
	ck_assert_uint_eq(world_share(&world, 0, "a")->early_bytes, 2800 * MIB);
	ck_assert_uint_eq(world_share(&world, 0, "b")->early_bytes, GIB);
	expect_early(0, "c", 2 * MIB, 0);
}
END_TEST

START_TEST(test_every_share_has_an_early_part_however_small_it_is)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "48G");
	world_add_pool(&world, "b", POOL_REGION, "4K");
	world_plan(&world);
	expect_early(0, "b", 4 * KIB, 0);
}
END_TEST

START_TEST(test_shares_that_fit_into_the_budget_are_early_as_a_whole)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "1G")->region_bytes = MIB;
	world_add_pool(&world, "b", POOL_REGION, "1G")->region_bytes = MIB;
	world_plan(&world);
	expect_early(0, "a", GIB, 0);
	expect_early(0, "b", GIB, 0);
}
END_TEST

START_TEST(test_the_parts_are_of_what_was_granted)
{
	world_add_node(&world, 0, 20 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "16G")->region_bytes = 512 * MIB;
	world_add_pool(&world, "b", POOL_REGION, "16G")->region_bytes = 512 * MIB;
	world.config.daemon.reserve = world_amount("0");
	world.config.daemon.is_reserve_set = true;
	world_plan(&world);
	/* 16 GiB and 4 GiB of the 2 GiB budget: 1.6 and 0.4. */
	expect_early(0, "a", 2 * GIB, 14 * GIB);
	expect_early(0, "b", 512 * MIB, 3584 * MIB);
}
END_TEST

START_TEST(test_early_none_all_and_bytes_are_what_they_say)
{
	struct pool_config *pool;

	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "all", POOL_REGION, "8G")->early = POOL_EARLY_ALL;
	pool = world_add_pool(&world, "bytes", POOL_REGION, "8G");
	pool->early = POOL_EARLY_AMOUNT;
	pool->early_amount = world_amount("2561M");
	pool = world_add_pool(&world, "more", POOL_REGION, "1G");
	pool->early = POOL_EARLY_AMOUNT;
	pool->early_amount = world_amount("8G");
	world_add_pool(&world, "none", POOL_REGION, "8G")->early = POOL_EARLY_NONE;
	world_plan(&world);
	expect_early(0, "all", 8 * GIB, 0);
	expect_early(0, "bytes", 3 * GIB, 5 * GIB);
	expect_early(0, "more", GIB, 0);
	expect_early(0, "none", 0, 8 * GIB);
}
END_TEST

START_TEST(test_an_early_amount_may_count_pages_or_be_a_part_of_the_share)
{
	struct pool_config *pool;

	world_add_node(&world, 0, 64 * GIB);
	pool = world_add_pool(&world, "pages", POOL_HUGETLB, "8G");
	world_set_page(pool, POOL_PAGE_HUGE, 0);
	pool->early = POOL_EARLY_AMOUNT;
	pool->early_amount = world_amount("512p");
	pool = world_add_pool(&world, "percent", POOL_REGION, "8G");
	pool->early = POOL_EARLY_AMOUNT;
	pool->early_amount = world_amount("25%");
	world_plan(&world);
	expect_early(0, "pages", GIB, 7 * GIB);
	expect_early(0, "percent", 2 * GIB, 6 * GIB);
}
END_TEST

START_TEST(test_what_is_early_on_request_is_taken_from_the_budget_first)
{
	struct pool_config *pool;

	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "auto", POOL_REGION, "16G")->region_bytes = 512 * MIB;
	pool = world_add_pool(&world, "bytes", POOL_REGION, "16G");
	pool->region_bytes = 512 * MIB;
	pool->early = POOL_EARLY_AMOUNT;
	pool->early_amount = world_amount("1500M");
	world_plan(&world);
	expect_early(0, "auto", 512 * MIB, 16 * GIB - 512 * MIB);
	pool->early_amount = world_amount("4G");
	world_plan(&world);
	expect_early(0, "auto", 0, 16 * GIB);
}
END_TEST

START_TEST(test_a_terabyte_times_a_budget_does_not_overflow)
{
	world_add_node(&world, 0, 1024 * TIB);
	world.config.daemon.early_minimum_bytes = 512 * TIB;
	world_add_pool(&world, "a", POOL_REGION, "600T");
	world_add_pool(&world, "b", POOL_REGION, "200T");
	world_plan(&world);
	expect_early(0, "a", 384 * TIB, 216 * TIB);
	expect_early(0, "b", 128 * TIB, 72 * TIB);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-budget");
	TCase *cases = tcase_create("budget");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, test_the_budget_is_the_larger_of_the_minimum_and_a_part_of_the_span);
	tcase_add_test(cases, test_the_budget_is_a_whole_number_of_sections);
	tcase_add_test(cases, test_the_budget_is_at_most_what_the_node_has);
	tcase_add_test(cases, test_a_node_in_two_ranges_has_one_budget_by_its_whole_span);
	tcase_add_test(cases, test_the_settings_of_the_budget_and_its_section_are_used);
	tcase_add_test(cases, test_pools_divide_the_budget_once_in_proportion_to_their_shares);
	tcase_add_test(cases, test_each_part_is_rounded_up_to_a_page_or_region);
	tcase_add_test(cases, test_every_share_has_an_early_part_however_small_it_is);
	tcase_add_test(cases, test_shares_that_fit_into_the_budget_are_early_as_a_whole);
	tcase_add_test(cases, test_the_parts_are_of_what_was_granted);
	tcase_add_test(cases, test_early_none_all_and_bytes_are_what_they_say);
	tcase_add_test(cases, test_an_early_amount_may_count_pages_or_be_a_part_of_the_share);
	tcase_add_test(cases, test_what_is_early_on_request_is_taken_from_the_budget_first);
	tcase_add_test(cases, test_a_terabyte_times_a_budget_does_not_overflow);
	suite_add_tcase(suite, cases);
	return suite_main(suite);
}
