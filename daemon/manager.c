/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../dbus/names.h"
#include "base/clock.h"
#include "base/log.h"
#include "hotplug.h"
#include "manager-state.h"
#include "messages.h"
#include "pieces.h"
#include "session.h"

#define CHUNK_BYTES (64 * MIB)
/* What the service manager may take to say whether this is a restart. */
#define JOB_ANSWER_SECONDS 1.

static int on_reload(void *arg, char **ret_sentence)
{
	return manager_reload(arg, ret_sentence);
}

static void each_worker(struct manager *manager, void (*act)(struct worker *worker))
{
	for (size_t i = 0; i < manager->inventory.nr_nodes; i++)
		if (manager->inventory.nodes[i].worker)
			act(manager->inventory.nodes[i].worker);
}

static int on_pause(void *arg)
{
	struct manager *manager = arg;

	if (!manager->is_paused)
		report_event(LOG_LEVEL_INFO, MESSAGE_PAUSE,
		             "paused: no new chunk is begun until a Resume");
	manager->is_paused = true;
	each_worker(manager, worker_pause);
	manager_look(manager);
	return 0;
}

static int on_resume(void *arg)
{
	struct manager *manager = arg;

	if (manager->is_paused)
		report_event(LOG_LEVEL_INFO, MESSAGE_PAUSE, "resumed");
	manager->is_paused = false;
	/* so that the pause is not taken for a stall */
	inventory_look(&manager->inventory, clock_monotonic_usec());
	each_worker(manager, worker_resume);
	manager_look(manager);
	return 0;
}

/* Have every piece of the share that came back short try again. Return: whether any does. */
static bool retry_share(struct managed_share *share)
{
	bool is_any_retried = false;
	struct run_status run;

	for (size_t i = 0; i < share->nr_pieces; i++) {
		struct piece *piece = &share->pieces[i];

		run_read(piece->run, &run);
		if (run.share.done_bytes <
		    piece->want_bytes[STAGE_EARLY] + piece->want_bytes[STAGE_DEFERRED])
			is_any_retried |= run_retry(piece->run) == 0;
	}
	if (is_any_retried)
		managed_share_begin(share);
	return is_any_retried;
}

static int on_retry(void *arg, const char *name, char **ret_sentence)
{
	struct manager *manager = arg;
	struct managed_pool *pool = inventory_pool(&manager->inventory, name);
	unsigned nr_retried = 0;

	if (!pool)
		return -ENOENT;
	nr_retried += pieces_recheck(&manager->inventory, manager->setup.kernel);
	for (size_t i = 0; i < pool->nr_shares; i++)
		if (retry_share(&pool->shares[i])) {
			managed_node_begin(
				inventory_node(&manager->inventory, pool->shares[i].node_id));
			nr_retried++;
		}
	if (nr_retried == 0) {
		if (!share_state_is_settled(pool->state))
			(void) (asprintf(ret_sentence, "pool %s is still at work (%s)", name,
			                 share_state_text(pool->state)) < 0);
		else if (pool->short_bytes > 0)
			*ret_sentence = report_pool_sentence(pool);
		else if (pool->nr_refused_paths > 0)
			(void) (asprintf(ret_sentence,
			                 "pool %s: %zu of its Paths= are refused, the first as %s; "
			                 "nodeinitd --plan names them",
			                 name, pool->nr_refused_paths,
			                 original_refusal_text(pool->path_refusal)) < 0);
		else
			(void) (asprintf(ret_sentence, "pool %s is complete, nothing is missing",
			                 name) < 0);
		return -EALREADY;
	}
	log_info("pool %s: trying again on %u %s", name, nr_retried,
	         nr_retried == 1 ? "node" : "nodes");
	inventory_look(&manager->inventory, clock_monotonic_usec());
	manager_arm(manager);
	manager_look(manager);
	return 0;
}

static void on_log_level(void *arg, int level)
{
	(void) arg;
	log_set_level(level);
}

/* Without its name at the start nobody can find it: end; the service manager decides. */
static void give_up(struct manager *manager, const char *why)
{
	log_error("the name %s %s", NODEINIT_BUS_NAME, why);
	manager->has_failed = true;
	ev_break(manager->setup.loop, EVBREAK_ALL);
}

static void on_connected(void *arg, bool is_connected, int error)
{
	struct manager *manager = arg;

	manager->is_name_owned = is_connected;
	if (is_connected) {
		manager->was_name_owned = true;
		report_event(LOG_LEVEL_INFO, MESSAGE_BUS, "%s is on the bus", NODEINIT_BUS_NAME);
		manager_look(manager);
		return;
	}
	if (!manager->was_name_owned && error == -EEXIST)
		give_up(manager, "is owned by another process on this bus; is nodeinitd running "
		                 "already?");
	else if (!manager->was_name_owned && (error == -EACCES || error == -EPERM))
		give_up(manager,
		        "may not be owned by this user: the bus has no policy that allows it "
		        "(org.nodeinit1.conf), or has not read it yet");
	else
		report_event(LOG_LEVEL_WARNING, MESSAGE_BUS,
		             "the bus is lost (%s); work goes on, connecting again",
		             strerror(-error));
}

