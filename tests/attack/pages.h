/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pages.h - the kinds of pages that the attacks are tried on: base, thp, hugetlb
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum page_kind { PAGES_BASE, PAGES_THP, PAGES_HUGETLB };

struct pages {
	enum page_kind kind;
	const char *name;    /* on the command line */
	const char *setting; /* PageSize= of a pool */
	uint64_t page_bytes;
};

/*
 * The kind of this name, or leave the program as skipped where this machine does not give it to us.
 * hugetlb: from now on we have the machine's pool to ourselves, with a few pages more in it, until
 * pages_give_back().
 */
const struct pages *pages_require(const char *name);
void pages_give_back(void);

/*
 * Have exactly @nr_pages free huge pages, and no more. Return: whether that is so: other programs
 * may have free ones that are not ours to take.
 */
bool pages_leave(uint64_t nr_pages);

/* A new file of such pages, sized, not filled, as a program would make it. Ends by must(). */
int pages_file(const struct pages *pages, uint64_t bytes);
