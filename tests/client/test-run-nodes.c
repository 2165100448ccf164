/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../client/run-nodes.h"
#include "../lib/suite.h"
#include "../lib/tree.h"

static struct tree *tree;
static struct run_nodes nodes;
static struct run_load before, after;

static void end(void)
{
	run_nodes_clear(&nodes);
	tree = tree_free(tree);
}

/* What of a machine is read here; trees of recorded ones have thousands of other files. */
static const struct shown {
	const char *name, *online, *has_memory, *allowed_nodes;
	struct {
		unsigned node_id;
		const char *cpus, *distances;
	} nodes[5];
} machines[] = {
	{ "four",
	  "0-3",
	  "0-3",
	  "0-3",
	  { { 0, "0-17", "10 21 21 21" },
	    { 1, "18-35", "21 10 21 21" },
	    { 2, "36-53", "21 21 10 21" },
	    { 3, "54-71", "21 21 21 10" } } },
	/* 2 is memory on a link, without CPUs; 3 has CPUs and no memory. */
	{ "cxl",
	  "0-3",
	  "0-2",
	  "0-63",
	  { { 0, "0-23", "10 21 14 31" },
	    { 1, "24-47", "21 10 24 31" },
	    { 2, "", "14 24 10 31" },
	    { 3, "48-55", "31 31 31 10" } } },
	{ "gaps",
	  "0,8,252,255",
	  "0,8,252,255",
	  "0-255",
	  { { 0, "0-79", "10 40 80 80" },
	    { 8, "80-159", "40 10 80 80" },
	    { 252, "", "80 80 10 80" },
	    { 255, "", "80 79 80 10" } } },
	{ "cpuset",
	  "0-3",
	  "0-3",
	  "0-2",
	  { { 0, "0-17", "10 21 21 21" },
	    { 1, "18-35", "21 10 21 21" },
	    { 2, "36-53", "21 21 10 21" },
	    { 3, "54-71", "21 21 21 10" } } },
};

static void write_machine(const struct shown *shown)
{
	char status[128];

	tree = tree_new("uma-4g");
	tree_write(tree, shown->online, "/sys/devices/system/node/online");
	tree_write(tree, shown->has_memory, "/sys/devices/system/node/has_memory");
	(void) snprintf(status, sizeof(status), "Mems_allowed:\tf\nMems_allowed_list:\t%s\n",
	                shown->allowed_nodes);
	tree_write(tree, status, "/proc/self/status");
	for (size_t i = 0; shown->nodes[i].cpus; i++) {
		tree_write(tree, shown->nodes[i].cpus, "/sys/devices/system/node/node%u/cpulist",
		           shown->nodes[i].node_id);
		tree_write(tree, shown->nodes[i].distances,
		           "/sys/devices/system/node/node%u/distance", shown->nodes[i].node_id);
	}
}

/* Read the nodes of a machine, for a process that may use CPUs @allowed. */
static void read_machine(const char *name, const char *allowed)
{
	struct run_ids cpus;
	size_t i = 0;

	while (strcmp(machines[i].name, name) != 0)
		i++;
	if (!tree)
		write_machine(&machines[i]);
	ck_assert_int_eq(run_ids_parse(allowed, &cpus), 0);
	run_nodes_clear(&nodes);
	ck_assert_int_eq(run_nodes_read(tree->root, &cpus, &nodes), 0);
}

static const struct run_node *node(uint32_t node_id)
{
	const struct run_node *found = run_nodes_find(&nodes, node_id);

	ck_assert_ptr_nonnull(found);
	return found;
}

static void has_cpus(uint32_t node_id, const char *list, int32_t helper_node_id, uint32_t distance)
{
	struct run_ids expected;

	ck_assert_int_eq(run_ids_parse(list, &expected), 0);
	ck_assert_mem_eq(&node(node_id)->cpus, &expected, sizeof(expected));
	ck_assert_uint_eq(node(node_id)->nr_cpus,
	                  (unsigned) CPU_COUNT_S(sizeof(expected.sets), expected.sets));
	ck_assert_int_eq(node(node_id)->helper_node_id, helper_node_id);
	ck_assert_uint_eq(node(node_id)->distance, distance);
}

