/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Regions that have no share: no worker destroys them, so the main thread does, a step at a time,
 * as freeing a large file in one go would hold up the loop for seconds.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/size.h"
#include "book-inside.h"

void book_strike_out(struct book *book, uint64_t id)
{
	record_remove(book->setup.record, id);
	store_remove(book->setup.store, STORE_REGION, id);
	idmap_remove(&book->shares, id);
	idmap_remove(&book->unstored, id);
}

static int reserve(struct book *book)
{
	size_t max = book->discards_max ? 2 * book->discards_max : 16;
	struct book_discard *discards;

	if (book->nr_discards < book->discards_max)
		return 0;
	discards = reallocarray(book->discards, max, sizeof(*discards));
	if (!discards)
		return -ENOMEM;
	book->discards = discards;
	book->discards_max = max;
	return 0;
}

void book_discard_add(struct book *book, uint64_t id, const struct memory *memory)
{
	struct book_discard discard = { .id = id, .memory = *memory };

	(void) book_record_state(book, id, RECORD_SPENT);
	if (reserve(book) < 0) {
		/* Better held up than lost. */
		book->setup.memory->destroy(&discard.memory);
		book_strike_out(book, id);
		return;
	}
	book->discards[book->nr_discards++] = discard;
}

uint64_t book_step_bytes(const struct memory *memory, uint64_t done_bytes)
{
	uint64_t left_bytes = memory->bytes - done_bytes;

	/* A page that is larger than a step goes as a whole. */
	return bytes_min(bytes_round_up(bytes_min(BOOK_STEP_BYTES, left_bytes), memory->page_bytes),
	                 left_bytes);
}

bool book_discard_step(struct book *book)
{
	struct book_discard *discard;
	uint64_t step_bytes;

	if (book->nr_discards == 0)
		return false;
	discard = &book->discards[book->nr_discards - 1];
	step_bytes = book_step_bytes(&discard->memory, discard->done_bytes);
	if (book->setup.memory->discard(&discard->memory, discard->done_bytes, step_bytes) == 0)
		discard->done_bytes += step_bytes;
	else
		discard->done_bytes = discard->memory.bytes;
	/* What could not go in steps goes with the rest. */
	if (discard->done_bytes == discard->memory.bytes) {
		book->setup.memory->destroy(&discard->memory);
		book_strike_out(book, discard->id);
		book->nr_discards--;
	}
	return book->nr_discards > 0;
}
