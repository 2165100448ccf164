/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * account.h - who wants how much of a node's account of one huge page size
 *
 * Layer: kinds, for kinds only; growing and shrinking are in kind.h. Threads: any. The account
 * numbers the pages of its members through: every early part first, then every deferred one, each
 * in the order of joining. When a member shrinks or leaves, those behind it move down.
 */
#pragma once

#include "kind.h"

/* Add @share (borrowed until it leaves) and number anew. Return: 0; -ENOMEM. */
int page_account_join(struct page_account *account, struct share *share);

/* Take @share out and number the others anew. Harmless when it is no member. */
void page_account_leave(struct page_account *account, const struct share *share);

/* Number anew after a member's want_bytes changed. */
void page_account_renumber(struct page_account *account);

/* Where the pages of one part begin and end. Outputs are always written. */
void page_account_span(struct page_account *account, const struct share *share, enum stage stage,
                       uint64_t *ret_start_pages, uint64_t *ret_end_pages);

/* What all members want together. */
uint64_t page_account_wanted_pages(struct page_account *account);

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
