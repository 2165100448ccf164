/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "../../daemon/base/size.h"
#include "kernel-model-inside.h"

/*
 * Take pages from the free memory of the node, as far as it has them contiguous.
 * Return: pages added.
 */
static uint64_t allocate_pages(struct node *node, struct pool *pool, uint64_t page_bytes,
                               uint64_t nr_pages)
{
	nr_pages = bytes_min(nr_pages, node->free_bytes / page_bytes);
	nr_pages = bytes_min(nr_pages, pool->contiguous_pages);
	node->free_bytes -= nr_pages * page_bytes;
	if (pool->contiguous_pages != UINT64_MAX)
		pool->contiguous_pages -= nr_pages;
	pool->count.nr_pages += nr_pages;
	pool->count.free_pages += nr_pages;
	return nr_pages;
}

static void release_pages(struct node *node, struct pool *pool, uint64_t page_bytes,
                          uint64_t nr_pages)
{
	pool->count.nr_pages -= nr_pages;
	pool->count.free_pages -= nr_pages;
	node->free_bytes += nr_pages * page_bytes;
	if (pool->contiguous_pages != UINT64_MAX)
		pool->contiguous_pages += nr_pages;
}

/*
 * set_max_huge_pages() of mm/hugetlb.c for one node. The kernel turns the node's number into one
 * for the whole machine by adding the pages of the other nodes, surplus included, and compares
 * that with the persistent pages, surplus excluded: surplus elsewhere makes the write overshoot.
 */
static void set_pages(struct kernel_model *model, struct node *node, size_t size_index,
                      uint64_t nr_pages, uint64_t limit_pages)
{
	struct pool *pool = &node->pools[size_index];
	uint64_t page_bytes = model->page_sizes[size_index];
	uint64_t all_pages = 0, surplus_pages = 0, persistent_pages, target_pages, moved_pages;

	for (size_t i = 0; i < model->nr_nodes; i++) {
		all_pages += model->nodes[i]->pools[size_index].count.nr_pages;
		surplus_pages += model->nodes[i]->pools[size_index].count.surplus_pages;
	}
	persistent_pages = all_pages - surplus_pages;
	target_pages = bytes_add(nr_pages, all_pages - pool->count.nr_pages);

	/* Surplus pages of the node become persistent before new ones are made. */
	moved_pages =
		bytes_min(bytes_left(target_pages, persistent_pages), pool->count.surplus_pages);
	pool->count.surplus_pages -= moved_pages;
	persistent_pages += moved_pages;
	persistent_pages +=
		allocate_pages(node, pool, page_bytes,
	                       bytes_min(limit_pages, bytes_left(target_pages, persistent_pages)));

	/* Too many: free ones go; those in use become surplus and go when they are let go of. */
	moved_pages = bytes_min(bytes_left(persistent_pages, target_pages), pool->count.free_pages);
	release_pages(node, pool, page_bytes, moved_pages);
	persistent_pages -= moved_pages;
	pool->count.surplus_pages += bytes_min(bytes_left(persistent_pages, target_pages),
	                                       pool->count.nr_pages - pool->count.surplus_pages);
}

int model_write_pages(struct kernel_model *model, struct node *node, size_t size_index,
                      uint64_t nr_pages)
{
	struct pool *pool = &node->pools[size_index];

	if (pool->nr_failing > 0) {
		pool->nr_failing--;
		if (pool->failing_error)
			return -pool->failing_error;
	} else {
		set_pages(model, node, size_index, nr_pages, pool->write_limit_pages);
	}
	if (pool->nr_rival_writes > 0) {
		if (pool->nr_rival_writes != UINT_MAX)
			pool->nr_rival_writes--;
		set_pages(model, node, size_index, pool->rival_pages, UINT64_MAX);
	}
	return 0;
}

void model_compact(struct node *node)
{
	for (size_t i = 0; i < PAGE_SIZES_MAX; i++) {
		struct pool *pool = &node->pools[i];

		if (pool->contiguous_pages != UINT64_MAX)
			pool->contiguous_pages += pool->per_compaction;
	}
}
