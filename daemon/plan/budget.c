/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The early budget of a node, and how its shares divide it. */
#include "draft.h"

uint64_t plan_early_budget(uint64_t spanned_bytes, uint64_t memory_bytes, uint64_t section_bytes,
                           uint64_t early_minimum_bytes, unsigned early_shift)
{
	uint64_t budget_bytes = bytes_max(early_minimum_bytes, spanned_bytes >> early_shift);

	return bytes_min(bytes_round_up(budget_bytes, section_bytes), memory_bytes);
}

/* What a share of @granted_bytes is to have early, whatever the budget says. */
static uint64_t explicit_bytes(const struct draft_share *share)
{
	const struct pool_config *config = share->config;

	if (config->early == POOL_EARLY_NONE)
		return 0;
	if (config->early == POOL_EARLY_ALL)
		return share->granted_bytes;
	return amount_bytes(config->early_amount, share->granted_bytes,
	                    share->share.pool->page_bytes);
}

/* @budget_bytes in proportion to the share's part of @all_bytes, rounded up. */
static uint64_t part_bytes(uint64_t budget_bytes, uint64_t granted_bytes, uint64_t all_bytes)
{
	unsigned __int128 product = (unsigned __int128) budget_bytes * granted_bytes;

	return (uint64_t) ((product + all_bytes - 1) / all_bytes);
}

static void set_early(struct draft_share *share, uint64_t early_bytes)
{
	share->share.early_bytes = bytes_min(bytes_round_up(early_bytes, share->share.unit_bytes),
	                                     share->granted_bytes);
	share->share.deferred_bytes = share->granted_bytes - share->share.early_bytes;
}

void draft_split(struct draft *draft)
{
	struct draft_share *end = draft->shares + draft->nr_shares;

	/* What is early on request counts against the budget before the others divide it. */
	for (struct draft_share *share = draft->shares; share < end; share++) {
		struct draft_node *node = draft_node_of(draft, share);

		/* Blocks for what must be in a kernel zone are early on the kernel's request. */
		if (share->config->early == POOL_EARLY_AUTO) {
			node->auto_bytes += share->granted_bytes - share->must_early_bytes;
			set_early(share, share->must_early_bytes);
		} else {
			set_early(share, bytes_max(explicit_bytes(share), share->must_early_bytes));
		}
		node->budget_left_bytes =
			bytes_left(node->budget_left_bytes, share->share.early_bytes);
	}
	for (struct draft_share *share = draft->shares; share < end; share++) {
		struct draft_node *node = draft_node_of(draft, share);
		/* Where there is more budget than memory to have early, all of it is. */
		uint64_t budget_bytes = bytes_min(node->budget_left_bytes, node->auto_bytes);

		uint64_t auto_bytes = share->granted_bytes - share->must_early_bytes;

		if (share->config->early == POOL_EARLY_AUTO && auto_bytes)
			set_early(share,
			          share->must_early_bytes +
			                  part_bytes(budget_bytes, auto_bytes, node->auto_bytes));
	}
}
