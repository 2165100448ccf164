/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fake-leases.h - memory that fake-daemon lends: a memfd and a pipe, and a list to be shown
 *
 * Nothing connects the two: the list holds what the scenario put there.
 */
#pragma once

#include <systemd/sd-bus.h>

/* The methods of org.nodeinit1.Pool and org.nodeinit1.Manager. */
int fake_lease(sd_bus_message *call, void *pool, sd_bus_error *error);
int fake_list_leases(sd_bus_message *call, void *arg, sd_bus_error *error);
int fake_release_lease(sd_bus_message *call, void *arg, sd_bus_error *error);

/* The next leases are of @node_id, whatever is asked for. */
void fake_lend_from(unsigned node_id);

/* "N [ERROR]": the next N calls of Lease get this error, NotReady by default. */
void fake_lend_later(const char *words);

/* Calls of Lease that wait are never answered. */
void fake_lend_never(void);

/* "ID POOL NODE BYTES STATE UID PID UNIT REALTIME MONOTONIC" ("-" for no unit) */
void fake_add_lease(const char *words);

/* Print what the last call of Lease asked for: "BYTES NODE STRICT WAIT ", NODE -1 for none. */
void fake_print_asked(void);

/* Print whether it has ended: "0 " or "1 ". */
void fake_print_is_ended(void);

/* Wait until every copy of the lifetime of the last lease is closed. */
void fake_await_end(void);
