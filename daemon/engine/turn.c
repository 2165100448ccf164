/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The worker's thread: picks a part, goes with it through its kind's operations, picks again. */
#include <errno.h>

#include "../base/clock.h"
#include "schedule.h"

enum verdict {
	GO_ON,
	MAKE_WAY, /* somebody else goes first; the part stays as it is */
	GIVE_UP,  /* cancelled */
};

/*
 * Between two steps or chunks of @job: holds while paused, says how to go on and at which priority.
 * Takes the lock only when somebody asked for attention or the clock did.
 */
static enum verdict look_up(struct worker *worker, struct job *job)
{
	enum verdict verdict = GO_ON;
	struct pick other;

	if (!worker_has_attention(worker) && clock_monotonic_usec() < worker->overtake_usec)
		return GO_ON;

	worker_lock(worker);
	for (;;) {
		if (job->run->is_cancelled) {
			verdict = GIVE_UP;
			break;
		}
		if (schedule_pick(worker, schedule_overtake_limit(job), clock_monotonic_usec(),
		                  &other, &worker->overtake_usec) ||
		    schedule_is_held(worker, job->run)) {
			verdict = MAKE_WAY;
			break;
		}
		if (!worker->is_paused)
			break;
		(void) pthread_cond_wait(&worker->wake, &worker->lock);
	}
	worker->priority = schedule_priority(job);
	worker->is_background = schedule_is_background(worker, job);
	hold_update(worker);
	atomic_store_explicit(&worker->has_attention, false, memory_order_relaxed);
	worker_unlock(worker);
	return verdict;
}

static void enter_phase(struct worker *worker, struct job *job, enum job_phase phase)
{
	worker_lock(worker);
	job->phase = phase;
	worker_unlock(worker);
}

/*
 * A background step is rested after like a chunk, also one that brought pages and no bytes yet:
 * those are paid when they are filled.
 */
static void count_step(struct member *member, const struct part *part, bool has_more,
                       uint64_t start_usec, uint64_t used_nsec)
{
	if (!has_more && part->step_bytes == 0)
		return;
	hold_note(member, start_usec, clock_monotonic_usec());
	if (part->step_bytes == 0)
		return;
	hold_pay_step(member->worker, part->step_bytes);
	member_add(&member->background_bytes, part->step_bytes);
	member_add(&member->background_cpu_nsec, used_nsec);
}

static void step_prepare(struct worker *worker, struct job *job)
{
	struct member *member = &worker->members[0];
	uint64_t start_usec, before_nsec, used_nsec;
	int r;

	if (!hold_step(worker))
		return;
	start_usec = clock_monotonic_usec();
	before_nsec = thread_cpu_nsec();
	r = job->part->share->ops->prepare(job->part);
	used_nsec = job_account(job, member, before_nsec);
	if (worker->is_background)
		count_step(member, job->part, r == 1, start_usec, used_nsec);
	if (r < 0) {
		job_keep_error(job, r);
		enter_phase(worker, job, JOB_FINISHING);
	} else if (r == 0) {
		cursor_set(&job->cursor, job->part->nr_chunks);
		enter_phase(worker, job, JOB_CHUNKS);
	}
	member_count(&member->moves);
	worker->bell(worker->arg);
}

static void step_chunks(struct worker *worker, struct job *job)
{
	crew_run_round(worker, job);
	if (cursor_left(&job->cursor) == 0)
		enter_phase(worker, job, JOB_FINISHING);
}

