/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kind hugetlb: pages in the kernel's pool of the node, for whoever maps them. All work is in
 * prepare, one bounded step of the account at a time; there is nothing for a crew to do, as the
 * kernel serialises the writers of one page size.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>

#include "../base/size.h"
#include "account.h"

struct hugetlb_stage {
	uint64_t done_bytes;
	enum share_reason reason; /* of the last step; shown once it has ended a round */
	int error;
	bool is_short;        /* the last step brought nothing */
	bool was_settled;     /* worker only: what runs now is a Retry */
	unsigned nr_attempts; /* since it was last settled */
};

struct hugetlb_share {
	struct share share;
	pthread_mutex_t lock; /* for all below: written by the worker, read by the main thread */
	struct hugetlb_stage stages[NR_STAGES];
	unsigned nr_attempts;
	unsigned nr_raced;
	uint64_t raced_from_pages;
	uint64_t raced_to_pages;
};

static int hugetlb_share_new(struct share **ret)
{
	struct hugetlb_share *hugetlb = calloc(1, sizeof(*hugetlb));

	if (!hugetlb)
		return -ENOMEM;
	(void) pthread_mutex_init(&hugetlb->lock, NULL);
	*ret = &hugetlb->share;
	return 0;
}

/* What the pool, of @nr_pages, holds between @start_pages and @end_pages. */
static uint64_t held_bytes(uint64_t nr_pages, uint64_t start_pages, uint64_t end_pages,
                           uint64_t page_bytes)
{
	return bytes_left(bytes_min(nr_pages, end_pages), start_pages) * page_bytes;
}

static void note_race(struct hugetlb_share *hugetlb, const struct page_account_result *result)
{
	if (!result->was_raced)
		return;
	hugetlb->nr_raced++;
	hugetlb->raced_from_pages = result->raced_from_pages;
	hugetlb->raced_to_pages = result->raced_to_pages;
}

static int hugetlb_prepare(struct part *part)
{
	struct hugetlb_share *hugetlb = (struct hugetlb_share *) part->share;
	struct share *share = part->share;
	struct hugetlb_stage *stage = &hugetlb->stages[part->stage];
	struct page_account_result result;
	uint64_t start_pages, end_pages, wanted_pages, nr_pages;
	int r;

	part->nr_chunks = 0;
	part->chunk_bytes = share->page_bytes;
	if (stage->was_settled)
		page_account_begin_anew(share->account);
	stage->was_settled = false;
	page_account_span(share->account, share, part->stage, &start_pages, &end_pages);
	r = page_account_grow(share->account, end_pages, &result);
	part->step_bytes = bytes_mul(result.nr_added_pages, share->page_bytes);
	if (r == 0 && share->may_shrink) {
		wanted_pages = page_account_wanted_pages(share->account);
		if (result.nr_pages > wanted_pages &&
		    page_account_shrink(share->account, wanted_pages, &nr_pages) == 0)
			result.nr_pages = nr_pages;
	}

	(void) pthread_mutex_lock(&hugetlb->lock);
	/* Only settling short takes back what was shown as done. */
	stage->done_bytes = bytes_max(stage->done_bytes, held_bytes(result.nr_pages, start_pages,
	                                                            end_pages, share->page_bytes));
	stage->is_short = r < 0;
	stage->reason = result.reason;
	stage->error = result.error;
	note_race(hugetlb, &result);
	(void) pthread_mutex_unlock(&hugetlb->lock);
	return r;
}

static int hugetlb_run_chunk(struct part *part, uint64_t index)
{
	(void) part;
	(void) index;
	return -EINVAL; /* nr_chunks is 0 */
}

/* Whether time can help: others may free memory; they will not stop fighting or grant rights. */
static bool is_worth_retrying(const struct hugetlb_stage *stage)
{
	return stage->reason == REASON_FRAGMENTED || stage->reason == REASON_NO_MEMORY ||
	       stage->reason == REASON_EXCEEDS_RESERVE;
}

/* The last word about a stage: what the pool holds now, and why the rest is missing. */
static void settle(struct hugetlb_stage *stage, const struct part *part, uint64_t done_bytes,
                   bool is_cancelled)
{
	stage->done_bytes = done_bytes;
	stage->nr_attempts = 0;
	stage->was_settled = true;
	if (done_bytes >= part->want_bytes) {
		stage->reason = REASON_NONE;
		stage->error = 0;
	} else if (is_cancelled && stage->reason == REASON_NONE) {
		stage->reason = REASON_INTERRUPTED;
	}
}

