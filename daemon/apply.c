/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply.h"
#include "pieces.h"

static bool is_same_pool(const struct managed_pool *pool, const struct plan_pool *planned)
{
	return pool->kind == planned->kind && pool->page == planned->page &&
	       pool->page_bytes == planned->page_bytes && pool->is_locked == planned->is_locked;
}

static const struct plan_share *find_planned(const struct plan *plan, const char *pool,
                                             unsigned node_id)
{
	const struct plan_node *node = plan_node(plan, node_id);

	for (size_t i = 0; node && i < node->nr_shares; i++)
		if (strcmp(node->shares[i].pool->name, pool) == 0)
			return &node->shares[i];
	return NULL;
}

static int share_leave(struct inventory *inventory, const struct apply_setup *setup,
                       struct managed_share *share)
{
	int r = pieces_leave(inventory, share);

	if (r == 0)
		setup->share_goes(share, setup->arg);
	return r;
}

/* Shares that the plan does not have any more, or has in another shape. */
static int drop_shares(struct inventory *inventory, struct managed_pool *pool,
                       const struct apply_setup *setup)
{
	size_t nr_kept = 0;
	int r = 0;

	for (size_t i = 0; i < pool->nr_shares; i++) {
		struct managed_share *share = &pool->shares[i];
		const struct plan_share *planned =
			find_planned(setup->plan, pool->name, share->node_id);

		if (r == 0 && (!planned || planned->unit_bytes != share->unit_bytes)) {
			r = share_leave(inventory, setup, share);
			if (r == 0)
				continue;
		}
		pool->shares[nr_kept++] = *share;
	}
	pool->nr_shares = nr_kept;
	return r;
}

static int drop_pools(struct inventory *inventory, const struct apply_setup *setup)
{
	size_t nr_kept = 0;
	int r = 0;

	for (size_t i = 0; i < inventory->nr_pools; i++) {
		struct managed_pool *pool = &inventory->pools[i];
		const struct plan_pool *planned = plan_pool(setup->plan, pool->name);
		bool is_kept = planned && is_same_pool(pool, planned);

		if (is_kept) {
			if (r == 0)
				r = drop_shares(inventory, pool, setup);
		} else {
			for (size_t k = 0; k < pool->nr_shares && r == 0; k++)
				r = share_leave(inventory, setup, &pool->shares[k]);
			if (r == 0) {
				setup->pool_leaves(pool->name, setup->arg);
				free(pool->shares);
				free(pool->name);
				continue;
			}
		}
		inventory->pools[nr_kept++] = *pool;
	}
	inventory->nr_pools = nr_kept;
	return r;
}

static int compare_pools(const void *a, const void *b)
{
	const struct managed_pool *pool_a = a, *pool_b = b;

	return strcmp(pool_a->name, pool_b->name);
}

static int add_pools(struct inventory *inventory, const struct plan *plan)
{
	for (size_t i = 0; i < plan->nr_pools; i++) {
		const struct plan_pool *planned = &plan->pools[i];
		struct managed_pool *pool = inventory_pool(inventory, planned->name);

		if (!pool) {
			char *name = strdup(planned->name);

			if (!name)
				return -ENOMEM;
			pool = array_add((void **) &inventory->pools, &inventory->nr_pools,
			                 sizeof(*pool));
			if (!pool) {
				free(name);
				return -ENOMEM;
			}
			pool->name = name;
			pool->kind = planned->kind;
			pool->page = planned->page;
			pool->page_bytes = planned->page_bytes;
			pool->is_locked = planned->is_locked;
		}
		pool->is_required = planned->is_required;
		pool->region_bytes = planned->region_bytes;
		pool->is_empty = planned->is_empty;
		pool->nr_refused_paths = planned->nr_refused_paths;
		pool->path_refusal = planned->path_refusal;
	}
	if (inventory->nr_pools > 0)
		qsort(inventory->pools, inventory->nr_pools, sizeof(*inventory->pools),
		      compare_pools);
	return 0;
}

