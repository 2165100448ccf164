/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "pieces.h"

/*
 * Within a node the gain flattens after a few threads and can turn round past a quarter of the
 * CPUs; the kernel's own initialisation of page structs was seen to take 358, 215, 157, 134 and
 * 126 ms with 1 to 5 threads.
 */
#define THREADS_AUTO_MAX 16

unsigned pieces_threads(const struct daemon_config *config, size_t nr_cpus)
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

void *array_add(void **array, size_t *nr, size_t item_bytes)
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

static uint64_t piece_bytes(const struct piece *piece)
{
	return piece->want_bytes[STAGE_EARLY] + piece->want_bytes[STAGE_DEFERRED];
}

uint64_t pieces_granted_bytes(const struct managed_share *share)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < share->nr_pieces; i++)
		bytes += piece_bytes(&share->pieces[i]);
	return bytes;
}

/* Cancel all pieces of a share and put them on their way out. */
int pieces_leave(struct inventory *inventory, struct managed_share *share)
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

int pieces_leave_node(struct inventory *inventory, unsigned node_id)
{
	int r = 0;

	for (size_t i = 0; i < inventory->nr_pools && r == 0; i++) {
		struct managed_share *share = managed_pool_share(&inventory->pools[i], node_id);

		if (share && share->nr_pieces > 0)
			r = pieces_leave(inventory, share);
		if (share)
			share->keep_bytes = UINT64_MAX;
	}
	return r;
}

/* Leave in @delta only what the node's shares do not have yet. Return: whether that is anything. */
static bool subtract_present(struct inventory *inventory, struct plan_node *delta)
{
	bool is_anything = false;

	/* what is a list is there as a whole, or not at all */
	for (size_t i = 0; i < delta->nr_shares; i++) {
		struct plan_share *want = &delta->shares[i];
		struct managed_share *share = managed_pool_share(
			inventory_pool(inventory, want->pool->name), delta->node_id);
		uint64_t more_bytes = bytes_left(want->early_bytes + want->deferred_bytes,
		                                 pieces_granted_bytes(share));
		uint64_t had_early_bytes = 0;

		for (size_t k = 0; k < share->nr_pieces; k++)
			had_early_bytes += share->pieces[k].want_bytes[STAGE_EARLY];
		want->early_bytes =
			bytes_min(more_bytes, bytes_left(want->early_bytes, had_early_bytes));
		want->deferred_bytes = more_bytes - want->early_bytes;
		if (share->nr_pieces > 0)
			want->nr_copies = 0;
		is_anything |= more_bytes > 0 || want->nr_copies > 0;
	}
	return is_anything;
}

static int make_worker(struct managed_node *node, const struct plan_node *planned,
                       const struct apply_setup *setup)
{
	struct worker_setup worker_setup = {
		.node_id = node->node_id,
		.cpus = &planned->cpus,
		.nr_threads = pieces_threads(setup->config, idset_nr(&planned->cpus)),
		.is_auto = setup->config->threads_unit == THREADS_AUTO,
		.backoff_usec = setup->backoff_usec,
		.bell = setup->bell,
		.arg = setup->arg,
	};
	int r;

	if (node->worker)
		return 0;
	r = worker_new(&worker_setup, &node->worker);
	if (r == 0)
		worker_set_max_rate(node->worker, setup->config->max_rate_bytes);
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
                     const struct apply_setup *setup, const struct plan_share *want,
                     struct share *share)
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
	managed_node_begin(node);
	setup->share_comes(share, managed, want->pool->name, setup->arg);
	r = worker_add(node->worker, share, piece_bytes(&piece), 0, &piece.run);
	if (r < 0) {
		managed->nr_pieces--;
		piece_free(inventory, &(struct piece){ .share = share });
		return r;
	}
	*slot = piece;
	if (managed->is_wanted)
		run_want(piece.run, true);
	managed_share_begin(managed);
	managed->is_giving_back = false; /* the work decides the state */
	return 0;
}

/*
 * What is a list (of memory blocks, of files) is replaced as a whole when the list is another one:
 * what both shares are about stays in service all the time.
 */
static int leave_replaced(struct inventory *inventory, const struct plan_node *planned)
{
	int r = 0;

	for (size_t i = 0; i < planned->nr_shares && r == 0; i++) {
		const struct plan_share *want = &planned->shares[i];
		struct managed_share *share = managed_pool_share(
			inventory_pool(inventory, want->pool->name), planned->node_id);

		for (size_t k = 0; k < share->nr_pieces; k++) {
			const struct share *present = share->pieces[k].share;

			if (present->ops->share_is_same &&
			    !present->ops->share_is_same(present, want)) {
				r = pieces_leave(inventory, share);
				break;
			}
		}
	}
	return r;
}

