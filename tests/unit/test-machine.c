/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "../../daemon/base/size.h"
#include "../../daemon/machine/machine.h"
#include "kernel-model.h"
#include "suite.h"

#define BLOCK (128 * MIB)

static struct kernel_model *model;
static struct machine *machine;

static void model_setup(void)
{
	model = kernel_model_new();
}

static void model_teardown(void)
{
	machine = machine_free(machine);
	model = kernel_model_free(model);
}

static void probe(void)
{
	machine = machine_free(machine);
	ck_assert_int_eq(machine_probe(kernel_model_kernel(model), &machine), 0);
}

static const struct machine_node *node_at(unsigned node_id)
{
	const struct machine_node *node = machine_node(machine, node_id);

	ck_assert_msg(node != NULL, "there is no node %u", node_id);
	ck_assert_uint_eq(node->node_id, node_id);
	return node;
}

static void expect_ids(const struct idset *set, const char *expected)
{
	scoped(freep) char *text = idset_text(set);

	ck_assert_str_eq(text, expected);
}

static void expect_distances(unsigned node_id, const unsigned *expected, size_t nr)
{
	ck_assert_uint_eq(machine->nr_nodes, nr);
	for (size_t i = 0; i < nr; i++)
		ck_assert_uint_eq(node_at(node_id)->distances[i], expected[i]);
}

static void set_distance(unsigned node_id, const char *row)
{
	char path[64];

	(void) snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/distance", node_id);
	kernel_model_set_file(model, path, "%s\n", row);
}

static void set_meminfo(unsigned node_id, const char *lines)
{
	char path[64];

	(void) snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/meminfo", node_id);
	kernel_model_set_file(model, path, "%s", lines);
}

static void set_block_size(void)
{
	kernel_model_set_file(model, "/sys/devices/system/memory/block_size_bytes", "8000000\n");
}

/* @state: what the block's file says; NULL: it has none. */
static void add_block(unsigned node_id, unsigned block, const char *state)
{
	char path[96];

	(void) snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/memory%u/valid_zones",
	                node_id, block);
	kernel_model_set_file(model, path, "Normal\n");
	(void) snprintf(path, sizeof(path), "/sys/devices/system/memory/memory%u/state", block);
	if (state)
		kernel_model_set_file(model, path, "%s\n", state);
}

static void set_status(const char *cpus, const char *nodes)
{
	kernel_model_set_file(model, "/proc/self/status",
	                      "Name:\ttest\nCpus_allowed:\tff\n"
	                      "Cpus_allowed_list:\t%s\nMems_allowed_list:\t%s\n",
	                      cpus, nodes);
}

/* ---- topology ---- */

START_TEST(test_node_ids_with_gaps_have_distance_columns_by_online_order)
{
	kernel_model_add_node(model, 0, "0-79", 256 * GIB);
	kernel_model_add_node(model, 8, "80-159", 256 * GIB);
	for (unsigned id = 252; id <= 255; id++)
		kernel_model_add_node(model, id, "", 16 * GIB);
	set_distance(0, "10 40 80 80 80 80");
	set_distance(8, "40 10 80 80 80 80");
	set_distance(252, "80 80 10 80 80 80");
	set_distance(253, "80 80 80 10 80 80");
	set_distance(254, "80 70 80 80 10 80");
	set_distance(255, "80 80 80 80 80 10");
	probe();
	expect_distances(254, (const unsigned[]){ 80, 70, 80, 80, 10, 80 }, 6);
	ck_assert_int_eq(node_at(0)->helper_node_id, -1);
	ck_assert_int_eq(node_at(8)->helper_node_id, -1);
	ck_assert_int_eq(node_at(252)->helper_node_id, 0);
	ck_assert_int_eq(node_at(254)->helper_node_id, 8);
	ck_assert_int_eq(node_at(255)->helper_node_id, 0);
	expect_ids(machine_worker_cpus(machine, node_at(254)), "80-159");
	expect_ids(&node_at(255)->cpus, "");
	ck_assert_ptr_null(machine_node(machine, 1));
	ck_assert_ptr_null(machine_node(machine, 5));
	ck_assert_ptr_null(machine_node(machine, 256));
}
END_TEST

