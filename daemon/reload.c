/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply.h"
#include "base/clock.h"
#include "base/log.h"
#include "brakes.h"
#include "hotplug.h"
#include "manager-state.h"
#include "messages.h"
#include "pieces.h"

/*
 * After every chunk of every thread, on that thread. A large machine does thousands of chunks a
 * second, and what wakes the main thread for each is in vain: a look on its way sees them all.
 */
static void ring(void *arg)
{
	struct manager *manager = arg;

	if (atomic_exchange(&manager->is_bell_rung, true))
		return;
	ev_async_send(manager->setup.loop, &manager->bell);
}

static void share_goes(struct managed_share *share, void *arg)
{
	manager_disarm(arg, share);
}

static void pool_leaves(const char *name, void *arg)
{
	struct manager *manager = arg;

	bus_service_hide_pool(manager->bus, name);
}

void manager_node_leaves(unsigned node_id, void *arg)
{
	struct manager *manager = arg;

	bus_service_hide_node(manager->bus, node_id);
}

static int compare_names(const void *a, const void *b)
{
	const struct pool_config *pool_a = a, *pool_b = b;

	return strcmp(pool_a->name, pool_b->name);
}

/* Move one pool of the former configuration into the new one. */
static int keep_pool(struct config *config, struct config *former, const char *name)
{
	for (size_t i = 0; i < former->nr_pools; i++) {
		struct pool_config *pools;

		if (strcmp(former->pools[i].name, name) != 0)
			continue;
		pools = reallocarray(config->pools, config->nr_pools + 1, sizeof(*pools));
		if (!pools)
			return -ENOMEM;
		config->pools = pools;
		pools[config->nr_pools++] = former->pools[i];
		former->pools[i] = former->pools[--former->nr_pools];
		qsort(pools, config->nr_pools, sizeof(*pools), compare_names);
		report_event(LOG_LEVEL_WARNING, MESSAGE_CONFIG, "pool %s goes on as it was before",
		             name);
		return 0;
	}
	return 0;
}

/* What cannot be used any more goes on in its former version. */
static int keep_former(struct config *config, struct config *former)
{
	int r = 0;

	for (size_t i = 0; i < config->nr_refused_pools && r == 0; i++)
		if (!config_pool(config, config->refused_pools[i]))
			r = keep_pool(config, former, config->refused_pools[i]);
	/* a pools.d that cannot be read says nothing of what is in it */
	for (size_t i = former->nr_pools; config->is_pools_unread && i-- > 0 && r == 0;)
		if (!config_pool(config, former->pools[i].name))
			r = keep_pool(config, former, former->pools[i].name);
	if (config->is_daemon_refused)
		config->daemon = former->daemon;
	return r;
}

/* Pools that were declared, cannot be used and have no former version: readiness is not a lie. */
static void count_refused(struct manager *manager, const struct config *config)
{
	manager->nr_refused_pools = 0;
	free(manager->refused_text);
	manager->refused_text = NULL;
	for (size_t i = 0; i < config->nr_refused_pools; i++)
		manager->nr_refused_pools += !config_pool(config, config->refused_pools[i]);
	manager->were_pools_read |= !config->is_pools_unread;
	manager->nr_refused_pools += !manager->were_pools_read;
	for (size_t i = 0; i < config->nr_notes && !manager->refused_text; i++) {
		const struct config_note *note = &config->notes[i];

		if (manager->nr_refused_pools > 0 && note->severity == CONFIG_REFUSED &&
		    (note->pool ? !config_pool(config, note->pool) : !manager->were_pools_read))
			manager->refused_text = strdup(note->text);
	}
	if (manager->nr_refused_pools > 0 && !manager->refused_text)
		manager->refused_text = strdup("a pool file was refused");
}

/* Memory that we hold already counts as room under the cgroup's limit. */
static uint64_t charged_bytes(const struct inventory *inventory)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < inventory->nr_pools; i++)
		if (inventory->pools[i].page != PLAN_PAGE_HUGETLB)
			bytes += inventory->pools[i].done_bytes;
	return bytes;
}

void manager_refresh_context(struct manager *manager)
{
	manager->context.nr_retries = manager->config->daemon.nr_retries;
	manager->context.is_cpuset_restricted = manager->is_cpuset_restricted;
}

static bool is_any_node_forbidden(const struct machine *machine)
{
	for (size_t i = 0; i < machine->nr_nodes; i++)
		if (!machine->nodes[i].is_allowed)
			return true;
	return false;
}

