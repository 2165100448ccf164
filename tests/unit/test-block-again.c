/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory blocks that somebody else touches, a Retry, a cancel, another process, the end. */
#include <errno.h>
#include <limits.h>

#include "block-drive.h"
#include "suite.h"

static struct block_drive blocks;
static struct kernel_model *model;
static struct part *deferred;

static void open_drive(void)
{
	block_drive_open(&blocks);
	model = blocks.drive.model;
}

static void close_drive(void)
{
	block_drive_close(&blocks);
}

/* Blocks 40 … of a share that has no early part. */
static void make(unsigned nr)
{
	block_drive_add(&blocks, 40, nr, ZONE_BOTH, POOL_ZONE_AUTO);
	block_drive_make(&blocks, 0);
	deferred = &blocks.share->parts[STAGE_DEFERRED];
}

/* Settled, all of them online by our writes. */
static void make_ready(unsigned nr)
{
	make(nr);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, nr, 0, REASON_NONE, "");
	block_drive_expect_writes(&blocks, nr);
}

static void expect_recheck(int result)
{
	unsigned nr_writes = kernel_model_nr_writes(model, NULL);

	ck_assert_int_eq(block_ops.share_recheck(blocks.share), result);
	ck_assert_uint_eq(kernel_model_nr_writes(model, NULL), nr_writes);
}

START_TEST(test_a_block_that_is_taken_offline_before_it_is_read_back_is_tried_again)
{
	make(3);
	kernel_model_add_block_rival(model, 41, MODEL_AFTER_WRITE, MODEL_OFFLINES);
	ck_assert_int_eq(drive_round(deferred, false), -EAGAIN);
	block_drive_expect(&blocks, 2, 1, REASON_BUSY, "memory41");
	ck_assert(!block_drive_is_ours(&blocks, 41));
	ck_assert_int_eq(drive_round(deferred, false), 0);
	block_drive_expect(&blocks, 3, 0, REASON_NONE, "");
	ck_assert(block_drive_is_ours(&blocks, 41));
	block_drive_expect_writes(&blocks, 4);
}
END_TEST

START_TEST(test_a_block_that_is_going_offline_when_it_is_read_back_is_waited_for)
{
	make(1);
	kernel_model_add_block_rival(model, 40, MODEL_AFTER_WRITE, MODEL_BEGINS_TO_OFFLINE);
	ck_assert_int_eq(drive_round(deferred, false), -EAGAIN);
	block_drive_expect(&blocks, 0, 1, REASON_BUSY, "memory40");
	ck_assert(!block_drive_is_ours(&blocks, 40));
}
END_TEST

/* Loop test: whether it is unplugged before or after the write. */
START_TEST(test_a_block_that_is_taken_offline_in_the_back_off_is_left_to_him)
{
	make(2);
	kernel_model_do_block(model, 41, MODEL_ONLINES_NORMAL);
	kernel_model_do_block(model, 41, MODEL_BEGINS_TO_OFFLINE);
	ck_assert_int_eq(drive_round(deferred, false), -EAGAIN);
	block_drive_expect(&blocks, 1, 1, REASON_BUSY, "memory41");
	kernel_model_do_block(model, 41, MODEL_OFFLINES);
	block_record_take_away(blocks.share->context->block_record, 41);
	ck_assert_int_eq(drive_round(deferred, false), 0);
	block_drive_expect(&blocks, 1, 1, REASON_OFFLINED, "memory41");
	block_drive_expect_writes(&blocks, 1);
	/* A Retry is meant for it, too. */
	ck_assert_int_eq(drive_round(deferred, false), 0);
	block_drive_expect(&blocks, 2, 0, REASON_NONE, "");
}
END_TEST

START_TEST(test_a_block_that_is_unplugged_under_our_hand_is_gone_for_good)
{
	make(3);
	kernel_model_add_block_rival(model, 41, _i ? MODEL_AFTER_WRITE : MODEL_BEFORE_WRITE,
	                             MODEL_UNPLUGS);
	ck_assert_uint_eq(drive_part(deferred), 1);
	block_drive_expect(&blocks, 2, 1, REASON_GONE, "memory41");
	ck_assert(!block_drive_is_given_up(&blocks, 41));
	block_drive_expect_writes(&blocks, 3);
}
END_TEST

START_TEST(test_a_block_that_is_unplugged_in_the_back_off_is_gone_for_good)
{
	make(2);
	kernel_model_fail_block(model, 41, UINT_MAX, EBUSY);
	ck_assert_int_eq(drive_round(deferred, false), -EAGAIN);
	kernel_model_do_block(model, 41, MODEL_UNPLUGS);
	ck_assert_int_eq(drive_round(deferred, false), 0);
	block_drive_expect(&blocks, 1, 1, REASON_GONE, "memory41");
	block_drive_expect_writes(&blocks, 2);
}
END_TEST