START_TEST(test_only_node_1_exists)
{
	uint64_t bytes = 7;

	kernel_model_add_node(model, 1, "0-3", 8 * GIB);
	set_distance(1, "10");
	probe();
	ck_assert_uint_eq(machine->nr_nodes, 1);
	expect_distances(1, (const unsigned[]){ 10 }, 1);
	expect_ids(machine_worker_cpus(machine, node_at(1)), "0-3");
	ck_assert_ptr_null(machine_node(machine, 0));
	ck_assert_int_eq(machine_read_available(kernel_model_kernel(model), 0, &bytes), -ENOENT);
	ck_assert_uint_eq(bytes, 7);
	ck_assert_int_eq(machine_read_available(kernel_model_kernel(model), 1, &bytes), 0);
	ck_assert_uint_eq(bytes, 8 * GIB);
}
END_TEST

START_TEST(test_a_node_without_cpus_gets_those_of_the_nearest)
{
	kernel_model_add_node(model, 0, "0-1", GIB);
	kernel_model_add_node(model, 1, "2-3", GIB);
	kernel_model_add_node(model, 2, "4-5", GIB);
	kernel_model_add_node(model, 3, "", GIB);
	set_distance(3, "30 20 20 10");
	probe();
	/* 1 and 2 are equally near: the lower id. The node itself is nearest, and of no help. */
	ck_assert_int_eq(node_at(3)->helper_node_id, 1);
	expect_ids(machine_worker_cpus(machine, node_at(3)), "2-3");
	ck_assert_uint_eq(node_at(3)->memory_bytes, GIB);
}
END_TEST

START_TEST(test_a_cpuset_that_forbids_a_nodes_cpus_moves_its_worker)
{
	kernel_model_add_node(model, 0, "0-3", GIB);
	kernel_model_add_node(model, 1, "4-7", GIB);
	kernel_model_add_node(model, 2, "8-11", GIB);
	set_distance(1, "21 10 15");
	set_status("0-1,10-11", "0,2");
	probe();
	expect_ids(&machine->allowed_cpus, "0-1,10-11");
	expect_ids(&node_at(0)->cpus, "0-3");
	expect_ids(&node_at(0)->usable_cpus, "0-1");
	expect_ids(&node_at(1)->usable_cpus, "");
	ck_assert_int_eq(node_at(1)->helper_node_id, 2);
	expect_ids(machine_worker_cpus(machine, node_at(1)), "10-11");
	ck_assert(node_at(0)->is_allowed);
	ck_assert(!node_at(1)->is_allowed);
	ck_assert(node_at(2)->is_allowed);
}
END_TEST

START_TEST(test_without_any_usable_cpu_every_allowed_one_will_do)
{
	kernel_model_add_node(model, 0, "0-3", GIB);
	set_status("64-65", "0");
	probe();
	ck_assert_int_eq(node_at(0)->helper_node_id, -1);
	expect_ids(machine_worker_cpus(machine, node_at(0)), "64-65");
}
END_TEST

START_TEST(test_without_a_status_file_everything_is_allowed)
{
	kernel_model_add_node(model, 0, "0", GIB);
	kernel_model_add_node(model, 5, "1", GIB);
	probe();
	expect_ids(&machine->allowed_cpus, "0-1");
	expect_ids(&machine->allowed_nodes, "0,5");
	ck_assert(node_at(5)->is_allowed);
}
END_TEST

START_TEST(test_offline_cpus_do_not_count)
{
	kernel_model_add_node(model, 0, "0-3", GIB);
	kernel_model_add_node(model, 1, "4-7", GIB);
	kernel_model_set_file(model, "/sys/devices/system/cpu/online", "0-2\n");
	probe();
	expect_ids(&machine->online_cpus, "0-2");
	expect_ids(&node_at(0)->cpus, "0-2");
	expect_ids(&node_at(1)->cpus, "");
	ck_assert_int_eq(node_at(1)->helper_node_id, 0);
}
END_TEST

