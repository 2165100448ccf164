/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kind block: offline memory blocks of the node, brought online one after the other. All work is in
 * prepare, a block at a time; there is nothing for a crew to do, as the kernel has one lock for all
 * of memory hotplug. What is online stays so, whatever becomes of the share.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "../base/size.h"
#include "../machine/block-record.h"
#include "block-bring.h"

struct block_item {
	struct plan_block wanted;
	bool is_open;  /* to be tried, or tried again */
	bool is_taken; /* somebody had taken it offline before: looked at, not touched, at first */
	bool is_done;
	bool is_by_us;            /* when it is done */
	enum share_reason reason; /* why it is not done; REASON_NONE: nothing is known yet */
	int error;
};

/* Of one part; belongs to whoever has the share: the worker, or the main thread in between. */
struct block_stage {
	size_t first; /* of its items */
	size_t end;
	size_t next;          /* to be looked at in this round */
	unsigned nr_attempts; /* since it was last settled */
	bool is_begun;        /* between its first round and settling */
	bool is_rest_closed;  /* what begins next is about the open blocks only, not about all */
};

struct block_share {
	struct share share;
	uint64_t block_bytes;
	struct block_stage stages[NR_STAGES];
	struct block_item *items; /* early ones first */
	size_t nr_items;

	pthread_mutex_t lock; /* for the items but wanted and is_open, and for all below */
	unsigned nr_done[NR_STAGES];
	unsigned nr_missing;
	size_t first_missing; /* no item before it has a reason */
	unsigned nr_by_us;
	unsigned nr_attempts;
};

static int block_share_new(struct share **ret)
{
	struct block_share *blocks = calloc(1, sizeof(*blocks));

	if (!blocks)
		return -ENOMEM;
	(void) pthread_mutex_init(&blocks->lock, NULL);
	*ret = &blocks->share;
	return 0;
}

static size_t nr_early_blocks(const struct plan_share *planned)
{
	return planned->unit_bytes ? planned->early_bytes / planned->unit_bytes : 0;
}

static int block_share_take(struct share *share, const struct plan_share *planned)
{
	struct block_share *blocks = (struct block_share *) share;

	blocks->items = calloc(planned->nr_blocks + 1, sizeof(*blocks->items));
	if (!blocks->items)
		return -ENOMEM;
	for (size_t i = 0; i < planned->nr_blocks; i++) {
		struct block_record_entry entry = { 0 };

		(void) block_record_find(share->context->block_record, planned->blocks[i].block,
		                         &entry);
		blocks->items[i] = (struct block_item){
			.wanted = planned->blocks[i],
			.is_open = true,
			.is_taken = entry.is_taken,
		};
	}
	blocks->nr_items = planned->nr_blocks;
	blocks->first_missing = planned->nr_blocks;
	blocks->block_bytes = planned->unit_bytes;
	blocks->stages[STAGE_EARLY].end = nr_early_blocks(planned);
	blocks->stages[STAGE_DEFERRED].first = nr_early_blocks(planned);
	blocks->stages[STAGE_DEFERRED].next = nr_early_blocks(planned);
	blocks->stages[STAGE_DEFERRED].end = planned->nr_blocks;
	return 0;
}

/* With the lock: a shrink may be at work. */
static bool is_same(const struct block_share *blocks, const struct plan_share *planned)
{
	if (blocks->nr_items != planned->nr_blocks ||
	    blocks->stages[STAGE_EARLY].end != nr_early_blocks(planned))
		return false;
	for (size_t i = 0; i < blocks->nr_items; i++)
		if (blocks->items[i].wanted.block != planned->blocks[i].block ||
		    blocks->items[i].wanted.zone != planned->blocks[i].zone)
			return false;
	return true;
}

static bool block_share_is_same(const struct share *share, const struct plan_share *planned)
{
	struct block_share *blocks = (struct block_share *) share;
	bool is_so;

	(void) pthread_mutex_lock(&blocks->lock);
	is_so = is_same(blocks, planned);
	(void) pthread_mutex_unlock(&blocks->lock);
	return is_so;
}

