/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Regions on their way onto the record and into the store. A region is on record before its
 * descriptor is in the store, and goes out of the record before it is taken out of the store: what
 * is in the store and not on record is closed by the next process, what is on record and not in the
 * store is lost to it, and neither was ever a lease.
 *
 * Either can fail for a while, for want of memory or of a descriptor. The region is of use all the
 * same, so it is tried again: whenever its share is looked at, and before it is lent, for a lease
 * is what must not be lost with this process.
 */
#include <errno.h>
#include <string.h>

#include "../kinds/region.h"
#include "book-inside.h"

static void describe(const struct share *share, const char *pool, uint64_t id, uint64_t bytes,
                     enum record_state state, struct record_entry *ret)
{
	*ret = (struct record_entry){
		.id = id,
		.state = state,
		.node_id = share->node_id,
		.page = share->page,
		.page_bytes = share->page_bytes,
		.bytes = bytes,
		.is_locked = share->is_locked,
	};
	(void) memccpy(ret->pool, pool, '\0', sizeof(ret->pool) - 1);
}

/* On record unless it is there already, then into the store. Return: 0; -errno. */
static int enter(struct book *book, struct share *share, const struct record_entry *entry, int fd)
{
	int r = 0;

	/* What is not on record would be closed by the next process anyway. */
	if (!record_get(book->setup.record, entry->id))
		r = record_put(book->setup.record, entry);
	if (r < 0)
		return r;
	/* Without it a share that leaves does not take the entry along; the next process does. */
	(void) idmap_put(&book->shares, entry->id, (uintptr_t) share);
	return fd < 0 ? fd : store_put(book->setup.store, STORE_REGION, entry->id, fd);
}

void book_store_made(struct book *book, struct share *share, const char *pool,
                     const struct region_news *news)
{
	struct record_entry entry;
	int r;

	describe(share, pool, news->id, news->bytes, RECORD_FILLING, &entry);
	r = enter(book, share, &entry, news->fd);
	if (r == 0 || !store_is_there(book->setup.store))
		return;
	if (book->unstored.nr >= BOOK_UNSTORED_MAX ||
	    idmap_put(&book->unstored, news->id, (uintptr_t) share) < 0)
		book->has_more_unstored = true;
}

void book_store_again(struct book *book, struct share *share, const char *pool, uint64_t id)
{
	struct record_entry entry;
	uint64_t bytes = 0;
	int fd;

	/* To put once more what is there already does no harm. */
	if (!book->has_more_unstored && !idmap_get(&book->unstored, id, NULL))
		return;
	fd = region_duplicate(share, id, &bytes);
	if (fd < 0)
		return;
	/* As what is lent already is on record, it is about to be, or it is ready. */
	describe(share, pool, id, bytes, RECORD_READY, &entry);
	if (enter(book, share, &entry, fd) == 0)
		idmap_remove(&book->unstored, id);
	(void) fd_close(fd);
}

void book_store_rest(struct book *book, struct share *share, const char *pool)
{
	const struct idmap *unstored = &book->unstored;
	uint64_t ids[BOOK_STORES_A_LOOK];
	size_t nr = 0, first = book->next_unstored;

	/* Listed first, as what is removed moves others. The next look goes on behind them. */
	for (size_t i = 0; i < unstored->nr_places && nr < BOOK_STORES_A_LOOK; i++) {
		size_t at = (first + i) % unstored->nr_places;

		if (unstored->ids[at] == 0 || unstored->values[at] != (uintptr_t) share)
			continue;
		ids[nr++] = unstored->ids[at];
		book->next_unstored = at + 1;
	}
	for (size_t i = 0; i < nr; i++)
		book_store_again(book, share, pool, ids[i]);
}

void book_store_forget(struct book *book, const struct share *share)
{
	struct idmap *unstored = &book->unstored;
	size_t at = 0;

	/* What is removed may bring another one into its place. */
	while (at < unstored->nr_places)
		if (unstored->ids[at] != 0 && unstored->values[at] == (uintptr_t) share)
			idmap_remove(unstored, unstored->ids[at]);
		else
			at++;
}
