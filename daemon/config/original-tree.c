/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "original-tree.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "../base/scoped.h"

#define DIRECTORY_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)
#define ACL_BYTES_MAX   4096 /* one of 500 entries; who has a longer one keeps somebody out */

/* The path of an open file, as the kernel knows it. */
static int path_of(int fd, char *buffer, size_t buffer_bytes)
{
	char link[64];
	ssize_t path_bytes;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	path_bytes = readlink(link, buffer, buffer_bytes);
	if (path_bytes < 0)
		return -errno;
	if ((size_t) path_bytes >= buffer_bytes)
		return -ENAMETOOLONG;
	buffer[path_bytes] = '\0';
	return 0;
}

/* Whether an access control list keeps somebody out; the group's bits of the mode are its mask. */
static bool is_closed_by_list(int fd)
{
	union {
		struct posix_acl_xattr_header header;
		char bytes[ACL_BYTES_MAX];
	} list;
	const struct posix_acl_xattr_entry *entries = (const void *) (&list.header + 1);
	char path[64];
	ssize_t list_bytes;
	size_t nr_entries;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	list_bytes = getxattr(path, "system.posix_acl_access", &list, sizeof(list));
	if (list_bytes < 0)
		return errno != ENODATA && errno != ENOTSUP;
	if ((size_t) list_bytes < sizeof(list.header))
		return true;
	nr_entries = ((size_t) list_bytes - sizeof(list.header)) / sizeof(*entries);
	for (size_t i = 0; i < nr_entries; i++)
		if (le16toh(entries[i].e_tag) != ACL_USER_OBJ &&
		    !(le16toh(entries[i].e_perm) & ACL_EXECUTE))
			return true;
	return false;
}

/*
 * Whether anybody but its owner, who can let himself in, may not pass. A group that may not pass
 * what all others may is kept out, too.
 */
static bool is_closed(int fd, const struct stat *status)
{
	mode_t wanted = S_IXGRP | S_IXOTH;

	return (status->st_mode & wanted) != wanted || is_closed_by_list(fd);
}

int original_tree_open(const char *root, struct original_tree *ret)
{
	struct original_tree tree = { .root_fd = -1 };
	scoped(fd_closep) int fd = open(*root ? root : "/", DIRECTORY_FLAGS);
	struct stat status;
	int r;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	r = path_of(fd, tree.root_path, sizeof(tree.root_path));
	if (r < 0)
		return r;
	if (!strcmp(tree.root_path, "/"))
		tree.root_path[0] = '\0';
	/* Where the root of a test lies is no matter of what is below it. */
	tree.is_root_hidden = !*root && is_closed(fd, &status);
	tree.root_fd = take_fd(fd);
	*ret = tree;
	return 0;
}

void original_tree_close(struct original_tree *tree)
{
	tree->root_fd = fd_close(tree->root_fd);
}

void original_place_close(struct original_place *place)
{
	place->fd = fd_close(place->fd);
	free(place->path);
	place->path = NULL;
}

static const char *below_root(const char *path)
{
	path += strspn(path, "/");
	return *path ? path : ".";
}

static int open_following(const struct original_tree *tree, const char *directory)
{
	struct open_how how = {
		.flags = DIRECTORY_FLAGS,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd =
		(int) syscall(SYS_openat2, tree->root_fd, below_root(directory), &how, sizeof(how));

	/* Before Linux 5.6, or filtered. Only a root of tests is not that of this machine. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(tree->root_fd, below_root(directory), DIRECTORY_FLAGS);
	return fd < 0 ? -errno : fd;
}

/* From @place one directory down to @name, which has @name_bytes. */
static int descend(struct original_place *place, const char *name, size_t name_bytes)
{
	scoped(freep) char *copy = strndup(name, name_bytes);
	scoped(fd_closep) int fd = -1;
	scoped(freep) char *path = NULL;
	struct stat status;

	if (!copy || asprintf(&path, "%s/%s", place->path, copy) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	fd = openat(place->fd, copy, DIRECTORY_FLAGS | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	place->is_hidden |= is_closed(fd, &status);
	original_place_close(place);
	place->fd = take_fd(fd);
	place->path = take(path);
	return 0;
}

static int place_at_root(const struct original_tree *tree, struct original_place *ret)
{
	ret->is_hidden = tree->is_root_hidden;
	ret->path = strdup("");
	ret->fd = openat(tree->root_fd, ".", DIRECTORY_FLAGS);
	if (!ret->path)
		return -ENOMEM;
	return ret->fd < 0 ? -errno : 0;
}

/*
 * The links have shown where the directory is. Now it is gone to once more without any, as every
 * directory on the way has a say in who may get there.
 */
int original_tree_directory(const struct original_tree *tree, const char *directory,
                            struct original_place *ret)
{
	scoped(original_place_close) struct original_place place = { .fd = -1 };
	scoped(fd_closep) int fd = open_following(tree, directory);
	char buffer[PATH_MAX];
	const char *path;
	int r;

	if (fd < 0)
		return fd;
	r = path_of(fd, buffer, sizeof(buffer));
	if (r < 0)
		return r;
	if (strncmp(buffer, tree->root_path, strlen(tree->root_path)) != 0)
		return -EXDEV;
	path = buffer + strlen(tree->root_path);
	if (*path && *path != '/')
		return -EXDEV;
	r = place_at_root(tree, &place);
	while (!r && *(path += strspn(path, "/"))) {
		size_t name_bytes = strcspn(path, "/");

		r = descend(&place, path, name_bytes);
		path += name_bytes;
	}
	if (r < 0)
		return r;
	*ret = place;
	place = (struct original_place){ .fd = -1 };
	return 0;
}

int original_place_descend(const struct original_place *place, const char *name,
                           struct original_place *ret)
{
	scoped(original_place_close) struct original_place below = { .fd = -1 };
	int r;

	below.is_hidden = place->is_hidden;
	below.path = strdup(place->path);
	if (!below.path)
		return -ENOMEM;
	below.fd = fcntl(place->fd, F_DUPFD_CLOEXEC, 3);
	if (below.fd < 0)
		return -errno;
	r = descend(&below, name, strlen(name));
	if (r < 0)
		return r;
	*ret = below;
	below = (struct original_place){ .fd = -1 };
	return 0;
}
