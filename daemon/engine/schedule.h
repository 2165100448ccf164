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
 */
enum rank {
	RANK_CANCELLED, /* has to give back what it began */
	RANK_WANTED_BEGUN,
	RANK_WANTED,
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

/* What stands before this rank makes @job make way in the middle of its work. */
enum rank schedule_overtake_limit(const struct job *job);

/* Front or background: how the threads work on @job. */
enum binding_priority schedule_priority(const struct job *job);

/* The back-off after one of @backoff_usec. */
uint64_t schedule_backoff_next(uint64_t backoff_usec);
