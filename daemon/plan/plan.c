/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan as a whole: made, summed up, looked into, given back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "draft.h"

const char *plan_refusal_text(enum plan_refusal refusal)
{
	static const char *const words[] = {
		[PLAN_ACCEPTED] = "",
		[PLAN_NO_SUCH_NODE] = "no-such-node",
		[PLAN_MEMORYLESS_NODE] = "memoryless-node",
		[PLAN_UNSUPPORTED_SIZE] = "unsupported-size",
		[PLAN_OUTSIDE_CPUSET] = "outside-cpuset",
		[PLAN_NOT_PERMITTED] = "not-permitted",
		[PLAN_CGROUP_LIMIT] = "cgroup-limit",
		[PLAN_EXCEEDS_RESERVE] = "exceeds-reserve",
		[PLAN_NO_OFFLINE_MEMORY] = "no-offline-memory",
		[PLAN_UNSUPPORTED_ZONE] = "unsupported-zone",
		[PLAN_EXCEEDS_SIZE] = "exceeds-size",
	};

	return words[refusal];
}

/* Pools are an array in order of their names. */
static int compare_for_run(const void *left, const void *right)
{
	const struct plan_pool *a = ((const struct plan_share *) left)->pool;
	const struct plan_pool *b = ((const struct plan_share *) right)->pool;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->is_required != b->is_required)
		return a->is_required ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int place_shares(struct draft *draft)
{
	struct plan *plan = draft->plan;

	for (size_t i = 0; i < draft->nr_shares; i++)
		draft->shares[i].plan_node->nr_shares++;
	for (size_t i = 0; i < plan->nr_nodes; i++) {
		struct plan_node *node = &plan->nodes[i];

		node->shares = calloc(node->nr_shares + 1, sizeof(*node->shares));
		if (!node->shares)
			return -ENOMEM;
		node->nr_shares = 0;
	}
	for (size_t i = 0; i < draft->nr_shares; i++) {
		struct plan_node *node = draft->shares[i].plan_node;

		node->shares[node->nr_shares++] = draft->shares[i].share;
		/* handed on: the draft does not free them */
		draft->shares[i].share.blocks = NULL;
		draft->shares[i].share.copies = NULL;
	}
	for (size_t i = 0; i < plan->nr_nodes; i++)
		qsort(plan->nodes[i].shares, plan->nodes[i].nr_shares,
		      sizeof(*plan->nodes[i].shares), compare_for_run);
	return 0;
}

static void sum_pool(struct plan_pool *pool, const struct draft_share *share,
                     uint64_t *largest_bytes)
{
	const struct plan_share *part = &share->share;

	pool->minimum_bytes = bytes_add(pool->minimum_bytes, part->minimum_bytes);
	pool->declared_bytes = bytes_add(pool->declared_bytes, part->declared_bytes);
	pool->early_bytes += part->early_bytes;
	pool->deferred_bytes += part->deferred_bytes;
	if (share->granted_bytes < part->minimum_bytes || part->is_unmet)
		pool->can_reach_minimum = false;
	if (part->refusal != PLAN_ACCEPTED &&
	    (pool->refusal == PLAN_ACCEPTED || part->refused_bytes > *largest_bytes)) {
		pool->refusal = part->refusal;
		*largest_bytes = part->refused_bytes;
	}
}

/*
 * Early and deferred bytes are memory that exists; declared ones are what somebody wrote, and stop
 * at UINT64_MAX. What is refused is the difference, so that the account stays exact even there.
 */
static void sum_nodes(struct plan *plan)
{
	for (size_t i = 0; i < plan->nr_nodes; i++) {
		struct plan_node *node = &plan->nodes[i];

		node->unclaimed_bytes = node->memory_bytes - node->reserved_bytes;
		for (size_t j = 0; j < node->nr_shares; j++) {
			const struct plan_share *share = &node->shares[j];

			node->declared_bytes =
				bytes_add(node->declared_bytes, share->declared_bytes);
			node->early_bytes += share->early_bytes;
			node->deferred_bytes += share->deferred_bytes;
			if (share->pool->kind != POOL_BLOCK)
				node->unclaimed_bytes -= share->early_bytes + share->deferred_bytes;
		}
		node->refused_bytes =
			node->declared_bytes - node->early_bytes - node->deferred_bytes;
		plan->declared_bytes = bytes_add(plan->declared_bytes, node->declared_bytes);
		plan->early_bytes += node->early_bytes;
		plan->deferred_bytes += node->deferred_bytes;
	}
	plan->refused_bytes = plan->declared_bytes - plan->early_bytes - plan->deferred_bytes;
}

