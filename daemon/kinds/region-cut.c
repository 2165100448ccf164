/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which regions a share has: how its parts are cut into them, which of them stay when the parts
 * become smaller, and what becomes of them at its end.
 *
 * What is lent stays. It is put in the place of one that is not, as far as there are places of its
 * size; for the rest there is no place any more, and it is *aside*: counted, but not replaced when
 * it comes back.
 */
#include <errno.h>
#include <string.h>

#include "../base/size.h"
#include "account.h"
#include "region-share.h"

#define BUCKETS_MAX 65536

/* With the lock. Return: 0; -ENOMEM. */
static int stage_open(struct region_share *regions, enum stage i)
{
	struct region_stage *stage = &regions->stages[i];
	uint64_t unit_bytes = regions->share.region_bytes;
	uint64_t rest_bytes = regions->share.parts[i].want_bytes;
	size_t nr;

	if (rest_bytes == 0 || stage->block)
		return 0;
	nr = rest_bytes / unit_bytes + (rest_bytes % unit_bytes != 0);
	stage->block = calloc(nr, sizeof(*stage->block));
	stage->regions = calloc(nr, sizeof(struct region *));
	stage->queue = calloc(nr, sizeof(struct region *));
	if (!stage->block || !stage->regions || !stage->queue) {
		free(take(stage->block));
		free(take(stage->regions));
		free(take(stage->queue));
		return -ENOMEM;
	}
	for (size_t k = 0; k < nr; k++) {
		stage->regions[k] = &stage->block[k];
		region_init(stage->regions[k], bytes_min(rest_bytes, unit_bytes), i);
		rest_bytes -= stage->regions[k]->bytes;
	}
	stage->nr_block = stage->nr_regions = nr;
	return 0;
}

static uint64_t largest_bytes(const struct region_share *regions)
{
	uint64_t bytes = 0;

	/* Only the last one may be smaller. */
	for (unsigned i = 0; i < NR_STAGES; i++)
		if (regions->stages[i].nr_regions > 0)
			bytes = bytes_max(bytes, regions->stages[i].regions[0]->bytes);
	return bytes;
}

/* With the lock. */
static int open_all(struct region_share *regions)
{
	struct share *share = &regions->share;
	int r = 0;

	for (unsigned i = 0; i < NR_STAGES; i++)
		if (share->region_bytes == 0)
			share->region_bytes = share->parts[i].want_bytes;
	for (unsigned i = 0; i < NR_STAGES && r == 0; i++)
		r = stage_open(regions, i);
	if (r < 0)
		return r;
	regions->nr_buckets = 1;
	for (unsigned i = 0; i < NR_STAGES; i++)
		while (regions->nr_buckets < regions->stages[i].nr_regions &&
		       regions->nr_buckets < BUCKETS_MAX)
			regions->nr_buckets *= 2;
	regions->lent = calloc(regions->nr_buckets, sizeof(struct region *));
	if (!regions->lent)
		return -ENOMEM;
	regions->largest_bytes = largest_bytes(regions);
	regions->is_open = true;
	return 0;
}

int region_share_open(struct region_share *regions)
{
	int r = 0;

	region_share_lock(regions);
	if (!regions->is_open)
		r = open_all(regions);
	region_share_unlock(regions);
	return r;
}

void region_account_aside(struct region_share *regions)
{
	struct share *share = &regions->share;

	if (share->account)
		page_account_set_aside(share->account, share, regions->aside_bytes);
}

/* Nothing takes its place. Huge pages that were added for it go back now. */
static void forget_aside(struct region_share *regions, struct region *region)
{
	struct share *share = &regions->share;

	region_account_aside(regions);
	if (share->account)
		(void) page_account_give_back(share->account, region->bytes / share->page_bytes);
	region_free(region);
}

bool region_drop_spent(struct region_share *regions, enum stage stage)
{
	struct region *region;
	bool is_aside;

	region_share_lock(regions);
	region = region_spent_take(regions, stage);
	if (!region) {
		region_share_unlock(regions);
		return false;
	}
	is_aside = region->is_aside;
	if (is_aside)
		region_aside_remove(regions, region);
	else
		region_remove_whole(regions, region);
	/* Before it is destroyed, which may take seconds: as spent it is not counted any more. */
	region_uncount(regions, region);
	region_share_unlock(regions);
	region_unmake(regions, region);
	if (is_aside)
		forget_aside(regions, region);
	return true;
}

