/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which memory blocks the shares of kind block get, and what the nodes will have by them. */
#include <errno.h>
#include <stdlib.h>

#include "draft.h"

void draft_declare_blocks(const struct draft *draft, struct draft_share *share)
{
	const struct machine *machine = draft->machine;
	size_t nr_candidates = share->node ? share->node->nr_candidates : 0;
	uint64_t whole_bytes = bytes_mul(nr_candidates, machine->block_bytes);
	uint64_t page_bytes = machine->page_bytes;
	struct amount size;

	if (!node_amount_get(&share->config->size, share->share.node_id, &size))
		size = (struct amount){ AMOUNT_PERCENT, 100 * 100 };
	share->share.unit_bytes = machine->block_bytes ? machine->block_bytes : page_bytes;
	share->asked_bytes = amount_bytes(size, whole_bytes, page_bytes);
	share->share.declared_bytes = bytes_round_down(share->asked_bytes, share->share.unit_bytes);
	share->share.minimum_bytes = share->share.declared_bytes;
	draft_set_minimum(share, whole_bytes, page_bytes);
	/* A part of nothing is had already. That of a node that is not there is not known. */
	share->is_wanted = size.value > 0 &&
	                   (size.unit != AMOUNT_PERCENT || nr_candidates > 0 || !share->node);
}

/* In the wrong zone or not, what is online is not ours to move; the kind tells. */
static bool is_fit(const struct machine_block *block, enum pool_zone zone)
{
	if (block->is_online)
		return true;
	switch (zone) {
	case POOL_ZONE_AUTO:
		return block->zones != 0;
	case POOL_ZONE_KERNEL:
		return block->zones & MACHINE_ZONE_KERNEL;
	case POOL_ZONE_MOVABLE:
		return block->zones & MACHINE_ZONE_MOVABLE;
	}
	return false;
}

/* Those that are needed for what can be nowhere else, such as DMA. */
static bool is_kernel_only(const struct machine_block *block)
{
	return !block->is_online && block->zones == MACHINE_ZONE_KERNEL;
}

/*
 * Let @share have up to @nr_wanted blocks that nobody has, the lowest ones: which ones these are
 * must not depend on where a block could go, for that is another thing once it is online.
 * Return: how many; those that were passed over for their zone in *ret_nr_unfit.
 */
static size_t take_lowest(struct draft *draft, const struct draft_share *share, uint64_t nr_wanted,
                          size_t *ret_nr_unfit)
{
	const struct plan_pool **takers = draft_node_of(draft, share)->takers;
	size_t nr_unfit = 0;
	size_t nr = 0;

	for (size_t i = 0; i < share->node->nr_candidates && nr < nr_wanted; i++) {
		const struct machine_block *block = &share->node->candidates[i];

		if (takers[i])
			continue;
		if (!is_fit(block, share->config->zone)) {
			nr_unfit++;
			continue;
		}
		takers[i] = share->share.pool;
		if (!block->is_online && !block->is_given_up)
			share->plan_node->coming_bytes += draft->machine->block_bytes;
		nr++;
	}
	*ret_nr_unfit = nr_unfit;
	return nr;
}

/* Put the blocks that @share took into its list: those of a kernel zone only, or the others. */
static void list_blocks(struct draft *draft, struct draft_share *share, bool is_of_kernel_only)
{
	const struct plan_pool *const *takers = draft_node_of(draft, share)->takers;

	for (size_t i = 0; i < share->node->nr_candidates; i++) {
		const struct machine_block *block = &share->node->candidates[i];

		if (takers[i] == share->share.pool && is_kernel_only(block) == is_of_kernel_only)
			share->share.blocks[share->share.nr_blocks++] =
				(struct plan_block){ block->block, share->config->zone };
	}
}

/*
 * Mems_allowed does not matter here: onlining is done to the node, not taken from it, and memory
 * that our cpuset does not allow is still there for others.
 */
static int take_for_share(struct draft *draft, struct draft_share *share)
{
	uint64_t unit_bytes = share->share.unit_bytes;
	uint64_t nr_wanted = share->share.declared_bytes / unit_bytes;
	uint64_t nr_missing;
	size_t nr_unfit;
	size_t nr = take_lowest(draft, share, nr_wanted, &nr_unfit);

	share->share.blocks = calloc(nr + 1, sizeof(*share->share.blocks));
	if (!share->share.blocks)
		return -ENOMEM;
	list_blocks(draft, share, true);
	share->must_early_bytes = bytes_mul(share->share.nr_blocks, unit_bytes);
	list_blocks(draft, share, false);
	nr_missing = nr_wanted - nr;
	if (nr_missing && nr_unfit)
		draft_refuse(share, bytes_min(nr_unfit, nr_missing) * unit_bytes,
		             PLAN_UNSUPPORTED_ZONE);
	if (nr_missing > nr_unfit)
		draft_refuse(share, (nr_missing - nr_unfit) * unit_bytes, PLAN_NO_OFFLINE_MEMORY);
	return 0;
}

int draft_take_blocks(struct draft *draft)
{
	for (size_t i = 0; i < draft->nr_shares; i++) {
		struct draft_share *share = &draft->shares[i];
		int r;

		if (!share->node) {
			draft_refuse(share, share->granted_bytes, PLAN_NO_SUCH_NODE);
			continue;
		}
		r = take_for_share(draft, share);
		if (r < 0)
			return r;
	}
	return 0;
}
