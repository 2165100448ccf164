/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rounds, in which the worker and its crew take the chunks of a part. */
#include "../base/clock.h"
#include "../base/size.h"
#include "shared.h"

uint64_t job_chunk_bytes(const struct job *job, uint64_t index)
{
	const struct part *part = job->part;

	return bytes_min(part->chunk_bytes,
	                 bytes_left(part->want_bytes, bytes_mul(index, part->chunk_bytes)));
}

static void member_run_chunk(struct member *member, struct job *job, uint64_t index)
{
	struct worker *worker = member->worker;
	uint64_t bytes = job_chunk_bytes(job, index);
	uint64_t start_usec = clock_monotonic_usec(), end_usec;
	uint64_t before_nsec = thread_cpu_nsec(), used_nsec;
	int r;

	member_count(&member->chunks);
	r = job->part->share->ops->run_chunk(job->part, index);
	if (r < 0) {
		job_keep_error(job, r);
		cursor_close(&job->cursor);
	}
	used_nsec = job_account(job, member, before_nsec);
	end_usec = clock_monotonic_usec();
	if (worker->is_background) {
		hold_note(member, start_usec, end_usec);
		member_add(&member->background_bytes, bytes);
		member_add(&member->background_cpu_nsec, used_nsec);
	}
	member_add(&member->busy_usec, end_usec - start_usec);
	member_add(&member->ended_bytes, bytes);
	member_count(&member->ended_chunks);
	member_count(&member->moves);
	worker->bell(worker->arg);
}

static void read_samples(const struct worker *worker, struct knee_sample *ret)
{
	for (unsigned i = 0; i < worker->knee.nr_members_max; i++) {
		const struct member *member = &worker->members[i];

		ret[i].nr_chunks =
			atomic_load_explicit(&member->ended_chunks, memory_order_relaxed);
		ret[i].bytes = atomic_load_explicit(&member->ended_bytes, memory_order_relaxed);
		ret[i].busy_usec = atomic_load_explicit(&member->busy_usec, memory_order_relaxed);
	}
}

/* On the worker thread, after each chunk of its own. */
static void look_at_knee(struct worker *worker)
{
	struct knee_sample samples[KNEE_MEMBERS_MAX];
	bool is_spoiled = atomic_load_explicit(&worker->has_rested, memory_order_relaxed) ||
	                  worker_nr_active(worker) < worker->knee_limit;
	unsigned nr_active;

	if (worker->knee.nr_members_max < 2)
		return;
	atomic_store_explicit(&worker->has_rested, false, memory_order_relaxed);
	read_samples(worker, samples);
	nr_active = knee_look(&worker->knee, clock_monotonic_usec(), samples, is_spoiled);
	if (nr_active == worker->knee_limit && knee_found(&worker->knee) == worker->knee_found)
		return;
	worker_lock(worker);
	worker->knee_limit = nr_active;
	worker->knee_found = knee_found(&worker->knee);
	hold_update(worker);
	worker_unlock(worker);
}

/* With the lock; no round is open. */
static void begin_knee(struct worker *worker, const struct share *share)
{
	const struct knee_key key = {
		.ops = share->ops,
		.page = share->page,
		.page_bytes = share->page_bytes,
	};
	struct knee_sample samples[KNEE_MEMBERS_MAX];

	read_samples(worker, samples);
	worker->knee_limit = knee_begin(&worker->knee, &key, clock_monotonic_usec(), samples);
	worker->knee_found = knee_found(&worker->knee);
}

bool member_run_chunks(struct member *member, struct job *job)
{
	struct worker *worker = member->worker;
	uint64_t index;

	member_set_priority(member, worker->priority);
	while (!worker_has_attention(worker)) {
		/* A part whose back-off ended goes in front, too, and only the clock says so. */
		if (member->index == 0 && clock_monotonic_usec() >= worker->overtake_usec) {
			worker_lock(worker);
			worker_wake(worker);
			worker_unlock(worker);
			break;
		}
		if (member->index >= worker_nr_active(worker))
			return false;
		if (atomic_load_explicit(&worker->is_held_back, memory_order_relaxed)) {
			if (!hold_take_chunk(member, job, &index)) {
				if (cursor_left(&job->cursor) == 0)
					break;
				continue;
			}
		} else if (!cursor_take(&job->cursor, &index)) {
			break;
		}
		member_run_chunk(member, job, index);
		if (member->index == 0 && worker->is_auto)
			look_at_knee(worker);
	}
	return true;
}

static void open_round(struct worker *worker, struct job *job)
{
	uint64_t nr_chunks = cursor_left(&job->cursor);

	worker_lock(worker);
	if (worker->is_auto)
		begin_knee(worker, job->part->share);
	hold_update(worker);
	/* Nobody is woken for a chunk that the worker itself takes, or one before him. */
	if (nr_chunks > 1) {
		worker->round = job;
		worker->round_nr++;
		for (unsigned i = 1; i < worker_nr_active(worker) && i < nr_chunks; i++)
			(void) pthread_cond_signal(&worker->members[i].wake);
	}
	worker_unlock(worker);
}

void crew_run_round(struct worker *worker, struct job *job)
{
	open_round(worker, job);
	(void) member_run_chunks(&worker->members[0], job);

	/* Who is not awake by now comes too late; who has entered is waited for. */
	worker_lock(worker);
	worker->round = NULL;
	if (worker->nr_resting > 0)
		(void) pthread_cond_broadcast(&worker->rest);
	while (worker->nr_in_round > 0)
		(void) pthread_cond_wait(&worker->crew_left, &worker->lock);
	worker_unlock(worker);
}
