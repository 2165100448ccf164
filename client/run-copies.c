/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "run-copies.h"
#include "scoped.h"

#define DEPTH_MAX 64

/* One walk through the tree of a node. */
struct walk {
	bool is_mounting;
	size_t nr_copies;
	char path[PATH_MAX]; /* of the original */
};

static void close_fdp(int *fd)
{
	if (*fd >= 0)
		(void) close(*fd);
}

/*
 * Who can put trees there can have anything run. In /run/nodeinit the service's user may make
 * things, too, but not move what is root's (it is sticky).
 */
static bool is_trusted(const struct stat *directory)
{
	if (directory->st_uid == 0)
		return !(directory->st_mode & (S_IWGRP | S_IWOTH));
	return directory->st_uid == geteuid();
}

static int open_node(const char *directory, uint32_t node_id)
{
	scoped(close_fdp) int directory_fd =
		open(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;
	char name[32];
	int fd;

	if (directory_fd < 0 || fstat(directory_fd, &status) < 0)
		return -errno;
	if (!is_trusted(&status))
		return -EUSERS;
	(void) snprintf(name, sizeof(name), "node%" PRIu32, node_id);
	fd = openat(directory_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* A handle of @path as it is, through no link; a link at the end is itself. */
static int open_plainly(int at_fd, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS,
	};
	long fd = syscall(SYS_openat2, at_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int) fd;
}

/* File capabilities can only be asked for by a name. What cannot be told counts as some. */
static bool has_capabilities(int fd)
{
	char name[64];

	(void) snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return getxattr(name, "security.capability", NULL, 0) >= 0 ||
	       (errno != ENODATA && errno != ENOTSUP);
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* Nothing can be executed there, nor mapped for it: libraries would fail, too. */
static bool is_without_execution(int fd)
{
	struct statvfs place;

	return fstatvfs(fd, &place) < 0 || (place.f_flag & ST_NOEXEC);
}

/*
 * May everybody do with the copy what the original is for? Writing is not. Where it belongs to
 * somebody else, that holds if all others may do as much as the original's owner and group.
 */
static bool is_as_open(const struct stat *copy, const struct stat *original)
{
	mode_t rights = original->st_mode & 0555, others = original->st_mode & 0005;

	if ((copy->st_mode & 0555) != rights)
		return false;
	if (copy->st_uid == original->st_uid && copy->st_gid == original->st_gid)
		return true;
	return rights == (others << 6 | others << 3 | others);
}

/* Return: 0: current; else as run_copies_find(). */
static int compare(int copy_fd, int original_fd)
{
	struct stat copy, original;

	if (fstat(copy_fd, &copy) < 0 || fstat(original_fd, &original) < 0)
		return -errno;
	if (S_ISLNK(copy.st_mode))
		return -ELOOP;
	if (!S_ISREG(copy.st_mode))
		return -ENOENT;
	if (!S_ISREG(original.st_mode) || copy.st_size != original.st_size ||
	    !is_same_time(&copy.st_mtim, &original.st_mtim))
		return -ESTALE;
	if ((original.st_mode & (S_ISUID | S_ISGID)) || has_capabilities(original_fd))
		return -EPERM;
	return is_as_open(&copy, &original) && !is_without_execution(copy_fd) ? 0 : -EACCES;
}

int run_copies_find(const char *directory, uint32_t node_id, const char *path, char **ret_copy)
{
	scoped(close_fdp) int node_fd = open_node(directory, node_id);
	scoped(close_fdp) int copy_fd = -1;
	scoped(close_fdp) int original_fd = -1;
	char *copy;
	int r;

	if (node_fd < 0)
		return node_fd;
	copy_fd = open_plainly(node_fd, path + 1);
	if (copy_fd < 0)
		return copy_fd == -ENOTDIR ? -ENOENT : copy_fd;
	original_fd = open_plainly(AT_FDCWD, path);
	if (original_fd < 0)
		return original_fd;
	r = compare(copy_fd, original_fd);
	if (r < 0)
		return r;
	if (asprintf(&copy, "%s/node%" PRIu32 "%s", directory, node_id, path) < 0)
		return -ENOMEM;
	/* Lists of access have their say, too. */
	if (faccessat(AT_FDCWD, copy, X_OK, AT_EACCESS) < 0) {
		r = -errno;
		free(copy);
		return r;
	}
	*ret_copy = copy;
	return 0;
}

/* By handles, so that it is these two files however they are called by now. */
static int lay_over(int copy_fd, int original_fd)
{
	struct mount_attr attributes = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
	};
	scoped(close_fdp) int mount_fd =
		open_tree(copy_fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (mount_fd < 0 ||
	    mount_setattr(mount_fd, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) < 0 ||
	    move_mount(mount_fd, "", original_fd, "",
	               MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

static void visit_file(struct walk *walk, int folder_fd, const char *name)
{
	scoped(close_fdp) int copy_fd = open_plainly(folder_fd, name);
	scoped(close_fdp) int original_fd = open_plainly(AT_FDCWD, walk->path);

	if (copy_fd < 0 || original_fd < 0 || compare(copy_fd, original_fd) < 0)
		return;
	if (!walk->is_mounting || lay_over(copy_fd, original_fd) == 0)
		walk->nr_copies++;
}

/* @fd is taken over. @path_bytes: of the walk's path, the length of the folder's own. */
static void visit_folder(struct walk *walk, int fd, size_t path_bytes, unsigned depth)
{
	DIR *folder = fdopendir(fd);
	struct dirent *entry;

	if (!folder) {
		(void) close(fd);
		return;
	}
	while (walk->nr_copies < RUN_COPIES_MAX && (entry = readdir(folder))) {
		int left_bytes = (int) (sizeof(walk->path) - path_bytes);
		int name_bytes = snprintf(walk->path + path_bytes, (size_t) left_bytes, "/%s",
		                          entry->d_name);
		int inner_fd;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    name_bytes >= left_bytes)
			continue;
		inner_fd =
			openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (inner_fd < 0)
			visit_file(walk, fd, entry->d_name);
		else if (depth < DEPTH_MAX)
			visit_folder(walk, inner_fd, path_bytes + (size_t) name_bytes, depth + 1);
		else
			(void) close(inner_fd);
	}
	(void) closedir(folder);
}

size_t run_copies_count(const char *directory, uint32_t node_id)
{
	struct walk walk = { .is_mounting = false };
	int node_fd = open_node(directory, node_id);

	if (node_fd >= 0)
		visit_folder(&walk, node_fd, 0, 0);
	return walk.nr_copies;
}

int run_copies_mount(const char *directory, uint32_t node_id, size_t *ret_nr)
{
	struct walk walk = { .is_mounting = true };
	int node_fd;

	if (unshare(CLONE_NEWNS) < 0)
		return -errno;
	/* A namespace that is a peer of the host's would show it all that is mounted here. */
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return -errno;
	node_fd = open_node(directory, node_id);
	if (node_fd < 0)
		return node_fd;
	visit_folder(&walk, node_fd, 0, 0);
	*ret_nr = walk.nr_copies;
	return 0;
}
