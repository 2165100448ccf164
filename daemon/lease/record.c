/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The writer. Room on file is taken before it is needed, so that changing or striking out an entry
 * cannot run short of memory; write(2) is used and not a mapping, which would answer a lack of
 * memory with a signal.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "record-inside.h"

/* As in kinds/memory.c: since Linux 6.3, older headers lack it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

#define SLOTS_A_STEP 256

struct record *record_blank(void)
{
	struct record *record = calloc(1, sizeof(*record));

	if (record)
		record->fd = -1;
	return record;
}

struct record *record_free(struct record *record)
{
	if (!record)
		return NULL;
	record->fd = fd_close(record->fd);
	idmap_clear(&record->by_id);
	free(record->rows);
	free(record->sequences);
	free(record->free_slots);
	free(record);
	return NULL;
}

/* One that is cut short leaves the other place, and so the former value. */
static int write_at(int fd, const unsigned char *bytes, size_t nr_bytes, uint64_t offset)
{
	ssize_t written = pwrite(fd, bytes, nr_bytes, (off_t) offset);

	if (written < 0)
		return -errno;
	return (size_t) written == nr_bytes ? 0 : -ENOSPC;
}

static int write_one_header(struct record *record, const struct record_header *header)
{
	struct record_header next = *header;
	unsigned char bytes[RECORD_HEADER_BYTES];
	int r;

	next.sequence = record->header.sequence + 1;
	record_header_encode(&next, bytes);
	r = write_at(record->fd, bytes, sizeof(bytes), next.sequence % 2 * RECORD_HEADER_BYTES);
	if (r < 0)
		return r;
	record->header = next;
	return 0;
}

/* Both places: a header that is damaged later must not bring back one that knows fewer slots. */
int record_write_header(struct record *record, const struct record_header *header)
{
	int r = write_one_header(record, header);

	if (r < 0)
		return r;
	(void) write_one_header(record, header);
	return 0;
}

int record_write_slot(struct record *record, size_t slot, const struct record_entry *entry)
{
	struct record_place place = {
		.sequence = record->sequences[slot] + 1,
		.last_id = record->last_id,
		.has_entry = entry != NULL,
	};
	unsigned char bytes[RECORD_PLACE_BYTES];
	uint64_t nr_places = 2 * (uint64_t) slot + place.sequence % 2;
	int r;

	if (entry) {
		place.entry = *entry;
		if (entry->id > place.last_id)
			place.last_id = entry->id;
	}
	record_place_encode(&place, bytes);
	r = write_at(record->fd, bytes, sizeof(bytes),
	             record->header.entries_offset + nr_places * RECORD_PLACE_BYTES);
	if (r < 0)
		return r;
	record->sequences[slot] = place.sequence;
	record->last_id = place.last_id;
	return 0;
}

int record_hold_slots(struct record *record, size_t nr_slots, bool are_free)
{
	uint64_t *sequences;
	size_t *free_slots;

	/* One more than none: for an empty record NULL would mean that there is no memory. */
	sequences = reallocarray(record->sequences, nr_slots + 1, sizeof(*sequences));
	if (!sequences)
		return -ENOMEM;
	record->sequences = sequences;
	free_slots = reallocarray(record->free_slots, nr_slots + 1, sizeof(*free_slots));
	if (!free_slots)
		return -ENOMEM;
	record->free_slots = free_slots;
	/* The lowest is taken first. */
	for (size_t slot = nr_slots; slot-- > record->header.nr_slots;) {
		sequences[slot] = 0;
		if (are_free)
			free_slots[record->nr_free_slots++] = slot;
	}
	return 0;
}

int record_grow_file(struct record *record, size_t nr_slots)
{
	struct record_header header = record->header;
	uint64_t from = header.entries_offset + 2 * header.nr_slots * RECORD_PLACE_BYTES;
	uint64_t more_bytes = 2 * (nr_slots - header.nr_slots) * RECORD_PLACE_BYTES;

	if (fallocate(record->fd, 0, (off_t) from, (off_t) more_bytes) < 0)
		return -errno;
	header.nr_slots = nr_slots;
	return record_write_header(record, &header);
}