/* While 42 is written to, 40 is taken offline, 41 unplugged, and 50 plugged in. */
static void meddle(struct kernel_model *kernel, const char *path, const char *text, void *arg)
{
	unsigned *nr_times = arg;

	(void) text;
	if (!strstr(path, "memory42/") || (*nr_times)++ > 0)
		return;
	kernel_model_do_block(kernel, 40, MODEL_OFFLINES);
	kernel_model_do_block(kernel, 41, MODEL_UNPLUGS);
	kernel_model_add_block(kernel, DRIVE_NODE, 50, ZONE_BOTH);
}

START_TEST(test_nothing_is_settled_without_a_last_look_at_every_block)
{
	unsigned nr_times = 0;

	block_drive_want(&blocks, 50, POOL_ZONE_AUTO);
	make(3);
	kernel_model_on_write(model, meddle, &nr_times);
	ck_assert_int_eq(drive_round(deferred, false), -EAGAIN);
	ck_assert_int_eq(drive_round(deferred, false), 0);
	/* What was taken offline is left so; what came is brought online. */
	block_drive_expect(&blocks, 2, 2, REASON_OFFLINED, "memory40");
	ck_assert_int_eq(kernel_model_block_state(model, 40), MODEL_BLOCK_OFFLINE);
	ck_assert_int_eq(kernel_model_block_state(model, 50), MODEL_BLOCK_ONLINE);
	ck_assert(block_drive_is_given_up(&blocks, 40));
	ck_assert(!block_drive_is_ours(&blocks, 40));
	block_drive_expect_writes(&blocks, 4);
}
END_TEST

START_TEST(test_a_last_look_is_taken_when_all_attempts_are_used_up)
{
	unsigned nr_times = 0;

	block_drive_want(&blocks, 50, POOL_ZONE_AUTO);
	make(3);
	blocks.drive.context.nr_retries = 0;
	kernel_model_fail_block(model, 42, UINT_MAX, EBUSY);
	kernel_model_on_write(model, meddle, &nr_times);
	ck_assert_int_eq(drive_round(deferred, false), 0);
	block_drive_expect(&blocks, 0, 4, REASON_GONE, "memory50");
	ck_assert(block_drive_is_given_up(&blocks, 42));
	block_drive_expect_writes(&blocks, 3);
}
END_TEST

START_TEST(test_a_cancel_halfway_keeps_what_is_online_and_names_what_was_not_begun)
{
	make(5);
	kernel_model_fail_block(model, 41, UINT_MAX, EBUSY);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(block_ops.prepare(deferred), 1);
	ck_assert_int_eq(block_ops.finish(deferred, true), 0);
	block_drive_expect(&blocks, 2, 3, REASON_BUSY, "memory41");
	/* Nobody has said that they cannot be had. */
	ck_assert(!block_drive_is_given_up(&blocks, 41));
	ck_assert(!block_drive_is_given_up(&blocks, 43));

	kernel_model_fail_block(model, 41, 0, 0);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 5, 0, REASON_NONE, "");
	block_drive_expect_writes(&blocks, 6);

	/* A Retry that is cancelled loses nothing. */
	ck_assert_int_eq(block_ops.prepare(deferred), 1);
	ck_assert_int_eq(block_ops.finish(deferred, true), 0);
	block_drive_expect(&blocks, 5, 0, REASON_NONE, "");
}
END_TEST

START_TEST(test_what_a_cancel_left_out_is_interrupted)
{
	make(3);
	kernel_model_fail_block(model, 40, UINT_MAX, EINVAL);
	ck_assert_int_eq(block_ops.prepare(deferred), 1);
	ck_assert_int_eq(block_ops.finish(deferred, true), 0);
	block_drive_expect(&blocks, 0, 3, REASON_REFUSED, "memory40");
	ck_assert(block_drive_is_given_up(&blocks, 40));

	kernel_model_fail_block(model, 40, 0, 0);
	ck_assert_int_eq(block_ops.prepare(deferred), 1);
	ck_assert_int_eq(block_ops.finish(deferred, true), 0);
	block_drive_expect(&blocks, 1, 2, REASON_INTERRUPTED, "memory41");
}
END_TEST

