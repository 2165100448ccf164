/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * block-share.h - the state of a share of kind block
 *
 * Layer: kinds, private to the files block*.c. Threads: the worker while it has the share, the main
 * thread in between; share_read and share_is_same at any time. What that shares is under the lock,
 * as said below.
 */
#pragma once

#include <pthread.h>

#include "kind.h"

struct block_item {
	struct plan_block wanted;
	bool is_open; /* to be tried, or tried again */
	bool is_done;
	bool is_by_us;            /* when it is done */
	enum share_reason reason; /* why it is not done; REASON_NONE: nothing is known yet */
	int error;
};

/* Of one part; belongs to whoever has the share: the worker, or the main thread in between. */
struct block_stage {
	size_t first; /* of its items */
	size_t end;
	size_t next;          /* to be looked at in this round */
	unsigned nr_attempts; /* since it was last settled */
	bool is_begun;        /* between its first round and settling */
	bool was_settled;     /* once: what begins is a Retry */
	bool is_rest_closed;  /* what begins next is about the open blocks only, not about all */
};

struct block_share {
	struct share share;
	uint64_t block_bytes;
	struct block_stage stages[NR_STAGES];
	struct block_item *items; /* early ones first */
	size_t nr_items;

	pthread_mutex_t lock; /* for the items but wanted and is_open, and for all below */
	unsigned nr_done[NR_STAGES];
	unsigned nr_missing;
	size_t first_missing; /* no item before it has a reason */
	unsigned nr_by_us;
	unsigned nr_attempts;
};

/* block-list.c; as kind_ops says. */
int block_share_take(struct share *share, const struct plan_share *planned);
bool block_share_is_same(const struct share *share, const struct plan_share *planned);
void block_share_read(const struct share *share, struct share_status *ret);
int block_share_shrink(struct share *share, uint64_t keep_bytes);

/*
 * What has become of a block, with the sums. Takes the lock. @is_by_us: when @is_done; @reason: why
 * it is not done, REASON_NONE while nothing is known; @error: behind that.
 */
void block_item_set(struct block_share *blocks, struct block_item *item, bool is_done,
                    bool is_by_us, enum share_reason reason, int error);