static int grow(struct record *record)
{
	size_t nr_slots = record->header.nr_slots + SLOTS_A_STEP, nr_free = record->nr_free_slots;
	int r;

	if (nr_slots > RECORD_ENTRIES_MAX)
		nr_slots = RECORD_ENTRIES_MAX;
	if (nr_slots == record->header.nr_slots)
		return -ENOSPC;
	r = record_hold_slots(record, nr_slots, true);
	if (r < 0)
		return r;
	r = record_grow_file(record, nr_slots);
	if (r < 0)
		record->nr_free_slots = nr_free;
	return r;
}

int record_add_row(struct record *record, const struct record_entry *entry, size_t slot)
{
	int r;

	if (record->nr_rows == record->rows_max) {
		size_t max = record->rows_max ? 2 * record->rows_max : 64;
		struct record_row *rows = reallocarray(record->rows, max, sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		record->rows = rows;
		record->rows_max = max;
	}
	r = idmap_put(&record->by_id, entry->id, record->nr_rows);
	if (r < 0)
		return r;
	record->rows[record->nr_rows++] = (struct record_row){ *entry, slot };
	return 0;
}

/* The last row takes its place. */
static void drop_row(struct record *record, size_t row)
{
	size_t last = --record->nr_rows;

	idmap_remove(&record->by_id, record->rows[row].entry.id);
	if (row == last)
		return;
	record->rows[row] = record->rows[last];
	/* Cannot fail: the id is in the map already. */
	(void) idmap_put(&record->by_id, record->rows[row].entry.id, row);
}

static int make_memfd(void)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("nodeinit-state", flags | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("nodeinit-state", flags);
	return fd < 0 ? -errno : fd;
}

int record_new(struct record **ret)
{
	scoped(record_freep) struct record *record = record_blank();
	struct record_header header = {
		.version = RECORD_VERSION,
		.place_bytes = RECORD_PLACE_BYTES,
		.entries_offset = RECORD_ENTRIES_OFFSET,
	};
	int r;

	if (!record)
		return -ENOMEM;
	record->fd = make_memfd();
	if (record->fd < 0)
		return record->fd;
	/* It only ever grows: whoever else has it cannot cut off what we rely upon. */
	if (fcntl(record->fd, F_ADD_SEALS, F_SEAL_SHRINK) < 0)
		return -errno;
	r = record_write_header(record, &header);
	if (r < 0)
		return r;
	r = grow(record);
	if (r < 0)
		return r;
	*ret = take(record);
	return 0;
}

int record_fd(const struct record *record)
{
	return record->fd;
}

static int put_new(struct record *record, const struct record_entry *entry)
{
	size_t slot;
	int r;

	if (record->nr_free_slots == 0) {
		r = grow(record);
		if (r < 0)
			return r;
	}
	slot = record->free_slots[record->nr_free_slots - 1];
	r = record_add_row(record, entry, slot);
	if (r < 0)
		return r;
	r = record_write_slot(record, slot, entry);
	if (r < 0) {
		drop_row(record, record->nr_rows - 1);
		return r;
	}
	record->nr_free_slots--;
	return 0;
}

int record_put(struct record *record, const struct record_entry *entry)
{
	uint64_t row;
	int r;

	assert(entry->id > 0 && entry->state >= RECORD_FILLING && entry->state <= RECORD_SPENT);
	if (!idmap_get(&record->by_id, entry->id, &row))
		return put_new(record, entry);
	r = record_write_slot(record, record->rows[row].slot, entry);
	if (r < 0)
		return r;
	record->rows[row].entry = *entry;
	return 0;
}

const struct record_entry *record_get(const struct record *record, uint64_t id)
{
	uint64_t row;

	return idmap_get(&record->by_id, id, &row) ? &record->rows[row].entry : NULL;
}

void record_remove(struct record *record, uint64_t id)
{
	uint64_t row;
	size_t slot;

	if (!idmap_get(&record->by_id, id, &row))
		return;
	slot = record->rows[row].slot;
	/* Should it fail all the same, the next process finds an entry without a descriptor. The
	 * slot is not used again then, as that is no reason for two entries in one. */
	if (record_write_slot(record, slot, NULL) == 0)
		record->free_slots[record->nr_free_slots++] = slot;
	drop_row(record, row);
}

size_t record_nr(const struct record *record)
{
	return record->nr_rows;
}

const struct record_entry *record_at(const struct record *record, size_t i)
{
	assert(i < record->nr_rows);
	return &record->rows[i].entry;
}

uint64_t record_last_id(const struct record *record)
{
	return record->last_id;
}
