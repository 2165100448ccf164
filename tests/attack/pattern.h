/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pattern.h - bytes that say whose they are, and of which place
 *
 * Each 64 bits are the owner's number and the offset in the region, so that one word is enough to
 * know them again wherever they turn up. Zero is nobody's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum pattern {
	PATTERN_ATTACKER = 0x0a77ac4e,
	PATTERN_VICTIM = 0x0ca4a127, /* the canary */
};

/* @bytes and @offset_bytes are multiples of 8. */
void pattern_write(void *memory, uint64_t bytes, uint64_t offset_bytes, enum pattern pattern);

/* Whether all of it is the pattern's. */
bool pattern_is(const void *memory, uint64_t bytes, uint64_t offset_bytes, enum pattern pattern);

/* Whether any word of it is. */
bool pattern_has(const void *memory, uint64_t bytes, enum pattern pattern);

/* Whether all of it is zero. */
bool pattern_is_none(const void *memory, uint64_t bytes);
