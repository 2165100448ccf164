/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The threads beside the worker, and the rounds in which all of them take chunks. */
#include <stdio.h>
#include <time.h>

#include "../base/clock.h"
#include "shared.h"

#define THREAD_NAME_MAX 16 /* TASK_COMM_LEN, with the end */

void member_set_name(const struct member *member)
{
	char name[40];

	if (member->index == 0)
		(void) snprintf(name, sizeof(name), "init-node%u", member->worker->node_id);
	else
		(void) snprintf(name, sizeof(name), "init-node%u.%u", member->worker->node_id,
		                member->index);
	/* The kernel keeps 15 bytes: with ids of four digits the end of the number is lost. */
	name[THREAD_NAME_MAX - 1] = '\0';
	(void) pthread_setname_np(pthread_self(), name);
}

void member_set_priority(struct member *member, enum binding_priority priority)
{
	if (member->priority == priority)
		return;
	/* Refused the way back, the work is done all the same; the next round asks again. */
	if (binding_set_priority(priority) == 0)
		member->priority = priority;
}

uint64_t thread_cpu_nsec(void)
{
	struct timespec used;

	(void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t) used.tv_sec * UINT64_C(1000000000) + (uint64_t) used.tv_nsec;
}

void job_account(struct job *job, const struct member *member, uint64_t before_nsec)
{
	if (!job->has_worked[member->index]) {
		job->has_worked[member->index] = true;
		(void) atomic_fetch_add_explicit(&job->nr_threads, 1, memory_order_relaxed);
	}
	(void) atomic_fetch_add_explicit(&job->cpu_nsec, thread_cpu_nsec() - before_nsec,
	                                 memory_order_relaxed);
}

void job_keep_error(struct job *job, int error)
{
	int none = 0;

	(void) atomic_compare_exchange_strong_explicit(&job->error, &none, error,
	                                               memory_order_relaxed, memory_order_relaxed);
}

static void member_run_chunk(struct member *member, struct job *job, uint64_t index)
{
	struct worker *worker = member->worker;
	uint64_t before_nsec = thread_cpu_nsec();
	int r;

	member_count(&member->chunks);
	r = job->part->share->ops->run_chunk(job->part, index);
	if (r < 0) {
		job_keep_error(job, r);
		cursor_close(&job->cursor);
	}
	job_account(job, member, before_nsec);
	member_count(&member->moves);
	worker->bell(worker->arg);
}

static void member_run_chunks(struct member *member, struct job *job)
{
	struct worker *worker = member->worker;
	uint64_t index;

	member_set_priority(member, worker->priority);
	while (!worker_has_attention(worker)) {
		/* A part whose back-off ended goes in front, too, and only the clock says so. */
		if (member->index == 0 && clock_monotonic_usec() >= worker->overtake_usec) {
			atomic_store_explicit(&worker->has_attention, true, memory_order_relaxed);
			break;
		}
		if (!cursor_take(&job->cursor, &index))
			break;
		member_run_chunk(member, job, index);
	}
}

void crew_run_round(struct worker *worker, struct job *job)
{
	/* Nobody is woken for a chunk that the worker itself takes. */
	if (cursor_left(&job->cursor) > 1) {
		worker_lock(worker);
		worker->round = job;
		worker->round_nr++;
		(void) pthread_cond_broadcast(&worker->crew_wake);
		worker_unlock(worker);
	}

	member_run_chunks(&worker->members[0], job);

	/* Who is not awake by now comes too late; who has entered is waited for. */
	worker_lock(worker);
	worker->round = NULL;
	while (worker->nr_in_round > 0)
		(void) pthread_cond_wait(&worker->crew_left, &worker->lock);
	worker_unlock(worker);
}

static void *crew_thread_main(void *arg)
{
	struct member *member = arg;
	struct worker *worker = member->worker;
	uint64_t seen_nr;

	member_set_name(member);

	worker_lock(worker);
	seen_nr = worker->round_nr;
	worker->nr_alive++;
	(void) pthread_cond_signal(&worker->crew_left);

	while (!worker->is_crew_ending) {
		struct job *job = worker->round;

		if (!job || worker->round_nr == seen_nr) {
			(void) pthread_cond_wait(&worker->crew_wake, &worker->lock);
			continue;
		}
		seen_nr = worker->round_nr;
		worker->nr_in_round++;
		worker_unlock(worker);

		member_run_chunks(member, job);

		worker_lock(worker);
		if (--worker->nr_in_round == 0)
			(void) pthread_cond_signal(&worker->crew_left);
	}
	worker_unlock(worker);
	return NULL;
}

unsigned crew_open(struct worker *worker)
{
	unsigned nr_crew = 0;

	worker_lock(worker);
	worker->nr_alive = 1;
	worker_unlock(worker);
	for (unsigned i = 0; i < worker->nr_threads; i++)
		atomic_store_explicit(&worker->members[i].chunks, 0, memory_order_relaxed);

	/* CPUs, priority and blocked signals are inherited from the worker. */
	for (unsigned i = 1; i < worker->nr_threads; i++) {
		struct member *member = &worker->members[i];

		member->priority = worker->members[0].priority;
		if (pthread_create(&member->thread, NULL, crew_thread_main, member) != 0)
			break;
		nr_crew++;
	}

	worker_lock(worker);
	while (worker->nr_alive < nr_crew + 1)
		(void) pthread_cond_wait(&worker->crew_left, &worker->lock);
	worker_unlock(worker);
	return nr_crew;
}

void crew_close(struct worker *worker, unsigned nr_crew)
{
	worker_lock(worker);
	worker->is_crew_ending = true;
	(void) pthread_cond_broadcast(&worker->crew_wake);
	worker_unlock(worker);

	for (unsigned i = 1; i <= nr_crew; i++)
		(void) pthread_join(worker->members[i].thread, NULL);

	worker_lock(worker);
	worker->is_crew_ending = false;
	worker->nr_alive = 1;
	worker_unlock(worker);
}
