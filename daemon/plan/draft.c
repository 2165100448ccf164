/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the configuration to nodes, pools and shares: what is asked for, nothing refused yet. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "draft.h"

#define DEFAULT_REGION_BYTES  GIB
#define DEFAULT_RESERVE_BYTES (256 * MIB)

static void declare_page(const struct machine *machine, const struct pool_config *config,
                         struct plan_pool *pool)
{
	/* Memory blocks and files have no page size of their own. */
	bool has_choice = config->kind == POOL_HUGETLB || config->kind == POOL_REGION;

	switch (has_choice ? config->page : POOL_PAGE_BASE) {
	case POOL_PAGE_BASE:
		pool->page = PLAN_PAGE_BASE;
		pool->page_bytes = machine->page_bytes;
		break;
	case POOL_PAGE_THP:
		pool->page = PLAN_PAGE_THP;
		pool->page_bytes = machine->thp_bytes;
		break;
	case POOL_PAGE_HUGE:
		pool->page = PLAN_PAGE_HUGETLB;
		pool->page_bytes = machine->huge_page_bytes;
		break;
	case POOL_PAGE_SIZE:
		pool->page_bytes = config->page_bytes;
		pool->page = config->page_bytes == machine->page_bytes ? PLAN_PAGE_BASE
		                                                       : PLAN_PAGE_HUGETLB;
		break;
	}
}

static enum original_refusal first_path_refusal(const struct originals *originals)
{
	for (size_t i = 0; i < originals->nr; i++)
		if (originals->files[i].refusal != ORIGINAL_ACCEPTED)
			return originals->files[i].refusal;
	return ORIGINAL_ACCEPTED;
}

static int declare_pools(struct draft *draft)
{
	struct plan *plan = draft->plan;

	plan->pools = calloc(draft->config->nr_pools + 1, sizeof(*plan->pools));
	draft->pools = calloc(draft->config->nr_pools + 1, sizeof(*draft->pools));
	if (!plan->pools || !draft->pools)
		return -ENOMEM;
	for (size_t i = 0; i < draft->config->nr_pools; i++) {
		const struct pool_config *config = &draft->config->pools[i];
		struct plan_pool *pool = &plan->pools[plan->nr_pools++];

		pool->name = strdup(config->name);
		pool->source = strdup(config->source ? config->source : "");
		if (!pool->name || !pool->source)
			return -ENOMEM;
		pool->kind = config->kind;
		pool->is_required = config->is_required;
		pool->may_shrink = config->may_shrink;
		pool->is_locked = config->is_locked;
		pool->can_reach_minimum = true;
		pool->nr_refused_paths = config->originals.nr_refused;
		pool->path_refusal = first_path_refusal(&config->originals);
		declare_page(draft->machine, config, pool);
	}
	return 0;
}

