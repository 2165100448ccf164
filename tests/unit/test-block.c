/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory blocks brought online: who was first, which zone, which order, what the kernel refuses. */
#include <errno.h>
#include <limits.h>

#include "block-drive.h"
#include "suite.h"

static struct block_drive blocks;
static struct kernel_model *model;

static void open_drive(void)
{
	block_drive_open(&blocks);
	model = blocks.drive.model;
}

static void close_drive(void)
{
	block_drive_close(&blocks);
}

static void expect_write(size_t i, uint64_t number, const char *word)
{
	const char *found;

	ck_assert_uint_eq(kernel_model_block_write(model, i, &found), number);
	ck_assert_str_eq(found, word);
}

START_TEST(test_offline_blocks_are_brought_online_in_the_order_of_the_list_with_one_write_each)
{
	uint64_t free_bytes = kernel_model_free_bytes(model, DRIVE_NODE);
	struct share_status status;

	block_drive_add(&blocks, 70, 2, MODEL_ZONE_NORMAL, POOL_ZONE_AUTO);
	block_drive_add(&blocks, 32, 4, ZONE_BOTH, POOL_ZONE_AUTO);
	block_drive_make(&blocks, 3);
	block_drive_run(&blocks);

	block_drive_expect(&blocks, 6, 0, REASON_NONE, "");
	status = block_drive_status(&blocks);
	ck_assert_uint_eq(status.early_done_bytes, 3 * BLOCK_BYTES);
	ck_assert_uint_eq(status.nr_by_us, 6);
	ck_assert_uint_eq(status.nr_attempts, 0);
	block_drive_expect_writes(&blocks, 6);
	for (size_t i = 0; i < 6; i++)
		expect_write(i, blocks.blocks[i].block, "online");
	ck_assert_uint_eq(kernel_model_free_bytes(model, DRIVE_NODE) - free_bytes, 6 * BLOCK_BYTES);
}
END_TEST

START_TEST(test_one_step_brings_one_block_and_there_are_no_chunks)
{
	struct part *part;

	block_drive_add(&blocks, 32, 3, ZONE_BOTH, POOL_ZONE_AUTO);
	block_drive_make(&blocks, 0);
	part = &blocks.share->parts[STAGE_DEFERRED];
	part->nr_chunks = 9;
	for (unsigned i = 1; i <= 3; i++) {
		ck_assert_int_eq(block_ops.prepare(part), 1);
		block_drive_expect_writes(&blocks, i);
		block_drive_expect(&blocks, i, 0, REASON_NONE, "");
	}
	ck_assert_int_eq(block_ops.prepare(part), 0);
	ck_assert_uint_eq(part->nr_chunks, 0);
	ck_assert_uint_eq(part->chunk_bytes, BLOCK_BYTES);
	ck_assert_int_eq(block_ops.run_chunk(part, 0), -EINVAL);
	ck_assert_int_eq(block_ops.finish(part, false), 0);
	ck_assert(block_ops.comes_first);
}
END_TEST

START_TEST(test_all_of_744_blocks_that_are_online_already_are_success_without_a_write)
{
	struct share_status status;

	block_drive_add(&blocks, 32, 744, ZONE_BOTH, POOL_ZONE_AUTO);
	for (uint64_t number = 32; number < 32 + 744; number++)
		kernel_model_do_block(model, number, MODEL_ONLINES_NORMAL);
	block_drive_make(&blocks, 16);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 744, 0, REASON_NONE, "");
	status = block_drive_status(&blocks);
	ck_assert_uint_eq(status.nr_by_other, 744);
	ck_assert_uint_eq(kernel_model_nr_writes(model, NULL), 0);
}
END_TEST

START_TEST(test_of_743_of_744_blocks_the_missing_one_is_named)
{
	block_drive_add(&blocks, 32, 744, ZONE_BOTH, POOL_ZONE_AUTO);
	kernel_model_fail_block(model, 57, UINT_MAX, EINVAL);
	block_drive_make(&blocks, 16);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 743, 1, REASON_REFUSED, "memory57");
	block_drive_expect_writes(&blocks, 744);
}
END_TEST

