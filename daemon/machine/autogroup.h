/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * autogroup.h - how the process ranks against other sessions
 *
 * Layer: machine. Threads: main.
 *
 * With kernel.sched_autogroup_enabled (the default of most distributions), nice values rank threads
 * within their session only: a thread at nice 19 of a service gets as much of a CPU as one of any
 * other session at nice 0. What ranks the sessions is the nice value in /proc/PID/autogroup; see
 * sched(7), "The autogroup feature". It does nothing for a process in a cgroup with the cpu
 * controller, which has its weight there.
 */
#pragma once

#include <stdbool.h>

#include "kernel.h"

/*
 * Rank the session of this process like a thread of nice 19, or of 0 again. The main thread is in
 * it, too. Return: 0; -EPERM the session is not this process's alone to rank (it does not lead it);
 * -ENOENT this kernel has no autogroups, or they are off; -EAGAIN not again within a tenth of a
 * second without CAP_SYS_ADMIN; other -errno of open(2), write(2).
 */
int autogroup_rank(struct kernel *kernel, bool is_background);
