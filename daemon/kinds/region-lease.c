/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The regions that are ready, those that are lent, and those that came back. All of it is lists
 * that the main thread may change at any time; what comes back is destroyed by the worker.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>

#include "../base/size.h"
#include "region-share.h"

/* Small ones first: nearly all are of one size, so one look at either end is enough. */
void region_stock_add(struct region_share *regions, struct region *region)
{
	struct region *first = TAILQ_FIRST(&regions->stock), *before;

	region->place = PLACE_STOCK;
	regions->counts.nr_ready++;
	regions->counts.ready_bytes += region->bytes;
	if (first && first->bytes > region->bytes) {
		TAILQ_INSERT_HEAD(&regions->stock, region, link);
		return;
	}
	before = TAILQ_LAST(&regions->stock, region_list);
	while (before && before->bytes > region->bytes)
		before = TAILQ_PREV(before, region_list, link);
	if (before)
		TAILQ_INSERT_AFTER(&regions->stock, before, region, link);
	else
		TAILQ_INSERT_HEAD(&regions->stock, region, link);
}

void region_stock_remove(struct region_share *regions, struct region *region)
{
	assert(region->place == PLACE_STOCK);
	region->place = PLACE_NONE;
	regions->counts.nr_ready--;
	regions->counts.ready_bytes -= region->bytes;
	TAILQ_REMOVE(&regions->stock, region, link);
}

static struct region **bucket_of(struct region_share *regions, uint64_t id)
{
	return &regions->lent[id & (regions->nr_buckets - 1)];
}

void region_lent_add(struct region_share *regions, struct region *region)
{
	struct region **bucket = bucket_of(regions, region->id);

	region->place = PLACE_LENT;
	region->next_lent = *bucket;
	*bucket = region;
	regions->counts.nr_lent++;
	regions->counts.lent_bytes += region->bytes;
}

/* Return: the place in its bucket; NULL it is not lent. */
static struct region **lent_find(struct region_share *regions, uint64_t id)
{
	struct region **slot;

	if (!regions->is_open)
		return NULL;
	slot = bucket_of(regions, id);
	while (*slot && (*slot)->id != id)
		slot = &(*slot)->next_lent;
	return *slot ? slot : NULL;
}

static struct region *lent_take(struct region_share *regions, uint64_t id)
{
	struct region **slot = lent_find(regions, id);
	struct region *region;

	if (!slot)
		return NULL;
	region = *slot;
	*slot = region->next_lent;
	region->next_lent = NULL;
	region->place = PLACE_NONE;
	regions->counts.nr_lent--;
	regions->counts.lent_bytes -= region->bytes;
	return region;
}

static struct region_list *spent_list(struct region_share *regions, const struct region *region)
{
	return &regions->spent[region->is_aside ? NR_STAGES : region->stage];
}

static void spent_add(struct region_share *regions, struct region *region)
{
	region->place = PLACE_SPENT;
	regions->counts.nr_spent++;
	regions->counts.spent_bytes += region->bytes;
	TAILQ_INSERT_TAIL(spent_list(regions, region), region, link);
}

static void spent_remove(struct region_share *regions, struct region *region)
{
	region->place = PLACE_NONE;
	regions->counts.nr_spent--;
	regions->counts.spent_bytes -= region->bytes;
	TAILQ_REMOVE(spent_list(regions, region), region, link);
}

struct region *region_spent_take(struct region_share *regions, enum stage stage)
{
	struct region *region = TAILQ_FIRST(&regions->spent[stage]);

	if (!region)
		region = TAILQ_FIRST(&regions->spent[NR_STAGES]);
	if (region)
		spent_remove(regions, region);
	return region;
}

void region_aside_add(struct region_share *regions, struct region *region)
{
	bool is_spent = region->place == PLACE_SPENT;

	if (is_spent)
		spent_remove(regions, region);
	region->is_aside = true;
	if (is_spent)
		spent_add(regions, region);
	regions->aside_bytes += region->bytes;
	TAILQ_INSERT_TAIL(&regions->aside, region, aside);
}

void region_aside_remove(struct region_share *regions, struct region *region)
{
	region->is_aside = false;
	regions->aside_bytes -= region->bytes;
	TAILQ_REMOVE(&regions->aside, region, aside);
}

void region_count_states(struct share *share, struct region_counts *ret)
{
	struct region_share *regions = (struct region_share *) share;
	size_t nr_regions = 0, nr_whole = 0;

	/* Without memory for it there is nothing to count, and the next round says why. */
	(void) region_share_open(regions);
	region_share_lock(regions);
	*ret = regions->counts;
	ret->coming_bytes = regions->counts.spent_bytes + regions->doubted_bytes;
	for (unsigned i = 0; i < NR_STAGES; i++) {
		const struct region_stage *stage = &regions->stages[i];

		nr_regions += stage->nr_regions;
		nr_whole += stage->nr_whole;
		if (stage->reason == REASON_NONE)
			ret->coming_bytes +=
				(stage->nr_regions - stage->nr_whole) * regions->largest_bytes;
	}
	ret->nr_unfilled = nr_regions - nr_whole + regions->nr_doubted;
	ret->largest_bytes = regions->largest_bytes;
	region_share_unlock(regions);
}

