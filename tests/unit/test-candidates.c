/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which memory blocks of a node pools of kind block are about, as machine_probe_with() tells. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "../../daemon/base/size.h"
#include "../../daemon/machine/block-record.h"
#include "../../daemon/machine/machine.h"
#include "kernel-model.h"
#include "suite.h"
#include "tree.h"

#define BLOCK (128 * MIB)
#define BOTH  (MACHINE_ZONE_KERNEL | MACHINE_ZONE_MOVABLE)

static struct kernel_model *model;
static struct machine *machine;
static struct block_record *record;

static void setup(void)
{
	model = kernel_model_new();
	kernel_model_add_node(model, 0, "0", GIB);
	kernel_model_add_node(model, 3, "1", GIB);
	kernel_model_set_file(model, "/sys/devices/system/memory/block_size_bytes", "8000000\n");
	ck_assert_int_eq(block_record_open(NULL, &record, NULL), 0);
}

static void teardown(void)
{
	machine = machine_free(machine);
	record = block_record_free(record);
	model = kernel_model_free(model);
}

static void probe(void)
{
	machine = machine_free(machine);
	ck_assert_int_eq(machine_probe_with(kernel_model_kernel(model), record, &machine), 0);
}

static void add_block(unsigned node_id, unsigned block, const char *state, const char *zones)
{
	char path[96];

	(void) snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/memory%u/uevent",
	                node_id, block);
	kernel_model_set_file(model, path, "\n");
	(void) snprintf(path, sizeof(path), "/sys/devices/system/memory/memory%u/state", block);
	kernel_model_set_file(model, path, "%s\n", state);
	(void) snprintf(path, sizeof(path), "/sys/devices/system/memory/memory%u/valid_zones",
	                block);
	kernel_model_set_file(model, path, "%s\n", zones);
}

static void expect(unsigned node_id, size_t i, const struct machine_block *expected)
{
	const struct machine_node *node = machine_node(machine, node_id);

	ck_assert_ptr_nonnull(node);
	ck_assert_uint_lt(i, node->nr_candidates);
	ck_assert_uint_eq(node->candidates[i].block, expected->block);
	ck_assert_int_eq(node->candidates[i].is_online, expected->is_online);
	ck_assert_uint_eq(node->candidates[i].zones, expected->zones);
	ck_assert_int_eq(node->candidates[i].is_movable_by_default,
	                 expected->is_movable_by_default);
	ck_assert_int_eq(node->candidates[i].is_given_up, expected->is_given_up);
}

static void expect_nr(unsigned node_id, size_t nr_candidates)
{
	ck_assert_uint_eq(machine_node(machine, node_id)->nr_candidates, nr_candidates);
}

START_TEST(test_offline_blocks_are_candidates_of_their_node_in_ascending_order)
{
	add_block(0, 1, "online", "Normal");
	/* By name 10 is before 9. */
	add_block(0, 10, "offline", "Movable Normal");
	add_block(0, 9, "offline", "Normal Movable");
	add_block(0, 100, "offline", "Normal");
	add_block(3, 5, "offline", "Movable");
	add_block(3, 4, "offline", "none");
	probe();
	expect_nr(0, 3);
	expect(0, 0, &(struct machine_block){ .block = 9, .zones = BOTH });
	expect(0, 1,
	       &(struct machine_block){
		       .block = 10, .zones = BOTH, .is_movable_by_default = true });
	expect(0, 2, &(struct machine_block){ .block = 100, .zones = MACHINE_ZONE_KERNEL });
	expect_nr(3, 2);
	expect(3, 0, &(struct machine_block){ .block = 4, .zones = 0 });
	expect(3, 1,
	       &(struct machine_block){
		       .block = 5, .zones = MACHINE_ZONE_MOVABLE, .is_movable_by_default = true });
	ck_assert_uint_eq(machine_node(machine, 0)->memory_bytes, BLOCK);
}
END_TEST

START_TEST(test_what_was_brought_online_stays_a_candidate)
{
	add_block(0, 1, "online", "Normal");
	add_block(0, 2, "online", "Movable");
	add_block(0, 3, "online", "Normal");
	add_block(0, 4, "online", "none");
	add_block(0, 5, "offline", "Normal");
	for (unsigned block = 2; block <= 5; block++)
		ck_assert_int_eq(block_record_add(record, block), 0);
	block_record_set_ours(record, 2, true);
	probe();
	expect_nr(0, 4);
	expect(0, 0,
	       &(struct machine_block){
		       .block = 2, .is_online = true, .zones = MACHINE_ZONE_MOVABLE });
	expect(0, 1,
	       &(struct machine_block){
		       .block = 3, .is_online = true, .zones = MACHINE_ZONE_KERNEL });
	expect(0, 2, &(struct machine_block){ .block = 4, .is_online = true, .zones = 0 });
	expect(0, 3, &(struct machine_block){ .block = 5, .zones = MACHINE_ZONE_KERNEL });
	ck_assert_uint_eq(machine_node(machine, 0)->nr_online_blocks, 4);
}
END_TEST

START_TEST(test_without_a_record_only_offline_blocks_are_candidates)
{
	add_block(0, 1, "online", "Normal");
	add_block(0, 2, "offline", "Normal");
	ck_assert_int_eq(machine_probe_with(kernel_model_kernel(model), NULL, &machine), 0);
	expect_nr(0, 1);
	machine = machine_free(machine);
	ck_assert_int_eq(machine_probe(kernel_model_kernel(model), &machine), 0);
	expect_nr(0, 1);
	expect_nr(3, 0);
	ck_assert_ptr_null(machine_node(machine, 3)->candidates);
}
END_TEST

