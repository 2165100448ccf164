/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "apply.h"
#include "base/clock.h"
#include "base/log.h"
#include "brakes.h"
#include "hotplug.h"
#include "manager-state.h"
#include "pieces.h"
#include "session.h"

const char *manager_state_text(const struct manager *manager)
{
	if (manager->nr_refused_pools > 0)
		return share_state_text(SHARE_FAILED);
	return manager->inventory.is_idle ? "idle" : share_state_text(manager->inventory.state);
}

static bool is_state_good(const struct manager *manager)
{
	return manager->nr_refused_pools == 0 &&
	       (manager->inventory.is_idle || manager->inventory.state == SHARE_READY ||
	        manager->inventory.state == SHARE_DEGRADED);
}

static bool is_early_settled(const struct managed_share *share)
{
	return share_state_is_settled(share->state) ||
	       share->stages[STAGE_EARLY].state == STAGE_SETTLED;
}

void manager_arm(struct manager *manager)
{
	unsigned nr_required = 0, nr_early = 0;

	for (size_t i = 0; i < manager->inventory.nr_pools; i++) {
		struct managed_pool *pool = &manager->inventory.pools[i];

		for (size_t k = 0; k < pool->nr_shares; k++) {
			struct managed_share *share = &pool->shares[k];

			if (pool->is_required && !share->is_required_counted &&
			    (share->has_new_work || !share_state_is_settled(share->state))) {
				share->is_required_counted = true;
				nr_required++;
			}
			share->has_new_work = false;
			if (!share->is_early_counted && !is_early_settled(share)) {
				share->is_early_counted = true;
				nr_early++;
			}
		}
	}
	if (nr_required > 0 && manager->completion.has_fired)
		manager->armed_usec = clock_monotonic_usec();
	if (manager->completion.generation == 0)
		completion_arm(&manager->completion, nr_required, nr_early);
	else if (nr_required > 0 || nr_early > 0)
		completion_add(&manager->completion, nr_required, nr_early);
}

void manager_disarm(struct manager *manager, struct managed_share *share)
{
	if (share->is_early_counted)
		completion_settle_early(&manager->completion);
	if (share->is_required_counted)
		completion_settle_required(&manager->completion);
	share->is_early_counted = share->is_required_counted = false;
}

/* Tell the completion, once for each share that has settled since the last look. */
static void count_settled(struct manager *manager)
{
	for (size_t i = 0; i < manager->inventory.nr_pools; i++) {
		struct managed_pool *pool = &manager->inventory.pools[i];

		for (size_t k = 0; k < pool->nr_shares; k++) {
			struct managed_share *share = &pool->shares[k];

			if (share->is_early_counted && is_early_settled(share)) {
				share->is_early_counted = false;
				completion_settle_early(&manager->completion);
			}
			if (share->is_required_counted && share_state_is_settled(share->state)) {
				share->is_required_counted = false;
				completion_settle_required(&manager->completion);
			}
			report_share(pool, share);
		}
	}
}

/*
 * Shares of a node on which no counter has moved for StallTimeout= are given up, so that nobody
 * waits for ever; when it moves after all, they count again.
 */
static void judge_stalls(struct manager *manager, uint64_t now_usec)
{
	uint64_t limit_usec = manager->config->daemon.stall_timeout_usec;
	unsigned nr_required = 0;
	bool has_changed = false;

	for (size_t i = 0; i < manager->inventory.nr_nodes; i++) {
		struct managed_node *node = &manager->inventory.nodes[i];
		bool is_stalled = limit_usec != UINT64_MAX && node->worker_status.is_running &&
		                  bytes_left(now_usec, node->moved_usec) > limit_usec;

		for (size_t k = 0; k < manager->inventory.nr_pools; k++) {
			struct managed_pool *pool = &manager->inventory.pools[k];
			struct managed_share *share = managed_pool_share(pool, node->node_id);

			if (!share || share->is_stalled == is_stalled ||
			    (is_stalled && share_state_is_settled(share->state)))
				continue;
			share->is_stalled = is_stalled;
			has_changed = true;
			/* it was given up: what becomes of it now is another generation's */
			if (!is_stalled && pool->is_required && !share->is_required_counted) {
				share->is_required_counted = true;
				nr_required++;
			}
		}
	}
	if (!has_changed)
		return;
	if (nr_required > 0) {
		manager->armed_usec = now_usec;
		completion_add(&manager->completion, nr_required, 0);
	}
	inventory_look(&manager->inventory, now_usec);
}

static void sample_rates(struct manager *manager, uint64_t now_usec)
{
	if (now_usec - manager->sampled_usec < SAMPLE_PERIOD_USEC)
		return;
	manager->sampled_usec = now_usec;
	for (size_t i = 0; i < manager->inventory.nr_nodes; i++)
		rate_sample(&manager->inventory.nodes[i].rate, now_usec,
		            manager->inventory.nodes[i].done_bytes);
	brakes_look(manager, now_usec);
}

static void open_gates(struct manager *manager, uint64_t now_usec)
{
	bool has_fired, was_ready = manager->is_ready;

	if (completion_take_early(&manager->completion)) {
		manager->early_monotonic_usec = now_usec;
		manager->early_realtime_usec = clock_realtime_usec();
	}
	has_fired = completion_take_full(&manager->completion);
	manager->is_ready = manager->completion.has_fired && is_state_good(manager);
	if (manager->is_ready && (has_fired || !was_ready)) {
		manager->ready_monotonic_usec = now_usec;
		manager->ready_realtime_usec = clock_realtime_usec();
	} else if (!manager->is_ready) {
		manager->ready_monotonic_usec = manager->ready_realtime_usec = 0;
	}
	if (has_fired || (manager->completion.has_fired && was_ready != manager->is_ready))
		report_completion(manager);
}

