/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * service.h - org.nodeinit1 on the bus: connection, name, objects, signals
 *
 * Layer: bus. Threads: main.
 *
 * Objects are exported before the name is asked for, so the first call after the name appears
 * succeeds. Loss of the bus is a state: everything that was shown is kept, the service connects
 * again (after 100 ms, then doubling, up to 10 s) and exports and asks for the name anew; the
 * manager notices only through on_connected.
 *
 * PropertiesChanged: one signal per object, at most every 250 ms; at once when a state changed
 * (still at most 4 in any second), the last value is always sent; nothing when nothing changed.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>

#include "../base/scoped.h"
#include "view.h"

struct bus_service;

/*
 * What clients may ask for; called on the main thread while a message is handled, must not block.
 * @ret_sentence (the caller of the callback frees it with free(3)) may be set together with an
 * error: object, numbers and remedy, for the D-Bus error; without it a general sentence is used.
 */
struct bus_service_ops {
	/* Return: 0; -EBADMSG the configuration has refused files (the rest is applied); -errno. */
	int (*reload)(void *arg, char **ret_sentence);
	int (*pause)(void *arg);
	int (*resume)(void *arg);
	/* Return: 0; -ENOENT no such pool; -EALREADY nothing missing or still at it; -errno. */
	int (*retry)(void *arg, const char *pool, char **ret_sentence);
	/* Return: 0 and an array that the service frees with free(3) (texts are static or borrowed
	 * until the next turn of the loop); -ENOMEM. */
	int (*timeline)(void *arg, struct timeline_entry **ret, size_t *ret_nr);
	/* LogControl1.LogLevel was set. */
	void (*log_level_changed)(void *arg, int level);
	/* The name is owned (true), or the connection or the name was lost (false, with -errno). */
	void (*on_connected)(void *arg, bool is_connected, int error);
};

/*
 * @address: "system", "session" or a D-Bus address. Borrows @ops and @arg for its life.
 * Connects to nothing yet. Return: 0 and *ret, which the caller owns; -ENOMEM.
 */
int bus_service_new(struct ev_loop *loop, const char *address, const struct bus_service_ops *ops,
                    void *arg, struct bus_service **ret);

/*
 * First connection: connects, exports what was shown so far, asks for the name. The answer comes
 * through on_connected. Return: 0; -EINVAL @address of bus_service_new() names no bus; -errno the
 * bus cannot be reached (no retry was begun).
 */
int bus_service_start(struct bus_service *service);

/* Send what is pending, release the name, close. NULL is fine. */
struct bus_service *bus_service_free(struct bus_service *service);
DEFINE_SCOPED(struct bus_service *, bus_service_free)

/* Whether the name is owned now. */
bool bus_service_is_connected(const struct bus_service *service);

/* Show a view: adds the object (InterfacesAdded) or takes over its new values. Return: 0; -ENOMEM;
 * -errno of sd-bus. */
int bus_service_show_manager(struct bus_service *service, const struct manager_view *view);
int bus_service_show_node(struct bus_service *service, const struct node_view *view);
int bus_service_show_pool(struct bus_service *service, const struct pool_view *view);

/* Withdraw an object (InterfacesRemoved). */
void bus_service_hide_pool(struct bus_service *service, const char *name);
void bus_service_hide_node(struct bus_service *service, unsigned node_id);
