/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A lease ends: it drains until the kernel says that nobody has its memory, and until its pages are
 * back where they are needed. That it is spent goes on record before the region is given back, so
 * that whatever happens in between, it is not handed out again.
 */
#include <errno.h>

#include "../kinds/region.h"
#include "book-inside.h"

/* What one book_poll() has left to do. */
struct turn {
	unsigned nr_probes;
	unsigned nr_looks;
	uint64_t step_bytes;
	uint64_t now_usec;
	void (*event)(void *arg, const struct book_event *event);
	void *arg;
};

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

/* Return: 1 somebody has it; 0 nobody; -EOPNOTSUPP nobody can say. */
static int ask_who_has(const struct book *book, const struct book_lease *lease)
{
	int r;

	if (lease->share)
		r = region_is_lent_in_use(lease->share, lease->id);
	else if (lease->memory.fd >= 0)
		r = book->setup.memory->is_in_use(&lease->memory);
	else
		r = -EOPNOTSUPP;
	/* An error is no reason to believe that nobody has it. */
	return r < 0 && r != -EOPNOTSUPP ? 1 : r;
}

/* Nobody has it: it goes back, as what may never be handed out again. Return: 0; -errno. */
static int give_back(struct book *book, struct book_lease *lease)
{
	int r = book_record_state(book, lease->id, RECORD_SPENT);

	if (r < 0)
		return r;
	if (lease->share)
		(void) region_return(lease->share, lease->id);
	else
		book_discard_add(book, lease->id, &lease->memory);
	return 0;
}

/* Somebody may have it: it is forgotten first, so that no process ever empties it. */
static void leave_behind(struct book *book, struct book_lease *lease)
{
	book_strike_out(book, lease->id);
	if (lease->share)
		(void) region_abandon(lease->share, lease->id);
	else
		book->setup.memory->release(&lease->memory);
}

enum outlook { OVER, AT_ONCE, LATER };

/*
 * What becomes of a lease whose memory nobody has (@is_sure), or of which nobody can say. Where its
 * pages are needed they go back first, while it is on record as draining: who holds some of them
 * all the same is in the list for as long as they are missing, and a process that is killed in
 * between leaves it to the next one, which begins with that anew.
 */
static enum outlook take_back(struct book *book, struct book_lease *lease, bool is_sure,
                              struct turn *turn)
{
	int r = 0;

	if (is_sure && book_needs_pages(lease)) {
		if (lease->nr_pages_before == 0) {
			book_note_pages(book, lease);
			turn->nr_looks--;
		}
		r = book_empty_step(lease, &turn->step_bytes);
	}
	if (r != 0)
		return r < 0 ? LATER : AT_ONCE;
	if (!is_sure || book_needs_pages(lease)) {
		if (turn->nr_looks == 0)
			return AT_ONCE;
		turn->nr_looks--;
		if (!book_has_room(book, lease))
			return LATER;
	}
	if (!is_sure)
		leave_behind(book, lease);
	else if (give_back(book, lease) < 0)
		return LATER;
	return OVER;
}

static enum outlook look_at(struct book *book, struct book_lease *lease, struct turn *turn)
{
	int who = ask_who_has(book, lease);

	turn->nr_probes--;
	if (who != 1)
		return take_back(book, lease, who == 0, turn);
	/* Whoever opened it since the last look may have put pages in again. */
	lease->emptied_bytes = 0;
	return LATER;
}

/* Whether this turn can do for @lease what is to be done next. */
static bool has_turn(const struct book_lease *lease, const struct turn *turn)
{
	if (lease->due_usec > turn->now_usec || turn->nr_probes == 0)
		return false;
	return !book_needs_pages(lease) || (turn->step_bytes > 0 && turn->nr_looks > 0);
}

static void tell_over(struct book_lease *lease, const struct turn *turn)
{
	struct book_event over = { .what = BOOK_LEASE_OVER };

	book_lease_show(lease, &over.lease);
	turn->event(turn->arg, &over);
}

/* Return: when the next one is due. */
static uint64_t look_at_draining(struct book *book, struct turn *turn)
{
	uint64_t next_usec = UINT64_MAX;

	for (size_t i = book->nr_leases; i-- > 0;) {
		struct book_lease *lease = book->leases[i];
		enum outlook outlook = AT_ONCE;

		if (lease->state != LEASE_DRAINING)
			continue;
		if (has_turn(lease, turn))
			outlook = look_at(book, lease, turn);
		if (outlook == OVER) {
			tell_over(lease, turn);
			book_lease_drop(book, lease);
			continue;
		}
		if (outlook == LATER) {
			lease->due_usec = turn->now_usec + lease->wait_usec;
			lease->wait_usec = bytes_min(2 * lease->wait_usec, BOOK_LAST_PROBE_USEC);
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
	struct turn turn = { BOOK_STEPS_A_POLL, BOOK_LOOKS_A_POLL, BOOK_STEP_BYTES, 0, event, arg };
	uint64_t next_usec;

	take_ended(book, event, arg);
	turn.now_usec = book->setup.now_monotonic_usec();
	next_usec = look_at_draining(book, &turn);
	return book_discard_step(book) ? book->setup.now_monotonic_usec() : next_usec;
}
