/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * region-share.h - the state of a share of kind region
 *
 * Layer: kinds, private to the files region*.c. Threads: the worker has a share between and in
 * rounds, its crew takes chunks in them, and the main thread lends out what is ready at any time.
 * What more than one of them touches:
 *
 *     under region.lock         region.state, .error and .memory while it is made
 *     under region_share.lock   all that says so below; who writes where; what a stage has in whole
 *                               regions; the reasons and counts of the status
 *     atomic                    region.filled_bytes, .counted_bytes, .nr_chunks_left;
 *                               region_stage.done_bytes, .limit_reason; the last region id
 *
 * A region that is whole is the worker's no more, unless it takes it out of the stock or off the
 * list of spent ones, under region_share.lock; one that is in doubt is the worker's alone while it
 * has the share. Of a lent one the main thread alone uses .memory,
 * without the lock, as only it can end that. The rest belongs to the worker.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "kind.h"
#include "memory.h"
#include "region.h"

#define REGIONS_HELD_MAX 16

enum region_state {
	REGION_NEW, /* no memory */
	REGION_FILLING,
	REGION_POISONED, /* its memory has hardware poison */
	REGION_FAILED,   /* make said no */
	REGION_WHOLE,    /* verified and finished; where it is, its place says */
};

enum region_place { PLACE_NONE, PLACE_STOCK, PLACE_DOUBTED, PLACE_LENT, PLACE_SPENT };

/* What is to be told of one piece of memory; outlives it until that was told. */
struct region_note {
	TAILQ_ENTRY(region_note) link;
	uint64_t id;
	uint64_t bytes;
	int fd; /* for MADE; -1 none */
	bool is_made_told;
	bool is_ready;
	bool is_ready_told;
	bool is_gone;
	bool is_queued;
};

TAILQ_HEAD(region_notes, region_note);

struct region {
	pthread_mutex_t lock;
	enum region_state state;
	int error; /* REGION_FAILED */
	struct memory memory;
	uint64_t bytes;
	enum stage stage; /* where its bytes are counted */
	_Atomic uint64_t filled_bytes;
	/* What stage.done_bytes has of it. Not taken back while it is built anew, only when it is
	 * given up. */
	_Atomic uint64_t counted_bytes;
	_Atomic uint64_t nr_chunks_left; /* not yet done */
	uint64_t next_bytes;             /* where the next chunk to take begins */
	unsigned nr_writers;             /* threads that are at a chunk of it */

	/* Under region_share.lock, as soon as it is whole. */
	uint64_t id;              /* of its memory; 0: none */
	struct region_note *note; /* of its memory; NULL: it has no id */
	enum region_place place;
	bool is_aside;             /* lent or spent, and no part wants it any more */
	bool is_abandoned;         /* spent, and not ours to empty */
	bool is_single;            /* allocated by itself */
	TAILQ_ENTRY(region) link;  /* of the stock, the doubted or the spent ones */
	TAILQ_ENTRY(region) aside; /* of those that are aside */
	struct region *next_lent;  /* of its bucket */
};

TAILQ_HEAD(region_list, region);

struct region_stage {
	struct region *block;    /* all that it was cut into at first */
	struct region **regions; /* those that it has now */
	struct region **queue;   /* to be filled in this round */
	size_t nr_block;
	size_t nr_regions;
	size_t next_free; /* of those that are adopted: all before it have memory */
	size_t nr_queued;
	size_t first_open; /* of the queue: all before it have no chunk left to take */
	_Atomic uint64_t done_bytes;
	uint64_t whole_bytes;                   /* in its regions; under the lock */
	size_t nr_whole;                        /* under the lock */
	int round_error;                        /* the first one */
	_Atomic enum share_reason limit_reason; /* why not all of them are queued */
	int limit_error;
	unsigned nr_attempts; /* since it was last settled */
	unsigned nr_poisoned; /* since it was last settled */
	bool was_settled;     /* what runs now is a Retry, or builds anew what was lent */
	enum share_reason reason;
	int error;
};

/* Bad memory that is kept open, so that its pages do not come back with the replacement. */
struct region_held {
	struct memory memory;
	struct region_note *note;
};

struct region_share {
	struct share share;
	struct region_stage stages[NR_STAGES];
	struct region_held held[REGIONS_HELD_MAX];
	size_t nr_held;
	bool is_compacted;

