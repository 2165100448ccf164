/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "schedule.h"

void job_queue(struct job *job)
{
	struct worker *worker = job->run->worker;

	job->phase = job->part->want_bytes == 0 ? JOB_SETTLED : JOB_QUEUED;
	job->started_usec = 0;
	job->finished_usec = 0;
	job->not_before_usec = 0;
	job->backoff_usec = worker->backoff_usec;
	cursor_set(&job->cursor, 0);
	atomic_store_explicit(&job->cpu_nsec, 0, memory_order_relaxed);
	atomic_store_explicit(&job->nr_threads, 0, memory_order_relaxed);
	atomic_store_explicit(&job->error, 0, memory_order_relaxed);
	memset(job->has_worked, 0, worker->nr_threads * sizeof(*job->has_worked));
}

void job_settle(struct job *job, uint64_t now_usec)
{
	job->phase = JOB_SETTLED;
	job->not_before_usec = 0;
	if (job->started_usec != 0)
		job->finished_usec = now_usec;
}

void job_back_off(struct job *job, uint64_t now_usec)
{
	job->phase = JOB_PREPARING;
	job->not_before_usec = now_usec + job->backoff_usec;
	job->backoff_usec = schedule_backoff_next(job->backoff_usec);
}

bool run_is_settled(const struct run *run)
{
	if (run->is_shrinking)
		return false;
	for (unsigned i = 0; i < NR_STAGES; i++) {
		if (run->jobs[i].phase != JOB_SETTLED)
			return false;
	}
	return true;
}

void run_withdraw(struct run *run)
{
	struct job *current = run->worker->current;

	if (run_is_settled(run))
		return;

	run->is_cancelled = true;
	for (unsigned i = 0; i < NR_STAGES; i++) {
		if (run->jobs[i].phase == JOB_QUEUED)
			job_settle(&run->jobs[i], 0);
	}
	/* A shrink has no middle: the worker is in it and ends it, or it was not begun. */
	if (run->is_shrinking && !(current && current->run == run))
		run->is_shrinking = false;
}

bool schedule_has_work(const struct worker *worker)
{
	const struct run *run;

	for (run = TAILQ_FIRST(&worker->runs); run; run = TAILQ_NEXT(run, link)) {
		if (!run_is_settled(run))
			return true;
	}
	return false;
}

static bool run_comes_first(const struct run *run)
{
	return run->share->ops->comes_first;
}

/* Who has to wait for the runs that come first. */
struct hold {
	bool is_for_all;    /* one of them is not settled */
	bool is_for_wanted; /* one of them has not settled its early part */
};

static struct hold worker_hold(const struct worker *worker)
{
	struct hold hold = { 0 };
	const struct run *run;

	for (run = TAILQ_FIRST(&worker->runs); run; run = TAILQ_NEXT(run, link)) {
		if (!run_comes_first(run) || run_is_settled(run))
			continue;
		hold.is_for_all = true;
		if (run->jobs[STAGE_EARLY].phase != JOB_SETTLED)
			hold.is_for_wanted = true;
	}
	return hold;
}

static bool run_is_held(const struct run *run, const struct hold *hold)
{
	/* What a refill builds anew had its memory once, so there is none to wait for. */
	if (run_comes_first(run) || run->is_refilling)
		return false;
	return run->is_wanted ? hold->is_for_wanted : hold->is_for_all;
}

bool schedule_is_held(const struct worker *worker, const struct run *run)
{
	struct hold hold = worker_hold(worker);

	return run_is_held(run, &hold);
}

/* Where parts of its sort stand that have begun; those that have not stand right behind. */
static enum rank job_rank_begun(const struct job *job)
{
	if (run_comes_first(job->run))
		return job->part->stage == STAGE_EARLY ? RANK_FIRST_EARLY_BEGUN : RANK_FIRST_BEGUN;
	if (job->run->is_wanted)
		return RANK_WANTED_BEGUN;
	if (job->run->is_refilling)
		return RANK_REFILL_BEGUN;
	return job->part->stage == STAGE_EARLY ? RANK_EARLY_BEGUN : RANK_DEFERRED_BEGUN;
}

/* Return: where @job stands in the queue, back-off aside; RANK_END: it has no place in it. */
static enum rank job_rank(const struct job *job, const struct hold *hold)
{
	const struct run *run = job->run;
	bool is_begun = job->phase != JOB_QUEUED && job->not_before_usec == 0;

	if (job->phase == JOB_SETTLED)
		return RANK_END;
	if (run->is_cancelled)
		return RANK_CANCELLED;
	if (run_is_held(run, hold))
		return RANK_END;
	/* A share's parts run one after the other, whatever holds up the first. */
	if (job->part->stage == STAGE_DEFERRED && run->jobs[STAGE_EARLY].phase != JOB_SETTLED)
		return RANK_END;
	return job_rank_begun(job) + (is_begun ? 0 : 1);
}

bool schedule_pick(const struct worker *worker, enum rank limit, uint64_t now_usec,
                   struct pick *ret, uint64_t *ret_due_usec)
{
	struct hold hold = worker_hold(worker);
	struct pick best = { 0 };
	enum rank best_rank = limit;
	uint64_t due_usec = UINT64_MAX;
	struct run *run;

	for (run = TAILQ_FIRST(&worker->runs); run; run = TAILQ_NEXT(run, link)) {
		if (run->is_shrinking && RANK_SHRINK < best_rank) {
			best = (struct pick){ .run = run };
			best_rank = RANK_SHRINK;
		}
		for (unsigned i = 0; i < NR_STAGES; i++) {
			struct job *job = &run->jobs[i];
			enum rank rank = job_rank(job, &hold);

			if (rank >= limit)
				continue;
			if (rank != RANK_CANCELLED && job->not_before_usec > now_usec) {
				if (job->not_before_usec < due_usec)
					due_usec = job->not_before_usec;
			} else if (rank < best_rank) {
				best = (struct pick){ .run = run, .job = job };
				best_rank = rank;
			}
		}
	}

	*ret_due_usec = due_usec;
	if (!best.run)
		return false;
	*ret = best;
	return true;
}

enum rank schedule_overtake_limit(const struct job *job)
{
	enum rank rank = job_rank_begun(job);

	/* An early part is never held up by a shrink: the start of the host waits for it. */
	return rank == RANK_EARLY_BEGUN ? RANK_SHRINK : rank;
}

enum binding_priority schedule_priority(const struct job *job)
{
	enum rank rank = job_rank_begun(job);

	return rank < RANK_DEFERRED_BEGUN ? BINDING_NORMAL : BINDING_BACKGROUND;
}

/* A run that does not come first has work left. */
static bool has_others(const struct worker *worker)
{
	const struct run *run;

	for (run = TAILQ_FIRST(&worker->runs); run; run = TAILQ_NEXT(run, link)) {
		if (!run_comes_first(run) && !run_is_settled(run))
			return true;
	}
	return false;
}

bool schedule_is_background(const struct worker *worker, const struct job *job)
{
	const struct run *run = job->run;

	if (run->is_wanted)
		return false;
	if (job->part->stage == STAGE_EARLY && !run->is_refilling)
		return false;
	return !run_comes_first(run) || !has_others(worker);
}

uint64_t schedule_backoff_next(uint64_t backoff_usec)
{
	return backoff_usec < BACKOFF_MAX_USEC / 2 ? backoff_usec * 2 : BACKOFF_MAX_USEC;
}
