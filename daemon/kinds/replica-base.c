/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the trees of the nodes are, and how to write to a mount that is read-only for all others.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "replica-base.h"
#include "replica-share.h"

/* glibc has wrappers since 2.36 only; numbers and values are those of every architecture. */
#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

enum {
	TREE_CLONE = 1,           /* OPEN_TREE_CLONE */
	TREE_CLOEXEC = O_CLOEXEC, /* OPEN_TREE_CLOEXEC */
	ATTR_RDONLY = 1,          /* MOUNT_ATTR_RDONLY */
};

/* struct mount_attr of the kernel, its first version. */
struct attributes {
	uint64_t set, clear, propagation, user_namespace;
};

int replica_base_open(const char *directory, struct replica_base **ret)
{
	struct replica_base *base = calloc(1, sizeof(*base));

	if (!base)
		return -ENOMEM;
	base->directory = strdup(directory);
	if (!base->directory) {
		free(base);
		return -ENOMEM;
	}
	(void) pthread_mutex_init(&base->lock, NULL);
	*ret = base;
	return 0;
}

void replica_base_allow_directories(struct replica_base *base)
{
	base->allows_directories = true;
}

static void node_close(struct replica_node *node)
{
	node->fd = fd_close(node->fd);
	node->mount_fd = fd_close(node->mount_fd);
	node->takes_copies = node->is_bound = false;
}

struct replica_base *replica_base_free(struct replica_base *base)
{
	if (!base)
		return NULL;
	while (base->nodes) {
		struct replica_node *node = base->nodes;

		base->nodes = node->next;
		node_close(node);
		replica_claims_clear(node);
		(void) pthread_mutex_destroy(&node->lock);
		free(node);
	}
	(void) pthread_mutex_destroy(&base->lock);
	free(base->directory);
	free(base);
	return NULL;
}

/* The root of a writable clone of the mount that @fd is on. Return: a descriptor; -errno. */
static int clone_mount(int fd, int *ret_mount)
{
	struct attributes attributes = { .clear = ATTR_RDONLY };
	scoped(fd_closep) int mount = -1;
	int root;

	mount = (int) syscall(SYS_open_tree, fd, "", TREE_CLONE | TREE_CLOEXEC | AT_EMPTY_PATH);
	if (mount < 0)
		return -errno;
	if (syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) <
	    0)
		return -errno;
	root = openat(mount, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (root < 0)
		return -errno;
	*ret_mount = take_fd(mount);
	return root;
}

static bool is_own_tmpfs(int parent, int fd)
{
	struct stat parent_status, status;
	struct statfs system;

	return fstat(parent, &parent_status) == 0 && fstat(fd, &status) == 0 &&
	       status.st_dev != parent_status.st_dev && fstatfs(fd, &system) == 0 &&
	       system.f_type == TMPFS_MAGIC;
}

static void node_open(struct replica_node *node)
{
	scoped(fd_closep) int parent = -1, fd = -1;
	char name[32];
	int root;

	node_close(node);
	parent = open(node->base->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return;
	(void) snprintf(name, sizeof(name), "node%u", node->node_id);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	node->is_bound = is_own_tmpfs(parent, fd);
	node->takes_copies = node->is_bound || node->base->allows_directories;
	/* Where it may not be cloned it may still be writable as it is. */
	root = node->is_bound ? clone_mount(fd, &node->mount_fd) : -1;
	node->fd = root >= 0 ? root : take_fd(fd);
}

bool replica_node_look(struct replica_node *node)
{
	bool takes_copies;

	replica_node_lock(node);
	if (!node->takes_copies)
		node_open(node);
	takes_copies = node->takes_copies;
	replica_node_unlock(node);
	return takes_copies;
}

static struct replica_node *node_add(struct replica_base *base, unsigned node_id)
{
	struct replica_node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->base = base;
	node->node_id = node_id;
	node->fd = node->mount_fd = -1;
	(void) pthread_mutex_init(&node->lock, NULL);
	node->next = base->nodes;
	base->nodes = node;
	return node;
}

int replica_node_get(struct replica_base *base, unsigned node_id, struct replica_node **ret)
{
	struct replica_node *node;

	(void) pthread_mutex_lock(&base->lock);
	for (node = base->nodes; node && node->node_id != node_id;)
		node = node->next;
	if (!node)
		node = node_add(base, node_id);
	(void) pthread_mutex_unlock(&base->lock);
	if (!node)
		return -ENOMEM;
	(void) replica_node_look(node);
	*ret = node;
	return 0;
}

int replica_node_temporary(struct replica_node *node)
{
	int fd = -ENOENT;

	replica_node_lock(node);
	if (node->fd >= 0) {
		fd = openat(node->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd < 0)
			fd = -errno;
	}
	replica_node_unlock(node);
	return fd;
}
