/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A worker as the main thread sees it: its queue, its threads' beginning and end, its numbers. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../base/size.h"
#include "schedule.h"

/* The wake-up of a back-off follows the clock that nobody can set. */
static void cond_init_monotonic(pthread_cond_t *cond)
{
	pthread_condattr_t attributes;

	(void) pthread_condattr_init(&attributes);
	(void) pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void) pthread_cond_init(cond, &attributes);
	(void) pthread_condattr_destroy(&attributes);
}

int worker_new(const struct worker_setup *setup, struct worker **ret)
{
	struct worker *worker;
	int r;

	assert(setup->nr_threads > 0);
	assert(setup->bell);

	worker = calloc(1, sizeof(*worker));
	if (!worker)
		return -ENOMEM;
	worker->members =
		aligned_alloc(CACHE_LINE_BYTES, setup->nr_threads * sizeof(*worker->members));
	if (!worker->members) {
		free(worker);
		return -ENOMEM;
	}
	r = idset_copy(setup->cpus, &worker->cpus);
	if (r < 0) {
		free(worker->members);
		free(worker);
		return r;
	}

	memset(worker->members, 0, setup->nr_threads * sizeof(*worker->members));
	for (unsigned i = 0; i < setup->nr_threads; i++) {
		worker->members[i].worker = worker;
		worker->members[i].index = i;
		cond_init_monotonic(&worker->members[i].wake);
	}
	worker->node_id = setup->node_id;
	worker->nr_threads = setup->nr_threads;
	worker->is_auto = setup->is_auto;
	worker->knee_limit = setup->nr_threads;
	worker->nr_active = setup->nr_threads;
	worker->brake.nr_members = UINT_MAX;
	worker->backoff_usec = setup->backoff_usec;
	worker->bell = setup->bell;
	worker->arg = setup->arg;
	TAILQ_INIT(&worker->runs);
	(void) pthread_mutex_init(&worker->lock, NULL);
	cond_init_monotonic(&worker->wake);
	cond_init_monotonic(&worker->rest);
	cond_init_monotonic(&worker->crew_left);
	*ret = worker;
	return 0;
}

static void worker_join(struct worker *worker)
{
	if (!worker->is_joinable)
		return;
	(void) pthread_join(worker->members[0].thread, NULL);
	worker->is_joinable = false;
}

struct worker *worker_free(struct worker *worker)
{
	struct run *run;

	if (!worker)
		return NULL;

	worker_cancel(worker);
	worker_join(worker);
	while ((run = TAILQ_FIRST(&worker->runs))) {
		TAILQ_REMOVE(&worker->runs, run, link);
		free(run);
	}
	for (unsigned i = 0; i < worker->nr_threads; i++)
		(void) pthread_cond_destroy(&worker->members[i].wake);
	(void) pthread_cond_destroy(&worker->crew_left);
	(void) pthread_cond_destroy(&worker->rest);
	(void) pthread_cond_destroy(&worker->wake);
	(void) pthread_mutex_destroy(&worker->lock);
	idset_clear(&worker->cpus);
	free(worker->members);
	free(worker);
	return NULL;
}

int worker_add(struct worker *worker, struct share *share, uint64_t declared_bytes,
               uint64_t minimum_bytes, struct run **ret)
{
	size_t run_bytes =
		sizeof(struct run) + (size_t) NR_STAGES * worker->nr_threads * sizeof(bool);
	struct run *run;

	run_bytes = bytes_round_up(run_bytes, CACHE_LINE_BYTES);
	run = aligned_alloc(CACHE_LINE_BYTES, run_bytes);
	if (!run)
		return -ENOMEM;

	memset(run, 0, run_bytes);
	run->worker = worker;
	run->share = share;
	run->declared_bytes = declared_bytes;
	run->minimum_bytes = minimum_bytes;
	for (unsigned i = 0; i < NR_STAGES; i++) {
		run->jobs[i].run = run;
		run->jobs[i].part = &share->parts[i];
		run->jobs[i].has_worked = &run->has_worked[i * worker->nr_threads];
		job_queue(&run->jobs[i]);
	}

	worker_lock(worker);
	TAILQ_INSERT_TAIL(&worker->runs, run, link);
	if (worker->is_cancelled)
		run_withdraw(run);
	worker_wake(worker);
	worker_unlock(worker);
	*ret = run;
	return 0;
}