static int compare_shares(const void *a, const void *b)
{
	const struct managed_share *share_a = a, *share_b = b;

	return (share_a->node_id > share_b->node_id) - (share_a->node_id < share_b->node_id);
}

/* Whether what is refused may come by itself: memory and nodes are plugged in late
 * (SettleTimeout=). */
static bool is_awaited(const struct machine *machine, const struct plan_share *planned)
{
	switch (planned->refusal) {
	case PLAN_NO_SUCH_NODE:
		return idset_has(&machine->possible_nodes, planned->node_id);
	case PLAN_MEMORYLESS_NODE:
		return machine->block_bytes > 0;
	case PLAN_NO_OFFLINE_MEMORY:
		return true;
	default:
		return false;
	}
}

/* Goals of the shares as the plan has them; a share that got smaller has bytes to give back. */
static int update_shares(struct inventory *inventory, const struct apply_setup *setup,
                         const struct plan_node *node)
{
	for (size_t i = 0; i < node->nr_shares; i++) {
		const struct plan_share *planned = &node->shares[i];
		struct managed_pool *pool = inventory_pool(inventory, planned->pool->name);
		struct managed_share *share = managed_pool_share(pool, node->node_id);

		if (!share) {
			share = array_add((void **) &pool->shares, &pool->nr_shares,
			                  sizeof(*share));
			if (!share)
				return -ENOMEM;
			share->node_id = node->node_id;
			share->unit_bytes = planned->unit_bytes;
			share->keep_bytes = share->refill_usec = UINT64_MAX;
			qsort(pool->shares, pool->nr_shares, sizeof(*share), compare_shares);
			share = managed_pool_share(pool, node->node_id);
		}
		share->declared_bytes = planned->declared_bytes;
		share->early_bytes = planned->early_bytes;
		share->refused_bytes = planned->refused_bytes;
		share->minimum_bytes = planned->minimum_bytes;
		share->refusal = planned->refusal;
		share->is_unmet = planned->is_unmet;
		share->is_awaited = is_awaited(setup->machine, planned);
		share->keep_bytes = UINT64_MAX;
		/* lists are replaced as a whole: pieces_grow_node() */
		if (pool->kind != POOL_BLOCK && pool->kind != POOL_REPLICA &&
		    planned->early_bytes + planned->deferred_bytes < pieces_granted_bytes(share))
			share->keep_bytes = planned->early_bytes + planned->deferred_bytes;
	}
	return 0;
}

/* A worker keeps its CPUs while its threads run: what is shown is where it really is. */
static int update_cpus(struct managed_node *node, const struct plan_node *planned)
{
	char *cpus_text;
	int r = node->worker ? worker_set_cpus(node->worker, &planned->cpus) : 0;

	if (r < 0)
		return r == -EBUSY ? 0 : r;
	cpus_text = idset_text(&planned->cpus);
	if (!cpus_text)
		return -ENOMEM;
	if (!node->cpus_text || strcmp(node->cpus_text, cpus_text) != 0)
		node->is_helper_reported = false;
	free(node->cpus_text);
	node->cpus_text = cpus_text;
	node->helper_node_id = planned->helper_node_id;
	return 0;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct machine_block *block_a = a, *block_b = b;

	return (block_a->block > block_b->block) - (block_a->block < block_b->block);
}

static bool is_online(const struct machine_node *node, uint64_t block)
{
	const struct machine_block key = { .block = block };
	const struct machine_block *found =
		node->nr_candidates > 0 ? bsearch(&key, node->candidates, node->nr_candidates,
	                                          sizeof(key), compare_blocks)
					: NULL;

	return found && found->is_online;
}

