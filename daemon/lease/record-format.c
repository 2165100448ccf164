/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Everything is read and written by offset and in little endian, never by a struct of C: so the
 * layout is what docs/state.md says and not what a compiler makes of it.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "../base/checksum.h"
#include "record-format.h"

static const char magic[8] = { 'n', 'o', 'd', 'e', 'i', 'n', 'i', 't' };

enum {
	HEADER_VERSION = 8,
	HEADER_PLACE_BYTES = 12,
	HEADER_SEQUENCE = 16,
	HEADER_ENTRIES_OFFSET = 24,
	HEADER_NR_SLOTS = 32,
	HEADER_CHECKSUM = 60,
};

enum {
	PLACE_CHECKSUM = 0,
	PLACE_STATE = 4,
	PLACE_SEQUENCE = 8,
	PLACE_LAST_ID = 16,
	PLACE_ID = 24,
	PLACE_PAGE_BYTES = 32,
	PLACE_BYTES = 40,
	PLACE_REALTIME = 48,
	PLACE_MONOTONIC = 56,
	PLACE_NODE = 64,
	PLACE_PAGE = 68,
	PLACE_FLAGS = 72,
	PLACE_UID = 76,
	PLACE_PID = 80,
	PLACE_POOL = 88,
	PLACE_UNIT = PLACE_POOL + RECORD_NAME_BYTES_MAX, /* version 1 ends here */
};

_Static_assert(PLACE_UNIT == RECORD_PLACE_BYTES_1, "version 1 has no unit");
_Static_assert(PLACE_UNIT + RECORD_UNIT_BYTES_MAX == RECORD_PLACE_BYTES, "the unit is the last");

#define STATE_NONE  0
#define FLAG_LOCKED 1U

