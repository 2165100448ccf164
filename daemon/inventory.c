/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "inventory.h"

uint64_t managed_share_short_bytes(const struct managed_share *share)
{
	return share_state_is_settled(share->state) ? share->missing_bytes : share->refused_bytes;
}

const char *managed_share_reason(const struct managed_share *share)
{
	if (share->is_stalled)
		return share_reason_text(REASON_STALLED);
	if (share->detail.reason != REASON_NONE &&
	    (managed_share_short_bytes(share) > 0 || share->detail.nr_missing > 0))
		return share_reason_text(share->detail.reason);
	return plan_refusal_text(share->refusal);
}

void managed_share_begin(struct managed_share *share)
{
	share->has_new_work = share->is_walk_due = true;
	share->began_usec = clock_monotonic_usec();
	share->began_bytes = share->done_bytes;
	/* its end is told, also when it is over before the next look */
	share->logged_state = SHARE_WAITING;
}

void managed_node_begin(struct managed_node *node)
{
	if (!node->has_new_work) {
		node->began_usec = clock_monotonic_usec();
		node->began_bytes = node->done_bytes;
	}
	node->has_new_work = true;
}

struct managed_pool *inventory_pool(struct inventory *inventory, const char *name)
{
	for (size_t i = 0; i < inventory->nr_pools; i++)
		if (strcmp(inventory->pools[i].name, name) == 0)
			return &inventory->pools[i];
	return NULL;
}

struct managed_node *inventory_node(struct inventory *inventory, unsigned node_id)
{
	for (size_t i = 0; i < inventory->nr_nodes; i++)
		if (inventory->nodes[i].node_id == node_id)
			return &inventory->nodes[i];
	return NULL;
}

struct managed_share *managed_pool_share(struct managed_pool *pool, unsigned node_id)
{
	for (size_t i = 0; i < pool->nr_shares; i++)
		if (pool->shares[i].node_id == node_id)
			return &pool->shares[i];
	return NULL;
}

/* Take over one stage of one piece: the earliest start, the latest end, the sums. */
static void stage_merge(struct stage_status *all, const struct stage_status *one)
{
	if (one->started_usec && (!all->started_usec || one->started_usec < all->started_usec))
		all->started_usec = one->started_usec;
	if (one->finished_usec > all->finished_usec)
		all->finished_usec = one->finished_usec;
	if (one->nr_threads > all->nr_threads)
		all->nr_threads = one->nr_threads;
	all->done_bytes += one->done_bytes;
	all->cpu_usec += one->cpu_usec;
	if (one->state < all->state)
		all->state = one->state;
}

/*
 * What the share has come to. Regions that are built anew after a lease do not change it, as nobody
 * was promised them, until it shows that they cannot be had.
 */
static void share_judge(struct managed_share *share, uint64_t held_bytes, enum share_state least,
                        bool is_settled, bool is_cancelled, bool is_awaited)
{
	bool was_settled = share_state_is_settled(share->state) && !share->is_stalled;

	if (is_awaited && is_settled)
		share->state = SHARE_WAITING;
	else if (share->is_stalled || share->is_unmet)
		share->state = SHARE_FAILED;
	else if (share->is_refilling && is_settled && was_settled)
		return;
	else if (is_settled || share->is_giving_back)
		share->state = share_state_outcome(share->declared_bytes, share->minimum_bytes,
		                                   held_bytes, is_cancelled);
	else
		share->state = share_state_is_settled(least) ? SHARE_WAITING : least;
	share->missing_bytes = bytes_left(share->declared_bytes, held_bytes);
}

/*
 * A region that could not be built anew, because its pages did not come back or somebody else took
 * them, is missing; but it was there once, and nobody has to ask for it again. What was missing
 * before is another matter: that was settled.
 */
static void share_note_refill(const struct inventory *inventory, struct managed_share *share,
                              bool was_refilling, uint64_t now_usec)
{
	if (share->is_refilling || !share_state_is_settled(share->state))
		return;
	if (!was_refilling && share->refill_usec == UINT64_MAX) {
		share->settled_missing_bytes = share->missing_bytes;
		return;
	}
	if (share->missing_bytes <= share->settled_missing_bytes) {
		share->refill_usec = UINT64_MAX;
		share->refill_wait_usec = 0;
	} else if (was_refilling) {
		share->refill_wait_usec = bytes_min(
			bytes_max(2 * share->refill_wait_usec, inventory->refill_wait_usec),
			REFILL_LAST_USEC);
		share->refill_usec = now_usec + share->refill_wait_usec;
	}
}

static bool is_any_wanted(const struct piece *piece)
{
	return piece->want_bytes[STAGE_EARLY] + piece->want_bytes[STAGE_DEFERRED] > 0;
}

