/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <unistd.h>

#include "autogroup.h"

#define NICE_BACKGROUND 19

int autogroup_rank(struct kernel *kernel, bool is_background)
{
	uint64_t is_enabled;
	int r;

	r = kernel_read_u64(kernel, &is_enabled, "/proc/sys/kernel/sched_autogroup_enabled");
	if (r < 0)
		return r;
	if (!is_enabled)
		return -ENOENT;
	/* From a shell it would be everything that was started there. */
	if (kernel->is_live && getsid(0) != getpid())
		return -EPERM;
	return kernel_write_u64(kernel, is_background ? NICE_BACKGROUND : 0,
	                        "/proc/self/autogroup");
}
