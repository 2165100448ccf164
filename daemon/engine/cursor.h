/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cursor.h - which chunk is next
 *
 * Layer: engine. Threads: any number take, one sets up while nobody takes.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cursor {
	_Atomic uint64_t next;
	uint64_t nr_chunks;
};

/* Begin with chunk 0 of @nr_chunks. */
static inline void cursor_set(struct cursor *cursor, uint64_t nr_chunks)
{
	cursor->nr_chunks = nr_chunks;
	atomic_store_explicit(&cursor->next, 0, memory_order_release);
}

/* Take the next chunk. Return: false when none is left. */
static inline bool cursor_take(struct cursor *cursor, uint64_t *ret_index)
{
	uint64_t index = atomic_fetch_add_explicit(&cursor->next, 1, memory_order_acq_rel);

	if (index >= cursor->nr_chunks)
		return false;
	*ret_index = index;
	return true;
}

/* No further chunk is handed out; those that are being worked on end by themselves. */
static inline void cursor_close(struct cursor *cursor)
{
	atomic_store_explicit(&cursor->next, UINT64_MAX / 2, memory_order_release);
}

/* How many chunks nobody has taken yet. Others may take them while the caller reads the answer. */
static inline uint64_t cursor_left(const struct cursor *cursor)
{
	uint64_t next = atomic_load_explicit(&cursor->next, memory_order_acquire);

	return next < cursor->nr_chunks ? cursor->nr_chunks - next : 0;
}