/* Whether what the share lacks may come by itself yet: late memory, or the right to use it. */
static bool is_awaited(const struct inventory *inventory, const struct managed_share *share,
                       uint64_t now_usec)
{
	bool lacks_right = share->refusal == PLAN_NOT_PERMITTED ||
	                   share->detail.reason == REASON_NOT_PERMITTED;

	return (share->is_awaited && now_usec < inventory->settle_usec) ||
	       (lacks_right && now_usec < inventory->right_usec);
}

static void share_look(const struct inventory *inventory, struct managed_share *share,
                       uint64_t now_usec)
{
	bool was_refilling = share->is_refilling;
	bool is_cancelled = false, is_settled = true, is_idle = true;
	uint64_t held_bytes = 0, away_bytes = share->returning_bytes;
	enum share_state least = SHARE_READY;
	struct run_status run;

	memset(share->stages, 0, sizeof(share->stages));
	memset(&share->detail, 0, sizeof(share->detail));
	for (unsigned stage = 0; stage < NR_STAGES; stage++)
		share->stages[stage].state = STAGE_SETTLED;
	share->early_done_bytes = 0;
	share->is_in_backoff = share->is_refilling = false;

	for (size_t i = 0; i < share->nr_pieces; i++) {
		run_read(share->pieces[i].run, &run);
		held_bytes += run.share.done_bytes;
		away_bytes += run.share.spent_bytes;
		share->early_done_bytes += run.share.early_done_bytes;
		share->is_in_backoff |= run.is_in_backoff;
		share->is_refilling |= run.is_refilling;
		for (unsigned stage = 0; stage < NR_STAGES; stage++)
			stage_merge(&share->stages[stage], &run.stages[stage]);
		if (share->detail.reason == REASON_NONE)
			share->detail = run.share;
		is_cancelled |= run.state == SHARE_CANCELLED;
		is_idle &= run_is_idle(share->pieces[i].run);
		/* one that only gives back what came back to it holds up nobody */
		if (is_any_wanted(&share->pieces[i])) {
			is_settled &= share_state_is_settled(run.state);
			least = share_state_worse(least, run.state);
		}
	}

	share->is_giving_back &= !is_idle;
	/* what is still to be given back does not count */
	share->done_bytes = bytes_min(bytes_left(held_bytes, away_bytes), share->declared_bytes);
	share_judge(share, bytes_min(held_bytes, share->declared_bytes), least, is_settled,
	            is_cancelled, is_awaited(inventory, share, now_usec));
	share_note_refill(inventory, share, was_refilling, now_usec);
	for (unsigned stage = 0; stage < NR_STAGES; stage++)
		if (share->stages[stage].state != STAGE_SETTLED)
			share->stages[stage].finished_usec = 0;
}

static void pool_look(const struct inventory *inventory, struct managed_pool *pool,
                      uint64_t now_usec)
{
	bool is_any_awaited = false;

	pool->state = pool->nr_refused_paths > 0 ? SHARE_DEGRADED : SHARE_READY;
	pool->declared_bytes = pool->done_bytes = pool->short_bytes = 0;
	pool->leased_bytes = pool->draining_bytes = 0;
	for (size_t i = 0; i < pool->nr_shares; i++) {
		struct managed_share *share = &pool->shares[i];

		share_look(inventory, share, now_usec);
		is_any_awaited |=
			share->state == SHARE_WAITING && is_awaited(inventory, share, now_usec);
		pool->state = share_state_worse(pool->state, share->state);
		pool->declared_bytes = bytes_add(pool->declared_bytes, share->declared_bytes);
		pool->done_bytes += share->done_bytes;
		pool->leased_bytes += share->leased_bytes;
		pool->draining_bytes += share->draining_bytes;
		pool->short_bytes = bytes_add(pool->short_bytes, managed_share_short_bytes(share));
	}
	/* what comes to nothing now may come to something yet */
	if (pool->is_empty && !is_any_awaited)
		pool->state = SHARE_FAILED;
}

