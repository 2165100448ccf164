/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * replica-share.h - the state of a share of kind replica, and of the trees that shares write to
 *
 * Layer: kinds, private to the files replica*.c. Threads: the worker has a share between and in
 * rounds, its crew copies in them; the main thread makes, compares, reads and frees it. What more
 * than one of them touches:
 *
 *     under replica_node.lock   the descriptors of the node's tree, its claims, and every change of
 *                               a name in it; innermost
 *     under replica_file.lock   all that is said to be below
 *     under replica_share.lock  the summary, nr_attempts, stop_reason; innermost
 *     atomic                    replica_share.done_bytes, .flying_bytes
 *
 * The rest belongs to the worker while a round runs, and to the main thread otherwise.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "kind.h"
#include "replica.h"

/* --- replica-base.c, replica-claims.c: the tree of one node --- */

struct replica_claim;

struct replica_node {
	struct replica_node *next;
	const struct replica_base *base;
	unsigned node_id;
	pthread_mutex_t lock;
	int mount_fd;      /* our writable clone of the mount; -1: none. Open as long as fd is */
	int fd;            /* the root of the tree; -1: there is none */
	bool takes_copies; /* it is a mount of its own, or plain directories are allowed */
	bool is_bound;     /* it is a mount of its own: copies have to be on the node */
	struct replica_claim **buckets;
	size_t nr_buckets;
	size_t nr_claims;
};

/* The node's tree, opened if it can be. The base's. Return: 0 and *ret; -ENOMEM. */
int replica_node_get(struct replica_base *base, unsigned node_id, struct replica_node **ret);

/* Look again for a mount where there was none. Return: whether copies can be made. */
bool replica_node_look(struct replica_node *node);

/*
 * From now on @path is @share's as well. @identity: of what it wants a copy of; NULL: a link.
 * Return: 1 such a copy is in place, and is in its service, too; 0; -ENOMEM.
 */
int replica_claim(struct replica_node *node, const char *path, const struct share *share,
                  const struct original_identity *identity);

/* Whether any share has claimed it. With the lock. */
bool replica_is_claimed(const struct replica_node *node, const char *path);

/* An unnamed file in the tree, for reading and writing. Return: a descriptor; -errno. */
int replica_node_temporary(struct replica_node *node);

/* A copy that serves the share. Return: a descriptor for reading; -ESTALE it has none; -errno. */
int replica_node_open(struct replica_node *node, const char *path, const struct share *share);

/*
 * Switch the unnamed file @fd, or a link with the text @target (borrowed until the share ends), in
 * at @path. No link takes the
 * place of a copy that serves another share. Return: 0; -ESTALE the share has not claimed it;
 * -errno.
 */
int replica_node_put_file(struct replica_node *node, const char *path, const struct share *share,
                          int fd, const struct original_identity *identity);
int replica_node_put_link(struct replica_node *node, const char *path, const struct share *share,
                          const char *target);

/*
 * Remove what is at @path as far as no other share has it; @is_end: the share's claim as well, and
 * one that has nothing there yet keeps what is there until it has.
 */
void replica_node_withdraw(struct replica_node *node, const char *path, const struct share *share,
                           bool is_end);

/* The end; all shares are gone. */
void replica_claims_clear(struct replica_node *node);

static inline void replica_node_lock(struct replica_node *node)
{
	(void) pthread_mutex_lock(&node->lock);
}

static inline void replica_node_unlock(struct replica_node *node)
{
	(void) pthread_mutex_unlock(&node->lock);
}

/* --- replica-place.c: names below a directory; never through a link --- */

/* The directory of the absolute @path below @root; @is_made: made as far as it is not there.
 * Return: a descriptor, and *ret_name, which is in @path; -errno. */
int replica_place_parent(int root, const char *path, bool is_made, const char **ret_name);

/* As the node's functions, without their claims. Return: 0; -errno. */
int replica_place_file(int root, const char *path, int fd);
int replica_place_link(int root, const char *path, const char *target);
/* With the directories that are empty then. */
void replica_place_remove(int root, const char *path);

/* --- the share --- */

enum replica_state {
	REPLICA_NEW,      /* to be made */
	REPLICA_COPYING,  /* both descriptors are open */
	REPLICA_CHECKING, /* a copy in service is looked at once more: copy_fd is open or will be */
	REPLICA_READY,    /* in service, as planned */
	REPLICA_FAILED,   /* not in this round: reason */
	REPLICA_GIVEN_UP, /* not at all: reason. A link is in its place, or nothing */
};

