/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a configuration asks for, on which nodes, in which units and in which order. */
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

START_TEST(test_a_percentage_is_of_the_memory_of_each_node)
{
	world_add_node(&world, 0, 8 * GIB);
	world_add_node(&world, 1, 16 * GIB);
	world_add_pool(&world, "a", POOL_HUGETLB, "75%")->page = POOL_PAGE_HUGE;
	world_plan(&world);
	world_expect(&world, 0, "a", 6 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 1, "a", 12 * GIB, 0, PLAN_ACCEPTED);
}
END_TEST

START_TEST(test_pages_are_those_of_the_pool)
{
	world_add_node(&world, 0, 64 * GIB);
	world_set_page(world_add_pool(&world, "base", POOL_HUGETLB, "512p"), POOL_PAGE_HUGE, 0);
	world_set_page(world_add_pool(&world, "one-gib", POOL_HUGETLB, "3p"), POOL_PAGE_SIZE, GIB);
	world_add_pool(&world, "small", POOL_REGION, "512p");
	world_plan(&world);
	world_expect(&world, 0, "base", GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 0, "one-gib", 3 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 0, "small", 2 * MIB, 0, PLAN_ACCEPTED);
}
END_TEST

START_TEST(test_a_size_is_rounded_down_to_the_page)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "a", POOL_HUGETLB, "7M")->page = POOL_PAGE_HUGE;
	world_plan(&world);
	ck_assert_uint_eq(world_share(&world, 0, "a")->unit_bytes, 2 * MIB);
	world_expect(&world, 0, "a", 6 * MIB, 0, PLAN_ACCEPTED);
}
END_TEST

START_TEST(test_a_size_is_rounded_down_to_the_region)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "11G")->region_bytes = 4 * GIB;
	world_plan(&world);
	world_expect(&world, 0, "a", 8 * GIB, 0, PLAN_ACCEPTED);
	ck_assert_uint_eq(plan_pool(world.plan, "a")->region_bytes, 4 * GIB);
}
END_TEST

START_TEST(test_a_region_is_one_gib_or_the_whole_share_where_that_is_smaller)
{
	world_add_node(&world, 0, 64 * GIB);
	world_set_page(world_add_pool(&world, "huge", POOL_REGION, "301M"), POOL_PAGE_HUGE, 0);
	world_add_pool(&world, "large", POOL_REGION, "2560M");
	world_plan(&world);
	ck_assert_uint_eq(world_share(&world, 0, "huge")->unit_bytes, 300 * MIB);
	world_expect(&world, 0, "huge", 300 * MIB, 0, PLAN_ACCEPTED);
	ck_assert_uint_eq(world_share(&world, 0, "large")->unit_bytes, GIB);
	world_expect(&world, 0, "large", 2 * GIB, 0, PLAN_ACCEPTED);
}
END_TEST

START_TEST(test_a_region_is_a_whole_number_of_pages_and_at_least_one)
{
	struct pool_config *pool;

	world_add_node(&world, 0, 64 * GIB);
	pool = world_add_pool(&world, "less", POOL_REGION, "4G");
	world_set_page(pool, POOL_PAGE_HUGE, 0);
	pool->region_bytes = MIB;
	pool = world_add_pool(&world, "more", POOL_REGION, "4G");
	world_set_page(pool, POOL_PAGE_HUGE, 0);
	pool->region_bytes = 3 * MIB;
	world_plan(&world);
	ck_assert_uint_eq(world_share(&world, 0, "less")->unit_bytes, 2 * MIB);
	ck_assert_uint_eq(world_share(&world, 0, "more")->unit_bytes, 2 * MIB);
}
END_TEST

START_TEST(test_only_pools_of_regions_have_a_region_size)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "a", POOL_HUGETLB, "4G")->page = POOL_PAGE_HUGE;
	world.pools[0].region_bytes = GIB;
	world_plan(&world);
	ck_assert_uint_eq(world_share(&world, 0, "a")->unit_bytes, 2 * MIB);
	ck_assert_uint_eq(plan_pool(world.plan, "a")->region_bytes, 0);
}
END_TEST

START_TEST(test_the_region_of_a_pool_is_that_of_its_first_node_that_has_one)
{
	struct pool_config *pool;

	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 64 * GIB);
	world_add_node(&world, 2, 64 * GIB);
	pool = world_add_pool(&world, "a", POOL_REGION, "4G");
	world_set_size_on(pool, 0, "0");
	world_set_size_on(pool, 1, "512M");
	world_plan(&world);
	ck_assert_uint_eq(plan_pool(world.plan, "a")->region_bytes, 512 * MIB);
}
END_TEST

