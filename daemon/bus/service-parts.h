/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * service-parts.h - what the files of the bus service share
 *
 * Layer: bus, private to it. Threads: main.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "auth.h"
#include "lease-calls.h"
#include "lease-units.h"
#include "loop.h"
#include "object.h"
#include "service.h"
#include "unit-job.h"

/* objects.c: everything that is shown, and the one timer that tells of its changes. */
struct objects {
	struct bus_object *manager;
	struct bus_object **nodes; /* ascending id */
	size_t nr_nodes;
	struct bus_object **pools; /* ascending name */
	size_t nr_pools;

	ev_timer timer;        /* runs only while something is due */
	uint64_t wake_at_usec; /* when it fires; UINT64_MAX: it does not run */
};

/* service.c: the connection. */
struct bus_service {
	struct ev_loop *loop; /* borrowed */
	char *address;
	bool is_system_bus;
	const struct bus_service_ops *ops; /* borrowed */
	void *arg;

	sd_bus *bus; /* NULL: not connected */
	struct bus_loop *bus_loop;
	sd_bus_slot *overload_filter;
	sd_bus_slot *object_manager;
	sd_bus_slot *log_filter;
	sd_bus_slot *log_control;
	sd_bus_slot *name_lost;
	sd_bus_slot *name_request;
	bool owns_name;
	int fault;             /* why the connection is to be dropped by the timer; 0: it is not */
	bool is_loss_reported; /* on_connected(false) was said since the name was owned last */
	ev_timer timer;        /* the next attempt, or the end of a faulty connection */
	double delay_seconds;  /* before the next attempt */

	struct objects objects;
	struct auth auth;
	struct lease_calls lease_calls;
	struct lease_units lease_units;
	struct unit_job unit_job;
};

/* The bus takes less off our hands than we have for it: add nothing that is not necessary. */
bool service_is_bus_slow(const struct bus_service *service);

/* The manager object, with nothing known yet. Return: 0; -ENOMEM. */
int objects_init(struct bus_service *service);
void objects_clear(struct bus_service *service);

/* Put all on the bus, or take all off it. Return: 0; -ENOMEM; -errno of sd-bus. */
int objects_export(struct bus_service *service);
void objects_withdraw(struct bus_service *service);

/* Signals that are due may go out from now on: the name is owned. */
void objects_resume(struct bus_service *service);

/* Send what has changed now, whatever the time since the last signal: the bus is being left. */
void objects_flush(struct bus_service *service);

/* Return: borrowed; NULL for none. */
struct bus_object *objects_find_node(const struct bus_service *service, unsigned node_id);
struct bus_object *objects_find_pool(const struct bus_service *service, const char *name);

/* The interfaces; log-control has its own two slots and no view. */
extern const struct face manager_face;
extern const struct face node_face;
extern const struct face pool_face;

/* Return: 0; -ENOMEM; -errno of sd-bus. */
int log_control_export(struct bus_service *service);