static void chosen(int expected_id)
{
	const struct run_node *choice = run_nodes_choose(&nodes);

	ck_assert_int_eq(choice ? (int) choice->node_id : -1, expected_id);
}

/* All nodes alike: 8 GiB free, two idle CPUs. */
static void all_alike(void)
{
	for (size_t i = 0; i < nodes.nr_nodes; i++) {
		nodes.nodes[i].free_bytes = UINT64_C(8) << 30;
		nodes.nodes[i].idle_cpus_milli = 2000;
	}
}

START_TEST(test_lists_of_ids_are_read)
{
	struct run_ids ids;

	ck_assert_int_eq(run_ids_parse("0-2,7,8191", &ids), 0);
	ck_assert_int_eq(CPU_COUNT_S(sizeof(ids.sets), ids.sets), 5);
	ck_assert(run_ids_has(&ids, 2) && !run_ids_has(&ids, 3) && run_ids_has(&ids, 7));
	ck_assert(run_ids_has(&ids, 8191) && !run_ids_has(&ids, 8192));
	ck_assert_int_eq(run_ids_parse("", &ids), 0);
	ck_assert_int_eq(CPU_COUNT_S(sizeof(ids.sets), ids.sets), 0);
	/* What is beyond does not take for ever, nor the memory behind. */
	ck_assert_int_eq(run_ids_parse("8190-18446744073709551615", &ids), 0);
	ck_assert_int_eq(CPU_COUNT_S(sizeof(ids.sets), ids.sets), 2);
}
END_TEST

START_TEST(test_what_is_no_list_is_refused)
{
	static const char *const wrong[] = { "a",   "1-", "-1",   "3-1", "1;2",
		                             "1 2", ",1", "1,,2", "0x1" };
	struct run_ids ids = { 0 };

	for (size_t i = 0; i < ELEMENTS(wrong); i++)
		ck_assert_msg(run_ids_parse(wrong[i], &ids) == -EINVAL, "%s", wrong[i]);
	ck_assert_int_eq(CPU_COUNT_S(sizeof(ids.sets), ids.sets), 0);
}
END_TEST

START_TEST(test_a_node_has_those_of_its_cpus_that_are_allowed)
{
	read_machine("four", "0-8191");
	ck_assert_uint_eq(nodes.nr_nodes, 4);
	has_cpus(0, "0-17", -1, 10);
	has_cpus(3, "54-71", -1, 10);
	ck_assert(node(3)->has_memory && node(3)->is_allowed);
	ck_assert_ptr_null(run_nodes_find(&nodes, 4));
	read_machine("four", "4-5,18,70-90");
	has_cpus(0, "4-5", -1, 10);
	has_cpus(1, "18", -1, 10);
	has_cpus(3, "70-71", -1, 10);
}
END_TEST

START_TEST(test_a_node_without_cpus_of_its_own_has_those_of_the_nearest)
{
	read_machine("four", "18-53");
	has_cpus(0, "18-35", 1, 21);
	has_cpus(3, "18-35", 1, 21);
	end();
	read_machine("cxl", "0-8191");
	has_cpus(2, "0-23", 0, 14);
	has_cpus(3, "48-55", -1, 10);
	ck_assert(!node(3)->has_memory && node(2)->has_memory);
	read_machine("cxl", "24-55");
	has_cpus(2, "24-47", 1, 24);
	has_cpus(0, "24-47", 1, 21);
	read_machine("cxl", "48-55");
	has_cpus(2, "48-55", 3, 31);
	/* A helper is not the source of another one's CPUs. */
	has_cpus(1, "48-55", 3, 31);
}
END_TEST

START_TEST(test_ids_may_have_gaps_and_columns_of_distances_have_none)
{
	read_machine("gaps", "80-159");
	ck_assert_uint_eq(nodes.nr_nodes, 4);
	has_cpus(8, "80-159", -1, 10);
	has_cpus(0, "80-159", 8, 40);
	has_cpus(252, "80-159", 8, 80);
	has_cpus(255, "80-159", 8, 79);
	ck_assert_ptr_null(run_nodes_find(&nodes, 1));
}
END_TEST

START_TEST(test_without_any_cpu_no_node_is_chosen)
{
	read_machine("cxl", "100-200");
	has_cpus(0, "", -1, 10);
	all_alike();
	chosen(-1);
}
END_TEST

