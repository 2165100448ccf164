/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fake-kind.h - a kind that takes no memory and writes down what the engine asked of it
 *
 * Threads: the test's main thread sets a fake up before its share is added; from then on the
 * operations run wherever the engine runs them. Everything they change is behind one lock.
 *
 * A chunk is worth one byte. A round has as many chunks as the part still misses.
 */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../daemon/engine/worker.h"

#define BOOK_EVENTS_MAX 2048
#define FAKE_SCRIPT_MAX 16

enum event_op { EVENT_PREPARE, EVENT_CHUNK, EVENT_FINISH, EVENT_SHRINK };

struct event {
	enum event_op op;
	unsigned id; /* of the fake */
	enum stage stage;
	uint64_t index; /* of the chunk; keep_bytes of a shrink */
	bool is_cancelled;
	uint64_t at_usec;
	pid_t tid;
	int policy; /* of the thread */
	int nice;
	unsigned nr_cpus;
	char name[16];
	unsigned nr_named; /* threads of the process whose name begins with init-node */
};

/* What happened, in order. */
struct book {
	pthread_mutex_t lock;
	struct event events[BOOK_EVENTS_MAX];
	unsigned nr_events;
};

/* Holds whoever passes until it is opened for them. */
struct gate {
	sem_t arrived;
	sem_t open;
};

void gate_init(struct gate *gate);
void gate_await(struct gate *gate, unsigned nr);
void gate_open(struct gate *gate, unsigned nr);

struct fake_part {
	unsigned nr_steps;   /* prepare asks to be called again so often, in each round */
	uint64_t step_bytes; /* what each of these is said to bring */
	int prepare_error;   /* of the first round */
	int chunk_error;     /* of chunk @fail_index, the next @nr_failures times */
	uint64_t fail_index;
	unsigned nr_failures;
	int finish_results[FAKE_SCRIPT_MAX]; /* then 0 */
	unsigned nr_finishes;
	unsigned nr_steps_done;
	uint64_t done_bytes;
	struct gate *chunk_gate;     /* NULL: none */
	unsigned nr_chunks_per_gate; /* 0: one gate for all; else the next gate for the next so many
	                              */
	struct gate *prepare_gate;
};

struct fake {
	struct share share;
	unsigned id;
	struct book *book;
	struct fake_part parts[NR_STAGES];
};

/* A worker under test, with its book and bell. */
struct bench {
	struct worker *worker;
	struct book book;
	int bell_fd;
};

/* Ends the test when it cannot be made. */
void bench_open(struct bench *bench, unsigned nr_threads, uint64_t backoff_usec);
void bench_open_auto(struct bench *bench, unsigned nr_threads);
void bench_open_on(struct bench *bench, unsigned nr_threads, const char *cpus);
void bench_close(struct bench *bench);

void fake_init(struct fake *fake, struct bench *bench, unsigned id, uint64_t early_bytes,
               uint64_t deferred_bytes);

/* Of a kind that comes first. */
void fake_init_first(struct fake *fake, struct bench *bench, unsigned id, uint64_t early_bytes,
                     uint64_t deferred_bytes);

/* Queue it, with all of it declared and needed. */
struct run *bench_add(struct bench *bench, struct fake *fake);

/* Sleep until the bell has rung, at most 20 s. */
void bench_wait_for_bell(struct bench *bench);

#define bench_await(bench, condition)               \
	do {                                        \
		while (!(condition))                \
			bench_wait_for_bell(bench); \
	} while (0)

/* For what rings no bell: look again and again, at most 20 s. */
#define await_yielding(condition)                                             \
	do {                                                                  \
		uint64_t end_usec_ = clock_monotonic_usec() + 20000000;       \
		while (!(condition)) {                                        \
			ck_assert_uint_lt(clock_monotonic_usec(), end_usec_); \
			(void) sched_yield();                                 \
		}                                                             \
	} while (0)

void bench_await_idle(struct bench *bench, const struct run *run);
/* … until its threads have ended, too. */
void bench_await_end(struct bench *bench);

/* Bring a share with so many bytes into service, to the end of the threads. */
struct run *bench_add_settled(struct bench *bench, struct fake *fake, unsigned id,
                              uint64_t early_bytes, uint64_t deferred_bytes);

/* Have it build so many bytes anew, which are no more. Needs worker_start(). */
void bench_refill(struct run *run, struct fake *fake, uint64_t early_bytes,
                  uint64_t deferred_bytes);

enum share_state run_state(const struct run *run);

/* How much has happened so far. */
unsigned book_end(struct book *book);
/* How often @op was asked of fake @id; -1 is any stage. */
unsigned book_nr(struct book *book, unsigned id, enum event_op op, int stage);
/* Where it happened first, or @book->nr_events. */
unsigned book_first(struct book *book, unsigned id, enum event_op op, int stage);

/* Threads of this process whose name begins with init-node. */
unsigned tasks_nr_named(void);
unsigned tasks_nr(void);
/* All threads of the worker wait in the kernel: none runs, none spins. */
bool tasks_are_asleep(void);