START_TEST(test_a_block_on_record_that_is_not_there_is_no_candidate)
{
	add_block(0, 1, "online", "Normal");
	ck_assert_int_eq(block_record_add(record, 1), 0);
	ck_assert_int_eq(block_record_add(record, 2), 0);
	probe();
	expect_nr(0, 1);
	expect_nr(3, 0);
}
END_TEST

START_TEST(test_a_block_that_is_left_is_no_candidate_until_it_is_added)
{
	add_block(0, 1, "offline", "Normal");
	add_block(0, 2, "offline", "Normal");
	ck_assert_int_eq(block_record_leave(record, 1), 0);
	probe();
	expect_nr(0, 1);
	expect(0, 0, &(struct machine_block){ .block = 2, .zones = MACHINE_ZONE_KERNEL });
	ck_assert_uint_eq(machine_node(machine, 0)->nr_online_blocks, 0);
	ck_assert_int_eq(block_record_add(record, 1), 0);
	probe();
	expect_nr(0, 2);
}
END_TEST

START_TEST(test_what_was_given_up_says_so)
{
	add_block(0, 1, "offline", "Normal");
	add_block(0, 2, "offline", "Normal");
	ck_assert_int_eq(block_record_add(record, 1), 0);
	ck_assert_int_eq(block_record_add(record, 2), 0);
	block_record_set_given_up(record, 2, true);
	probe();
	expect_nr(0, 2);
	expect(0, 0, &(struct machine_block){ .block = 1, .zones = MACHINE_ZONE_KERNEL });
	expect(0, 1,
	       &(struct machine_block){
		       .block = 2, .zones = MACHINE_ZONE_KERNEL, .is_given_up = true });
}
END_TEST

START_TEST(test_a_block_that_is_going_offline_is_one_only_when_it_is_on_record)
{
	add_block(0, 1, "going-offline", "Normal Movable");
	add_block(0, 2, "going-offline", "Normal Movable");
	add_block(0, 3, "strange", "Normal Movable");
	ck_assert_int_eq(block_record_add(record, 2), 0);
	probe();
	expect_nr(0, 1);
	expect(0, 0, &(struct machine_block){ .block = 2, .zones = BOTH });
	ck_assert_uint_eq(machine_node(machine, 0)->nr_online_blocks, 0);
}
END_TEST

START_TEST(test_more_candidates_than_there_was_room_for_are_all_there)
{
	enum { NR = 1000 };

	for (unsigned i = 0; i < NR; i++)
		add_block(0, 3 * ((i * 7) % NR), "offline", i % 2 ? "Normal" : "Movable");
	probe();
	expect_nr(0, NR);
	for (unsigned i = 0; i < NR; i++)
		ck_assert_uint_eq(machine_node(machine, 0)->candidates[i].block, 3 * i);
}
END_TEST

START_TEST(test_nodes_that_may_still_come_are_known)
{
	scoped(freep) char *text = NULL;

	probe();
	ck_assert(idset_is_empty(&machine->possible_nodes));
	kernel_model_set_file(model, "/sys/devices/system/node/possible", "0-1,3,7\n");
	probe();
	text = idset_text(&machine->possible_nodes);
	ck_assert_str_eq(text, "0-1,3,7");
	ck_assert_uint_eq(machine->nr_nodes, 2);
	kernel_model_set_file(model, "/sys/devices/system/node/possible", "what\n");
	probe();
	ck_assert(idset_is_empty(&machine->possible_nodes));
}
END_TEST

START_TEST(test_a_recorded_machine_has_offline_blocks)
{
	struct tree *tree = tree_new("only-node-1");
	struct kernel *kernel = NULL;

	tree_set_block_state(tree, 42, "offline");
	tree_set_block_zones(tree, 43, "Movable");
	tree_set_block_zones(tree, 42, "Movable Normal");
	tree_set_block_state(tree, 50, "offline");
	ck_assert_int_eq(block_record_add(record, 43), 0);
	ck_assert_int_eq(kernel_open(tree->root, &kernel), 0);
	ck_assert_int_eq(machine_probe_with(kernel, record, &machine), 0);
	expect_nr(1, 3);
	expect(1, 0,
	       &(struct machine_block){
		       .block = 42, .zones = BOTH, .is_movable_by_default = true });
	expect(1, 1,
	       &(struct machine_block){
		       .block = 43, .is_online = true, .zones = MACHINE_ZONE_MOVABLE });
	expect(1, 2, &(struct machine_block){ .block = 50, .zones = BOTH });
	kernel = kernel_close(kernel);
	tree = tree_free(tree);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("candidates");
	TCase *tcase = tcase_create("candidates");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_offline_blocks_are_candidates_of_their_node_in_ascending_order);
	tcase_add_test(tcase, test_what_was_brought_online_stays_a_candidate);
	tcase_add_test(tcase, test_without_a_record_only_offline_blocks_are_candidates);
	tcase_add_test(tcase, test_a_block_on_record_that_is_not_there_is_no_candidate);
	tcase_add_test(tcase, test_a_block_that_is_left_is_no_candidate_until_it_is_added);
	tcase_add_test(tcase, test_what_was_given_up_says_so);
	tcase_add_test(tcase, test_a_block_that_is_going_offline_is_one_only_when_it_is_on_record);
	tcase_add_test(tcase, test_more_candidates_than_there_was_room_for_are_all_there);
	tcase_add_test(tcase, test_nodes_that_may_still_come_are_known);
	tcase_add_test(tcase, test_a_recorded_machine_has_offline_blocks);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
