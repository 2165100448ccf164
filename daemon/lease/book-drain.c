/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A lease ends: it drains until the kernel says that nobody has its memory. That it is spent goes
 * on record before the region is given back, so that whatever happens in between, it is not handed
 * out again.
 */
#include <errno.h>

#include "../base/size.h"
#include "../kinds/region.h"
#include "../machine/hugepages.h"
#include "../machine/machine.h"
#include "book-inside.h"

void book_lease_drain(struct book *book, struct book_lease *lease)
{
	/* Should it fail, the next process finds that its lifetime is closed, and does the same. */
	(void) book_record_state(book, lease->id, RECORD_DRAINING);
	lease->state = LEASE_DRAINING;
	lifetimes_remove(book->lifetimes, lease->id);
	store_remove(book->setup.store, STORE_LIFETIME, lease->id);
}

int book_release(struct book *book, uint64_t id)
{
	struct book_lease *lease = book_lease_find(book, id);

	if (!lease)
		return -ENOENT;
	if (lease->state == LEASE_DRAINING)
		return -EALREADY;
	lease->is_released = true;
	book_lease_drain(book, lease);
	return 0;
}

/* Whether the node could build the lease's replacement beside it. */
static bool has_room_for_another(const struct book *book, const struct book_lease *lease)
{
	const struct memory *memory = &lease->memory;
	uint64_t free_bytes, reserve_bytes = lease->share ? lease->share->reserve_bytes : 0;
	struct hugepages_count count;

	/* No share was ever seen: nobody wants to build one. */
	if (!book->kernel)
		return true;
	if (memory->page == PLAN_PAGE_HUGETLB)
		return hugepages_read(book->kernel, memory->node_id, memory->page_bytes, &count) ==
		               0 &&
		       bytes_mul(count.free_pages, memory->page_bytes) >= memory->bytes;
	return machine_read_available(book->kernel, memory->node_id, &free_bytes) == 0 &&
	       bytes_left(free_bytes, reserve_bytes) >= memory->bytes;
}

static bool is_in_use(const struct book *book, const struct book_lease *lease)
{
	int r;

	if (lease->share)
		r = region_is_lent_in_use(lease->share, lease->id);
	else if (lease->memory.fd >= 0)
		r = book->setup.memory->is_in_use(&lease->memory);
	else
		r = -EOPNOTSUPP;
	if (r == -EOPNOTSUPP)
		return !has_room_for_another(book, lease);
	/* An error is no reason to believe that nobody has it. */
	return r != 0;
}

/* Return: whether it is over, and no longer in the list. */
static bool end_lease(struct book *book, struct book_lease *lease,
                      void (*event)(void *arg, const struct book_event *event), void *arg)
{
	struct book_event over = { .what = BOOK_LEASE_OVER };

	if (book_record_state(book, lease->id, RECORD_SPENT) < 0)
		return false;
	if (lease->share)
		(void) region_return(lease->share, lease->id);
	else if (lease->memory.fd >= 0)
		book_discard_add(book, lease->id, &lease->memory);
	else
		book_strike_out(book, lease->id);
	book_lease_show(lease, &over.lease);
	event(arg, &over);
	book_lease_drop(book, lease);
	return true;
}

static void probe_later(struct book_lease *lease, uint64_t now_usec)
{
	lease->due_usec = now_usec + lease->wait_usec;
	lease->wait_usec = bytes_min(2 * lease->wait_usec, BOOK_LAST_PROBE_USEC);
}

/* Return: when the next one is due. */
static uint64_t probe_draining(struct book *book,
                               void (*event)(void *arg, const struct book_event *event), void *arg)
{
	uint64_t now_usec = book->setup.now_monotonic_usec(), next_usec = UINT64_MAX;
	unsigned nr_probes = 0;

	for (size_t i = book->nr_leases; i-- > 0;) {
		struct book_lease *lease = book->leases[i];

		if (lease->state != LEASE_DRAINING)
			continue;
		if (lease->due_usec <= now_usec && nr_probes < BOOK_STEPS_A_POLL) {
			nr_probes++;
			if (!is_in_use(book, lease) && end_lease(book, lease, event, arg))
				continue;
			probe_later(lease, now_usec);
		}
		next_usec = bytes_min(next_usec, lease->due_usec);
	}
	return next_usec;
}

static void take_ended(struct book *book, void (*event)(void *arg, const struct book_event *event),
                       void *arg)
{
	uint64_t id;

	for (unsigned n = 0;
	     n < BOOK_STEPS_A_POLL && lifetimes_next_ended(book->lifetimes, &id) == 1; n++) {
		struct book_event ended = { .what = BOOK_LEASE_ENDED };
		struct book_lease *lease = book_lease_find(book, id);

		book_lease_show(lease, &ended.lease);
		book_lease_drain(book, lease);
		event(arg, &ended);
	}
}

uint64_t book_poll(struct book *book, void (*event)(void *arg, const struct book_event *event),
                   void *arg)
{
	uint64_t next_usec;

	take_ended(book, event, arg);
	next_usec = probe_draining(book, event, arg);
	return book_discard_step(book) ? book->setup.now_monotonic_usec() : next_usec;
}
