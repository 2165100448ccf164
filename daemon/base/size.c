/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "scoped.h"
#include "size.h"

#define USEC_PER_MSEC UINT64_C(1000)
#define USEC_PER_SEC  (1000 * USEC_PER_MSEC)
#define USEC_PER_MIN  (60 * USEC_PER_SEC)
#define USEC_PER_HOUR (60 * USEC_PER_MIN)
#define USEC_PER_DAY  (24 * USEC_PER_HOUR)

/* 100 %, in 1/100 of a percent */
#define PERCENT_WHOLE 10000

/* Products of two 64-bit numbers. __extension__: ISO C has no such type. */
__extension__ typedef unsigned __int128 wide;

/*
 * "12.5" as whole.fraction / scale. Digits past the 18th after the point are below anything that
 * a unit here can resolve and are passed over.
 */
struct decimal {
	uint64_t whole;
	uint64_t fraction;
	uint64_t scale;
	bool is_fractional; /* there was a point, even if only zeros follow */
	bool is_too_large;
};

#define DECIMAL_SCALE_MAX UINT64_C(1000000000000000000)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t\r\n");
}

/* Return: what follows the number, or NULL when @text does not begin with one. */
static const char *decimal_parse(const char *text, struct decimal *ret)
{
	struct decimal decimal = { .scale = 1 };

	if (!is_digit(*text))
		return NULL;
	for (; is_digit(*text); text++)
		if (__builtin_mul_overflow(decimal.whole, UINT64_C(10), &decimal.whole) ||
		    __builtin_add_overflow(decimal.whole, (uint64_t) (*text - '0'), &decimal.whole))
			decimal.is_too_large = true;
	if (*text == '.') {
		decimal.is_fractional = true;
		if (!is_digit(*++text))
			return NULL;
		for (; is_digit(*text); text++)
			if (decimal.scale < DECIMAL_SCALE_MAX) {
				decimal.fraction = decimal.fraction * 10 + (uint64_t) (*text - '0');
				decimal.scale *= 10;
			}
	}
	*ret = decimal;
	return text;
}

/* Return: 0 and *ret = @decimal * @unit, rounded down; -ERANGE. */
static int decimal_times(const struct decimal *decimal, uint64_t unit, uint64_t *ret)
{
	wide product = (wide) decimal->whole * unit;

	/* The scale is at most 2^60, a unit at most 2^50: no overflow here. */
	product += (wide) decimal->fraction * unit / decimal->scale;
	if (decimal->is_too_large || product > UINT64_MAX)
		return -ERANGE;
	*ret = (uint64_t) product;
	return 0;
}

static bool ends_here(const char *text)
{
	return *skip_blanks(text) == '\0';
}

static int percent_parse(const struct decimal *decimal, struct amount *ret)
{
	uint64_t value;

	if (decimal->is_too_large || decimal->whole > 100 ||
	    (decimal->whole == 100 && decimal->fraction > 0))
		return -ERANGE;
	if (decimal_times(decimal, PERCENT_WHOLE / 100, &value) < 0)
		return -ERANGE;
	*ret = (struct amount){ .unit = AMOUNT_PERCENT, .value = value };
	return 0;
}

static int bytes_parse(const struct decimal *decimal, const char *unit, struct amount *ret)
{
	static const char letters[] = "BKMGTP";
	const char *letter = *unit ? strchr(letters, *unit) : NULL;
	uint64_t value;
	int r;

	if (!letter)
		return -EINVAL;
	unit++;
	if (*letter == 'B') {
		/* There is no half a byte. */
		if (decimal->is_fractional)
			return -EINVAL;
	} else if (strncmp(unit, "iB", 2) == 0) {
		unit += 2;
	} else if (*unit == 'B') {
		unit++;
	}
	if (!ends_here(unit))
		return -EINVAL;
	r = decimal_times(decimal, UINT64_C(1) << (10 * (letter - letters)), &value);
	if (r < 0)
		return r;
	*ret = (struct amount){ .unit = AMOUNT_BYTES, .value = value };
	return 0;
}