static void tell_service_manager(struct manager *manager, uint64_t now_usec, bool is_busy)
{
	if (manager->is_name_owned && manager->completion.has_early_fired)
		notify_ready(&manager->notify);
	else
		notify_extend(&manager->notify, now_usec, manager->inventory.moves);
	if (!is_busy || manager->is_paused ||
	    now_usec - manager->status_usec >= 4 * SAMPLE_PERIOD_USEC) {
		manager->status_usec = now_usec;
		manager_show_status(manager);
	}
}

static void look_after(struct manager *manager, uint64_t delay_usec)
{
	ev_timer_stop(manager->setup.loop, &manager->look);
	/* the loop's idea of now is as old as its last wake-up */
	ev_now_update(manager->setup.loop);
	ev_timer_set(&manager->look, (double) delay_usec / 1e6, 0.);
	ev_timer_start(manager->setup.loop, &manager->look);
}

/* While nothing works: when there is something to decide; UINT64_MAX: never. */
static uint64_t next_usec(const struct manager *manager, uint64_t now_usec)
{
	const struct inventory *inventory = &manager->inventory;
	uint64_t refill_usec = manager->is_paused ? UINT64_MAX : inventory->refill_usec;

	if (!inventory->is_awaiting)
		return refill_usec;
	if (inventory->right_usec > now_usec)
		refill_usec = bytes_min(refill_usec, inventory->right_usec);
	if (inventory->settle_usec > now_usec)
		refill_usec = bytes_min(refill_usec, inventory->settle_usec);
	return refill_usec;
}

void manager_look(struct manager *manager)
{
	uint64_t now_usec = clock_monotonic_usec();
	bool is_busy;

	/* First: whoever rings from now on may not have been seen. */
	(void) atomic_exchange(&manager->is_bell_rung, false);
	manager->looked_usec = now_usec;
	leases_look(manager, now_usec);
	(void) inventory_clear_leaving(&manager->inventory);
	pieces_give_back(&manager->inventory);
	pieces_refill(&manager->inventory, now_usec);
	(void) pieces_start(&manager->inventory);
	inventory_look(&manager->inventory, now_usec);
	if (hotplug_look(manager)) {
		(void) pieces_start(&manager->inventory);
		/* a look at the machine takes its time, and what moved meanwhile moved later */
		now_usec = clock_monotonic_usec();
		inventory_look(&manager->inventory, now_usec);
	}
	apply_drop_nodes(&manager->inventory, manager_node_leaves, manager);
	session_rank(manager);
	judge_stalls(manager, now_usec);
	count_settled(manager);
	report_nodes(manager);
	sample_rates(manager, now_usec);
	open_gates(manager, now_usec);
	manager_show(manager);

	is_busy = inventory_is_busy(&manager->inventory);
	if (!is_busy)
		manager_refresh_context(manager);
	tell_service_manager(manager, now_usec, is_busy);
	if (is_busy && !manager->is_paused)
		look_after(manager, SAMPLE_PERIOD_USEC);
	else if (manager->is_rank_due)
		look_after(manager, SESSION_RANK_PERIOD_USEC);
	else if (next_usec(manager, now_usec) != UINT64_MAX)
		look_after(manager, bytes_left(next_usec(manager, now_usec), now_usec));
	else
		ev_timer_stop(manager->setup.loop, &manager->look);
	manager->look_cost_usec = clock_monotonic_usec() - manager->looked_usec;
}

static void on_look(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void) loop, (void) events;
	manager_look(timer->data);
}

/*
 * How long after the last look the next one may be taken: soon, as whoever waits for the end of the
 * work waits for that look, but looks are to take no more than a fiftieth of the main thread's
 * time.
 */
static uint64_t look_period_usec(const struct manager *manager)
{
	uint64_t period_usec = bytes_mul(manager->look_cost_usec, LOOK_COST_FACTOR);

	return bytes_min(bytes_max(period_usec, LOOK_PERIOD_MIN_USEC), LOOK_PERIOD_MAX_USEC);
}

/* A look that is taken later is never put off: it is at most a period away. */
void manager_look_soon(struct manager *manager)
{
	uint64_t since_usec = clock_monotonic_usec() - manager->looked_usec;

	look_after(manager, bytes_left(look_period_usec(manager), since_usec));
}

/* The bell carries nothing: look at everything, but not too often. */
static void on_bell(struct ev_loop *loop, ev_async *bell, int events)
{
	struct manager *manager = bell->data;
	uint64_t since_usec = clock_monotonic_usec() - manager->looked_usec;
	uint64_t period_usec = look_period_usec(manager);

	(void) loop, (void) events;
	if (since_usec >= period_usec)
		manager_look(manager);
	else
		look_after(manager, period_usec - since_usec);
}

void manager_bell_init(struct manager *manager)
{
	ev_async_init(&manager->bell, on_bell);
	manager->bell.data = manager;
	ev_async_start(manager->setup.loop, &manager->bell);
	ev_timer_init(&manager->look, on_look, 0., 0.);
	manager->look.data = manager;
}