START_TEST(test_of_several_missing_blocks_the_first_of_the_list_is_named)
{
	block_drive_add(&blocks, 90, 2, ZONE_BOTH, POOL_ZONE_AUTO);
	block_drive_add(&blocks, 32, 8, ZONE_BOTH, POOL_ZONE_AUTO);
	kernel_model_fail_block(model, 35, 2, EBUSY);
	kernel_model_fail_block(model, 37, UINT_MAX, EINVAL);
	kernel_model_fail_block(model, 91, 3, EBUSY);
	block_drive_make(&blocks, 0);

	ck_assert_int_eq(drive_round(&blocks.share->parts[STAGE_DEFERRED], false), -EAGAIN);
	block_drive_expect(&blocks, 7, 3, REASON_BUSY, "memory91");
	ck_assert_int_eq(drive_round(&blocks.share->parts[STAGE_DEFERRED], false), -EAGAIN);
	ck_assert_int_eq(drive_round(&blocks.share->parts[STAGE_DEFERRED], false), -EAGAIN);
	block_drive_expect(&blocks, 8, 2, REASON_BUSY, "memory91");
	ck_assert_int_eq(drive_round(&blocks.share->parts[STAGE_DEFERRED], false), 0);
	block_drive_expect(&blocks, 9, 1, REASON_REFUSED, "memory37");
	ck_assert_uint_eq(block_drive_status(&blocks).nr_attempts, 3);
}
END_TEST

/* Zone=, valid_zones, what is written, where it comes to be; "": refused without a write. */
static const struct {
	enum pool_zone wanted;
	unsigned zones;
	const char *word;
	unsigned result;
} zone_cases[] = {
	{ POOL_ZONE_AUTO, ZONE_BOTH, "online", MODEL_ZONE_NORMAL },
	{ POOL_ZONE_AUTO, ZONE_BOTH | MODEL_ZONE_MOVABLE_FIRST, "online", MODEL_ZONE_MOVABLE },
	{ POOL_ZONE_AUTO, MODEL_ZONE_MOVABLE, "online", MODEL_ZONE_MOVABLE },
	{ POOL_ZONE_AUTO, 0, "", 0 },
	{ POOL_ZONE_KERNEL, ZONE_BOTH | MODEL_ZONE_MOVABLE_FIRST, "online_kernel",
	  MODEL_ZONE_NORMAL },
	{ POOL_ZONE_KERNEL, MODEL_ZONE_MOVABLE, "", 0 },
	{ POOL_ZONE_KERNEL, 0, "", 0 },
	{ POOL_ZONE_MOVABLE, ZONE_BOTH, "online_movable", MODEL_ZONE_MOVABLE },
	{ POOL_ZONE_MOVABLE, MODEL_ZONE_NORMAL, "", 0 },
	{ POOL_ZONE_MOVABLE, 0, "", 0 },
};

START_TEST(test_a_block_goes_into_the_zone_that_is_asked_for_or_nowhere)
{
	const char *word = zone_cases[_i].word;

	block_drive_add(&blocks, 40, 1, zone_cases[_i].zones, zone_cases[_i].wanted);
	block_drive_make(&blocks, 0);
	block_drive_run(&blocks);
	ck_assert_uint_eq(kernel_model_block_zone(model, 40), zone_cases[_i].result);
	block_drive_expect_writes(&blocks, *word ? 1 : 0);
	if (*word) {
		expect_write(0, 40, word);
		block_drive_expect(&blocks, 1, 0, REASON_NONE, "");
	} else {
		block_drive_expect(&blocks, 0, 1, REASON_UNSUPPORTED_ZONE, "memory40");
		ck_assert_uint_eq(block_drive_status(&blocks).nr_attempts, 0);
		ck_assert(block_drive_is_given_up(&blocks, 40));
	}
}
END_TEST

/* Whether what somebody else has brought online is where it is wanted. */
static const struct {
	enum pool_zone wanted;
	enum model_deed deed;
	bool is_right;
} first_cases[] = {
	{ POOL_ZONE_AUTO, MODEL_ONLINES_NORMAL, true },
	{ POOL_ZONE_AUTO, MODEL_ONLINES_MOVABLE, true },
	{ POOL_ZONE_KERNEL, MODEL_ONLINES_NORMAL, true },
	{ POOL_ZONE_KERNEL, MODEL_ONLINES_MOVABLE, false },
	{ POOL_ZONE_MOVABLE, MODEL_ONLINES_NORMAL, false },
	{ POOL_ZONE_MOVABLE, MODEL_ONLINES_MOVABLE, true },
};
enum { NR_FIRST_CASES = sizeof(first_cases) / sizeof(first_cases[0]) };

static void expect_first_case(unsigned i)
{
	struct share_status status = block_drive_status(&blocks);

	ck_assert_uint_eq(status.nr_attempts, 0);
	if (first_cases[i].is_right) {
		block_drive_expect(&blocks, 1, 0, REASON_NONE, "");
		ck_assert_uint_eq(status.nr_by_other, 1);
		ck_assert(!block_drive_is_given_up(&blocks, 40));
	} else {
		block_drive_expect(&blocks, 0, 1, REASON_ZONE_MISMATCH, "memory40");
	}
	ck_assert(!block_drive_is_ours(&blocks, 40));
}

START_TEST(test_who_was_first_has_done_it_unless_the_zone_is_another_one)
{
	block_drive_add(&blocks, 40, 1, ZONE_BOTH, first_cases[_i].wanted);
	kernel_model_do_block(model, 40, first_cases[_i].deed);
	block_drive_make(&blocks, 0);
	block_drive_run(&blocks);
	expect_first_case(_i);
	block_drive_expect_writes(&blocks, 0);
}
END_TEST

