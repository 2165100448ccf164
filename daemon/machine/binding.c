/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <numa.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include "../base/scoped.h"
#include "binding.h"

#define NICE_BACKGROUND 19

static struct bitmask *bitmask_free(struct bitmask *mask)
{
	if (mask)
		numa_bitmask_free(mask);
	return NULL;
}
DEFINE_SCOPED(struct bitmask *, bitmask_free)

/* One past the largest id. */
static unsigned idset_end(const struct idset *set)
{
	unsigned end = 0;

	for (int id = idset_next(set, 0); id >= 0; id = idset_next(set, (unsigned) id + 1))
		end = (unsigned) id + 1;
	return end;
}

int binding_run_on(const struct idset *cpus)
{
	/* libnuma's masks have any size; cpu_set_t ends at 1024 CPUs. */
	scoped(bitmask_freep) struct bitmask *mask = NULL;

	if (idset_is_empty(cpus))
		return 0;
	mask = numa_bitmask_alloc(idset_end(cpus));
	if (!mask)
		return -ENOMEM;
	for (int id = idset_next(cpus, 0); id >= 0; id = idset_next(cpus, (unsigned) id + 1))
		(void) numa_bitmask_setbit(mask, (unsigned) id);
	/* The kernel passes over CPUs that are offline or outside the cpuset, unless all are. */
	return numa_sched_setaffinity(0, mask) < 0 ? -errno : 0;
}

/*
 * On Linux these calls are about one thread: 0 is the calling one, the process id the main one.
 * The nice value of the daemon is what the main thread has (Nice= of its unit), not always 0.
 */
int binding_set_priority(enum binding_priority priority)
{
	const struct sched_param param = { .sched_priority = 0 };
	bool is_background = priority == BINDING_BACKGROUND;
	int nice = NICE_BACKGROUND;

	if (sched_setscheduler(0, is_background ? SCHED_BATCH : SCHED_OTHER, &param) < 0)
		return -errno;
	if (!is_background) {
		errno = 0;
		nice = getpriority(PRIO_PROCESS, (id_t) getpid());
		if (nice == -1 && errno)
			return -errno;
	}
	if (setpriority(PRIO_PROCESS, 0, nice) < 0)
		return errno == EACCES ? -EPERM : -errno;
	return 0;
}