static enum stage stage_of(const struct block_share *blocks, const struct block_item *item)
{
	size_t i = (size_t) (item - blocks->items);

	return i < blocks->stages[STAGE_EARLY].end ? STAGE_EARLY : STAGE_DEFERRED;
}

/* In (1) or out (-1U) of the sums, as it is. With the lock. */
static void item_count(struct block_share *blocks, const struct block_item *item, unsigned step)
{
	if (item->is_done) {
		blocks->nr_done[stage_of(blocks, item)] += step;
		blocks->nr_by_us += item->is_by_us ? step : 0;
	}
	blocks->nr_missing += item->reason != REASON_NONE ? step : 0;
}

/* Each block that is missing is passed once a round, so this costs little in all. With the lock. */
static void find_first_missing(struct block_share *blocks, size_t changed)
{
	if (blocks->items[changed].reason != REASON_NONE && changed < blocks->first_missing)
		blocks->first_missing = changed;
	while (blocks->first_missing < blocks->nr_items &&
	       blocks->items[blocks->first_missing].reason == REASON_NONE)
		blocks->first_missing++;
}

static void item_set(struct block_share *blocks, struct block_item *item, bool is_done,
                     bool is_by_us, enum share_reason reason, int error)
{
	(void) pthread_mutex_lock(&blocks->lock);
	item_count(blocks, item, -1U);
	item->is_done = is_done;
	item->is_by_us = is_by_us;
	item->reason = reason;
	item->error = error;
	item_count(blocks, item, 1);
	find_first_missing(blocks, (size_t) (item - blocks->items));
	(void) pthread_mutex_unlock(&blocks->lock);
}

/* It is online: the record knows whether an earlier process of ours has brought it. */
static void item_set_done(struct block_share *blocks, struct block_item *item)
{
	struct block_record *record = blocks->share.context->block_record;
	struct block_record_entry entry = { 0 };
	bool is_ours = block_record_find(record, item->wanted.block, &entry) && entry.is_ours;

	block_record_give_back(record, item->wanted.block);
	block_record_set_given_up(record, item->wanted.block, false);
	item_set(blocks, item, true, is_ours, REASON_NONE, 0);
}

/* What somebody had taken offline before this share was made is looked at, and left to him. */
static void item_pass(struct block_share *blocks, struct block_item *item)
{
	const struct kind_context *context = blocks->share.context;
	unsigned zones;
	int error;

	item->is_open = item->is_taken = false;
	if (block_look(context->kernel, &item->wanted, &zones, &error) == BLOCK_IS_RIGHT)
		item_set_done(blocks, item);
	else
		item_set(blocks, item, false, false, REASON_OFFLINED, 0);
}

static void item_try(struct block_share *blocks, struct block_item *item)
{
	const struct kind_context *context = blocks->share.context;
	struct block_outcome outcome;

	if (item->is_taken) {
		item_pass(blocks, item);
		return;
	}
	outcome = block_bring(context->kernel, &item->wanted);
	/* What is offline is nobody's, whoever had brought it before. */
	if (outcome.was_offline)
		block_record_set_ours(context->block_record, item->wanted.block, outcome.is_ours);
	item->is_open = outcome.may_retry;
	if (outcome.is_done)
		item_set_done(blocks, item);
	else
		item_set(blocks, item, false, false, outcome.reason, outcome.error);
}

/*
 * A Retry, as the first time, goes through all blocks again, those too that were given up or taken
 * offline since this share was made.
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
		if (!item->is_taken)
			block_record_give_back(record, item->wanted.block);
		block_record_set_given_up(record, item->wanted.block, item->is_taken);
	}
	stage->is_rest_closed = false;
}

static int block_prepare(struct part *part)
{
	struct block_share *blocks = (struct block_share *) part->share;
	struct block_stage *stage = &blocks->stages[part->stage];

	part->nr_chunks = 0;
	part->chunk_bytes = blocks->block_bytes;
	begin_anew(blocks, stage);
	while (stage->next < stage->end && !blocks->items[stage->next].is_open)
		stage->next++;
	if (stage->next == stage->end)
		return 0;
	item_try(blocks, &blocks->items[stage->next++]);
	return 1;
}

static int block_run_chunk(struct part *part, uint64_t index)
{
	(void) part;
	(void) index;
	return -EINVAL; /* nr_chunks is 0 */
}

