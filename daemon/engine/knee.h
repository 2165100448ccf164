/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * knee.h - how many members are worth it (Threads=auto)
 *
 * Layer: engine. Threads: the worker's own; pure, the caller passes in clock and counters.
 *
 * A kind of work begins with one member. One more is added while the rate with it is at least a
 * tenth above the best without it; where it is not, the number before is the knee. The rate is
 * measured in windows: at least two chunks of each member that is at work and at least 4 ms, begun
 * when each has ended a chunk since their number changed. It is the sum of what each did in the
 * time it spent in chunks, so what lies between chunks (rests, pauses, prepare) is no part of it.
 *
 * One by one from 1 costs little: on a 2-CPU machine the two chunks of the first window are 6 ms at
 * half the speed, and 16 members are tried in 16 times four chunks of each. To begin with several
 * would have to measure fewer all the same, to see that each was worth it.
 *
 * A host that took free memory back makes windows up to 45 times slower, so no number is given up
 * on the word of one window: two have to agree (within half as much again), or the best of six
 * counts. A rate that grew more than a member can bring says that the window before was bad, which
 * is then taken anew. What is found is examined again after 64 windows, with one member more and
 * with one less, and after twice as many each time that it stays, up to 1024.
 *
 * What is found is kept by kind of work: its operations and its pages.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../plan/plan.h"

struct kind_ops;

#define KNEE_MEMBERS_MAX 128
#define KNEE_KINDS_MAX   8 /* the oldest makes way for another */

/* What a member has done since it was made: chunks that it has ended. */
struct knee_sample {
	uint64_t nr_chunks;
	uint64_t bytes;
	uint64_t busy_usec; /* in these chunks, by the wall clock */
};

/* A kind of work. */
struct knee_key {
	const struct kind_ops *ops; /* compared, never looked into; NULL is none */
	enum plan_page page;
	uint64_t page_bytes;
};

enum knee_mode {
	KNEE_BASE,   /* measures what the trial is compared with */
	KNEE_TRIAL,  /* measures one more, or one less */
	KNEE_STEADY, /* works with what was found */
};

struct knee_kind {
	struct knee_key key;
	enum knee_mode mode;
	unsigned nr_members_max; /* for which it was found */
	unsigned nr_active;      /* base, or one more, or one less in a trial */
	unsigned base;
	bool is_found;
	bool is_downwards; /* the trial is with one less */
	bool has_moved;    /* the base, in this examination */
	unsigned nr_bad_bases;
	uint64_t base_rate; /* B/s, the best with base */
	/* Of the windows with nr_active. */
	unsigned nr_windows;
	uint64_t best_rate;
	uint64_t worst_rate;
	unsigned nr_steady_windows; /* after which it is examined again */
};

/* Embedded by value; knee_init() first. */
struct knee {
	unsigned nr_members_max;
	struct knee_kind kinds[KNEE_KINDS_MAX];
	unsigned current;
	unsigned next;
	bool is_settling; /* not all have ended a chunk since their number changed */
	uint64_t start_usec;
	struct knee_sample starts[KNEE_MEMBERS_MAX];
};

/* Whatever was found for as many members (up to KNEE_MEMBERS_MAX) stays. */
void knee_set_members(struct knee *knee, unsigned nr_members_max);

/*
 * What follows is work of this kind. No member is in a chunk. @samples: of nr_members_max members.
 * Return: how many members should be at work.
 */
unsigned knee_begin(struct knee *knee, const struct knee_key *key, uint64_t now_usec,
                    const struct knee_sample *samples);

/*
 * Some chunks later, at least one of every member that is at work now and then.
 * @is_spoiled: members rested, or fewer were at work than should be; the window is taken anew.
 * Return: how many members should be at work from now on.
 */
unsigned knee_look(struct knee *knee, uint64_t now_usec, const struct knee_sample *samples,
                   bool is_spoiled);

/* How many were worth it in the kind of work at hand; 0 while that was not found yet. */
unsigned knee_found(const struct knee *knee);
