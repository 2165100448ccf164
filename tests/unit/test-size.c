/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "suite.h"

static void expect_amount(const char *text, enum amount_unit unit, uint64_t value)
{
	struct amount amount = { .unit = AMOUNT_PAGES, .value = 12345 };

	ck_assert_msg(amount_parse(text, &amount) == 0, "'%s' was refused", text);
	ck_assert_msg(amount.unit == unit, "'%s' has unit %d", text, (int) amount.unit);
	ck_assert_msg(amount.value == value, "'%s' is %llu", text,
	              (unsigned long long) amount.value);
}

static void expect_refused(const char *text, int error)
{
	struct amount amount = { .unit = AMOUNT_PAGES, .value = 12345 };
	int r = amount_parse(text, &amount);

	ck_assert_msg(r == error, "'%s' gave %d, not %d", text, r, error);
	ck_assert_uint_eq(amount.value, 12345);
}

START_TEST(test_units_are_powers_of_1024)
{
	expect_amount("7B", AMOUNT_BYTES, 7);
	expect_amount("3K", AMOUNT_BYTES, 3 * KIB);
	expect_amount("512M", AMOUNT_BYTES, 512 * MIB);
	expect_amount("64G", AMOUNT_BYTES, 64 * GIB);
	expect_amount("2T", AMOUNT_BYTES, 2 * TIB);
	expect_amount("1P", AMOUNT_BYTES, 1024 * TIB);
}
END_TEST

START_TEST(test_long_units_and_blanks_are_fine)
{
	expect_amount("64GiB", AMOUNT_BYTES, 64 * GIB);
	expect_amount("64GB", AMOUNT_BYTES, 64 * GIB);
	expect_amount("  64 GiB\n", AMOUNT_BYTES, 64 * GIB);
	expect_amount("\t4096 p ", AMOUNT_PAGES, 4096);
	expect_amount("75 %", AMOUNT_PERCENT, 7500);
}
END_TEST

START_TEST(test_fractions_are_exact_to_the_byte)
{
	expect_amount("1.5T", AMOUNT_BYTES, TIB + TIB / 2);
	expect_amount("0.1K", AMOUNT_BYTES, 102);
	expect_amount("0.999999999999999999P", AMOUNT_BYTES, 1024 * TIB - 1);
	expect_amount("1.0000000000000000000000000009G", AMOUNT_BYTES, GIB);
	expect_amount("1.12345678901234567890123456789K", AMOUNT_BYTES, 1150);
}
END_TEST

START_TEST(test_percent_goes_to_a_hundredth)
{
	expect_amount("75%", AMOUNT_PERCENT, 7500);
	expect_amount("12.5%", AMOUNT_PERCENT, 1250);
	expect_amount("0.01%", AMOUNT_PERCENT, 1);
	expect_amount("33.339%", AMOUNT_PERCENT, 3333);
	expect_amount("100%", AMOUNT_PERCENT, 10000);
	expect_refused("100.001%", -ERANGE);
	expect_refused("101%", -ERANGE);
}
END_TEST

START_TEST(test_small_p_is_pages_and_large_p_is_pebibytes)
{
	expect_amount("8p", AMOUNT_PAGES, 8);
	expect_amount("8P", AMOUNT_BYTES, 8 * 1024 * TIB);
}
END_TEST

START_TEST(test_a_bare_number_is_refused_with_both_readings)
{
	expect_refused("8192", -EDOM);
	expect_refused(" 8192 ", -EDOM);
	expect_refused("1.5", -EDOM);
	expect_refused("99999999999999999999999", -EDOM);
}
END_TEST

START_TEST(test_zero_needs_no_unit)
{
	expect_amount("0", AMOUNT_BYTES, 0);
	expect_amount("000", AMOUNT_BYTES, 0);
	expect_amount("0p", AMOUNT_PAGES, 0);
}
END_TEST

START_TEST(test_what_is_no_amount_is_refused)
{
	static const char *const texts[] = { "",     " ",     "G",     "-1G",    "+1G",  ".5G",
		                             "1.G",  "1..5G", "1,5G",  "64 G B", "64g",  "64Gi",
		                             "64X",  "1.5p",  "1.5B",  "4pp",    "4p4",  "5%%",
		                             "0x1G", "1e3G",  "1G 2G", "BiB",    "1BiB", "64GiBB" };

	for (size_t i = 0; i < ELEMENTS(texts); i++)
		expect_refused(texts[i], -EINVAL);
}
END_TEST

