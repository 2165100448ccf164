/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * book-inside.h - what the files of the book share
 *
 * Layer: lease. Threads: main.
 *
 *     book.c          who has what: look-ups, sums, the list itself
 *     book-grant.c    a lease begins
 *     book-drain.c    a lease ends, and its region is watched until nobody has it
 *     book-pages.c    and until its pages are back, where they are needed
 *     book-discard.c  regions without a share are given back in steps
 *     book-news.c     what the shares made and destroyed goes on record
 *     book-store.c    and into the store, or is tried again
 *     book-restore.c  what an earlier process left
 */
#pragma once

#include "../base/idmap.h"
#include "../base/size.h"
#include "../kinds/region.h"
#include "book.h"
#include "lifetimes.h"

/* How many ended lifetimes, and how many probes, one book_poll() looks at before others' turn. */
#define BOOK_STEPS_A_POLL 256

/* How often it looks at what a node has free, and how much it gives back (64 MiB: below 1 ms). */
#define BOOK_LOOKS_A_POLL 16
#define BOOK_STEP_BYTES   (64 * MIB)

#define BOOK_FIRST_PROBE_USEC UINT64_C(10000)
#define BOOK_LAST_PROBE_USEC  UINT64_C(5000000)

/* Regions to be stored that are kept in mind, and how many of a share are tried in one look. */
#define BOOK_UNSTORED_MAX  256
#define BOOK_STORES_A_LOOK 16

struct book_lease {
	uint64_t id;
	enum lease_state state;
	uid_t uid;
	pid_t pid;
	/* Whose region it is; NULL: an earlier process's, which no share has a place for. */
	struct share *share;
	/* Which memory; its descriptor only without a share, and unless the store lost it. */
	struct memory memory;
	bool is_released;
	uint64_t since_realtime_usec;
	uint64_t since_monotonic_usec;
	uint64_t due_usec;      /* draining: when to look again; 0 at once */
	uint64_t wait_usec;     /* and how long after that */
	uint64_t emptied_bytes; /* draining: given back so far */
	/* draining: what the node's pool had before any of that; 0: not yet known */
	uint64_t nr_pages_before;
	char pool[RECORD_NAME_BYTES_MAX];
	char unit[RECORD_UNIT_BYTES_MAX];
};

/* A region without a share that nobody may have any more. */
struct book_discard {
	uint64_t id;
	struct memory memory;
	uint64_t done_bytes;
};

struct book {
	struct book_setup setup;
	struct book_quota quota;
	struct lifetimes *lifetimes;
	struct book_lease **leases; /* by id */
	size_t nr_leases;
	size_t leases_max;
	struct book_discard *discards;
	size_t nr_discards;
	size_t discards_max;
	struct idmap shares; /* region -> the address of its share */
	/* Region that is not on record, or not in the store -> the address of its share. */
	struct idmap unstored;
	size_t next_unstored;   /* its place where the next look begins */
	bool has_more_unstored; /* than there is room for: each that is lent is tried again */
	/* Region without a share, of memory that counts against a cgroup -> its bytes. */
	struct idmap inherited;
	struct kernel *kernel; /* of the last share that was seen; borrowed */
	/* Of an earlier process's regions, the highest id; 0: all have found their place. */
	uint64_t last_inherited_id;
	struct idmap restored; /* those that have, so far */
	bool is_restore_short; /* there was no memory for some of them */
	struct book_restored sums;
};

/* Return: the lease, or NULL. */
struct book_lease *book_lease_find(const struct book *book, uint64_t id);

/* Have room for one more, so that adding cannot fail. Return: 0; -ENOMEM. */
int book_reserve(struct book *book);

/* A lease that is on record. Return: NULL: no memory. */
struct book_lease *book_lease_new(const struct record_entry *entry);

/* Into the list, which owns it from now on. */
void book_lease_add(struct book *book, struct book_lease *lease);

/* Out of the list, and freed; its memory must be gone. */
void book_lease_drop(struct book *book, struct book_lease *lease);

void book_lease_show(const struct book_lease *lease, struct lease *ret);

/* Change the state on record, unless it is not there. Return: 0; -errno, the former stands. */
int book_record_state(struct book *book, uint64_t id, enum record_state state);

/* It drains from now on, and is looked at as soon as book_poll() comes. */
void book_lease_drain(struct book *book, struct book_lease *lease);

/*
 * Give @memory of region @id back in steps; it is the book's from now on. On record as spent, so
 * that no process hands it out again.
 */
void book_discard_add(struct book *book, uint64_t id, const struct memory *memory);

/* How much of @memory goes in one step, after @done_bytes of it. */
uint64_t book_step_bytes(const struct memory *memory, uint64_t done_bytes);

/* One step. Return: whether there is more to do. */
bool book_discard_step(struct book *book);

/*
 * Whether another region takes the place of @lease's, and is built of the very pages that it has.
 * One of a huge page pool is: a lessee who still holds some (vmsplice(2), a registered buffer,
 * RDMA) would make it fall short, and nobody would know why.
 */
bool book_needs_pages(const struct book_lease *lease);

/* Before any of its pages is given back: keep in mind what the node's pool has. */
void book_note_pages(const struct book *book, struct book_lease *lease);

/*
 * A step towards giving all its pages back; *step_bytes becomes less by what that was.
 * Return: 0 all are given back; 1 there is more to do; -errno.
 */
int book_empty_step(struct book_lease *lease, uint64_t *step_bytes);

/*
 * Whether the node has room for the lease's replacement, and for what else its share lacks; or does
 * not need it. Huge pages that are missing because the node's pool was made smaller meanwhile are
 * kept by nobody: they are for the next round to add anew.
 */
bool book_has_room(const struct book *book, struct book_lease *lease);

/* A region was made: on record and into the store, or in mind as what is to be tried again. */
void book_store_made(struct book *book, struct share *share, const char *pool,
                     const struct region_news *news);

/* Try @id again, if that is to be done and it is ready or lent by now. */
void book_store_again(struct book *book, struct share *share, const char *pool, uint64_t id);

/* And some of all those of @share. */
void book_store_rest(struct book *book, struct share *share, const char *pool);

/* None of @share is tried again. */
void book_store_forget(struct book *book, const struct share *share);

/* Strike @id out: its memory is gone. */
void book_strike_out(struct book *book, uint64_t id);