START_TEST(test_a_rival_between_look_and_write_has_done_it_although_our_write_fails)
{
	block_drive_add(&blocks, 40, 1, ZONE_BOTH, first_cases[_i].wanted);
	kernel_model_add_block_rival(model, 40, MODEL_BEFORE_WRITE, first_cases[_i].deed);
	block_drive_make(&blocks, 0);
	block_drive_run(&blocks);
	expect_first_case(_i);
	block_drive_expect_writes(&blocks, 1);
}
END_TEST

START_TEST(test_a_block_whose_zone_the_kernel_does_not_say_counts_as_right)
{
	block_drive_add(&blocks, 40, 1, ZONE_BOTH, POOL_ZONE_MOVABLE);
	kernel_model_do_block(model, 40, MODEL_ONLINES_NORMAL);
	kernel_model_hide(model, "/sys/devices/system/memory/memory40/valid_zones");
	kernel_model_hide(model, "/sys/devices/system/node/node1/memory40/valid_zones");
	block_drive_make(&blocks, 0);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 1, 0, REASON_NONE, "");
}
END_TEST

/* What the kernel says, the word for it, and whether it is asked again. */
static const struct {
	int error; /* 0: success that brings nothing */
	enum share_reason reason;
	bool is_retried;
	int shown_error;
} refusals[] = {
	{ 0, REASON_BUSY, true, 0 },
	{ EBUSY, REASON_BUSY, true, 0 },
	{ EAGAIN, REASON_BUSY, true, 0 },
	{ EINTR, REASON_BUSY, true, 0 },
	{ ENOMEM, REASON_NO_MEMORY, true, 0 },
	{ EINVAL, REASON_REFUSED, false, 0 },
	{ EACCES, REASON_NOT_PERMITTED, false, 0 },
	{ EPERM, REASON_NOT_PERMITTED, false, 0 },
	{ EROFS, REASON_NOT_PERMITTED, false, 0 },
	{ ENOENT, REASON_GONE, false, 0 },
	{ ENODEV, REASON_GONE, false, 0 },
	{ EHWPOISON, REASON_POISONED, false, 0 },
	{ EOPNOTSUPP, REASON_UNSUPPORTED, false, -EOPNOTSUPP },
	{ EIO, REASON_FAILED, false, -EIO },
};

START_TEST(test_each_refusal_has_its_word_and_only_what_time_can_help_is_tried_again)
{
	unsigned nr_rounds;

	block_drive_add(&blocks, 40, 3, ZONE_BOTH, POOL_ZONE_AUTO);
	kernel_model_fail_block(model, 41, UINT_MAX, refusals[_i].error);
	block_drive_make(&blocks, 0);
	nr_rounds = drive_part(&blocks.share->parts[STAGE_DEFERRED]);

	block_drive_expect(&blocks, 2, 1, refusals[_i].reason, "memory41");
	ck_assert_int_eq(block_drive_status(&blocks).error, refusals[_i].shown_error);
	ck_assert_int_eq(block_drive_is_given_up(&blocks, 41), refusals[_i].reason != REASON_GONE);
	ck_assert(!block_drive_is_given_up(&blocks, 40));
	/* The others were not asked again. */
	if (refusals[_i].is_retried) {
		ck_assert_uint_eq(nr_rounds, 1 + blocks.drive.context.nr_retries);
		block_drive_expect_writes(&blocks, 2 + nr_rounds);
	} else if (refusals[_i].reason != REASON_GONE) {
		ck_assert_uint_eq(nr_rounds, 1);
		block_drive_expect_writes(&blocks, 3);
	}
}
END_TEST

START_TEST(test_a_block_that_is_busy_for_a_while_comes_after_the_others)
{
	block_drive_add(&blocks, 40, 4, ZONE_BOTH, POOL_ZONE_AUTO);
	kernel_model_fail_block(model, 41, 2, EBUSY);
	block_drive_make(&blocks, 0);
	ck_assert_uint_eq(drive_part(&blocks.share->parts[STAGE_DEFERRED]), 3);
	block_drive_expect(&blocks, 4, 0, REASON_NONE, "");
	block_drive_expect_writes(&blocks, 6);
	for (size_t i = 0; i < 4; i++)
		expect_write(i, 40 + i, "online");
	expect_write(4, 41, "online");
	expect_write(5, 41, "online");
	ck_assert_uint_eq(block_drive_status(&blocks).nr_attempts, 2);
	ck_assert_uint_eq(block_drive_status(&blocks).nr_by_us, 4);
}
END_TEST