START_TEST(test_a_cpuset_leaves_out_nodes)
{
	read_machine("cpuset", "0-35");
	ck_assert(node(2)->is_allowed && !node(3)->is_allowed);
	all_alike();
	nodes.nodes[3].free_bytes <<= 4;
	chosen(0);
	nodes.nodes[1].free_bytes <<= 1;
	chosen(1);
}
END_TEST

START_TEST(test_a_machine_that_shows_nothing_or_nonsense_is_an_error)
{
	struct run_ids all;

	memset(&all, 0xff, sizeof(all));
	ck_assert_int_eq(run_nodes_read("/nowhere", &all, &nodes), -ENOENT);
	write_machine(&machines[1]);
	tree_write(tree, "10 x\n", "/sys/devices/system/node/node2/distance");
	ck_assert_int_eq(run_nodes_read(tree->root, &all, &nodes), -EINVAL);
	tree_write(tree, "what\n", "/sys/devices/system/node/node0/cpulist");
	ck_assert_int_eq(run_nodes_read(tree->root, &all, &nodes), -EINVAL);
	tree_write(tree, "0\n", "/sys/devices/system/node/node0/cpulist");
	tree_write(tree, "10 21 14 31\n", "/sys/devices/system/node/node2/distance");
	tree_write(tree, "some\n", "/sys/devices/system/node/has_memory");
	ck_assert_int_eq(run_nodes_read(tree->root, &all, &nodes), -EINVAL);
	ck_assert_ptr_null(nodes.nodes);
	/* A kernel that does not tell which have memory means all. */
	tree_remove(tree, "/sys/devices/system/node/has_memory");
	ck_assert_int_eq(run_nodes_read(tree->root, &all, &nodes), 0);
	ck_assert(node(3)->has_memory);
}
END_TEST

START_TEST(test_free_memory_is_what_can_be_had_without_swapping)
{
	read_machine("cxl", "0-8191");
	tree_write(tree,
	           "Node 1 MemTotal:       9000 kB\n"
	           "Node 1 MemFree:        1000 kB\n"
	           "Node 1 Active(anon):   4000 kB\n"
	           "Node 1 Active(file):    200 kB\n"
	           "Node 1 Inactive(file):   30 kB\n"
	           "Node 1 Shmem:          7000 kB\n"
	           "Node 1 SReclaimable:      4 kB\n"
	           "Node 1 SUnreclaim:     8000 kB\n",
	           "/sys/devices/system/node/node1/meminfo");
	tree_remove(tree, "/sys/devices/system/node/node0/meminfo");
	run_nodes_weigh(tree->root, &nodes, &before, &after);
	ck_assert_uint_eq(node(1)->free_bytes, 1234 * 1024);
	ck_assert_uint_eq(node(0)->free_bytes, 0);
}
END_TEST

START_TEST(test_the_load_is_read_by_cpu)
{
	tree = tree_new("uma-4g");
	tree_write(tree,
	           "cpu  1 2 3 4 5 6 7 8 9 10\n"
	           "cpu0 10 20 30 400 50 6 7 8 9000 9000\n"
	           "cpu3 1 1 1 1\n"
	           "cpu9000 1 1 1 1 1 1 1 1\n"
	           "intr 1 2 3\n",
	           "/proc/stat");
	before.idle_ticks[5] = 9;
	ck_assert_int_eq(run_load_read(tree->root, &before), 0);
	ck_assert_uint_eq(before.idle_ticks[0], 450);
	ck_assert_uint_eq(before.total_ticks[0], 531);
	ck_assert_uint_eq(before.idle_ticks[3], 1);
	ck_assert_uint_eq(before.total_ticks[3], 4);
	ck_assert_uint_eq(before.idle_ticks[5], 0);
	ck_assert_int_eq(run_load_read("/nowhere", &before), -ENOENT);
}
END_TEST

static void ticks(size_t cpu, uint64_t idle_ticks, uint64_t total_ticks)
{
	before.idle_ticks[cpu] = 1000;
	before.total_ticks[cpu] = 5000;
	after.idle_ticks[cpu] = 1000 + idle_ticks;
	after.total_ticks[cpu] = 5000 + total_ticks;
}

