/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * leases.h - who has which memory, as the daemon lists it
 *
 * The daemon is a peer, as for model.h: texts are as sent.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#define LEASES_MAX 65536 /* more than a daemon has; what is beyond is -EBADMSG */

struct lease_entry {
	char *id;
	char *pool;
	uint32_t node_id;
	uint64_t bytes;
	char *state;
	uint32_t uid, pid;
	char *unit; /* "" while unknown */
	uint64_t since_realtime_usec, since_monotonic_usec;
};

/* Embedded by value; all zero is empty. */
struct leases {
	struct lease_entry *entries; /* by id */
	size_t nr_entries;
};

void leases_clear(struct leases *leases);

/*
 * Take over a reply to ListLeases, those of @pool or all (NULL). Return: 0 and *ret, which the
 * caller clears; -EBADMSG; -ENOMEM.
 */
int leases_read(sd_bus_message *reply, const char *pool, struct leases *ret);
