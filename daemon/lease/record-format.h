/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * record-format.h - the bytes of the record: headers and entries to and from what is on file
 *
 * Layer: lease, private to record.c and record-open.c. Threads: any; no state. The layout is in
 * docs/state.md.
 */
#pragma once

#include "record.h"

#define RECORD_HEADER_BYTES   64
#define RECORD_ENTRIES_OFFSET 4096

/* What one place of an entry takes, by version. */
#define RECORD_PLACE_BYTES   280
#define RECORD_PLACE_BYTES_1 152

struct record_header {
	uint32_t version;
	uint32_t place_bytes;
	uint64_t sequence;
	uint64_t entries_offset;
	uint64_t nr_slots; /* of two places each; what lies behind them is not part of it */
};

/* One place: the entry as of one write, or that there is none any more. */
struct record_place {
	uint64_t sequence; /* of the slot; odd ones are in its second place */
	uint64_t last_id;  /* the highest id of the whole record at that time */
	bool has_entry;
	struct record_entry entry;
};

/* @bytes: RECORD_HEADER_BYTES. */
void record_header_encode(const struct record_header *header, unsigned char *bytes);

/* Return: 0 and *ret; -EBADMSG; -EPROTONOSUPPORT a newer version, and *ret->version. */
int record_header_decode(const unsigned char *bytes, struct record_header *ret);

/* @bytes: RECORD_PLACE_BYTES. */
void record_place_encode(const struct record_place *place, unsigned char *bytes);

/*
 * @place_bytes says which version it is.
 * Return: 0 and *ret; -ENODATA nothing was ever written; -EBADMSG damaged, or half written.
 */
int record_place_decode(const unsigned char *bytes, uint32_t place_bytes, struct record_place *ret);
