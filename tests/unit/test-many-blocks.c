/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A large machine's memory blocks are not asked one by one where its zones tell enough. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "../../daemon/base/size.h"
#include "../../daemon/machine/block-record.h"
#include "../../daemon/machine/machine.h"
#include "kernel-model.h"
#include "suite.h"

#define BLOCK       (128 * MIB)
#define BLOCK_PAGES (BLOCK / (4 * KIB))
#define BLOCKS      "/sys/devices/system/memory"
#define NODES       "/sys/devices/system/node"

/* The scripted kernel, with @nr_blocks for each node: node 0 from 0 on, node 3 from 3000 on. */
static struct large {
	struct kernel kernel;
	struct kernel *inner;
	unsigned nr_blocks;
	unsigned offline_block;
	bool comes_online;          /* offline_block, once that was read */
	unsigned nr_state_reads[2]; /* below 3000, and from there on */
	unsigned nr_zone_reads;
} large;

static struct kernel_model *model;
static struct machine *machine;
static struct block_record *record;

static int large_read(struct kernel *kernel, const char *path, char *buffer, size_t buffer_bytes)
{
	unsigned block;
	char file[16];

	(void) kernel;
	if (strcmp(path, "/proc/zoneinfo") == 0)
		large.nr_zone_reads++;
	if (sscanf(path, BLOCKS "/memory%u/%15s", &block, file) != 2)
		return large.inner->ops->read(large.inner, path, buffer, buffer_bytes);
	if (strcmp(file, "valid_zones") == 0)
		return snprintf(buffer, buffer_bytes, "Movable\n");
	large.nr_state_reads[block >= 3000]++;
	if (block != large.offline_block)
		return snprintf(buffer, buffer_bytes, "online\n");
	if (large.comes_online)
		large.offline_block = UINT32_MAX;
	return snprintf(buffer, buffer_bytes, "offline\n");
}

static int large_list(struct kernel *kernel, const char *path, kernel_entry_fn entry, void *arg)
{
	unsigned node_id, i;
	char name[32], end;
	int r = 0;

	(void) kernel;
	if (sscanf(path, NODES "/node%u%c", &node_id, &end) != 1)
		return large.inner->ops->list(large.inner, path, entry, arg);
	for (i = 0; i < large.nr_blocks && r == 0; i++) {
		(void) snprintf(name, sizeof(name), "memory%u", node_id * 1000 + i);
		r = entry(name, arg);
	}
	return r;
}

static int large_may_write(struct kernel *kernel, const char *path)
{
	(void) kernel;
	return large.inner->ops->may_write(large.inner, path);
}

static const struct kernel_ops large_ops = {
	.read = large_read,
	.list = large_list,
	.may_write = large_may_write,
};

static void setup(void)
{
	model = kernel_model_new();
	kernel_model_add_node(model, 0, "0", GIB);
	kernel_model_add_node(model, 3, "1", GIB);
	kernel_model_set_file(model, BLOCKS "/block_size_bytes", "8000000\n");
	kernel_model_set_file(model, "/proc/self/smaps", "Size: 4 kB\nKernelPageSize: 4 kB\n");
	large = (struct large){
		.kernel = { .ops = &large_ops },
		.inner = kernel_model_kernel(model),
		.nr_blocks = 600,
		.offline_block = UINT32_MAX,
	};
	ck_assert_int_eq(block_record_open(NULL, &record, NULL), 0);
}

static void teardown(void)
{
	machine = machine_free(machine);
	record = block_record_free(record);
	model = kernel_model_free(model);
}

/* What is present of the two nodes; that of node 0 in two zones. Neither devices nor node 7 count.
 */
static void set_present(uint64_t nr_pages_0, uint64_t nr_pages_3)
{
	kernel_model_set_file(model, "/proc/zoneinfo",
	                      "Node 0, zone    DMA32\n  pages free     3840\n"
	                      "        spanned  9999999\n        present  %" PRIu64 "\n"
	                      "Node 0, zone   Normal\n        present  1000\n    cpu: 3\n"
	                      "Node 0, zone   Device\n        present  99999999\n"
	                      "Node 3, zone  Movable\n        present  %" PRIu64 "\n"
	                      "        managed  99999999\n"
	                      "Node 7, zone  Movable\n        present  99999999\n",
	                      nr_pages_0 - 1000, nr_pages_3);
}

static const struct machine_node *probe(unsigned node_id)
{
	machine = machine_free(machine);
	large.nr_state_reads[0] = large.nr_state_reads[1] = 0;
	ck_assert_int_eq(machine_probe_with(&large.kernel, record, &machine), 0);
	ck_assert_uint_eq(machine->page_bytes, 4 * KIB);
	ck_assert_ptr_nonnull(machine_node(machine, node_id));
	return machine_node(machine, node_id);
}

START_TEST(test_blocks_whose_pages_are_all_present_are_not_asked)
{
	const struct machine_node *node;

	/* The holes of both nodes are less than a block each. */
	set_present(599 * BLOCK_PAGES + 1, 600 * BLOCK_PAGES);
	node = probe(3);
	ck_assert_uint_eq(large.nr_state_reads[0] + large.nr_state_reads[1], 0);
	ck_assert_uint_eq(node->nr_blocks, 600);
	ck_assert_uint_eq(node->nr_online_blocks, 600);
	ck_assert_uint_eq(node->memory_bytes, 600 * BLOCK);
	ck_assert_uint_eq(node->spanned_bytes, 600 * BLOCK);
	ck_assert_uint_eq(node->nr_candidates, 0);
	ck_assert_uint_eq(machine_node(machine, 0)->nr_online_blocks, 600);
}
END_TEST