START_TEST(test_a_retry_tries_all_again_and_writes_only_to_what_is_offline)
{
	make(6);
	kernel_model_fail_block(model, 41, 1, EINVAL);
	kernel_model_fail_block(model, 42, 5, EBUSY);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 4, 2, REASON_REFUSED, "memory41");
	block_drive_expect_writes(&blocks, 10);
	kernel_model_do_block(model, 44, MODEL_OFFLINES);
	kernel_model_do_block(model, 45, MODEL_UNPLUGS);

	ck_assert_int_eq(block_ops.prepare(deferred), 1);
	ck_assert(!block_drive_is_given_up(&blocks, 41));
	ck_assert(!block_drive_is_given_up(&blocks, 42));
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 5, 1, REASON_GONE, "memory45");
	block_drive_expect_writes(&blocks, 13);
	/* As many attempts as the first time. */
	kernel_model_do_block(model, 44, MODEL_OFFLINES);
	kernel_model_fail_block(model, 44, UINT_MAX, EBUSY);
	ck_assert_uint_eq(drive_part(deferred), 1 + blocks.drive.context.nr_retries);
	block_drive_expect_writes(&blocks, 13 + 1 + blocks.drive.context.nr_retries);
}
END_TEST

START_TEST(test_parts_are_tried_again_each_for_itself)
{
	block_drive_add(&blocks, 40, 4, ZONE_BOTH, POOL_ZONE_AUTO);
	block_drive_make(&blocks, 2);
	kernel_model_fail_block(model, 41, 1, EBUSY);
	kernel_model_fail_block(model, 43, 4, EBUSY);
	ck_assert_uint_eq(drive_part(&blocks.share->parts[STAGE_EARLY]), 2);
	block_drive_expect(&blocks, 2, 0, REASON_NONE, "");
	block_drive_expect_writes(&blocks, 3);
	ck_assert_uint_eq(drive_part(&blocks.share->parts[STAGE_DEFERRED]), 5);
	block_drive_expect(&blocks, 4, 0, REASON_NONE, "");
	ck_assert_uint_eq(block_drive_status(&blocks).early_done_bytes, 2 * BLOCK_BYTES);
	ck_assert_uint_eq(block_drive_status(&blocks).nr_attempts, 5);
}
END_TEST

START_TEST(test_another_process_writes_nothing_and_says_the_same)
{
	make(4);
	kernel_model_do_block(model, 42, MODEL_ONLINES_NORMAL);
	block_drive_run(&blocks);
	for (unsigned i = 0; i < 2; i++) {
		block_drive_expect(&blocks, 4, 0, REASON_NONE, "");
		ck_assert_uint_eq(block_drive_status(&blocks).nr_by_us, 3);
		ck_assert_uint_eq(block_drive_status(&blocks).nr_by_other, 1);
		block_drive_make_again(&blocks);
		block_drive_run(&blocks);
	}
	block_drive_expect_writes(&blocks, 3);
}
END_TEST

/* Loop test: whether somebody brings it online before our look, or before our write. */
START_TEST(test_what_was_ours_and_was_offline_since_is_of_who_brings_it_online)
{
	make_ready(1);
	kernel_model_do_block(model, 40, MODEL_OFFLINES);
	if (_i == 0) {
		expect_recheck(0);
		kernel_model_do_block(model, 40, MODEL_ONLINES_NORMAL);
	} else {
		kernel_model_add_block_rival(model, 40, MODEL_BEFORE_WRITE, MODEL_ONLINES_NORMAL);
	}
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 1, 0, REASON_NONE, "");
	ck_assert_uint_eq(block_drive_status(&blocks).nr_by_other, 1);
}
END_TEST

START_TEST(test_a_recheck_tells_what_is_left_and_brings_nothing_online)
{
	make_ready(6);
	kernel_model_do_block(model, 42, MODEL_OFFLINES);
	kernel_model_do_block(model, 43, MODEL_UNPLUGS);
	kernel_model_do_block(model, 44, MODEL_BEGINS_TO_OFFLINE);
	expect_recheck(0);
	block_drive_expect(&blocks, 4, 2, REASON_OFFLINED, "memory42");
	ck_assert(block_drive_is_given_up(&blocks, 42));
	expect_recheck(0);
	block_drive_expect(&blocks, 4, 2, REASON_OFFLINED, "memory42");
	kernel_model_do_block(model, 42, MODEL_UNPLUGS);
	kernel_model_refuse_reads(model, "/sys/devices/system/memory/memory41/state", ENODEV);
	kernel_model_hide(model, "/sys/devices/system/memory/memory41/online");
	kernel_model_hide(model, "/sys/devices/system/node/node1/memory41");
	expect_recheck(0);
	block_drive_expect(&blocks, 3, 3, REASON_GONE, "memory41");
}
END_TEST

