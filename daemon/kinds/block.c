/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kind block: offline memory blocks of the node, brought online one after the other. All work is in
 * prepare, a block at a time; there is nothing for a crew to do, as the kernel has one lock for all
 * of memory hotplug. What is online stays so, whatever becomes of the share.
 */
#include <errno.h>
#include <pthread.h>

#include "../machine/block-record.h"
#include "block-bring.h"
#include "block-share.h"

static int block_share_new(struct share **ret)
{
	struct block_share *blocks = calloc(1, sizeof(*blocks));

	if (!blocks)
		return -ENOMEM;
	(void) pthread_mutex_init(&blocks->lock, NULL);
	*ret = &blocks->share;
	return 0;
}

/* It is online: the record knows whether an earlier process of ours has brought it. */
static void item_set_done(struct block_share *blocks, struct block_item *item)
{
	struct block_record *record = blocks->share.context->block_record;
	struct block_record_entry entry = { 0 };
	bool is_ours = block_record_find(record, item->wanted.block, &entry) && entry.is_ours;

	block_record_give_back(record, item->wanted.block);
	block_record_set_given_up(record, item->wanted.block, false);
	block_item_set(blocks, item, true, is_ours, REASON_NONE, 0);
}

/* What somebody has taken offline is left to him, also between two attempts. */
static bool item_pass(struct block_share *blocks, struct block_item *item)
{
	const struct kind_context *context = blocks->share.context;
	unsigned zones;
	int error;

	if (block_look(context->kernel, &item->wanted, &zones, &error) != BLOCK_IS_OFFLINE)
		return false;
	item->is_open = false;
	block_item_set(blocks, item, false, false, REASON_OFFLINED, 0);
	return true;
}

static bool is_on_record_as_taken(const struct block_record *record, const struct block_item *item)
{
	struct block_record_entry entry = { 0 };

	(void) block_record_find(record, item->wanted.block, &entry);
	return entry.is_taken;
}

/* Return: whether our write has brought it online. */
static bool item_try(struct block_share *blocks, struct block_item *item)
{
	const struct kind_context *context = blocks->share.context;
	struct block_outcome outcome;

	if (is_on_record_as_taken(context->block_record, item) && item_pass(blocks, item))
		return false;
	outcome = block_bring(context->kernel, &item->wanted);
	/* What is offline is nobody's, whoever had brought it before. */
	if (outcome.was_offline)
		block_record_set_ours(context->block_record, item->wanted.block, outcome.is_ours);
	item->is_open = outcome.may_retry;
	if (outcome.is_done)
		item_set_done(blocks, item);
	else
		block_item_set(blocks, item, false, false, outcome.reason, outcome.error);
	return outcome.is_ours;
}

/*
 * A Retry, as the first time, goes through all blocks again; only a Retry is meant for those too
 * that somebody has taken offline.
 */
static void begin_anew(struct block_share *blocks, struct block_stage *stage)
{
	struct block_record *record = blocks->share.context->block_record;

	if (stage->is_begun)
		return;
	stage->is_begun = true;
	for (size_t i = stage->first; i < stage->end && !stage->is_rest_closed; i++) {
		struct block_item *item = &blocks->items[i];

		item->is_open = true;
		if (stage->was_settled)
			block_record_give_back(record, item->wanted.block);
		block_record_set_given_up(record, item->wanted.block,
		                          is_on_record_as_taken(record, item));
	}
	stage->is_rest_closed = false;
}

static int block_prepare(struct part *part)
{
	struct block_share *blocks = (struct block_share *) part->share;
	struct block_stage *stage = &blocks->stages[part->stage];

	part->nr_chunks = 0;
	part->chunk_bytes = blocks->block_bytes;
	part->step_bytes = 0;
	begin_anew(blocks, stage);
	while (stage->next < stage->end && !blocks->items[stage->next].is_open)
		stage->next++;
	if (stage->next == stage->end)
		return 0;
	if (item_try(blocks, &blocks->items[stage->next++]))
		part->step_bytes = blocks->block_bytes;
	return 1;
}

static int block_run_chunk(struct part *part, uint64_t index)
{
	(void) part;
	(void) index;
	return -EINVAL; /* nr_chunks is 0 */
}

/*
 * It was unplugged, and another one was plugged in under its number, before anybody looked: what we
 * had brought online is on record as nobody's, and nobody has taken it offline.
 */
static bool is_another(const struct block_share *blocks, const struct block_item *item)
{
	struct block_record_entry entry = { 0 };

	return item->is_done && item->is_by_us &&
	       block_record_find(blocks->share.context->block_record, item->wanted.block, &entry) &&
	       !entry.is_ours && !entry.is_taken;
}

/*
 * See what has become of a block by now, without touching it.
 * Return: whether it can be tried again.
 */