START_TEST(test_blocks_are_asked_from_the_last_one_on_until_all_that_is_missing_is_found)
{
	const struct machine_node *node;

	large.offline_block = 3500;
	set_present(600 * BLOCK_PAGES, 599 * BLOCK_PAGES);
	node = probe(3);
	ck_assert_uint_eq(large.nr_state_reads[0], 0);
	ck_assert_uint_ge(large.nr_state_reads[1], 100);
	ck_assert_uint_lt(large.nr_state_reads[1], 110);
	ck_assert_uint_eq(node->nr_online_blocks, 599);
	ck_assert_uint_eq(node->nr_candidates, 1);
	ck_assert_uint_eq(node->candidates[0].block, 3500);
	large.offline_block = 5;
	set_present(599 * BLOCK_PAGES, 600 * BLOCK_PAGES);
	node = probe(0);
	ck_assert_uint_ge(large.nr_state_reads[0], 595);
	ck_assert_uint_eq(large.nr_state_reads[1], 0);
	ck_assert_uint_eq(node->nr_online_blocks, 599);
}
END_TEST

START_TEST(test_a_node_with_a_hole_as_large_as_a_block_has_all_its_blocks_asked)
{
	const struct machine_node *node;

	large.offline_block = 3500;
	set_present(600 * BLOCK_PAGES, 598 * BLOCK_PAGES);
	node = probe(3);
	ck_assert_uint_ge(large.nr_state_reads[1], 600);
	ck_assert_uint_eq(node->nr_online_blocks, 599);
}
END_TEST

START_TEST(test_a_block_that_comes_online_after_the_look_at_the_zones_hides_no_other_one)
{
	const struct machine_node *node;

	/* Two are missing when the zones are looked at; 3599 is online when it is asked. */
	large.offline_block = 3000;
	set_present(600 * BLOCK_PAGES, 598 * BLOCK_PAGES);
	node = probe(3);
	ck_assert_uint_eq(node->nr_candidates, 1);
	ck_assert_uint_eq(node->candidates[0].block, 3000);
}
END_TEST

START_TEST(test_candidates_are_ascending)
{
	const struct machine_node *node;

	large.offline_block = 3500;
	ck_assert_int_eq(block_record_add(record, 3007), 0);
	ck_assert_int_eq(block_record_add(record, 3550), 0);
	set_present(600 * BLOCK_PAGES, 599 * BLOCK_PAGES);
	node = probe(3);
	ck_assert_uint_eq(node->nr_candidates, 3);
	ck_assert_uint_eq(node->candidates[0].block, 3007);
	ck_assert_uint_eq(node->candidates[1].block, 3500);
	ck_assert_uint_eq(node->candidates[2].block, 3550);
	ck_assert_uint_eq(node->nr_online_blocks, 599);
}
END_TEST

START_TEST(test_a_block_on_record_is_asked_in_any_case)
{
	const struct machine_node *node;

	ck_assert_int_eq(block_record_add(record, 3007), 0);
	set_present(600 * BLOCK_PAGES, 600 * BLOCK_PAGES);
	node = probe(3);
	ck_assert_uint_eq(large.nr_state_reads[0], 0);
	ck_assert_uint_le(large.nr_state_reads[1], 2);
	ck_assert_uint_eq(node->nr_candidates, 1);
	ck_assert_uint_eq(node->candidates[0].block, 3007);
	ck_assert(node->candidates[0].is_online);
	ck_assert_uint_eq(node->candidates[0].zones, MACHINE_ZONE_MOVABLE);
	ck_assert_uint_eq(node->nr_online_blocks, 600);
}
END_TEST

START_TEST(test_a_block_that_comes_online_while_it_is_read_is_online_and_no_candidate)
{
	const struct machine_node *node;

	large.offline_block = 3500;
	large.comes_online = true;
	node = probe(3);
	ck_assert_uint_eq(node->nr_candidates, 0);
	ck_assert_uint_eq(node->nr_online_blocks, 600);
}
END_TEST

START_TEST(test_without_zones_every_block_is_asked)
{
	large.offline_block = 3500;
	ck_assert_uint_eq(probe(3)->nr_candidates, 1);
	ck_assert_uint_eq(large.nr_state_reads[0], 600);
	ck_assert_uint_eq(probe(3)->nr_online_blocks, 599);
}
END_TEST

START_TEST(test_a_small_machine_is_not_worth_a_look_at_its_zones)
{
	large.nr_blocks = 100;
	set_present(100 * BLOCK_PAGES, 100 * BLOCK_PAGES);
	ck_assert_uint_eq(probe(0)->nr_online_blocks, 100);
	ck_assert_uint_eq(large.nr_zone_reads, 0);
	ck_assert_uint_eq(large.nr_state_reads[0], 100);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("many-blocks");
	TCase *tcase = tcase_create("many-blocks");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_blocks_whose_pages_are_all_present_are_not_asked);
	tcase_add_test(
		tcase,
		test_blocks_are_asked_from_the_last_one_on_until_all_that_is_missing_is_found);
	tcase_add_test(tcase, test_a_node_with_a_hole_as_large_as_a_block_has_all_its_blocks_asked);
	tcase_add_test(
		tcase,
		test_a_block_that_comes_online_after_the_look_at_the_zones_hides_no_other_one);
	tcase_add_test(tcase, test_candidates_are_ascending);
	tcase_add_test(tcase, test_a_block_on_record_is_asked_in_any_case);
	tcase_add_test(tcase,
	               test_a_block_that_comes_online_while_it_is_read_is_online_and_no_candidate);
	tcase_add_test(tcase, test_without_zones_every_block_is_asked);
	tcase_add_test(tcase, test_a_small_machine_is_not_worth_a_look_at_its_zones);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
