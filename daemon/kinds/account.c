/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One node, one page size, one target. The kernel takes an absolute number of pages and says
 * nothing of how many came, so every step is read back, and every look compares with what the
 * step before had left: a difference is somebody else's doing.
 *
 * What is compared and promised are persistent pages. Surplus pages are counted by the kernel in
 * nr_hugepages too, but they go away with the mapping they were made for.
 */
#include <errno.h>
#include <pthread.h>

#include "../base/size.h"
#include "../machine/hugepages.h"
#include "../machine/machine.h"
#include "account.h"

/* What one write asks for: bounded, so that cancel and progress are looked at in between. */
#define STEP_BYTES GIB

static uint64_t in_use_pages(const struct hugepages_count *count)
{
	return bytes_left(count->nr_pages, count->free_pages);
}

static int read_count(struct page_account *account, struct hugepages_count *ret,
                      uint64_t *ret_persistent_pages)
{
	struct hugepages_count count;
	int r;

	r = hugepages_read(account->context->kernel, account->node_id, account->page_bytes, &count);
	if (r < 0)
		return r;
	*ret = count;
	*ret_persistent_pages = bytes_left(count.nr_pages, count.surplus_pages);
	return 0;
}

/* The write says nothing reliable but "no": cut short by a signal it still succeeds. */
static int write_count(struct page_account *account, uint64_t nr_pages)
{
	int r = hugepages_write(account->context->kernel, account->node_id, account->page_bytes,
	                        nr_pages);

	return r == -EINTR || r == -EAGAIN || r == -ENOMEM ? 0 : r;
}

static void note_race(struct page_account_result *result, uint64_t from_pages, uint64_t to_pages)
{
	result->was_raced = true;
	result->raced_from_pages = from_pages;
	result->raced_to_pages = to_pages;
}

/*
 * The first look finds what others have put there; every later one should find what we left.
 * Return: 0; -EAGAIN somebody has lowered it below @target_pages once too often; -errno.
 */
static int look(struct page_account *account, uint64_t target_pages,
                struct page_account_result *result)
{
	struct hugepages_count count;
	uint64_t pages;
	int r;

	r = read_count(account, &count, &pages);
	if (r < 0)
		return r;
	result->nr_pages = pages;
	if (!account->is_known) {
		account->is_known = true;
		account->base_pages = bytes_left(pages, account->inherited_pages);
		account->last_pages = pages;
		return 0;
	}
	if (pages == account->last_pages)
		return 0;
	note_race(result, account->last_pages, pages);
	r = pages < account->last_pages && pages < target_pages &&
	                    account->nr_reasserts++ >= account->context->nr_retries
	            ? -EAGAIN
	            : 0;
	account->last_pages = pages;
	return r;
}

/* Surplus pages of the whole machine: by so many a write to one node may overshoot. */
static uint64_t surplus_pages(struct page_account *account)
{
	uint64_t pages;

	return kernel_read_u64(account->context->kernel, &pages,
	                       "/sys/kernel/mm/hugepages/hugepages-%llukB/surplus_hugepages",
	                       (unsigned long long) (account->page_bytes / KIB)) == 0
	               ? pages
	               : 0;
}

/* Return: 0 and *ret_count, *ret_pages as they are after the write; -errno. */
static int write_and_read(struct page_account *account, uint64_t nr_pages,
                          struct hugepages_count *ret_count, uint64_t *ret_pages)
{
	int r = write_count(account, nr_pages);

	return r < 0 ? r : read_count(account, ret_count, ret_pages);
}

/*
 * Lower the pool to @floor_pages. A kernel that overshoots has to be told as much less: the plain
 * number takes nothing away there, it may even add.
 */
static int lower(struct page_account *account, uint64_t floor_pages, uint64_t *ret_pages)
{
	uint64_t extra_pages = surplus_pages(account), pages;
	struct hugepages_count count;
	int r;

	r = write_and_read(
		account, account->adds_surplus ? bytes_left(floor_pages, extra_pages) : floor_pages,
		&count, &pages);
	if (r < 0)
		return r;
	if (pages > floor_pages && extra_pages > 0 && !account->adds_surplus) {
		account->adds_surplus = true;
		floor_pages = bytes_max(floor_pages, in_use_pages(&count));
		r = write_and_read(account, bytes_left(floor_pages, extra_pages), &count, &pages);
		if (r < 0)
			return r;
	}
	*ret_pages = pages;
	return 0;
}

/*
 * Write an absolute number of pages and see what came of it. There are kernels that count the
 * surplus pages of other nodes into a node's new target, so that it gets as many too many
 * (mm/hugetlb.c, set_max_huge_pages). What exceeds @target_pages for that reason goes back; other
 * people's pages, and those in use, stay.
 */
static int write_step(struct page_account *account, uint64_t next_pages, uint64_t target_pages,
                      uint64_t *ret_pages)
{
	uint64_t extra_pages = surplus_pages(account), pages, floor_pages;
	struct hugepages_count count;
	int r;

	r = write_and_read(account, next_pages, &count, &pages);
	if (r < 0)
		return r;
	floor_pages = bytes_max(target_pages, in_use_pages(&count));
	if (pages > next_pages && pages - next_pages <= extra_pages) {
		account->adds_surplus = true;
		if (pages > floor_pages)
			return lower(account, floor_pages, ret_pages);
	}
	*ret_pages = pages;
	return 0;
}

/* Return: pages that may be taken now; 0 means Reserve= would be touched. */
static uint64_t room_pages(struct page_account *account, uint64_t *ret_available_bytes)
{
	if (machine_read_available(account->context->kernel, account->node_id,
	                           ret_available_bytes) < 0) {
		/* A kernel that does not say cannot be asked; its own refusal is what is left. */
		*ret_available_bytes = 0;
		return UINT64_MAX;
	}
	return bytes_left(*ret_available_bytes, account->reserve_bytes) / account->page_bytes;
}

