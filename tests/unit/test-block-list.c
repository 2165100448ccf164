/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a share of memory blocks is about: the list, when it is another one, and when it shrinks. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

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

/* In any order and with any split: a block that only a kernel zone takes goes first until it is
 * online. */
START_TEST(test_a_share_is_the_same_as_long_as_blocks_and_zones_are)
{
	struct plan_share *planned = &blocks.planned;

	block_drive_add(&blocks, 40, 4, ZONE_BOTH, POOL_ZONE_AUTO);
	block_drive_make(&blocks, 2);
	ck_assert(block_ops.share_is_same(blocks.share, planned));
	planned->nr_blocks--;
	ck_assert(!block_ops.share_is_same(blocks.share, planned));
	planned->nr_blocks++;
	blocks.blocks[3].block = 99;
	ck_assert(!block_ops.share_is_same(blocks.share, planned));
	blocks.blocks[3].block = 43;
	blocks.blocks[0].zone = POOL_ZONE_MOVABLE;
	ck_assert(!block_ops.share_is_same(blocks.share, planned));
	blocks.blocks[0].zone = POOL_ZONE_AUTO;
	planned->early_bytes -= BLOCK_BYTES;
	blocks.blocks[0].block = 43;
	blocks.blocks[3].block = 40;
	ck_assert(block_ops.share_is_same(blocks.share, planned));
}
END_TEST

START_TEST(test_a_share_that_shrinks_forgets_its_last_blocks_and_leaves_them_online)
{
	block_drive_add(&blocks, 40, 6, ZONE_BOTH, POOL_ZONE_AUTO);
	block_drive_make(&blocks, 2);
	kernel_model_fail_block(model, 44, UINT_MAX, EINVAL);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 5, 1, REASON_REFUSED, "memory44");

	ck_assert_int_eq(block_ops.share_shrink(blocks.share, 2 * BLOCK_BYTES + 1), 0);
	block_drive_expect(&blocks, 3, 0, REASON_NONE, "");
	ck_assert_uint_eq(blocks.share->parts[STAGE_EARLY].want_bytes, 2 * BLOCK_BYTES);
	ck_assert_uint_eq(blocks.share->parts[STAGE_DEFERRED].want_bytes, BLOCK_BYTES);
	blocks.planned.nr_blocks = 3;
	ck_assert(block_ops.share_is_same(blocks.share, &blocks.planned));
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 3, 0, REASON_NONE, "");

	ck_assert_int_eq(block_ops.share_shrink(blocks.share, BLOCK_BYTES), 0);
	block_drive_expect(&blocks, 1, 0, REASON_NONE, "");
	ck_assert_uint_eq(blocks.share->parts[STAGE_EARLY].want_bytes, BLOCK_BYTES);
	ck_assert_uint_eq(blocks.share->parts[STAGE_DEFERRED].want_bytes, 0);
	ck_assert_int_eq(block_ops.share_shrink(blocks.share, 0), 0);
	block_drive_expect(&blocks, 0, 0, REASON_NONE, "");
	block_drive_expect_writes(&blocks, 6);
	for (unsigned i = 40; i < 46; i++)
		ck_assert_int_eq(kernel_model_block_state(model, i),
		                 i == 44 ? MODEL_BLOCK_OFFLINE : MODEL_BLOCK_ONLINE);
}
END_TEST

