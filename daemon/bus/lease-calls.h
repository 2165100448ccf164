/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lease-calls.h - calls of Pool.Lease that were not answered yet
 *
 * Layer: bus, private to it. Threads: main. Never blocks.
 *
 *     begin -> the bus is asked who calls -> ops->lease -> (waits) -> answered
 *
 * A call that waits holds nothing of its message but where the answer goes: neither its body nor
 * the descriptors that it may carry. Whether its client is still there is watched from when it
 * begins to wait, not before: most calls are answered at once, and a match costs the bus something.
 */
#pragma once

#include <stddef.h>
#include <systemd/sd-bus.h>

#include "service.h"

/* Embedded by value; all zero is "nobody calls". */
struct lease_calls {
	struct lease_call *calls;
	size_t nr_calls;
	size_t nr_waiting;           /* of these, with the manager */
	struct lease_call *handling; /* the one for which ops->lease runs */
};

/*
 * Take on @call. Of @asked pool (copied), bytes and options are set, the rest is found out.
 * Return: 1 the reply comes later; negative with @ret_error filled in (LimitsExceeded: too many
 * calls of this client wait already, or of all clients).
 */
int lease_calls_begin(struct bus_service *service, sd_bus_message *call,
                      const struct lease_request *asked, sd_bus_error *ret_error);

/* End all: the manager is told (lease_cancelled), the clients get Cancelled where they can. */
void lease_calls_clear(struct bus_service *service);
