/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "block-drive.h"

void block_drive_open(struct block_drive *blocks)
{
	memset(blocks, 0, sizeof(*blocks));
	drive_open(&blocks->drive);
	kernel_model_set_block_bytes(blocks->drive.model, BLOCK_BYTES);
	ck_assert_int_eq(block_record_open(NULL, &blocks->drive.context.block_record, NULL), 0);
}

void block_drive_close(struct block_drive *blocks)
{
	if (blocks->share)
		blocks->share->ops->share_free(blocks->share);
	blocks->drive.context.block_record = block_record_free(blocks->drive.context.block_record);
	drive_close(&blocks->drive);
}

void block_drive_want(struct block_drive *blocks, uint64_t number, enum pool_zone zone)
{
	ck_assert_uint_lt(blocks->planned.nr_blocks, ELEMENTS(blocks->blocks));
	blocks->blocks[blocks->planned.nr_blocks++] = (struct plan_block){ number, zone };
	ck_assert_int_eq(block_record_add(blocks->drive.context.block_record, number), 0);
}

void block_drive_add(struct block_drive *blocks, uint64_t first, unsigned nr, unsigned zones,
                     enum pool_zone zone)
{
	for (uint64_t number = first; number < first + nr; number++) {
		kernel_model_add_block(blocks->drive.model, DRIVE_NODE, number, zones);
		block_drive_want(blocks, number, zone);
	}
}

void block_drive_make(struct block_drive *blocks, unsigned nr_early)
{
	struct plan_share *planned = &blocks->planned;
	struct plan_pool *pool = &blocks->drive.pools[0];

	*pool = (struct plan_pool){
		.kind = POOL_BLOCK,
		.page = PLAN_PAGE_BASE,
		.page_bytes = 4096,
	};
	planned->pool = pool;
	planned->node_id = DRIVE_NODE;
	planned->blocks = blocks->blocks;
	planned->unit_bytes = BLOCK_BYTES;
	planned->early_bytes = nr_early * BLOCK_BYTES;
	planned->deferred_bytes = (planned->nr_blocks - nr_early) * BLOCK_BYTES;
	planned->declared_bytes = planned->nr_blocks * BLOCK_BYTES;
	block_drive_make_again(blocks);
}

void block_drive_make_again(struct block_drive *blocks)
{
	struct plan_node node = {
		.node_id = DRIVE_NODE,
		.exists = true,
		.shares = &blocks->planned,
		.nr_shares = 1,
	};
	struct share **shares;

	if (blocks->share)
		blocks->share->ops->share_free(blocks->share);
	ck_assert_int_eq(shares_new(&blocks->drive.context, &node, NULL, 0, &shares), 0);
	blocks->share = shares[0];
	free(shares);
	ck_assert_ptr_nonnull(blocks->share);
}

void block_drive_run(struct block_drive *blocks)
{
	drive_refill(blocks->share);
}

struct share_status block_drive_status(const struct block_drive *blocks)
{
	return drive_status(blocks->share);
}

void block_drive_expect(const struct block_drive *blocks, unsigned nr_done, unsigned nr_missing,
                        enum share_reason reason, const char *missing)
{
	struct share_status status = block_drive_status(blocks);

	ck_assert_uint_eq(status.done_bytes, nr_done * BLOCK_BYTES);
	ck_assert_uint_eq(status.nr_by_us + status.nr_by_other, nr_done);
	ck_assert_uint_eq(status.nr_missing, nr_missing);
	ck_assert_str_eq(share_reason_text(status.reason), share_reason_text(reason));
	ck_assert_str_eq(status.missing, missing);
}

void block_drive_expect_writes(const struct block_drive *blocks, unsigned nr_writes)
{
	ck_assert_uint_eq(kernel_model_nr_block_writes(blocks->drive.model), nr_writes);
}

static struct block_record_entry entry_of(const struct block_drive *blocks, uint64_t number)
{
	struct block_record_entry entry = { 0 };

	ck_assert(block_record_find(blocks->drive.context.block_record, number, &entry));
	return entry;
}

bool block_drive_is_ours(const struct block_drive *blocks, uint64_t number)
{
	return entry_of(blocks, number).is_ours;
}

bool block_drive_is_given_up(const struct block_drive *blocks, uint64_t number)
{
	return entry_of(blocks, number).is_given_up;
}
