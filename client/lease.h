/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lease.h - memory that was lent, and the command that is to have it
 */
#pragma once

#include <stdint.h>

#include "client.h"

/* Where the command finds them: meminitctl(1). */
#define LEASE_MEMORY_FD   3
#define LEASE_LIFETIME_FD 4

/* The descriptors are close-on-exec and above LEASE_LIFETIME_FD; -1: there is none. */
struct lease_grant {
	int memory_fd;
	int lifetime_fd;
	char *id;
	uint32_t node_id;
	uint64_t bytes;
};

void lease_grant_clear(struct lease_grant *grant);

/*
 * Become @command, which ends with NULL, with the memory of @grant. Returns only when that did not
 * work, and has said so. Return: the exit status.
 */
int lease_command_run(const struct lease_grant *grant, char **command);
