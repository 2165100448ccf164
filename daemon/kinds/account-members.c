/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who has an account together, and which of its pages are whose. What the account does with the
 * kernel's pool is in account.c.
 */
#include <assert.h>
#include <errno.h>

#include "account.h"

struct page_account *page_account_new(const struct kind_context *context, unsigned node_id,
                                      uint64_t page_bytes, uint64_t reserve_bytes)
{
	struct page_account *account = calloc(1, sizeof(*account));

	assert(page_bytes > 0);
	if (!account)
		return NULL;
	account->context = context;
	account->node_id = node_id;
	account->page_bytes = page_bytes;
	account->reserve_bytes = reserve_bytes;
	atomic_init(&account->nr_refs, 1);
	(void) pthread_mutex_init(&account->lock, NULL);
	return account;
}

struct page_account *page_account_ref(struct page_account *account)
{
	(void) atomic_fetch_add_explicit(&account->nr_refs, 1, memory_order_relaxed);
	return account;
}

struct page_account *page_account_unref(struct page_account *account)
{
	if (!account || atomic_fetch_sub_explicit(&account->nr_refs, 1, memory_order_acq_rel) > 1)
		return NULL;
	(void) pthread_mutex_destroy(&account->lock);
	free(account->members);
	free(account);
	return NULL;
}

/* Number one stage of the batch that begins at member @first. Return: where it ends. */
static uint64_t renumber_stage(struct page_account *account, size_t first, unsigned stage,
                               uint64_t pages)
{
	unsigned batch = account->members[first]->account_batch;

	for (size_t i = first; i < account->nr_members; i++) {
		struct share *share = account->members[i];

		if (share->account_batch != batch)
			break;
		share->account_start_pages[stage] = pages;
		pages += share->parts[stage].want_bytes / account->page_bytes;
		share->account_end_pages[stage] = pages;
	}
	return pages;
}

/* It is in use, so it has its pages whatever becomes of the others. */
static uint64_t aside_pages(const struct page_account *account)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < account->nr_members; i++)
		bytes += account->members[i]->account_aside_bytes;
	return bytes / account->page_bytes;
}

static void renumber(struct page_account *account)
{
	uint64_t pages = aside_pages(account);

	for (size_t i = 0; i < account->nr_members; i++) {
		if (i > 0 &&
		    account->members[i]->account_batch == account->members[i - 1]->account_batch)
			continue;
		for (unsigned stage = 0; stage < NR_STAGES; stage++)
			pages = renumber_stage(account, i, stage, pages);
	}
}

int page_account_join(struct page_account *account, struct share *share)
{
	struct share **members;
	int r = -ENOMEM;

	(void) pthread_mutex_lock(&account->lock);
	members = reallocarray(account->members, account->nr_members + 1, sizeof(*members));
	if (members) {
		share->account_batch = account->batch;
		members[account->nr_members++] = share;
		account->members = members;
		account->may_shrink |= share->may_shrink;
		renumber(account);
		r = 0;
	}
	(void) pthread_mutex_unlock(&account->lock);
	return r;
}

void page_account_leave(struct page_account *account, const struct share *share)
{
	size_t nr_kept = 0;

	(void) pthread_mutex_lock(&account->lock);
	for (size_t i = 0; i < account->nr_members; i++)
		if (account->members[i] != share)
			account->members[nr_kept++] = account->members[i];
	account->nr_members = nr_kept;
	renumber(account);
	(void) pthread_mutex_unlock(&account->lock);
}

void page_account_begin_anew(struct page_account *account)
{
	(void) pthread_mutex_lock(&account->lock);
	account->is_compacted = false;
	account->nr_reasserts = 0;
	(void) pthread_mutex_unlock(&account->lock);
}

void page_account_next_batch(struct page_account *account)
{
	page_account_begin_anew(account);
	(void) pthread_mutex_lock(&account->lock);
	account->batch++;
	(void) pthread_mutex_unlock(&account->lock);
}

void page_account_want(struct page_account *account, struct part *part, uint64_t want_bytes)
{
	(void) pthread_mutex_lock(&account->lock);
	part->want_bytes = want_bytes;
	renumber(account);
	(void) pthread_mutex_unlock(&account->lock);
}

void page_account_set_aside(struct page_account *account, struct share *share, uint64_t bytes)
{
	(void) pthread_mutex_lock(&account->lock);
	share->account_aside_bytes = bytes;
	renumber(account);
	(void) pthread_mutex_unlock(&account->lock);
}

void page_account_inherit(struct page_account *account, uint64_t nr_pages)
{
	(void) pthread_mutex_lock(&account->lock);
	account->inherited_pages += nr_pages;
	(void) pthread_mutex_unlock(&account->lock);
}

void page_account_span(struct page_account *account, const struct share *share, enum stage stage,
                       uint64_t *ret_start_pages, uint64_t *ret_end_pages)
{
	(void) pthread_mutex_lock(&account->lock);
	*ret_start_pages = share->account_start_pages[stage];
	*ret_end_pages = share->account_end_pages[stage];
	(void) pthread_mutex_unlock(&account->lock);
}

uint64_t page_account_sum_pages(const struct page_account *account)
{
	uint64_t pages = aside_pages(account);

	for (size_t i = 0; i < account->nr_members; i++)
		for (unsigned stage = 0; stage < NR_STAGES; stage++)
			pages += account->members[i]->parts[stage].want_bytes / account->page_bytes;
	return pages;
}

uint64_t page_account_wanted_pages(struct page_account *account)
{
	uint64_t pages;

	(void) pthread_mutex_lock(&account->lock);
	pages = page_account_sum_pages(account);
	(void) pthread_mutex_unlock(&account->lock);
	return pages;
}
