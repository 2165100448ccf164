/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One region from made to ready, how its bytes are counted, and the stock of those that are ready.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "../base/size.h"
#include "region-share.h"

void region_init(struct region *region, uint64_t bytes)
{
	(void) pthread_mutex_init(&region->lock, NULL);
	region->state = REGION_NEW;
	region->memory.fd = -1;
	region->bytes = bytes;
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

	(void) pthread_mutex_lock(&regions->lock);
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
	(void) pthread_mutex_unlock(&regions->lock);
	return best;
}

void region_leave(struct region_share *regions, struct region *region)
{
	(void) pthread_mutex_lock(&regions->lock);
	region->nr_writers--;
	(void) pthread_mutex_unlock(&regions->lock);
}

int region_make(struct share *share, struct region *region)
{
	int r = 0;

	(void) pthread_mutex_lock(&region->lock);
	switch (region->state) {
	case REGION_NEW:
		region->memory = (struct memory){
			.fd = -1,
			.page = share->page,
			.page_bytes = share->page_bytes,
			.bytes = region->bytes,
			.node_id = share->node_id,
			.is_locked = share->is_locked,
		};
		r = share->context->memory->make(&region->memory);
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

void region_count(struct region_stage *stage, struct region *region, uint64_t bytes)
{
	uint64_t filled_bytes =
		atomic_fetch_add_explicit(&region->filled_bytes, bytes, memory_order_relaxed) +
		bytes;
	uint64_t counted_bytes = atomic_load_explicit(&region->counted_bytes, memory_order_relaxed);

	while (filled_bytes > counted_bytes)
		if (atomic_compare_exchange_weak_explicit(&region->counted_bytes, &counted_bytes,
		                                          filled_bytes, memory_order_relaxed,
		                                          memory_order_relaxed)) {
			(void) atomic_fetch_add_explicit(&stage->done_bytes,
			                                 filled_bytes - counted_bytes,
			                                 memory_order_relaxed);
			return;
		}
}

void region_uncount(struct region_stage *stage, struct region *region)
{
	uint64_t bytes = atomic_exchange_explicit(&region->counted_bytes, 0, memory_order_relaxed);

	(void) atomic_fetch_sub_explicit(&stage->done_bytes, bytes, memory_order_relaxed);
}

uint64_t region_missing_bytes(const struct region_stage *stage, uint64_t want_bytes)
{
	uint64_t ready_bytes = 0;

	for (size_t i = 0; i < stage->nr_regions; i++)
		if (stage->regions[i].state == REGION_READY)
			ready_bytes += stage->regions[i].bytes;
	return bytes_left(want_bytes, ready_bytes);
}

int region_stock_reserve(struct region_share *regions, size_t nr_more)
{
	struct region **stock;

	(void) pthread_mutex_lock(&regions->lock);
	stock = reallocarray(regions->stock, regions->stock_max + nr_more, sizeof(*stock));
	if (stock) {
		regions->stock = stock;
		regions->stock_max += nr_more;
	}
	(void) pthread_mutex_unlock(&regions->lock);
	return stock ? 0 : -ENOMEM;
}

void region_stock_add(struct region_share *regions, struct region *region)
{
	(void) pthread_mutex_lock(&regions->lock);
	assert(regions->nr_stock < regions->stock_max);
	regions->stock[regions->nr_stock++] = region;
	(void) pthread_mutex_unlock(&regions->lock);
}

void region_stock_remove(struct region_share *regions, const struct region *region)
{
	(void) pthread_mutex_lock(&regions->lock);
	for (size_t i = 0; i < regions->nr_stock; i++) {
		if (regions->stock[i] != region)
			continue;
		regions->nr_stock--;
		memmove(&regions->stock[i], &regions->stock[i + 1],
		        (regions->nr_stock - i) * sizeof(regions->stock[0]));
		break;
	}
	(void) pthread_mutex_unlock(&regions->lock);
}

void region_drop_held(struct region_share *regions)
{
	while (regions->nr_held > 0)
		regions->share.context->memory->destroy(&regions->held[--regions->nr_held]);
}

void region_note_race(struct region_share *regions, const struct page_account_result *result)
{
	if (!result->was_raced)
		return;
	(void) pthread_mutex_lock(&regions->lock);
	regions->nr_raced++;
	regions->raced_from_pages = result->raced_from_pages;
	regions->raced_to_pages = result->raced_to_pages;
	(void) pthread_mutex_unlock(&regions->lock);
}

size_t region_nr_ready(const struct share *share)
{
	struct region_share *regions = (struct region_share *) share;
	size_t nr;

	(void) pthread_mutex_lock(&regions->lock);
	nr = regions->nr_stock;
	(void) pthread_mutex_unlock(&regions->lock);
	return nr;
}

int region_fd(const struct share *share, size_t i, uint64_t *ret_bytes)
{
	struct region_share *regions = (struct region_share *) share;
	int fd = -ENOENT;

	(void) pthread_mutex_lock(&regions->lock);
	if (i < regions->nr_stock) {
		fd = regions->stock[i]->memory.fd;
		*ret_bytes = regions->stock[i]->bytes;
	}
	(void) pthread_mutex_unlock(&regions->lock);
	return fd;
}