START_TEST(test_a_size_for_one_node_replaces_the_common_one)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 64 * GIB);
	world_set_size_on(world_add_pool(&world, "a", POOL_REGION, "8G"), 1, "3G");
	world_plan(&world);
	world_expect(&world, 0, "a", 8 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 1, "a", 3 * GIB, 0, PLAN_ACCEPTED);
}
END_TEST

START_TEST(test_without_a_common_size_only_the_named_nodes_have_a_share)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 64 * GIB);
	world_set_size_on(world_add_pool(&world, "a", POOL_REGION, NULL), 1, "3G");
	world_plan(&world);
	ck_assert_ptr_null(world_share(&world, 0, "a"));
	world_expect(&world, 1, "a", 3 * GIB, 0, PLAN_ACCEPTED);
}
END_TEST

START_TEST(test_a_pool_that_names_no_node_is_told)
{
	world_add_node(&world, 0, 64 * GIB);
	world_set_size_on(world_add_pool(&world, "a", POOL_REGION, NULL), 1, "3G");
	world_plan(&world);
	ck_assert(world_is_warned(&world, "pool a: its Nodes= and Size= name no node"));
	ck_assert(plan_pool(world.plan, "a")->is_empty);
	ck_assert_int_eq(plan_exit_code(world.plan), 1);
	ck_assert_uint_eq(world.plan->nr_warnings, 1);
}
END_TEST

START_TEST(test_a_share_that_rounds_to_nothing_is_told_with_what_it_would_need)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 64 * GIB);
	world_set_page(world_add_pool(&world, "pages", POOL_HUGETLB, "1023M"), POOL_PAGE_SIZE, GIB);
	world_add_pool(&world, "regions", POOL_REGION, "3G")->region_bytes = 16 * GIB;
	world_plan(&world);
	world_expect(&world, 0, "pages", 0, 0, PLAN_ACCEPTED);
	world_expect(&world, 1, "regions", 0, 0, PLAN_ACCEPTED);
	ck_assert(world_is_warned(&world, "pool pages: nothing on nodes 0-1: Size= is less than "
	                                  "one page there; it would need 1 GiB"));
	ck_assert(world_is_warned(&world, "pool regions: nothing on nodes 0-1: Size= is less than "
	                                  "one region there; it would need 16 GiB"));
	ck_assert_uint_eq(world.plan->nr_warnings, 2);
	ck_assert(plan_pool(world.plan, "pages")->is_empty);
	ck_assert_int_eq(plan_exit_code(world.plan), 1);
}
END_TEST

START_TEST(test_a_size_of_zero_is_no_rounding_and_not_told)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "0");
	world_plan(&world);
	world_expect(&world, 0, "a", 0, 0, PLAN_ACCEPTED);
	ck_assert_uint_eq(world.plan->nr_warnings, 0);
	ck_assert(!plan_pool(world.plan, "a")->is_empty);
	ck_assert_int_eq(plan_exit_code(world.plan), 0);
}
END_TEST

START_TEST(test_a_pool_that_is_nothing_on_one_node_and_something_on_another_is_not_empty)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 8 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "50%")->region_bytes = 16 * GIB;
	world_plan(&world);
	world_expect(&world, 0, "a", 32 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 1, "a", 0, 0, PLAN_ACCEPTED);
	ck_assert(!plan_pool(world.plan, "a")->is_empty);
	ck_assert_int_eq(plan_exit_code(world.plan), 0);
}
END_TEST

START_TEST(test_all_nodes_are_those_with_memory_and_the_others_are_still_shown)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 0);
	idset_clear(&world_add_node(&world, 2, 64 * GIB)->cpus);
	world_add_pool(&world, "a", POOL_REGION, "1G");
	world_plan(&world);
	ck_assert_ptr_null(world_share(&world, 1, "a"));
	world_expect(&world, 2, "a", GIB, 0, PLAN_ACCEPTED);
	ck_assert(plan_node(world.plan, 1)->exists);
	ck_assert_uint_eq(world.plan->nr_nodes, 3);
	ck_assert_uint_eq(world.plan->nr_warnings, 0);
	ck_assert_int_eq(plan_exit_code(world.plan), 0);
}
END_TEST