static int stop(struct page_account_result *result, enum share_reason reason)
{
	result->reason = reason;
	return -EAGAIN;
}

/* The write brought less than there was before: not short, but set back by somebody else. */
static int set_back(struct page_account *account, uint64_t from_pages, uint64_t to_pages,
                    struct page_account_result *result)
{
	note_race(result, from_pages, to_pages);
	account->last_pages = to_pages;
	result->nr_pages = to_pages;
	return account->nr_reasserts++ < account->context->nr_retries ? 1
	                                                              : stop(result, REASON_RACED);
}

static int grow(struct page_account *account, uint64_t target_pages,
                struct page_account_result *result)
{
	uint64_t before_pages, pages, step_pages, left_pages, available_bytes;
	int r;

	r = look(account, target_pages, result);
	if (r == -EAGAIN)
		return stop(result, REASON_RACED);
	if (r < 0)
		return r;
	before_pages = result->nr_pages;
	if (before_pages >= target_pages)
		return 0;

	left_pages = room_pages(account, &available_bytes);
	if (left_pages == 0)
		return stop(result, available_bytes < account->page_bytes ? REASON_NO_MEMORY
		                                                          : REASON_EXCEEDS_RESERVE);
	step_pages = bytes_min(bytes_max(STEP_BYTES / account->page_bytes, 1),
	                       target_pages - before_pages);
	step_pages = bytes_min(step_pages, left_pages);

	r = write_step(account, before_pages + step_pages, target_pages, &pages);
	if (r < 0)
		return r;
	if (pages == before_pages && !account->is_compacted) {
		account->is_compacted = true;
		if (hugepages_compact(account->context->kernel, account->node_id) == 0) {
			r = write_step(account, before_pages + step_pages, target_pages, &pages);
			if (r < 0)
				return r;
		}
	}
	if (pages < before_pages)
		return set_back(account, before_pages + step_pages, pages, result);
	account->last_pages = pages;
	result->nr_pages = pages;
	result->nr_added_pages = pages - before_pages;
	if (pages >= target_pages)
		return 0;
	if (pages > before_pages)
		return 1;
	return stop(result, bytes_mul(target_pages - pages, account->page_bytes) <= available_bytes
	                            ? REASON_FRAGMENTED
	                            : REASON_NO_MEMORY);
}

static enum share_reason error_reason(int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
	case -EROFS:
		return REASON_NOT_PERMITTED;
	case -EINVAL: /* gigantic pages that this kernel makes at boot only */
	case -ENOENT:
	case -EOPNOTSUPP:
		return REASON_UNSUPPORTED;
	default:
		return REASON_FAILED;
	}
}

int page_account_grow(struct page_account *account, uint64_t target_pages,
                      struct page_account_result *result)
{
	int r;

	*result = (struct page_account_result){ 0 };
	(void) pthread_mutex_lock(&account->lock);
	result->nr_pages = account->last_pages;
	r = grow(account, target_pages, result);
	(void) pthread_mutex_unlock(&account->lock);
	if (r < 0 && r != -EAGAIN) {
		result->error = r;
		result->reason = error_reason(r);
	}
	return r;
}

int page_account_check(struct page_account *account, uint64_t target_pages,
                       struct page_account_result *result)
{
	int r;

	*result = (struct page_account_result){ 0 };
	(void) pthread_mutex_lock(&account->lock);
	result->nr_pages = account->last_pages;
	r = look(account, target_pages, result);
	(void) pthread_mutex_unlock(&account->lock);
	if (r == -EAGAIN)
		return stop(result, REASON_RACED);
	if (r < 0) {
		result->error = r;
		result->reason = error_reason(r);
		return r;
	}
	return result->was_raced && result->raced_to_pages < result->raced_from_pages &&
	       result->nr_pages < target_pages;
}

static int shrink(struct page_account *account, uint64_t target_pages, uint64_t *ret_pages)
{
	struct hugepages_count count;
	uint64_t pages, floor_pages;
	int r;

	r = read_count(account, &count, &pages);
	if (r < 0)
		return r;
	if (!account->is_known) {
		account->is_known = true;
		account->base_pages = bytes_left(pages, account->inherited_pages);
	}
	floor_pages = bytes_max(target_pages, in_use_pages(&count));
	if (!account->may_shrink)
		floor_pages = bytes_max(floor_pages, account->base_pages);
	if (pages > floor_pages) {
		r = lower(account, floor_pages, &pages);
		if (r < 0)
			return r;
	}
	account->last_pages = pages;
	*ret_pages = pages;
	return 0;
}

int page_account_shrink(struct page_account *account, uint64_t target_pages, uint64_t *ret_pages)
{
	int r;

	(void) pthread_mutex_lock(&account->lock);
	r = shrink(account, target_pages, ret_pages);
	(void) pthread_mutex_unlock(&account->lock);
	return r;
}

int page_account_give_back(struct page_account *account, uint64_t nr_pages)
{
	uint64_t left_pages;
	int r = 0;

	(void) pthread_mutex_lock(&account->lock);
	/*
	 * Never further down than by what is given up: a pool above its target holds what others
	 * have put there in the meantime.
	 */
	if (account->is_known && nr_pages > 0)
		r = shrink(account,
		           bytes_max(page_account_sum_pages(account),
		                     bytes_left(account->last_pages, nr_pages)),
		           &left_pages);
	(void) pthread_mutex_unlock(&account->lock);
	return r;
}
