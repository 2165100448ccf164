/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names below the root of a node's tree. Every directory is opened by itself and never through a
 * link. What is new gets a name of its own first and is then renamed into place, so that whoever
 * opens the path finds the old or the new one, and always one of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "replica-share.h"

/* There is one writer at a time, who holds the node's lock; one that is there was left behind. */
#define NEW_NAME ".nodeinitd.new"

/*
 * Nothing below is more open than the original: the directories of those are open to everybody
 * (ORIGINAL_HIDDEN). By fchmod(2), as umask has taken from it.
 */
#define DIRECTORY_MODE 0755

static int directory_open(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int directory_make(int parent, const char *name)
{
	int fd;

	if (mkdirat(parent, name, DIRECTORY_MODE) < 0)
		return -errno;
	fd = directory_open(parent, name);
	if (fd >= 0 && fchmod(fd, DIRECTORY_MODE) < 0) {
		int error = -errno;

		(void) close(fd);
		return error;
	}
	return fd;
}

static int step_down(int parent, const char *name, bool is_made)
{
	int fd;

	/* Paths of originals have none of these; that is not left to others. */
	if (strcmp(name, "..") == 0 || strcmp(name, ".") == 0)
		return -EINVAL;
	fd = directory_open(parent, name);
	if (!is_made || (fd != -ENOENT && fd != -ENOTDIR && fd != -ELOOP))
		return fd;
	/* A file or a link of former times, when this was no directory. */
	if (fd != -ENOENT && unlinkat(parent, name, 0) < 0)
		return -errno;
	return directory_make(parent, name);
}

int replica_place_parent(int root, const char *path, bool is_made, const char **ret_name)
{
	scoped(fd_closep) int fd = -1;
	char name[NAME_MAX + 1];

	fd = directory_open(root, ".");
	if (fd < 0)
		return fd;
	for (;;) {
		const char *end;
		int next;

		path += strspn(path, "/");
		end = strchrnul(path, '/');
		if (end == path)
			return -EINVAL;
		if (*end == '\0')
			break;
		if (end - path > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, (size_t) (end - path));
		name[end - path] = '\0';
		next = step_down(fd, name, is_made);
		if (next < 0)
			return next;
		(void) close(fd);
		fd = next;
		path = end;
	}
	*ret_name = path;
	return take_fd(fd);
}

static int rename_new(int root, const char *path)
{
	scoped(fd_closep) int parent = -1;
	const char *name;

	parent = replica_place_parent(root, path, true, &name);
	if (parent < 0)
		return parent;
	if (renameat(root, NEW_NAME, parent, name) == 0)
		return 0;
	/* A directory of former times that was left empty. */
	if (errno == EISDIR && unlinkat(parent, name, AT_REMOVEDIR) == 0 &&
	    renameat(root, NEW_NAME, parent, name) == 0)
		return 0;
	return -errno;
}

/* Return: 0; -errno, and the name is gone again. */
static int put(int root, const char *path)
{
	int r = rename_new(root, path);

	if (r < 0)
		(void) unlinkat(root, NEW_NAME, 0);
	return r;
}

/* By its descriptor it may be named with a capability, or by who opened it (Linux 6.10). */
static int link_own(int root, int fd)
{
	char path[40];

	if (linkat(fd, "", root, NEW_NAME, AT_EMPTY_PATH) == 0)
		return 0;
	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, root, NEW_NAME, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/*
 * Where hard links are protected (proc_sys_fs(5)), a file that belongs to somebody else is not
 * linked: it is ours for as long as that takes, and not in its place yet.
 */
static int link_unnamed(int root, int fd)
{
	struct stat status;
	bool is_others;
	int r;

	(void) unlinkat(root, NEW_NAME, 0);
	if (fstat(fd, &status) < 0)
		return -errno;
	is_others = status.st_uid != geteuid();
	if (is_others && fchown(fd, geteuid(), (gid_t) -1) < 0)
		return -errno;
	r = link_own(root, fd);
	if (is_others && fchown(fd, status.st_uid, (gid_t) -1) < 0 && r == 0) {
		r = -errno;
		(void) unlinkat(root, NEW_NAME, 0);
	}
	return r;
}

int replica_place_file(int root, const char *path, int fd)
{
	int r = link_unnamed(root, fd);

	return r < 0 ? r : put(root, path);
}

int replica_place_link(int root, const char *path, const char *target)
{
	(void) unlinkat(root, NEW_NAME, 0);
	if (symlinkat(target, root, NEW_NAME) < 0)
		return -errno;
	return put(root, path);
}

void replica_place_remove(int root, const char *path)
{
	scoped(freep) char *prefix = strdup(path);
	bool is_directory = false;

	while (prefix) {
		scoped(fd_closep) int parent = -1;
		char *slash = strrchr(prefix, '/');
		const char *name;

		parent = replica_place_parent(root, prefix, false, &name);
		if (parent < 0 || unlinkat(parent, name, is_directory ? AT_REMOVEDIR : 0) < 0) {
			/* One that is gone may have left its directory. */
			if (is_directory || parent < 0 || errno != ENOENT)
				return;
		}
		is_directory = true;
		if (!slash || slash == prefix)
			return;
		*slash = '\0';
	}
}