/* Which of them to keep first: what is lent, then what took longest to make. */
static unsigned rank_of(const struct region *region, uint64_t unit_bytes)
{
	/* What is kept is cut into whole units. */
	if (region->bytes != unit_bytes || region->place == PLACE_SPENT)
		return 4;
	if (region->place == PLACE_LENT)
		return 0;
	if (region->state == REGION_WHOLE)
		return 1;
	return region->state == REGION_FILLING ? 2 : 3;
}

/* Put those to keep to the front. With the lock. */
static void sort(struct region_stage *stage, uint64_t unit_bytes)
{
	size_t nr = 0;

	for (unsigned rank = 0; rank <= 4; rank++)
		for (size_t i = 0; i < stage->nr_regions; i++)
			if (rank_of(stage->regions[i], unit_bytes) == rank)
				stage->queue[nr++] = stage->regions[i];
	if (nr > 0)
		memcpy(stage->regions, stage->queue, nr * sizeof(struct region *));
}

/* Count a region in another stage than so far. With the lock. */
static void move(struct region_share *regions, struct region *region, enum stage stage)
{
	uint64_t bytes = atomic_load_explicit(&region->counted_bytes, memory_order_relaxed);

	if (region->state == REGION_WHOLE)
		region_remove_whole(regions, region);
	atomic_fetch_sub_explicit(&regions->stages[region->stage].done_bytes, bytes,
	                          memory_order_relaxed);
	region->stage = stage;
	atomic_fetch_add_explicit(&regions->stages[stage].done_bytes, bytes, memory_order_relaxed);
	if (region->state == REGION_WHOLE)
		region_add_whole(regions, region);
}

/*
 * What is lent beyond the @nr_kept first of one stage takes the places of what is not in the other.
 * With the lock; both are sorted.
 */
static void exchange(struct region_share *regions, enum stage from, const size_t *nr_kept)
{
	struct region_stage *stage = &regions->stages[from];
	enum stage to = from == STAGE_EARLY ? STAGE_DEFERRED : STAGE_EARLY;
	struct region_stage *other = &regions->stages[to];
	size_t k = nr_kept[to];

	for (size_t i = nr_kept[from]; i < stage->nr_regions; i++) {
		struct region *lent = stage->regions[i], *given;

		if (lent->place != PLACE_LENT || lent->bytes != regions->share.region_bytes)
			continue;
		while (k > 0 && other->regions[k - 1]->bytes != lent->bytes)
			k--;
		if (k == 0 || other->regions[k - 1]->place == PLACE_LENT)
			return;
		given = other->regions[--k];
		other->regions[k] = lent;
		stage->regions[i] = given;
		move(regions, lent, to);
		move(regions, given, from);
	}
}

/*
 * Leave the @nr_kept first, which is some less. With the lock. What else is lent or spent is put
 * aside; what remains behind them in the array is nobody's but the worker's from now on.
 * Return: how many those are.
 */
static size_t cut_off(struct region_share *regions, struct region_stage *stage, size_t nr_kept)
{
	size_t nr_gone = 0;

	for (size_t i = nr_kept; i < stage->nr_regions; i++) {
		struct region *region = stage->regions[i];

		if (region->state == REGION_WHOLE)
			region_remove_whole(regions, region);
		if (region->place == PLACE_LENT || region->place == PLACE_SPENT) {
			region_aside_add(regions, region);
			continue;
		}
		if (region->place == PLACE_STOCK)
			region_stock_remove(regions, region);
		else if (region->place == PLACE_DOUBTED)
			region_doubted_remove(regions, region);
		stage->regions[nr_kept + nr_gone++] = region;
	}
	stage->nr_regions = nr_kept;
	stage->next_free = 0;
	return nr_gone;
}

/* Destroy what is not among the @nr_kept first regions of each stage, unless it is lent. */
static void cut(struct region_share *regions, const size_t *nr_kept)
{
	size_t nr_gone[NR_STAGES];

	region_share_lock(regions);
	for (unsigned i = 0; i < NR_STAGES; i++)
		sort(&regions->stages[i], regions->share.region_bytes);
	for (unsigned i = 0; i < NR_STAGES; i++)
		exchange(regions, i, nr_kept);
	for (unsigned i = 0; i < NR_STAGES; i++)
		nr_gone[i] = cut_off(regions, &regions->stages[i], nr_kept[i]);
	regions->largest_bytes = largest_bytes(regions);
	region_share_unlock(regions);
	for (unsigned i = 0; i < NR_STAGES; i++)
		for (size_t k = 0; k < nr_gone[i]; k++) {
			struct region *region = regions->stages[i].regions[nr_kept[i] + k];

			region_unmake(regions, region);
			region_uncount(regions, region);
		}
}