	pthread_mutex_t lock; /* for all below */
	bool is_open;         /* cut into regions */
	bool keeps_memory;    /* its end does not give back */
	uint64_t largest_bytes;
	struct region_list stock;   /* ready ones, small ones first */
	struct region_list doubted; /* were in the stock, and are looked at again first */
	size_t nr_doubted;
	uint64_t doubted_bytes;
	struct region_list spent[NR_STAGES + 1]; /* by stage; the last is of those that are aside */
	struct region_list aside;
	struct region **lent; /* buckets by id */
	size_t nr_buckets;    /* a power of two */
	struct region_counts counts;
	uint64_t aside_bytes; /* also read by the worker, which alone changes it, without */
	struct region_notes news;
	unsigned nr_attempts;
	unsigned nr_poisoned;
	unsigned nr_raced;
	uint64_t raced_from_pages;
	uint64_t raced_to_pages;
};

static inline void region_share_lock(struct region_share *regions)
{
	(void) pthread_mutex_lock(&regions->lock);
}

static inline void region_share_unlock(struct region_share *regions)
{
	(void) pthread_mutex_unlock(&regions->lock);
}

/* --- region-state.c: one region from nothing to whole --- */

/* Begin with a region of @bytes that has no memory yet. */
void region_init(struct region *region, uint64_t bytes, enum stage stage);
/* The end of one that was allocated by itself; of others nothing. Its memory is gone. */
void region_free(struct region *region);
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

/* What memory_ops.make and .adopt want to know of it. */
struct memory region_memory(const struct share *share, uint64_t bytes);

/* Make its memory unless somebody has. Return: 0; -EHWPOISON it is given up; as memory_ops.make. */
int region_make(struct region_share *regions, struct region *region);

/* Its memory has hardware poison: no further chunk of it is worth filling. */
void region_poison(struct region *region);

/* All of it is populated: into the stock, if it is what was asked for. Return: 0; as verify. */
int region_complete(struct region_share *regions, struct region *region);

/* In and out of the sums of its stage. With the lock. */
void region_add_whole(struct region_share *regions, const struct region *region);
void region_remove_whole(struct region_share *regions, const struct region *region);

/* Destroy its memory, if it has any and it is ours, and tell so. In the progress it stays. */
void region_unmake(struct region_share *regions, struct region *region);

/* Add @bytes that were filled to the progress, what was counted before its poison only once. */
void region_count(struct region_share *regions, struct region *region, uint64_t bytes);

/* Take back from the progress all that a region has in it. */
void region_uncount(struct region_share *regions, struct region *region);

/* Let go of the memory that is held for its poison. */
void region_drop_held(struct region_share *regions);

/* --- region-cut.c: the regions that a share has, and how it gives them back --- */

/* Cut both parts into regions, unless that is done. Return: 0; -ENOMEM. */
int region_share_open(struct region_share *regions);

/*
 * Destroy one region that was returned: of this stage, as another would not fill its place, or one
 * that is aside. Return: whether there was one.
 */
bool region_drop_spent(struct region_share *regions, enum stage stage);

/* As kind_ops says. */
int region_share_shrink(struct share *share, uint64_t keep_bytes);
void region_share_free(struct share *share);

/* What is aside has changed: of huge pages, the account goes on counting it. */
void region_account_aside(struct region_share *regions);

/* --- region-lease.c: the stock, and what was lent. All with the lock --- */

void region_stock_add(struct region_share *regions, struct region *region);
void region_stock_remove(struct region_share *regions, struct region *region);
void region_lent_add(struct region_share *regions, struct region *region);
void region_aside_add(struct region_share *regions, struct region *region);
void region_aside_remove(struct region_share *regions, struct region *region);
/* One that was returned, of this stage or aside, off its list and without a place. NULL: none. */
struct region *region_spent_take(struct region_share *regions, enum stage stage);

/* --- region-recheck.c --- */

/* As kind_ops says. */
int region_share_recheck(struct share *share);
/*
 * Look at one region of this stage that is in doubt: back into the stock, or it has no memory any
 * more and is to be built anew. Return: whether there was one.
 */
bool region_verify_doubted(struct region_share *regions, enum stage stage);
/* With the lock. */
void region_doubted_remove(struct region_share *regions, struct region *region);

/* --- region-news.c --- */

/* Return: 0 and *ret, NULL where regions have no ids; -ENOMEM. */
int region_note_new(const struct share *share, uint64_t bytes, struct region_note **ret);
struct region_note *region_note_free(struct region_note *note);
/* Its memory was made: it has an id from now on, and @fd is duplicated. NULL is fine below. */
void region_note_made(struct region_share *regions, struct region_note *note, int fd);
/* With the lock. */
void region_note_ready(struct region_share *regions, struct region_note *note);
/* Its memory was destroyed; the note is no longer the caller's. */
void region_note_gone(struct region_share *regions, struct region_note *note);
/* Forget what was not told yet, at the end of the share. */
void region_news_clear(struct region_share *regions);

/* --- region-reason.c --- */

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