/*
 * See what has become of a block by now, without touching it.
 * Return: whether it was unplugged, and is there again and offline.
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
		item_set(blocks, item, false, false, REASON_ZONE_MISMATCH, 0);
		break;
	case BLOCK_IS_OFFLINE:
		block_record_set_ours(record, item->wanted.block, false);
		if (item->is_done || item->reason == REASON_ZONE_MISMATCH) {
			/* Whoever did it meant it: it is not brought back unless we are told to. */
			block_record_take_away(record, item->wanted.block);
			block_record_set_given_up(record, item->wanted.block, true);
			item_set(blocks, item, false, false, REASON_OFFLINED, 0);
		}
		return item->reason == REASON_GONE;
	case BLOCK_IS_GONE:
		item_set(blocks, item, false, false, REASON_GONE, 0);
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
			item_set(blocks, item, false, false, REASON_INTERRUPTED, 0);
		item->is_open = false;
	}
	stage->nr_attempts = 0;
	stage->is_begun = false;
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

static int block_share_recheck(struct share *share)
{
	struct block_share *blocks = (struct block_share *) share;
	bool is_any_back = false;

	for (unsigned i = 0; i < NR_STAGES; i++)
		is_any_back |= stage_recheck(blocks, &blocks->stages[i]);
	for (unsigned i = 0; i < NR_STAGES; i++)
		blocks->stages[i].is_rest_closed = is_any_back;
	return is_any_back;
}

static void block_share_read(const struct share *share, struct share_status *ret)
{
	struct block_share *blocks = (struct block_share *) share;
	struct share_status status = { 0 };
	unsigned nr_done;

	(void) pthread_mutex_lock(&blocks->lock);
	nr_done = blocks->nr_done[STAGE_EARLY] + blocks->nr_done[STAGE_DEFERRED];
	status.early_done_bytes = blocks->nr_done[STAGE_EARLY] * blocks->block_bytes;
	status.done_bytes = nr_done * blocks->block_bytes;
	status.nr_attempts = blocks->nr_attempts;
	status.nr_by_us = blocks->nr_by_us;
	status.nr_by_other = nr_done - blocks->nr_by_us;
	status.nr_missing = blocks->nr_missing;
	if (blocks->first_missing < blocks->nr_items) {
		const struct block_item *item = &blocks->items[blocks->first_missing];

		status.reason = item->reason;
		status.error = item->error;
		(void) snprintf(status.missing, sizeof(status.missing), "memory%" PRIu64,
		                item->wanted.block);
	}
	(void) pthread_mutex_unlock(&blocks->lock);
	*ret = status;
}

/* Nothing is taken offline: the last blocks of the list are only the share's no more. */
static int block_share_shrink(struct share *share, uint64_t keep_bytes)
{
	struct block_share *blocks = (struct block_share *) share;
	size_t nr_kept = (size_t) bytes_min(bytes_round_up(keep_bytes, blocks->block_bytes) /
	                                            blocks->block_bytes,
	                                    blocks->nr_items);

	for (size_t i = nr_kept; i < blocks->nr_items; i++)
		item_set(blocks, &blocks->items[i], false, false, REASON_NONE, 0);
	(void) pthread_mutex_lock(&blocks->lock);
	blocks->nr_items = nr_kept;
	for (unsigned i = 0; i < NR_STAGES; i++) {
		struct block_stage *stage = &blocks->stages[i];

		stage->first = stage->next = bytes_min(stage->first, nr_kept);
		stage->end = bytes_min(stage->end, nr_kept);
		share->parts[i].want_bytes = (stage->end - stage->first) * blocks->block_bytes;
	}
	(void) pthread_mutex_unlock(&blocks->lock);
	return 0;
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
