/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * region.h - the regions of a share of kind region, as the lease layer sees them
 *
 * Layer: kinds. Threads: main, while the share exists; all of it may run at the same time as the
 * engine works on the share. Nothing here blocks, waits for the engine, or frees memory, but for
 * region_discard_lent(): what is given back is destroyed by the share's next round (prepare) or
 * shrink, on the worker thread.
 *
 * A region's way:
 *
 *     made, filling -> ready -> lent -> ready     region_unlend(): nobody has seen it
 *                                    -> spent     region_return(): destroyed by the next round, and
 *                                                 another one is filled in its place
 *                                    -> spent     region_abandon(): the same, but only closed
 *     any but lent  -> gone                        shrink, poison, a round that was given up
 *
 * A lent region belongs to the share and outlives every shrink. One that has no place in a share
 * that became smaller is not replaced when it comes back: the next round or shrink destroys it,
 * which may again be one to what the share has been shrunk to. A share that has a lent region must
 * not be freed, except at the end of the process: then its pages stay with its lessee. done_bytes
 * of share_read() has lent and spent ones as long as region_count_states() has.
 *
 * Ids are unique for the host, also over restarts: each region that is made takes the next one from
 * kind_context.last_region_id, or none (0) where that is NULL.
 */
#pragma once

#include "kind.h"

/* Whether @share is of kind region; what is below is for those only. */
bool share_has_regions(const struct share *share);

struct region_counts {
	size_t nr_ready;
	size_t nr_lent;
	size_t nr_spent;    /* returned, not yet destroyed: a round is wanted (run_refill()) */
	size_t nr_unfilled; /* wanted, and neither of these: to be made, being filled, or failed,
	                     * or to be looked at again (share_recheck) */
	uint64_t ready_bytes, lent_bytes, spent_bytes;
	/* What has still to be filled with free pages of the node, or may have: what is spent and
	 * what is unfilled, except where a round has given up. */
	uint64_t coming_bytes;
	uint64_t largest_bytes; /* of the regions that the share is cut into; 0: of none */
};

void region_count_states(struct share *share, struct region_counts *ret);

/*
 * Lend out the smallest ready region of at least @bytes (0: any).
 * Return: 0, *ret_id and *ret_bytes (all of it); -ENOENT none is ready now.
 */
int region_lend(struct share *share, uint64_t bytes, uint64_t *ret_id, uint64_t *ret_bytes);

/* Take that back: no descriptor of it has left the process. Return: 0; -ENOENT it is not lent. */
int region_unlend(struct share *share, uint64_t id);

/* A description of its own of a lent region (memory_ops.open_again). Return: a descriptor, the
 * caller's; -ENOENT it is not lent; -errno. */
int region_open_lent(struct share *share, uint64_t id);

/*
 * A duplicate of our own descriptor of a region that is ready or lent, for the store: the same
 * description, so that is_in_use says the same. Return: a descriptor, the caller's, and *ret_bytes;
 * -ENOENT it is neither; -EMFILE.
 */
int region_duplicate(struct share *share, uint64_t id, uint64_t *ret_bytes);

/* Whether another region is built in the place of a lent one when it comes back. */
bool region_is_replaced(struct share *share, uint64_t id);

/* memory_ops.is_in_use of a lent region. Return: 1; 0; -EOPNOTSUPP; -ENOENT it is not lent; -errno.
 */
int region_is_lent_in_use(struct share *share, uint64_t id);

/*
 * memory_ops.discard of a lent region that nobody has any more: its pages go back to the kernel
 * before it is returned. Return: 0; -ENOENT it is not lent; -errno.
 */
int region_discard_lent(struct share *share, uint64_t id, uint64_t offset_bytes, uint64_t bytes);

/*
 * The lease is over and nobody has it: it is never handed out again. A round that is under way does
 * not build it anew, the next one does (region_counts.nr_spent). Return: 0; -ENOENT it is not lent.
 */
int region_return(struct share *share, uint64_t id);

/*
 * The lease is over, and nobody can say who has it: as region_return(), but its pages stay with
 * whoever that is. Another one is filled with other pages. Return: 0; -ENOENT it is not lent.
 */
int region_abandon(struct share *share, uint64_t id);

/*
 * News for the record of what exists: each region is told as MADE once its memory exists (with a
 * duplicate of its descriptor), as READY, and as GONE when its memory was destroyed; in this order.
 * Of adopted ones is told only what is new. None is lost or told twice. What came and went since
 * the last look may be left out altogether; what goes with the share is not told.
 */
enum region_change { REGION_WAS_MADE, REGION_BECAME_READY, REGION_IS_GONE };

struct region_news {
	enum region_change change;
	uint64_t id;
	uint64_t bytes;
	int fd; /* MADE: the caller's, or -1: there was none left for a duplicate; else -1 */
};

/* Return: whether there was any. */
bool region_next_news(struct share *share, struct region_news *ret);

/*
 * Before the share is given to a worker: put in a region that an earlier process left. It takes a
 * free place that fits its size; a lent one that fits none (the pool was made smaller) is kept as
 * well, counts in done_bytes and is not replaced. A ready one that is to be locked is filling until
 * the next round has locked it; nothing of it is written again. On success the descriptor is the
 * share's. @id is above 0. Return: 0; -ENOSPC no place for it; -ENOMEM; as memory_ops.adopt.
 */
enum region_adopted { REGION_ADOPT_FILLING, REGION_ADOPT_READY, REGION_ADOPT_LENT };

int region_adopt(struct share *share, uint64_t id, uint64_t bytes, int fd,
                 enum region_adopted adopted);

/*
 * From now on the end of the share does not give its memory back: a descriptor of each region is
 * kept elsewhere (the service manager's store), for the next process to adopt. Huge pages that were
 * added for it stay in the kernel's pool, too.
 */
void region_keep_memory(struct share *share);