int amount_parse(const char *text, struct amount *ret)
{
	struct decimal decimal;
	const char *unit = decimal_parse(skip_blanks(text), &decimal);

	if (!unit)
		return -EINVAL;
	unit = skip_blanks(unit);
	if (*unit == '\0') {
		if (decimal.whole > 0 || decimal.fraction > 0 || decimal.is_too_large)
			return -EDOM;
		*ret = (struct amount){ .unit = AMOUNT_BYTES, .value = 0 };
		return 0;
	}
	if (*unit == '%')
		return ends_here(unit + 1) ? percent_parse(&decimal, ret) : -EINVAL;
	if (*unit == 'p') {
		if (!ends_here(unit + 1) || decimal.is_fractional)
			return -EINVAL;
		if (decimal.is_too_large)
			return -ERANGE;
		*ret = (struct amount){ .unit = AMOUNT_PAGES, .value = decimal.whole };
		return 0;
	}
	return bytes_parse(&decimal, unit, ret);
}

uint64_t amount_bytes(struct amount amount, uint64_t whole_bytes, uint64_t page_bytes)
{
	wide product;

	switch (amount.unit) {
	case AMOUNT_BYTES:
		return amount.value;
	case AMOUNT_PERCENT:
		product = (wide) whole_bytes * amount.value / PERCENT_WHOLE;
		return product > UINT64_MAX ? UINT64_MAX : (uint64_t) product;
	case AMOUNT_PAGES:
		return bytes_mul(amount.value, page_bytes);
	}
	return 0;
}

/*
 * Rounded down: a sum that is shown must not claim a tenth more than there is, and "64 GiB" must
 * not appear while a page of it is still missing.
 */
const char *size_text(uint64_t bytes, char *buffer)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	size_t i = 0;
	uint64_t unit, tenths;

	while (i + 1 < ELEMENTS(units) && bytes >> (10 * (i + 1)))
		i++;
	unit = UINT64_C(1) << (10 * i);
	tenths = (uint64_t) ((wide) (bytes % unit) * 10 / unit);
	if (tenths)
		(void) snprintf(buffer, SIZE_TEXT_MAX, "%" PRIu64 ".%u %s", bytes / unit,
		                (unsigned) tenths, units[i]);
	else
		(void) snprintf(buffer, SIZE_TEXT_MAX, "%" PRIu64 " %s", bytes / unit, units[i]);
	return buffer;
}

/* "2 min 10 s", or "2 min" when the smaller part is 0. */
static void two_units(uint64_t large, const char *large_unit, uint64_t small,
                      const char *small_unit, char *buffer)
{
	if (small)
		(void) snprintf(buffer, SIZE_TEXT_MAX, "%" PRIu64 " %s %" PRIu64 " %s", large,
		                large_unit, small, small_unit);
	else
		(void) snprintf(buffer, SIZE_TEXT_MAX, "%" PRIu64 " %s", large, large_unit);
}

const char *duration_text(uint64_t usec, char *buffer)
{
	if (usec == UINT64_MAX)
		(void) snprintf(buffer, SIZE_TEXT_MAX, "infinity");
	else if (usec > 0 && usec < USEC_PER_MSEC)
		(void) snprintf(buffer, SIZE_TEXT_MAX, "%" PRIu64 " us", usec);
	else if (usec < USEC_PER_SEC)
		(void) snprintf(buffer, SIZE_TEXT_MAX, "%" PRIu64 " ms", usec / USEC_PER_MSEC);
	else if (usec < USEC_PER_MIN)
		(void) snprintf(buffer, SIZE_TEXT_MAX, "%" PRIu64 ".%" PRIu64 " s",
		                usec / USEC_PER_SEC, usec % USEC_PER_SEC * 10 / USEC_PER_SEC);
	else if (usec < USEC_PER_HOUR)
		two_units(usec / USEC_PER_MIN, "min", usec % USEC_PER_MIN / USEC_PER_SEC, "s",
		          buffer);
	else if (usec < USEC_PER_DAY)
		two_units(usec / USEC_PER_HOUR, "h", usec % USEC_PER_HOUR / USEC_PER_MIN, "min",
		          buffer);
	else
		two_units(usec / USEC_PER_DAY, "d", usec % USEC_PER_DAY / USEC_PER_HOUR, "h",
		          buffer);
	return buffer;
}

