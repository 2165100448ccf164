/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Plans for the machines of tests/data/machines.txt, probed from their trees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/machine/block-record.h"
#include "../lib/tree.h"
#include "plan-world.h"
#include "suite.h"

static const char *const machines[] = {
	"uma-4g",     "x86-1t-4n", "power8-32t-16n",   "numaconnect-7t-108n", "power9-gpu",
	"two-ranges", "cxl",       "x86-1t-4n-cpuset", "only-node-1",         "arm-64k",
	"lazy-24g",
};

static struct world world; /* the configuration and the plan */
static struct tree *tree;
static struct machine *machine;

static void setup(void)
{
	world_init(&world);
}

static void teardown(void)
{
	machine = machine_free(machine);
	tree = tree_free(tree);
	world_clear(&world);
}

static void probe(void)
{
	struct kernel *kernel;

	machine = machine_free(machine);
	ck_assert_int_eq(kernel_open(tree->root, &kernel), 0);
	ck_assert_int_eq(machine_probe(kernel, &machine), 0);
	kernel_close(kernel);
}

static void build(const char *name)
{
	tree = tree_new(name);
	probe();
}

static bool is_allowed(const struct tree_node *node)
{
	struct idset set = { .words = NULL };
	bool is_in = true;

	if (tree->machine.allowed_nodes[0]) {
		ck_assert_int_eq(idset_parse(tree->machine.allowed_nodes, &set), 0);
		is_in = idset_has(&set, node->node_id);
		idset_clear(&set);
	}
	return is_in;
}

/* One pool of three quarters of every node: the early part is the table's last column. */
static void expect_early_column(enum pool_kind kind, enum pool_page page)
{
	struct pool_config *pool = &world.pools[0];

	pool->kind = kind;
	pool->page = page;
	world_plan_on(&world, machine);
	for (size_t i = 0; i < tree->machine.nr_nodes; i++) {
		const struct tree_node *recorded = &tree->machine.nodes[i];
		const struct plan_node *node = plan_node(world.plan, recorded->node_id);

		ck_assert_uint_eq(node->memory_bytes, recorded->memory_bytes);
		ck_assert_uint_eq(node->spanned_bytes, recorded->spanned_bytes);
		ck_assert_uint_eq(node->early_budget_bytes, recorded->early_bytes);
		if (!is_allowed(recorded)) {
			ck_assert_uint_eq(node->early_bytes, 0);
			ck_assert_int_eq(node->shares[0].refusal, PLAN_OUTSIDE_CPUSET);
			continue;
		}
		ck_assert_uint_eq(node->early_bytes, recorded->early_bytes);
		ck_assert_uint_eq(node->refused_bytes, 0);
		/* A node without memory has no share. */
		ck_assert_uint_eq(node->nr_shares, recorded->memory_bytes ? 1 : 0);
		if (node->nr_shares)
			ck_assert_uint_eq(node->declared_bytes,
			                  bytes_round_down(recorded->memory_bytes / 4 * 3,
			                                   node->shares[0].unit_bytes));
	}
	ck_assert_uint_eq(world.plan->nr_nodes, tree->machine.nr_nodes);
}

START_TEST(test_the_early_column_of_every_table_comes_out_of_the_plan)
{
	build(machines[_i]);
	world_add_pool(&world, "a", POOL_REGION, "75%");
	expect_early_column(POOL_REGION, POOL_PAGE_BASE);
	expect_early_column(POOL_REGION, POOL_PAGE_THP);
	if (machine->huge_page_bytes <= GIB)
		expect_early_column(POOL_REGION, POOL_PAGE_HUGE);
	expect_early_column(POOL_HUGETLB, POOL_PAGE_HUGE);
}
END_TEST

static void find_in_list(const char *name, void *arg)
{
	size_t *nr_found = arg;

	for (size_t i = 0; i < ELEMENTS(machines); i++)
		if (strcmp(machines[i], name) == 0) {
			(*nr_found)++;
			return;
		}
	ck_abort_msg("machine %s is not planned for", name);
}

START_TEST(test_every_table_is_planned_for)
{
	size_t nr_found = 0;

	tree_each_machine(find_in_list, &nr_found);
	ck_assert_uint_eq(nr_found, ELEMENTS(machines));
}
END_TEST

static void expect_cpus(unsigned node_id, int helper_node_id, const char *cpus)
{
	const struct plan_node *node = plan_node(world.plan, node_id);
	scoped(freep) char *text = NULL;

	ck_assert_ptr_nonnull(node);
	text = idset_text(&node->cpus);
	ck_assert_int_eq(node->helper_node_id, helper_node_id);
	ck_assert_str_eq(text, cpus);
}

