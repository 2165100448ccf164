/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * block-record.h - which memory blocks were offline once, and what has become of them
 *
 * Layer: machine. Threads: any; one lock inside. A part of a node's offline memory (Size=50%) is
 * meant of what was offline before anybody touched it. What is brought online stays so when the
 * daemon ends, so the next process has to know what the part is of: the record lies in a file below
 * /run and lasts as long as the memory blocks stay as they are, until the next boot.
 *
 * The file is text: a line "FIRST-LAST WORD" for each run of blocks of the same sort, ascending;
 * WORD is "ours" (this daemon brought them online), "seen", "left" (see block_record_leave())
 * or "taken" (see block_record_take_away()).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/scoped.h"

#define BLOCK_RECORD_BLOCKS_MAX (4 * 1024 * 1024) /* more than any machine has */

struct block_record;

struct block_record_entry {
	uint64_t block;
	bool is_ours;     /* brought online by this daemon, or an earlier process of it */
	bool is_left;     /* no candidate: somebody has taken it offline for a reason of his own */
	bool is_taken;    /* was in service, and somebody has taken it offline */
	bool is_given_up; /* this process tried it, and the kernel refused; not in the file */
};

/*
 * Read @path; NULL: in memory only. A missing file is an empty record; one that is damaged in any
 * line is empty as a whole (-EBADMSG is told by *ret_is_damaged, which may be NULL).
 * Return: 0 and *ret, which the caller owns; -ENOMEM.
 */
int block_record_open(const char *path, struct block_record **ret, bool *ret_is_damaged);

/* Does not save. NULL is fine. Return: NULL. */
struct block_record *block_record_free(struct block_record *record);
DEFINE_SCOPED(struct block_record *, block_record_free)

/* Put @block on record, unless it is. Return: 0; -ENOMEM; -E2BIG. */
int block_record_add(struct block_record *record, uint64_t block);

/* Take it off: it was unplugged. */
void block_record_remove(struct block_record *record, uint64_t block);

/* Return: true and *ret (may be NULL) when it is on record. */
bool block_record_find(const struct block_record *record, uint64_t block,
                       struct block_record_entry *ret);

/* Mark what is on record; harmless for what is not. */
void block_record_set_ours(struct block_record *record, uint64_t block, bool is_ours);
void block_record_set_given_up(struct block_record *record, uint64_t block, bool is_given_up);
/*
 * Put @block, which is not on record, there as one that is no candidate: it was never of any pool,
 * and somebody takes it offline, to unplug it maybe. block_record_add() makes it a candidate again.
 * Return: as block_record_add().
 */
int block_record_leave(struct block_record *record, uint64_t block);

/*
 * Mark what is on record as taken offline by somebody: it stays a candidate, but nobody brings it
 * back unless he is told to. block_record_give_back() ends that, and so does
 * block_record_set_ours(true). Harmless for what is not on record, or is left.
 */
void block_record_take_away(struct block_record *record, uint64_t block);
void block_record_give_back(struct block_record *record, uint64_t block);

size_t block_record_nr(const struct block_record *record);

/*
 * Write the file, when anything changed since, by a new one that is renamed over it. Main thread.
 * Return: 0; -errno, and the old file stands.
 */
int block_record_save(struct block_record *record);
