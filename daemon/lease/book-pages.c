/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The pages of what drains, and those of what takes its place. The kernel says who has a file, and
 * not who holds a page of it; that shows only in what the node has free.
 */
#include "../kinds/region.h"
#include "../machine/hugepages.h"
#include "../machine/machine.h"
#include "book-inside.h"

bool book_needs_pages(const struct book_lease *lease)
{
	return lease->share && lease->memory.page == PLAN_PAGE_HUGETLB &&
	       region_is_replaced(lease->share, lease->id);
}

static bool read_pages(const struct book *book, const struct book_lease *lease,
                       struct hugepages_count *ret)
{
	const struct memory *memory = &lease->memory;

	return book->kernel &&
	       hugepages_read(book->kernel, memory->node_id, memory->page_bytes, ret) == 0;
}

void book_note_pages(const struct book *book, struct book_lease *lease)
{
	struct hugepages_count count;

	if (lease->nr_pages_before == 0 && read_pages(book, lease, &count))
		lease->nr_pages_before = count.nr_pages;
}

int book_empty_step(struct book_lease *lease, uint64_t *step_bytes)
{
	uint64_t bytes = book_step_bytes(&lease->memory, lease->emptied_bytes);
	int r;

	if (bytes == 0)
		return 0;
	r = region_discard_lent(lease->share, lease->id, lease->emptied_bytes, bytes);
	if (r < 0)
		return r;
	*step_bytes = bytes_left(*step_bytes, bytes);
	lease->emptied_bytes += bytes;
	if (lease->emptied_bytes < lease->memory.bytes)
		return 1;
	/* From now on it is waited for something else. */
	lease->wait_usec = BOOK_FIRST_PROBE_USEC;
	return 0;
}

/* Free pages that others of the lease's share are about to take. */
static uint64_t coming_bytes(const struct book_lease *lease)
{
	struct region_counts counts;

	if (!lease->share)
		return 0;
	region_count_states(lease->share, &counts);
	return counts.coming_bytes;
}

/*
 * A page that somebody keeps stays in the pool's count, as surplus if the pool is made smaller; one
 * that was freed leaves it. So what the count has lost is held by nobody.
 */
static bool has_pages(const struct book *book, struct book_lease *lease, uint64_t wanted_bytes)
{
	struct hugepages_count count;
	uint64_t nr_missing;

	book_note_pages(book, lease);
	if (!read_pages(book, lease, &count))
		return false;
	nr_missing = bytes_left(wanted_bytes / lease->memory.page_bytes, count.free_pages);
	return nr_missing <= bytes_left(lease->nr_pages_before, count.nr_pages);
}

bool book_has_room(const struct book *book, struct book_lease *lease)
{
	const struct memory *memory = &lease->memory;
	uint64_t free_bytes, reserve_bytes = lease->share ? lease->share->reserve_bytes : 0;
	uint64_t wanted_bytes = bytes_add(memory->bytes, coming_bytes(lease));

	/* No share was ever seen, or none has a place for it: nobody wants to build one. */
	if (!book->kernel || (lease->share && !region_is_replaced(lease->share, lease->id)))
		return true;
	if (memory->page == PLAN_PAGE_HUGETLB)
		return has_pages(book, lease, wanted_bytes);
	return machine_read_available(book->kernel, memory->node_id, &free_bytes) == 0 &&
	       bytes_left(free_bytes, reserve_bytes) >= wanted_bytes;
}
