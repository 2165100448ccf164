/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the shares made and destroyed goes on record. A region is on record before its descriptor is
 * in the store, and goes out of the record before it is taken out of the store: what is in the
 * store and not on record is closed by the next process, what is on record and not in the store is
 * lost to it, and neither was ever a lease.
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

static void take_made(struct book *book, struct share *share, const char *pool,
                      const struct region_news *news)
{
	scoped(fd_closep) int fd = news->fd;
	struct record_entry entry;

	describe(share, pool, news->id, news->bytes, RECORD_FILLING, &entry);
	/* What is not on record would be closed by the next process anyway. */
	if (record_put(book->setup.record, &entry) < 0)
		return;
	if (fd >= 0)
		(void) store_put(book->setup.store, STORE_REGION, news->id, fd);
	/* Without it a share that leaves does not take the entry along; the next process does. */
	(void) idmap_put(&book->shares, news->id, (uintptr_t) share);
}

void book_take_news(struct book *book, struct share *share, const char *pool)
{
	struct region_news news;

	while (region_next_news(share, &news)) {
		const struct record_entry *entry = record_get(book->setup.record, news.id);

		switch (news.change) {
		case REGION_WAS_MADE:
			take_made(book, share, pool, &news);
			break;
		case REGION_BECAME_READY:
			if (entry && entry->state == RECORD_FILLING)
				(void) book_record_state(book, news.id, RECORD_READY);
			break;
		case REGION_IS_GONE:
			book_strike_out(book, news.id);
			break;
		}
	}
}

void book_forget_share(struct book *book, struct share *share)
{
	uint64_t address;

	/* Backwards: striking one out moves the last into its place. */
	for (size_t i = record_nr(book->setup.record); i-- > 0;) {
		const struct record_entry *entry = record_at(book->setup.record, i);

		if (entry->state != RECORD_LEASED && entry->state != RECORD_DRAINING &&
		    idmap_get(&book->shares, entry->id, &address) && address == (uintptr_t) share)
			book_strike_out(book, entry->id);
	}
}
