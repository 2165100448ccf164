/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Regions that outlive a process: taken over from the one before, left to the next one.
 */
#include <assert.h>
#include <errno.h>

#include "account.h"
#include "region-share.h"

static const enum memory_adopted memory_adopted[] = {
	[REGION_ADOPT_FILLING] = MEMORY_IS_FILLING,
	[REGION_ADOPT_READY] = MEMORY_IS_FINISHED,
	[REGION_ADOPT_LENT] = MEMORY_IS_LENT,
};

/* Of one stage. Return: a region without memory; NULL: none of that size. */
static struct region *free_region(struct region_stage *stage, uint64_t bytes)
{
	struct region *last;

	if (stage->nr_regions == 0)
		return NULL;
	while (stage->next_free < stage->nr_regions &&
	       stage->regions[stage->next_free]->state != REGION_NEW)
		stage->next_free++;
	if (stage->next_free < stage->nr_regions &&
	    stage->regions[stage->next_free]->bytes == bytes)
		return stage->regions[stage->next_free];
	/* All have one size, except that the last one may be smaller. */
	last = stage->regions[stage->nr_regions - 1];
	return last->bytes == bytes && last->state == REGION_NEW ? last : NULL;
}

/* Return: 0 and *ret; -ENOSPC; -ENOMEM. */
static int place_for(struct region_share *regions, uint64_t bytes, enum region_adopted adopted,
                     struct region **ret)
{
	struct region *region = NULL;

	for (unsigned i = 0; i < NR_STAGES && !region; i++)
		region = free_region(&regions->stages[i], bytes);
	if (!region) {
		if (adopted != REGION_ADOPT_LENT)
			return -ENOSPC;
		region = calloc(1, sizeof(*region));
		if (!region)
			return -ENOMEM;
		region_init(region, bytes, STAGE_DEFERRED);
		region->is_single = true;
	}
	*ret = region;
	return 0;
}

/* Ids that are made from now on come after all that exist. */
static void see_id(const struct share *share, uint64_t id)
{
	_Atomic uint64_t *last = share->context->last_region_id;
	uint64_t seen_id = atomic_load_explicit(last, memory_order_relaxed);

	while (seen_id < id &&
	       !atomic_compare_exchange_weak_explicit(last, &seen_id, id, memory_order_relaxed,
	                                              memory_order_relaxed))
		;
}

/* All of it is there, and was counted by whoever had it before. */
static void enter_whole(struct region_share *regions, struct region *region,
                        enum region_adopted adopted)
{
	region->state = REGION_WHOLE;
	region_share_lock(regions);
	if (region->is_single)
		region_aside_add(regions, region);
	else
		region_add_whole(regions, region);
	if (adopted == REGION_ADOPT_LENT)
		region_lent_add(regions, region);
	else
		region_stock_add(regions, region);
	region_share_unlock(regions);
}

static void enter(struct region_share *regions, struct region *region, enum region_adopted adopted)
{
	struct share *share = &regions->share;

	see_id(share, region->id);
	if (share->account)
		page_account_inherit(share->account, region->bytes / share->page_bytes);
	if (adopted == REGION_ADOPT_FILLING) {
		region->state = REGION_FILLING;
		return;
	}
	region_count(regions, region, region->bytes);
	/* Its lock went with the mapping of the process before: a round maps it again. */
	if (adopted == REGION_ADOPT_READY && memory_keeps_mapping(&region->memory))
		region->state = REGION_FILLING;
	else
		enter_whole(regions, region, adopted);
	if (region->is_single)
		region_account_aside(regions);
}

int region_adopt(struct share *share, uint64_t id, uint64_t bytes, int fd,
                 enum region_adopted adopted)
{
	struct region_share *regions = (struct region_share *) share;
	struct memory memory = region_memory(share, bytes);
	struct region_note *note = NULL;
	struct region *region = NULL;
	int r;

	assert(id > 0 && share->context->last_region_id);
	r = region_share_open(regions);
	if (r == 0)
		r = place_for(regions, bytes, adopted, &region);
	if (r < 0)
		return r;
	r = region_note_new(share, bytes, &note);
	if (r == 0) {
		memory.fd = fd;
		r = share->context->memory->adopt(&memory, memory_adopted[adopted]);
	}
	if (r < 0) {
		region_note_free(note);
		region_free(region);
		return r;
	}
	note->id = region->id = id;
	note->is_made_told = true;
	region->note = note;
	region->memory = memory;
	enter(regions, region, adopted);
	return 0;
}

void region_keep_memory(struct share *share)
{
	struct region_share *regions = (struct region_share *) share;

	region_share_lock(regions);
	regions->keeps_memory = true;
	region_share_unlock(regions);
}

bool share_has_regions(const struct share *share)
{
	return share->ops == &region_ops;
}
