/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * record-image.h - records as bytes, and a writer that is stopped
 *
 * Threads: main. For programs linked with --wrap=pwrite64 and --wrap=fallocate64 (meson builds with
 * 64-bit file offsets everywhere). The layout is written out here a second time, from docs/state.md.
 */
#pragma once

#include "../../daemon/lease/record.h"

/* From now on only so many more bytes reach any file; then everything seems to succeed. */
void image_stop_after(uint64_t bytes);

/* The next writes, or the next calls of fallocate, answer -@error; 0: no more. */
void image_fail_writes(int error);
void image_fail_room(int error);

/* All bytes of @fd. The caller frees. */
unsigned char *image_read(int fd, size_t *ret_bytes);

/* A memfd that has them. */
int image_file(const unsigned char *bytes, size_t nr_bytes);

/* A record of version @version, whose places are of @place_bytes, without entries; the second slot
 * has both places all zero, the others do not exist. The caller frees. */
unsigned char *image_new(uint32_t version, uint32_t place_bytes, uint64_t nr_slots,
                         size_t *ret_bytes);

/* Write one place; its number follows from the sequence. State 0: no entry. */
void image_put(unsigned char *bytes, uint32_t place_bytes, size_t slot, uint64_t sequence,
               uint64_t last_id, const struct record_entry *entry);

/* An entry with every field set, all different. */
struct record_entry image_entry(uint64_t id, enum record_state state);

void image_expect_same(const struct record_entry *entry, const struct record_entry *expected);

/* Open a duplicate of @fd; it has to be a record. */
struct record *image_open(int fd, size_t *ret_nr_damaged);