START_TEST(test_missing_topology_files_fall_back)
{
	kernel_model_add_node(model, 0, "0-3", GIB);
	kernel_model_add_node(model, 2, "4-7", GIB);
	kernel_model_hide(model, "/sys/devices/system/cpu");
	kernel_model_hide(model, "/sys/devices/system/node/online");
	kernel_model_hide(model, "/sys/devices/system/node/node2/distance");
	set_distance(0, "10");
	probe();
	expect_ids(&machine->online_cpus, "0-7");
	/* A short row is filled up, a missing one made. */
	expect_distances(0, (const unsigned[]){ 10, 20 }, 2);
	expect_distances(2, (const unsigned[]){ 20, 10 }, 2);
}
END_TEST

START_TEST(test_only_nodes_that_are_online_count)
{
	kernel_model_add_node(model, 0, "0", GIB);
	kernel_model_add_node(model, 1, "1", GIB);
	kernel_model_set_file(model, "/sys/devices/system/node/online", "0\n");
	kernel_model_set_file(model, "/sys/devices/system/node/possible", "0-1\n");
	probe();
	ck_assert_uint_eq(machine->nr_nodes, 1);
	ck_assert_ptr_null(machine_node(machine, 1));
}
END_TEST

START_TEST(test_a_kernel_without_numa_is_one_node_0)
{
	uint64_t bytes;

	kernel_model_add_page_size(model, 2 * MIB);
	kernel_model_set_file(model, "/sys/devices/system/cpu/online", "0-3\n");
	kernel_model_set_file(model, "/proc/meminfo",
	                      "MemTotal: 4096 kB\nMemFree: 1024 kB\nCached: 512 kB\n"
	                      "Shmem: 128 kB\nSReclaimable: 64 kB\n");
	kernel_model_set_file(model, "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
	                      "9\n");
	kernel_model_set_file(model, "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
	                      "5\n");
	kernel_model_hide(model, "/sys/devices/system/node");
	probe();
	ck_assert_uint_eq(machine->nr_nodes, 1);
	expect_ids(&node_at(0)->usable_cpus, "0-3");
	ck_assert_uint_eq(node_at(0)->memory_bytes, 4 * MIB);
	ck_assert_uint_eq(node_at(0)->spanned_bytes, 4 * MIB);
	ck_assert_uint_eq(node_at(0)->available_bytes, (1024 + 512 - 128 + 64) * KIB);
	ck_assert_uint_eq(node_at(0)->hugepages[0].nr_pages, 9);
	ck_assert_uint_eq(node_at(0)->hugepages[0].free_pages, 5);
	ck_assert_uint_eq(node_at(0)->distances[0], 10);
	ck_assert_int_eq(machine_read_available(kernel_model_kernel(model), 0, &bytes), 0);
	ck_assert_uint_eq(bytes, node_at(0)->available_bytes);
	ck_assert_int_eq(machine_read_available(kernel_model_kernel(model), 1, &bytes), -ENOENT);
}
END_TEST

START_TEST(test_neither_nodes_nor_memory_is_an_error)
{
	kernel_model_hide(model, "/proc/meminfo");
	ck_assert_int_eq(machine_probe(kernel_model_kernel(model), &machine), -ENOENT);
	ck_assert_ptr_null(machine);
}
END_TEST

START_TEST(test_more_nodes_than_a_kernel_can_have_are_too_many)
{
	kernel_model_set_file(model, "/sys/devices/system/node/online", "0-1023\n");
	probe();
	ck_assert_uint_eq(machine->nr_nodes, 1024);
	machine = machine_free(machine);
	kernel_model_set_file(model, "/sys/devices/system/node/online", "0-1024\n");
	ck_assert_int_eq(machine_probe(kernel_model_kernel(model), &machine), -E2BIG);
	ck_assert_ptr_null(machine);
}
END_TEST

/* ---- memory ---- */

START_TEST(test_block_numbers_have_holes_and_do_not_start_at_0)
{
	kernel_model_add_node(model, 0, "0", GIB);
	set_block_size();
	add_block(0, 8, "online");
	add_block(0, 9, "online");
	add_block(0, 40, "online");
	/* Neighbours in the directory that are no blocks. */
	kernel_model_set_file(model, "/sys/devices/system/node/node0/memory_failure/total", "0\n");
	kernel_model_set_file(model, "/sys/devices/system/node/node0/memory7x/state", "online\n");
	probe();
	ck_assert_uint_eq(machine->block_bytes, BLOCK);
	ck_assert_uint_eq(machine->section_bytes, BLOCK);
	ck_assert_uint_eq(node_at(0)->nr_blocks, 3);
	ck_assert_uint_eq(node_at(0)->nr_online_blocks, 3);
	ck_assert_uint_eq(node_at(0)->memory_bytes, 3 * BLOCK);
	ck_assert_uint_eq(node_at(0)->spanned_bytes, 33 * BLOCK);
}
END_TEST