int pieces_grow_node(struct inventory *inventory, const struct plan_node *planned,
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
	r = leave_replaced(inventory, planned);
	if (r < 0)
		return r;
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
			r = add_piece(inventory, node, setup, &delta.shares[i], shares[i]);
		else
			shares[i]->ops->share_free(shares[i]);
	}
	return r;
}

/* Take @give_bytes back from the pieces of an idle share, the newest first. */
static void share_give_back(struct managed_share *share, uint64_t give_bytes)
{
	for (size_t i = share->nr_pieces; i-- > 0 && give_bytes > 0;) {
		struct piece *piece = &share->pieces[i];
		uint64_t piece_give_bytes = bytes_min(give_bytes, piece_bytes(piece));
		uint64_t keep_bytes = piece_bytes(piece) - piece_give_bytes;
		uint64_t deferred_bytes =
			bytes_min(piece_give_bytes, piece->want_bytes[STAGE_DEFERRED]);

		if (run_shrink(piece->run, keep_bytes, keep_bytes, 0) < 0)
			return;
		piece->want_bytes[STAGE_DEFERRED] -= deferred_bytes;
		piece->want_bytes[STAGE_EARLY] -= piece_give_bytes - deferred_bytes;
		give_bytes -= piece_give_bytes;
	}
}

bool pieces_are_idle(const struct managed_share *share)
{
	for (size_t i = 0; i < share->nr_pieces; i++)
		if (!run_is_idle(share->pieces[i].run))
			return false;
	return true;
}

/* Pieces that have given back everything are of no use any more. */
static void share_drop_empty(struct inventory *inventory, struct managed_share *share)
{
	size_t nr_kept = 0;

	for (size_t i = 0; i < share->nr_pieces; i++) {
		struct piece *piece = &share->pieces[i];

		if (piece_bytes(piece) > 0 || piece->share->ops->share_is_same ||
		    !run_is_idle(piece->run) || piece_lent(piece) != PIECE_LENT_NONE) {
			share->pieces[nr_kept++] = *piece;
			continue;
		}
		piece_free(inventory, piece);
	}
	share->nr_pieces = nr_kept;
}

void pieces_give_back(struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->nr_pools; i++) {
		struct managed_pool *pool = &inventory->pools[i];

		for (size_t k = 0; k < pool->nr_shares; k++) {
			struct managed_share *share = &pool->shares[k];

			share_drop_empty(inventory, share);
			if (share->keep_bytes == UINT64_MAX || !pieces_are_idle(share))
				continue;
			share_give_back(share, pieces_granted_bytes(share) - share->keep_bytes);
			share->keep_bytes = UINT64_MAX;
			share->is_giving_back = true;
		}
	}
}

/* What came back of an ended lease is destroyed, and built anew where the piece still wants it. */
static void piece_refill(struct managed_share *share, struct piece *piece, bool is_due)
{
	if (!run_is_idle(piece->run) || !(is_due || piece_lent(piece) == PIECE_LENT_RETURNED))
		return;
	if (piece_bytes(piece) == 0)
		(void) run_shrink(piece->run, 0, 0, 0);
	else if (run_refill(piece->run) == 0)
		share->is_refilling = true; /* it may be over before the next look */
}

void pieces_refill(struct inventory *inventory, uint64_t now_usec)
{
	for (size_t i = 0; i < inventory->nr_pools; i++) {
		struct managed_pool *pool = &inventory->pools[i];

		for (size_t k = 0; pool->kind == POOL_REGION && k < pool->nr_shares; k++) {
			struct managed_share *share = &pool->shares[k];
			bool is_due = share->refill_usec <= now_usec && pieces_are_idle(share);

			if (is_due)
				share->refill_usec = UINT64_MAX; /* until that, too, falls short */
			for (size_t n = 0; n < share->nr_pieces; n++)
				piece_refill(share, &share->pieces[n], is_due);
		}
	}
}

int pieces_start(struct inventory *inventory)
{
	int r = 0;

	for (size_t i = 0; i < inventory->nr_nodes; i++) {
		struct managed_node *node = &inventory->nodes[i];
		int error = node->worker ? worker_start(node->worker) : 0;

		if (error < 0 && !node->is_start_failed)
			log_warning("node %u: no thread can be made (%s); trying again",
			            node->node_id, strerror(-error));
		node->is_start_failed = error < 0;
		r = error < 0 ? error : r;
	}
	return r;
}