static int hugetlb_finish(struct part *part, bool is_cancelled)
{
	struct hugetlb_share *hugetlb = (struct hugetlb_share *) part->share;
	struct share *share = part->share;
	struct hugetlb_stage *stage = &hugetlb->stages[part->stage];
	struct page_account_result result;
	uint64_t start_pages, end_pages;
	int r;

	page_account_span(share->account, share, part->stage, &start_pages, &end_pages);
	r = page_account_check(share->account, end_pages, &result);

	(void) pthread_mutex_lock(&hugetlb->lock);
	note_race(hugetlb, &result);
	if (r < 0) {
		stage->reason = result.reason;
		stage->error = result.error;
	}
	if (!is_cancelled && r == 1 && !stage->is_short) {
		/* Set back after it was reached: again at once; the account bounds how often. */
	} else if (!is_cancelled && r >= 0 && stage->is_short && is_worth_retrying(stage) &&
	           stage->nr_attempts < share->context->nr_retries) {
		stage->nr_attempts++;
		hugetlb->nr_attempts++;
		r = -EAGAIN;
	} else {
		settle(stage, part,
		       held_bytes(result.nr_pages, start_pages, end_pages, share->page_bytes),
		       is_cancelled);
		r = 0;
	}
	(void) pthread_mutex_unlock(&hugetlb->lock);
	return r;
}

static void hugetlb_share_read(const struct share *share, struct share_status *ret)
{
	struct hugetlb_share *hugetlb = (struct hugetlb_share *) share;
	struct share_status status = { 0 };

	(void) pthread_mutex_lock(&hugetlb->lock);
	for (unsigned i = 0; i < NR_STAGES; i++) {
		const struct hugetlb_stage *stage = &hugetlb->stages[i];

		status.done_bytes += stage->done_bytes;
		if (status.reason == REASON_NONE) {
			status.reason = stage->reason;
			status.error = stage->error;
		}
	}
	status.early_done_bytes = hugetlb->stages[STAGE_EARLY].done_bytes;
	status.nr_attempts = hugetlb->nr_attempts;
	status.nr_raced = hugetlb->nr_raced;
	status.raced_from_pages = hugetlb->raced_from_pages;
	status.raced_to_pages = hugetlb->raced_to_pages;
	(void) pthread_mutex_unlock(&hugetlb->lock);
	*ret = status;
}

static int hugetlb_share_shrink(struct share *share, uint64_t keep_bytes)
{
	struct hugetlb_share *hugetlb = (struct hugetlb_share *) share;
	uint64_t left_bytes = bytes_round_up(keep_bytes, share->page_bytes), gone_bytes = 0;
	int r;

	for (unsigned i = 0; i < NR_STAGES; i++) {
		struct part *part = &share->parts[i];
		uint64_t kept_bytes = bytes_min(part->want_bytes, left_bytes);

		gone_bytes += part->want_bytes - kept_bytes;
		page_account_want(share->account, part, kept_bytes);
		left_bytes -= kept_bytes;
	}
	r = page_account_give_back(share->account, gone_bytes / share->page_bytes);

	(void) pthread_mutex_lock(&hugetlb->lock);
	for (unsigned i = 0; r == 0 && i < NR_STAGES; i++)
		hugetlb->stages[i].done_bytes =
			bytes_min(hugetlb->stages[i].done_bytes, share->parts[i].want_bytes);
	(void) pthread_mutex_unlock(&hugetlb->lock);
	return r;
}

/*
 * The pages stay in the kernel's pool: they are for whoever maps them, and a daemon that stops or
 * is replaced must not take them away. Who wants them gone shrinks to 0 first.
 */
static void hugetlb_share_free(struct share *share)
{
	struct hugetlb_share *hugetlb = (struct hugetlb_share *) share;

	if (!share)
		return;
	if (share->account) {
		page_account_leave(share->account, share);
		share->account = page_account_unref(share->account);
	}
	(void) pthread_mutex_destroy(&hugetlb->lock);
	free(hugetlb);
}

const struct kind_ops hugetlb_ops = {
	.name = "hugetlb",
	.share_new = hugetlb_share_new,
	.prepare = hugetlb_prepare,
	.run_chunk = hugetlb_run_chunk,
	.finish = hugetlb_finish,
	.share_read = hugetlb_share_read,
	.share_shrink = hugetlb_share_shrink,
	.share_free = hugetlb_share_free,
};