START_TEST(test_nodes_cpu_are_those_with_memory_and_cpus)
{
	world_add_node(&world, 0, 64 * GIB);
	idset_clear(&world_add_node(&world, 1, 64 * GIB)->cpus);
	world_add_node(&world, 2, 0);
	world_add_pool(&world, "a", POOL_REGION, "1G")->nodes = POOL_NODES_CPU;
	world_plan(&world);
	world_expect(&world, 0, "a", GIB, 0, PLAN_ACCEPTED);
	ck_assert_ptr_null(world_share(&world, 1, "a"));
	ck_assert_ptr_null(world_share(&world, 2, "a"));
}
END_TEST

START_TEST(test_a_list_of_nodes_is_taken_as_it_is)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 64 * GIB);
	world_add_node(&world, 2, 64 * GIB);
	world_set_node_list(world_add_pool(&world, "a", POOL_REGION, "1G"), "0,2");
	world_plan(&world);
	ck_assert_ptr_nonnull(world_share(&world, 0, "a"));
	ck_assert_ptr_null(world_share(&world, 1, "a"));
	ck_assert_ptr_nonnull(world_share(&world, 2, "a"));
}
END_TEST

START_TEST(test_nodes_that_do_not_exist_stand_in_their_place_among_the_others)
{
	static const unsigned ids[] = { 0, 1, 2, 4, 8, 9, 1000 };

	world_add_node(&world, 1, 64 * GIB);
	world_add_node(&world, 4, 64 * GIB);
	world_add_node(&world, 8, 64 * GIB);
	world_set_node_list(world_add_pool(&world, "a", POOL_REGION, "1G"), "0,4,9");
	world_set_node_list(world_add_pool(&world, "b", POOL_REGION, "1G"), "2,9,1000");
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nr_nodes, ELEMENTS(ids));
	for (size_t i = 0; i < ELEMENTS(ids); i++) {
		const struct plan_node *node = &world.plan->nodes[i];

		ck_assert_uint_eq(node->node_id, ids[i]);
		ck_assert_int_eq(node->exists, machine_node(&world.machine, ids[i]) != NULL);
		ck_assert_int_eq(node->helper_node_id, -1);
	}
	ck_assert_ptr_null(plan_node(world.plan, 3));
}
END_TEST

START_TEST(test_huge_is_the_default_size_and_a_size_may_be_the_base_page)
{
	world_add_node(&world, 0, 64 * GIB);
	world_set_page(world_add_pool(&world, "base", POOL_REGION, "1G"), POOL_PAGE_SIZE, 4 * KIB);
	world_set_page(world_add_pool(&world, "huge", POOL_REGION, "1G"), POOL_PAGE_HUGE, 0);
	world_set_page(world_add_pool(&world, "size", POOL_REGION, "1G"), POOL_PAGE_SIZE, GIB);
	world_set_page(world_add_pool(&world, "thp", POOL_REGION, "1G"), POOL_PAGE_THP, 0);
	world_plan(&world);
	ck_assert_int_eq(plan_pool(world.plan, "base")->page, PLAN_PAGE_BASE);
	ck_assert_uint_eq(plan_pool(world.plan, "base")->page_bytes, 4 * KIB);
	ck_assert_int_eq(plan_pool(world.plan, "huge")->page, PLAN_PAGE_HUGETLB);
	ck_assert_uint_eq(plan_pool(world.plan, "huge")->page_bytes, 2 * MIB);
	ck_assert_int_eq(plan_pool(world.plan, "size")->page, PLAN_PAGE_HUGETLB);
	ck_assert_uint_eq(plan_pool(world.plan, "size")->page_bytes, GIB);
	ck_assert_int_eq(plan_pool(world.plan, "thp")->page, PLAN_PAGE_THP);
	ck_assert_uint_eq(plan_pool(world.plan, "thp")->page_bytes, 2 * MIB);
}
END_TEST

START_TEST(test_a_node_runs_its_shares_by_kind_then_required_then_name)
{
	static const char *const order[] = { "c", "b", "d", "a", "e" };

	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "1G")->is_required = false;
	world_set_page(world_add_pool(&world, "b", POOL_HUGETLB, "1G"), POOL_PAGE_HUGE, 0);
	world.pools[1].is_required = false;
	world_set_page(world_add_pool(&world, "c", POOL_HUGETLB, "1G"), POOL_PAGE_HUGE, 0);
	world_add_pool(&world, "d", POOL_REGION, "1G");
	world_add_pool(&world, "e", POOL_REGION, "1G")->is_required = false;
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nodes[0].nr_shares, ELEMENTS(order));
	for (size_t i = 0; i < ELEMENTS(order); i++)
		ck_assert_str_eq(world.plan->nodes[0].shares[i].pool->name, order[i]);
}
END_TEST

