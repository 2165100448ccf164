/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lease-units.h - which unit a lessee runs in
 *
 * Layer: bus, private to it. Threads: main. Never blocks. For people who look at ListLeases:
 * nothing depends on it, and whatever goes wrong, the unit stays unknown. The service manager is
 * asked after the lease was answered, by the process id that the bus had seen; it is not started
 * for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>

struct bus_service;

#define UNIT_QUESTIONS_MAX 4   /* at once */
#define UNIT_WAITING_MAX   256 /* for one of these; of more leases the unit stays unknown */

struct unit_question {
	struct bus_service *service; /* borrowed */
	char lease_id[24];
	pid_t pid;
	sd_bus_slot *slot; /* NULL: free */
};

/* Embedded by value; all zero is "nothing to ask". */
struct lease_units {
	struct unit_question asked[UNIT_QUESTIONS_MAX];
	struct unit_question waiting[UNIT_WAITING_MAX]; /* a ring */
	size_t first, nr_waiting;
};

/* Ask for the unit of process @pid (0: unknown, nothing is asked), for ops->lease_unit(@lease_id).
 */
void lease_units_ask(struct bus_service *service, const char *lease_id, pid_t pid);

/* Forget all questions: the connection is going away. */
void lease_units_clear(struct bus_service *service);