START_TEST(test_one_node_in_two_ranges_spans_what_lies_between)
{
	/* Node 1 lies within node 0 */
	kernel_model_add_node(model, 0, "0", GIB);
	kernel_model_add_node(model, 1, "1", GIB);
	set_block_size();
	for (unsigned block = 0; block < 12; block++)
		add_block(block >= 4 && block < 8, block, "online");
	probe();
	ck_assert_uint_eq(node_at(0)->memory_bytes, 8 * BLOCK);
	ck_assert_uint_eq(node_at(0)->spanned_bytes, 12 * BLOCK);
	ck_assert_uint_eq(node_at(1)->memory_bytes, 4 * BLOCK);
	ck_assert_uint_eq(node_at(1)->spanned_bytes, 4 * BLOCK);
}
END_TEST

START_TEST(test_a_lazy_kernels_low_mem_total_is_not_what_the_node_has)
{
	/* 4 of 24 GiB are initialised after boot */
	kernel_model_add_node(model, 0, "0-1", 4 * GIB);
	set_block_size();
	for (unsigned block = 0; block < 192; block++)
		add_block(0, block, "online");
	probe();
	ck_assert_uint_eq(node_at(0)->memory_bytes, 24 * GIB);
	ck_assert_uint_eq(node_at(0)->mem_total_bytes, 4 * GIB);
}
END_TEST

START_TEST(test_offline_blocks_are_spanned_but_not_had)
{
	kernel_model_add_node(model, 0, "0", GIB);
	set_block_size();
	add_block(0, 1, "offline");
	add_block(0, 2, "online");
	add_block(0, 3, "going-offline");
	add_block(0, 4, "offline");
	probe();
	ck_assert_uint_eq(node_at(0)->nr_blocks, 4);
	ck_assert_uint_eq(node_at(0)->nr_online_blocks, 1);
	ck_assert_uint_eq(node_at(0)->memory_bytes, BLOCK);
	ck_assert_uint_eq(node_at(0)->spanned_bytes, 4 * BLOCK);
}
END_TEST

START_TEST(test_a_blocks_state_is_found_wherever_it_is_recorded)
{
	kernel_model_add_node(model, 0, "0", GIB);
	set_block_size();
	for (unsigned block = 0; block < 6; block++)
		add_block(0, block, NULL);
	kernel_model_set_file(model, "/sys/devices/system/memory/memory0/state", "offline\n");
	kernel_model_set_file(model, "/sys/devices/system/node/node0/memory1/state", "offline\n");
	kernel_model_set_file(model, "/sys/devices/system/memory/memory2/online", "0\n");
	kernel_model_set_file(model, "/sys/devices/system/node/node0/memory3/online", "0\n");
	kernel_model_set_file(model, "/sys/devices/system/memory/memory4/online", "1\n");
	/* Block 5 tells nowhere: online. */
	probe();
	ck_assert_uint_eq(node_at(0)->nr_blocks, 6);
	ck_assert_uint_eq(node_at(0)->nr_online_blocks, 2);
}
END_TEST

START_TEST(test_without_blocks_a_node_has_its_mem_total)
{
	kernel_model_add_node(model, 0, "0", 3 * GIB);
	probe();
	ck_assert_uint_eq(machine->block_bytes, 0);
	ck_assert_uint_eq(machine->section_bytes, 128 * MIB);
	ck_assert_uint_eq(node_at(0)->memory_bytes, 3 * GIB);
	ck_assert_uint_eq(node_at(0)->spanned_bytes, 3 * GIB);
	ck_assert_uint_eq(node_at(0)->nr_blocks, 0);
}
END_TEST