struct replica_file {
	char *path;
	char *link_target;    /* a link with this text; NULL: a file */
	bool is_linked;       /* no room for a copy, says the plan */
	uint64_t bytes;       /* what a copy takes, in whole pages; 0 for links */
	uint64_t early_bytes; /* of these, those of the early part */

	pthread_mutex_t lock;
	/* The rest is under the lock. */
	enum replica_state state;
	enum share_reason reason;
	int error;
	struct original_identity identity; /* of the original that is, or is to be, copied */
	struct original_identity found;    /* while copying: of the one that is open */
	int original_fd;
	int copy_fd;
	unsigned nr_users;   /* threads that are at a piece of it */
	uint64_t bytes_left; /* to be copied, or looked at */
	uint64_t counted_bytes[NR_STAGES];
	unsigned nr_changed;   /* times that the original did not stand still */
	unsigned nr_elsewhere; /* times that pages were on another node */
};

/* A file in the stream of a round. */
struct replica_entry {
	struct replica_file *file;
	uint64_t stream_bytes; /* where it begins in the stream */
	uint64_t offset_bytes; /* and in the file */
	uint64_t bytes;
};

struct replica_stage {
	struct replica_entry *queue; /* room for all files */
	size_t nr_queued;
	uint64_t queued_bytes;
	bool was_settled;
	unsigned nr_attempts;
	enum share_reason stop_reason; /* of the round: the node has no room; under share.lock */
};

struct replica_share {
	struct share share;
	struct replica_node *node;
	struct replica_file *files; /* by path */
	size_t nr_files;
	size_t nr_instant; /* files before this one are in place, if they are links or empty */
	struct replica_stage stages[NR_STAGES];
	_Atomic uint64_t done_bytes[NR_STAGES];
	_Atomic uint64_t flying_bytes; /* in chunks that are under way */

	pthread_mutex_t lock;
	struct share_status summary; /* without done_bytes */
};

/* --- replica-round.c: as kind_ops says --- */

int replica_prepare(struct part *part);
int replica_run_chunk(struct part *part, uint64_t index);
int replica_finish(struct part *part, bool is_cancelled);

/*
 * Put links and empty files in place: at most @nr_max. Without a mount, all files are given up.
 * Return: 1 there are more; 0.
 */
int replica_place_instant(struct replica_share *share, size_t nr_max);

/* Begin anew with a file, or with none of it: no descriptor is open, nothing is counted. */
void replica_file_reset(struct replica_share *share, struct replica_file *file,
                        enum replica_state state);

/* Write down for share_read what is missing. */
void replica_summarise(struct replica_share *share);

/* --- replica-copy.c: one file --- */

struct replica_buffers {
	uint64_t bytes; /* of each */
	char *first;
	char *second;
};

/*
 * Copy, compare and locate a piece, or look at it once more; who has the last one switches the copy
 * in. What is the matter with the file alone is in file.state. Return: 0; -errno the node has no
 * memory, and the file stays as it is.
 */
int replica_copy_piece(struct replica_share *share, struct replica_file *file,
                       uint64_t offset_bytes, uint64_t bytes,
                       const struct replica_buffers *buffers);

/* With file.lock. */
void replica_count(struct replica_share *share, struct replica_file *file, uint64_t offset_bytes,
                   uint64_t bytes);

/* It is out of this round. With file.lock, or where nobody else is at it. */
void replica_file_fail(struct replica_file *file, enum share_reason reason, int error);

/* --- replica-original.c --- */

/*
 * Open the file at @path, with no link on the way. Return: a descriptor and *ret; -errno,
 * *ret_reason says what that means.
 */
int replica_original_open(const char *path, struct original_identity *ret,
                          enum share_reason *ret_reason);

/*
 * Whether @path still leads to what @identity says, unchanged, and may still be copied.
 * Return: 0; -errno and *ret_reason.
 */
int replica_original_check(const char *path, const struct original_identity *identity,
                           enum share_reason *ret_reason);

/* --- replica-attributes.c --- */

/*
 * Give the copy what the original has: extended attributes as far as its file system takes them,
 * mode without any write bit and set-id, time, owner. Return: 0; -EPERM others could read it who
 * cannot read the original; -errno.
 */
int replica_attributes_copy(int original, int copy);

/* --- replica-pages.c --- */

/* Whether that piece of the file is in memory of the node. Return: 0; -EXDEV; -ENODATA; -errno. */
int replica_pages_check(int fd, uint64_t offset_bytes, uint64_t bytes, unsigned node_id);
