/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scoped.h"
#include "text.h"

#define USEC_PER_SEC UINT64_C(1000000)

const char *text_size(uint64_t bytes, bool is_exact, char *buffer)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	uint64_t tenths, rest = 0;
	size_t unit = 0;

	if (is_exact) {
		(void) snprintf(buffer, TEXT_MAX, "%" PRIu64, bytes);
		return buffer;
	}
	for (; bytes >= 1024 && unit + 1 < ELEMENTS(units); unit++) {
		rest = bytes % 1024;
		bytes /= 1024;
	}
	/* Rounded down: "64 GiB" must not appear while a page of it is still missing. */
	tenths = bytes * 10 + rest * 10 / 1024;
	if (tenths % 10)
		(void) snprintf(buffer, TEXT_MAX, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10,
		                tenths % 10, units[unit]);
	else
		(void) snprintf(buffer, TEXT_MAX, "%" PRIu64 " %s", tenths / 10, units[unit]);
	return buffer;
}

const char *text_span(uint64_t usec, char *buffer)
{
	uint64_t seconds = usec / USEC_PER_SEC, tenths = usec / (USEC_PER_SEC / 10);

	if (usec < USEC_PER_SEC)
		(void) snprintf(buffer, TEXT_MAX, "%" PRIu64 " ms", usec / 1000);
	else if (seconds < 60)
		(void) snprintf(buffer, TEXT_MAX, "%" PRIu64 ".%" PRIu64 " s", tenths / 10,
		                tenths % 10);
	else if (seconds < 3600)
		(void) snprintf(buffer, TEXT_MAX, "%" PRIu64 " min %" PRIu64 " s", seconds / 60,
		                seconds % 60);
	else
		(void) snprintf(buffer, TEXT_MAX, "%" PRIu64 " h %" PRIu64 " min", seconds / 3600,
		                seconds / 60 % 60);
	return buffer;
}

const char *text_time_left(uint64_t left_bytes, uint64_t rate_bytes, char *buffer)
{
	uint64_t seconds;

	if (!left_bytes || !rate_bytes) {
		(void) snprintf(buffer, TEXT_MAX, "-");
		return buffer;
	}
	seconds = left_bytes / rate_bytes + (left_bytes % rate_bytes != 0);
	if (seconds >= 3600 * UINT64_C(100))
		(void) snprintf(buffer, TEXT_MAX, ">99 h");
	else if (seconds >= 3600)
		(void) snprintf(buffer, TEXT_MAX, "%" PRIu64 ":%02u:%02u", seconds / 3600,
		                (unsigned) (seconds / 60 % 60), (unsigned) (seconds % 60));
	else
		(void) snprintf(buffer, TEXT_MAX, "%" PRIu64 ":%02u", seconds / 60,
		                (unsigned) (seconds % 60));
	return buffer;
}

unsigned text_percent(uint64_t done_bytes, uint64_t total_bytes)
{
	unsigned percent;

	if (done_bytes >= total_bytes)
		return 100;
	percent = (unsigned) ((double) done_bytes / (double) total_bytes * 100);
	return percent > 99 ? 99 : percent;
}

/* One character of UTF-8 (D-Bus lets nothing else through); *ret_bytes is at least 1. */
static uint32_t decode(const unsigned char *at, size_t *ret_bytes)
{
	size_t bytes = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : at[0] >= 0xc0 ? 2 : 1, i;
	uint32_t rune = bytes == 1 ? at[0] : at[0] & (0x7fU >> bytes);

	for (i = 1; i < bytes; i++) {
		if ((at[i] & 0xc0) != 0x80) {
			*ret_bytes = 1;
			return at[0];
		}
		rune = rune << 6 | (at[i] & 0x3f);
	}
	*ret_bytes = bytes;
	return rune;
}

static bool drives_terminal(uint32_t rune)
{
	return rune < 0x20 || (rune >= 0x7f && rune < 0xa0) || rune == 0x200e || rune == 0x200f ||
	       (rune >= 0x2028 && rune <= 0x202e) || (rune >= 0x2066 && rune <= 0x2069);
}

char *text_escape(const char *foreign)
{
	const unsigned char *from = (const unsigned char *) foreign;
	size_t rune_bytes;
	char *copy, *to;

	copy = to = malloc(strlen(foreign) * 4 + 1);
	if (!copy)
		return NULL;
	for (; *from; from += rune_bytes) {
		uint32_t rune = decode(from, &rune_bytes);

		if (!drives_terminal(rune)) {
			memcpy(to, from, rune_bytes);
			to += rune_bytes;
		} else {
			to += sprintf(to, rune < 0x100 ? "\\x%02x" : "\\u%04x", rune);
		}
	}
	*to = '\0';
	return copy;
}

static int span_unit(const char *unit, size_t nr_letters, uint64_t *ret_usec)
{
	static const struct {
		const char *name;
		uint64_t usec;
	} units[] = {
		{ "", USEC_PER_SEC },
		{ "us", 1 },
		{ "ms", 1000 },
		{ "s", USEC_PER_SEC },
		{ "sec", USEC_PER_SEC },
		{ "m", USEC_PER_SEC * 60 },
		{ "min", USEC_PER_SEC * 60 },
		{ "h", USEC_PER_SEC * 3600 },
		{ "hr", USEC_PER_SEC * 3600 },
		{ "d", USEC_PER_SEC * 86400 },
	};
	size_t i;

	for (i = 0; i < ELEMENTS(units); i++)
		if (strlen(units[i].name) == nr_letters &&
		    memcmp(units[i].name, unit, nr_letters) == 0) {
			*ret_usec = units[i].usec;
			return 0;
		}
	return -EINVAL;
}