/* Signals stay the main thread's: one that is pending would cut a huge page resize short. */
static int create_with_signals_blocked(struct member *member)
{
	sigset_t all, before;
	int r;

	(void) sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&member->thread, NULL, worker_thread_main, member);
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r == 0 ? 0 : -EAGAIN;
}

int worker_start(struct worker *worker)
{
	bool is_needed;
	int r;

	worker_lock(worker);
	is_needed = schedule_has_work(worker) && !worker->is_running;
	if (is_needed)
		worker->is_running = true;
	worker_unlock(worker);
	if (!is_needed)
		return 0;

	/* The former thread, if any, has done all but return. */
	worker_join(worker);
	worker->members[0].priority = BINDING_NORMAL;
	r = create_with_signals_blocked(&worker->members[0]);
	if (r < 0) {
		worker_lock(worker);
		worker->is_running = false;
		worker_unlock(worker);
		return r;
	}
	worker->is_joinable = true;
	return 0;
}

int worker_set_cpus(struct worker *worker, const struct idset *cpus)
{
	bool is_running;

	worker_lock(worker);
	is_running = worker->is_running;
	worker_unlock(worker);
	if (is_running)
		return -EBUSY;
	/* The former thread may still be about to return; main alone starts the next one. */
	worker_join(worker);
	return idset_copy(cpus, &worker->cpus);
}

void worker_pause(struct worker *worker)
{
	worker_lock(worker);
	worker->is_paused = true;
	worker_wake(worker);
	worker_unlock(worker);
}

void worker_resume(struct worker *worker)
{
	worker_lock(worker);
	worker->is_paused = false;
	worker_wake(worker);
	worker_unlock(worker);
}

void worker_cancel(struct worker *worker)
{
	struct run *run;

	worker_lock(worker);
	worker->is_cancelled = true;
	for (run = TAILQ_FIRST(&worker->runs); run; run = TAILQ_NEXT(run, link))
		run_withdraw(run);
	worker_wake(worker);
	worker_unlock(worker);
}

void worker_read(const struct worker *worker, struct worker_status *ret)
{
	struct worker_status status = { 0 };

	worker_lock(worker);
	status.is_running = worker->is_running;
	status.is_paused = worker->is_paused;
	status.nr_threads = worker->nr_alive;
	status.nr_active = (unsigned) bytes_min(worker_nr_active(worker), worker->nr_alive);
	status.knee = worker->knee_found;
	/* The worker is at work wherever it is; of the crew, who is in the round. */
	status.is_resting = worker->nr_resting == worker->nr_in_round + 1;
	if (worker->current) {
		status.is_background = worker->is_background;
		status.current = worker->current->run;
		status.current_stage = worker->current->part->stage;
	}
	worker_unlock(worker);

	for (unsigned i = 0; i < worker->nr_threads; i++) {
		const struct member *member = &worker->members[i];

		status.moves += atomic_load_explicit(&member->moves, memory_order_relaxed);
		status.background_bytes +=
			atomic_load_explicit(&member->background_bytes, memory_order_relaxed);
		status.background_cpu_nsec +=
			atomic_load_explicit(&member->background_cpu_nsec, memory_order_relaxed);
	}
	*ret = status;
}

uint64_t worker_thread_chunks(const struct worker *worker, unsigned i)
{
	if (i >= worker->nr_threads)
		return 0;
	return atomic_load_explicit(&worker->members[i].chunks, memory_order_relaxed);
}
