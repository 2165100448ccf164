/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "base/scoped.h"
#include "run-directory.h"

#define RUN_DIRECTORY "/run/nodeinit"

enum { HOLD_TRIES = 20, HOLD_PAUSE_MS = 5 };

const char *run_directory(void)
{
	static char first[PATH_MAX];
	const char *all = secure_getenv("RUNTIME_DIRECTORY");
	size_t nr_bytes = all ? strcspn(all, ":") : 0;

	if (nr_bytes == 0 || nr_bytes >= sizeof(first) || all[0] != '/')
		return RUN_DIRECTORY;
	memcpy(first, all, nr_bytes);
	first[nr_bytes] = '\0';
	return first;
}

int run_directory_hold(const char *directory)
{
	const struct timespec pause = { .tv_nsec = HOLD_PAUSE_MS * 1000000L };
	scoped(fd_closep) int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (unsigned i = 0; i < HOLD_TRIES; i++) {
		if (flock(fd, LOCK_SH | LOCK_NB) == 0)
			return take_fd(fd);
		if (errno != EWOULDBLOCK)
			return -errno;
		/* run_directory_is_held() has it for an instant */
		(void) nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

bool run_directory_is_held(int fd)
{
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return true;
	(void) flock(fd, LOCK_UN);
	return false;
}
