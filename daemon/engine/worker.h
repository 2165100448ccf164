/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * worker.h - the one thread that brings a node's shares into service, and its crew
 *
 * Layer: engine. Threads: every function here is called on the main thread and none blocks, except
 * worker_free(), which waits for the chunks or the step at hand. On the worker and crew threads run
 * the operations of the kinds and the bell, nothing else; they know neither the loop nor the bus.
 *
 * The worker runs early parts first, in the order in which the shares were added, then deferred
 * parts in the same order, each after its own share's early part has settled. Parts of runs that
 * somebody waits for (run_want()) go before all of these, and those of runs that build anew what
 * was lent (run_refill()) behind. What goes before is put in front of the part at hand after the
 * chunks at hand. Serial work (prepare, finish) is done by the worker alone; chunks are taken by
 * the worker and its crew from one atomic cursor. Deferred parts and refills run at SCHED_BATCH
 * nice 19 unless somebody waits for them. A part that came back short waits out its back-off while
 * other parts run.
 *
 * Shares whose kind comes first (kind_ops.comes_first) bring the memory that the others are made
 * of: parts of other shares begin, or go on, when all of them have settled, and wait with them
 * while they wait out a back-off. What these had settled before stays so. Cancelled runs, shrinks
 * and refills do not wait; a run that somebody waits for waits for their early parts only. Parts of
 * shares that come first run at normal priority, deferred ones too.
 *
 * Threads exist only while there is work: all of them before the first chunk is taken, none after
 * the last part has settled. What they share with the main thread is listed in shared.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/idset.h"
#include "../base/scoped.h"
#include "../kinds/kind.h"
#include "state.h"

struct worker;
struct run; /* a share that was given to a worker */

/*
 * Rung on worker and crew threads: after each chunk and step, after each change of state. It may
 * ring more often than anybody looks, carries no count and no data, and must not block. In the
 * daemon it is ev_async_send(), once until the next look, and nothing else.
 */
typedef void (*worker_bell_fn)(void *arg);

struct worker_setup {
	unsigned node_id;
	const struct idset *cpus; /* where its threads run; borrowed for the call (copied) */
	unsigned nr_threads;      /* worker included, at least 1 */
	/*
	 * Of nr_threads take chunks only as many as are worth it: one at first, one more while the
	 * measured rate still grows by a tenth. What is found is kept for the next parts.
	 */
	bool is_auto;
	uint64_t backoff_usec; /* before the second round of a short part; doubles, up to 30 s */
	worker_bell_fn bell;
	void *arg;
};

/* Starts nothing. Return: 0 and *ret, which the caller owns; -ENOMEM. */
int worker_new(const struct worker_setup *setup, struct worker **ret);

/*
 * Queue @share; from now on the engine uses it until run_is_idle(). The share stays the caller's
 * to free, after the run was idle. @declared_bytes and @minimum_bytes decide the outcome.
 * Return: 0 and *ret, which lives as long as the worker or until run_drop(); -ENOMEM.
 */
int worker_add(struct worker *worker, struct share *share, uint64_t declared_bytes,
               uint64_t minimum_bytes, struct run **ret);

/*
 * Run on @cpus (copied) from the next start of its threads on. Return: 0; -EBUSY its threads run;
 * -ENOMEM.
 */
int worker_set_cpus(struct worker *worker, const struct idset *cpus);

/*
 * See to it that queued work is done: starts the threads unless they run. Harmless when there is
 * nothing to do. Return: 0; -EAGAIN no thread could be made (the queue stays).
 */
int worker_start(struct worker *worker);

/*
 * How background work is held back: deferred parts and refills that nobody waits for. Early and
 * wanted parts never are, nor are deferred parts of shares that come first while others wait for
 * them.
 */
struct worker_brake {
	unsigned nr_members; /* at most so many take chunks, the worker included; UINT_MAX: all */
	/*
	 * Before its next chunk (or step that brings bytes) each rests for this part of the time
	 * which the last one took; 0: not at all. The end of a part waits for no rest.
	 */
	unsigned rest_percent;
};

/* From the next chunk on, also for work at hand; a rest that is longer than needed is cut short. */
void worker_set_brake(struct worker *worker, const struct worker_brake *brake);

/*
 * Background work brings at most @bytes_per_second (of chunks, and of steps that say what they
 * brought) into service; 0: no limit. A chunk begins when those before it are paid for.
 */
void worker_set_max_rate(struct worker *worker, uint64_t bytes_per_second);

/* No new chunk or step begins until worker_resume(). */
void worker_pause(struct worker *worker);
void worker_resume(struct worker *worker);