START_TEST(test_node_ids_with_gaps_and_without_cpus_are_helped_by_the_nearest)
{
	build("power9-gpu");
	world_add_pool(&world, "a", POOL_REGION, "50%");
	world_plan_on(&world, machine);
	expect_cpus(0, -1, "0-79");
	expect_cpus(8, -1, "80-159");
	expect_cpus(252, 0, "0-79");
	expect_cpus(255, 0, "0-79");
	world_expect(&world, 255, "a", 8 * GIB, 0, PLAN_ACCEPTED);
}
END_TEST

START_TEST(test_a_machine_that_has_only_node_1_with_blocks_from_40_on_works)
{
	build("only-node-1");
	world_add_pool(&world, "a", POOL_REGION, "50%");
	world_plan_on(&world, machine);
	ck_assert_ptr_null(plan_node(world.plan, 0));
	world_expect(&world, 1, "a", 8 * GIB, 0, PLAN_ACCEPTED);
	expect_cpus(1, -1, "0-3");
	/* Block 41 is not there at all, block 42 is offline: the span stays. */
	tree_remove(tree, "/sys/devices/system/node/node1/memory41");
	tree_set_block_state(tree, 42, "offline");
	probe();
	world_plan_on(&world, machine);
	ck_assert_uint_eq(world.plan->nodes[0].memory_bytes, 16 * GIB - 256 * MIB);
	ck_assert_uint_eq(world.plan->nodes[0].spanned_bytes, 16 * GIB);
}
END_TEST

START_TEST(test_blocks_that_are_offline_or_on_record_are_planned_for_and_come_to_other_pools)
{
	struct block_record *record = NULL;
	struct kernel *kernel;

	build("only-node-1");
	for (uint64_t block = 50; block < 58; block++)
		tree_set_block_state(tree, block, "offline");
	tree_set_block_zones(tree, 52, "Normal");
	tree_set_block_zones(tree, 53, "none");
	ck_assert_int_eq(block_record_open(NULL, &record, NULL), 0);
	ck_assert_int_eq(block_record_add(record, 49), 0);
	machine = machine_free(machine);
	ck_assert_int_eq(kernel_open(tree->root, &kernel), 0);
	ck_assert_int_eq(machine_probe_with(kernel, record, &machine), 0);
	kernel_close(kernel);
	block_record_free(record);
	world_add_pool(&world, "a", POOL_BLOCK, NULL)->early = POOL_EARLY_NONE;
	world_add_pool(&world, "b", POOL_REGION, "50%");
	world_plan_on(&world, machine);
	ck_assert_str_eq(world_blocks_text(&world, 1, "a"), "52,@49-51,54-57");
	world_expect(&world, 1, "a", 8 * machine->block_bytes, machine->block_bytes,
	             PLAN_UNSUPPORTED_ZONE);
	ck_assert_uint_eq(world.plan->nodes[0].offline_bytes, 8 * machine->block_bytes);
	ck_assert_uint_eq(world.plan->nodes[0].coming_bytes, 7 * machine->block_bytes);
	ck_assert_uint_eq(world.plan->nodes[0].memory_bytes, 16 * GIB - machine->block_bytes);
	ck_assert_uint_eq(world.plan->nodes[0].spanned_bytes, 16 * GIB);
	world_expect(&world, 1, "b", 7 * GIB, 0, PLAN_ACCEPTED);
}
END_TEST

START_TEST(test_a_64k_kernel_has_512m_for_huge_and_no_1g)
{
	build("arm-64k");
	world_set_page(world_add_pool(&world, "a", POOL_REGION, "50%"), POOL_PAGE_SIZE, GIB);
	world_set_page(world_add_pool(&world, "b", POOL_REGION, "50%"), POOL_PAGE_HUGE, 0);
	world_plan_on(&world, machine);
	world_expect(&world, 1, "a", 0, 64 * GIB, PLAN_UNSUPPORTED_SIZE);
	world_expect(&world, 1, "b", 64 * GIB, 0, PLAN_ACCEPTED);
	ck_assert_uint_eq(plan_pool(world.plan, "b")->page_bytes, 512 * MIB);
	ck_assert(world_is_warned(&world, "base pages are 64 KiB, huge page sizes: 2 MiB, 512 MiB "
	                                  "(huge), 16 GiB"));
}
END_TEST

START_TEST(test_memory_without_cpus_has_the_nearest_and_cpus_without_memory_no_share)
{
	build("cxl");
	world_add_pool(&world, "a", POOL_REGION, "50%");
	world_add_pool(&world, "b", POOL_REGION, "8G");
	world_set_node_list(&world.pools[1], "3");
	world_plan_on(&world, machine);
	expect_cpus(2, 0, "0-23");
	world_expect(&world, 2, "a", 512 * GIB, 0, PLAN_ACCEPTED);
	ck_assert_ptr_null(world_share(&world, 3, "a"));
	world_expect(&world, 3, "b", 0, 8 * GIB, PLAN_MEMORYLESS_NODE);
}
END_TEST

