/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pattern.h"

/* Read as volatile: somebody else may be writing at the same time. */
static uint64_t word_at(enum pattern pattern, uint64_t offset_bytes)
{
	return (uint64_t) pattern << 32 | offset_bytes / sizeof(uint64_t);
}

void pattern_write(void *memory, uint64_t bytes, uint64_t offset_bytes, enum pattern pattern)
{
	volatile uint64_t *at = memory;

	for (uint64_t i = 0; i < bytes / sizeof(*at); i++)
		at[i] = word_at(pattern, offset_bytes + i * sizeof(*at));
}

bool pattern_is(const void *memory, uint64_t bytes, uint64_t offset_bytes, enum pattern pattern)
{
	const volatile uint64_t *at = memory;

	for (uint64_t i = 0; i < bytes / sizeof(*at); i++)
		if (at[i] != word_at(pattern, offset_bytes + i * sizeof(*at)))
			return false;
	return true;
}

bool pattern_has(const void *memory, uint64_t bytes, enum pattern pattern)
{
	const volatile uint64_t *at = memory;

	for (uint64_t i = 0; i < bytes / sizeof(*at); i++)
		if (at[i] >> 32 == (uint64_t) pattern)
			return true;
	return false;
}

bool pattern_is_none(const void *memory, uint64_t bytes)
{
	const volatile uint64_t *at = memory;

	for (uint64_t i = 0; i < bytes / sizeof(*at); i++)
		if (at[i] != 0)
			return false;
	return true;
}
