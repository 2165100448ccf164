/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The reader of what an earlier process wrote, of this version or the one before. An older one is
 * converted on file: the entries are written anew behind the old ones, and then one write of the
 * header makes them count.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "../base/size.h"
#include "record-inside.h"

#define SLOTS_A_READ 64

/* Return: 0; -EBADMSG it ends before; -errno. */
static int read_at(int fd, unsigned char *bytes, size_t nr_bytes, uint64_t offset)
{
	ssize_t nr_read = pread(fd, bytes, nr_bytes, (off_t) offset);

	if (nr_read < 0)
		return -errno;
	return (size_t) nr_read == nr_bytes ? 0 : -EBADMSG;
}

/* Return: 0; -EBADMSG it is none that a record could be read from and written to. */
static int check_file(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR)
		return -EBADMSG;
	return 0;
}

/* Of the two headers the later one that is whole. */
static int read_header(int fd, struct record_header *ret)
{
	unsigned char bytes[2 * RECORD_HEADER_BYTES];
	struct record_header header[2] = { 0 };
	int r, result[2];
	unsigned at;

	r = read_at(fd, bytes, sizeof(bytes), 0);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < 2; i++) {
		result[i] = record_header_decode(bytes + i * RECORD_HEADER_BYTES, &header[i]);
		/* What a newer process has begun is none of ours, whichever header it is in. */
		if (result[i] == -EPROTONOSUPPORT) {
			*ret = header[i];
			return -EPROTONOSUPPORT;
		}
	}
	if (result[0] < 0 && result[1] < 0)
		return -EBADMSG;
	at = result[0] < 0 || (result[1] == 0 && header[1].sequence > header[0].sequence);
	*ret = header[at];
	return 0;
}

/*
 * Of the two places of a slot the later one that is whole.
 * Return: 0 and *ret; -ENODATA never used; -EBADMSG none is whole, and there was one.
 */
static int read_slot(const unsigned char *bytes, uint32_t place_bytes, struct record_place *ret)
{
	int result = -ENODATA;

	ret->sequence = 0;
	for (unsigned i = 0; i < 2; i++) {
		struct record_place place;
		int r = record_place_decode(bytes + i * place_bytes, place_bytes, &place);

		if (r == 0 && place.sequence % 2 != i)
			r = -EBADMSG;
		if (r == 0 && place.sequence > ret->sequence) {
			*ret = place;
			result = 0;
		} else if (r == -EBADMSG && result == -ENODATA) {
			result = -EBADMSG;
		}
	}
	return result;
}

/* Take in one slot. Return: 0; -EBADMSG it is damaged, and free; -ENOMEM. */
static int load_slot(struct record *record, size_t slot, const unsigned char *bytes)
{
	struct record_place place;
	int r = read_slot(bytes, record->header.place_bytes, &place);

	record->sequences[slot] = r == 0 ? place.sequence : 0;
	if (r == 0 && place.last_id > record->last_id)
		record->last_id = place.last_id;
	if (r == 0 && place.has_entry) {
		if (!record_get(record, place.entry.id))
			return record_add_row(record, &place.entry, slot);
		r = -EBADMSG;
	}
	record->free_slots[record->nr_free_slots++] = slot;
	return r == -EBADMSG ? r : 0;
}

/* Slots @first to @end, the last one first, so that the lowest free slot is taken first. */
static int load_some(struct record *record, size_t first, size_t end, unsigned char *bytes,
                     size_t *nr_damaged)
{
	size_t slot_bytes = 2 * (size_t) record->header.place_bytes;
	int r = read_at(record->fd, bytes, (end - first) * slot_bytes,
	                record->header.entries_offset + first * slot_bytes);

	if (r < 0)
		return r;
	for (size_t slot = end; slot-- > first;) {
		r = load_slot(record, slot, bytes + (slot - first) * slot_bytes);
		if (r == -EBADMSG)
			++*nr_damaged;
		else if (r < 0)
			return r;
	}
	return 0;
}

