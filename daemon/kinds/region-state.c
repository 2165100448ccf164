/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One region from nothing to whole, and how its bytes are counted.
 */
#include <assert.h>
#include <errno.h>

#include "../base/size.h"
#include "region-share.h"

void region_init(struct region *region, uint64_t bytes, enum stage stage)
{
	(void) pthread_mutex_init(&region->lock, NULL);
	region->state = REGION_NEW;
	region->memory.fd = -1;
	region->bytes = bytes;
	region->stage = stage;
}

void region_free(struct region *region)
{
	if (!region->is_single)
		return;
	(void) pthread_mutex_destroy(&region->lock);
	free(region);
}

uint64_t region_restart(struct region *region, uint64_t chunk_bytes)
{
	uint64_t nr_chunks = region->bytes / chunk_bytes + (region->bytes % chunk_bytes != 0);

	atomic_store_explicit(&region->filled_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&region->nr_chunks_left, nr_chunks, memory_order_relaxed);
	region->next_bytes = 0;
	region->nr_writers = 0;
	return nr_chunks;
}

struct region *region_take_chunk(struct region_share *regions, struct region_stage *stage,
                                 uint64_t chunk_bytes, uint64_t *ret_offset_bytes)
{
	struct region *best = NULL;

	region_share_lock(regions);
	for (size_t i = stage->first_open; i < stage->nr_queued; i++) {
		struct region *region = stage->queue[i];

		if (region->next_bytes >= region->bytes) {
			stage->first_open += i == stage->first_open;
			continue;
		}
		if (!best || region->nr_writers < best->nr_writers)
			best = region;
		if (best->nr_writers == 0 || regions->share.page != PLAN_PAGE_THP)
			break;
	}
	assert(best);
	*ret_offset_bytes = best->next_bytes;
	best->next_bytes += bytes_min(chunk_bytes, best->bytes - best->next_bytes);
	best->nr_writers++;
	region_share_unlock(regions);
	return best;
}

void region_leave(struct region_share *regions, struct region *region)
{
	region_share_lock(regions);
	region->nr_writers--;
	region_share_unlock(regions);
}

struct memory region_memory(const struct share *share, uint64_t bytes)
{
	return (struct memory){
		.fd = -1,
		.page = share->page,
		.page_bytes = share->page_bytes,
		.bytes = bytes,
		.node_id = share->node_id,
		.is_locked = share->is_locked,
	};
}

/* Room for the news of its end is made before there is anything that could end. */
static int make(struct region_share *regions, struct region *region)
{
	const struct share *share = &regions->share;
	struct region_note *note;
	int r;

	r = region_note_new(share, region->bytes, &note);
	if (r < 0)
		return r;
	region->memory = region_memory(share, region->bytes);
	r = share->context->memory->make(&region->memory);
	if (r < 0) {
		region_note_free(note);
		return r;
	}
	region_note_made(regions, note, region->memory.fd);
	region->note = note;
	region->id = note ? note->id : 0;
	return 0;
}

int region_make(struct region_share *regions, struct region *region)
{
	int r = 0;

	(void) pthread_mutex_lock(&region->lock);
	switch (region->state) {
	case REGION_NEW:
		r = make(regions, region);
		region->state = r < 0 ? REGION_FAILED : REGION_FILLING;
		region->error = r;
		break;
	case REGION_POISONED:
		r = -EHWPOISON;
		break;
	case REGION_FAILED:
		r = region->error;
		break;
	default:
		break;
	}
	(void) pthread_mutex_unlock(&region->lock);
	return r;
}

void region_poison(struct region *region)
{
	(void) pthread_mutex_lock(&region->lock);
	region->state = REGION_POISONED;
	(void) pthread_mutex_unlock(&region->lock);
}

void region_add_whole(struct region_share *regions, const struct region *region)
{
	regions->stages[region->stage].whole_bytes += region->bytes;
	regions->stages[region->stage].nr_whole++;
}

void region_remove_whole(struct region_share *regions, const struct region *region)
{
	regions->stages[region->stage].whole_bytes -= region->bytes;
	regions->stages[region->stage].nr_whole--;
}

int region_complete(struct region_share *regions, struct region *region)
{
	const struct memory_ops *memory = regions->share.context->memory;
	int r;

	r = memory->verify(&region->memory);
	if (r == 0)
		r = memory->finish(&region->memory);
	if (r < 0)
		return r;
	(void) pthread_mutex_lock(&region->lock);
	region->state = REGION_WHOLE;
	(void) pthread_mutex_unlock(&region->lock);
	region_share_lock(regions);
	region_add_whole(regions, region);
	region_stock_add(regions, region);
	region_note_ready(regions, region->note);
	region_share_unlock(regions);
	return 0;
}

void region_unmake(struct region_share *regions, struct region *region)
{
	const struct memory_ops *memory = regions->share.context->memory;

	if (region->is_abandoned)
		memory->release(&region->memory);
	else
		memory->destroy(&region->memory);
	region->is_abandoned = false;
	region_note_gone(regions, take(region->note));
	region->id = 0;
	region->state = REGION_NEW;
}

void region_count(struct region_share *regions, struct region *region, uint64_t bytes)
{
	uint64_t filled_bytes =
		atomic_fetch_add_explicit(&region->filled_bytes, bytes, memory_order_relaxed) +
		bytes;
	uint64_t counted_bytes = atomic_load_explicit(&region->counted_bytes, memory_order_relaxed);

	while (filled_bytes > counted_bytes)
		if (atomic_compare_exchange_weak_explicit(&region->counted_bytes, &counted_bytes,
		                                          filled_bytes, memory_order_relaxed,
		                                          memory_order_relaxed)) {
			(void) atomic_fetch_add_explicit(&regions->stages[region->stage].done_bytes,
			                                 filled_bytes - counted_bytes,
			                                 memory_order_relaxed);
			return;
		}
}

void region_uncount(struct region_share *regions, struct region *region)
{
	uint64_t bytes = atomic_exchange_explicit(&region->counted_bytes, 0, memory_order_relaxed);

	(void) atomic_fetch_sub_explicit(&regions->stages[region->stage].done_bytes, bytes,
	                                 memory_order_relaxed);
}

void region_drop_held(struct region_share *regions)
{
	while (regions->nr_held > 0) {
		struct region_held *held = &regions->held[--regions->nr_held];

		regions->share.context->memory->destroy(&held->memory);
		region_note_gone(regions, take(held->note));
	}
}
