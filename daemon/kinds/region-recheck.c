/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Ready regions that may have been moved. Memory that is taken offline has its pages moved, to
 * another node where this one has no room, and nobody is told. So all of the stock is in doubt,
 * and not to be lent, until the worker has looked where its pages are. What is lent stays as it is.
 */
#include <assert.h>

#include "region-share.h"

static void doubt(struct region_share *regions, struct region *region)
{
	region_stock_remove(regions, region);
	region->place = PLACE_DOUBTED;
	regions->nr_doubted++;
	regions->doubted_bytes += region->bytes;
	TAILQ_INSERT_TAIL(&regions->doubted, region, link);
}

void region_doubted_remove(struct region_share *regions, struct region *region)
{
	assert(region->place == PLACE_DOUBTED);
	region->place = PLACE_NONE;
	regions->nr_doubted--;
	regions->doubted_bytes -= region->bytes;
	TAILQ_REMOVE(&regions->doubted, region, link);
}

int region_share_recheck(struct share *share)
{
	struct region_share *regions = (struct region_share *) share;
	struct region *region;
	bool is_any;

	region_share_lock(regions);
	while ((region = TAILQ_FIRST(&regions->stock)))
		doubt(regions, region);
	is_any = regions->nr_doubted > 0;
	region_share_unlock(regions);
	return is_any;
}

static struct region *first_doubted(struct region_share *regions, enum stage stage)
{
	struct region *region;

	region_share_lock(regions);
	region = TAILQ_FIRST(&regions->doubted);
	while (region && region->stage != stage)
		region = TAILQ_NEXT(region, link);
	region_share_unlock(regions);
	return region;
}

bool region_verify_doubted(struct region_share *regions, enum stage stage)
{
	struct region *region = first_doubted(regions, stage);
	bool is_right;

	if (!region)
		return false;
	/* What cannot be looked at is as good as wrong: it must not be promised. */
	is_right = regions->share.context->memory->verify(&region->memory) == 0;
	region_share_lock(regions);
	region_doubted_remove(regions, region);
	if (is_right) {
		region_stock_add(regions, region);
	} else {
		region_remove_whole(regions, region);
		region_uncount(regions, region);
	}
	region_share_unlock(regions);
	if (!is_right)
		region_unmake(regions, region);
	return true;
}
