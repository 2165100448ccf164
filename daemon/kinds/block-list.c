/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The blocks that a share is about, and the sums over them that the main thread reads. */
#include <errno.h>
#include <inttypes.h>

#include "../base/size.h"
#include "block-share.h"

static size_t nr_early_blocks(const struct plan_share *planned)
{
	return planned->unit_bytes ? planned->early_bytes / planned->unit_bytes : 0;
}

int block_share_take(struct share *share, const struct plan_share *planned)
{
	struct block_share *blocks = (struct block_share *) share;

	blocks->items = calloc(planned->nr_blocks + 1, sizeof(*blocks->items));
	if (!blocks->items)
		return -ENOMEM;
	for (size_t i = 0; i < planned->nr_blocks; i++) {
		blocks->items[i] = (struct block_item){
			.wanted = planned->blocks[i],
			.is_open = true,
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

static int compare_blocks(const void *a, const void *b)
{
	const struct plan_block *block_a = a, *block_b = b;

	return (block_a->block > block_b->block) - (block_a->block < block_b->block);
}

/*
 * Whether both are about the same blocks. Their order and what is early of them may differ: a block
 * that only a kernel zone can take goes first while it is offline, and is one like others once it
 * is online. With the lock: a shrink may be at work. Return: 1 or 0; -ENOMEM.
 */
static int is_same(const struct block_share *blocks, const struct plan_share *planned)
{
	scoped(freep) struct plan_block *ours = NULL, *theirs = NULL;
	size_t nr_blocks = planned->nr_blocks;

	if (blocks->nr_items != nr_blocks)
		return 0;
	ours = calloc(nr_blocks + 1, sizeof(*ours));
	theirs = calloc(nr_blocks + 1, sizeof(*theirs));
	if (!ours || !theirs)
		return -ENOMEM;
	for (size_t i = 0; i < nr_blocks; i++) {
		ours[i] = blocks->items[i].wanted;
		theirs[i] = planned->blocks[i];
	}
	qsort(ours, nr_blocks, sizeof(*ours), compare_blocks);
	qsort(theirs, nr_blocks, sizeof(*theirs), compare_blocks);
	for (size_t i = 0; i < nr_blocks; i++)
		if (ours[i].block != theirs[i].block || ours[i].zone != theirs[i].zone)
			return 0;
	return 1;
}

bool block_share_is_same(const struct share *share, const struct plan_share *planned)
{
	struct block_share *blocks = (struct block_share *) share;
	int r;

	(void) pthread_mutex_lock(&blocks->lock);
	r = is_same(blocks, planned);
	(void) pthread_mutex_unlock(&blocks->lock);
	/* out of memory, nothing is replaced: the next look sees what is different */
	return r != 0;
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

void block_item_set(struct block_share *blocks, struct block_item *item, bool is_done,
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

void block_share_read(const struct share *share, struct share_status *ret)
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
int block_share_shrink(struct share *share, uint64_t keep_bytes)
{
	struct block_share *blocks = (struct block_share *) share;
	size_t nr_kept = (size_t) bytes_min(bytes_round_up(keep_bytes, blocks->block_bytes) /
	                                            blocks->block_bytes,
	                                    blocks->nr_items);

	for (size_t i = nr_kept; i < blocks->nr_items; i++)
		block_item_set(blocks, &blocks->items[i], false, false, REASON_NONE, 0);
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
