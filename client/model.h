/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * model.h - what the daemon shows, as plain structs
 *
 * Read at once by GetManagedObjects, kept up to date by PropertiesChanged and InterfacesAdded /
 * InterfacesRemoved. The daemon is a peer: what it sends may be anything that D-Bus lets through;
 * texts are as sent and are escaped where they are printed (text.h). Properties that are not known
 * here are passed over, so that a newer daemon can be watched; one with another type is -EBADMSG.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "client.h"

struct host {
	char *version;
	char *state;
	bool is_ready;
	bool is_paused;
	uint64_t generation;
	uint64_t total_bytes, done_bytes, short_bytes;
	uint64_t started_monotonic_usec, early_monotonic_usec,
		ready_monotonic_usec; /* 0: not yet */
	uint64_t started_realtime_usec, early_realtime_usec, ready_realtime_usec;
};

struct node {
	char *path;       /* of its object */
	bool has_changed; /* since the viewer last cleared it */
	uint32_t node_id;
	char *cpus;
	int32_t helper_node_id; /* -1: none */
	uint64_t memory_bytes, spanned_bytes, early_budget_bytes;
	uint64_t total_bytes, done_bytes, short_bytes;
	uint64_t rate_bytes; /* a second */
	uint32_t nr_threads;
	bool is_braked;
	char *state;
	char *current_pool;
	uint64_t started_monotonic_usec, finished_monotonic_usec;
	uint64_t boot_usec;  /* the kernel's own part, at boot: boot_log_join() */
	bool has_boot;       /* that is known */
	uint64_t shown_usec; /* the viewer's: when it last printed this node */
};

struct share {
	uint32_t node_id;
	char *state;
	uint64_t total_bytes, early_bytes, done_bytes, short_bytes;
	char *reason; /* "" for none */
};

struct pool {
	char *path;
	bool has_changed;
	char *name;
	char *kind;
	uint64_t page_bytes;
	uint64_t region_bytes; /* 0: nothing is leased of it, or the daemon does not say */
	bool is_required;
	char *state;
	uint64_t total_bytes, done_bytes, short_bytes, leased_bytes, draining_bytes;
	struct share *shares;
	size_t nr_shares;
	uint64_t shown_usec;
};

/* Embedded by value; all zero is empty. */
struct model {
	struct host host;
	bool has_host;
	bool has_host_changed;
	struct node *nodes; /* by node_id */
	size_t nr_nodes;
	struct pool *pools; /* by name */
	size_t nr_pools;
};

/* No machine and no configuration comes near; what is beyond is refused with -EBADMSG. */
#define MODEL_OBJECTS_MAX 65536

void model_clear(struct model *model);

/*
 * Connect, ask for everything, wait for it. *ret must be empty. Return: CLIENT_REACHED; else the
 * exit status, reported.
 */
int model_look(const struct client *client, struct model *ret);

/*
 * Make the requests of model_look(), for those who do not wait: all nodes and pools, then the host,
 * which an object manager does not list among the objects below it (D-Bus specification,
 * org.freedesktop.DBus.ObjectManager). Return: 0 and *ret; -errno.
 */
int model_request(sd_bus *bus, sd_bus_message **ret);
int model_request_host(sd_bus *bus, sd_bus_message **ret);

/* Replace the model by a reply to GetManagedObjects. Return: 0; -EBADMSG, -ENOMEM: as it was. */
int model_replace(struct model *model, sd_bus_message *reply);

/* Take over a reply to GetAll of the host. Return: 0; -EBADMSG; -ENOMEM. */
int model_replace_host(struct model *model, sd_bus_message *reply);

/* Take over InterfacesAdded, InterfacesRemoved, PropertiesChanged. Return: 0; 1: only a new request
 * can tell what it is now; -EBADMSG; -ENOMEM. */
int model_added(struct model *model, sd_bus_message *signal);
int model_removed(struct model *model, sd_bus_message *signal);
int model_changed(struct model *model, sd_bus_message *signal);

/* Return: borrowed until the model changes; NULL for none. */
struct node *model_node(const struct model *model, uint32_t node_id);
struct pool *model_pool(const struct model *model, const char *name);

/* What is still to be done: neither done nor known to be missing. */
uint64_t model_left_bytes(uint64_t total_bytes, uint64_t done_bytes, uint64_t short_bytes);

/* Is @pool made of pages of a size? Memory blocks and files have none of their own. */
bool model_has_pages(const struct pool *pool);

/* What can be leased of @pool now; nothing of a pool of another kind than region. */
bool model_has_leases(const struct pool *pool);
uint64_t model_free_bytes(const struct pool *pool);

/*
 * What is built anew of @pool, or of all, in the place of regions whose leases are over: the state
 * stays ready (or degraded) meanwhile. Draining memory is not: nobody knows when it comes back.
 */
uint64_t model_refill_bytes(const struct pool *pool);
uint64_t model_refill_bytes_of_all(const struct model *model);

/*
 * The host has failed though no required pool has: a declared pool was refused for its file, and is
 * not among the objects.
 */
bool model_has_refused(const struct model *model);

/* ready, degraded or idle; failed or cancelled; either. */
bool model_is_reached(const char *state);
bool model_is_failed(const char *state);
bool model_is_settled(const char *state);
