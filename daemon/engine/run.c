/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One share in the hands of a worker, as the main thread sees it. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "../base/size.h"
#include "schedule.h"

void run_cancel(struct run *run)
{
	worker_lock(run->worker);
	run_withdraw(run);
	worker_wake(run->worker);
	worker_unlock(run->worker);
}

/* Queue both parts of a run that is settled. Return: 0; -EBUSY it is not. */
static int run_queue_again(struct run *run, bool is_refill)
{
	struct worker *worker = run->worker;
	int r = -EBUSY;

	worker_lock(worker);
	if (run_is_settled(run)) {
		run->is_cancelled = false;
		run->is_refilling = is_refill;
		for (unsigned i = 0; i < NR_STAGES; i++)
			job_queue(&run->jobs[i]);
		if (worker->is_cancelled)
			run_withdraw(run);
		worker_wake(worker);
		r = 0;
	}
	worker_unlock(worker);
	return r;
}

int run_retry(struct run *run)
{
	return run_queue_again(run, false);
}

int run_refill(struct run *run)
{
	struct run_status before;
	int r;

	/* Its kind is asked without the lock: a run that is settled stays so but for us. */
	run_read(run, &before);
	r = run_queue_again(run, true);
	if (r == 0)
		run->kept_state = before.state;
	return r;
}

void run_want(struct run *run, bool is_wanted)
{
	worker_lock(run->worker);
	if (run->is_wanted != is_wanted) {
		run->is_wanted = is_wanted;
		worker_wake(run->worker);
	}
	worker_unlock(run->worker);
}

int run_shrink(struct run *run, uint64_t keep_bytes, uint64_t declared_bytes,
               uint64_t minimum_bytes)
{
	struct worker *worker = run->worker;
	int r = -EBUSY;

	worker_lock(worker);
	if (run_is_settled(run)) {
		run->is_cancelled = false;
		run->is_refilling = false;
		run->is_shrinking = true;
		run->keep_bytes = keep_bytes;
		run->declared_bytes = declared_bytes;
		run->minimum_bytes = minimum_bytes;
		if (worker->is_cancelled)
			run_withdraw(run);
		worker_wake(worker);
		r = 0;
	}
	worker_unlock(worker);
	return r;
}

bool run_is_idle(const struct run *run)
{
	bool is_idle;

	worker_lock(run->worker);
	is_idle = run_is_settled(run);
	worker_unlock(run->worker);
	return is_idle;
}

void run_drop(struct run *run)
{
	struct worker *worker = run->worker;

	worker_lock(worker);
	assert(run_is_settled(run));
	TAILQ_REMOVE(&worker->runs, run, link);
	worker_unlock(worker);
	free(run);
}

static enum stage_state job_stage_state(const struct job *job)
{
	switch (job->phase) {
	case JOB_QUEUED:
		return STAGE_WAITING;
	case JOB_SETTLED:
		return STAGE_SETTLED;
	default:
		return STAGE_RUNNING;
	}
}

/* With the lock. */
static void job_read(const struct job *job, struct stage_status *ret)
{
	ret->state = job_stage_state(job);
	ret->started_usec = job->started_usec;
	ret->finished_usec = job->finished_usec;
	ret->nr_threads = atomic_load_explicit(&job->nr_threads, memory_order_relaxed);
	ret->cpu_usec = atomic_load_explicit(&job->cpu_nsec, memory_order_relaxed) / 1000;
	ret->error = atomic_load_explicit(&job->error, memory_order_relaxed);
}

/* Of a run that is not settled, with the lock. */
static enum share_state run_progress(const struct run *run)
{
	const struct job *early = &run->jobs[STAGE_EARLY];
	const struct job *deferred = &run->jobs[STAGE_DEFERRED];

	if (run->is_refilling)
		return run->kept_state;
	if (early->phase != JOB_SETTLED)
		return early->phase == JOB_QUEUED ? SHARE_WAITING : SHARE_EARLY;
	/* Without an early part, the share waits until the deferred one begins. */
	if (early->started_usec == 0 && deferred->phase == JOB_QUEUED)
		return SHARE_WAITING;
	return SHARE_DEFERRED;
}

void run_read(const struct run *run, struct run_status *ret)
{
	struct run_status status = { 0 };
	bool is_settled;
	bool is_cancelled;
	uint64_t declared_bytes, minimum_bytes;

	worker_lock(run->worker);
	is_settled = run_is_settled(run);
	is_cancelled = run->is_cancelled;
	declared_bytes = run->declared_bytes;
	minimum_bytes = run->minimum_bytes;
	status.state = run_progress(run);
	status.is_refilling = run->is_refilling && !is_settled;
	for (unsigned i = 0; i < NR_STAGES; i++) {
		job_read(&run->jobs[i], &status.stages[i]);
		if (run->jobs[i].not_before_usec != 0)
			status.is_in_backoff = true;
	}
	worker_unlock(run->worker);

	/* After the state: what is seen as settled is seen with its last byte. */
	run->share->ops->share_read(run->share, &status.share);
	status.stages[STAGE_EARLY].done_bytes = status.share.early_done_bytes;
	status.stages[STAGE_DEFERRED].done_bytes =
		bytes_left(status.share.done_bytes, status.share.early_done_bytes);
	if (is_settled)
		status.state = share_state_outcome(declared_bytes, minimum_bytes,
		                                   status.share.done_bytes, is_cancelled);
	*ret = status;
}
