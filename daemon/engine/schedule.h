/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * schedule.h - which part is next
 *
 * Layer: engine, internal to it. Threads: main and worker, with worker.lock held.
 */
#pragma once

#include "shared.h"

/*
 * Who goes first; within a rank, by order of addition. A part whose round was left half done goes
 * before those of its sort that have to begin.
 *
 * A wanted part, for which a client waits by the clock, goes before a shrink, which takes as long
 * as the kernel likes. Should it lack the very memory that the shrink gives back, it comes back
 * short, and the shrink has its turn in the back-off.
 *
 * Shares that come first bring the memory which the others are made of. While one of them is not
 * settled, also while it waits out a back-off, parts of other runs have no place in the queue: what
 * they found missing would be there a moment later, and a share that has settled short of it stays
 * so. Three may go all the same: what was cancelled, as it only gives back; a refill, whose memory
 * was there before; and a wanted part, as its client has no time for all the memory of a node, once
 * the early parts of those that come first have settled: without them, a node that had no memory
 * would have none to give, and the part would fail for good.
 */
enum rank {
	RANK_CANCELLED, /* has to give back what it began */
	RANK_FIRST_EARLY_BEGUN,
	RANK_FIRST_EARLY,
	RANK_WANTED_BEGUN,
	RANK_WANTED,
	RANK_FIRST_BEGUN,
	RANK_FIRST,
	RANK_SHRINK, /* gives memory back, which others may wait for */
	RANK_EARLY_BEGUN,
	RANK_EARLY,
	RANK_DEFERRED_BEGUN,
	RANK_DEFERRED,
	RANK_REFILL_BEGUN,
	RANK_REFILL,
	RANK_END,
};

struct pick {
	struct run *run;
	struct job *job; /* NULL: shrink the run's share */
};

/* Queue a job anew, with nothing remembered; settles it where there is nothing to do. */
void job_queue(struct job *job);

/* It is over, whatever came of it; what was never begun has no end either. */
void job_settle(struct job *job, uint64_t now_usec);

/* Have it begin a new round, after its back-off; the next one will be longer. */
void job_back_off(struct job *job, uint64_t now_usec);

/* Nothing of it is left to do. */
bool run_is_settled(const struct run *run);

/* Cancel: what has not begun settles here, what has begun is left to the worker. */
void run_withdraw(struct run *run);

/* Any run is not settled. */
bool schedule_has_work(const struct worker *worker);

/*
 * The best of what may run at @now_usec and is of a rank before @limit. *ret_due_usec: when the
 * first of those that wait out a back-off may run; UINT64_MAX for none; written in any case.
 * Return: true and *ret; false nothing may run now.
 */
bool schedule_pick(const struct worker *worker, enum rank limit, uint64_t now_usec,
                   struct pick *ret, uint64_t *ret_due_usec);

/* @run has no place in the queue: it waits for those that come first. */
bool schedule_is_held(const struct worker *worker, const struct run *run);

/* What stands before this rank makes @job make way in the middle of its work. */
enum rank schedule_overtake_limit(const struct job *job);

/* Front or background: how the threads work on @job. */
enum binding_priority schedule_priority(const struct job *job);

/*
 * The threads may be held back while they work on @job: nobody waits for it. A deferred part of a
 * share that comes first counts as waited for while others wait for it.
 */
bool schedule_is_background(const struct worker *worker, const struct job *job);

/* The back-off after one of @backoff_usec. */
uint64_t schedule_backoff_next(uint64_t backoff_usec);