static void put_32(unsigned char *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

static void put_64(unsigned char *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
}

static uint32_t get_32(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static uint64_t get_64(const unsigned char *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

void record_header_encode(const struct record_header *header, unsigned char *bytes)
{
	memset(bytes, 0, RECORD_HEADER_BYTES);
	memcpy(bytes, magic, sizeof(magic));
	put_32(bytes + HEADER_VERSION, header->version);
	put_32(bytes + HEADER_PLACE_BYTES, header->place_bytes);
	put_64(bytes + HEADER_SEQUENCE, header->sequence);
	put_64(bytes + HEADER_ENTRIES_OFFSET, header->entries_offset);
	put_64(bytes + HEADER_NR_SLOTS, header->nr_slots);
	put_32(bytes + HEADER_CHECKSUM, checksum_crc32c(bytes, HEADER_CHECKSUM));
}

int record_header_decode(const unsigned char *bytes, struct record_header *ret)
{
	struct record_header header;

	if (memcmp(bytes, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	header.version = get_32(bytes + HEADER_VERSION);
	header.place_bytes = get_32(bytes + HEADER_PLACE_BYTES);
	header.sequence = get_64(bytes + HEADER_SEQUENCE);
	header.entries_offset = get_64(bytes + HEADER_ENTRIES_OFFSET);
	header.nr_slots = get_64(bytes + HEADER_NR_SLOTS);
	if (get_32(bytes + HEADER_CHECKSUM) != checksum_crc32c(bytes, HEADER_CHECKSUM))
		return -EBADMSG;
	if (header.version > RECORD_VERSION) {
		*ret = header;
		return -EPROTONOSUPPORT;
	}
	if (header.place_bytes != (header.version == 1 ? RECORD_PLACE_BYTES_1 : RECORD_PLACE_BYTES))
		return -EBADMSG;
	if (header.nr_slots > RECORD_ENTRIES_MAX || header.entries_offset > INT64_MAX / 2)
		return -EBADMSG;
	*ret = header;
	return 0;
}

/* What is behind the end of the text stays zero. */
static void put_text(unsigned char *at, const char *text, size_t max_bytes)
{
	assert(memchr(text, '\0', max_bytes));
	memcpy(at, text, strlen(text));
}

static int get_text(const unsigned char *at, char *text, size_t max_bytes)
{
	memcpy(text, at, max_bytes);
	return memchr(text, '\0', max_bytes) ? 0 : -EBADMSG;
}

void record_place_encode(const struct record_place *place, unsigned char *bytes)
{
	const struct record_entry *entry = &place->entry;

	memset(bytes, 0, RECORD_PLACE_BYTES);
	put_32(bytes + PLACE_STATE, place->has_entry ? (uint32_t) entry->state : STATE_NONE);
	put_64(bytes + PLACE_SEQUENCE, place->sequence);
	put_64(bytes + PLACE_LAST_ID, place->last_id);
	if (place->has_entry) {
		put_64(bytes + PLACE_ID, entry->id);
		put_64(bytes + PLACE_PAGE_BYTES, entry->page_bytes);
		put_64(bytes + PLACE_BYTES, entry->bytes);
		put_64(bytes + PLACE_REALTIME, entry->since_realtime_usec);
		put_64(bytes + PLACE_MONOTONIC, entry->since_monotonic_usec);
		put_32(bytes + PLACE_NODE, entry->node_id);
		put_32(bytes + PLACE_PAGE, entry->page);
		put_32(bytes + PLACE_FLAGS, entry->is_locked ? FLAG_LOCKED : 0);
		put_32(bytes + PLACE_UID, entry->uid);
		put_32(bytes + PLACE_PID, entry->pid);
		put_text(bytes + PLACE_POOL, entry->pool, sizeof(entry->pool));
		put_text(bytes + PLACE_UNIT, entry->unit, sizeof(entry->unit));
	}
	put_32(bytes + PLACE_CHECKSUM,
	       checksum_crc32c(bytes + PLACE_STATE, RECORD_PLACE_BYTES - PLACE_STATE));
}

static int decode_entry(const unsigned char *bytes, uint32_t place_bytes, struct record_entry *ret)
{
	ret->id = get_64(bytes + PLACE_ID);
	ret->state = (enum record_state) get_32(bytes + PLACE_STATE);
	ret->page_bytes = get_64(bytes + PLACE_PAGE_BYTES);
	ret->bytes = get_64(bytes + PLACE_BYTES);
	ret->since_realtime_usec = get_64(bytes + PLACE_REALTIME);
	ret->since_monotonic_usec = get_64(bytes + PLACE_MONOTONIC);
	ret->node_id = get_32(bytes + PLACE_NODE);
	ret->page = get_32(bytes + PLACE_PAGE);
	ret->is_locked = get_32(bytes + PLACE_FLAGS) & FLAG_LOCKED;
	ret->uid = get_32(bytes + PLACE_UID);
	ret->pid = get_32(bytes + PLACE_PID);
	if (ret->id == 0 || ret->state < RECORD_FILLING || ret->state > RECORD_SPENT ||
	    ret->page_bytes == 0 || ret->bytes == 0 || ret->bytes % ret->page_bytes != 0 ||
	    get_text(bytes + PLACE_POOL, ret->pool, sizeof(ret->pool)) < 0)
		return -EBADMSG;
	if (place_bytes == RECORD_PLACE_BYTES_1)
		return 0;
	return get_text(bytes + PLACE_UNIT, ret->unit, sizeof(ret->unit));
}

int record_place_decode(const unsigned char *bytes, uint32_t place_bytes, struct record_place *ret)
{
	static const unsigned char blank[RECORD_PLACE_BYTES];
	struct record_place place = { 0 };
	int r;

	if (memcmp(bytes, blank, place_bytes) == 0)
		return -ENODATA;
	if (get_32(bytes + PLACE_CHECKSUM) !=
	    checksum_crc32c(bytes + PLACE_STATE, place_bytes - PLACE_STATE))
		return -EBADMSG;
	place.sequence = get_64(bytes + PLACE_SEQUENCE);
	if (place.sequence == 0)
		return -EBADMSG;
	place.last_id = get_64(bytes + PLACE_LAST_ID);
	place.has_entry = get_32(bytes + PLACE_STATE) != STATE_NONE;
	if (place.has_entry) {
		r = decode_entry(bytes, place_bytes, &place.entry);
		if (r < 0)
			return r;
	}
	*ret = place;
	return 0;
}
