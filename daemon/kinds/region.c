/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kind region: a round makes and fills the regions that are missing. Whoever takes the first chunk
 * of a region makes it, whoever ends its last one verifies and finishes it, so regions become
 * ready while the round goes on, and only those being filled are mapped.
 *
 * What several threads touch: region.state and region.memory under region.lock;
 * region.filled_bytes, region.counted_bytes, region.nr_chunks_left and stage.done_bytes are
 * atomics; the stock, the reasons, the counts and who writes where under region_share.lock. The
 * rest belongs to the worker between rounds.
 */
#include <assert.h>
#include <errno.h>

#include "../base/size.h"
#include "../machine/machine.h"
#include "account.h"
#include "region-share.h"

#define POISONED_MAX 16

static int region_share_new(struct share **ret)
{
	struct region_share *share = calloc(1, sizeof(*share));

	if (!share)
		return -ENOMEM;
	(void) pthread_mutex_init(&share->lock, NULL);
	*ret = &share->share;
	return 0;
}

static uint64_t chunk_bytes(const struct share *share)
{
	uint64_t bytes = bytes_min(share->context->chunk_bytes, share->region_bytes);

	return bytes_max(bytes_round_down(bytes, share->page_bytes), share->page_bytes);
}

/* At its first use: cut the part into regions. */
static int stage_open(struct region_share *regions, struct part *part)
{
	struct region_stage *stage = &regions->stages[part->stage];
	struct share *share = part->share;
	uint64_t rest_bytes = part->want_bytes;
	size_t nr;

	if (stage->regions)
		return 0;
	if (share->region_bytes == 0)
		share->region_bytes = rest_bytes;
	nr = rest_bytes / share->region_bytes + (rest_bytes % share->region_bytes != 0);
	stage->regions = calloc(nr, sizeof(*stage->regions));
	stage->queue = calloc(nr, sizeof(*stage->queue));
	if (!stage->regions || !stage->queue || region_stock_reserve(regions, nr) < 0) {
		free(take(stage->regions));
		free(take(stage->queue));
		return -ENOMEM;
	}
	for (size_t i = 0; i < nr; i++) {
		region_init(&stage->regions[i], bytes_min(rest_bytes, share->region_bytes));
		rest_bytes -= stage->regions[i].bytes;
	}
	stage->nr_regions = nr;
	return 0;
}

/*
 * How many bytes of this part may be held in all: what the node's pool has for it, or what
 * Reserve= leaves. Return: 0 and *ret_bytes; 1 call again.
 */
static int part_limit(struct region_share *regions, struct part *part, uint64_t ready_bytes,
                      uint64_t *ret_bytes)
{
	struct region_stage *stage = &regions->stages[part->stage];
	struct share *share = part->share;
	struct page_account_result result;
	uint64_t start_pages, end_pages, room_bytes;
	int r;

	if (share->account) {
		page_account_span(share->account, share, part->stage, &start_pages, &end_pages);
		r = page_account_grow(share->account, end_pages, &result);
		region_note_race(regions, &result);
		if (r == 1)
			return 1;
		*ret_bytes = bytes_left(bytes_min(result.nr_pages, end_pages), start_pages) *
		             share->page_bytes;
		stage->limit_reason = result.reason;
		stage->limit_error = result.error;
		return 0;
	}
	*ret_bytes = part->want_bytes;
	if (region_room_bytes(share, &room_bytes) &&
	    room_bytes < bytes_left(part->want_bytes, ready_bytes)) {
		*ret_bytes = ready_bytes + room_bytes;
		stage->limit_reason =
			share->reserve_bytes > 0 ? REASON_EXCEEDS_RESERVE : REASON_NO_MEMORY;
	}
	return 0;
}

static int region_prepare(struct part *part)
{
	struct region_share *regions = (struct region_share *) part->share;
	struct region_stage *stage = &regions->stages[part->stage];
	uint64_t held_bytes = 0, limit_bytes;
	int r;

	part->nr_chunks = 0;
	if (part->want_bytes == 0)
		return 0;
	if (stage->was_settled) {
		regions->is_compacted = false;
		if (part->share->account)
			page_account_begin_anew(part->share->account);
	}
	stage->was_settled = false;
	stage->limit_reason = REASON_NONE;
	stage->limit_error = 0;
	r = stage_open(regions, part);
	if (r < 0) {
		stage->round_error = r;
		return r;
	}
	for (size_t i = 0; i < stage->nr_regions; i++)
		if (stage->regions[i].state == REGION_READY)
			held_bytes += stage->regions[i].bytes;
	r = part_limit(regions, part, held_bytes, &limit_bytes);
	if (r != 0)
		return r;

	stage->nr_queued = stage->first_open = 0;
	for (size_t i = 0; i < stage->nr_regions; i++) {
		struct region *region = &stage->regions[i];

		if (region->state == REGION_READY || held_bytes + region->bytes > limit_bytes)
			continue;
		held_bytes += region->bytes;
		stage->queue[stage->nr_queued++] = region;
		part->nr_chunks += region_restart(region, chunk_bytes(part->share));
	}
	part->chunk_bytes = chunk_bytes(part->share);
	return part->nr_chunks > 0 || held_bytes >= part->want_bytes ? 0 : -EAGAIN;
}

