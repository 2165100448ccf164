/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apply.h"

/* Within a node the gain flattens after a few threads and can turn round (PERFORMANCE). */
#define THREADS_AUTO_MAX 16

unsigned apply_threads(const struct daemon_config *config, size_t nr_cpus)
{
	uint64_t nr = nr_cpus;

	switch (config->threads_unit) {
	case THREADS_NUMBER:
		nr = config->threads;
		break;
	case THREADS_PERCENT:
		nr = nr_cpus * config->threads / 100;
		break;
	case THREADS_AUTO:
		nr = nr_cpus < THREADS_AUTO_MAX ? nr_cpus : THREADS_AUTO_MAX;
		break;
	}
	return nr ? (unsigned) nr : 1;
}

static uint64_t piece_bytes(const struct piece *piece)
{
	return piece->want_bytes[STAGE_EARLY] + piece->want_bytes[STAGE_DEFERRED];
}

static uint64_t share_granted_bytes(const struct managed_share *share)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < share->nr_pieces; i++)
		bytes += piece_bytes(&share->pieces[i]);
	return bytes;
}

/* Room for one more of @item_bytes in an array that grows by one. Return: it, zeroed; or NULL. */
static void *array_add(void **array, size_t *nr, size_t item_bytes)
{
	void *grown = reallocarray(*array, *nr + 1, item_bytes);
	void *item;

	if (!grown)
		return NULL;
	*array = grown;
	item = (char *) grown + *nr * item_bytes;
	memset(item, 0, item_bytes);
	(*nr)++;
	return item;
}

/* Cancel all pieces of a share and put them on their way out. */
static int share_leave(struct inventory *inventory, struct managed_share *share)
{
	struct managed_node *node = inventory_node(inventory, share->node_id);

	while (share->nr_pieces > 0) {
		struct leaving *leaving = array_add((void **) &inventory->leaving,
		                                    &inventory->nr_leaving, sizeof(*leaving));

		if (!leaving)
			return -ENOMEM;
		leaving->worker = node->worker;
		leaving->piece = share->pieces[--share->nr_pieces];
		run_cancel(leaving->piece.run);
	}
	free(share->pieces);
	share->pieces = NULL;
	return 0;
}

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

/* Shares that the plan does not have any more, or has in another shape. */
static int drop_shares(struct inventory *inventory, struct managed_pool *pool,
                       const struct plan *plan)
{
	size_t nr_kept = 0;
	int r = 0;

	for (size_t i = 0; i < pool->nr_shares; i++) {
		struct managed_share *share = &pool->shares[i];
		const struct plan_share *planned = find_planned(plan, pool->name, share->node_id);

		if (r == 0 && (!planned || planned->unit_bytes != share->unit_bytes)) {
			r = share_leave(inventory, share);
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
				r = drop_shares(inventory, pool, setup->plan);
		} else {
			for (size_t k = 0; k < pool->nr_shares && r == 0; k++)
				r = share_leave(inventory, &pool->shares[k]);
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

/* Goals of the shares as the plan has them; a share that got smaller has bytes to give back. */
static int update_shares(struct inventory *inventory, const struct plan_node *node)
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
			share->keep_bytes = UINT64_MAX;
			qsort(pool->shares, pool->nr_shares, sizeof(*share), compare_shares);
			share = managed_pool_share(pool, node->node_id);
		}
		share->declared_bytes = planned->declared_bytes;
		share->early_bytes = planned->early_bytes;
		share->refused_bytes = planned->refused_bytes;
		share->minimum_bytes = planned->minimum_bytes;
		share->refusal = planned->refusal;
		share->keep_bytes = UINT64_MAX;
		if (planned->early_bytes + planned->deferred_bytes < share_granted_bytes(share))
			share->keep_bytes = planned->early_bytes + planned->deferred_bytes;
	}
	return 0;
}

