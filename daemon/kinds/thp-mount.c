/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../base/scoped.h"
#include "thp-mount.h"

/* glibc has wrappers since 2.36 only; numbers and values are those of every architecture. */
#ifndef SYS_fsopen
#define SYS_fsopen   430
#define SYS_fsconfig 431
#define SYS_fsmount  432
#endif

enum {
	OPEN_CLOEXEC = 1,                  /* FSOPEN_CLOEXEC */
	MOUNT_CLOEXEC = 1,                 /* FSMOUNT_CLOEXEC */
	CONFIG_STRING = 1,                 /* FSCONFIG_SET_STRING */
	CONFIG_CREATE = 6,                 /* FSCONFIG_CMD_CREATE */
	ATTR_NO_SUID_DEV_EXEC = 2 | 4 | 8, /* MOUNT_ATTR_NOSUID, _NODEV, _NOEXEC */
};

struct node_mount {
	unsigned node_id;
	int fd;
};

static struct {
	pthread_mutex_t lock;
	struct node_mount *mounts; /* at most one a node */
	size_t nr_mounts;
} own = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int set_option(int fs, const char *key, const char *value)
{
	return syscall(SYS_fsconfig, fs, CONFIG_STRING, key, value, 0) < 0 ? -errno : 0;
}

static int mount_new(unsigned node_id)
{
	scoped(fd_closep) int fs = -1;
	char policy[40];
	int fd, r;

	fs = (int) syscall(SYS_fsopen, "tmpfs", OPEN_CLOEXEC);
	if (fs < 0)
		return errno == ENOSYS || errno == ENODEV ? -EOPNOTSUPP : -errno;
	r = set_option(fs, "huge", "always");
	if (r < 0)
		return r == -EINVAL ? -EOPNOTSUPP : r;
	/* By itself a tmpfs ends at half of the memory and at an inode for every other page. */
	r = set_option(fs, "size", "0");
	if (r == 0)
		r = set_option(fs, "nr_inodes", "0");
	if (r < 0)
		return r;
	/*
	 * Static, so that a change of our cpuset does not move it. A kernel without NUMA knows no
	 * policies; each file is bound and checked anyway.
	 */
	(void) snprintf(policy, sizeof(policy), "bind=static:%u", node_id);
	(void) set_option(fs, "mpol", policy);
	if (syscall(SYS_fsconfig, fs, CONFIG_CREATE, NULL, NULL, 0) < 0)
		return errno == EINVAL ? -EOPNOTSUPP : -errno;
	fd = (int) syscall(SYS_fsmount, fs, MOUNT_CLOEXEC, ATTR_NO_SUID_DEV_EXEC);
	return fd < 0 ? -errno : fd;
}

/* Return: the mount's descriptor, borrowed; -errno. */
static int mount_get(unsigned node_id)
{
	struct node_mount *mounts;
	int fd;

	for (size_t i = 0; i < own.nr_mounts; i++)
		if (own.mounts[i].node_id == node_id)
			return own.mounts[i].fd;
	mounts = reallocarray(own.mounts, own.nr_mounts + 1, sizeof(*mounts));
	if (!mounts)
		return -ENOMEM;
	own.mounts = mounts;
	fd = mount_new(node_id);
	if (fd < 0)
		return fd;
	mounts[own.nr_mounts++] = (struct node_mount){ .node_id = node_id, .fd = fd };
	return fd;
}

/*
 * As a memfd: whoever was given the descriptor may open it by its path in /proc, and nobody else
 * has a path to it. Programs that take memory by a path do that, and run as other users than we do.
 */
#define FILE_MODE 0666

/* Return: a descriptor; -errno. */
static int file_new(int mount)
{
	scoped(fd_closep) int fd = openat(mount, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, FILE_MODE);

	/* The mode again: umask has taken from it. */
	if (fd < 0 || fchmod(fd, FILE_MODE) < 0)
		return -errno;
	return take_fd(fd);
}

int thp_mount_file(unsigned node_id)
{
	int fd;

	(void) pthread_mutex_lock(&own.lock);
	fd = mount_get(node_id);
	if (fd >= 0)
		fd = file_new(fd);
	(void) pthread_mutex_unlock(&own.lock);
	return fd;
}

void thp_mount_close(void)
{
	(void) pthread_mutex_lock(&own.lock);
	while (own.nr_mounts > 0)
		(void) fd_close(own.mounts[--own.nr_mounts].fd);
	free(take(own.mounts));
	(void) pthread_mutex_unlock(&own.lock);
}