/* Whether a pool that declares nothing was meant to be something: Size=0 is not. */
static bool is_pool_empty(const struct draft *draft, size_t pool)
{
	const struct draft_share *first = &draft->shares[draft->pools[pool].first];
	const struct draft_share *end = first + draft->pools[pool].nr_shares;
	const struct originals *originals = &draft->config->pools[pool].originals;

	if (draft->plan->pools[pool].declared_bytes > 0)
		return false;
	/* Files that are empty, and links, declare nothing and are something. */
	if (draft->plan->pools[pool].kind == POOL_REPLICA && originals->nr == originals->nr_refused)
		return true;
	for (const struct draft_share *share = first; share < end; share++)
		if (share->is_wanted)
			return true;
	return first == end;
}

int draft_settle(struct draft *draft)
{
	struct plan *plan = draft->plan;
	uint64_t largest_bytes = 0; /* refused share of the pool at hand */
	int r;

	for (size_t i = 0; i < draft->nr_shares; i++) {
		struct plan_share *share = &draft->shares[i].share;

		share->is_unmet = draft->shares[i].is_wanted && share->declared_bytes == 0 &&
		                  share->refusal != PLAN_ACCEPTED;
	}
	r = place_shares(draft);
	if (r < 0)
		return r;
	for (size_t i = 0; i < draft->nr_shares; i++) {
		const struct plan_share *share = &draft->shares[i].share;

		sum_pool(&plan->pools[share->pool - plan->pools], &draft->shares[i],
		         &largest_bytes);
	}
	for (size_t i = 0; i < plan->nr_pools; i++) {
		struct plan_pool *pool = &plan->pools[i];

		pool->refused_bytes =
			pool->declared_bytes - pool->early_bytes - pool->deferred_bytes;
		pool->is_empty = is_pool_empty(draft, i);
		if (pool->is_empty)
			pool->can_reach_minimum = false;
	}
	sum_nodes(plan);
	plan->is_anything_refused_by_file = draft->config->is_anything_refused;
	return 0;
}

static void draft_clear(struct draft *draft)
{
	for (size_t i = 0; i < draft->nr_shares; i++) {
		free(draft->shares[i].share.blocks);
		free(draft->shares[i].share.copies);
	}
	for (size_t i = 0; i < draft->nr_nodes; i++)
		free(draft->nodes[i].takers);
	draft->plan = plan_free(draft->plan);
	free(draft->shares);
	free(draft->pools);
	free(draft->nodes);
}

int plan_make(const struct machine *machine, const struct config *config, struct plan **ret)
{
	scoped(draft_clear) struct draft draft = { .machine = machine, .config = config };
	int r;

	draft.plan = calloc(1, sizeof(*draft.plan));
	if (!draft.plan)
		return -ENOMEM;
	r = draft_declare(&draft);
	if (r < 0)
		return r;
	draft_grant(&draft);
	draft_split(&draft);
	r = draft_settle(&draft);
	if (r < 0)
		return r;
	r = draft_notice(&draft);
	if (r < 0)
		return r;
	*ret = take(draft.plan);
	return 0;
}

struct plan *plan_free(struct plan *plan)
{
	if (!plan)
		return NULL;
	for (size_t i = 0; i < plan->nr_nodes; i++) {
		idset_clear(&plan->nodes[i].cpus);
		/* without shares: memory ran out while they were placed */
		for (size_t j = 0; plan->nodes[i].shares && j < plan->nodes[i].nr_shares; j++) {
			free(plan->nodes[i].shares[j].blocks);
			free(plan->nodes[i].shares[j].copies);
		}
		free(plan->nodes[i].shares);
	}
	for (size_t i = 0; i < plan->nr_pools; i++) {
		free(plan->pools[i].name);
		free(plan->pools[i].source);
	}
	for (size_t i = 0; i < plan->nr_warnings; i++)
		free(plan->warnings[i]);
	free(plan->nodes);
	free(plan->pools);
	free(plan->warnings);
	free(plan);
	return NULL;
}

const struct plan_node *plan_node(const struct plan *plan, unsigned node_id)
{
	for (size_t i = 0; i < plan->nr_nodes; i++)
		if (plan->nodes[i].node_id == node_id)
			return &plan->nodes[i];
	return NULL;
}

const struct plan_pool *plan_pool(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->nr_pools; i++)
		if (strcmp(plan->pools[i].name, name) == 0)
			return &plan->pools[i];
	return NULL;
}

size_t plan_share_nr_linked(const struct plan_share *share)
{
	size_t nr = 0;

	for (size_t i = 0; i < share->nr_copies; i++)
		nr += share->copies[i].is_linked;
	return nr;
}

int plan_exit_code(const struct plan *plan)
{
	if (plan->is_anything_refused_by_file)
		return 2;
	for (size_t i = 0; i < plan->nr_pools; i++)
		if (plan->pools[i].is_required && !plan->pools[i].can_reach_minimum)
			return 1;
	return 0;
}
