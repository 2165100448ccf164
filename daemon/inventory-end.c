/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How pieces leave the inventory: one by one while the daemon runs, all of them at its end. */
#include <stdlib.h>
#include <string.h>

#include "engine/give-back.h"
#include "inventory.h"
#include "kinds/region.h"

void piece_free(struct inventory *inventory, struct piece *piece)
{
	if (piece->run)
		run_drop(piece->run);
	if (piece->share && inventory->share_leaves)
		inventory->share_leaves(piece->share, inventory->arg);
	if (piece->share)
		piece->share->ops->share_free(piece->share);
	piece->run = NULL;
	piece->share = NULL;
}

enum piece_lent piece_lent(const struct piece *piece)
{
	struct region_counts counts;

	if (!share_has_regions(piece->share))
		return PIECE_LENT_NONE;
	region_count_states(piece->share, &counts);
	if (counts.nr_spent > 0)
		return PIECE_LENT_RETURNED;
	return counts.nr_lent > 0 ? PIECE_LENT_OUT : PIECE_LENT_NONE;
}

bool inventory_clear_leaving(struct inventory *inventory)
{
	size_t nr_left = 0;

	for (size_t i = 0; i < inventory->nr_leaving; i++) {
		struct leaving leaving = inventory->leaving[i];

		if (run_is_idle(leaving.piece.run)) {
			enum piece_lent lent = piece_lent(&leaving.piece);

			if (leaving.is_emptied && lent == PIECE_LENT_NONE) {
				piece_free(inventory, &leaving.piece);
				continue;
			}
			if (!leaving.is_emptied || lent == PIECE_LENT_RETURNED)
				(void) run_shrink(leaving.piece.run, 0, 0, 0);
			leaving.is_lent = leaving.is_emptied && lent == PIECE_LENT_OUT;
			leaving.is_emptied = true;
		}
		inventory->leaving[nr_left++] = leaving;
	}
	inventory->nr_leaving = nr_left;
	return nr_left > 0;
}

/* Its worker has freed its run. Without memory for @all it is freed here and now. */
static void piece_give_back(struct inventory *inventory, struct piece *piece, struct give_back *all)
{
	piece->run = NULL;
	if (!all || !piece->share) {
		piece_free(inventory, piece);
		return;
	}
	if (inventory->share_leaves)
		inventory->share_leaves(piece->share, inventory->arg);
	give_back_add(all, take(piece->share));
}

static void give_back_pieces(struct inventory *inventory)
{
	scoped(give_back_freep) struct give_back *all = NULL;
	size_t nr_pieces = inventory->nr_leaving;

	for (size_t i = 0; i < inventory->nr_pools; i++)
		for (size_t k = 0; k < inventory->pools[i].nr_shares; k++)
			nr_pieces += inventory->pools[i].shares[k].nr_pieces;
	all = give_back_new(nr_pieces);
	for (size_t i = 0; i < inventory->nr_leaving; i++)
		piece_give_back(inventory, &inventory->leaving[i].piece, all);
	for (size_t i = 0; i < inventory->nr_pools; i++)
		for (size_t k = 0; k < inventory->pools[i].nr_shares; k++) {
			struct managed_share *share = &inventory->pools[i].shares[k];

			for (size_t n = 0; n < share->nr_pieces; n++)
				piece_give_back(inventory, &share->pieces[n], all);
		}
}

void inventory_clear(struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->nr_nodes; i++)
		if (inventory->nodes[i].worker)
			worker_cancel(inventory->nodes[i].worker);
	for (size_t i = 0; i < inventory->nr_nodes; i++) {
		worker_freep(&inventory->nodes[i].worker);
		free(inventory->nodes[i].cpus_text);
	}
	/* the workers have freed their runs: only the shares are left */
	give_back_pieces(inventory);
	for (size_t i = 0; i < inventory->nr_pools; i++) {
		struct managed_pool *pool = &inventory->pools[i];

		for (size_t k = 0; k < pool->nr_shares; k++)
			free(pool->shares[k].pieces);
		free(pool->shares);
		free(pool->name);
	}
	free(inventory->leaving);
	free(inventory->pools);
	free(inventory->nodes);
	memset(inventory, 0, sizeof(*inventory));
}
