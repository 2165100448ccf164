/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/size.h"
#include "kinds/region.h"
#include "lease-choice.h"
#include "pieces.h"

bool lease_is_node_meant(const struct lease_request *request, unsigned node_id)
{
	return !request->is_strict || !request->has_node || request->node_id == node_id;
}

void lease_look_ahead(const struct managed_pool *pool, const struct lease_request *request,
                      struct lease_prospect *ret)
{
	struct lease_prospect prospect = { 0 };

	for (size_t i = 0; i < pool->nr_shares; i++) {
		const struct managed_share *share = &pool->shares[i];
		bool is_settled = share_state_is_settled(share->state) && !share->is_refilling &&
		                  share->refill_usec == UINT64_MAX;

		if (!lease_is_node_meant(request, share->node_id))
			continue;
		for (size_t k = 0; k < share->nr_pieces; k++) {
			struct region_counts counts;

			region_count_states(share->pieces[k].share, &counts);
			prospect.largest_bytes =
				bytes_max(prospect.largest_bytes, counts.largest_bytes);
			prospect.nr_lent += counts.nr_lent;
			prospect.lent_bytes += counts.lent_bytes;
			prospect.nr_coming += counts.nr_spent;
			prospect.nr_coming += is_settled ? 0 : counts.nr_unfilled;
		}
		/* what drains comes back once its lessee lets go of it */
		prospect.nr_coming += share->returning_bytes > 0;
	}
	*ret = prospect;
}

static uint64_t share_ready_bytes(const struct managed_share *share)
{
	return bytes_left(share->done_bytes, share->leased_bytes);
}

/* How far @node_id is from the node that was asked for. */
static unsigned distance(const struct manager *manager, unsigned from_id, unsigned node_id)
{
	const struct machine *machine = manager->machine;
	const struct machine_node *from = machine ? machine_node(machine, from_id) : NULL;

	for (size_t i = 0; from && i < machine->nr_nodes; i++)
		if (machine->nodes[i].node_id == node_id)
			return from->distances[i];
	return UINT_MAX;
}

/* Whether share @a goes before @b. */
static bool goes_before(const struct manager *manager, const struct lease_request *request,
                        const struct managed_share *a, const struct managed_share *b)
{
	unsigned distance_a, distance_b;

	if (!request->has_node)
		return share_ready_bytes(a) > share_ready_bytes(b);
	if (a->node_id == request->node_id || b->node_id == request->node_id)
		return a->node_id == request->node_id && b->node_id != request->node_id;
	distance_a = distance(manager, request->node_id, a->node_id);
	distance_b = distance(manager, request->node_id, b->node_id);
	return distance_a < distance_b || (distance_a == distance_b && a->node_id < b->node_id);
}

int lease_order_shares(const struct manager *manager, const struct managed_pool *pool,
                       const struct lease_request *request, struct share ***ret, size_t *ret_nr)
{
	scoped(freep) const struct managed_share **order =
		calloc(pool->nr_shares + 1, sizeof(struct managed_share *));
	struct share **shares = NULL, **slot;
	size_t nr = 0, nr_shares = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < pool->nr_shares; i++) {
		size_t at = nr;

		if (!lease_is_node_meant(request, pool->shares[i].node_id))
			continue;
		for (; at > 0 && goes_before(manager, request, &pool->shares[i], order[at - 1]);
		     at--)
			order[at] = order[at - 1];
		order[at] = &pool->shares[i];
		nr++;
	}
	for (size_t i = 0; i < nr; i++) {
		for (size_t k = 0; k < order[i]->nr_pieces; k++) {
			slot = array_add((void **) &shares, &nr_shares, sizeof(*slot));
			if (!slot) {
				free(shares);
				return -ENOMEM;
			}
			*slot = order[i]->pieces[k].share;
		}
	}
	*ret = shares;
	*ret_nr = nr_shares;
	return 0;
}