static int load(struct record *record, size_t *ret_nr_damaged)
{
	size_t nr_slots = record->header.nr_slots, nr_damaged = 0;
	scoped(freep) unsigned char *bytes = NULL;
	int r;

	r = record_hold_slots(record, nr_slots, false);
	bytes = malloc(SLOTS_A_READ * 2 * (size_t) record->header.place_bytes);
	if (r < 0 || !bytes)
		return -ENOMEM;
	for (size_t end = nr_slots; end > 0;) {
		size_t first = end > SLOTS_A_READ ? end - SLOTS_A_READ : 0;

		r = load_some(record, first, end, bytes, &nr_damaged);
		if (r < 0)
			return r;
		end = first;
	}
	*ret_nr_damaged = nr_damaged;
	return 0;
}

/* @old has the entries, @record the file, of which nothing counts yet. */
static int write_anew(struct record *record, const struct record *old, uint64_t offset)
{
	struct record_header header = {
		.version = RECORD_VERSION,
		.place_bytes = RECORD_PLACE_BYTES,
		.entries_offset = offset,
		.nr_slots = bytes_max(old->nr_rows, 1),
	};
	uint64_t file_bytes = 2 * header.nr_slots * RECORD_PLACE_BYTES;
	int r;

	if (fallocate(record->fd, 0, (off_t) offset, (off_t) file_bytes) < 0)
		return -errno;
	r = record_hold_slots(record, header.nr_slots, old->nr_rows == 0);
	if (r < 0)
		return r;
	record->header = old->header;
	record->header.entries_offset = offset;
	record->last_id = old->last_id;
	/* Without entries something has to carry the last id. */
	if (old->nr_rows == 0) {
		r = record_write_slot(record, 0, NULL);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < old->nr_rows; i++) {
		r = record_add_row(record, &old->rows[i].entry, i);
		if (r == 0)
			r = record_write_slot(record, i, &old->rows[i].entry);
		if (r < 0)
			return r;
	}
	return record_write_header(record, &header);
}

/* The new entries begin on a page of their own behind all that was ever written. */
static int convert(struct record **slot)
{
	scoped(record_freep) struct record *record = record_blank();
	struct record *old = *slot;
	struct stat st;
	int r;

	if (!record)
		return -ENOMEM;
	if (fstat(old->fd, &st) < 0)
		return -errno;
	record->fd = old->fd;
	r = write_anew(record, old, bytes_round_up((uint64_t) st.st_size, RECORD_ENTRIES_OFFSET));
	if (r < 0) {
		record->fd = -1;
		return r;
	}
	/* Only to save the memory: what is there does not count any more. */
	(void) fallocate(record->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	                 (off_t) old->header.entries_offset,
	                 (off_t) (2 * old->header.nr_slots * old->header.place_bytes));
	old->fd = -1;
	(void) record_free(old);
	*slot = take(record);
	return 0;
}

static int open_into(struct record **slot, size_t *ret_nr_damaged)
{
	int r = load(*slot, ret_nr_damaged);

	return r == 0 && (*slot)->header.version < RECORD_VERSION ? convert(slot) : r;
}

int record_open(int fd, struct record **ret, size_t *ret_nr_damaged, uint32_t *ret_version)
{
	scoped(record_freep) struct record *record = NULL;
	struct record_header header;
	size_t nr_damaged;
	int r;

	r = check_file(fd);
	if (r < 0)
		return r;
	r = read_header(fd, &header);
	if (r == -EPROTONOSUPPORT)
		*ret_version = header.version;
	if (r < 0)
		return r;
	record = record_blank();
	if (!record)
		return -ENOMEM;
	record->fd = fd;
	record->header = header;
	r = open_into(&record, &nr_damaged);
	if (r < 0) {
		/* It stays the caller's. */
		record->fd = -1;
		return r;
	}
	*ret = take(record);
	*ret_nr_damaged = nr_damaged;
	*ret_version = header.version;
	return 0;
}