/* Of a part that has all that it wants now nothing is missing for any reason. */
static void forget_reasons(struct region_share *regions)
{
	region_share_lock(regions);
	for (unsigned i = 0; i < NR_STAGES; i++) {
		struct region_stage *stage = &regions->stages[i];

		if (stage->whole_bytes < regions->share.parts[i].want_bytes)
			continue;
		stage->reason = REASON_NONE;
		stage->error = 0;
	}
	region_share_unlock(regions);
}

int region_share_shrink(struct share *share, uint64_t keep_bytes)
{
	struct region_share *regions = (struct region_share *) share;
	uint64_t left_bytes = keep_bytes, gone_bytes = 0, aside_bytes;
	uint64_t kept_bytes[NR_STAGES];
	size_t nr_kept[NR_STAGES];
	bool is_cut = false;
	int r;

	r = region_share_open(regions);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < NR_STAGES; i++)
		while (region_drop_spent(regions, i))
			;
	for (unsigned i = 0; i < NR_STAGES; i++) {
		uint64_t want_bytes = share->parts[i].want_bytes;

		kept_bytes[i] = want_bytes;
		nr_kept[i] = regions->stages[i].nr_regions;
		/* A region is given back as a whole or not at all. */
		if (want_bytes > left_bytes)
			kept_bytes[i] = bytes_min(bytes_round_up(left_bytes, share->region_bytes),
			                          want_bytes);
		if (kept_bytes[i] < want_bytes) {
			nr_kept[i] = kept_bytes[i] / share->region_bytes;
			is_cut = true;
		}
		gone_bytes += want_bytes - kept_bytes[i];
		left_bytes = bytes_left(left_bytes, kept_bytes[i]);
	}
	if (!is_cut)
		return 0;
	aside_bytes = regions->aside_bytes;
	cut(regions, nr_kept);
	region_account_aside(regions);
	for (unsigned i = 0; i < NR_STAGES; i++) {
		if (share->account)
			page_account_want(share->account, &share->parts[i], kept_bytes[i]);
		else
			share->parts[i].want_bytes = kept_bytes[i];
	}
	forget_reasons(regions);
	if (!share->account)
		return 0;
	gone_bytes -= regions->aside_bytes - aside_bytes;
	return page_account_give_back(share->account, gone_bytes / share->page_bytes);
}

/* At the end of the share: what is lent stays its lessee's, what is kept the next process's. */
static void end_region(struct region_share *regions, struct region *region)
{
	const struct memory_ops *memory = regions->share.context->memory;

	if (regions->keeps_memory || region->place == PLACE_LENT || region->is_abandoned)
		memory->release(&region->memory);
	else
		memory->destroy(&region->memory);
	/* What waits in line is freed there. */
	if (region->note && !region->note->is_queued)
		region_note_free(region->note);
	region->note = NULL;
}

static void stage_free(struct region_share *regions, struct region_stage *stage)
{
	for (size_t i = 0; i < stage->nr_regions; i++)
		end_region(regions, stage->regions[i]);
	for (size_t i = 0; i < stage->nr_block; i++)
		(void) pthread_mutex_destroy(&stage->block[i].lock);
	free(take(stage->regions));
	free(take(stage->queue));
}

void region_share_free(struct share *share)
{
	struct region_share *regions = (struct region_share *) share;
	uint64_t added_bytes;
	struct region *region;

	if (!share)
		return;
	added_bytes = regions->aside_bytes;
	region_drop_held(regions);
	for (unsigned i = 0; i < NR_STAGES; i++) {
		stage_free(regions, &regions->stages[i]);
		added_bytes += share->parts[i].want_bytes;
	}
	while ((region = TAILQ_FIRST(&regions->aside))) {
		TAILQ_REMOVE(&regions->aside, region, aside);
		end_region(regions, region);
		region_free(region);
	}
	for (unsigned i = 0; i < NR_STAGES; i++)
		free(take(regions->stages[i].block));
	region_news_clear(regions);
	if (share->account) {
		page_account_leave(share->account, share);
		if (!regions->keeps_memory)
			(void) page_account_give_back(share->account,
			                              added_bytes / share->page_bytes);
		share->account = page_account_unref(share->account);
	}
	free(regions->lent);
	(void) pthread_mutex_destroy(&regions->lock);
	free(regions);
}
