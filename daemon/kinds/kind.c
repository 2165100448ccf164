/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "account.h"
#include "kind.h"

const char *stage_text(enum stage stage)
{
	return stage == STAGE_EARLY ? "early" : "deferred";
}

const char *share_reason_text(enum share_reason reason)
{
	static const char *const words[] = {
		[REASON_NONE] = "",
		[REASON_FRAGMENTED] = "fragmented",
		[REASON_NO_MEMORY] = "no-memory",
		[REASON_UNSUPPORTED] = "unsupported",
		[REASON_INTERRUPTED] = "interrupted",
		[REASON_RACED] = "raced",
		[REASON_EXCEEDS_RESERVE] = "exceeds-reserve",
		[REASON_CGROUP_LIMIT] = "cgroup-limit",
		[REASON_NOT_PERMITTED] = "not-permitted",
		[REASON_WRONG_NODE] = "wrong-node",
		[REASON_NOT_HUGE] = "not-huge",
		[REASON_POISONED] = "poisoned",
		[REASON_STALLED] = "stalled",
		[REASON_FAILED] = "failed",
		[REASON_BUSY] = "busy",
		[REASON_REFUSED] = "refused",
		[REASON_ZONE_MISMATCH] = "zone-mismatch",
		[REASON_UNSUPPORTED_ZONE] = "unsupported-zone",
		[REASON_GONE] = "gone",
		[REASON_OFFLINED] = "offlined",
		[REASON_CHANGING] = "changing",
		[REASON_UNREADABLE] = "unreadable",
		[REASON_NO_MOUNT] = "no-mount",
	};

	return (size_t) reason < ELEMENTS(words) ? words[reason] : "failed";
}

static const struct kind_ops *kind_find(enum pool_kind kind)
{
	switch (kind) {
	case POOL_HUGETLB:
		return &hugetlb_ops;
	case POOL_REGION:
		return &region_ops;
	case POOL_BLOCK:
		return &block_ops;
	case POOL_REPLICA:
		return &replica_ops;
	}
	return NULL;
}

static struct page_account *account_among(struct share *const *shares, size_t nr_shares,
                                          uint64_t page_bytes)
{
	for (size_t i = 0; i < nr_shares; i++)
		if (shares[i] && shares[i]->account && shares[i]->page_bytes == page_bytes)
			return page_account_ref(shares[i]->account);
	return NULL;
}

/* What shares_new() was asked for, and has so far. */
struct making {
	const struct kind_context *context;
	const struct plan_node *node;
	struct share *const *present;
	size_t nr_present;
	struct share **shares;
	size_t nr_shares;
};

/* The account of this page size: of a share made just now, of one that is there, or a new one. */
static struct page_account *account_get(const struct making *making, uint64_t page_bytes)
{
	struct page_account *account = account_among(making->shares, making->nr_shares, page_bytes);

	if (account)
		return account;
	account = account_among(making->present, making->nr_present, page_bytes);
	if (account) {
		page_account_next_batch(account);
		return account;
	}
	return page_account_new(making->context, making->node->node_id, page_bytes,
	                        making->node->reserved_bytes);
}

static int share_make(const struct making *making, const struct plan_share *planned,
                      struct share **ret)
{
	const struct kind_context *context = making->context;
	const struct plan_node *node = making->node;
	const struct plan_pool *pool = planned->pool;
	const struct kind_ops *ops = kind_find(pool->kind);
	struct share *share;
	int r;

	if (!ops)
		return -EOPNOTSUPP;
	r = ops->share_new(&share);
	if (r < 0)
		return r;
	share->ops = ops;
	share->context = context;
	share->node_id = node->node_id;
	share->page = pool->page;
	share->page_bytes = pool->page_bytes;
	/* pool->region_bytes is of one node only; the unit is this share's own. */
	share->region_bytes = pool->kind == POOL_REGION ? planned->unit_bytes : 0;
	share->reserve_bytes = node->reserved_bytes;
	share->may_shrink = pool->may_shrink;
	share->is_locked = pool->is_locked;
	for (unsigned i = 0; i < NR_STAGES; i++) {
		share->parts[i].share = share;
		share->parts[i].stage = i;
	}
	share->parts[STAGE_EARLY].want_bytes = planned->early_bytes;
	share->parts[STAGE_DEFERRED].want_bytes = planned->deferred_bytes;
	r = ops->share_take ? ops->share_take(share, planned) : 0;
	if (r < 0) {
		ops->share_free(share);
		return r;
	}
	if (pool->page == PLAN_PAGE_HUGETLB) {
		share->account = account_get(making, pool->page_bytes);
		r = share->account ? page_account_join(share->account, share) : -ENOMEM;
		if (r < 0) {
			ops->share_free(share);
			return r;
		}
	}
	*ret = share;
	return 0;
}

int shares_new(const struct kind_context *context, const struct plan_node *node,
               struct share *const *present, size_t nr_present, struct share ***ret)
{
	struct making making = { context, node, present, nr_present, NULL, 0 };
	int r = 0;

	making.shares = calloc(node->nr_shares + 1, sizeof(struct share *));
	if (!making.shares)
		return -ENOMEM;
	for (; making.nr_shares < node->nr_shares && r == 0; making.nr_shares++) {
		const struct plan_share *planned = &node->shares[making.nr_shares];

		/* a share of links only has no bytes */
		if (planned->early_bytes > 0 || planned->deferred_bytes > 0 ||
		    planned->nr_copies > 0)
			r = share_make(&making, planned, &making.shares[making.nr_shares]);
	}
	if (r == 0) {
		*ret = making.shares;
		return 0;
	}
	for (size_t i = making.nr_shares; i > 0; i--)
		if (making.shares[i - 1])
			making.shares[i - 1]->ops->share_free(making.shares[i - 1]);
	free(making.shares);
	return r;
}
