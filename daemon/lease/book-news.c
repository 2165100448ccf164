/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the shares made, filled and destroyed goes on record. */
#include "../kinds/region.h"
#include "book-inside.h"

void book_take_news(struct book *book, struct share *share, const char *pool)
{
	struct region_news news;

	while (region_next_news(share, &news)) {
		const struct record_entry *entry = record_get(book->setup.record, news.id);
		scoped(fd_closep) int fd = news.fd;

		switch (news.change) {
		case REGION_WAS_MADE:
			book_store_made(book, share, pool, &news);
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
	book_store_rest(book, share, pool);
}

void book_forget_share(struct book *book, struct share *share)
{
	uint64_t address;

	book_store_forget(book, share);
	/* Backwards: striking one out moves the last into its place. */
	for (size_t i = record_nr(book->setup.record); i-- > 0;) {
		const struct record_entry *entry = record_at(book->setup.record, i);

		if (entry->state != RECORD_LEASED && entry->state != RECORD_DRAINING &&
		    idmap_get(&book->shares, entry->id, &address) && address == (uintptr_t) share)
			book_strike_out(book, entry->id);
	}
}