START_TEST(test_more_than_64_bits_is_out_of_range)
{
	expect_amount("16383P", AMOUNT_BYTES, 16383ULL << 50);
	expect_amount("18446744073709551615B", AMOUNT_BYTES, UINT64_MAX);
	expect_refused("18446744073709551616B", -ERANGE);
	expect_refused("16384P", -ERANGE);
	expect_refused("99999999999999999999p", -ERANGE);
}
END_TEST

START_TEST(test_an_amount_comes_to_bytes_of_a_node_and_a_page)
{
	struct amount percent = { .unit = AMOUNT_PERCENT, .value = 3333 };
	struct amount pages = { .unit = AMOUNT_PAGES, .value = 3 };
	struct amount bytes = { .unit = AMOUNT_BYTES, .value = 5 };

	ck_assert_uint_eq(amount_bytes(percent, 1000, 7), 333);
	ck_assert_uint_eq(amount_bytes(pages, 1000, 2 * MIB), 6 * MIB);
	ck_assert_uint_eq(amount_bytes(bytes, 1000, 2 * MIB), 5);
}
END_TEST

START_TEST(test_amounts_of_huge_nodes_do_not_wrap)
{
	struct amount all = { .unit = AMOUNT_PERCENT, .value = 10000 };
	struct amount beyond = { .unit = AMOUNT_PERCENT, .value = 20000 };
	struct amount pages = { .unit = AMOUNT_PAGES, .value = UINT64_MAX / 2 };

	ck_assert_uint_eq(amount_bytes(all, UINT64_MAX, 1), UINT64_MAX);
	ck_assert_uint_eq(amount_bytes(beyond, UINT64_MAX, 1), UINT64_MAX);
	ck_assert_uint_eq(amount_bytes(pages, 0, GIB), UINT64_MAX);
}
END_TEST

static void expect_size_text(uint64_t bytes, const char *expected)
{
	char buffer[SIZE_TEXT_MAX];

	ck_assert_str_eq(size_text(bytes, buffer), expected);
}

START_TEST(test_sizes_are_printed_for_people)
{
	expect_size_text(0, "0 B");
	expect_size_text(1023, "1023 B");
	expect_size_text(4 * KIB, "4 KiB");
	expect_size_text(512 * MIB, "512 MiB");
	expect_size_text(TIB + TIB / 2, "1.5 TiB");
	expect_size_text(UINT64_MAX, "16383.9 PiB");
}
END_TEST

START_TEST(test_a_size_that_lacks_a_page_is_not_printed_as_whole)
{
	expect_size_text(64 * GIB, "64 GiB");
	expect_size_text(64 * GIB - 4 * KIB, "63.9 GiB");
	expect_size_text(GIB - 1, "1023.9 MiB");
}
END_TEST

static void expect_duration_text(uint64_t usec, const char *expected)
{
	char buffer[SIZE_TEXT_MAX];

	ck_assert_str_eq(duration_text(usec, buffer), expected);
}

START_TEST(test_durations_are_printed_for_people)
{
	expect_duration_text(0, "0 ms");
	expect_duration_text(999, "999 us");
	expect_duration_text(850000, "850 ms");
	expect_duration_text(3400000, "3.4 s");
	expect_duration_text(59999999, "59.9 s");
	expect_duration_text(130 * 1000000ULL, "2 min 10 s");
	expect_duration_text(120 * 1000000ULL, "2 min");
	expect_duration_text(3660 * 1000000ULL, "1 h 1 min");
	expect_duration_text(90000 * 1000000ULL, "1 d 1 h");
	expect_duration_text(UINT64_MAX - 1, "213503982 d 8 h");
	expect_duration_text(UINT64_MAX, "infinity");
}
END_TEST

static void expect_duration(const char *text, int error, uint64_t usec)
{
	uint64_t parsed_usec = 77;
	int r = duration_parse(text, &parsed_usec);

	ck_assert_msg(r == error, "'%s' gave %d, not %d", text, r, error);
	ck_assert_msg(parsed_usec == (error ? 77 : usec), "'%s' is %llu us", text,
	              (unsigned long long) parsed_usec);
}