START_TEST(test_without_permission_nothing_is_done_and_all_are_missing)
{
	block_drive_add(&blocks, 40, 4, ZONE_BOTH, POOL_ZONE_AUTO);
	kernel_model_do_block(model, 42, MODEL_ONLINES_NORMAL);
	kernel_model_refuse(model, "/sys/devices/system/memory", EROFS);
	block_drive_make(&blocks, 2);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 1, 3, REASON_NOT_PERMITTED, "memory40");
}
END_TEST

/* What a read of state says, and the word for it. */
static const struct {
	int error; /* 0: a word that nobody knows */
	enum share_reason reason;
	int shown_error;
} unreadable[] = {
	{ ENODEV, REASON_GONE, 0 },
	{ EACCES, REASON_NOT_PERMITTED, 0 },
	{ EIO, REASON_FAILED, -EIO },
	{ 0, REASON_FAILED, -EINVAL },
};

START_TEST(test_a_block_that_cannot_be_read_is_missing_and_not_written_to)
{
	block_drive_add(&blocks, 40, 2, ZONE_BOTH, POOL_ZONE_AUTO);
	kernel_model_hide(model, "/sys/devices/system/node/node1/memory40");
	kernel_model_hide(model, "/sys/devices/system/memory/memory40/online");
	kernel_model_refuse_reads(model, "/sys/devices/system/memory/memory40/state",
	                          unreadable[_i].error);
	if (unreadable[_i].error == 0)
		kernel_model_set_file(model, "/sys/devices/system/memory/memory40/state", "odd\n");
	block_drive_make(&blocks, 0);
	ck_assert_uint_eq(drive_part(&blocks.share->parts[STAGE_DEFERRED]), 1);
	block_drive_expect(&blocks, 1, 1, unreadable[_i].reason, "memory40");
	ck_assert_int_eq(block_drive_status(&blocks).error, unreadable[_i].shown_error);
	block_drive_expect_writes(&blocks, 1);
}
END_TEST

START_TEST(test_a_block_that_is_being_taken_offline_is_waited_for)
{
	block_drive_add(&blocks, 40, 2, ZONE_BOTH, POOL_ZONE_AUTO);
	kernel_model_do_block(model, 40, MODEL_ONLINES_NORMAL);
	kernel_model_do_block(model, 40, MODEL_BEGINS_TO_OFFLINE);
	block_drive_make(&blocks, 0);
	ck_assert_int_eq(drive_round(&blocks.share->parts[STAGE_DEFERRED], false), -EAGAIN);
	block_drive_expect(&blocks, 1, 1, REASON_BUSY, "memory40");
	block_drive_expect_writes(&blocks, 1);
	kernel_model_do_block(model, 40, MODEL_OFFLINES);
	ck_assert_int_eq(drive_round(&blocks.share->parts[STAGE_DEFERRED], false), 0);
	block_drive_expect(&blocks, 2, 0, REASON_NONE, "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("block");
	TCase *block = tcase_create("block");

	tcase_set_timeout(block, 60);
	tcase_add_checked_fixture(block, open_drive, close_drive);
	tcase_add_test(
		block,
		test_offline_blocks_are_brought_online_in_the_order_of_the_list_with_one_write_each);
	tcase_add_test(block, test_one_step_brings_one_block_and_there_are_no_chunks);
	tcase_add_test(block,
	               test_all_of_744_blocks_that_are_online_already_are_success_without_a_write);
	tcase_add_test(block, test_of_743_of_744_blocks_the_missing_one_is_named);
	tcase_add_test(block, test_of_several_missing_blocks_the_first_of_the_list_is_named);
	tcase_add_loop_test(block, test_a_block_goes_into_the_zone_that_is_asked_for_or_nowhere, 0,
	                    ELEMENTS(zone_cases));
	tcase_add_loop_test(block, test_who_was_first_has_done_it_unless_the_zone_is_another_one, 0,
	                    NR_FIRST_CASES);
	tcase_add_loop_test(
		block, test_a_rival_between_look_and_write_has_done_it_although_our_write_fails, 0,
		NR_FIRST_CASES);
	tcase_add_test(block, test_a_block_whose_zone_the_kernel_does_not_say_counts_as_right);
	tcase_add_loop_test(
		block, test_each_refusal_has_its_word_and_only_what_time_can_help_is_tried_again, 0,
		ELEMENTS(refusals));
	tcase_add_test(block, test_a_block_that_is_busy_for_a_while_comes_after_the_others);
	tcase_add_test(block, test_without_permission_nothing_is_done_and_all_are_missing);
	tcase_add_loop_test(block, test_a_block_that_cannot_be_read_is_missing_and_not_written_to,
	                    0, ELEMENTS(unreadable));
	tcase_add_test(block, test_a_block_that_is_being_taken_offline_is_waited_for);
	suite_add_tcase(suite, block);
	return suite_main(suite);
}
