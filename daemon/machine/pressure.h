/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pressure.h - what runs on this machine loses by waiting (PSI), and how busy its CPUs are
 *
 * Layer: machine. Threads: any; no state. Everything counts up since the boot: two samples tell
 * of the time between them. What cannot be read is a fact, not an error: a kernel without PSI
 * (or with psi=0), a container that hides it, a unit that is in no cgroup of version 2.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel.h"

enum pressure_kind { PRESSURE_CPU, PRESSURE_MEMORY, PRESSURE_IO, NR_PRESSURES };

/*
 * In µs: how long at least one task was held up for want of it, "some … total=" in the kernel's
 * Documentation/accounting/psi.rst.
 */
struct pressure_total {
	bool has_host;
	bool has_own;
	uint64_t host_usec; /* anybody on this machine, we included */
	uint64_t own_usec;  /* anybody in our own cgroup, which is not the root */
};

struct pressure_sample {
	struct pressure_total totals[NR_PRESSURES];
	bool has_busy;
	uint64_t busy_usec; /* all CPUs together: neither idle, nor waiting for I/O, nor stolen */
};

/* "cpu" "memory" "io". Static. */
const char *pressure_text(enum pressure_kind kind);

/* Reads eight files or fewer; blocks as long as the kernel needs for them. */
void pressure_read(struct kernel *kernel, struct pressure_sample *ret);