START_TEST(test_time_spans_are_read_as_systemd_does)
{
	expect_duration("500ms", 0, 500000);
	expect_duration("30s", 0, 30000000);
	expect_duration("5min", 0, 300000000);
	expect_duration("2h", 0, 7200000000);
	expect_duration("30", 0, 30000000);
	expect_duration("0", 0, 0);
	expect_duration("7us", 0, 7);
	expect_duration(" 1min 30s ", 0, 90000000);
	expect_duration("1min30s", 0, 90000000);
	expect_duration("1.5h", 0, 5400000000);
	expect_duration("1 d", 0, 86400000000);
	expect_duration("infinity", 0, UINT64_MAX);
}
END_TEST

START_TEST(test_what_is_no_time_span_is_refused)
{
	expect_duration("", -EINVAL, 0);
	expect_duration("s", -EINVAL, 0);
	expect_duration("-1s", -EINVAL, 0);
	expect_duration("1.s", -EINVAL, 0);
	expect_duration("5 lightyears", -EINVAL, 0);
	expect_duration("infinity 5s", -EINVAL, 0);
	expect_duration("99999999999999999999s", -ERANGE, 0);
	expect_duration("18446744073709551615us", -ERANGE, 0);
	expect_duration("213503982d 213503982d", -ERANGE, 0);
}
END_TEST

START_TEST(test_arithmetic_stops_at_the_end_instead_of_wrapping)
{
	ck_assert_uint_eq(bytes_mul(3, GIB), 3 * GIB);
	ck_assert_uint_eq(bytes_mul(UINT64_MAX / 2, 3), UINT64_MAX);
	ck_assert_uint_eq(bytes_add(1, 2), 3);
	ck_assert_uint_eq(bytes_add(UINT64_MAX, 1), UINT64_MAX);
	ck_assert_uint_eq(bytes_left(1, 2), 0);
	ck_assert_uint_eq(bytes_left(5, 2), 3);
}
END_TEST

START_TEST(test_rounding_goes_to_whole_units)
{
	ck_assert_uint_eq(bytes_round_down(5 * MIB, 2 * MIB), 4 * MIB);
	ck_assert_uint_eq(bytes_round_down(5, 0), 5);
	ck_assert_uint_eq(bytes_round_up(5 * MIB, 2 * MIB), 6 * MIB);
	ck_assert_uint_eq(bytes_round_up(6 * MIB, 2 * MIB), 6 * MIB);
	ck_assert_uint_eq(bytes_round_up(0, 2 * MIB), 0);
	ck_assert_uint_eq(bytes_round_up(5, 0), 5);
	ck_assert_uint_eq(bytes_round_up(UINT64_MAX, GIB), UINT64_MAX / GIB * GIB);
	ck_assert_uint_eq(bytes_round_up(UINT64_MAX - 1, UINT64_MAX), UINT64_MAX);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("size");
	TCase *tcase = tcase_create("size");

	tcase_add_test(tcase, test_units_are_powers_of_1024);
	tcase_add_test(tcase, test_long_units_and_blanks_are_fine);
	tcase_add_test(tcase, test_fractions_are_exact_to_the_byte);
	tcase_add_test(tcase, test_percent_goes_to_a_hundredth);
	tcase_add_test(tcase, test_small_p_is_pages_and_large_p_is_pebibytes);
	tcase_add_test(tcase, test_a_bare_number_is_refused_with_both_readings);
	tcase_add_test(tcase, test_zero_needs_no_unit);
	tcase_add_test(tcase, test_what_is_no_amount_is_refused);
	tcase_add_test(tcase, test_more_than_64_bits_is_out_of_range);
	tcase_add_test(tcase, test_an_amount_comes_to_bytes_of_a_node_and_a_page);
	tcase_add_test(tcase, test_amounts_of_huge_nodes_do_not_wrap);
	tcase_add_test(tcase, test_sizes_are_printed_for_people);
	tcase_add_test(tcase, test_a_size_that_lacks_a_page_is_not_printed_as_whole);
	tcase_add_test(tcase, test_durations_are_printed_for_people);
	tcase_add_test(tcase, test_time_spans_are_read_as_systemd_does);
	tcase_add_test(tcase, test_what_is_no_time_span_is_refused);
	tcase_add_test(tcase, test_arithmetic_stops_at_the_end_instead_of_wrapping);
	tcase_add_test(tcase, test_rounding_goes_to_whole_units);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
