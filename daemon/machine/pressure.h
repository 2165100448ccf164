/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pressure.h - what runs on this machine loses by waiting (PSI, schedstat), and how busy its CPUs
 * are
 *
 * Layer: machine. Threads: any; no state. Everything counts up since the boot: two samples tell
 * of the time between them. What cannot be read is a fact, not an error: a kernel without PSI
 * (or with psi=0) or without schedstat, a container that hides them, a unit that is in no cgroup of
 * version 2.
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

/* Each costs a file that is opened and read. With more of ours, what they waited is not known. */
#define PRESSURE_OWN_THREADS_MAX 256

/*
 * How long tasks have waited for a CPU while they could have run, each for itself: run_delay in the
 * kernel's Documentation/scheduler/sched-stats.rst. What is counted goes when its CPU or thread
 * goes, and a CPU that comes back brings what it had: two samples with different numbers of CPUs,
 * or the later one without a thread of the earlier one, tell of nothing.
 */
struct pressure_waits {
	bool is_known;
	unsigned nr_cpus;
	unsigned nr_own_threads;
	uint64_t own_threads[PRESSURE_OWN_THREADS_MAX]; /* their ids, in no order */
	uint64_t host_nsec;                             /* anybody on this machine, we included */
	uint64_t own_nsec;                              /* all threads of this process */
};

struct pressure_sample {
	struct pressure_total totals[NR_PRESSURES];
	struct pressure_waits waits;
	bool has_busy;
	uint64_t busy_usec; /* all CPUs together: neither idle, nor waiting for I/O, nor stolen */
};

/* "cpu" "memory" "io". Static. */
const char *pressure_text(enum pressure_kind kind);

/*
 * Reads up to twelve files: a path of our own is looked for at two places. Where there is
 * schedstat, also one for each of our threads, PRESSURE_OWN_THREADS_MAX at most. Each is read once,
 * however large it is. Blocks as long as the kernel needs for them.
 */
void pressure_read(struct kernel *kernel, struct pressure_sample *ret);