START_TEST(test_blocks_of_many_nodes_are_counted_each_for_its_own)
{
	set_block_size();
	for (unsigned id = 0; id < 24; id++) {
		kernel_model_add_node(model, id * 3, "", GIB);
		for (unsigned i = 0; i <= id; i++)
			add_block(id * 3, id * 100 + i, i ? "online" : "offline");
	}
	probe();
	for (unsigned id = 0; id < 24; id++) {
		ck_assert_uint_eq(node_at(id * 3)->nr_blocks, id + 1);
		ck_assert_uint_eq(node_at(id * 3)->nr_online_blocks, id);
	}
}
END_TEST

START_TEST(test_available_memory_leaves_out_shared_memory)
{
	uint64_t bytes = 0;

	kernel_model_add_node(model, 2, "0", GIB);
	set_meminfo(2, "Node 2 MemTotal:       9000 kB\nNode 2 MemFree:        1000 kB\n"
	               "Node 2 MemUsed:        8000 kB\nNode 2 FilePages:       700 kB\n"
	               "Node 2 Shmem:           300 kB\nNode 2 ShmemHugePages: 5000 kB\n"
	               "Node 2 SReclaimable:     50 kB\nNode 2 FileHugePages:  7000 kB\n");
	probe();
	ck_assert_uint_eq(node_at(2)->mem_total_bytes, 9000 * KIB);
	ck_assert_uint_eq(node_at(2)->available_bytes, 1450 * KIB);
	ck_assert_int_eq(machine_read_available(kernel_model_kernel(model), 2, &bytes), 0);
	ck_assert_uint_eq(bytes, 1450 * KIB);
	/* More shared memory than page cache cannot be; it must not wrap. */
	set_meminfo(2, "Node 2 MemFree: 10 kB\nNode 2 FilePages: 5 kB\nNode 2 Shmem: 6 kB\n");
	ck_assert_int_eq(machine_read_available(kernel_model_kernel(model), 2, &bytes), 0);
	ck_assert_uint_eq(bytes, 10 * KIB);
}
END_TEST

/* As the kernel writes it: two zones of node 2 have such memory, what is free of it is no size. */
static void set_devices(const char *first_lines)
{
	kernel_model_add_node(model, 0, "0", 4 * GIB);
	kernel_model_add_node(model, 2, "1", 4 * GIB);
	kernel_model_set_file(model, "/proc/meminfo",
	                      "MemTotal: 8388608 kB\nCmaTotal: 262144 kB\nCmaFree: 4096 kB\n");
	kernel_model_set_file(
		model, "/proc/zoneinfo",
		"%s"
		"Node 0, zone      DMA\n  pages free     3840\n"
		"        managed  3840\n        cma      0\n"
		"Node 2, zone    DMA32\n  per-node stats\n      nr_inactive_anon 5436\n"
		"  pages free     114647\n        cma      32768\n"
		"      nr_free_cma  512\n  pagesets\n    cpu: 0\n"
		"Node 2, zone   Normal\n        cma      16384\n"
		"Node 7, zone   Normal\n        cma      1\n",
		first_lines);
}

START_TEST(test_memory_for_devices_is_known_by_node)
{
	set_devices("");
	probe();
	ck_assert_uint_eq(node_at(0)->device_bytes, 0);
	ck_assert_uint_eq(node_at(2)->device_bytes, 192 * MIB);
}
END_TEST

START_TEST(test_zones_of_a_thousand_cpus_are_read_to_the_end)
{
	const size_t nr_bytes = 3 * MIB;
	char *lines = malloc(nr_bytes + 1);

	ck_assert_ptr_nonnull(lines);
	for (size_t i = 0; i < nr_bytes; i++)
		lines[i] = "    cpu: 1023\n"[i % strlen("    cpu: 1023\n")];
	lines[nr_bytes - 1] = '\n';
	lines[nr_bytes] = '\0';
	set_devices(lines);
	free(lines);
	probe();
	ck_assert_uint_eq(node_at(2)->device_bytes, 192 * MIB);
}
END_TEST

START_TEST(test_memory_for_huge_pages_is_no_devices)
{
	set_devices("");
	kernel_model_set_file(model, "/proc/cmdline", "quiet hugetlb_cma=2:192M\n");
	probe();
	ck_assert_uint_eq(node_at(2)->device_bytes, 0);
}
END_TEST

