/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "hotplug.h"
#include "kinds/replica.h"
#include "machine/block-record.h"
#include "machine/memory-block.h"
#include "manager-state.h"
#include "messages.h"
#include "pieces.h"

/* Blocks come by the hundred; what follows within this time is seen with one look. */
#define GATHER_SECONDS 0.2
/* How long udev may take until its rules have run for what was just plugged in. */
#define RULES_USEC (10 * UINT64_C(1000000))
/* Without events, what is awaited is looked for. */
#define POLL_SECONDS 1.

static char *path_in_run_directory(const struct manager *manager, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", manager->setup.run_directory, name) < 0)
		return NULL;
	return path;
}

static void rescan(struct manager *manager)
{
	ev_timer_stop(manager->setup.loop, &manager->rescan);
	(void) manager_apply(manager, manager->config);
}

static void on_rescan(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct manager *manager = timer->data;

	(void) loop, (void) revents;
	rescan(manager);
	manager_look(manager);
}

static void rescan_after(struct manager *manager, double seconds)
{
	if (ev_is_active(&manager->rescan))
		return;
	ev_now_update(manager->setup.loop);
	ev_timer_set(&manager->rescan, seconds, 0.);
	ev_timer_start(manager->setup.loop, &manager->rescan);
}

static void on_originals(void *arg)
{
	rescan_after(arg, 0.);
}

int hotplug_open(struct manager *manager)
{
	scoped(freep) char *record = NULL, *replicas = NULL;
	bool is_damaged = false;
	int r;

	ev_timer_init(&manager->rescan, on_rescan, 0., 0.);
	manager->rescan.data = manager;
	if (manager->setup.run_directory) {
		record = path_in_run_directory(manager, "blocks");
		replicas = path_in_run_directory(manager, "replica");
		if (!record || !replicas)
			return -ENOMEM;
	}
	r = block_record_open(record, &manager->context.block_record, &is_damaged);
	if (r < 0)
		return r;
	if (is_damaged)
		log_warning("%s is damaged: a part of a node's offline memory is now one of what "
		            "is offline at this moment",
		            record);
	if (replicas)
		r = replica_base_open(replicas, &manager->context.replica_base);
	if (r == 0)
		r = originals_watch_new(manager->setup.loop, on_originals, manager,
		                        &manager->originals);
	return r;
}

void hotplug_close(struct manager *manager)
{
	ev_timer_stop(manager->setup.loop, &manager->rescan);
	uevents_closep(&manager->uevents);
	originals_watch_freep(&manager->originals);
	replica_base_freep(&manager->context.replica_base);
	block_record_freep(&manager->context.block_record);
}

void hotplug_start(struct manager *manager)
{
	int r;

	if (manager->context.replica_base)
		replica_base_clean(manager->context.replica_base);
	if (!manager->setup.kernel->is_live)
		return;
	r = uevents_open(manager->setup.loop, hotplug_event, manager, &manager->uevents);
	if (r < 0)
		log_info("memory that comes or goes later is seen at a Reload only: no events of "
		         "devices (%s)",
		         strerror(-r));
}

void hotplug_await(struct manager *manager)
{
	uint64_t timeout_usec = manager->config->daemon.settle_timeout_usec;

	manager->inventory.settle_usec = bytes_add(clock_monotonic_usec(), timeout_usec);
}

static void note_failure(int r, uint64_t block)
{
	if (r < 0)
		log_warning("memory block %" PRIu64 " is not on record: %s", block, strerror(-r));
}

/* Something was plugged in: what of it is not ours to use yet will be in a moment. */
static void memory_came(struct manager *manager)
{
	manager->has_memory_come = true;
	manager->inventory.right_usec = clock_monotonic_usec() + RULES_USEC;
}

/* Who takes a block offline has a reason: it is not brought back behind his back. */
static void block_left(struct manager *manager, uint64_t block)
{
	struct block_record *record = manager->context.block_record;

	if (block_record_find(record, block, NULL)) {
		block_record_take_away(record, block);
		block_record_set_given_up(record, block, true);
	} else {
		note_failure(block_record_leave(record, block), block);
	}
	manager->has_memory_left = true;
}

