/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * account.h - who wants how much of a node's account of one huge page size
 *
 * Layer: kinds, for kinds only; growing and shrinking are in kind.h. Threads: any. The account
 * numbers the pages of its members through: batch by batch, in a batch every early part first,
 * then every deferred one, each in the order of joining. So what joins later (Reload) begins behind
 * what is there, and no page counts twice. When a member shrinks or leaves, those behind it move
 * down. Before all parts comes what members hold beyond them.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "kind.h"

struct page_account {
	const struct kind_context *context; /* borrowed */
	unsigned node_id;
	uint64_t page_bytes;
	uint64_t reserve_bytes;
	_Atomic unsigned nr_refs;

	pthread_mutex_t lock;   /* held for all below, also while the kernel works on a step */
	struct share **members; /* borrowed; in order of joining */
	size_t nr_members;
	unsigned batch;  /* of those that join now */
	bool may_shrink; /* one of them has Shrink=yes */
	bool is_known;
	uint64_t base_pages;      /* there before our first write: not ours to give back */
	uint64_t inherited_pages; /* there before that, and ours all the same */
	uint64_t last_pages;      /* what our last look found */
	bool is_compacted;
	bool adds_surplus; /* this kernel was seen to overshoot by the surplus of other nodes */
	unsigned nr_reasserts;
};

/* Add @share (borrowed until it leaves) and number anew. Return: 0; -ENOMEM. */
int page_account_join(struct page_account *account, struct share *share);

/* Take @share out and number the others anew. Harmless when it is no member. */
void page_account_leave(struct page_account *account, const struct share *share);

/* A settled part is tried again (Retry): compaction and re-asserting begin anew, too. */
void page_account_begin_anew(struct page_account *account);

/* Those that join from now on are a batch of their own; as page_account_begin_anew(). */
void page_account_next_batch(struct page_account *account);

/* Set what a part of a member wants, and number anew. On the worker thread. */
void page_account_want(struct page_account *account, struct part *part, uint64_t want_bytes);

/* Set what a member holds beyond its parts (lent, and not wanted any more), and number anew. */
void page_account_set_aside(struct page_account *account, struct share *share, uint64_t bytes);

/*
 * Of the pages that are in the pool, @nr_pages were added by an earlier process for what is taken
 * over from it: they are ours to give back. Before the first look at the pool.
 */
void page_account_inherit(struct page_account *account, uint64_t nr_pages);

/* Where the pages of one part begin and end. Outputs are always written. */
void page_account_span(struct page_account *account, const struct share *share, enum stage stage,
                       uint64_t *ret_start_pages, uint64_t *ret_end_pages);

/* What all members want together. The second is for callers that hold the lock. */
uint64_t page_account_wanted_pages(struct page_account *account);
uint64_t page_account_sum_pages(const struct page_account *account);

/*
 * Look whether the pool still is as we left it; makes no write. *result as in page_account_grow().
 * Return: 0; 1 somebody has lowered it below @target_pages, grow again; -EAGAIN so, and once too
 * often (REASON_RACED); -errno.
 */
int page_account_check(struct page_account *account, uint64_t target_pages,
                       struct page_account_result *result);

/*
 * Members want @nr_pages less than before: give back as many, as far as nobody else wants or uses
 * them and they are ours. Return: 0; -errno.
 */
int page_account_give_back(struct page_account *account, uint64_t nr_pages);