START_TEST(test_swap_is_seen_behind_its_heading)
{
	kernel_model_add_node(model, 0, "0", GIB);
	probe();
	ck_assert(!machine->has_swap);
	kernel_model_set_file(model, "/proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n");
	probe();
	ck_assert(!machine->has_swap);
	kernel_model_set_file(model, "/proc/swaps",
	                      "Filename\tType\tSize\tUsed\tPriority\n/dev/dm-1 partition 8 0 -2\n");
	probe();
	ck_assert(machine->has_swap);
}
END_TEST

START_TEST(test_this_machine_can_be_probed)
{
	struct kernel *live = NULL;
	int r;

	ck_assert_int_eq(kernel_open("", &live), 0);
	r = machine_probe(live, &machine);
	live = kernel_close(live);
	ck_assert_int_eq(r, 0);
	ck_assert_uint_ge(machine->nr_nodes, 1);
	ck_assert_uint_eq(machine->page_bytes, (uint64_t) sysconf(_SC_PAGESIZE));
	ck_assert(!idset_is_empty(&machine->online_cpus));
	ck_assert(!idset_is_empty(machine_worker_cpus(machine, &machine->nodes[0])));
	ck_assert_uint_gt(machine->nodes[0].memory_bytes + machine->nodes[0].mem_total_bytes, 0);
}
END_TEST

static TCase *topology_case(void)
{
	TCase *tcase = tcase_create("topology");

	tcase_add_test(tcase, test_node_ids_with_gaps_have_distance_columns_by_online_order);
	tcase_add_test(tcase, test_only_node_1_exists);
	tcase_add_test(tcase, test_a_node_without_cpus_gets_those_of_the_nearest);
	tcase_add_test(tcase, test_a_cpuset_that_forbids_a_nodes_cpus_moves_its_worker);
	tcase_add_test(tcase, test_without_any_usable_cpu_every_allowed_one_will_do);
	tcase_add_test(tcase, test_without_a_status_file_everything_is_allowed);
	tcase_add_test(tcase, test_offline_cpus_do_not_count);
	tcase_add_test(tcase, test_missing_topology_files_fall_back);
	tcase_add_test(tcase, test_only_nodes_that_are_online_count);
	tcase_add_test(tcase, test_a_kernel_without_numa_is_one_node_0);
	tcase_add_test(tcase, test_neither_nodes_nor_memory_is_an_error);
	tcase_add_test(tcase, test_more_nodes_than_a_kernel_can_have_are_too_many);
	tcase_add_test(tcase, test_this_machine_can_be_probed);
	return tcase;
}

static TCase *memory_case(void)
{
	TCase *tcase = tcase_create("memory");

	tcase_add_test(tcase, test_block_numbers_have_holes_and_do_not_start_at_0);
	tcase_add_test(tcase, test_one_node_in_two_ranges_spans_what_lies_between);
	tcase_add_test(tcase, test_a_lazy_kernels_low_mem_total_is_not_what_the_node_has);
	tcase_add_test(tcase, test_offline_blocks_are_spanned_but_not_had);
	tcase_add_test(tcase, test_a_blocks_state_is_found_wherever_it_is_recorded);
	tcase_add_test(tcase, test_without_blocks_a_node_has_its_mem_total);
	tcase_add_test(tcase, test_blocks_of_many_nodes_are_counted_each_for_its_own);
	tcase_add_test(tcase, test_available_memory_leaves_out_shared_memory);
	tcase_add_test(tcase, test_memory_for_devices_is_known_by_node);
	tcase_add_test(tcase, test_zones_of_a_thousand_cpus_are_read_to_the_end);
	tcase_add_test(tcase, test_memory_for_huge_pages_is_no_devices);
	tcase_add_test(tcase, test_swap_is_seen_behind_its_heading);
	return tcase;
}

int main(void)
{
	TCase *const tcases[] = { topology_case(), memory_case() };
	Suite *suite = suite_create("machine");

	for (size_t i = 0; i < ELEMENTS(tcases); i++) {
		tcase_add_checked_fixture(tcases[i], model_setup, model_teardown);
		suite_add_tcase(suite, tcases[i]);
	}
	return suite_main(suite);
}