int manager_apply(struct manager *manager, struct config *config)
{
	scoped(machine_freep) struct machine *machine = NULL;
	scoped(plan_freep) struct plan *plan = NULL;
	struct apply_setup setup;
	int r;

	/* what a newer version left must not be promised a second time */
	if (!manager->leases.book) {
		manager->nr_refused_pools = 1;
		inventory_look(&manager->inventory, clock_monotonic_usec());
		manager_arm(manager);
		return 0;
	}
	r = config_find_originals(config, "");
	if (r < 0) {
		log_error("the files of Paths= cannot be looked for: %s; everything stays as it "
		          "was",
		          strerror(-r));
		return r;
	}
	r = machine_probe_with(manager->setup.kernel, manager->context.block_record, &machine);
	if (r < 0) {
		log_error("this machine cannot be read: %s", strerror(-r));
		return r;
	}
	if (machine->cgroup_room_bytes != UINT64_MAX)
		machine->cgroup_room_bytes =
			bytes_add(machine->cgroup_room_bytes,
		                  charged_bytes(&manager->inventory) +
		                          book_inherited_bytes(manager->leases.book));
	r = plan_make(machine, config, &plan);
	if (r < 0) {
		log_error("no plan can be made: %s; everything stays as it was", strerror(-r));
		return r;
	}
	report_plan(manager, plan, config->nr_notes);
	machine_freep(&manager->machine);
	manager->machine = take(machine);

	manager->is_cpuset_restricted = is_any_node_forbidden(manager->machine);
	if (!inventory_is_busy(&manager->inventory))
		manager_refresh_context(manager);
	count_refused(manager, config);
	hotplug_note_plan(manager, plan);

	setup = (struct apply_setup){
		.plan = plan,
		.machine = manager->machine,
		.config = &config->daemon,
		.context = &manager->context,
		.backoff_usec = BACKOFF_USEC,
		.is_paused = manager->is_paused,
		.bell = ring,
		.arg = manager,
		.share_comes = leases_share_comes,
		.share_goes = share_goes,
		.pool_leaves = pool_leaves,
		.node_leaves = manager_node_leaves,
	};
	(void) pieces_recheck(&manager->inventory, manager->setup.kernel);
	r = apply_plan(&manager->inventory, &setup);
	if (r < 0)
		log_error("the plan could only be applied in part: %s", strerror(-r));

	brakes_configure(manager);
	report_helpers(manager);
	inventory_look(&manager->inventory, clock_monotonic_usec());
	leases_configure(manager);
	hotplug_watch(manager);
	manager_arm(manager);
	return r;
}

/* The refusals, one a line, as far as they fit. */
static char *refusals_text(const struct config *config)
{
	char *text = NULL;
	size_t text_bytes = 0;
	unsigned nr = 0;
	FILE *out = open_memstream(&text, &text_bytes);

	if (!out)
		return NULL;
	for (size_t i = 0; i < config->nr_notes; i++) {
		if (config->notes[i].severity != CONFIG_REFUSED)
			continue;
		if (++nr > 8) {
			(void) fputs("\nand more; see the journal", out);
			break;
		}
		(void) fprintf(out, "%s%s", nr > 1 ? "\n" : "", config->notes[i].text);
	}
	(void) fclose(out);
	return text;
}

int manager_reload(struct manager *manager, char **ret_sentence)
{
	scoped(config_freep) struct config *config = NULL;
	bool is_anything_refused;
	int r;

	/* what a newer version left stays untouched, whatever the configuration says */
	if (!manager->leases.book) {
		if (ret_sentence)
			*ret_sentence = strdup(manager->refused_text);
		return -EBUSY;
	}
	notify_reloading();
	log_info("reading the configuration again");
	r = config_load(manager->setup.config_directory, "", &config);
	if (r < 0) {
		log_error("%s: %s; everything goes on as it was", config_place(manager),
		          strerror(-r));
		notify_reloaded(&manager->notify);
		return r;
	}
	report_notes(config);
	is_anything_refused = config->is_anything_refused;
	if (is_anything_refused && ret_sentence)
		*ret_sentence = refusals_text(config);
	r = keep_former(config, manager->config);
	if (r < 0) {
		log_error("the new configuration cannot be taken over: %s", strerror(-r));
	} else {
		config_free(manager->config);
		manager->config = take(config);
		log_set_level(manager->config->daemon.log_level);
		hotplug_await(manager);
		r = manager_apply(manager, manager->config);
		pieces_memory_came(&manager->inventory);
	}
	manager_look(manager);
	notify_reloaded(&manager->notify);
	if (r < 0)
		return r;
	return is_anything_refused ? -EBADMSG : 0;
}
