/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "brakes.h"
#include "manager-state.h"

static const char *const stage_state_texts[] = {
	[STAGE_WAITING] = "waiting",
	[STAGE_RUNNING] = "running",
	[STAGE_SETTLED] = "settled",
};

static void complain(const char *what, int error)
{
	if (error < 0 && error != -ENOTCONN)
		log_debug("showing %s on the bus: %s", what, strerror(-error));
}

static void show_manager(struct manager *manager)
{
	const struct inventory *inventory = &manager->inventory;
	struct manager_view view = {
		.version = NODEINIT_VERSION,
		.state = manager_state_text(manager),
		.is_ready = manager->is_ready,
		.is_paused = manager->is_paused,
		.generation = manager->completion.generation,
		.total_bytes = inventory->declared_bytes,
		.done_bytes = inventory->done_bytes,
		.short_bytes = inventory->short_bytes,
		.started_monotonic_usec = manager->started_monotonic_usec,
		.early_monotonic_usec = manager->early_monotonic_usec,
		.ready_monotonic_usec = manager->ready_monotonic_usec,
		.started_realtime_usec = manager->started_realtime_usec,
		.early_realtime_usec = manager->early_realtime_usec,
		.ready_realtime_usec = manager->ready_realtime_usec,
	};

	complain("the manager", bus_service_show_manager(manager->bus, &view));
}

static void show_node(struct manager *manager, const struct managed_node *node)
{
	bool is_moving = node->worker_status.is_running && !manager->is_paused;
	struct node_view view = {
		.node_id = node->node_id,
		.cpus = node->cpus_text,
		.helper_node_id = node->helper_node_id,
		.memory_bytes = node->memory_bytes,
		.spanned_bytes = node->spanned_bytes,
		.early_budget_bytes = node->early_budget_bytes,
		.total_bytes = node->declared_bytes,
		.done_bytes = node->done_bytes,
		.short_bytes = node->short_bytes,
		.rate_bytes = is_moving ? rate_bytes_per_second(&node->rate) : 0,
		.nr_threads = node->worker_status.nr_active,
		.is_braked = brakes_is_braked(manager, node),
		.state = node->has_shares ? share_state_text(node->state) : "idle",
		.current_pool = node->current_pool,
		.started_monotonic_usec = node->started_usec,
		.finished_monotonic_usec = node->finished_usec,
	};

	if (!node->has_new_work && node->largest_bytes > 0) {
		view.started_monotonic_usec = node->largest_started_usec;
		view.finished_monotonic_usec = node->largest_finished_usec;
	}
	complain("a node", bus_service_show_node(manager->bus, &view));
}

/* Where the share itself lacks nothing, what the pool lacks: files that it could not even name. */
static const char *share_reason_of(const struct managed_pool *pool,
                                   const struct managed_share *share)
{
	const char *reason = managed_share_reason(share);

	return *reason ? reason : original_refusal_text(pool->path_refusal);
}

static void show_pool(struct manager *manager, const struct managed_pool *pool)
{
	scoped(freep) struct share_view *shares = calloc(pool->nr_shares + 1, sizeof(*shares));
	struct pool_view view = {
		.name = pool->name,
		.kind = pool_kind_text(pool->kind),
		.page_bytes = pool->page_bytes,
		.region_bytes = pool->region_bytes,
		.is_required = pool->is_required,
		.state = share_state_text(pool->state),
		.total_bytes = pool->declared_bytes,
		.done_bytes = pool->done_bytes,
		.short_bytes = pool->short_bytes,
		.leased_bytes = pool->leased_bytes,
		.draining_bytes = pool->draining_bytes,
		.shares = shares,
		.nr_shares = pool->nr_shares,
	};

	if (!shares)
		return;
	for (size_t i = 0; i < pool->nr_shares; i++) {
		const struct managed_share *share = &pool->shares[i];

		shares[i] = (struct share_view){
			.node_id = share->node_id,
			.state = share_state_text(share->state),
			.total_bytes = share->declared_bytes,
			.early_bytes = share->early_bytes,
			.done_bytes = share->done_bytes,
			.short_bytes = managed_share_short_bytes(share),
			.reason = share_reason_of(pool, share),
		};
	}
	complain("a pool", bus_service_show_pool(manager->bus, &view));
}

void manager_show(struct manager *manager)
{
	const struct inventory *inventory = &manager->inventory;

	for (size_t i = 0; i < inventory->nr_nodes; i++)
		show_node(manager, &inventory->nodes[i]);
	for (size_t i = 0; i < inventory->nr_pools; i++)
		show_pool(manager, &inventory->pools[i]);
	/* last, so that a client that waits for the host finds its pools in their final state */
	show_manager(manager);
}