/* Of the blocks that shares are about, those that are not online. */
static uint64_t nr_offline_in_shares(const struct machine_node *machine_node,
                                     const struct plan_node *planned)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < planned->nr_shares; i++)
		for (size_t k = 0; k < planned->shares[i].nr_blocks; k++)
			nr += !is_online(machine_node, planned->shares[i].blocks[k].block);
	return nr;
}

static int update_node(struct inventory *inventory, const struct machine *machine,
                       const struct plan_node *planned)
{
	const struct machine_node *found = machine_node(machine, planned->node_id);
	struct managed_node *node = inventory_node(inventory, planned->node_id);
	int r;

	if (!node) {
		node = array_add((void **) &inventory->nodes, &inventory->nr_nodes, sizeof(*node));
		if (!node)
			return -ENOMEM;
		node->node_id = planned->node_id;
		node->helper_node_id = -1;
		node->current_pool = "";
	}
	r = update_cpus(node, planned);
	if (r < 0)
		return r;
	node->memory_bytes = planned->memory_bytes;
	node->spanned_bytes = planned->spanned_bytes;
	node->early_budget_bytes = planned->early_budget_bytes;
	node->nr_blocks = found ? found->nr_blocks : 0;
	node->nr_online_blocks = found ? found->nr_online_blocks : 0;
	node->nr_refused_blocks = found ? nr_offline_in_shares(found, planned) : 0;
	return 0;
}

static bool is_node_in_use(const struct inventory *inventory, const struct managed_node *node)
{
	for (size_t i = 0; i < inventory->nr_leaving; i++)
		if (inventory->leaving[i].worker == node->worker)
			return true;
	for (size_t i = 0; i < inventory->nr_pools; i++) {
		const struct managed_share *share =
			managed_pool_share(&inventory->pools[i], node->node_id);

		if (share && share->nr_pieces > 0)
			return true;
	}
	return node->worker_status.is_running;
}

/* Nodes that the machine does not have any more: see apply_drop_nodes(). */
static void mark_nodes(struct inventory *inventory, const struct plan *plan)
{
	for (size_t i = 0; i < inventory->nr_nodes; i++) {
		struct managed_node *node = &inventory->nodes[i];
		const struct plan_node *planned = plan_node(plan, node->node_id);

		node->is_gone = !planned || !planned->exists;
	}
}

void apply_drop_nodes(struct inventory *inventory, void (*node_leaves)(unsigned node_id, void *arg),
                      void *arg)
{
	size_t nr_kept = 0;

	for (size_t i = 0; i < inventory->nr_nodes; i++) {
		struct managed_node *node = &inventory->nodes[i];

		if (!node->is_gone || is_node_in_use(inventory, node)) {
			inventory->nodes[nr_kept++] = *node;
			continue;
		}
		node_leaves(node->node_id, arg);
		worker_freep(&node->worker);
		free(node->cpus_text);
	}
	inventory->nr_nodes = nr_kept;
}

int apply_plan(struct inventory *inventory, const struct apply_setup *setup)
{
	const struct plan *plan = setup->plan;
	int r;

	r = drop_pools(inventory, setup);
	if (r == 0)
		r = add_pools(inventory, plan);
	for (size_t i = 0; i < plan->nr_nodes && r == 0; i++)
		if (plan->nodes[i].exists)
			r = update_node(inventory, setup->machine, &plan->nodes[i]);
	for (size_t i = 0; i < plan->nr_nodes && r == 0; i++)
		r = update_shares(inventory, setup, &plan->nodes[i]);
	for (size_t i = 0; i < plan->nr_nodes && r == 0; i++)
		r = plan->nodes[i].exists ? pieces_grow_node(inventory, &plan->nodes[i], setup)
		                          : pieces_leave_node(inventory, plan->nodes[i].node_id);
	if (r < 0)
		return r;

	(void) inventory_clear_leaving(inventory);
	mark_nodes(inventory, plan);
	apply_drop_nodes(inventory, setup->node_leaves, setup->arg);
	pieces_give_back(inventory);
	return pieces_start(inventory);
}
