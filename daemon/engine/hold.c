/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What holds members back: how many may take chunks, rests after them, the rate limit. */
#include "../base/clock.h"
#include "../base/size.h"
#include "shared.h"

static unsigned wanted_active(const struct worker *worker)
{
	unsigned nr_active = worker->knee_limit;

	if (worker->is_background && worker->brake.nr_members < nr_active)
		nr_active = worker->brake.nr_members;
	/* Slow is one thing, never another: the worker itself always goes on. */
	return nr_active > 0 ? nr_active : 1;
}

void hold_update(struct worker *worker)
{
	unsigned before = worker_nr_active(worker);
	unsigned nr_active = wanted_active(worker);
	bool is_held_back = worker->is_background &&
	                    (worker->brake.rest_percent > 0 || worker->pace.bytes_per_second > 0);

	atomic_store_explicit(&worker->nr_active, nr_active, memory_order_relaxed);
	atomic_store_explicit(&worker->is_held_back, is_held_back, memory_order_relaxed);
	if (worker->round) {
		for (unsigned i = before; i < nr_active; i++)
			(void) pthread_cond_signal(&worker->members[i].wake);
	}
	(void) pthread_cond_broadcast(&worker->rest);
}

void worker_set_brake(struct worker *worker, const struct worker_brake *brake)
{
	worker_lock(worker);
	worker->brake = *brake;
	hold_update(worker);
	worker_unlock(worker);
}

void worker_set_max_rate(struct worker *worker, uint64_t bytes_per_second)
{
	worker_lock(worker);
	pace_set_rate(&worker->pace, clock_monotonic_usec(), bytes_per_second);
	hold_update(worker);
	worker_unlock(worker);
}

/* When @member may begin something of a part that may be held back. With the lock. */
static uint64_t due_usec(struct member *member, uint64_t now_usec)
{
	struct worker *worker = member->worker;
	uint64_t rest_usec = bytes_mul(member->chunk_usec, worker->brake.rest_percent) / 100;
	uint64_t rested_usec = bytes_add(member->chunk_end_usec, rest_usec);

	return bytes_max(rested_usec, pace_due_usec(&worker->pace, now_usec));
}

/*
 * With the lock: wait until @member may begin. @job: NULL for a step of the worker.
 * Return: it may; false there is something to look at first, or nothing is left to begin.
 */
static bool wait_until_due(struct member *member, const struct job *job)
{
	struct worker *worker = member->worker;

	for (;;) {
		uint64_t now_usec = clock_monotonic_usec();
		uint64_t until_usec = due_usec(member, now_usec);

		if (worker_has_attention(worker))
			return false;
		if (job &&
		    (member->index >= worker_nr_active(worker) || cursor_left(&job->cursor) == 0))
			return false;
		if (until_usec <= now_usec)
			return true;
		if (member->index == 0) {
			if (now_usec >= worker->overtake_usec)
				return false;
			until_usec = bytes_min(until_usec, worker->overtake_usec);
		}
		atomic_store_explicit(&worker->has_rested, true, memory_order_relaxed);
		worker->nr_resting++;
		worker_wait(worker, &worker->rest, until_usec);
		worker->nr_resting--;
	}
}

bool hold_take_chunk(struct member *member, struct job *job, uint64_t *ret_index)
{
	struct worker *worker = member->worker;
	bool is_taken;

	worker_lock(worker);
	is_taken = wait_until_due(member, job) && cursor_take(&job->cursor, ret_index);
	if (is_taken)
		pace_take(&worker->pace, clock_monotonic_usec(), job_chunk_bytes(job, *ret_index));
	worker_unlock(worker);
	return is_taken;
}

bool hold_step(struct worker *worker)
{
	bool is_due;

	if (!atomic_load_explicit(&worker->is_held_back, memory_order_relaxed))
		return true;
	worker_lock(worker);
	is_due = wait_until_due(&worker->members[0], NULL);
	worker_unlock(worker);
	return is_due;
}

void hold_note(struct member *member, uint64_t start_usec, uint64_t end_usec)
{
	member->chunk_end_usec = end_usec;
	member->chunk_usec = end_usec - start_usec;
}

void hold_pay_step(struct worker *worker, uint64_t bytes)
{
	worker_lock(worker);
	pace_take(&worker->pace, clock_monotonic_usec(), bytes);
	worker_unlock(worker);
}
