/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * record-inside.h - what record.c and record-open.c share
 *
 * Layer: lease. Threads: main.
 */
#pragma once

#include "../base/idmap.h"
#include "record-format.h"

struct record_row {
	struct record_entry entry;
	size_t slot;
};

struct record {
	int fd;
	struct record_header header;
	uint64_t last_id;
	struct record_row *rows; /* without gaps */
	size_t nr_rows;
	size_t rows_max;
	struct idmap by_id;  /* id -> row */
	uint64_t *sequences; /* by slot: of what counts in it; 0: nothing was ever written */
	size_t *free_slots;  /* room for all of them */
	size_t nr_free_slots;
};

/* An empty one without a file. Return: NULL: no memory. */
struct record *record_blank(void);

/* Have room for @nr_slots slots, which the file has already; new ones are free when @are_free. */
int record_hold_slots(struct record *record, size_t nr_slots, bool are_free);

/* Have a row for @entry in @slot. Return: 0; -ENOMEM. */
int record_add_row(struct record *record, const struct record_entry *entry, size_t slot);

/* Make the file have @nr_slots slots and say so in its header. Return: 0; -errno. */
int record_grow_file(struct record *record, size_t nr_slots);

/* Write the header anew, by the next sequences. Return: 0; -errno, and the former one stands. */
int record_write_header(struct record *record, const struct record_header *header);

/* What counts in @slot from now on; @entry NULL: nothing. Return: 0; -errno. */
int record_write_slot(struct record *record, size_t slot, const struct record_entry *entry);