/*
 * End after the chunks at hand; all runs that are not settled become cancelled. For good. Does not
 * wait for it.
 */
void worker_cancel(struct worker *worker);

/*
 * Cancel, join all threads, free the runs (not their shares). Waits for the chunks at hand, or for
 * the step: a shrink takes as long as the kernel needs to free the memory. NULL is fine.
 * Return: NULL.
 */
struct worker *worker_free(struct worker *worker);
DEFINE_SCOPED(struct worker *, worker_free)

/*
 * Cancel this run only; it becomes cancelled after the chunks at hand. A part that has begun is
 * told by finish(); one that has not settles at once, and its kind is not called.
 */
void run_cancel(struct run *run);

/*
 * Have a settled run try again for what is missing (Retry): both parts are queued anew. Needs
 * worker_start() after it. Return: 0; -EBUSY it is not settled.
 */
int run_retry(struct run *run);

/*
 * Have the worker give back what exceeds @keep_bytes; @declared_bytes and @minimum_bytes are the
 * new goal by which it settles again. Needs worker_start(). Return: 0; -EBUSY it is not settled.
 */
int run_shrink(struct run *run, uint64_t keep_bytes, uint64_t declared_bytes,
               uint64_t minimum_bytes);

/*
 * Have a settled run build anew what was given back to its share (regions of ended leases): both
 * parts are queued, in the background, whatever their stage. Until it has settled again, run_read()
 * goes on telling the state that it had, with is_refilling; then the state follows from its bytes,
 * as ever. Needs worker_start(). Return: 0; -EBUSY it is not settled (a refill, too, has to end
 * before the next one, a retry or a shrink).
 */
int run_refill(struct run *run);

/*
 * Somebody waits for what this run brings (grow): while @is_wanted, its parts go before those of
 * runs that nobody waits for, after the chunks at hand, and run at normal priority. A back-off that
 * it waits out is not cut short: what was missing a moment ago is not there sooner for being asked
 * for again. Harmless for a settled run, for which it is kept. Does nothing while paused.
 */
void run_want(struct run *run, bool is_wanted);

/* Settled, and no thread will touch its share any more (until retry or shrink). */
bool run_is_idle(const struct run *run);

/* Forget an idle run. Its share may then be freed. */
void run_drop(struct run *run);

enum stage_state { STAGE_WAITING, STAGE_RUNNING, STAGE_SETTLED };

/* Of the last time that the stage was queued: run_retry() and run_refill() begin anew. */
struct stage_status {
	enum stage_state state;
	uint64_t started_usec;  /* monotonic; 0 not yet, or settled without any work */
	uint64_t finished_usec; /* monotonic; 0 not yet, or settled without any work */
	uint64_t done_bytes;    /* of the share, by this stage */
	unsigned nr_threads;    /* that took at least one chunk or step */
	uint64_t cpu_usec;      /* CPU time of all its threads in this stage */
	int error;              /* the first -errno that a step or chunk of it returned; 0 none */
};

struct run_status {
	enum share_state state;
	struct share_status share; /* as the kind reports it */
	struct stage_status stages[NR_STAGES];
	bool is_in_backoff; /* waits before it tries again */
	bool is_refilling;  /* since run_refill(), until it has settled: state is that of before */
};

/* Look at a run, or at a worker. At any time. */
void run_read(const struct run *run, struct run_status *ret);

struct worker_status {
	bool is_running; /* threads exist */
	bool is_paused;
	unsigned nr_threads; /* alive, the worker included; 0 when not running */
	unsigned nr_active;  /* of these, those that may take chunks of the part at hand */
	unsigned knee;       /* is_auto: how many were worth it so far; 0: not known yet */
	bool is_background;  /* the part at hand may be held back */
	bool is_resting;     /* all that is at work rests, for the brake or the rate limit */
	/* Of background chunks and steps since worker_new(), for the brake: what they did, on which
	 * CPU time.
	 */
	uint64_t background_bytes;
	uint64_t background_cpu_nsec;
	const struct run *current; /* what it works on; NULL for nothing. Compare only */
	enum stage current_stage;
	/*
	 * Steps of prepare, chunks and shrinks done since worker_new(); never falls. It stands
	 * still in a stall, while paused, and while all that is left waits out a back-off.
	 */
	uint64_t moves;
};

void worker_read(const struct worker *worker, struct worker_status *ret);

/*
 * For tests and statistics: chunks taken by thread @i (0 is the worker) since the threads were
 * last started. Return: 0 past the last thread.
 */
uint64_t worker_thread_chunks(const struct worker *worker, unsigned i);
