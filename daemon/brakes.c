/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <time.h>

#include "base/log.h"
#include "base/size.h"
#include "brakes.h"
#include "manager-state.h"
#include "messages.h"

#define FIELD_MAX 128

/* The log has a line for the first step only, and not for each time that somebody comes and goes.
 */
#define SAY_PERIOD_USEC (60 * UINT64_C(1000000))

void brakes_configure(struct manager *manager)
{
	for (size_t i = 0; i < manager->inventory.nr_nodes; i++)
		if (manager->inventory.nodes[i].worker)
			worker_set_max_rate(manager->inventory.nodes[i].worker,
			                    manager->config->daemon.max_rate_bytes);
}

/* CPU time of all our threads, those that have ended included. */
static uint64_t own_cpu_usec(void)
{
	struct timespec spent;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent) < 0)
		return 0;
	return (uint64_t) spent.tv_sec * 1000000 + (uint64_t) spent.tv_nsec / 1000;
}

static bool is_background(const struct manager *manager, const struct managed_node *node)
{
	return node->worker_status.is_running && node->worker_status.is_background &&
	       !manager->is_paused;
}

static bool is_any_background(const struct manager *manager)
{
	for (size_t i = 0; i < manager->inventory.nr_nodes; i++)
		if (is_background(manager, &manager->inventory.nodes[i]))
			return true;
	return false;
}

static void look_at_host(struct manager *manager, uint64_t now_usec)
{
	struct brake_sample sample = { .at_usec = now_usec, .own_cpu_usec = own_cpu_usec() };

	pressure_read(manager->setup.kernel, &sample.pressure);
	brake_host_look(&manager->brake_host, &sample);
}

/* The same number for chunks that are the same work: kind of pool, kind and size of page. */
static uint64_t work_kind(struct manager *manager, const struct managed_node *node)
{
	const struct managed_pool *pool = inventory_pool(&manager->inventory, node->current_pool);

	return pool ? pool->page_bytes << 8 | (uint64_t) pool->kind << 4 | (uint64_t) pool->page
	            : 0;
}

static void say(struct manager *manager, const struct managed_node *node)
{
	const struct brake *brake = &node->brake;
	bool is_pressure = brake->reason == BRAKE_PRESSURE;
	const char *kind = pressure_text(brake->kind);
	char node_field[FIELD_MAX], reason_field[FIELD_MAX], why[FIELD_MAX] = "";
	const char *fields[] = { MESSAGE_BRAKE, node_field, reason_field };
	/* all of them, while one that rested is tried without */
	unsigned nr_members =
		(unsigned) bytes_min(brake_setting(brake).nr_members, brake->full_members);

	(void) snprintf(node_field, sizeof(node_field), "NODEINIT_NODE=%u", node->node_id);
	if (!brake_is_on(brake)) {
		(void) snprintf(reason_field, sizeof(reason_field), "NODEINIT_REASON=");
		log_event(LOG_LEVEL_INFO, fields, ELEMENTS(fields), "node %u: not braked any more",
		          node->node_id);
		return;
	}
	(void) snprintf(reason_field, sizeof(reason_field), "NODEINIT_REASON=%s",
	                is_pressure ? kind : "bandwidth");
	if (is_pressure)
		(void) snprintf(why, sizeof(why), "pressure on %s %u %% (BrakePressure=%u%%)", kind,
		                brake->percent, manager->config->daemon.brake_pressure_percent);
	else
		(void) snprintf(why, sizeof(why), "memory bandwidth is wanted by others");
	log_event(LOG_LEVEL_INFO, fields, ELEMENTS(fields), "node %u: braked: %s, %u of %u threads",
	          node->node_id, why, nr_members, brake->full_members);
}

/* A line when it goes on, and one when that is over; a step that was not said ends unsaid. */
static void say_if_new(struct manager *manager, struct managed_node *node, uint64_t now_usec)
{
	bool is_on = brake_is_on(&node->brake);

	if (is_on == node->is_brake_said)
		return;
	if (is_on && node->brake_said_usec > 0 &&
	    now_usec - node->brake_said_usec < SAY_PERIOD_USEC)
		return;
	say(manager, node);
	node->is_brake_said = is_on;
	if (is_on)
		node->brake_said_usec = now_usec;
}

static void look_at_node(struct manager *manager, struct managed_node *node)
{
	struct brake_work work = {
		.nr_active = node->worker_status.nr_active,
		.background_bytes = node->worker_status.background_bytes,
		.background_cpu_nsec = node->worker_status.background_cpu_nsec,
	};

	if (is_background(manager, node)) {
		work.kind = work_kind(manager, node);
		brake_look(&node->brake, &manager->brake_host, &work,
		           manager->config->daemon.brake_pressure_percent);
	} else {
		brake_skip(&node->brake);
		if (!node->worker_status.is_running)
			brake_release(&node->brake);
	}
}

void brakes_look(struct manager *manager, uint64_t now_usec)
{
	if (manager->config->daemon.brake_pressure_percent > 0 && is_any_background(manager))
		look_at_host(manager, now_usec);
	else
		brake_host_forget(&manager->brake_host);
	for (size_t i = 0; i < manager->inventory.nr_nodes; i++) {
		struct managed_node *node = &manager->inventory.nodes[i];
		unsigned step = node->brake.step;
		struct worker_brake setting;

		if (!node->worker)
			continue;
		look_at_node(manager, node);
		say_if_new(manager, node, now_usec);
		if (node->brake.step == step)
			continue;
		setting = brake_setting(&node->brake);
		worker_set_brake(node->worker, &setting);
	}
}

bool brakes_is_braked(const struct manager *manager, const struct managed_node *node)
{
	return brake_is_on(&node->brake) && is_background(manager, node);
}
