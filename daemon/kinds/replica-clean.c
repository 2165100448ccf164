/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an earlier process left in the trees, and no share has. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "replica-base.h"
#include "replica-share.h"

struct walk {
	struct replica_node *node;
	dev_t device;
	char path[PATH_MAX]; /* of the directory that the walk is in; "" for the root */
	size_t path_bytes;
};

static void clean_directory(struct walk *walk, int fd);

/* Return: a descriptor, only of a directory of this file system; -1. */
static int enter(const struct walk *walk, int parent, const char *name)
{
	scoped(fd_closep) int fd = -1;
	struct stat status;

	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0 || status.st_dev != walk->device)
		return -1;
	return take_fd(fd);
}

/* Files and directories are looked at under the lock: somebody may be putting copies in place. */
static void clean_entry(struct walk *walk, int parent, const char *name)
{
	size_t before_bytes = walk->path_bytes;
	size_t name_bytes = strlen(name);
	bool is_directory = false;

	if (before_bytes + 1 + name_bytes >= sizeof(walk->path))
		return;
	walk->path[before_bytes] = '/';
	memcpy(walk->path + before_bytes + 1, name, name_bytes + 1);
	walk->path_bytes = before_bytes + 1 + name_bytes;

	replica_node_lock(walk->node);
	if (!replica_is_claimed(walk->node, walk->path))
		is_directory = unlinkat(parent, name, 0) < 0 && (errno == EISDIR || errno == EPERM);
	else
		is_directory = true; /* it may have become one, with files of former times in it */
	replica_node_unlock(walk->node);

	if (is_directory) {
		int fd = enter(walk, parent, name);

		if (fd >= 0) {
			clean_directory(walk, fd);
			replica_node_lock(walk->node);
			(void) unlinkat(parent, name, AT_REMOVEDIR);
			replica_node_unlock(walk->node);
		}
	}
	walk->path_bytes = before_bytes;
	walk->path[before_bytes] = '\0';
}

/* Takes the descriptor over. */
static void clean_directory(struct walk *walk, int fd)
{
	scoped(dir_closep) DIR *directory = fdopendir(fd);
	const struct dirent *entry;

	if (!directory) {
		(void) close(fd);
		return;
	}
	while ((entry = readdir(directory)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			clean_entry(walk, dirfd(directory), entry->d_name);
}

static void clean_node(struct replica_node *node)
{
	struct walk walk = { .node = node };
	struct stat status;
	int fd = -1;

	replica_node_lock(node);
	if (node->fd >= 0 && fstat(node->fd, &status) == 0) {
		walk.device = status.st_dev;
		fd = enter(&walk, node->fd, ".");
	}
	replica_node_unlock(node);
	if (fd >= 0)
		clean_directory(&walk, fd);
}

/* "node12" as the kernel would write it. Return: whether it is one. */
static bool node_of_name(const char *name, unsigned *ret_node_id)
{
	char text[32];

	if (strncmp(name, "node", 4) != 0 || !isdigit((unsigned char) name[4]))
		return false;
	*ret_node_id = (unsigned) strtoul(name + 4, NULL, 10);
	(void) snprintf(text, sizeof(text), "node%u", *ret_node_id);
	return strcmp(text, name) == 0;
}

void replica_base_clean(struct replica_base *base)
{
	scoped(dir_closep) DIR *directory = opendir(base->directory);
	const struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		struct replica_node *node;
		unsigned node_id;

		if (node_of_name(entry->d_name, &node_id) &&
		    replica_node_get(base, node_id, &node) == 0)
			clean_node(node);
	}
}