int text_parse_span(const char *text, uint64_t *ret_usec)
{
	uint64_t sum_usec = 0, part_usec, unit_usec;
	size_t nr_letters;
	int r;

	if (strcmp(text, "infinity") == 0) {
		*ret_usec = UINT64_MAX;
		return 0;
	}
	do {
		char *end;

		text += strspn(text, " ");
		if (!isdigit((unsigned char) *text))
			return -EINVAL;
		errno = 0;
		part_usec = strtoull(text, &end, 10);
		if (errno)
			return -ERANGE;
		text = end + strspn(end, " ");
		for (nr_letters = 0; isalpha((unsigned char) text[nr_letters]);)
			nr_letters++;
		r = span_unit(text, nr_letters, &unit_usec);
		if (r < 0)
			return r;
		if (__builtin_mul_overflow(part_usec, unit_usec, &part_usec) ||
		    __builtin_add_overflow(sum_usec, part_usec, &sum_usec) ||
		    sum_usec == UINT64_MAX)
			return -ERANGE;
		text += nr_letters;
		text += strspn(text, " ");
	} while (*text);
	*ret_usec = sum_usec;
	return 0;
}

/* Products of two 64-bit numbers. __extension__: ISO C has no such type. */
__extension__ typedef unsigned __int128 wide;

/* Digits past the 18th after the point are below a byte of any unit and are passed over. */
#define SCALE_MAX UINT64_C(1000000000000000000)

/* What follows the decimal number @text begins with. *ret_nr is in 1/ *ret_scale. */
static int parse_decimal(const char *text, wide *ret_nr, uint64_t *ret_scale, const char **ret_end)
{
	bool is_fraction = false;
	uint64_t scale = 1;
	wide nr = 0;

	if (!isdigit((unsigned char) *text))
		return -EINVAL;
	for (;; text++) {
		if (*text == '.' && !is_fraction && isdigit((unsigned char) text[1])) {
			is_fraction = true;
			continue;
		}
		if (!isdigit((unsigned char) *text))
			break;
		if (is_fraction && scale == SCALE_MAX)
			continue;
		/* 2^64 whole ones in the finest scale, and a digit more, fit into 128 bits. */
		if (nr / scale > UINT64_MAX)
			return -ERANGE;
		nr = nr * 10 + (unsigned) (*text - '0');
		scale *= is_fraction ? 10 : 1;
	}
	*ret_nr = nr;
	*ret_scale = scale;
	*ret_end = text;
	return 0;
}

int text_parse_bytes(const char *text, uint64_t *ret_bytes)
{
	static const char letters[] = "BKMGTP";
	const char *letter;
	uint64_t scale, whole, rest;
	unsigned shift;
	wide nr;
	int r;

	r = parse_decimal(text + strspn(text, " "), &nr, &scale, &text);
	if (r < 0)
		return r;
	text += strspn(text, " ");
	if (!*text && nr)
		return -EDOM;
	letter = *text ? strchr(letters, *text) : letters;
	/* There is no half a byte. */
	if (!letter || (letter == letters && scale > 1))
		return -EINVAL;
	if (*text && *text++ != 'B')
		text += strncmp(text, "iB", 2) == 0 ? 2 : *text == 'B';
	if (text[strspn(text, " ")])
		return -EINVAL;
	shift = 10 * (unsigned) (letter - letters);
	if (nr / scale > UINT64_MAX >> shift)
		return -ERANGE;
	whole = (uint64_t) (nr / scale) << shift;
	rest = (uint64_t) (((nr % scale) << shift) / scale);
	*ret_bytes = whole + rest;
	return 0;
}

#define WORD_MAX 24

int text_parse_node(const char *text, uint32_t *ret_id)
{
	const char *digits = strncmp(text, "node", 4) == 0 ? text + 4 : text;
	unsigned long id;

	if (!*digits || strspn(digits, "0123456789") != strlen(digits))
		return -EINVAL;
	errno = 0;
	id = strtoul(digits, NULL, 10);
	if (errno || id > UINT32_MAX)
		return -EINVAL;
	*ret_id = (uint32_t) id;
	return 0;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Letters to insert, drop, change or swap to get from @a to @b; WORD_MAX for what is too long. */
static unsigned slips(const char *a, const char *b)
{
	unsigned table[WORD_MAX + 1][WORD_MAX + 1];
	size_t nr_a = strlen(a), nr_b = strlen(b), i, j;

	if (nr_a > WORD_MAX || nr_b > WORD_MAX)
		return WORD_MAX;
	for (i = 0; i <= nr_a; i++)
		table[i][0] = (unsigned) i;
	for (j = 0; j <= nr_b; j++)
		table[0][j] = (unsigned) j;
	for (i = 1; i <= nr_a; i++)
		for (j = 1; j <= nr_b; j++) {
			table[i][j] = least(table[i - 1][j] + 1, table[i][j - 1] + 1,
			                    table[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    table[i - 2][j - 2] + 1 < table[i][j])
				table[i][j] = table[i - 2][j - 2] + 1;
		}
	return table[nr_a][nr_b];
}

const char *text_meant(const char *typed, const char *const *words, size_t nr_words)
{
	const char *best = NULL, *begun = NULL;
	unsigned best_slips = 3, nr_begun = 0, n;
	size_t i;

	for (i = 0; i < nr_words; i++) {
		n = slips(typed, words[i]);
		if (n < best_slips && n < strlen(words[i])) {
			best_slips = n;
			best = words[i];
		}
		if (*typed && strncmp(typed, words[i], strlen(typed)) == 0) {
			begun = words[i];
			nr_begun++;
		}
	}
	return nr_begun == 1 ? begun : best;
}