static const struct bus_service_ops bus_ops = {
	.reload = on_reload,
	.pause = on_pause,
	.resume = on_resume,
	.retry = on_retry,
	.timeline = manager_timeline,
	.lease = lease_calls_lease,
	.lease_cancelled = lease_calls_cancelled,
	.lease_unit = lease_calls_unit,
	.leases = lease_calls_list,
	.lease_owner = lease_calls_owner,
	.release = lease_calls_release,
	.log_level_changed = on_log_level,
	.on_connected = on_connected,
};

const char *config_place(const struct manager *manager)
{
	return manager->setup.config_directory ? manager->setup.config_directory
	                                       : "the configuration";
}

int manager_new(const struct manager_setup *setup, struct manager **ret)
{
	scoped(manager_freep) struct manager *manager = calloc(1, sizeof(*manager));
	int r;

	if (!manager) {
		log_error("out of memory");
		return -ENOMEM;
	}
	manager->setup = *setup;
	manager->started_monotonic_usec = manager->armed_usec = clock_monotonic_usec();
	manager->started_realtime_usec = clock_realtime_usec();
	manager->context = (struct kind_context){
		.kernel = setup->kernel,
		.memory = setup->memory,
		.chunk_bytes = CHUNK_BYTES,
	};
	manager_bell_init(manager);
	manager->inventory.share_leaves = leases_share_leaves;
	manager->inventory.arg = manager;
	manager->inventory.refill_wait_usec = REFILL_FIRST_USEC;

	r = hotplug_open(manager);
	if (r < 0) {
		log_error("out of memory");
		return r;
	}
	r = leases_open(manager);
	if (r == -EPROTONOSUPPORT)
		log_error("%s", manager->refused_text);
	else if (r < 0) {
		log_error("leases cannot be kept: %s", strerror(-r));
		return r;
	}
	r = config_load(setup->config_directory, "", &manager->config);
	if (r < 0) {
		log_error("%s: %s", config_place(manager), strerror(-r));
		return r;
	}
	log_set_level(manager->config->daemon.log_level);
	report_notes(manager->config);
	r = bus_service_new(setup->loop, setup->bus_address, &bus_ops, manager, &manager->bus);
	if (r < 0) {
		log_error("the bus (%s): %s", setup->bus_address, strerror(-r));
		return r;
	}
	*ret = take(manager);
	return 0;
}

static int start(struct manager *manager)
{
	int r;

	notify_start(&manager->notify, manager->setup.loop);
	hotplug_await(manager);
	r = manager_apply(manager, manager->config);
	if (r < 0)
		return r;
	hotplug_start(manager);
	leases_restored(manager);
	manager->is_started = true;
	/* shown before the name is asked for, so that the first caller finds every object */
	manager_look(manager);

	r = bus_service_start(manager->bus);
	if (r < 0) {
		log_error("the bus (%s) cannot be reached: %s; is dbus running, and is this the "
		          "right --bus?",
		          manager->setup.bus_address, strerror(-r));
		return r;
	}
	return 0;
}

int manager_start(struct manager *manager)
{
	int r = start(manager);

	/* The next process may have more luck, and what is leased is not to be forgotten. */
	if (r < 0)
		manager->keeps_memory = true;
	return r;
}

static void on_job(void *arg, const char *job_type)
{
	struct manager *manager = arg;

	manager->keeps_memory = strcmp(job_type, "restart") == 0;
	if (manager->keeps_memory)
		log_info("to be started again: what is in service stays for the next process");
	ev_break(manager->setup.loop, EVBREAK_ALL);
}

static void on_silence(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void) timer, (void) events;
	ev_break(loop, EVBREAK_ALL);
}

void manager_end(struct manager *manager)
{
	/* Who asks twice does not want to wait for the answer. */
	if (ev_is_active(&manager->silence) || !manager->leases.book ||
	    !store_is_there(manager->leases.store) ||
	    bus_service_ask_job(manager->bus, on_job, manager) < 0) {
		ev_break(manager->setup.loop, EVBREAK_ALL);
		return;
	}
	ev_timer_init(&manager->silence, on_silence, JOB_ANSWER_SECONDS, 0.);
	ev_timer_start(manager->setup.loop, &manager->silence);
}

bool manager_has_failed(const struct manager *manager)
{
	return manager->has_failed;
}

struct manager *manager_free(struct manager *manager)
{
	if (!manager)
		return NULL;

	if (manager->is_started) {
		notify_stopping();
		notify_status(&manager->notify, "stopping");
	}
	notify_stop(&manager->notify);
	manager->is_ending = true;
	session_rank_end(manager);
	leases_stop(manager, manager->keeps_memory);
	ev_timer_stop(manager->setup.loop, &manager->silence);
	ev_timer_stop(manager->setup.loop, &manager->look);
	bus_service_freep(&manager->bus);
	inventory_clear(&manager->inventory);
	hotplug_close(manager);
	leases_close(manager);
	machine_freep(&manager->machine);
	ev_async_stop(manager->setup.loop, &manager->bell);
	config_freep(&manager->config);
	for (size_t i = 0; i < manager->nr_plan_warnings; i++)
		free(manager->plan_warnings[i]);
	free(manager->plan_warnings);
	free(manager->refused_text);
	free(manager);
	return NULL;
}