START_TEST(test_the_minimum_is_the_size_unless_it_is_set_and_is_rounded_up)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 32 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "8G");
	world_set_minimum(world_add_pool(&world, "b", POOL_REGION, "8G"), "10%");
	world_plan(&world);
	ck_assert_uint_eq(world_share(&world, 0, "a")->minimum_bytes, 8 * GIB);
	ck_assert_uint_eq(plan_pool(world.plan, "a")->minimum_bytes, 16 * GIB);
	ck_assert_uint_eq(world_share(&world, 0, "b")->minimum_bytes, 7 * GIB);
	ck_assert_uint_eq(world_share(&world, 1, "b")->minimum_bytes, 4 * GIB);
	ck_assert_uint_eq(plan_pool(world.plan, "b")->minimum_bytes, 11 * GIB);
}
END_TEST

/* Rounded down it would be nothing, and a share of which nothing came would have reached it. */
START_TEST(test_a_minimum_below_one_region_is_one_region)
{
	struct pool_config *pool;

	world_add_node(&world, 0, 64 * GIB);
	pool = world_add_pool(&world, "a", POOL_REGION, "3G");
	pool->region_bytes = 3 * GIB / 2;
	world_set_minimum(pool, "1G");
	world_plan(&world);
	ck_assert_uint_eq(world_share(&world, 0, "a")->minimum_bytes, 3 * GIB / 2);
	world_set_minimum(pool, "2.5G"); /* more regions than were declared are never needed */
	world_plan(&world);
	ck_assert_uint_eq(world_share(&world, 0, "a")->minimum_bytes, 3 * GIB);
}
END_TEST

START_TEST(test_a_pool_carries_what_its_file_says)
{
	struct pool_config *pool;
	const struct plan_pool *planned;

	world_add_node(&world, 0, 64 * GIB);
	pool = world_add_pool(&world, "a", POOL_HUGETLB, "1G");
	world_set_page(pool, POOL_PAGE_HUGE, 0);
	pool->may_shrink = true;
	world_add_pool(&world, "b", POOL_REGION, "1G")->is_locked = true;
	world.pools[1].is_required = false;
	world_plan(&world);
	planned = plan_pool(world.plan, "a");
	ck_assert_str_eq(planned->source, "/etc/nodeinit/pools.d/a.pool");
	ck_assert_int_eq(planned->kind, POOL_HUGETLB);
	ck_assert(planned->is_required && planned->may_shrink && !planned->is_locked);
	planned = plan_pool(world.plan, "b");
	ck_assert_int_eq(planned->kind, POOL_REGION);
	ck_assert(!planned->is_required && !planned->may_shrink && planned->is_locked);
	ck_assert_ptr_null(plan_pool(world.plan, "c"));
}
END_TEST

START_TEST(test_a_node_carries_what_the_machine_says)
{
	struct machine_node *node;
	const struct plan_node *planned;
	scoped(freep) char *cpus = NULL;

	world_add_node(&world, 0, 64 * GIB);
	node = world_add_node(&world, 8, 32 * GIB);
	idset_clear(&node->cpus);
	idset_clear(&node->usable_cpus);
	node->helper_node_id = 0;
	node->spanned_bytes = 40 * GIB;
	node->mem_total_bytes = 31 * GIB;
	world_plan(&world);
	planned = plan_node(world.plan, 8);
	ck_assert_int_eq(planned->helper_node_id, 0);
	ck_assert_uint_eq(planned->memory_bytes, 32 * GIB);
	ck_assert_uint_eq(planned->mem_total_bytes, 31 * GIB);
	ck_assert_uint_eq(planned->spanned_bytes, 40 * GIB);
	cpus = idset_text(&planned->cpus);
	ck_assert_str_eq(cpus, "0-1");
}
END_TEST

START_TEST(test_no_pool_is_an_empty_plan_with_every_node)
{
	world_add_node(&world, 0, 64 * GIB);
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nr_pools, 0);
	ck_assert_uint_eq(world.plan->nr_nodes, 1);
	ck_assert_uint_eq(world.plan->declared_bytes, 0);
	ck_assert_uint_eq(world.plan->nr_warnings, 0);
	ck_assert_int_eq(plan_exit_code(world.plan), 0);
}
END_TEST