/* Kept for finish(): the first error of the round is the one that is told. */
static int round_fail(struct region_share *regions, struct region_stage *stage, int error)
{
	(void) pthread_mutex_lock(&regions->lock);
	if (stage->round_error == 0)
		stage->round_error = error;
	(void) pthread_mutex_unlock(&regions->lock);
	return error;
}

/* All of it is populated: into the stock, or not. */
static int region_complete(struct region_share *regions, struct region *region)
{
	const struct memory_ops *memory = regions->share.context->memory;
	int r;

	r = memory->verify(&region->memory);
	if (r == 0)
		r = memory->finish(&region->memory);
	if (r == 0) {
		(void) pthread_mutex_lock(&region->lock);
		region->state = REGION_READY;
		(void) pthread_mutex_unlock(&region->lock);
		region_stock_add(regions, region);
	}
	return r;
}

static int fill_chunk(struct part *part, uint64_t index, struct region *region,
                      uint64_t offset_bytes)
{
	struct region_share *regions = (struct region_share *) part->share;
	struct region_stage *stage = &regions->stages[part->stage];
	const struct memory_ops *memory = part->share->context->memory;
	uint64_t bytes = bytes_min(part->chunk_bytes, region->bytes - offset_bytes);
	int r;

	r = region_make(part->share, region);
	if (r == -EHWPOISON)
		return 0; /* its other chunks are not worth filling, the rest of the round is */
	if (r < 0)
		return round_fail(regions, stage, r);
	if (region_is_reserve_touched(part, index)) {
		stage->limit_reason = REASON_EXCEEDS_RESERVE;
		return round_fail(regions, stage, -ENOSPC);
	}
	r = memory->populate(&region->memory, offset_bytes, bytes);
	if (r == 0) {
		region_count(stage, region, bytes);
		if (atomic_fetch_sub_explicit(&region->nr_chunks_left, 1, memory_order_acq_rel) ==
		    1)
			r = region_complete(regions, region);
	}
	if (r == -EHWPOISON) {
		region_poison(region);
		return 0;
	}
	return r < 0 ? round_fail(regions, stage, r) : 0;
}

/* @index says how far the round is; which chunk is next depends on who writes where. */
static int region_run_chunk(struct part *part, uint64_t index)
{
	struct region_share *regions = (struct region_share *) part->share;
	struct region_stage *stage = &regions->stages[part->stage];
	uint64_t offset_bytes;
	struct region *region;
	int r;

	assert(index < part->nr_chunks);
	region = region_take_chunk(regions, stage, part->chunk_bytes, &offset_bytes);
	r = fill_chunk(part, index, region, offset_bytes);
	region_leave(regions, region);
	return r;
}

/* What the round left unfinished goes; what has poison is held until it is replaced. */
static unsigned round_clean(struct region_share *regions, struct region_stage *stage)
{
	const struct memory_ops *memory = regions->share.context->memory;
	unsigned nr_poisoned = 0;

	for (size_t i = 0; i < stage->nr_queued; i++) {
		struct region *region = stage->queue[i];

		if (region->state == REGION_READY)
			continue;
		if (region->state == REGION_POISONED)
			nr_poisoned++;
		if (region->state == REGION_POISONED && regions->nr_held < REGIONS_HELD_MAX)
			regions->held[regions->nr_held++] = region->memory;
		else if (region->state != REGION_NEW)
			memory->destroy(&region->memory);
		region->memory.fd = -1;
		region->state = REGION_NEW;
	}
	stage->nr_queued = 0;
	return nr_poisoned;
}

/* The last word about a stage: what it really has, and why the rest is missing. */
static int settle(struct region_share *regions, struct region_stage *stage,
                  enum share_reason reason, int error)
{
	region_drop_held(regions);
	for (size_t i = 0; i < stage->nr_regions; i++)
		if (stage->regions[i].state != REGION_READY)
			region_uncount(stage, &stage->regions[i]);
	(void) pthread_mutex_lock(&regions->lock);
	stage->reason = reason;
	stage->error = reason == REASON_FAILED || reason == REASON_UNSUPPORTED ? error : 0;
	(void) pthread_mutex_unlock(&regions->lock);
	stage->nr_attempts = 0;
	stage->was_settled = true;
	return 0;
}

