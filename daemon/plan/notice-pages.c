/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an operator wants to be told of the huge pages that are there, and that are not. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "draft.h"

/* From here on the buddy allocator cannot give a page; it is pieced together, or not. */
#define GIGANTIC_BYTES GIB

/* Pages of one size against what all pools together want of it. */
struct pages {
	bool is_wanted;  /* on any node */
	bool may_shrink; /* a pool may take away what is too much */
	uint64_t nr_missing;
	uint64_t nr_extra;
	struct idset extra_nodes;
};

static void pages_clear(struct pages *pages)
{
	idset_clear(&pages->extra_nodes);
}

static int compare_node(const struct plan_node *planned, const struct machine_node *node,
                        uint64_t page_bytes, size_t size, struct pages *pages)
{
	uint64_t wanted_pages, wanted_bytes = 0;

	for (size_t i = 0; i < planned->nr_shares; i++) {
		const struct plan_share *share = &planned->shares[i];

		if (share->pool->page != PLAN_PAGE_HUGETLB || share->pool->page_bytes != page_bytes)
			continue;
		pages->is_wanted = true;
		pages->may_shrink |= share->pool->may_shrink;
		wanted_bytes += share->early_bytes + share->deferred_bytes;
	}
	wanted_pages = wanted_bytes / page_bytes;
	pages->nr_missing += bytes_left(wanted_pages, node->hugepages[size].nr_pages);
	if (node->hugepages[size].nr_pages <= wanted_pages)
		return 0;
	pages->nr_extra += node->hugepages[size].nr_pages - wanted_pages;
	return idset_add(&pages->extra_nodes, node->node_id);
}

/* Source of the numbers: measured on Linux 6.18, 47 to 100 ms a page of 1 GiB. */
static int say_missing(struct draft *draft, uint64_t page_bytes, const struct pages *pages)
{
	char size[SIZE_TEXT_MAX];

	if (page_bytes < GIGANTIC_BYTES || pages->nr_missing == 0)
		return 0;
	return draft_say(draft->plan,
	                 "huge pages of %s to be added at run time: %" PRIu64
	                 "; that takes 50 to 100 ms per GiB, and is refused once memory is "
	                 "fragmented; better at boot: hugepagesz=%" PRIu64 "G hugepages=%" PRIu64,
	                 size_text(page_bytes, size), pages->nr_missing, page_bytes / GIB,
	                 pages->nr_missing);
}

/* What others have put there, or a boot parameter that did not do what it said. */
static int say_extra(struct draft *draft, uint64_t page_bytes, const struct pages *pages)
{
	scoped(freep) char *nodes = NULL;
	char size[SIZE_TEXT_MAX];

	if (!pages->is_wanted || pages->may_shrink || pages->nr_extra == 0)
		return 0;
	nodes = idset_text(&pages->extra_nodes);
	if (!nodes)
		return -ENOMEM;
	return draft_say(draft->plan,
	                 "node%s %s: %" PRIu64
	                 " huge page%s of %s more than the pools want there, left as %s "
	                 "(Shrink=yes would give back what is not in use)",
	                 idset_nr(&pages->extra_nodes) == 1 ? "" : "s", nodes, pages->nr_extra,
	                 pages->nr_extra == 1 ? "" : "s", size_text(page_bytes, size),
	                 pages->nr_extra == 1 ? "it is" : "they are");
}

int draft_notice_pages(struct draft *draft)
{
	int r = 0;

	for (size_t size = 0; size < draft->machine->nr_page_sizes && r == 0; size++) {
		scoped(pages_clear) struct pages pages = { .is_wanted = false };
		uint64_t page_bytes = draft->machine->page_sizes[size];

		for (size_t i = 0; i < draft->plan->nr_nodes && r == 0; i++) {
			const struct plan_node *planned = &draft->plan->nodes[i];
			const struct machine_node *node =
				machine_node(draft->machine, planned->node_id);

			if (node)
				r = compare_node(planned, node, page_bytes, size, &pages);
		}
		if (r == 0)
			r = say_missing(draft, page_bytes, &pages);
		if (r == 0)
			r = say_extra(draft, page_bytes, &pages);
	}
	return r;
}
