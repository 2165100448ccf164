/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which share owns which path of a node's tree. All changes of names go through here: a share that
 * was replaced neither writes over what its successor has, nor takes it away.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "replica-share.h"

#define BUCKETS_MIN 64

struct replica_claim {
	struct replica_claim *next;
	const struct share *owner;
	bool is_copy; /* a copy is in place that was found equal, of what identity says */
	struct original_identity identity;
	uint64_t hash;
	char path[];
};

/* FNV-1a. */
static uint64_t path_hash(const char *path)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *path; path++)
		hash = (hash ^ (unsigned char) *path) * UINT64_C(1099511628211);
	return hash;
}

static struct replica_claim **slot_of(const struct replica_node *node, const char *path)
{
	uint64_t hash = path_hash(path);
	struct replica_claim **slot;

	if (node->nr_buckets == 0)
		return NULL;
	slot = &node->buckets[hash % node->nr_buckets];
	while (*slot && ((*slot)->hash != hash || strcmp((*slot)->path, path) != 0))
		slot = &(*slot)->next;
	return *slot ? slot : NULL;
}

/* Return: NULL where another share has it, or nobody. */
static struct replica_claim *claim_of(const struct replica_node *node, const char *path,
                                      const struct share *owner)
{
	struct replica_claim **slot = slot_of(node, path);

	return slot && (*slot)->owner == owner ? *slot : NULL;
}

static int make_room(struct replica_node *node)
{
	size_t nr_buckets = node->nr_buckets ? node->nr_buckets * 2 : BUCKETS_MIN;
	struct replica_claim **buckets;

	if (node->nr_claims < node->nr_buckets)
		return 0;
	buckets = calloc(nr_buckets, sizeof(struct replica_claim *));
	if (!buckets)
		return -ENOMEM;
	for (size_t i = 0; i < node->nr_buckets; i++) {
		while (node->buckets[i]) {
			struct replica_claim *claim = node->buckets[i];
			struct replica_claim **slot = &buckets[claim->hash % nr_buckets];

			node->buckets[i] = claim->next;
			claim->next = *slot;
			*slot = claim;
		}
	}
	free(node->buckets);
	node->buckets = buckets;
	node->nr_buckets = nr_buckets;
	return 0;
}

/* Return: the new claim; NULL out of memory. */
static struct replica_claim *claim_add(struct replica_node *node, const char *path)
{
	size_t path_bytes = strlen(path) + 1;
	struct replica_claim *claim, **slot;

	if (make_room(node) < 0)
		return NULL;
	claim = calloc(1, sizeof(*claim) + path_bytes);
	if (!claim)
		return NULL;
	memcpy(claim->path, path, path_bytes);
	claim->hash = path_hash(path);
	slot = &node->buckets[claim->hash % node->nr_buckets];
	claim->next = *slot;
	*slot = claim;
	node->nr_claims++;
	return claim;
}

int replica_claim(struct replica_node *node, const char *path, const struct share *owner,
                  const struct original_identity *identity)
{
	struct replica_claim **slot, *claim;
	int r = -ENOMEM;

	replica_node_lock(node);
	slot = slot_of(node, path);
	claim = slot ? *slot : claim_add(node, path);
	if (claim) {
		claim->owner = owner;
		r = identity && claim->is_copy &&
		    original_identity_equals(&claim->identity, identity);
	}
	replica_node_unlock(node);
	return r;
}

bool replica_is_claimed(const struct replica_node *node, const char *path)
{
	return slot_of(node, path) != NULL;
}

int replica_node_open(struct replica_node *node, const char *path, const struct share *owner)
{
	scoped(fd_closep) int parent = -1;
	const struct replica_claim *claim;
	const char *name;
	int fd = -ESTALE;

	replica_node_lock(node);
	claim = claim_of(node, path, owner);
	if (claim && claim->is_copy) {
		fd = parent = replica_place_parent(node->fd, path, false, &name);
		if (parent >= 0) {
			fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
			if (fd < 0)
				fd = -errno;
		}
	}
	replica_node_unlock(node);
	return fd;
}

int replica_node_put_file(struct replica_node *node, const char *path, const struct share *owner,
                          int fd, const struct original_identity *identity)
{
	struct replica_claim *claim;
	int r = -ESTALE;

	replica_node_lock(node);
	claim = claim_of(node, path, owner);
	if (claim) {
		r = replica_place_file(node->fd, path, fd);
		if (r == 0) {
			claim->is_copy = true;
			claim->identity = *identity;
		}
	}
	replica_node_unlock(node);
	return r;
}

int replica_node_put_link(struct replica_node *node, const char *path, const struct share *owner,
                          const char *target)
{
	struct replica_claim *claim;
	int r = -ESTALE;

	replica_node_lock(node);
	claim = claim_of(node, path, owner);
	if (claim) {
		r = node->fd < 0 ? -ENOENT : replica_place_link(node->fd, path, target);
		if (r == 0)
			claim->is_copy = false;
	}
	replica_node_unlock(node);
	return r;
}

void replica_node_withdraw(struct replica_node *node, const char *path, const struct share *owner,
                           bool is_end)
{
	struct replica_claim *claim;

	replica_node_lock(node);
	claim = claim_of(node, path, owner);
	if (claim) {
		if (node->fd >= 0)
			replica_place_remove(node->fd, path);
		claim->is_copy = false;
		if (is_end) {
			*slot_of(node, path) = claim->next;
			node->nr_claims--;
			free(claim);
		}
	}
	replica_node_unlock(node);
}

void replica_claims_clear(struct replica_node *node)
{
	for (size_t i = 0; i < node->nr_buckets; i++) {
		while (node->buckets[i]) {
			struct replica_claim *claim = node->buckets[i];

			node->buckets[i] = claim->next;
			free(claim);
		}
	}
	free(node->buckets);
	node->buckets = NULL;
	node->nr_buckets = node->nr_claims = 0;
}