static bool item_recheck(struct block_share *blocks, struct block_item *item)
{
	struct block_record *record = blocks->share.context->block_record;
	unsigned zones;
	int error;

	switch (block_look(blocks->share.context->kernel, &item->wanted, &zones, &error)) {
	case BLOCK_IS_RIGHT:
		item_set_done(blocks, item);
		break;
	case BLOCK_IS_MISMATCHED:
		block_item_set(blocks, item, false, false, REASON_ZONE_MISMATCH, 0);
		break;
	case BLOCK_IS_OFFLINE:
		if (is_another(blocks, item))
			block_item_set(blocks, item, false, false, REASON_GONE, 0);
		block_record_set_ours(record, item->wanted.block, false);
		if (item->is_done || item->reason == REASON_ZONE_MISMATCH) {
			/* Whoever did it meant it: it is not brought back unless we are told to. */
			block_record_take_away(record, item->wanted.block);
			block_record_set_given_up(record, item->wanted.block, true);
			block_item_set(blocks, item, false, false, REASON_OFFLINED, 0);
		}
		return item->reason == REASON_GONE;
	case BLOCK_IS_GONE:
		block_item_set(blocks, item, false, false, REASON_GONE, 0);
		break;
	default:
		break; /* nothing is known for sure */
	}
	return false;
}

/* What is there again is open. Return: whether anything is. */
static bool stage_recheck(struct block_share *blocks, const struct block_stage *stage)
{
	bool is_any_back = false;

	for (size_t i = stage->first; i < stage->end; i++)
		if (item_recheck(blocks, &blocks->items[i])) {
			blocks->items[i].is_open = true;
			is_any_back = true;
		}
	return is_any_back;
}

static bool is_any_open(const struct block_share *blocks, const struct block_stage *stage)
{
	for (size_t i = stage->first; i < stage->end; i++)
		if (blocks->items[i].is_open)
			return true;
	return false;
}

/* Whether there is nothing to wait for: it is there, and the kernel will not have it online. */
static bool is_given_up(const struct block_item *item, bool is_cancelled)
{
	return !item->is_done && item->reason != REASON_GONE && !(is_cancelled && item->is_open);
}

/* The last word about a stage: what is missing now stays so. */
static void settle(struct block_share *blocks, struct block_stage *stage, bool is_cancelled)
{
	struct block_record *record = blocks->share.context->block_record;

	for (size_t i = stage->first; i < stage->end; i++) {
		struct block_item *item = &blocks->items[i];

		if (is_given_up(item, is_cancelled))
			block_record_set_given_up(record, item->wanted.block, true);
		if (!item->is_done && item->reason == REASON_NONE)
			block_item_set(blocks, item, false, false, REASON_INTERRUPTED, 0);
		item->is_open = false;
	}
	stage->nr_attempts = 0;
	stage->is_begun = false;
	stage->was_settled = true;
}

static int block_finish(struct part *part, bool is_cancelled)
{
	struct block_share *blocks = (struct block_share *) part->share;
	struct block_stage *stage = &blocks->stages[part->stage];
	bool may_retry = !is_cancelled && stage->nr_attempts < part->share->context->nr_retries;
	bool is_open = is_any_open(blocks, stage);

	stage->next = stage->first;
	/* Nothing is settled without a last look at every block: others write, too. */
	if (!is_cancelled && !(is_open && may_retry))
		is_open = stage_recheck(blocks, stage);
	if (is_open && may_retry) {
		stage->nr_attempts++;
		(void) pthread_mutex_lock(&blocks->lock);
		blocks->nr_attempts++;
		(void) pthread_mutex_unlock(&blocks->lock);
		return -EAGAIN;
	}
	settle(blocks, stage, is_cancelled);
	return 0;
}

/* By the time that its event has come, udev has let us have it. */
static bool is_permitted_now(const struct block_share *blocks, const struct block_item *item)
{
	struct kernel *kernel = blocks->share.context->kernel;

	return item->reason == REASON_NOT_PERMITTED &&
	       memory_block_may_online(kernel, item->wanted.block) == 0;
}

/* What was not permitted and is now is open. Return: whether anything is. */
static bool open_permitted(struct block_share *blocks)
{
	bool is_any_open = false;

	for (size_t i = 0; i < blocks->nr_items; i++)
		if (is_permitted_now(blocks, &blocks->items[i])) {
			blocks->items[i].is_open = true;
			is_any_open = true;
		}
	return is_any_open;
}

static int block_share_recheck(struct share *share)
{
	struct block_share *blocks = (struct block_share *) share;
	bool is_any_back = false;

	for (unsigned i = 0; i < NR_STAGES; i++)
		is_any_back |= stage_recheck(blocks, &blocks->stages[i]);
	is_any_back |= open_permitted(blocks);
	for (unsigned i = 0; i < NR_STAGES; i++)
		blocks->stages[i].is_rest_closed = is_any_back;
	return is_any_back;
}

static void block_share_free(struct share *share)
{
	struct block_share *blocks = (struct block_share *) share;

	if (!share)
		return;
	(void) pthread_mutex_destroy(&blocks->lock);
	free(blocks->items);
	free(blocks);
}

const struct kind_ops block_ops = {
	.name = "block",
	.comes_first = true,
	.share_new = block_share_new,
	.share_take = block_share_take,
	.share_is_same = block_share_is_same,
	.share_recheck = block_share_recheck,
	.prepare = block_prepare,
	.run_chunk = block_run_chunk,
	.finish = block_finish,
	.share_read = block_share_read,
	.share_shrink = block_share_shrink,
	.share_free = block_share_free,
};
