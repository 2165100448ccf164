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
	default:
		return NULL;
	}
}

/* The account that an earlier share of the node has for this page size, or a new one. */
static struct page_account *account_get(const struct kind_context *context,
                                        const struct plan_node *node, struct share *const *shares,
                                        size_t nr_shares, uint64_t page_bytes)
{
	for (size_t i = 0; i < nr_shares; i++)
		if (shares[i] && shares[i]->account && shares[i]->page_bytes == page_bytes)
			return page_account_ref(shares[i]->account);
	return page_account_new(context, node->node_id, page_bytes, node->reserved_bytes);
}

static int share_make(const struct kind_context *context, const struct plan_node *node,
                      const struct plan_share *planned, struct share *const *shares,
                      size_t nr_shares, struct share **ret)
{
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
	if (pool->page == PLAN_PAGE_HUGETLB) {
		share->account = account_get(context, node, shares, nr_shares, pool->page_bytes);
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
               struct share ***ret)
{
	struct share **shares = calloc(node->nr_shares + 1, sizeof(*shares));
	int r;

	if (!shares)
		return -ENOMEM;
	for (size_t i = 0; i < node->nr_shares; i++) {
		const struct plan_share *planned = &node->shares[i];

		if (planned->early_bytes == 0 && planned->deferred_bytes == 0)
			continue;
		r = share_make(context, node, planned, shares, i, &shares[i]);
		if (r < 0) {
			for (size_t j = i; j > 0; j--)
				if (shares[j - 1])
					shares[j - 1]->ops->share_free(shares[j - 1]);
			free(shares);
			return r;
		}
	}
	*ret = shares;
	return 0;
}
