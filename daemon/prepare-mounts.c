/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/log.h"
#include "base/scoped.h"
#include "prepare-mounts.h"

#define REPLICA "replica"
#define LOCK    ".lock"

enum { LOCK_TRIES = 500, LOCK_PAUSE_MS = 10 };

/* glibc has wrappers since 2.36 only; numbers and values are those of every architecture. */
enum {
	NR_move_mount = 429,
	NR_fsopen = 430,
	NR_fsconfig = 431,
	NR_fsmount = 432,
	NR_fspick = 433,
	NR_mount_setattr = 442,

	OPEN_CLOEXEC = 1,       /* FSOPEN_CLOEXEC, FSPICK_CLOEXEC, FSMOUNT_CLOEXEC */
	PICK_EMPTY_PATH = 8,    /* FSPICK_EMPTY_PATH */
	CONFIG_STRING = 1,      /* FSCONFIG_SET_STRING */
	CONFIG_CREATE = 6,      /* FSCONFIG_CMD_CREATE */
	CONFIG_CHANGE = 7,      /* FSCONFIG_CMD_RECONFIGURE */
	ATTR_FIXED = 1 | 2 | 4, /* MOUNT_ATTR_RDONLY, _NOSUID, _NODEV */
	MOVE_FDS = 4 | 0x40,    /* MOVE_MOUNT_F_EMPTY_PATH, MOVE_MOUNT_T_EMPTY_PATH */
};

/* As the kernel's struct mount_attr. */
struct attributes {
	uint64_t set, clear, propagation, userns_fd;
};

