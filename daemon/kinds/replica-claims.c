/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which shares have which path of a node's tree, and what they have there. All changes of names go
 * through here. A path may be of several: two pools name the same file, or a share was replaced and
 * is not gone yet. A copy that was found equal serves all of them, so no link takes its place as
 * long as one of them has it; and it goes with the last one.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "replica-share.h"

#define BUCKETS_MIN 64

enum holding { HOLDS_NOTHING, HOLDS_LINK, HOLDS_COPY };

struct holder {
	struct holder *next;
	const struct share *share;
	enum holding holding;
	const char *target; /* of its link; borrowed from the share */
};

struct replica_claim {
	struct replica_claim *next;
	struct holder *holders;
	struct original_identity identity; /* of what the copy that some hold was made of */
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

/* Return: NULL where the share has not claimed it. */
static struct holder *holder_of(const struct replica_claim *claim, const struct share *share)
{
	struct holder *holder = claim->holders;

	while (holder && holder->share != share)
		holder = holder->next;
	return holder;
}

/* Any but @self that has that. NULL: none. */
static const struct holder *other_holder(const struct replica_claim *claim,
                                         const struct holder *self, enum holding holding)
{
	const struct holder *holder = claim->holders;

	while (holder && (holder == self || holder->holding != holding))
		holder = holder->next;
	return holder;
}

/* With the lock. Return: NULL where the share has not claimed the path. */
static struct holder *find(const struct replica_node *node, const char *path,
                           const struct share *share, struct replica_claim **ret_claim)
{
	struct replica_claim **slot = slot_of(node, path);

	*ret_claim = slot ? *slot : NULL;
	return slot ? holder_of(*slot, share) : NULL;
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

static void claim_end(struct replica_node *node, const char *path)
{
	struct replica_claim **slot = slot_of(node, path);
	struct replica_claim *claim = *slot;

	*slot = claim->next;
	node->nr_claims--;
	free(claim);
}

/* Return: NULL out of memory. */
static struct holder *holder_add(struct replica_node *node, const char *path,
                                 const struct share *share, struct replica_claim **ret_claim)
{
	struct replica_claim **slot = slot_of(node, path);
	struct replica_claim *claim = slot ? *slot : claim_add(node, path);
	struct holder *holder = claim ? calloc(1, sizeof(*holder)) : NULL;

	if (!holder) {
		if (claim && !claim->holders)
			claim_end(node, path);
		return NULL;
	}
	holder->share = share;
	holder->next = claim->holders;
	claim->holders = holder;
	*ret_claim = claim;
	return holder;
}

int replica_claim(struct replica_node *node, const char *path, const struct share *share,
                  const struct original_identity *identity)
{
	struct replica_claim *claim;
	struct holder *holder;
	int r = -ENOMEM;

	replica_node_lock(node);
	holder = holder_add(node, path, share, &claim);
	if (holder) {
		r = identity && other_holder(claim, holder, HOLDS_COPY) &&
		    original_identity_equals(&claim->identity, identity);
		if (r)
			holder->holding = HOLDS_COPY;
	}
	replica_node_unlock(node);
	return r;
}

bool replica_is_claimed(const struct replica_node *node, const char *path)
{
	return slot_of(node, path) != NULL;
}

int replica_node_open(struct replica_node *node, const char *path, const struct share *share)
{
	scoped(fd_closep) int parent = -1;
	const struct holder *holder;
	struct replica_claim *claim;
	const char *name;
	int fd = -ESTALE;

	replica_node_lock(node);
	holder = find(node, path, share, &claim);
	if (holder && holder->holding == HOLDS_COPY) {
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

int replica_node_put_file(struct replica_node *node, const char *path, const struct share *share,
                          int fd, const struct original_identity *identity)
{
	struct replica_claim *claim;
	struct holder *holder;
	int r = -ESTALE;

	replica_node_lock(node);
	holder = find(node, path, share, &claim);
	if (holder) {
		r = replica_place_file(node->fd, path, fd);
		if (r == 0) {
			holder->holding = HOLDS_COPY;
			claim->identity = *identity;
		}
	}
	replica_node_unlock(node);
	return r;
}

int replica_node_put_link(struct replica_node *node, const char *path, const struct share *share,
                          const char *target)
{
	struct replica_claim *claim;
	struct holder *holder;
	int r = -ESTALE;

	replica_node_lock(node);
	holder = find(node, path, share, &claim);
	if (holder && other_holder(claim, holder, HOLDS_COPY))
		r = 0;
	else if (holder)
		r = node->fd < 0 ? -ENOENT : replica_place_link(node->fd, path, target);
	if (r == 0) {
		holder->holding = HOLDS_LINK;
		holder->target = target;
	}
	replica_node_unlock(node);
	return r;
}

/* The holder's copy is nobody else's: out of service with it. */
static void drop_copy(struct replica_node *node, const struct replica_claim *claim,
                      const struct holder *self, bool is_end)
{
	const struct holder *linked = other_holder(claim, self, HOLDS_LINK);

	if (node->fd < 0 || other_holder(claim, self, HOLDS_COPY))
		return;
	if (linked) {
		if (self->holding == HOLDS_COPY)
			(void) replica_place_link(node->fd, claim->path, linked->target);
		return;
	}
	/* Who replaces it leaves it in place until its own is there. */
	if (is_end && other_holder(claim, self, HOLDS_NOTHING))
		return;
	replica_place_remove(node->fd, claim->path);
}

void replica_node_withdraw(struct replica_node *node, const char *path, const struct share *share,
                           bool is_end)
{
	struct replica_claim *claim;
	struct holder *holder;

	replica_node_lock(node);
	holder = find(node, path, share, &claim);
	if (holder) {
		drop_copy(node, claim, holder, is_end);
		holder->holding = HOLDS_NOTHING;
	}
	if (holder && is_end) {
		struct holder **slot = &claim->holders;

		while (*slot != holder)
			slot = &(*slot)->next;
		*slot = holder->next;
		free(holder);
		if (!claim->holders)
			claim_end(node, path);
	}
	replica_node_unlock(node);
}

void replica_claims_clear(struct replica_node *node)
{
	/* Shares have taken theirs along. */
	assert(node->nr_claims == 0);
	free(node->buckets);
	node->buckets = NULL;
	node->nr_buckets = 0;
}
