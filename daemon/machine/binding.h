/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * binding.h - where a thread runs, and at which priority
 *
 * Layer: machine; the one user of libnuma. Threads: each call is about the calling thread.
 */
#pragma once

#include "../base/idset.h"

/*
 * Run the calling thread on @cpus only. An empty set is left alone. CPUs that went offline in the
 * meantime do not count. Return: 0; -EINVAL none of them is usable any more; -ENOMEM; -errno of
 * sched_setaffinity(2).
 */
int binding_run_on(const struct idset *cpus);

/* Early work: SCHED_OTHER as the daemon itself. Deferred work: SCHED_BATCH and nice 19. */
enum binding_priority { BINDING_NORMAL, BINDING_BACKGROUND };

/*
 * Set the calling thread's scheduling. Return: 0; -errno. Going back to normal needs the right to
 * lower nice (CAP_SYS_NICE or RLIMIT_NICE); without it -EPERM, and the caller goes on.
 */
int binding_set_priority(enum binding_priority priority);