START_TEST(test_another_share_leaves_to_him_what_somebody_took_offline_until_a_retry)
{
	block_drive_add(&blocks, 40, 3, ZONE_BOTH, POOL_ZONE_AUTO);
	block_drive_make(&blocks, 0);
	block_drive_run(&blocks);
	kernel_model_do_block(model, 41, MODEL_OFFLINES);
	ck_assert_int_eq(block_ops.share_recheck(blocks.share), 0);
	block_drive_make_again(&blocks);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 2, 1, REASON_OFFLINED, "memory41");
	block_drive_expect_writes(&blocks, 3);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 3, 0, REASON_NONE, "");
	block_drive_expect_writes(&blocks, 4);
	/* It is nobody else's any more. */
	block_drive_make_again(&blocks);
	kernel_model_do_block(model, 41, MODEL_OFFLINES);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 3, 0, REASON_NONE, "");
	block_drive_expect_writes(&blocks, 5);
	/* Also what is taken, and told of, before the next share has begun. */
	block_drive_make_again(&blocks);
	kernel_model_do_block(model, 41, MODEL_OFFLINES);
	block_record_take_away(blocks.share->context->block_record, 41);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 2, 1, REASON_OFFLINED, "memory41");
	block_drive_expect_writes(&blocks, 5);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 3, 0, REASON_NONE, "");

	/* Nor when somebody has brought it online again. */
	kernel_model_do_block(model, 41, MODEL_OFFLINES);
	ck_assert_int_eq(block_ops.share_recheck(blocks.share), 0);
	kernel_model_do_block(model, 41, MODEL_ONLINES_NORMAL);
	ck_assert_int_eq(block_ops.share_recheck(blocks.share), 0);
	kernel_model_do_block(model, 41, MODEL_OFFLINES);
	block_drive_make_again(&blocks);
	block_drive_run(&blocks);
	block_drive_expect(&blocks, 3, 0, REASON_NONE, "");
}
END_TEST

START_TEST(test_what_was_an_earlier_share_s_and_is_offline_is_of_nobody)
{
	block_drive_add(&blocks, 40, 1, ZONE_BOTH, POOL_ZONE_AUTO);
	block_drive_make(&blocks, 0);
	block_drive_run(&blocks);
	kernel_model_do_block(model, 40, MODEL_OFFLINES);
	/* Cancelled before it began. */
	block_drive_make_again(&blocks);
	ck_assert_int_eq(block_ops.share_recheck(blocks.share), 0);
	kernel_model_do_block(model, 40, MODEL_ONLINES_NORMAL);
	ck_assert_int_eq(block_ops.share_recheck(blocks.share), 0);
	block_drive_expect(&blocks, 1, 0, REASON_NONE, "");
	ck_assert_uint_eq(block_drive_status(&blocks).nr_by_other, 1);
}
END_TEST

static void *run_and_shrink(void *arg)
{
	atomic_bool *is_over = arg;

	block_drive_run(&blocks);
	(void) block_ops.share_shrink(blocks.share, 100 * BLOCK_BYTES);
	atomic_store(is_over, true);
	return NULL;
}

START_TEST(test_it_can_be_looked_at_while_the_worker_is_at_work)
{
	atomic_bool is_over = false;
	pthread_t thread;

	block_drive_add(&blocks, 40, 200, ZONE_BOTH, POOL_ZONE_AUTO);
	block_drive_make(&blocks, 20);
	kernel_model_fail_block(model, 50, UINT_MAX, EBUSY);
	ck_assert_int_eq(pthread_create(&thread, NULL, run_and_shrink, &is_over), 0);
	while (!atomic_load(&is_over)) {
		struct share_status status = block_drive_status(&blocks);

		ck_assert_uint_eq(status.done_bytes,
		                  (status.nr_by_us + status.nr_by_other) * BLOCK_BYTES);
		ck_assert_int_eq(status.nr_missing > 0, status.reason != REASON_NONE);
		(void) block_ops.share_is_same(blocks.share, &blocks.planned);
	}
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	block_drive_expect(&blocks, 99, 1, REASON_BUSY, "memory50");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("block-list");
	TCase *list = tcase_create("list");

	tcase_add_checked_fixture(list, open_drive, close_drive);
	tcase_add_test(list, test_a_share_is_the_same_as_long_as_blocks_and_zones_are);
	tcase_add_test(list,
	               test_a_share_that_shrinks_forgets_its_last_blocks_and_leaves_them_online);
	tcase_add_test(list,
	               test_another_share_leaves_to_him_what_somebody_took_offline_until_a_retry);
	tcase_add_test(list, test_what_was_an_earlier_share_s_and_is_offline_is_of_nobody);
	tcase_add_test(list, test_it_can_be_looked_at_while_the_worker_is_at_work);
	suite_add_tcase(suite, list);
	return suite_main(suite);
}