START_TEST(test_idle_cpus_are_parts_of_those_that_are_allowed)
{
	read_machine("four", "0-2,18-19,36-38,60");
	ticks(0, 10, 10);
	ticks(1, 5, 10);
	ticks(2, 0, 10);
	ticks(3, 10, 10); /* not allowed */
	ticks(18, 0, 10);
	ticks(19, 1, 10);
	ticks(36, 0, 0);             /* no tick seen */
	ticks(37, (uint64_t) -3, 7); /* stepped back */
	ticks(38, 9, 7);             /* more idle than there was time */
	ticks(60, 3, 10);
	run_nodes_weigh(tree->root, &nodes, &before, &after);
	ck_assert_uint_eq(node(0)->idle_cpus_milli, 1500);
	ck_assert_uint_eq(node(1)->idle_cpus_milli, 100);
	ck_assert_uint_eq(node(2)->idle_cpus_milli, 2000);
	ck_assert_uint_eq(node(3)->idle_cpus_milli, 300);
}
END_TEST

START_TEST(test_the_node_with_most_memory_and_cpu_is_chosen)
{
	read_machine("four", "0-8191");
	all_alike();
	chosen(0);
	nodes.nodes[2].free_bytes += UINT64_C(1) << 20;
	chosen(2);
	nodes.nodes[1].idle_cpus_milli += 1;
	chosen(1);
	/* Much of one does not make up for nothing of the other. */
	nodes.nodes[1].idle_cpus_milli = 100;
	nodes.nodes[1].free_bytes <<= 2;
	chosen(2);
	/* Where all are busy, memory decides. */
	for (size_t i = 0; i < 4; i++)
		nodes.nodes[i].idle_cpus_milli = 0;
	chosen(1);
	nodes.nodes[1].has_memory = false;
	chosen(2);
}
END_TEST

START_TEST(test_memory_that_is_further_away_counts_less)
{
	read_machine("cxl", "0-8191");
	all_alike();
	nodes.nodes[2].free_bytes = nodes.nodes[0].free_bytes / 10 * 14;
	chosen(0);
	nodes.nodes[2].free_bytes += UINT64_C(1) << 30;
	chosen(2);
	/* However many its CPUs, node 3 has no memory. */
	nodes.nodes[3].idle_cpus_milli = 1000000;
	chosen(2);
	/* What firmware says of distances need not make sense. */
	nodes.nodes[1].distance = 0;
	chosen(2);
}
END_TEST

START_TEST(test_the_largest_machine_does_not_overflow)
{
	read_machine("four", "0-8191");
	all_alike();
	nodes.nodes[1].free_bytes = UINT64_C(1) << 60;
	nodes.nodes[1].idle_cpus_milli = 8192 * 1000;
	nodes.nodes[3].free_bytes = UINT64_C(1) << 59;
	nodes.nodes[3].idle_cpus_milli = 8192 * 1000;
	chosen(1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("run-nodes");
	TCase *tcase = tcase_create("run-nodes");

	tcase_add_checked_fixture(tcase, NULL, end);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, test_lists_of_ids_are_read);
	tcase_add_test(tcase, test_what_is_no_list_is_refused);
	tcase_add_test(tcase, test_a_node_has_those_of_its_cpus_that_are_allowed);
	tcase_add_test(tcase, test_a_node_without_cpus_of_its_own_has_those_of_the_nearest);
	tcase_add_test(tcase, test_ids_may_have_gaps_and_columns_of_distances_have_none);
	tcase_add_test(tcase, test_without_any_cpu_no_node_is_chosen);
	tcase_add_test(tcase, test_a_cpuset_leaves_out_nodes);
	tcase_add_test(tcase, test_a_machine_that_shows_nothing_or_nonsense_is_an_error);
	tcase_add_test(tcase, test_free_memory_is_what_can_be_had_without_swapping);
	tcase_add_test(tcase, test_the_load_is_read_by_cpu);
	tcase_add_test(tcase, test_idle_cpus_are_parts_of_those_that_are_allowed);
	tcase_add_test(tcase, test_the_node_with_most_memory_and_cpu_is_chosen);
	tcase_add_test(tcase, test_memory_that_is_further_away_counts_less);
	tcase_add_test(tcase, test_the_largest_machine_does_not_overflow);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