static int set_option(int fs, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int set_option(int fs, const char *key, const char *format, ...)
{
	char value[40];
	va_list args;

	va_start(args, format);
	(void) vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	return syscall(NR_fsconfig, fs, CONFIG_STRING, key, value, 0) < 0 ? -errno : 0;
}

/*
 * Static, so that a change of somebody's cpuset does not move it. Refused for a node without
 * memory, and by a kernel without NUMA.
 */
static int set_policy(int fs, unsigned node_id)
{
	int r = set_option(fs, "mpol", "bind=static:%u", node_id);

	if (r == -EINVAL)
		log_debug("node %u: its tmpfs has no policy: the node has no memory", node_id);
	return r == -EINVAL ? 0 : r;
}

/* Return: a descriptor of the mount, which is attached nowhere yet; -errno. */
static int mount_new(const struct prepare_mounts *mounts, unsigned node_id)
{
	scoped(fd_closep) int fs = (int) syscall(NR_fsopen, "tmpfs", OPEN_CLOEXEC);
	int fd, r;

	if (fs < 0)
		return -errno;
	/* Only shown, in the list of mounts. */
	(void) set_option(fs, "source", "nodeinit");
	/* A kernel without transparent huge pages does not know it. */
	(void) set_option(fs, "huge", "within_size");
	/*
	 * By itself a tmpfs ends at half of the memory that there is now, and more may come. What
	 * the copies may take is the plan's to say.
	 */
	r = set_option(fs, "size", "0");
	if (r == 0)
		r = set_option(fs, "nr_inodes", "0");
	if (r == 0)
		r = set_option(fs, "mode", "0755");
	if (r == 0)
		r = set_option(fs, "uid", "%u", (unsigned) mounts->uid);
	if (r == 0)
		r = set_option(fs, "gid", "%u", (unsigned) mounts->gid);
	if (r == 0)
		r = set_policy(fs, node_id);
	if (r < 0)
		return r;
	if (syscall(NR_fsconfig, fs, CONFIG_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	/* Read-only is the mount and not the tmpfs: the daemon writes by a mount of its own. */
	fd = (int) syscall(NR_fsmount, fs, OPEN_CLOEXEC, ATTR_FIXED);
	return fd < 0 ? -errno : fd;
}

/* What an earlier run made, before the node had memory, or somebody else. Return: 0; -errno. */
static int mount_right(int fd, unsigned node_id)
{
	scoped(fd_closep) int fs = -1;
	struct attributes fixed = { .set = ATTR_FIXED };
	struct statvfs status;
	const unsigned long flags = ST_RDONLY | ST_NOSUID | ST_NODEV;
	int r;

	if (fstatvfs(fd, &status) < 0)
		return -errno;
	if ((status.f_flag & flags) != flags &&
	    syscall(NR_mount_setattr, fd, "", AT_EMPTY_PATH, &fixed, sizeof(fixed)) < 0)
		return -errno;
	fs = (int) syscall(NR_fspick, fd, "", OPEN_CLOEXEC | PICK_EMPTY_PATH);
	if (fs < 0)
		return -errno;
	r = set_policy(fs, node_id);
	if (r < 0)
		return r;
	return syscall(NR_fsconfig, fs, CONFIG_CHANGE, NULL, NULL, 0) < 0 ? -errno : 0;
}

/* Return: 1 a tmpfs is mounted there; 0 nothing is; -EBUSY something else is; -errno. */
static int is_mounted(int parent_fd, int fd)
{
	struct stat parent, status;
	struct statfs fs;

	if (fstat(parent_fd, &parent) < 0 || fstat(fd, &status) < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	if (parent.st_dev == status.st_dev)
		return 0;
	return fs.f_type == TMPFS_MAGIC ? 1 : -EBUSY;
}

/* Make the directory @name, unless there is something. Return: it, opened as O_PATH; -errno. */
static int directory_open(int parent_fd, const char *name)
{
	int fd;

	if (mkdirat(parent_fd, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int node_mount(const struct prepare_mounts *mounts, int replica_fd, unsigned node_id)
{
	scoped(fd_closep) int fd = -1, mount = -1;
	char name[32];
	int r;

	(void) snprintf(name, sizeof(name), "node%u", node_id);
	fd = directory_open(replica_fd, name);
	if (fd < 0)
		return fd;
	r = is_mounted(replica_fd, fd);
	if (r < 0)
		return r;
	if (r > 0)
		return mount_right(fd, node_id);
	mount = mount_new(mounts, node_id);
	if (mount < 0)
		return mount;
	return syscall(NR_move_mount, mount, "", fd, "", MOVE_FDS) < 0 ? -errno : 0;
}

/* Return: whether nothing is in it, as far as can be seen. */
static bool is_empty(int parent_fd, const char *name)
{
	scoped(fd_closep) int fd =
		openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	scoped(dir_closep) DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!directory)
		return false;
	fd = -1;
	while ((entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return false;
	return true;
}

/*
 * Nobody but root can put another directory in its place, as its parent is root's. Return: 0 it is
 * gone, or stays because something is in it, or somebody; -errno.
 */
static int node_unmount(int replica_fd, const char *name)
{
	char path[sizeof("/proc/self/fd/-2147483648/") + NAME_MAX];
	int r;

	{
		scoped(fd_closep) int fd =
			openat(replica_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			return -errno;
		r = is_mounted(replica_fd, fd);
	}
	if (r < 0 || !is_empty(replica_fd, name))
		return r == -EBUSY ? 0 : r;
	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", replica_fd, name);
	if (r > 0 && umount2(path, UMOUNT_NOFOLLOW) < 0)
		return errno == EBUSY ? 0 : -errno;
	(void) unlinkat(replica_fd, name, AT_REMOVEDIR);
	return 0;
}

static unsigned complain(const struct prepare_mounts *mounts, const char *name, const char *what,
                         int error)
{
	log_error("%s/%s%s%s: %s: %s", mounts->base, REPLICA, *name ? "/" : "", name, what,
	          strerror(-error));
	return 1;
}

static unsigned remove_others(const struct prepare_mounts *mounts, int replica_fd)
{
	scoped(fd_closep) int fd = openat(replica_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scoped(dir_closep) DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	unsigned nr_failed = 0;

	if (!directory)
		return complain(mounts, "", "cannot be read", -errno);
	fd = -1;
	while ((entry = readdir(directory))) {
		unsigned node_id;
		int end = 0, r;

		if (sscanf(entry->d_name, "node%u%n", &node_id, &end) != 1 || entry->d_name[end] ||
		    idset_has(mounts->nodes, node_id))
			continue;
		r = node_unmount(replica_fd, entry->d_name);
		if (r < 0)
			nr_failed += complain(mounts, entry->d_name, "cannot be unmounted", r);
	}
	return nr_failed;
}

/*
 * Root's own, or nothing: what another user put there may be replaced at any moment. Return: it, as
 * O_PATH; -EPERM it is somebody else's; -errno.
 */
static int replica_open(int base_fd)
{
	scoped(fd_closep) int fd = directory_open(base_fd, REPLICA);
	struct stat status;

	if (fd < 0)
		return fd;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)))
		return -EPERM;
	return take_fd(fd);
}

/*
 * Against another one of us, which takes some milliseconds. Whoever has it for longer hangs, and
 * must not keep the service from its start. Return: a descriptor; -EBUSY it was locked all the
 * time; -errno.
 */
static int lock(int replica_fd)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_MS * 1000000L };
	scoped(fd_closep) int fd =
		openat(replica_fd, LOCK, O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	for (unsigned i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return take_fd(fd);
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		(void) nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

unsigned prepare_mounts(const struct prepare_mounts *mounts)
{
	scoped(fd_closep) int replica_fd = -1, lock_fd = -1;
	unsigned nr_failed = 0;
	int id;

	if (idset_is_empty(mounts->nodes) &&
	    faccessat(mounts->base_fd, REPLICA, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	replica_fd = replica_open(mounts->base_fd);
	if (replica_fd < 0)
		return complain(mounts, "", "cannot be root's own directory", replica_fd);
	lock_fd = lock(replica_fd);
	if (lock_fd < 0)
		return complain(mounts, LOCK, "cannot be locked", lock_fd);
	for (id = idset_next(mounts->nodes, 0); id >= 0;
	     id = idset_next(mounts->nodes, (unsigned) id + 1)) {
		char name[32];
		int r = node_mount(mounts, replica_fd, (unsigned) id);

		(void) snprintf(name, sizeof(name), "node%u", (unsigned) id);
		if (r < 0)
			nr_failed += complain(mounts, name,
			                      "the node's tmpfs cannot be mounted there", r);
	}
	if (mounts->may_remove)
		nr_failed += remove_others(mounts, replica_fd);
	return nr_failed;
}
