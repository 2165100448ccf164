/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * hostile-scene.h - a daemon with one pool, and what it has to look like after whatever was done to
 * it
 *
 * Faults are ck_assert()s.
 */
#pragma once

#include "lease-scene.h"

#define REGION_BYTES (4 * MIB)
#define POOL         "small"
#define POOL_SIZE    "32M"

extern struct daemon_fixture d;
extern uint64_t total_bytes; /* of the pool */

/* Checked fixture of every test: the daemon runs and all is ready. */
void setup(void);
void teardown(void);

#define NR_FDS_MAX 1024

/* How many descriptors the daemon has, and which; @ret_is_open may be NULL. */
size_t look_at_fds(bool ret_is_open[NR_FDS_MAX]);

/* Until what is in the list now is not any more. */
void wait_no_leases(void);

/* All is given back, built anew and in its place, no descriptor is left over, and a lease is what
 * it always was. */
void expect_as_at_start(void);
