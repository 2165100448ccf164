/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * daemon-lease.h - a client of the fixture's daemon that leases
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon-fixture.h"

/* All zero: any node, and not later than now. */
struct daemon_lease_options {
	bool has_node;
	unsigned node_id;
	bool is_strict;
	bool may_wait;
};

/* Owns both descriptors. */
struct daemon_lease {
	int memory_fd;
	int lifetime_fd;
	char id[24];
	unsigned node_id;
	uint64_t bytes;
};

/*
 * Pool.Lease; @options may be NULL.
 * Return: 0 and *ret; -errno, *ret holds no descriptors, and *ret_error where not NULL.
 */
int daemon_lease(struct daemon_fixture *fixture, const char *pool, uint64_t bytes,
                 const struct daemon_lease_options *options, struct daemon_lease *ret,
                 sd_bus_error *ret_error);

/* The parts of it, for who asks many times at once: the call, and what its answer holds. */
sd_bus_message *daemon_lease_call(sd_bus *bus, const char *pool, uint64_t bytes,
                                  const struct daemon_lease_options *options);
void daemon_lease_read(sd_bus_message *reply, struct daemon_lease *ret);

/* Close what is still open of it: the lease ends, and nobody here has its memory open. */
void daemon_lease_close(struct daemon_lease *lease);

/* Who has what, a line of Manager.ListLeases. */
struct daemon_lease_line {
	char id[24];
	char pool[64];
	unsigned node_id;
	uint64_t bytes;
	char state[16];
	uid_t uid;
	pid_t pid;
	char unit[128];
	uint64_t since_realtime_usec;
	uint64_t since_monotonic_usec;
};

/* Return: how many, and *ret, an array that the caller frees. */
size_t daemon_leases(struct daemon_fixture *fixture, struct daemon_lease_line **ret);

/* Manager.ReleaseLease. Return: 0; -errno, and *ret_error where not NULL. */
int daemon_release(struct daemon_fixture *fixture, const char *id, sd_bus_error *ret_error);