START_TEST(test_a_recheck_looks_at_both_parts)
{
	block_drive_add(&blocks, 40, 4, ZONE_BOTH, POOL_ZONE_AUTO);
	block_drive_make(&blocks, 2);
	block_drive_expect(&blocks, 0, 0, REASON_NONE, "");
	block_drive_run(&blocks);
	kernel_model_do_block(model, 40, MODEL_UNPLUGS);
	expect_recheck(0);
	kernel_model_add_block(model, DRIVE_NODE, 40, ZONE_BOTH);
	kernel_model_do_block(model, 43, MODEL_OFFLINES);
	expect_recheck(1);
	block_drive_expect(&blocks, 2, 2, REASON_GONE, "memory40");
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 3, 1, REASON_OFFLINED, "memory43");
}
END_TEST

START_TEST(test_a_recheck_counts_what_somebody_else_has_brought_online)
{
	block_drive_add(&blocks, 30, 1, ZONE_BOTH, POOL_ZONE_MOVABLE);
	make(3);
	for (unsigned i = 40; i < 42; i++)
		kernel_model_fail_block(model, i, UINT_MAX, EINVAL);
	kernel_model_do_block(model, 30, MODEL_ONLINES_NORMAL);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 1, 3, REASON_ZONE_MISMATCH, "memory30");

	kernel_model_do_block(model, 30, MODEL_OFFLINES);
	kernel_model_do_block(model, 40, MODEL_ONLINES_MOVABLE);
	expect_recheck(0);
	block_drive_expect(&blocks, 2, 2, REASON_OFFLINED, "memory30");
	ck_assert_uint_eq(block_drive_status(&blocks).nr_by_other, 1);
	ck_assert(!block_drive_is_given_up(&blocks, 40));
	kernel_model_do_block(model, 30, MODEL_ONLINES_MOVABLE);
	expect_recheck(0);
	block_drive_expect(&blocks, 3, 1, REASON_REFUSED, "memory41");
	kernel_model_do_block(model, 30, MODEL_OFFLINES);
	kernel_model_do_block(model, 30, MODEL_ONLINES_NORMAL);
	expect_recheck(0);
	block_drive_expect(&blocks, 2, 2, REASON_ZONE_MISMATCH, "memory30");
}
END_TEST

START_TEST(test_a_block_that_is_plugged_in_again_is_brought_online_and_no_other)
{
	make(5);
	kernel_model_fail_block(model, 44, 5, EBUSY);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 4, 1, REASON_BUSY, "memory44");
	block_drive_expect_writes(&blocks, 9);
	kernel_model_do_block(model, 41, MODEL_OFFLINES);
	kernel_model_do_block(model, 42, MODEL_UNPLUGS);
	expect_recheck(0);
	kernel_model_add_block(model, DRIVE_NODE, 42, ZONE_BOTH);
	expect_recheck(1);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 3, 2, REASON_OFFLINED, "memory41");
	block_drive_expect_writes(&blocks, 10);
	/* Told to, it brings the others, too. */
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 5, 0, REASON_NONE, "");
	block_drive_expect_writes(&blocks, 12);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("block-again");
	TCase *again = tcase_create("again");

	tcase_set_timeout(again, 60);
	tcase_add_checked_fixture(again, open_drive, close_drive);
	tcase_add_test(again,
	               test_a_block_that_is_taken_offline_before_it_is_read_back_is_tried_again);
	tcase_add_test(again,
	               test_a_block_that_is_going_offline_when_it_is_read_back_is_waited_for);
	tcase_add_loop_test(again, test_a_block_that_is_unplugged_under_our_hand_is_gone_for_good,
	                    0, 2);
	tcase_add_test(again, test_a_block_that_is_taken_offline_in_the_back_off_is_left_to_him);
	tcase_add_test(again, test_a_block_that_is_unplugged_in_the_back_off_is_gone_for_good);
	tcase_add_test(again, test_nothing_is_settled_without_a_last_look_at_every_block);
	tcase_add_test(again, test_a_last_look_is_taken_when_all_attempts_are_used_up);
	tcase_add_test(again,
	               test_a_cancel_halfway_keeps_what_is_online_and_names_what_was_not_begun);
	tcase_add_test(again, test_what_a_cancel_left_out_is_interrupted);
	tcase_add_test(again, test_a_retry_tries_all_again_and_writes_only_to_what_is_offline);
	tcase_add_test(again, test_parts_are_tried_again_each_for_itself);
	tcase_add_test(again, test_another_process_writes_nothing_and_says_the_same);
	tcase_add_loop_test(
		again, test_what_was_ours_and_was_offline_since_is_of_who_brings_it_online, 0, 2);
	tcase_add_test(again, test_a_recheck_tells_what_is_left_and_brings_nothing_online);
	tcase_add_test(again, test_a_recheck_looks_at_both_parts);
	tcase_add_test(again, test_a_recheck_counts_what_somebody_else_has_brought_online);
	tcase_add_test(again, test_a_block_that_is_plugged_in_again_is_brought_online_and_no_other);
	suite_add_tcase(suite, again);
	return suite_main(suite);
}