/* Ids that a pool names and the machine does not have. */
static int missing_node_ids(const struct draft *draft, struct idset *ret)
{
	for (size_t i = 0; i < draft->config->nr_pools; i++) {
		const struct pool_config *config = &draft->config->pools[i];
		int id;

		if (config->nodes != POOL_NODES_LIST)
			continue;
		for (id = idset_next(&config->node_list, 0); id >= 0;
		     id = idset_next(&config->node_list, (unsigned) id + 1)) {
			int r;

			if (machine_node(draft->machine, (unsigned) id))
				continue;
			r = idset_add(ret, (unsigned) id);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int declare_node(struct draft *draft, const struct machine_node *node)
{
	struct draft_node *left = &draft->nodes[draft->plan->nr_nodes];
	struct plan_node *planned = &draft->plan->nodes[draft->plan->nr_nodes++];

	planned->node_id = node->node_id;
	planned->exists = true;
	planned->helper_node_id = node->helper_node_id;
	planned->memory_bytes = node->memory_bytes;
	planned->mem_total_bytes = node->mem_total_bytes;
	planned->spanned_bytes = node->spanned_bytes;
	for (size_t i = 0; i < node->nr_candidates; i++)
		if (!node->candidates[i].is_online)
			planned->offline_bytes += draft->machine->block_bytes;
	for (size_t i = 0; i < draft->machine->nr_page_sizes; i++)
		left->pages_left_bytes[i] =
			bytes_mul(node->hugepages[i].nr_pages, draft->machine->page_sizes[i]);
	left->takers = calloc(node->nr_candidates + 1, sizeof(*left->takers));
	return left->takers ? idset_copy(machine_worker_cpus(draft->machine, node), &planned->cpus)
	                    : -ENOMEM;
}

static void declare_missing_node(struct draft *draft, unsigned node_id)
{
	struct plan_node *planned = &draft->plan->nodes[draft->plan->nr_nodes++];

	planned->node_id = node_id;
	planned->helper_node_id = -1;
}

/* Both the machine's nodes and the missing ones are ascending: merge them. */
static int declare_nodes(struct draft *draft)
{
	const struct machine *machine = draft->machine;
	scoped(idset_clear) struct idset missing = { .words = NULL };
	size_t nr_nodes;
	size_t i = 0;
	int id;
	int r = missing_node_ids(draft, &missing);

	if (r < 0)
		return r;
	nr_nodes = machine->nr_nodes + idset_nr(&missing);
	draft->plan->nodes = calloc(nr_nodes + 1, sizeof(*draft->plan->nodes));
	draft->nodes = calloc(nr_nodes + 1, sizeof(*draft->nodes));
	if (!draft->plan->nodes || !draft->nodes)
		return -ENOMEM;
	draft->nr_nodes = nr_nodes;
	id = idset_next(&missing, 0);
	while (i < machine->nr_nodes || id >= 0) {
		if (i == machine->nr_nodes ||
		    (id >= 0 && (unsigned) id < machine->nodes[i].node_id)) {
			declare_missing_node(draft, (unsigned) id);
			id = idset_next(&missing, (unsigned) id + 1);
			continue;
		}
		r = declare_node(draft, &machine->nodes[i++]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Memory for devices is left beside: what is lent of it must have somewhere to go on this node. */
static uint64_t reserve_bytes(const struct draft *draft, const struct plan_node *planned,
                              const struct machine_node *node)
{
	const struct daemon_config *config = &draft->config->daemon;
	uint64_t bytes =
		amount_bytes(config->reserve, planned->memory_bytes, draft->machine->page_bytes);

	if (!config->is_reserve_set)
		bytes = bytes_max(bytes, DEFAULT_RESERVE_BYTES);
	return bytes_min(bytes_add(bytes, node->device_bytes), planned->memory_bytes);
}

/* What the nodes have once their blocks have come, and what is set aside of it. */
static void size_nodes(struct draft *draft)
{
	const struct daemon_config *config = &draft->config->daemon;

	for (size_t i = 0; i < draft->nr_nodes; i++) {
		struct plan_node *planned = &draft->plan->nodes[i];

		if (!planned->exists)
			continue;
		planned->memory_bytes += planned->coming_bytes;
		planned->early_budget_bytes =
			plan_early_budget(planned->spanned_bytes, planned->memory_bytes,
		                          draft->machine->section_bytes,
		                          config->early_minimum_bytes, config->early_shift);
		planned->reserved_bytes = reserve_bytes(
			draft, planned, machine_node(draft->machine, planned->node_id));
		draft->nodes[i].left_bytes = planned->memory_bytes - planned->reserved_bytes;
		draft->nodes[i].budget_left_bytes = planned->early_budget_bytes;
	}
}

/* For kind block, a node has memory also where all of it is offline. */
static bool has_memory(const struct pool_config *config, const struct plan_node *planned,
                       const struct machine_node *node)
{
	return planned->memory_bytes > 0 || (config->kind == POOL_BLOCK && node->nr_candidates);
}

static bool is_wanted(const struct pool_config *config, const struct plan_node *planned,
                      const struct machine_node *node)
{
	switch (config->nodes) {
	case POOL_NODES_ALL:
		return node && has_memory(config, planned, node);
	case POOL_NODES_CPU:
		return node && has_memory(config, planned, node) && !idset_is_empty(&node->cpus);
	case POOL_NODES_LIST:
		return idset_has(&config->node_list, planned->node_id);
	}
	return false;
}

/* A region is RegionSize=, or 1 GiB, or the whole share where that is smaller; in whole pages. */
static uint64_t share_unit_bytes(const struct pool_config *config, uint64_t page_bytes,
                                 uint64_t asked_bytes)
{
	uint64_t region_bytes = config->region_bytes;

	if (config->kind != POOL_REGION)
		return page_bytes;
	if (!region_bytes)
		region_bytes = bytes_min(DEFAULT_REGION_BYTES, asked_bytes);
	return bytes_max(bytes_round_down(region_bytes, page_bytes), page_bytes);
}

void draft_set_minimum(struct draft_share *share, uint64_t whole_bytes, uint64_t page_bytes)
{
	struct amount minimum;

	/* rounded up: what is less than Minimum= must not pass for it */
	if (node_amount_get(&share->config->minimum, share->share.node_id, &minimum))
		share->share.minimum_bytes =
			bytes_min(bytes_round_up(amount_bytes(minimum, whole_bytes, page_bytes),
		                                 share->share.unit_bytes),
		                  share->share.declared_bytes);
}

static void declare_pages(const struct draft *draft, struct draft_share *draft_share,
                          struct plan_pool *pool, struct amount size)
{
	struct plan_share *share = &draft_share->share;
	const struct pool_config *config = draft_share->config;
	/*
	 * Pages that do not exist have no size; their shares are refused, but counted: to the base
	 * page, for a share smaller than such a page must not come to nothing and be complete.
	 */
	bool has_pages = draft_has_pages(draft->machine, pool);
	uint64_t page_bytes = pool->page_bytes ? pool->page_bytes : draft->machine->page_bytes;
	uint64_t memory_bytes = draft_share->plan_node->memory_bytes;
	uint64_t asked_bytes = amount_bytes(size, memory_bytes, page_bytes);

	share->unit_bytes = has_pages ? share_unit_bytes(config, page_bytes, asked_bytes)
	                              : draft->machine->page_bytes;
	share->declared_bytes = bytes_round_down(asked_bytes, share->unit_bytes);
	share->minimum_bytes = share->declared_bytes;
	draft_set_minimum(draft_share, memory_bytes, page_bytes);
	draft_share->asked_bytes = asked_bytes;
	draft_share->is_wanted = size.value > 0;
	if (config->kind == POOL_REGION && !pool->region_bytes && share->declared_bytes)
		pool->region_bytes = share->unit_bytes;
}

/* The share of @pool on one node, where there is to be one. */
static int declare_share(struct draft *draft, const struct pool_config *config,
                         struct plan_pool *pool, struct plan_node *planned)
{
	const struct machine_node *node = machine_node(draft->machine, planned->node_id);
	struct draft_share *share = &draft->shares[draft->nr_shares];
	struct amount size = { .value = 0 };
	bool has_size = node_amount_get(&config->size, planned->node_id, &size);
	bool needs_size = config->kind == POOL_HUGETLB || config->kind == POOL_REGION;
	int r = 0;

	if (!is_wanted(config, planned, node) || (needs_size && !has_size))
		return 0;
	draft->nr_shares++;
	share->config = config;
	share->plan_node = planned;
	share->node = node;
	share->share.pool = pool;
	share->share.node_id = planned->node_id;
	if (config->kind == POOL_BLOCK)
		draft_declare_blocks(draft, share);
	else if (config->kind == POOL_REPLICA)
		r = draft_declare_copies(draft, share);
	else
		declare_pages(draft, share, pool, size);
	share->granted_bytes = share->share.declared_bytes;
	return r;
}

static int compare_for_grant(const void *left, const void *right)
{
	const struct plan_share *a = &((const struct draft_share *) left)->share;
	const struct plan_share *b = &((const struct draft_share *) right)->share;

	if (a->pool->is_required != b->pool->is_required)
		return a->pool->is_required ? -1 : 1;
	if (a->pool->kind != b->pool->kind)
		return a->pool->kind < b->pool->kind ? -1 : 1;
	if (a->pool != b->pool)
		return strcmp(a->pool->name, b->pool->name);
	return a->node_id < b->node_id ? -1 : 1;
}

/* Those of kind block, or all others; in grant order with what is declared already. */
static int declare_shares(struct draft *draft, bool is_of_blocks)
{
	struct plan *plan = draft->plan;

	for (size_t i = 0; i < plan->nr_pools; i++) {
		const struct pool_config *config = &draft->config->pools[i];

		if ((config->kind == POOL_BLOCK) != is_of_blocks)
			continue;
		for (size_t j = 0; j < plan->nr_nodes; j++) {
			int r = declare_share(draft, config, &plan->pools[i], &plan->nodes[j]);

			if (r < 0)
				return r;
		}
	}
	qsort(draft->shares, draft->nr_shares, sizeof(*draft->shares), compare_for_grant);
	return 0;
}

static void find_shares_of_pools(struct draft *draft)
{
	for (size_t i = 0; i < draft->nr_shares; i++) {
		size_t index = (size_t) (draft->shares[i].share.pool - draft->plan->pools);
		struct draft_pool *pool = &draft->pools[index];

		if (pool->nr_shares++ == 0)
			pool->first = i;
	}
}

int draft_declare(struct draft *draft)
{
	int r = declare_pools(draft);

	if (r == 0)
		r = declare_nodes(draft);
	if (r < 0)
		return r;
	draft->shares = calloc(draft->plan->nr_pools * draft->nr_nodes + 1, sizeof(*draft->shares));
	if (!draft->shares)
		return -ENOMEM;
	/* Percentages of the others are of the memory that the blocks bring. */
	r = declare_shares(draft, true);
	if (r == 0)
		r = draft_take_blocks(draft);
	if (r < 0)
		return r;
	size_nodes(draft);
	r = declare_shares(draft, false);
	if (r < 0)
		return r;
	find_shares_of_pools(draft);
	return 0;
}
