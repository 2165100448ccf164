/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kind region: a round makes and fills the regions that are missing. Whoever takes the first chunk
 * of a region makes it, whoever ends its last one verifies and finishes it, so regions become
 * ready while the round goes on, and only those being filled are mapped.
 * What several threads touch is listed in region-share.h.
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
	TAILQ_INIT(&share->stock);
	TAILQ_INIT(&share->doubted);
	for (unsigned i = 0; i <= NR_STAGES; i++)
		TAILQ_INIT(&share->spent[i]);
	TAILQ_INIT(&share->aside);
	TAILQ_INIT(&share->news);
	*ret = &share->share;
	return 0;
}

static uint64_t chunk_bytes(const struct share *share)
{
	uint64_t bytes = bytes_min(share->context->chunk_bytes, share->region_bytes);

	return bytes_max(bytes_round_down(bytes, share->page_bytes), share->page_bytes);
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

/* A Retry, or a round that builds anew what came back, is as good as the first one. */
static void begin_anew(struct region_share *regions, struct region_stage *stage)
{
	if (!stage->was_settled)
		return;
	stage->was_settled = false;
	regions->is_compacted = false;
	if (regions->share.account)
		page_account_begin_anew(regions->share.account);
}

/* Queue what is in @state, as far as that does not exceed @limit_bytes with what is held. */
static void queue_regions(struct part *part, enum region_state state, uint64_t limit_bytes,
                          uint64_t *held_bytes)
{
	struct region_share *regions = (struct region_share *) part->share;
	struct region_stage *stage = &regions->stages[part->stage];

	for (size_t i = 0; i < stage->nr_regions; i++) {
		struct region *region = stage->regions[i];

		if (region->state != state || *held_bytes + region->bytes > limit_bytes)
			continue;
		*held_bytes += region->bytes;
		stage->queue[stage->nr_queued++] = region;
		part->nr_chunks += region_restart(region, part->chunk_bytes);
	}
}

static int region_prepare(struct part *part)
{
	struct region_share *regions = (struct region_share *) part->share;
	struct region_stage *stage = &regions->stages[part->stage];
	uint64_t held_bytes, limit_bytes;
	int r;

	part->nr_chunks = 0;
	stage->nr_queued = stage->first_open = 0;
	r = region_share_open(regions);
	if (r < 0) {
		stage->round_error = r;
		return r;
	}
	if (region_drop_spent(regions, part->stage) || region_verify_doubted(regions, part->stage))
		return 1;
	if (part->want_bytes == 0)
		return 0;
	begin_anew(regions, stage);
	stage->limit_reason = REASON_NONE;
	stage->limit_error = 0;
	held_bytes = stage->whole_bytes;
	r = part_limit(regions, part, held_bytes, &limit_bytes);
	if (r != 0)
		return r;
	part->chunk_bytes = chunk_bytes(part->share);
	/* What an earlier process has half filled holds its memory already. */
	queue_regions(part, REGION_FILLING, limit_bytes, &held_bytes);
	queue_regions(part, REGION_NEW, limit_bytes, &held_bytes);
	return part->nr_chunks > 0 || held_bytes >= part->want_bytes ? 0 : -EAGAIN;
}

/* Kept for finish(): the first error of the round is the one that is told. */
static int round_fail(struct region_share *regions, struct region_stage *stage, int error)
{
	region_share_lock(regions);
	if (stage->round_error == 0)
		stage->round_error = error;
	region_share_unlock(regions);
	return error;
}

static int fill_chunk(struct part *part, uint64_t index, struct region *region,
                      uint64_t offset_bytes)
{
	struct region_share *regions = (struct region_share *) part->share;
	struct region_stage *stage = &regions->stages[part->stage];
	const struct memory_ops *memory = part->share->context->memory;
	uint64_t bytes = bytes_min(part->chunk_bytes, region->bytes - offset_bytes);
	int r;

	r = region_make(regions, region);
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
		region_count(regions, region, bytes);
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

/* What has poison is held until it is replaced; what cannot be held is given back. */
static void hold(struct region_share *regions, struct region *region)
{
	if (regions->nr_held == REGIONS_HELD_MAX) {
		region_unmake(regions, region);
		return;
	}
	regions->held[regions->nr_held++] = (struct region_held){
		.memory = region->memory,
		.note = take(region->note),
	};
	region->memory.fd = -1;
	region->id = 0;
	region->state = REGION_NEW;
}

/* What the round left unfinished goes, unless the next process is to go on with it (@is_kept). */
static unsigned round_clean(struct region_share *regions, struct region_stage *stage, bool is_kept)
{
	unsigned nr_poisoned = 0;

	for (size_t i = 0; i < stage->nr_queued; i++) {
		struct region *region = stage->queue[i];

		switch (region->state) {
		case REGION_POISONED:
			nr_poisoned++;
			hold(regions, region);
			break;
		case REGION_FILLING:
			if (!is_kept)
				region_unmake(regions, region);
			break;
		case REGION_FAILED:
			region->state = REGION_NEW;
			break;
		default:
			break;
		}
	}
	stage->nr_queued = 0;
	return nr_poisoned;
}

/* The last word about a stage: what it really has, and why the rest is missing. */
static int settle(struct region_share *regions, struct region_stage *stage, bool is_kept,
                  enum share_reason reason, int error)
{
	region_drop_held(regions);
	for (size_t i = 0; i < stage->nr_regions; i++) {
		struct region *region = stage->regions[i];

		if (region->state == REGION_WHOLE)
			continue;
		region_uncount(regions, region);
		/* Half filled, and there was no room to fill the rest. */
		if (region->state == REGION_FILLING && !is_kept)
			region_unmake(regions, region);
	}
	region_share_lock(regions);
	stage->reason = reason;
	stage->error = reason == REASON_FAILED || reason == REASON_UNSUPPORTED ? error : 0;
	region_share_unlock(regions);
	stage->nr_attempts = 0;
	stage->nr_poisoned = 0;
	stage->was_settled = true;
	return 0;
}

/* What came back meanwhile is a matter of another round: else leases could keep one from ending. */
static uint64_t missing_bytes(struct region_share *regions, const struct part *part)
{
	uint64_t bytes;

	region_share_lock(regions);
	bytes = bytes_left(part->want_bytes, regions->stages[part->stage].whole_bytes);
	region_share_unlock(regions);
	return bytes;
}

/* Return: whether what a cancelled round has is for the next process. */
static bool keeps_memory(struct region_share *regions)
{
	bool is_kept;

	region_share_lock(regions);
	is_kept = regions->keeps_memory;
	region_share_unlock(regions);
	return is_kept;
}

static int region_finish(struct part *part, bool is_cancelled)
{
	struct region_share *regions = (struct region_share *) part->share;
	struct region_stage *stage = &regions->stages[part->stage];
	bool is_kept = is_cancelled && keeps_memory(regions);
	unsigned nr_poisoned = round_clean(regions, stage, is_kept);
	uint64_t left_bytes = missing_bytes(regions, part);
	int error = stage->round_error;
	enum share_reason reason;
	bool may_retry;

	stage->round_error = 0;
	stage->nr_poisoned += nr_poisoned;
	region_share_lock(regions);
	regions->nr_poisoned += nr_poisoned;
	region_share_unlock(regions);

	if (left_bytes == 0)
		return settle(regions, stage, is_kept, REASON_NONE, 0);
	if (is_cancelled)
		return settle(regions, stage, is_kept, REASON_INTERRUPTED, 0);
	if (stage->nr_poisoned > POISONED_MAX)
		return settle(regions, stage, is_kept, REASON_POISONED, 0);
	if (nr_poisoned > 0 && error == 0)
		return 1;
	/* The regions held for their poison may be just what is missing. */
	if (regions->nr_held > 0 && region_is_short(error) && stage->limit_reason == REASON_NONE) {
		region_drop_held(regions);
		return 1;
	}
	reason = region_reason(part, error, left_bytes, &may_retry);
	if (!may_retry || stage->nr_attempts >= part->share->context->nr_retries)
		return settle(regions, stage, is_kept, reason, error ? error : stage->limit_error);
	stage->nr_attempts++;
	region_share_lock(regions);
	regions->nr_attempts++;
	region_share_unlock(regions);
	return -EAGAIN;
}

static void region_share_read(const struct share *share, struct share_status *ret)
{
	struct region_share *regions = (struct region_share *) share;
	struct share_status status = { 0 };

	region_share_lock(regions);
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
	status.spent_bytes = regions->counts.spent_bytes;
	status.nr_attempts = regions->nr_attempts;
	status.nr_poisoned = regions->nr_poisoned;
	status.nr_raced = regions->nr_raced;
	status.raced_from_pages = regions->raced_from_pages;
	status.raced_to_pages = regions->raced_to_pages;
	region_share_unlock(regions);
	*ret = status;
}

const struct kind_ops region_ops = {
	.name = "region",
	.share_new = region_share_new,
	.share_recheck = region_share_recheck,
	.prepare = region_prepare,
	.run_chunk = region_run_chunk,
	.finish = region_finish,
	.share_read = region_share_read,
	.share_shrink = region_share_shrink,
	.share_free = region_share_free,
};
