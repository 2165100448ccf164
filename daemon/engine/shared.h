/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * shared.h - what the threads of a worker share, and by which rule
 *
 * Layer: engine, internal to it. Threads: as listed here, and nowhere else:
 *
 *   written          read             variable                           rule
 *   ---------------  ---------------  ---------------------------------  -----------------------
 *   main             all              worker: node_id, nr_threads,        constant from
 *                                     is_auto, backoff_usec, bell, arg    worker_new() on
 *   main             worker, crew     worker: cpus                        written while no
 *                                                                         thread exists
 *   main             all              run: worker, share; job: part, run, constant from
 *                                     has_worked (the pointer)            worker_add() on
 *   main, worker     main, worker     worker: runs (the list and links),  worker.lock
 *                                     is_running
 *   main             main, worker     worker: is_paused, is_cancelled;    worker.lock
 *                                     run: is_cancelled, is_refilling,
 *                                     is_wanted, keep_bytes,
 *                                     declared_bytes, minimum_bytes
 *   main             main, worker,    worker: brake                       worker.lock
 *                    crew
 *   main             main             run: kept_state                     one thread
 *   main, worker     main, worker     run: is_shrinking; job: phase,      worker.lock; the worker
 *                                     started_usec, finished_usec,        reads phase and backoff
 *                                     not_before_usec, backoff_usec       of its job without it:
 *                                                                         nobody else writes them
 *   worker           main, worker     worker: current                     worker.lock
 *   worker, crew     main, worker     worker: nr_alive                    worker.lock
 *   worker           worker, crew     worker: round, round_nr,            worker.lock
 *                                     is_crew_ending
 *   worker, crew     main, worker     worker: nr_in_round, nr_resting     worker.lock
 *   main, worker,    main, worker,    worker: pace                        worker.lock
 *   crew             crew
 *   worker           main, worker,    worker: knee_limit, knee_found      worker.lock
 *                    crew
 *   worker           main, worker,    worker: priority, is_background     written with worker.lock
 *                    crew                                                 while no round is open;
 *                                                                         main reads with it,
 *                                                                         members in a round
 *                                                                         without
 *   main, worker     main, worker,    worker: nr_active, is_held_back     atomic, relaxed; written
 *                    crew                                                 under worker.lock; read
 *                                                                         without it they are
 *                                                                         hints
 *   worker, crew     worker           worker: has_rested                  atomic, relaxed: a hint
 *   worker           worker           worker: knee, overtake_usec         one thread
 *   main, worker     worker, crew     worker: has_attention               atomic, relaxed: a hint;
 *                                                                         what it hints at is
 *                                                                         read under worker.lock
 *   worker, crew     worker, crew     job: cursor.next                    atomic, see cursor.h
 *   worker           worker, crew     job: cursor.nr_chunks, part (all    written while no round
 *                                     members but constants)              is open; opening one
 *                                                                         takes worker.lock
 *   worker, crew     main, worker     job: error                          atomic, relaxed, from 0
 *                                                                         to the first error
 *   worker, crew     main             job: cpu_nsec, nr_threads           atomic, relaxed sums
 *   worker, crew     the same thread  job: has_worked[own index]          a byte for each thread
 *   worker, crew     main, worker     member: moves, chunks,              atomic, relaxed; one
 *                                     ended_chunks, ended_bytes,          writer, own cache line
 *                                     busy_usec, background_bytes,
 *                                     background_cpu_nsec
 *   worker, crew     the same thread  member: chunk_end_usec, chunk_usec  one thread
 *
 * Two more rules. Whoever settles a job does so under worker.lock after its last round was left
 * by all, so who sees it settled sees all of the above final. And main alone writes to a job or
 * run that is settled (run_retry(), run_shrink(), run_refill(), run_drop()).
 *
 * Operations of kinds and the bell are called without worker.lock.
 */
#pragma once

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "../machine/binding.h"
#include "cursor.h"
#include "knee.h"
#include "pace.h"
#include "worker.h"

#define CACHE_LINE_BYTES 64
#define BACKOFF_MAX_USEC UINT64_C(30000000)