/* Return: true when the worker is done with @job for now. */
static bool step_finish(struct worker *worker, struct job *job, bool is_cancelled)
{
	uint64_t before_nsec = thread_cpu_nsec();
	int r = job->part->share->ops->finish(job->part, is_cancelled);
	bool is_at_once = !is_cancelled && r == 1;
	bool is_short = !is_cancelled && r == -EAGAIN;
	uint64_t now_usec = clock_monotonic_usec();

	(void) job_account(job, &worker->members[0], before_nsec);

	worker_lock(worker);
	if (is_at_once) {
		job->phase = JOB_PREPARING;
	} else {
		if (is_short)
			job_back_off(job, now_usec);
		else
			job_settle(job, now_usec);
		/* From here on main may retry or drop the run: no look at it after the unlock. */
		worker->current = NULL;
	}
	worker_unlock(worker);
	return !is_at_once;
}

static void turn_of_job(struct worker *worker, struct job *job)
{
	bool is_done = false;

	while (!is_done) {
		enum verdict verdict = look_up(worker, job);

		if (verdict == MAKE_WAY)
			return;
		member_set_priority(&worker->members[0], worker->priority);
		if (verdict == GIVE_UP)
			is_done = step_finish(worker, job, true);
		else if (job->phase == JOB_PREPARING)
			step_prepare(worker, job);
		else if (job->phase == JOB_CHUNKS)
			step_chunks(worker, job);
		else
			is_done = step_finish(worker, job, false);
	}
	worker->bell(worker->arg);
}

static void turn_of_shrink(struct worker *worker, struct run *run)
{
	struct job *job = &run->jobs[STAGE_DEFERRED];
	uint64_t before_nsec = thread_cpu_nsec();
	int r = run->share->ops->share_shrink(run->share, run->keep_bytes);

	if (r < 0)
		job_keep_error(job, r);
	(void) job_account(job, &worker->members[0], before_nsec);
	member_count(&worker->members[0].moves);

	worker_lock(worker);
	run->is_shrinking = false;
	worker->current = NULL;
	worker_unlock(worker);
	worker->bell(worker->arg);
}

/* Wait for what may run. Return: false when nothing is left. */
static bool wait_for_pick(struct worker *worker, struct pick *ret)
{
	uint64_t due_usec;
	bool has_work;

	worker_lock(worker);
	worker->current = NULL;
	worker->is_background = false;
	while ((has_work = schedule_has_work(worker))) {
		enum rank limit = worker->is_paused ? RANK_CANCELLED + 1 : RANK_END;
		uint64_t now_usec = clock_monotonic_usec();

		if (schedule_pick(worker, limit, now_usec, ret, &due_usec)) {
			worker->current = ret->job ? ret->job : &ret->run->jobs[STAGE_DEFERRED];
			if (ret->job) {
				if (ret->job->phase == JOB_QUEUED) {
					ret->job->phase = JOB_PREPARING;
					ret->job->started_usec = now_usec;
				}
				ret->job->not_before_usec = 0;
			}
			/* Have the first look go through all that may have changed by now. */
			atomic_store_explicit(&worker->has_attention, true, memory_order_relaxed);
			break;
		}
		worker_wait(worker, &worker->wake, due_usec);
	}
	worker_unlock(worker);
	return has_work;
}

/* Return: true, and this thread will not look at the queue again; false there is new work. */
static bool may_end(struct worker *worker)
{
	bool is_end;

	worker_lock(worker);
	is_end = !schedule_has_work(worker);
	if (is_end) {
		worker->nr_alive = 0;
		worker->is_running = false;
	}
	worker_unlock(worker);
	return is_end;
}

void *worker_thread_main(void *arg)
{
	struct member *member = arg;
	struct worker *worker = member->worker;
	struct pick pick;

	member_set_name(member);
	/* Its CPUs may be offline by now: then anywhere is better than not at all. */
	(void) binding_run_on(&worker->cpus);

	do {
		unsigned nr_crew = crew_open(worker);

		while (wait_for_pick(worker, &pick)) {
			worker->bell(worker->arg);
			if (pick.job)
				turn_of_job(worker, pick.job);
			else
				turn_of_shrink(worker, pick.run);
		}
		crew_close(worker, nr_crew);
	} while (!may_end(worker));

	worker->bell(worker->arg);
	return NULL;
}
