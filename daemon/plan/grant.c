/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What can be had of the shares that were declared; all else is refused, with a word. */
#include "draft.h"

void draft_refuse(struct draft_share *share, uint64_t bytes, enum plan_refusal refusal)
{
	share->granted_bytes -= bytes;
	share->share.refused_bytes += bytes;
	if (share->share.refusal == PLAN_ACCEPTED || bytes > share->largest_refused_bytes) {
		share->share.refusal = refusal;
		share->largest_refused_bytes = bytes;
	}
}

/* Keep @room_bytes of what @share has, in whole units or files. Return: what it keeps. */
static uint64_t limit(struct draft_share *share, uint64_t room_bytes, enum plan_refusal refusal)
{
	uint64_t kept_bytes = bytes_min(share->granted_bytes, room_bytes);

	kept_bytes = share->share.pool->kind == POOL_REPLICA
	                     ? draft_keep_copies(&share->share, kept_bytes, share->share.unit_bytes)
	                     : bytes_round_down(kept_bytes, share->share.unit_bytes);
	if (kept_bytes < share->granted_bytes)
		draft_refuse(share, share->granted_bytes - kept_bytes, refusal);
	return kept_bytes;
}

bool draft_has_pages(const struct machine *machine, const struct plan_pool *pool)
{
	switch (pool->page) {
	case PLAN_PAGE_BASE:
		return pool->kind != POOL_HUGETLB;
	case PLAN_PAGE_THP:
		return pool->kind != POOL_HUGETLB && pool->page_bytes &&
		       machine->thp != MACHINE_THP_NONE;
	case PLAN_PAGE_HUGETLB:
		return machine_page_size_index(machine, pool->page_bytes) >= 0;
	}
	return false;
}

/* The first reason for which nothing at all can be had. */
static enum plan_refusal whole_refusal(const struct draft *draft, const struct draft_share *share)
{
	if (!share->node)
		return PLAN_NO_SUCH_NODE;
	if (!share->plan_node->memory_bytes)
		return PLAN_MEMORYLESS_NODE;
	if (!draft_has_pages(draft->machine, share->share.pool))
		return PLAN_UNSUPPORTED_SIZE;
	/*
	 * Huge pages too: the kernel adds them to allowed nodes of the writer only. Mems_allowed
	 * has no node without memory; of one whose memory is still coming it says nothing yet.
	 */
	if (!share->node->is_allowed && share->node->memory_bytes)
		return PLAN_OUTSIDE_CPUSET;
	return PLAN_ACCEPTED;
}

/* Whoever may not add huge pages can still use those that the node has. */
static void limit_to_pages(struct draft *draft, struct draft_share *share)
{
	const struct plan_pool *pool = share->share.pool;
	uint64_t *left_bytes;

	if (pool->page != PLAN_PAGE_HUGETLB || !share->granted_bytes)
		return;
	left_bytes = &draft_node_of(draft, share)
	                      ->pages_left_bytes[machine_page_size_index(draft->machine,
	                                                                 pool->page_bytes)];
	*left_bytes -= limit(share, *left_bytes, PLAN_NOT_PERMITTED);
}

/* Huge pages are charged to the hugetlb controller, not to memory.max. */
static bool is_charged(const struct draft_share *share)
{
	return share->share.pool->kind == POOL_REPLICA ||
	       (share->share.pool->kind == POOL_REGION &&
	        share->share.pool->page != PLAN_PAGE_HUGETLB);
}

static unsigned __int128 sum_granted(const struct draft_share *first, const struct draft_share *end)
{
	unsigned __int128 sum = 0;

	for (; first < end; first++)
		sum += first->granted_bytes;
	return sum;
}

/* @room_bytes in proportion to what @share has of @all_bytes, in whole units. */
static uint64_t room_of(const struct draft_share *share, uint64_t room_bytes,
                        unsigned __int128 all_bytes)
{
	unsigned __int128 product = (unsigned __int128) share->granted_bytes * room_bytes;

	return bytes_round_down((uint64_t) (product / all_bytes), share->share.unit_bytes);
}

/*
 * Trim the shares of one pool, [@first, @end), to @room_bytes in proportion. What rounding to
 * units leaves over goes to the lowest nodes that can use it. Return: what they keep.
 */
static uint64_t limit_pool(struct draft_share *first, struct draft_share *end, uint64_t room_bytes)
{
	unsigned __int128 all_bytes = sum_granted(first, end);
	uint64_t spare_bytes = room_bytes;
	uint64_t kept_bytes = 0;

	if (all_bytes <= room_bytes)
		return (uint64_t) all_bytes;
	for (const struct draft_share *share = first; share < end; share++)
		spare_bytes -= room_of(share, room_bytes, all_bytes);
	for (struct draft_share *share = first; share < end; share++) {
		uint64_t part_bytes = room_of(share, room_bytes, all_bytes);
		uint64_t share_bytes = limit(share, part_bytes + spare_bytes, PLAN_CGROUP_LIMIT);

		/* Files may take less than the part: then there is more to spare. */
		spare_bytes = part_bytes + spare_bytes - share_bytes;
		kept_bytes += share_bytes;
	}
	return kept_bytes;
}

static void limit_to_cgroup(struct draft *draft)
{
	struct draft_share *end = draft->shares + draft->nr_shares;
	uint64_t room_bytes =
		bytes_left(draft->machine->cgroup_room_bytes, DRAFT_CGROUP_HEADROOM_BYTES);
	struct draft_share *first = draft->shares;

	if (draft->machine->cgroup_room_bytes == UINT64_MAX)
		return;
	while (first < end) {
		struct draft_share *next = first;

		while (next < end && next->share.pool == first->share.pool)
			next++;
		if (is_charged(first))
			room_bytes -= limit_pool(first, next, room_bytes);
		first = next;
	}
}

static void refuse_whole(struct draft_share *share, enum plan_refusal refusal)
{
	draft_refuse(share, share->granted_bytes, refusal);
	for (size_t i = 0; i < share->share.nr_copies; i++)
		share->share.copies[i].is_linked = true;
}

/* Files are there as they are; Size= can only leave some of them out. */
static void limit_to_size(struct draft_share *share)
{
	struct amount size;

	if (share->share.pool->kind == POOL_REPLICA &&
	    node_amount_get(&share->config->size, share->share.node_id, &size))
		limit(share,
		      amount_bytes(size, share->plan_node->memory_bytes, share->share.unit_bytes),
		      PLAN_EXCEEDS_SIZE);
}

void draft_grant(struct draft *draft)
{
	struct draft_share *end = draft->shares + draft->nr_shares;

	/* Blocks were given out when they were declared, and neither limit is about them. */
	for (struct draft_share *share = draft->shares; share < end; share++) {
		enum plan_refusal refusal;

		if (share->share.pool->kind == POOL_BLOCK)
			continue;
		refusal = whole_refusal(draft, share);
		if (refusal != PLAN_ACCEPTED)
			refuse_whole(share, refusal);
		else if (!draft->machine->may_grow_hugepages || share->node->is_growing_refused)
			limit_to_pages(draft, share);
		limit_to_size(share);
	}
	limit_to_cgroup(draft);
	for (struct draft_share *share = draft->shares; share < end; share++) {
		uint64_t *left_bytes = &draft_node_of(draft, share)->left_bytes;

		if (share->share.pool->kind != POOL_BLOCK)
			*left_bytes -= limit(share, *left_bytes, PLAN_EXCEEDS_RESERVE);
	}
}