/* Return: µs of the unit that is the first @nr_chars of @text, 0 when there is none such. */
static uint64_t time_unit_usec(const char *text, size_t nr_chars)
{
	static const struct {
		const char *name;
		uint64_t usec;
	} units[] = {
		{ "us", 1 },
		{ "usec", 1 },
		{ "ms", USEC_PER_MSEC },
		{ "msec", USEC_PER_MSEC },
		{ "", USEC_PER_SEC },
		{ "s", USEC_PER_SEC },
		{ "sec", USEC_PER_SEC },
		{ "second", USEC_PER_SEC },
		{ "seconds", USEC_PER_SEC },
		{ "m", USEC_PER_MIN },
		{ "min", USEC_PER_MIN },
		{ "minute", USEC_PER_MIN },
		{ "minutes", USEC_PER_MIN },
		{ "h", USEC_PER_HOUR },
		{ "hr", USEC_PER_HOUR },
		{ "hour", USEC_PER_HOUR },
		{ "hours", USEC_PER_HOUR },
		{ "d", USEC_PER_DAY },
		{ "day", USEC_PER_DAY },
		{ "days", USEC_PER_DAY },
	};

	for (size_t i = 0; i < ELEMENTS(units); i++)
		if (strlen(units[i].name) == nr_chars &&
		    strncmp(units[i].name, text, nr_chars) == 0)
			return units[i].usec;
	return 0;
}

int duration_parse(const char *text, uint64_t *ret_usec)
{
	uint64_t total_usec = 0;

	text = skip_blanks(text);
	if (strncmp(text, "infinity", strlen("infinity")) == 0 &&
	    ends_here(text + strlen("infinity"))) {
		*ret_usec = UINT64_MAX;
		return 0;
	}
	do {
		struct decimal decimal;
		const char *unit = decimal_parse(text, &decimal);
		uint64_t unit_usec, usec;
		size_t nr_chars;

		if (!unit)
			return -EINVAL;
		unit = skip_blanks(unit);
		nr_chars = strcspn(unit, " \t\r\n.0123456789");
		unit_usec = time_unit_usec(unit, nr_chars);
		if (unit_usec == 0)
			return -EINVAL;
		if (decimal_times(&decimal, unit_usec, &usec) < 0 ||
		    __builtin_add_overflow(total_usec, usec, &total_usec) ||
		    total_usec == UINT64_MAX)
			return -ERANGE;
		text = skip_blanks(unit + nr_chars);
	} while (*text);
	*ret_usec = total_usec;
	return 0;
}

uint64_t bytes_mul(uint64_t nr_units, uint64_t unit_bytes)
{
	uint64_t product;

	return __builtin_mul_overflow(nr_units, unit_bytes, &product) ? UINT64_MAX : product;
}

uint64_t bytes_add(uint64_t a_bytes, uint64_t b_bytes)
{
	uint64_t sum;

	return __builtin_add_overflow(a_bytes, b_bytes, &sum) ? UINT64_MAX : sum;
}

uint64_t bytes_round_up(uint64_t bytes, uint64_t unit_bytes)
{
	uint64_t down_bytes = bytes_round_down(bytes, unit_bytes);

	if (down_bytes == bytes || bytes_left(UINT64_MAX, down_bytes) < unit_bytes)
		return down_bytes;
	return down_bytes + unit_bytes;
}