/* Where the way of a part through its kind's operations goes on. */
enum job_phase {
	JOB_QUEUED, /* its kind was not called yet */
	JOB_PREPARING,
	JOB_CHUNKS,
	JOB_FINISHING,
	JOB_SETTLED,
};

/* A part in the hands of a worker. */
struct job {
	struct part *part;
	struct run *run;

	enum job_phase phase;
	uint64_t started_usec;
	uint64_t finished_usec;
	uint64_t not_before_usec; /* end of its back-off; 0: in none */
	uint64_t backoff_usec;    /* the next one */

	/* Written once a chunk by all: on a line of their own, away from what is only read. */
	alignas(CACHE_LINE_BYTES) struct cursor cursor;
	_Atomic uint64_t cpu_nsec;
	_Atomic unsigned nr_threads; /* that took a step or chunk */
	_Atomic int error;
	bool *has_worked; /* by index of member */
};

struct run {
	TAILQ_ENTRY(run) link;
	struct worker *worker;
	struct share *share;
	uint64_t declared_bytes;
	uint64_t minimum_bytes;
	bool is_cancelled;
	bool is_shrinking; /* asked for, until it was done */
	bool is_wanted;    /* somebody waits for it */
	bool is_refilling; /* the work it was queued for last is a refill; still set when settled */
	enum share_state kept_state; /* what it tells while it is refilled */
	uint64_t keep_bytes;
	struct job jobs[NR_STAGES];
	bool has_worked[]; /* NR_STAGES rows of worker.nr_threads */
};

/* One thread; the first is the worker itself. */
struct member {
	alignas(CACHE_LINE_BYTES) _Atomic uint64_t moves; /* since worker_new() */
	_Atomic uint64_t chunks;                          /* since the threads were started */
	/* Since worker_new(), of chunks that have ended: what knee.h makes its windows of. */
	_Atomic uint64_t ended_chunks;
	_Atomic uint64_t ended_bytes;
	_Atomic uint64_t busy_usec;
	_Atomic uint64_t background_bytes;
	_Atomic uint64_t background_cpu_nsec;

	/* Its last background chunk: it rests from its end on, for a part of the time it took. */
	alignas(CACHE_LINE_BYTES) uint64_t chunk_end_usec;
	uint64_t chunk_usec;

	/* Its own, and its creator's before it runs and after it has ended. */
	struct worker *worker;
	unsigned index;
	enum binding_priority priority;
	pthread_t thread;
	pthread_cond_t wake; /* for this one of the crew: it may take chunks, or the end */
};
_Static_assert(sizeof(struct member) % CACHE_LINE_BYTES == 0, "members share a cache line");

struct worker {
	unsigned node_id;
	unsigned nr_threads;
	bool is_auto;
	struct idset cpus;
	uint64_t backoff_usec;
	worker_bell_fn bell;
	void *arg;

	bool is_joinable; /* main only: members[0].thread is to be joined */

	pthread_mutex_t lock;
	pthread_cond_t wake;      /* for the worker: the queue or a wish of main's has changed */
	pthread_cond_t rest;      /* for who rests: there may be no more reason to */
	pthread_cond_t crew_left; /* for the worker: somebody has come up, or left the round */

	TAILQ_HEAD(, run) runs; /* in the order in which they were added */
	bool is_running;        /* a thread exists, and will see what is queued before it ends */
	bool is_paused;
	bool is_cancelled;
	struct job *current; /* what the worker works on; for a shrink the deferred job */
	enum binding_priority priority; /* at which the part at hand is worked on */
	bool is_background;             /* the part at hand may be held back */

	struct worker_brake brake;
	struct pace pace;
	unsigned knee_limit; /* is_auto: how many take chunks; else nr_threads */
	unsigned knee_found; /* is_auto: 0 while not known; else 0 */
	unsigned nr_resting;
	/* These two follow from the above: hold_update(). */
	_Atomic unsigned nr_active; /* members from this index on take no chunk */
	atomic_bool is_held_back;   /* before a chunk or step there may be something to wait for */
	atomic_bool has_rested;     /* somebody, since the last look at the knee */

	unsigned nr_alive;
	struct job *round; /* whose chunks are to be taken now, or NULL */
	uint64_t round_nr;
	unsigned nr_in_round; /* of the crew, without the worker */
	bool is_crew_ending;