/* Until the slowest node is done at its present rate: ", 12 s left", or "". */
static const char *time_left(const struct inventory *inventory, char *text, size_t text_bytes)
{
	char span[SIZE_TEXT_MAX];
	uint64_t left_usec = 0;

	for (size_t i = 0; i < inventory->nr_nodes; i++) {
		const struct managed_node *node = &inventory->nodes[i];
		uint64_t left_bytes = bytes_left(node->declared_bytes,
		                                 bytes_add(node->done_bytes, node->short_bytes));

		if (node->worker_status.is_running)
			left_usec = bytes_max(left_usec, rate_left_usec(&node->rate, left_bytes));
	}
	text[0] = '\0';
	if (left_usec > 0 && left_usec != UINT64_MAX)
		(void) snprintf(text, text_bytes, ", %s left", duration_text(left_usec, span));
	return text;
}

void manager_show_status(struct manager *manager)
{
	const struct inventory *inventory = &manager->inventory;
	char text[256], done[SIZE_TEXT_MAX], total[SIZE_TEXT_MAX], missing[SIZE_TEXT_MAX];
	char left[SIZE_TEXT_MAX + 16];
	const char *state = manager_state_text(manager);
	char braked[32] = "";
	unsigned nr_working = 0, nr_braked = 0;

	for (size_t i = 0; i < inventory->nr_nodes; i++)
		nr_working += inventory->nodes[i].worker_status.is_running;
	for (size_t i = 0; i < inventory->nr_nodes; i++)
		nr_braked += brakes_is_braked(manager, &inventory->nodes[i]);
	if (nr_braked == 1 && nr_working == 1)
		(void) snprintf(braked, sizeof(braked), " (braked)");
	else if (nr_braked > 0)
		(void) snprintf(braked, sizeof(braked), " (%u braked)", nr_braked);

	(void) size_text(inventory->done_bytes, done);
	(void) size_text(inventory->declared_bytes, total);
	if (manager->nr_refused_pools > 0)
		(void) snprintf(text, sizeof(text), "failed: %s", manager->refused_text);
	else if (inventory->is_idle)
		(void) snprintf(text, sizeof(text), "idle: no pool is declared");
	else if (manager->is_paused)
		(void) snprintf(text, sizeof(text), "paused at %s of %s", done, total);
	else if (nr_working > 0)
		(void) snprintf(text, sizeof(text), "%s: %s of %s, %u %s at work%s%s", state, done,
		                total, nr_working, nr_working == 1 ? "node" : "nodes", braked,
		                time_left(inventory, left, sizeof(left)));
	else if (inventory->short_bytes > 0)
		(void) snprintf(text, sizeof(text), "%s: %s of %s, %s missing", state, done, total,
		                size_text(inventory->short_bytes, missing));
	else
		(void) snprintf(text, sizeof(text), "%s: %s in service", state, done);
	notify_status(&manager->notify, text);
}

int manager_timeline(void *arg, struct timeline_entry **ret, size_t *ret_nr)
{
	const struct manager *manager = arg;
	const struct inventory *inventory = &manager->inventory;
	struct timeline_entry *entries;
	size_t nr = 0, nr_max = 0;

	for (size_t i = 0; i < inventory->nr_pools; i++)
		nr_max += inventory->pools[i].nr_shares * NR_STAGES;
	entries = calloc(nr_max + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < inventory->nr_pools; i++) {
		const struct managed_pool *pool = &inventory->pools[i];

		for (size_t k = 0; k < pool->nr_shares * NR_STAGES; k++) {
			const struct managed_share *share = &pool->shares[k / NR_STAGES];
			unsigned stage = k % NR_STAGES;

			entries[nr++] = (struct timeline_entry){
				.node_id = share->node_id,
				.pool = pool->name,
				.stage = stage_text(stage),
				.state = stage_state_texts[share->stages[stage].state],
				.started_usec = share->stages[stage].started_usec,
				.finished_usec = share->stages[stage].finished_usec,
				.bytes = share->stages[stage].done_bytes,
				.nr_threads = share->stages[stage].nr_threads,
				.cpu_usec = share->stages[stage].cpu_usec,
				.nr_attempts = share->detail.nr_attempts,
				.nr_by_other = share->detail.nr_by_other,
			};
		}
	}
	*ret = entries;
	*ret_nr = nr;
	return 0;
}
