/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * landlord.h - nodeinitd with one pool of two regions, and what its books say
 *
 * Faults are ck_assert()s: for the process of the test.
 */
#pragma once

#include "daemon-fixture.h"
#include "daemon-lease.h"
#include "pages.h"

#define LANDLORD_REGIONS 2

struct landlord {
	struct daemon_fixture daemon;
	uint64_t region_bytes;
	pid_t pid;
};

/* Returns with all regions ready. @conf: of nodeinitd.conf, or NULL. */
void landlord_start(struct landlord *landlord, const struct pages *pages, uint64_t region_bytes,
                    const char *conf);

/* Ends it as the service manager does; it must obey. */
void landlord_end(struct landlord *landlord);

/* SIGKILL, and the next one takes over. */
void landlord_replace(struct landlord *landlord);

/* Harmless at any time, for the teardown. */
void landlord_stop(struct landlord *landlord);

/* Lease one region; its bytes are in the books on return. */
void landlord_lease(struct landlord *landlord, struct daemon_lease *ret);

/* Wait until that much is let, and that much draining, and that much good (ready or let), in
 * regions; the list of leases says the same. */
void landlord_wait(struct landlord *landlord, unsigned nr_leased, unsigned nr_draining,
                   unsigned nr_done);

/* What drains is lease @id, and it is in the list as that of this process. */
void landlord_assert_draining(struct landlord *landlord, const char *id);

/* Wait until nothing is let, with or without something draining. */
void landlord_wait_left(struct landlord *landlord);

/*
 * What the kernel sends it when somebody opens a file in the moment in which the daemon asks
 * whether somebody has it. An attack meets that moment once in thousands of times.
 */
void landlord_break_lease(struct landlord *landlord);

/* It is the process that was started, on the bus, its pool is ready, and so is the host. */
void landlord_assert_alive(struct landlord *landlord);