int region_lend(struct share *share, uint64_t bytes, uint64_t *ret_id, uint64_t *ret_bytes)
{
	struct region_share *regions = (struct region_share *) share;
	struct region *region;
	int r = -ENOENT;

	region_share_lock(regions);
	/* At most a few are smaller than the others, unless all are too small. */
	region = TAILQ_LAST(&regions->stock, region_list);
	if (region && region->bytes < bytes)
		region = NULL;
	else
		region = TAILQ_FIRST(&regions->stock);
	while (region && region->bytes < bytes)
		region = TAILQ_NEXT(region, link);
	if (region && region->id > 0) {
		region_stock_remove(regions, region);
		region_lent_add(regions, region);
		*ret_id = region->id;
		*ret_bytes = region->bytes;
		r = 0;
	}
	region_share_unlock(regions);
	return r;
}

int region_unlend(struct share *share, uint64_t id)
{
	struct region_share *regions = (struct region_share *) share;
	struct region *region;

	region_share_lock(regions);
	region = lent_take(regions, id);
	/* Nobody has seen it, but the share has become too small for it. */
	if (region && region->is_aside)
		spent_add(regions, region);
	else if (region)
		region_stock_add(regions, region);
	region_share_unlock(regions);
	return region ? 0 : -ENOENT;
}

static int spend(struct share *share, uint64_t id, bool is_abandoned)
{
	struct region_share *regions = (struct region_share *) share;
	struct region *region;

	region_share_lock(regions);
	region = lent_take(regions, id);
	if (region) {
		region->is_abandoned = is_abandoned;
		spent_add(regions, region);
	}
	region_share_unlock(regions);
	return region ? 0 : -ENOENT;
}

int region_return(struct share *share, uint64_t id)
{
	return spend(share, id, false);
}

int region_abandon(struct share *share, uint64_t id)
{
	return spend(share, id, true);
}

/* Return: a lent region's memory, which stays as it is for as long as this thread lends it. */
static struct memory *lent_memory(struct share *share, uint64_t id)
{
	struct region_share *regions = (struct region_share *) share;
	struct memory *memory;
	struct region **slot;

	region_share_lock(regions);
	slot = lent_find(regions, id);
	memory = slot ? &(*slot)->memory : NULL;
	region_share_unlock(regions);
	return memory;
}

int region_open_lent(struct share *share, uint64_t id)
{
	const struct memory *memory = lent_memory(share, id);

	return memory ? share->context->memory->open_again(memory) : -ENOENT;
}

static const struct region *list_find(const struct region_list *list, uint64_t id)
{
	const struct region *region = TAILQ_FIRST(list);

	while (region && region->id != id)
		region = TAILQ_NEXT(region, link);
	return region;
}

/* Ready, in doubt or lent, and so its memory stays while we have the lock. Return: NULL: neither.
 */
static const struct region *whole_find(struct region_share *regions, uint64_t id)
{
	struct region **slot = lent_find(regions, id);
	const struct region *region;

	if (slot)
		return *slot;
	region = list_find(&regions->stock, id);
	return region ? region : list_find(&regions->doubted, id);
}

int region_duplicate(struct share *share, uint64_t id, uint64_t *ret_bytes)
{
	struct region_share *regions = (struct region_share *) share;
	const struct region *region;
	int fd = -ENOENT;

	region_share_lock(regions);
	region = whole_find(regions, id);
	if (region) {
		fd = fcntl(region->memory.fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			fd = -errno;
		else
			*ret_bytes = region->bytes;
	}
	region_share_unlock(regions);
	return fd;
}

bool region_is_replaced(struct share *share, uint64_t id)
{
	struct region_share *regions = (struct region_share *) share;
	struct region **slot;
	bool is_replaced;

	region_share_lock(regions);
	slot = lent_find(regions, id);
	is_replaced = slot && !(*slot)->is_aside;
	region_share_unlock(regions);
	return is_replaced;
}

int region_is_lent_in_use(struct share *share, uint64_t id)
{
	const struct memory *memory = lent_memory(share, id);

	return memory ? share->context->memory->is_in_use(memory) : -ENOENT;
}

int region_discard_lent(struct share *share, uint64_t id, uint64_t offset_bytes, uint64_t bytes)
{
	struct memory *memory = lent_memory(share, id);

	return memory ? share->context->memory->discard(memory, offset_bytes, bytes) : -ENOENT;
}