START_TEST(test_notes_of_the_configuration_come_first_and_a_refused_file_is_exit_2)
{
	struct config_note notes[] = {
		{ CONFIG_WARNING, (char *) "a.pool:3: unknown key Sise=", NULL },
		{ CONFIG_REFUSED, (char *) "b.pool:4: Size=8192 has two readings", NULL },
	};

	world_add_node(&world, 0, 64 * GIB);
	world_add_pool(&world, "a", POOL_REGION, "1M")->region_bytes = GIB;
	world.config.notes = notes;
	world.config.nr_notes = ELEMENTS(notes);
	world_plan(&world);
	ck_assert_int_eq(plan_exit_code(world.plan), 1); /* less than a region is nothing */
	world.config.is_anything_refused = true;
	world_plan(&world);
	ck_assert_uint_eq(world.plan->nr_warnings, 3);
	ck_assert_str_eq(world.plan->warnings[0], notes[0].text);
	ck_assert_str_eq(world.plan->warnings[1], notes[1].text);
	ck_assert_int_eq(plan_exit_code(world.plan), 2);
}
END_TEST

START_TEST(test_a_node_whose_huge_pages_are_not_ours_to_add_refuses_its_own_only)
{
	world_add_node(&world, 0, 64 * GIB);
	world_add_node(&world, 1, 64 * GIB)->is_growing_refused = true;
	world_set_page(world_add_pool(&world, "a", POOL_HUGETLB, "2G"), POOL_PAGE_HUGE, 0);
	world_plan(&world);
	world_expect(&world, 0, "a", 2 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 1, "a", 0, 2 * GIB, PLAN_NOT_PERMITTED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-declare");
	TCase *cases = tcase_create("declare");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, test_a_percentage_is_of_the_memory_of_each_node);
	tcase_add_test(cases, test_pages_are_those_of_the_pool);
	tcase_add_test(cases, test_a_size_is_rounded_down_to_the_page);
	tcase_add_test(cases, test_a_size_is_rounded_down_to_the_region);
	tcase_add_test(cases, test_a_region_is_one_gib_or_the_whole_share_where_that_is_smaller);
	tcase_add_test(cases, test_a_region_is_a_whole_number_of_pages_and_at_least_one);
	tcase_add_test(cases, test_only_pools_of_regions_have_a_region_size);
	tcase_add_test(cases, test_the_region_of_a_pool_is_that_of_its_first_node_that_has_one);
	tcase_add_test(cases, test_a_size_for_one_node_replaces_the_common_one);
	tcase_add_test(cases, test_without_a_common_size_only_the_named_nodes_have_a_share);
	tcase_add_test(cases, test_a_pool_that_names_no_node_is_told);
	tcase_add_test(cases, test_a_share_that_rounds_to_nothing_is_told_with_what_it_would_need);
	tcase_add_test(cases, test_a_size_of_zero_is_no_rounding_and_not_told);
	tcase_add_test(
		cases,
		test_a_pool_that_is_nothing_on_one_node_and_something_on_another_is_not_empty);
	tcase_add_test(cases, test_all_nodes_are_those_with_memory_and_the_others_are_still_shown);
	tcase_add_test(cases, test_nodes_cpu_are_those_with_memory_and_cpus);
	tcase_add_test(cases, test_a_list_of_nodes_is_taken_as_it_is);
	tcase_add_test(cases, test_nodes_that_do_not_exist_stand_in_their_place_among_the_others);
	tcase_add_test(cases, test_huge_is_the_default_size_and_a_size_may_be_the_base_page);
	tcase_add_test(cases, test_a_node_runs_its_shares_by_kind_then_required_then_name);
	tcase_add_test(cases, test_the_minimum_is_the_size_unless_it_is_set_and_is_rounded_up);
	tcase_add_test(cases, test_a_minimum_below_one_region_is_one_region);
	tcase_add_test(cases, test_a_pool_carries_what_its_file_says);
	tcase_add_test(cases, test_a_node_carries_what_the_machine_says);
	tcase_add_test(cases, test_no_pool_is_an_empty_plan_with_every_node);
	tcase_add_test(cases,
	               test_notes_of_the_configuration_come_first_and_a_refused_file_is_exit_2);
	tcase_add_test(cases,
	               test_a_node_whose_huge_pages_are_not_ours_to_add_refuses_its_own_only);
	suite_add_tcase(suite, cases);
	return suite_main(suite);
}