	atomic_bool has_attention; /* leave the round after the chunk at hand, and look */

	/* Worker thread only. */
	uint64_t overtake_usec; /* when a job that goes in front becomes due */
	struct knee knee;

	struct member *members; /* nr_threads */
};

/* Reading, too, takes the lock; it is no part of what a const worker promises. */
static inline void worker_lock(const struct worker *worker)
{
	(void) pthread_mutex_lock((pthread_mutex_t *) &worker->lock);
}

static inline void worker_unlock(const struct worker *worker)
{
	(void) pthread_mutex_unlock((pthread_mutex_t *) &worker->lock);
}

/* With the lock: have the worker look at what has changed, after the chunks at hand. No rest. */
static inline void worker_wake(struct worker *worker)
{
	atomic_store_explicit(&worker->has_attention, true, memory_order_relaxed);
	(void) pthread_cond_signal(&worker->wake);
	(void) pthread_cond_broadcast(&worker->rest);
}

static inline bool worker_has_attention(const struct worker *worker)
{
	return atomic_load_explicit(&worker->has_attention, memory_order_relaxed);
}

static inline unsigned worker_nr_active(const struct worker *worker)
{
	return atomic_load_explicit(&worker->nr_active, memory_order_relaxed);
}

/* Only the thread of the member whose counter it is. */
static inline void member_add(_Atomic uint64_t *counter, uint64_t more)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
	                      memory_order_relaxed);
}

static inline void member_count(_Atomic uint64_t *counter)
{
	member_add(counter, 1);
}

/* With the lock: wait for @cond until @due_usec (monotonic; UINT64_MAX: without limit). */
void worker_wait(struct worker *worker, pthread_cond_t *cond, uint64_t due_usec);

/* hold.c: what holds members back: their number, rests, the rate limit. */

/* With the lock, when anything it depends on has changed: how many take chunks, and who waits. */
void hold_update(struct worker *worker);

/*
 * Take the next chunk of @job when it is due: after this member's rest, and when what was begun
 * before is paid for. Returns without one when the caller has to look again: at has_attention,
 * overtake_usec, nr_active, or as none is left. Return: true and *ret_index.
 */
bool hold_take_chunk(struct member *member, struct job *job, uint64_t *ret_index);

/* The same before a step of prepare, on the worker thread. Return: it is due. */
bool hold_step(struct worker *worker);

/* What @member has done from @start_usec on: it will rest for it, and pay for a step's bytes. */
void hold_note(struct member *member, uint64_t start_usec, uint64_t end_usec);
void hold_pay_step(struct worker *worker, uint64_t bytes);

/* round.c: rounds, in which all take chunks. */

/* What chunk @index brings. The sum over a part is right also where a chunk is smaller. */
uint64_t job_chunk_bytes(const struct job *job, uint64_t index);

/* Return: the round is over for it; false it is one too many just now. */
bool member_run_chunks(struct member *member, struct job *job);

/* Take chunks of @job with the crew until none is left or has_attention; all have left it then. */
void crew_run_round(struct worker *worker, struct job *job);

/* crew.c: the threads beside the worker. */

/* Name the calling thread init-nodeN, or init-nodeN.K for the crew. */
void member_set_name(const struct member *member);

/* Of the calling thread, which is @member's. */
void member_set_priority(struct member *member, enum binding_priority priority);

/* CPU time of the calling thread, for job_account(). */
uint64_t thread_cpu_nsec(void);

/*
 * The calling thread has spent what CPU time it used since @before_nsec on @job.
 * Return: that CPU time, in ns.
 */
uint64_t job_account(struct job *job, const struct member *member, uint64_t before_nsec);

/* Keep the first error of a job. */
void job_keep_error(struct job *job, int error);

/*
 * Start the crew; as many as can be had, from none to nr_threads - 1. Blocks until each has come
 * up. Return: their number. crew_close() ends and joins them.
 */
unsigned crew_open(struct worker *worker);
void crew_close(struct worker *worker, unsigned nr_crew);

/* turn.c: the worker's thread. @arg is its struct member. */
void *worker_thread_main(void *arg);