/* Add one share to its node; tell whether it is the one at work. */
static void node_add(struct managed_node *node, const struct managed_pool *pool,
                     const struct managed_share *share, uint64_t now_usec)
{
	/* a back-off is a wait with an end, not a stall */
	if (share->is_in_backoff)
		node->moved_usec = now_usec;
	node->state =
		node->has_shares ? share_state_worse(node->state, share->state) : share->state;
	node->has_shares = true;
	node->declared_bytes = bytes_add(node->declared_bytes, share->declared_bytes);
	node->done_bytes += share->done_bytes;
	node->short_bytes = bytes_add(node->short_bytes, managed_share_short_bytes(share));
	for (size_t i = 0; i < share->nr_pieces; i++)
		if (share->pieces[i].run == node->worker_status.current)
			node->current_pool = pool->name;
	for (unsigned stage = 0; stage < NR_STAGES; stage++) {
		const struct stage_status *status = &share->stages[stage];

		if (status->started_usec >= bytes_max(node->began_usec, 1) &&
		    (!node->started_usec || status->started_usec < node->started_usec))
			node->started_usec = status->started_usec;
		if (status->finished_usec > node->finished_usec)
			node->finished_usec = status->finished_usec;
	}
}

static void node_begin(struct managed_node *node, uint64_t now_usec)
{
	uint64_t moves = node->worker_status.moves;
	bool was_working = node->worker_status.is_running && !node->worker_status.is_paused;

	if (node->worker)
		worker_read(node->worker, &node->worker_status);
	/* a rate over the time in which nothing was to do would be a false one */
	if (!was_working)
		node->rate = (struct rate){ 0 };
	if (!node->moved_usec || node->worker_status.moves != moves ||
	    !node->worker_status.is_running || node->worker_status.is_paused ||
	    node->worker_status.is_resting)
		node->moved_usec = now_usec;
	node->has_shares = false;
	node->state = SHARE_READY;
	node->declared_bytes = node->done_bytes = node->short_bytes = 0;
	node->current_pool = "";
	node->started_usec = node->finished_usec = 0;
}

/* Whether all that is left to do for the share is to wait for memory that may come. */
static bool is_only_awaiting(const struct inventory *inventory, const struct managed_share *share,
                             uint64_t now_usec)
{
	if (share->state != SHARE_WAITING || !is_awaited(inventory, share, now_usec))
		return false;
	for (size_t i = 0; i < share->nr_pieces; i++)
		if (!run_is_idle(share->pieces[i].run))
			return false;
	return true;
}

void inventory_look(struct inventory *inventory, uint64_t now_usec)
{
	inventory->is_idle = inventory->nr_pools == 0;
	inventory->state = SHARE_READY;
	inventory->declared_bytes = inventory->done_bytes = inventory->short_bytes = 0;
	inventory->moves = 0;
	inventory->refill_usec = UINT64_MAX;
	inventory->is_awaiting = false;

	for (size_t i = 0; i < inventory->nr_nodes; i++) {
		node_begin(&inventory->nodes[i], now_usec);
		inventory->moves += inventory->nodes[i].worker_status.moves;
	}
	for (size_t i = 0; i < inventory->nr_pools; i++) {
		struct managed_pool *pool = &inventory->pools[i];

		pool_look(inventory, pool, now_usec);
		if (pool->is_required)
			inventory->state = share_state_worse(inventory->state, pool->state);
		inventory->declared_bytes =
			bytes_add(inventory->declared_bytes, pool->declared_bytes);
		inventory->done_bytes += pool->done_bytes;
		inventory->short_bytes = bytes_add(inventory->short_bytes, pool->short_bytes);
		for (size_t k = 0; k < pool->nr_shares; k++) {
			struct managed_node *node =
				inventory_node(inventory, pool->shares[k].node_id);

			if (node)
				node_add(node, pool, &pool->shares[k], now_usec);
			inventory->refill_usec =
				bytes_min(inventory->refill_usec, pool->shares[k].refill_usec);
			pool->shares[k].is_only_awaiting =
				is_only_awaiting(inventory, &pool->shares[k], now_usec);
			inventory->is_awaiting |= pool->shares[k].is_only_awaiting;
		}
	}
	for (size_t i = 0; i < inventory->nr_nodes; i++) {
		struct managed_node *node = &inventory->nodes[i];

		if (node->has_shares && !share_state_is_settled(node->state))
			node->finished_usec = 0;
	}
}

bool inventory_is_busy(const struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->nr_leaving; i++)
		if (!inventory->leaving[i].is_lent)
			return true;
	for (size_t i = 0; i < inventory->nr_nodes; i++)
		if (inventory->nodes[i].worker_status.is_running ||
		    inventory->nodes[i].is_start_failed)
			return true;
	for (size_t i = 0; i < inventory->nr_pools; i++) {
		const struct managed_pool *pool = &inventory->pools[i];

		for (size_t k = 0; k < pool->nr_shares; k++)
			if ((!share_state_is_settled(pool->shares[k].state) &&
			     !pool->shares[k].is_only_awaiting) ||
			    pool->shares[k].is_giving_back ||
			    pool->shares[k].keep_bytes != UINT64_MAX)
				return true;
	}
	return false;
}