START_TEST(test_a_cpuset_takes_cpus_and_memory_of_nodes_away)
{
	build("x86-1t-4n-cpuset");
	world_add_pool(&world, "a", POOL_REGION, "50%");
	world_plan_on(&world, machine);
	expect_cpus(1, -1, "18-35");
	expect_cpus(2, 0, "0-17");
	expect_cpus(3, 0, "0-17");
	world_expect(&world, 2, "a", 128 * GIB, 0, PLAN_ACCEPTED);
	world_expect(&world, 3, "a", 0, 128 * GIB, PLAN_OUTSIDE_CPUSET);
	ck_assert(world_is_warned(&world, "node 3 outside the cpuset, which allows memory of 0-2"));
}
END_TEST

START_TEST(test_a_cgroup_limit_and_swap_of_the_machine_reach_the_plan)
{
	build("uma-4g");
	tree_set_cgroup(tree, GIB, 64 * MIB);
	tree_set_swap(tree, GIB);
	probe();
	world_add_pool(&world, "a", POOL_REGION, "3G")->region_bytes = 128 * MIB;
	world_plan_on(&world, machine);
	world_expect(&world, 0, "a", 896 * MIB, 3 * GIB - 896 * MIB, PLAN_CGROUP_LIMIT);
	ck_assert(world_is_warned(&world, "cgroup /system.slice/nodeinitd.service is limited to"));
	ck_assert(world_is_warned(&world, "pool a: swap is on"));
}
END_TEST

START_TEST(test_a_kernel_that_shows_4_of_24_gib_after_boot_is_planned_for_with_24)
{
	build("lazy-24g");
	world_add_pool(&world, "a", POOL_REGION, "50%");
	world_plan_on(&world, machine);
	world_expect(&world, 0, "a", 12 * GIB, 0, PLAN_ACCEPTED);
	ck_assert(
		world_is_warned(&world, "node 0: memory blocks of 24 GiB, MemTotal so far 4 GiB"));
}
END_TEST

START_TEST(test_huge_pages_of_a_node_are_seen_by_size)
{
	build("x86-1t-4n");
	tree_set_hugepages(tree, 2, GIB, 5);
	tree_set_hugepages(tree, 2, 2 * MIB, 512);
	probe();
	world_set_page(world_add_pool(&world, "a", POOL_HUGETLB, "6G"), POOL_PAGE_SIZE, GIB);
	world_plan_on(&world, machine);
	ck_assert(world_is_warned(&world, "huge pages of 1 GiB to be added at run time: 19;"));
}
END_TEST

START_TEST(test_a_file_with_a_bare_number_is_refused_and_the_other_pools_go_on)
{
	struct config *config = NULL;
	struct plan *plan = NULL;
	char directory[300];

	build("uma-4g");
	tree_write(tree, "[Pool]\nKind=region\nPageSize=base\nSize=1G\n", "/c/pools.d/good.pool");
	tree_write(tree, "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=8192\n", "/c/pools.d/bare.pool");
	snprintf(directory, sizeof(directory), "%s/c", tree->root);
	ck_assert_int_eq(config_load(directory, "", &config), 0);
	ck_assert_int_eq(plan_make(machine, config, &plan), 0);
	ck_assert_uint_eq(plan->nr_pools, 1);
	ck_assert_uint_eq(plan_pool(plan, "good")->declared_bytes, GIB);
	ck_assert_ptr_nonnull(strstr(plan->warnings[0], "bare.pool:4: "));
	ck_assert_int_eq(plan_exit_code(plan), 2);
	plan_free(plan);
	config_free(config);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-machines");
	TCase *cases = tcase_create("machines");

	tcase_set_timeout(cases, 120);
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_loop_test(cases, test_the_early_column_of_every_table_comes_out_of_the_plan, 0,
	                    (int) ELEMENTS(machines));
	tcase_add_test(cases, test_every_table_is_planned_for);
	tcase_add_test(cases, test_node_ids_with_gaps_and_without_cpus_are_helped_by_the_nearest);
	tcase_add_test(cases, test_a_machine_that_has_only_node_1_with_blocks_from_40_on_works);
	tcase_add_test(
		cases,
		test_blocks_that_are_offline_or_on_record_are_planned_for_and_come_to_other_pools);
	tcase_add_test(cases, test_a_64k_kernel_has_512m_for_huge_and_no_1g);
	tcase_add_test(cases,
	               test_memory_without_cpus_has_the_nearest_and_cpus_without_memory_no_share);
	tcase_add_test(cases, test_a_cpuset_takes_cpus_and_memory_of_nodes_away);
	tcase_add_test(cases, test_a_cgroup_limit_and_swap_of_the_machine_reach_the_plan);
	tcase_add_test(cases,
	               test_a_kernel_that_shows_4_of_24_gib_after_boot_is_planned_for_with_24);
	tcase_add_test(cases, test_huge_pages_of_a_node_are_seen_by_size);
	tcase_add_test(cases, test_a_file_with_a_bare_number_is_refused_and_the_other_pools_go_on);
	suite_add_tcase(suite, cases);
	return suite_main(suite);
}