static void block_event(struct manager *manager, const char *action, uint64_t block)
{
	struct block_record *record = manager->context.block_record;
	struct block_record_entry entry;

	if (strcmp(action, "add") == 0) {
		/* it was offline, or would have been: whoever is first, it is a late one */
		note_failure(block_record_add(record, block), block);
		memory_came(manager);
	} else if (strcmp(action, "remove") == 0) {
		block_record_remove(record, block);
		manager->has_memory_left = true;
	} else if (strcmp(action, "offline") == 0) {
		block_left(manager, block);
	} else if (strcmp(action, "online") == 0) {
		/* our own work comes back as an event, too */
		if (block_record_find(record, block, &entry)) {
			if (entry.is_ours && !entry.is_given_up)
				return;
			if (entry.is_left)
				block_record_remove(record, block);
			block_record_give_back(record, block);
		}
		block_record_set_given_up(record, block, false);
		manager->has_memory_come = true;
	} else {
		return;
	}
	rescan_after(manager, GATHER_SECONDS);
}

void hotplug_event(const char *subsystem, const char *action, const char *name, void *arg)
{
	struct manager *manager = arg;
	uint64_t block;

	log_debug("%s %s: %s", subsystem, name, action);
	if (strcmp(subsystem, "memory") == 0) {
		if (memory_block_parse(name, &block))
			block_event(manager, action, block);
		return;
	}
	if (strcmp(action, "add") == 0)
		memory_came(manager);
	if (strcmp(action, "add") == 0 || strcmp(action, "remove") == 0)
		rescan_after(manager, GATHER_SECONDS);
}

/*
 * All that a node with a pool of blocks may bring online is on record, also what the pool leaves:
 * its part stays a part of the same whole.
 */
void hotplug_note_plan(struct manager *manager, const struct plan *plan)
{
	struct block_record *record = manager->context.block_record;
	int r = 0;

	for (size_t i = 0; i < plan->nr_nodes; i++) {
		const struct machine_node *node =
			machine_node(manager->machine, plan->nodes[i].node_id);

		if (!node || plan->nodes[i].nr_shares == 0 ||
		    plan->nodes[i].shares[0].pool->kind != POOL_BLOCK)
			continue;
		for (size_t k = 0; k < node->nr_candidates && r == 0; k++)
			r = block_record_add(record, node->candidates[k].block);
	}
	if (r == 0)
		r = block_record_save(record);
	if (r < 0 && !manager->is_record_failed)
		log_warning("the record of memory blocks cannot be kept (%s): the next start sees "
		            "only what is offline then",
		            strerror(-r));
	manager->is_record_failed = r < 0;
}

void hotplug_watch(struct manager *manager)
{
	int r = originals_watch_set(manager->originals, manager->config);

	if (r < 0 && !manager->is_watch_failed)
		log_warning("not every original of a replica can be watched (%s): changes are seen "
		            "at a Reload; fs.inotify.max_user_watches may be too low",
		            strerror(-r));
	manager->is_watch_failed = r < 0;
}

/*
 * Nodes whose block shares have all settled since the machine was looked at last: before it is
 * looked at, as what settles meanwhile was not seen at rest. Return: whether there are any.
 */
static bool begin_walk(struct inventory *inventory)
{
	bool is_any_due = false;

	for (size_t i = 0; i < inventory->nr_nodes; i++) {
		struct managed_node *node = &inventory->nodes[i];

		node->is_walked = pieces_are_walk_due(inventory, node->node_id);
		if (!node->is_walked)
			continue;
		is_any_due = true;
		for (size_t k = 0; k < inventory->nr_pools; k++) {
			struct managed_share *share =
				managed_pool_share(&inventory->pools[k], node->node_id);

			if (share)
				share->is_walk_due = false;
		}
	}
	return is_any_due;
}

bool hotplug_look(struct manager *manager)
{
	struct inventory *inventory = &manager->inventory;
	bool has_changed;

	/* what has left is out of the plan before pools see what they have */
	if (manager->has_memory_left && !ev_is_active(&manager->rescan)) {
		manager->has_memory_left = false;
		pieces_memory_left(inventory);
	}
	/* what was seen too soon, before udev's rule for it had run, can be had by now */
	if (manager->has_memory_come && !ev_is_active(&manager->rescan)) {
		manager->has_memory_come = false;
		pieces_memory_came(inventory);
	}
	has_changed = pieces_recheck_left(inventory);
	if (begin_walk(inventory)) {
		rescan(manager);
		report_walk(manager);
		has_changed = true;
	}
	if (inventory->is_awaiting && !uevents_are_heard(manager->uevents) &&
	    manager->setup.kernel->is_live)
		rescan_after(manager, POLL_SECONDS);
	return has_changed;
}