static int region_finish(struct part *part, bool is_cancelled)
{
	struct region_share *regions = (struct region_share *) part->share;
	struct region_stage *stage = &regions->stages[part->stage];
	unsigned nr_poisoned = round_clean(regions, stage);
	uint64_t missing_bytes = region_missing_bytes(stage, part->want_bytes);
	int error = stage->round_error;
	enum share_reason reason;
	bool may_retry;

	stage->round_error = 0;
	(void) pthread_mutex_lock(&regions->lock);
	regions->nr_poisoned += nr_poisoned;
	(void) pthread_mutex_unlock(&regions->lock);

	if (missing_bytes == 0)
		return settle(regions, stage, REASON_NONE, 0);
	if (is_cancelled)
		return settle(regions, stage, REASON_INTERRUPTED, 0);
	if (regions->nr_poisoned > POISONED_MAX)
		return settle(regions, stage, REASON_POISONED, 0);
	if (nr_poisoned > 0 && error == 0)
		return 1;
	/* The regions held for their poison may be just what is missing. */
	if (regions->nr_held > 0 && region_is_short(error) && stage->limit_reason == REASON_NONE) {
		region_drop_held(regions);
		return 1;
	}
	reason = region_reason(part, error, missing_bytes, &may_retry);
	if (!may_retry || stage->nr_attempts >= part->share->context->nr_retries)
		return settle(regions, stage, reason, error ? error : stage->limit_error);
	stage->nr_attempts++;
	(void) pthread_mutex_lock(&regions->lock);
	regions->nr_attempts++;
	(void) pthread_mutex_unlock(&regions->lock);
	return -EAGAIN;
}

static void region_share_read(const struct share *share, struct share_status *ret)
{
	struct region_share *regions = (struct region_share *) share;
	struct share_status status = { 0 };

	(void) pthread_mutex_lock(&regions->lock);
	for (unsigned i = 0; i < NR_STAGES; i++) {
		struct region_stage *stage = &regions->stages[i];
		uint64_t done_bytes =
			atomic_load_explicit(&stage->done_bytes, memory_order_relaxed);

		status.done_bytes += done_bytes;
		if (i == STAGE_EARLY)
			status.early_done_bytes = done_bytes;
		if (status.reason == REASON_NONE) {
			status.reason = stage->reason;
			status.error = stage->error;
		}
	}
	status.nr_attempts = regions->nr_attempts;
	status.nr_poisoned = regions->nr_poisoned;
	status.nr_raced = regions->nr_raced;
	status.raced_from_pages = regions->raced_from_pages;
	status.raced_to_pages = regions->raced_to_pages;
	(void) pthread_mutex_unlock(&regions->lock);
	*ret = status;
}

/* Destroy the regions of a stage from @nr_kept on. */
static void stage_cut(struct region_share *regions, struct region_stage *stage, size_t nr_kept)
{
	const struct memory_ops *memory = regions->share.context->memory;

	for (size_t i = stage->nr_regions; i > nr_kept; i--) {
		struct region *region = &stage->regions[i - 1];

		if (region->state == REGION_READY) {
			region_stock_remove(regions, region);
			memory->destroy(&region->memory);
		}
		region_uncount(stage, region);
		(void) pthread_mutex_destroy(&region->lock);
		stage->nr_regions--;
	}
}

static int region_share_shrink(struct share *share, uint64_t keep_bytes)
{
	struct region_share *regions = (struct region_share *) share;
	uint64_t left_bytes = keep_bytes, gone_bytes = 0;

	for (unsigned i = 0; i < NR_STAGES; i++) {
		struct part *part = &share->parts[i];
		uint64_t kept_bytes = part->want_bytes;

		/* A region is given back as a whole or not at all. */
		if (kept_bytes > left_bytes && share->region_bytes > 0)
			kept_bytes = bytes_min(bytes_round_up(left_bytes, share->region_bytes),
			                       kept_bytes);
		if (kept_bytes < part->want_bytes && regions->stages[i].regions)
			stage_cut(regions, &regions->stages[i], kept_bytes / share->region_bytes);
		gone_bytes += part->want_bytes - kept_bytes;
		if (share->account)
			page_account_want(share->account, part, kept_bytes);
		else
			part->want_bytes = kept_bytes;
		left_bytes = bytes_left(left_bytes, kept_bytes);
	}
	if (!share->account)
		return 0;
	return page_account_give_back(share->account, gone_bytes / share->page_bytes);
}

static void region_share_free(struct share *share)
{
	struct region_share *regions = (struct region_share *) share;
	uint64_t wanted_bytes = 0;

	if (!share)
		return;
	region_drop_held(regions);
	for (unsigned i = 0; i < NR_STAGES; i++) {
		stage_cut(regions, &regions->stages[i], 0);
		free(regions->stages[i].regions);
		free(regions->stages[i].queue);
		wanted_bytes += share->parts[i].want_bytes;
	}
	if (share->account) {
		page_account_leave(share->account, share);
		(void) page_account_give_back(share->account, wanted_bytes / share->page_bytes);
		share->account = page_account_unref(share->account);
	}
	free(regions->stock);
	(void) pthread_mutex_destroy(&regions->lock);
	free(regions);
}

const struct kind_ops region_ops = {
	.name = "region",
	.share_new = region_share_new,
	.prepare = region_prepare,
	.run_chunk = region_run_chunk,
	.finish = region_finish,
	.share_read = region_share_read,
	.share_shrink = region_share_shrink,
	.share_free = region_share_free,
};
