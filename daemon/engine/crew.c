/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The threads beside the worker, and what every thread of a worker does for itself. */
#include <stdio.h>
#include <time.h>

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

uint64_t job_account(struct job *job, const struct member *member, uint64_t before_nsec)
{
	uint64_t used_nsec = thread_cpu_nsec() - before_nsec;

	if (!job->has_worked[member->index]) {
		job->has_worked[member->index] = true;
		(void) atomic_fetch_add_explicit(&job->nr_threads, 1, memory_order_relaxed);
	}
	(void) atomic_fetch_add_explicit(&job->cpu_nsec, used_nsec, memory_order_relaxed);
	return used_nsec;
}

void worker_wait(struct worker *worker, pthread_cond_t *cond, uint64_t due_usec)
{
	struct timespec due = {
		.tv_sec = (time_t) (due_usec / 1000000),
		.tv_nsec = (long) (due_usec % 1000000) * 1000,
	};

	if (due_usec == UINT64_MAX)
		(void) pthread_cond_wait(cond, &worker->lock);
	else
		(void) pthread_cond_timedwait(cond, &worker->lock, &due);
}

void job_keep_error(struct job *job, int error)
{
	int none = 0;

	(void) atomic_compare_exchange_strong_explicit(&job->error, &none, error,
	                                               memory_order_relaxed, memory_order_relaxed);
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
		uint64_t round_nr = worker->round_nr;
		bool is_over;

		/* A round that it has seen to its end has nothing left for it. */
		if (!job || round_nr == seen_nr || member->index >= worker_nr_active(worker)) {
			(void) pthread_cond_wait(&member->wake, &worker->lock);
			continue;
		}
		worker->nr_in_round++;
		worker_unlock(worker);

		is_over = member_run_chunks(member, job);

		worker_lock(worker);
		if (is_over)
			seen_nr = round_nr;
		/* Who rests before a chunk that is no more need not. */
		if (is_over && worker->nr_resting > 0)
			(void) pthread_cond_broadcast(&worker->rest);
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
	knee_set_members(&worker->knee, nr_crew + 1);
	return nr_crew;
}

void crew_close(struct worker *worker, unsigned nr_crew)
{
	worker_lock(worker);
	worker->is_crew_ending = true;
	for (unsigned i = 1; i <= nr_crew; i++)
		(void) pthread_cond_signal(&worker->members[i].wake);
	worker_unlock(worker);

	for (unsigned i = 1; i <= nr_crew; i++)
		(void) pthread_join(worker->members[i].thread, NULL);

	worker_lock(worker);
	worker->is_crew_ending = false;
	worker->nr_alive = 1;
	worker_unlock(worker);
}
