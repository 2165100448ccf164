/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether what is said to be in service still is: others take huge pages and memory away. */
#include "kinds/region.h"
#include "machine/hugepages.h"
#include "pieces.h"

/* Pages of one size that the node's shares have in service, in kind hugetlb and as regions. */
static uint64_t pages_in_service(const struct inventory *inventory, unsigned node_id,
                                 uint64_t page_bytes)
{
	uint64_t done_bytes = 0;
	struct run_status run;

	for (size_t i = 0; i < inventory->nr_pools; i++) {
		const struct managed_share *share =
			managed_pool_share(&inventory->pools[i], node_id);

		for (size_t k = 0; share && k < share->nr_pieces; k++) {
			const struct piece *piece = &share->pieces[k];

			if (!piece->share->account || piece->share->page_bytes != page_bytes)
				continue;
			run_read(piece->run, &run);
			done_bytes += run.share.done_bytes;
		}
	}
	return done_bytes / page_bytes;
}

static bool is_pool_lowered(const struct inventory *inventory, struct kernel *kernel,
                            unsigned node_id, uint64_t page_bytes)
{
	struct hugepages_count count;

	return hugepages_read(kernel, node_id, page_bytes, &count) == 0 &&
	       bytes_left(count.nr_pages, count.surplus_pages) <
	               pages_in_service(inventory, node_id, page_bytes);
}

bool pieces_recheck(struct inventory *inventory, struct kernel *kernel)
{
	bool is_any_retried = false;

	for (size_t i = 0; i < inventory->nr_pools; i++) {
		struct managed_pool *pool = &inventory->pools[i];

		for (size_t k = 0; pool->kind == POOL_HUGETLB && k < pool->nr_shares; k++) {
			struct managed_share *share = &pool->shares[k];

			if (share->nr_pieces == 0 || !pieces_are_idle(share) ||
			    !is_pool_lowered(inventory, kernel, share->node_id, pool->page_bytes))
				continue;
			for (size_t n = 0; n < share->nr_pieces; n++)
				if (run_retry(share->pieces[n].run) == 0)
					managed_share_begin(share);
			is_any_retried |= share->has_new_work;
		}
	}
	return is_any_retried;
}

/* Have the share look at what it has, and its worker do what that takes. */
static void recheck_share(struct managed_share *share)
{
	for (size_t i = 0; i < share->nr_pieces; i++) {
		struct piece *piece = &share->pieces[i];
		const struct kind_ops *ops = piece->share->ops;

		bool may_be_had =
			share->detail.reason == REASON_NO_MOUNT ||
			(share->detail.reason == REASON_NOT_PERMITTED && !ops->share_recheck);

		if (!may_be_had && (!ops->share_recheck || ops->share_recheck(piece->share) == 0))
			continue;
		if (share_has_regions(piece->share)) {
			share->is_refilling |= run_refill(piece->run) == 0;
		} else if (run_retry(piece->run) == 0) {
			managed_share_begin(share);
		}
	}
}

void pieces_memory_left(struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->nr_pools; i++)
		for (size_t k = 0; k < inventory->pools[i].nr_shares; k++)
			inventory->pools[i].shares[k].is_recheck_due = true;
}

void pieces_memory_came(struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->nr_pools; i++)
		for (size_t k = 0; k < inventory->pools[i].nr_shares; k++) {
			struct managed_share *share = &inventory->pools[i].shares[k];

			if (share->detail.reason == REASON_NOT_PERMITTED ||
			    share->detail.reason == REASON_NO_MOUNT ||
			    (inventory->pools[i].kind == POOL_BLOCK &&
			     share->detail.nr_missing > 0))
				share->is_recheck_due = true;
		}
}

bool pieces_are_walk_due(struct inventory *inventory, unsigned node_id)
{
	bool is_due = false;

	for (size_t i = 0; i < inventory->nr_pools; i++) {
		struct managed_pool *pool = &inventory->pools[i];
		const struct managed_share *share = managed_pool_share(pool, node_id);

		if (pool->kind != POOL_BLOCK || !share)
			continue;
		if (!pieces_are_idle(share))
			return false;
		is_due |= share->is_walk_due;
	}
	return is_due;
}

bool pieces_recheck_left(struct inventory *inventory)
{
	bool is_any_seen = false;

	for (size_t i = 0; i < inventory->nr_pools; i++)
		for (size_t k = 0; k < inventory->pools[i].nr_shares; k++) {
			struct managed_share *share = &inventory->pools[i].shares[k];

			if (!share->is_recheck_due || !pieces_are_idle(share))
				continue;
			share->is_recheck_due = false;
			recheck_share(share);
			is_any_seen = true;
		}
	return is_any_seen;
}
