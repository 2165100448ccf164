/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * size.h - amounts of memory: read from text, printed for people, computed without overflow
 *
 * Layer: base. Threads: any; no state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

/* How an amount was written; what it comes to depends on the node and the page. */
enum amount_unit {
	AMOUNT_BYTES,   /* 64G */
	AMOUNT_PERCENT, /* 75% of something the caller names; value is in 1/100 of a percent */
	AMOUNT_PAGES,   /* 4096p, pages of the pool's page size */
};

struct amount {
	enum amount_unit unit;
	uint64_t value;
};

/*
 * Read "64G", "1.5T", "75%", "12.5%" or "4096p". Units B K M G T P are powers of 1024; an "iB"
 * or "B" may follow (GiB, GB). Blanks around it and before the unit are fine. "0" needs no unit.
 *
 * Return: 0 and *ret; -EINVAL not an amount; -EDOM a number without unit (two readings: bytes
 * and pages); -ERANGE it does not fit into 64 bits, or more than 100 %.
 */
int amount_parse(const char *text, struct amount *ret);

/*
 * What @amount comes to, in bytes: @whole_bytes is what a percentage is of, @page_bytes what a
 * page is. Rounded down to a byte; never above UINT64_MAX (it saturates).
 */
uint64_t amount_bytes(struct amount amount, uint64_t whole_bytes, uint64_t page_bytes);

/*
 * Print @bytes for people: "512 MiB", "1.5 TiB", "4 KiB", with at most one decimal, rounded down,
 * into @buffer of at least SIZE_TEXT_MAX bytes. Return: @buffer.
 */
#define SIZE_TEXT_MAX 48
const char *size_text(uint64_t bytes, char *buffer);

/*
 * Print @usec for people, in one unit or two: "90 us", "850 ms", "3.4 s", "2 min 10 s", "1 h";
 * "infinity" for UINT64_MAX. Return: @buffer, SIZE_TEXT_MAX bytes.
 */
const char *duration_text(uint64_t usec, char *buffer);

/*
 * Read a time span: "500ms", "30s", "5min", "2h", "infinity"; as in systemd.time(7) a number
 * without unit is seconds. Return: 0 and *ret_usec (UINT64_MAX for infinity); -EINVAL; -ERANGE.
 */
int duration_parse(const char *text, uint64_t *ret_usec);

/* Products and sums that stop at UINT64_MAX instead of wrapping. */
uint64_t bytes_mul(uint64_t nr_units, uint64_t unit_bytes);
uint64_t bytes_add(uint64_t a_bytes, uint64_t b_bytes);

static inline uint64_t bytes_round_down(uint64_t bytes, uint64_t unit_bytes)
{
	return unit_bytes ? bytes - bytes % unit_bytes : bytes;
}

/* Up to the next multiple of @unit_bytes; saturates at the last multiple below UINT64_MAX. */
uint64_t bytes_round_up(uint64_t bytes, uint64_t unit_bytes);

static inline uint64_t bytes_min(uint64_t a_bytes, uint64_t b_bytes)
{
	return a_bytes < b_bytes ? a_bytes : b_bytes;
}

static inline uint64_t bytes_max(uint64_t a_bytes, uint64_t b_bytes)
{
	return a_bytes > b_bytes ? a_bytes : b_bytes;
}

/* a - b, or 0 where b is larger. */
static inline uint64_t bytes_left(uint64_t a_bytes, uint64_t b_bytes)
{
	return a_bytes > b_bytes ? a_bytes - b_bytes : 0;
}
