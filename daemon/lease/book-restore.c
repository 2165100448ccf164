/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What an earlier process left. The record says what there is; each descriptor is asked for by
 * name, and may be missing. First every share takes what it has a place for, leased regions before
 * ready ones before half filled ones; what is left at the end has no place.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../kinds/region.h"
#include "book-inside.h"

static bool is_lease(const struct record_entry *entry)
{
	return entry->state == RECORD_LEASED || entry->state == RECORD_DRAINING;
}

static struct memory describe_memory(const struct record_entry *entry, int fd)
{
	return (struct memory){
		.fd = fd,
		.page = (enum plan_page) entry->page,
		.page_bytes = entry->page_bytes,
		.bytes = entry->bytes,
		.node_id = entry->node_id,
		.is_locked = entry->is_locked,
	};
}

/* Return: whether its lifetime is there, and is watched from now on. */
static bool resume_lifetime(struct book *book, struct book_lease *lease)
{
	int fd = lease->state == LEASE_LEASED
	                 ? store_take(book->setup.store, STORE_LIFETIME, lease->id)
	                 : -ENOENT;

	/* A lifetime that is lost has ended, as far as anybody can see: what protects the lessee
	 * from then on is that the memory is in use. */
	if (fd >= 0 && !lifetime_has_ended(fd))
		return lifetimes_add(book->lifetimes, lease->id, fd) == 0;
	(void) fd_close(fd);
	return false;
}

/*
 * Put the lease of @entry in the list; @share has its region, or @fd (the book's) is it, or it is
 * lost. When there is no memory for the list it stays on record and is seen by the next process.
 */
static void restore_lease(struct book *book, const struct record_entry *entry, struct share *share,
                          int fd)
{
	scoped(freep) struct book_lease *lease = book_lease_new(entry);
	struct memory memory = describe_memory(entry, fd);

	if (!lease || book_reserve(book) < 0) {
		book->setup.memory->release(&memory);
		book->is_restore_short = true;
		return;
	}
	lease->share = share;
	lease->memory = memory;
	if (resume_lifetime(book, lease)) {
		book->sums.nr_leases++;
	} else {
		book->sums.nr_ended++;
		book_lease_drain(book, lease);
	}
	book_lease_add(book, take(lease));
}

/* What has no share: a lease goes on by itself, the rest is given back. */
static void restore_unplaced(struct book *book, const struct record_entry *entry, int fd)
{
	struct memory memory;

	if (fd < 0)
		book->sums.nr_lost += entry->state != RECORD_SPENT;
	else
		book->sums.nr_unplaced++;
	if (is_lease(entry)) {
		restore_lease(book, entry, NULL, fd < 0 ? -1 : fd);
		return;
	}
	if (fd < 0) {
		book_strike_out(book, entry->id);
		return;
	}
	memory = describe_memory(entry, fd);
	book_discard_add(book, entry->id, &memory);
}

static void restore_placed(struct book *book, const struct record_entry *entry, struct share *share)
{
	(void) idmap_put(&book->shares, entry->id, (uintptr_t) share);
	idmap_remove(&book->inherited, entry->id); /* its share counts it from now on */
	if (is_lease(entry)) {
		restore_lease(book, entry, share, -1);
		return;
	}
	if (entry->state == RECORD_READY) {
		book->sums.nr_ready++;
		book->sums.ready_bytes += entry->bytes;
	} else {
		book->sums.nr_resumed++;
	}
}

static enum region_adopted adopted_as(const struct record_entry *entry)
{
	switch (entry->state) {
	case RECORD_FILLING:
		return REGION_ADOPT_FILLING;
	case RECORD_READY:
		return REGION_ADOPT_READY;
	default:
		return REGION_ADOPT_LENT;
	}
}

static void restore_into(struct book *book, const struct record_entry *entry, struct share *share)
{
	int fd = store_take(book->setup.store, STORE_REGION, entry->id);

	if (fd >= 0 && region_adopt(share, entry->id, entry->bytes, fd, adopted_as(entry)) == 0)
		restore_placed(book, entry, share);
	else
		restore_unplaced(book, entry, fd);
}

static bool belongs_to(const struct record_entry *entry, const struct share *share,
                       const char *pool)
{
	return entry->node_id == share->node_id && entry->page == share->page &&
	       entry->page_bytes == share->page_bytes && strcmp(entry->pool, pool) == 0;
}

/*
 * A lifetime is put into the store after its lease is on record. Where the record says otherwise
 * what it said last is damaged, and its former value counts: then the store is to be believed.
 */
static void believe_lifetimes(struct book *book)
{
	struct record *record = book->setup.record;

	for (size_t i = 0; i < record_nr(record); i++) {
		const struct record_entry *entry = record_at(record, i);

		if ((entry->state == RECORD_READY || entry->state == RECORD_FILLING) &&
		    store_look(book->setup.store, STORE_LIFETIME, entry->id) >= 0)
			(void) book_record_state(book, entry->id, RECORD_LEASED);
	}
}

/* Return: ids of the record in the order in which they are to be placed; NULL: no memory. */
static uint64_t *list_ids(const struct book *book, size_t *ret_nr)
{
	static const enum record_state order[] = { RECORD_LEASED, RECORD_DRAINING, RECORD_READY,
		                                   RECORD_FILLING, RECORD_SPENT };
	size_t nr_entries = record_nr(book->setup.record), nr = 0;
	uint64_t *ids = calloc(nr_entries + 1, sizeof(*ids));

	if (!ids)
		return NULL;
	for (size_t k = 0; k < ELEMENTS(order); k++)
		for (size_t i = 0; i < nr_entries; i++) {
			const struct record_entry *entry = record_at(book->setup.record, i);

			if (entry->state == order[k])
				ids[nr++] = entry->id;
		}
	*ret_nr = nr;
	return ids;
}

/* Every entry that is not yet in its place: of @share, or (NULL) all. */
static void restore(struct book *book, struct share *share, const char *pool)
{
	scoped(freep) uint64_t *ids = NULL;
	size_t nr = 0;

	believe_lifetimes(book);
	ids = list_ids(book, &nr);
	if (!ids)
		book->is_restore_short = true;
	for (size_t i = 0; i < nr; i++) {
		/* A copy, as the record changes underneath. */
		struct record_entry entry = *record_get(book->setup.record, ids[i]);

		if (entry.id > book->last_inherited_id ||
		    idmap_get(&book->restored, entry.id, NULL))
			continue;
		if (share && (entry.state == RECORD_SPENT || !belongs_to(&entry, share, pool)))
			continue;
		/* What cannot be noted is not touched. */
		if (idmap_put(&book->restored, entry.id, 1) < 0) {
			book->is_restore_short = true;
			continue;
		}
		if (share)
			restore_into(book, &entry, share);
		else
			restore_unplaced(book, &entry,
			                 store_take(book->setup.store, STORE_REGION, entry.id));
	}
}

void book_restore_share(struct book *book, struct share *share, const char *pool)
{
	book->kernel = share->context->kernel;
	restore(book, share, pool);
}

void book_restore_end(struct book *book, struct book_restored *ret)
{
	restore(book, NULL, NULL);
	/* What was left out for want of memory is known, and is for the next process. */
	if (!book->is_restore_short)
		book->sums.nr_unknown = store_close_rest(book->setup.store);
	book->last_inherited_id = 0;
	idmap_clear(&book->restored);
	*ret = book->sums;
	book->sums = (struct book_restored){ 0 };
}
