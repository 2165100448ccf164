/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * region-share.h - the state of a share of kind region
 *
 * Layer: kinds, private to region.c, region-state.c and region-reason.c. Threads: what several of
 * them touch is listed at the top of region.c.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "kind.h"
#include "memory.h"
#include "region.h"

#define REGIONS_HELD_MAX 16

enum region_state {
	REGION_NEW, /* no memory */
	REGION_FILLING,
	REGION_POISONED, /* its memory has hardware poison */
	REGION_FAILED,   /* make said no */
	REGION_READY,
};

struct region {
	pthread_mutex_t lock;
	enum region_state state;
	int error; /* REGION_FAILED */
	struct memory memory;
	uint64_t bytes;
	_Atomic uint64_t filled_bytes;
	/* What stage.done_bytes has of it. Not taken back while it is built anew, only when it is
	 * given up. */
	_Atomic uint64_t counted_bytes;
	_Atomic uint64_t nr_chunks_left; /* not yet done */
	uint64_t next_bytes;             /* where the next chunk to take begins */
	unsigned nr_writers;             /* threads that are at a chunk of it */
};

struct region_stage {
	struct region *regions;
	size_t nr_regions;
	struct region **queue; /* to be filled in this round */
	size_t nr_queued;
	size_t first_open; /* of the queue: all before it have no chunk left to take */
	_Atomic uint64_t done_bytes;
	int round_error;                        /* the first one */
	_Atomic enum share_reason limit_reason; /* why not all of them are queued */
	int limit_error;
	unsigned nr_attempts; /* since it was last settled */
	bool was_settled;     /* what runs now is a Retry */
	enum share_reason reason;
	int error;
};

struct region_share {
	struct share share;
	struct region_stage stages[NR_STAGES];
	/* Bad memory that is kept open, so that its pages do not come back with the replacement. */
	struct memory held[REGIONS_HELD_MAX];
	size_t nr_held;
	bool is_compacted;

	pthread_mutex_t lock;
	struct region **stock; /* ready ones, in the order in which they became so */
	size_t nr_stock;
	size_t stock_max;
	unsigned nr_attempts;
	unsigned nr_poisoned;
	unsigned nr_raced;
	uint64_t raced_from_pages;
	uint64_t raced_to_pages;
};

/* Begin with a region of @bytes that has no memory yet. */
void region_init(struct region *region, uint64_t bytes);
/* Before a round: nothing of it is filled. Return: its chunks. */
uint64_t region_restart(struct region *region, uint64_t chunk_bytes);

/*
 * The next chunk that nobody has taken; there is one for each of part.nr_chunks calls. A file on
 * tmpfs has one writer, so of regions of thp one that nobody writes to comes first; of others
 * the one that is nearest to being ready. To be followed by region_leave().
 */
struct region *region_take_chunk(struct region_share *regions, struct region_stage *stage,
                                 uint64_t chunk_bytes, uint64_t *ret_offset_bytes);

/* The chunk that was taken is done, or has failed: the file has a writer less. */
void region_leave(struct region_share *regions, struct region *region);

/* Make its memory unless somebody has. Return: 0; -EHWPOISON it is given up; as memory_ops.make. */
int region_make(struct share *share, struct region *region);

/* Its memory has hardware poison: no further chunk of it is worth filling. */
void region_poison(struct region *region);

/* Add @bytes that were filled to the progress, what was counted before its poison only once. */
void region_count(struct region_stage *stage, struct region *region, uint64_t bytes);

/* Take back from the progress all that a region has in it. */
void region_uncount(struct region_stage *stage, struct region *region);

/* What ready regions of the stage lack of @want_bytes. */
uint64_t region_missing_bytes(const struct region_stage *stage, uint64_t want_bytes);

/* The stock. Room is made beforehand, so that adding cannot fail. Return: 0; -ENOMEM. */
int region_stock_reserve(struct region_share *regions, size_t nr_more);

/* A region became ready; one that was is to be given back. */
void region_stock_add(struct region_share *regions, struct region *region);
void region_stock_remove(struct region_share *regions, const struct region *region);

/* Let go of the memory that is held for its poison. */
void region_drop_held(struct region_share *regions);

/* Keep for the status that somebody else changed the node's pool. */
void region_note_race(struct region_share *regions, const struct page_account_result *result);

/* What Reserve= leaves of the node. Return: false when the kernel does not say. */
bool region_room_bytes(const struct share *share, uint64_t *ret_bytes);
/* Looks at every so many-th chunk whether those up to the next look would touch the reserve. */
bool region_is_reserve_touched(const struct part *part, uint64_t index);

/* Whether the error says that there was not enough memory. */
bool region_is_short(int error);
/* Why @missing_bytes are missing after @error (0: not all was queued); may time help? */
enum share_reason region_reason(struct part *part, int error, uint64_t missing_bytes,
                                bool *ret_may_retry);