static int update_node(struct inventory *inventory, const struct plan_node *planned)
{
	struct managed_node *node = inventory_node(inventory, planned->node_id);
	char *cpus_text = idset_text(&planned->cpus);

	if (!cpus_text)
		return -ENOMEM;
	if (!node) {
		node = array_add((void **) &inventory->nodes, &inventory->nr_nodes, sizeof(*node));
		if (!node) {
			free(cpus_text);
			return -ENOMEM;
		}
		node->node_id = planned->node_id;
		node->current_pool = "";
	}
	free(node->cpus_text);
	node->cpus_text = cpus_text;
	node->helper_node_id = planned->helper_node_id;
	node->memory_bytes = planned->memory_bytes;
	node->spanned_bytes = planned->spanned_bytes;
	node->early_budget_bytes = planned->early_budget_bytes;
	return 0;
}

/* Leave in @delta only what the node's shares do not have yet. Return: whether that is anything. */
static bool subtract_present(struct inventory *inventory, struct plan_node *delta)
{
	bool is_anything = false;

	for (size_t i = 0; i < delta->nr_shares; i++) {
		struct plan_share *want = &delta->shares[i];
		struct managed_share *share = managed_pool_share(
			inventory_pool(inventory, want->pool->name), delta->node_id);
		uint64_t had_early = 0, had_bytes = share_granted_bytes(share), more;

		for (size_t k = 0; k < share->nr_pieces; k++)
			had_early += share->pieces[k].want_bytes[STAGE_EARLY];
		more = bytes_left(want->early_bytes + want->deferred_bytes, had_bytes);
		want->early_bytes = bytes_min(more, bytes_left(want->early_bytes, had_early));
		want->deferred_bytes = more - want->early_bytes;
		is_anything |= more > 0;
	}
	return is_anything;
}

static int make_worker(struct managed_node *node, const struct plan_node *planned,
                       const struct apply_setup *setup)
{
	struct worker_setup worker_setup = {
		.node_id = node->node_id,
		.cpus = &planned->cpus,
		.nr_threads = apply_threads(setup->config, idset_nr(&planned->cpus)),
		.backoff_usec = setup->backoff_usec,
		.bell = setup->bell,
		.arg = setup->arg,
	};

	int r;

	if (node->worker)
		return 0;
	r = worker_new(&worker_setup, &node->worker);
	if (r == 0 && setup->is_paused)
		worker_pause(node->worker);
	return r;
}

/* All that the node has, also what is on its way out. The caller frees the array. */
static int present_shares(const struct inventory *inventory, const struct managed_node *node,
                          struct share ***ret, size_t *ret_nr)
{
	struct share **present = NULL, **slot;
	size_t nr = 0;

	for (size_t i = 0; i < inventory->nr_pools; i++) {
		const struct managed_share *share =
			managed_pool_share(&inventory->pools[i], node->node_id);

		for (size_t k = 0; share && k < share->nr_pieces; k++) {
			slot = array_add((void **) &present, &nr, sizeof(*slot));
			if (!slot)
				goto out_of_memory;
			*slot = share->pieces[k].share;
		}
	}
	for (size_t i = 0; i < inventory->nr_leaving; i++) {
		if (inventory->leaving[i].worker != node->worker)
			continue;
		slot = array_add((void **) &present, &nr, sizeof(*slot));
		if (!slot)
			goto out_of_memory;
		*slot = inventory->leaving[i].piece.share;
	}
	*ret = present;
	*ret_nr = nr;
	return 0;

out_of_memory:
	free(present);
	return -ENOMEM;
}

/* Give one new share to the node's worker. Takes over @share, also on error. */
static int add_piece(struct inventory *inventory, struct managed_node *node,
                     const struct plan_share *want, struct share *share)
{
	struct managed_share *managed =
		managed_pool_share(inventory_pool(inventory, want->pool->name), node->node_id);
	struct piece piece = {
		.share = share,
		.want_bytes = { want->early_bytes, want->deferred_bytes },
	};
	struct piece *slot;
	int r;

	slot = array_add((void **) &managed->pieces, &managed->nr_pieces, sizeof(*slot));
	if (!slot) {
		share->ops->share_free(share);
		return -ENOMEM;
	}
	r = worker_add(node->worker, share, piece_bytes(&piece), 0, &piece.run);
	if (r < 0) {
		managed->nr_pieces--;
		share->ops->share_free(share);
		return r;
	}
	*slot = piece;
	return 0;
}

