/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory that others have, too: a description of their own for them, and whether they still have
 * it.
 *
 * The kernel grants a lease for writing (fcntl(2), F_SETLEASE) to a description that is the only
 * one of its file: it compares how many there are that write or read with what the asking one
 * itself adds (fs/locks.c). A mapping keeps its description alive and counts as such; duplicates
 * are the same description and count once, so a descriptor in the service manager's store is ours.
 * What memfd_create(2) returns was never opened and is not counted; so of a memfd only a
 * description that was opened is kept.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "memory-system.h"

int memory_reopen(int fd)
{
	char path[40];
	int again;

	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

int memory_open_again(const struct memory *memory)
{
	int fd = memory_reopen(memory->fd);

	/* No /proc. */
	return fd == -ENOENT || fd == -ENOTDIR ? -EOPNOTSUPP : fd;
}

int memory_is_in_use(const struct memory *memory)
{
	if (!memory_probe.has_use)
		return -EOPNOTSUPP;
	if (fcntl(memory->fd, F_SETLEASE, F_WRLCK) == 0) {
		(void) fcntl(memory->fd, F_SETLEASE, F_UNLCK);
		return 0;
	}
	switch (errno) {
	case EAGAIN:
	case EBUSY:
		return 1;
	case EACCES: /* somebody with the right to has given the file to another user */
	case EPERM:
	case EINVAL:
	case ENOSYS:
	case ENOTTY:
	case EOPNOTSUPP:
		return -EOPNOTSUPP;
	default:
		return -errno;
	}
}