static int grow_node(struct inventory *inventory, const struct plan_node *planned,
                     const struct apply_setup *setup)
{
	struct managed_node *node = inventory_node(inventory, planned->node_id);
	scoped(freep) struct plan_share *wants = NULL;
	scoped(freep) struct share **shares = NULL, **present = NULL;
	size_t nr_present;
	struct plan_node delta = *planned;
	int r;

	wants = calloc(planned->nr_shares + 1, sizeof(*wants));
	if (!wants)
		return -ENOMEM;
	if (planned->nr_shares > 0)
		memcpy(wants, planned->shares, planned->nr_shares * sizeof(*wants));
	delta.shares = wants;
	if (!subtract_present(inventory, &delta))
		return 0;

	r = make_worker(node, planned, setup);
	if (r < 0)
		return r;
	r = present_shares(inventory, node, &present, &nr_present);
	if (r < 0)
		return r;
	r = shares_new(setup->context, &delta, present, nr_present, &shares);
	if (r < 0)
		return r;
	for (size_t i = 0; i < delta.nr_shares; i++) {
		if (!shares[i])
			continue;
		if (r == 0)
			r = add_piece(inventory, node, &delta.shares[i], shares[i]);
		else
			shares[i]->ops->share_free(shares[i]);
	}
	return r;
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
			r = update_node(inventory, &plan->nodes[i]);
	for (size_t i = 0; i < plan->nr_nodes && r == 0; i++)
		r = update_shares(inventory, &plan->nodes[i]);
	for (size_t i = 0; i < plan->nr_nodes && r == 0; i++)
		if (plan->nodes[i].exists)
			r = grow_node(inventory, &plan->nodes[i], setup);
	if (r < 0)
		return r;

	(void) inventory_clear_leaving(inventory);
	apply_pending_shrinks(inventory);
	for (size_t i = 0; i < inventory->nr_nodes && r == 0; i++)
		if (inventory->nodes[i].worker)
			r = worker_start(inventory->nodes[i].worker);
	return r;
}

/* Take @give_bytes back from the pieces of an idle share, the newest first. */
static void share_give_back(struct managed_share *share, uint64_t give_bytes)
{
	for (size_t i = share->nr_pieces; i-- > 0 && give_bytes > 0;) {
		struct piece *piece = &share->pieces[i];
		uint64_t give = bytes_min(give_bytes, piece_bytes(piece));
		uint64_t deferred = bytes_min(give, piece->want_bytes[STAGE_DEFERRED]);

		if (run_shrink(piece->run, piece_bytes(piece) - give, piece_bytes(piece) - give,
		               0) < 0)
			return;
		piece->want_bytes[STAGE_DEFERRED] -= deferred;
		piece->want_bytes[STAGE_EARLY] -= give - deferred;
		give_bytes -= give;
	}
}

void apply_pending_shrinks(struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->nr_pools; i++) {
		struct managed_pool *pool = &inventory->pools[i];

		for (size_t k = 0; k < pool->nr_shares; k++) {
			struct managed_share *share = &pool->shares[k];
			struct managed_node *node = inventory_node(inventory, share->node_id);
			bool is_idle = true;

			if (share->keep_bytes == UINT64_MAX)
				continue;
			for (size_t n = 0; n < share->nr_pieces; n++)
				is_idle &= run_is_idle(share->pieces[n].run);
			if (!is_idle)
				continue;
			share_give_back(share, share_granted_bytes(share) - share->keep_bytes);
			share->keep_bytes = UINT64_MAX;
			share->is_giving_back = true;
			(void) worker_start(node->worker);
		}
	}
}
