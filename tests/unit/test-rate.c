/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../../daemon/engine/rate.h"
#include "suite.h"

START_TEST(test_fewer_than_two_samples_are_no_rate)
{
	struct rate rate = { 0 };

	ck_assert_uint_eq(rate_bytes_per_second(&rate), 0);
	rate_sample(&rate, 1000, 500);
	ck_assert_uint_eq(rate_bytes_per_second(&rate), 0);
	ck_assert_uint_eq(rate_left_usec(&rate, 1), UINT64_MAX);
}
END_TEST

START_TEST(test_rate_and_time_left_follow_from_two_samples)
{
	struct rate rate = { 0 };

	rate_sample(&rate, 1000000, 100);
	rate_sample(&rate, 1250000, 1100);
	ck_assert_uint_eq(rate_bytes_per_second(&rate), 4000);
	ck_assert_uint_eq(rate_left_usec(&rate, 8000), 2000000);
	ck_assert_uint_eq(rate_left_usec(&rate, 0), 0);
}
END_TEST

START_TEST(test_only_the_last_samples_count)
{
	struct rate rate = { 0 };
	uint64_t now_usec = 0, bytes = 0;

	for (unsigned i = 0; i < 100; i++)
		rate_sample(&rate, now_usec += 250000, bytes += 1000000);
	ck_assert_uint_eq(rate_bytes_per_second(&rate), 4000000);
	/* RATE_SAMPLES of the new speed push out the last of the old one. */
	for (unsigned i = 0; i < RATE_SAMPLES; i++)
		rate_sample(&rate, now_usec += 250000, bytes += 10);
	ck_assert_uint_eq(rate_bytes_per_second(&rate), 40);
}
END_TEST

START_TEST(test_a_clock_that_stands_still_divides_nothing_by_zero)
{
	struct rate rate = { 0 };

	for (unsigned i = 0; i < 2 * RATE_SAMPLES; i++)
		rate_sample(&rate, 5000, i * 100);
	ck_assert_uint_eq(rate_bytes_per_second(&rate), 0);
	ck_assert_uint_eq(rate_left_usec(&rate, 1), UINT64_MAX);
	/* What came meanwhile counts from there. */
	rate_sample(&rate, 1005000, 2 * RATE_SAMPLES * 100);
	ck_assert_uint_eq(rate_bytes_per_second(&rate), 100);
}
END_TEST

START_TEST(test_a_clock_that_went_back_does_not_matter)
{
	struct rate rate = { 0 };

	rate_sample(&rate, 2000000, 0);
	rate_sample(&rate, 1000000, 500);
	ck_assert_uint_eq(rate_bytes_per_second(&rate), 0);
	rate_sample(&rate, 3000000, 1500);
	ck_assert_uint_eq(rate_bytes_per_second(&rate), 1000);
}
END_TEST

START_TEST(test_a_counter_that_fell_starts_anew)
{
	struct rate rate = { 0 };

	rate_sample(&rate, 1000000, 5000);
	rate_sample(&rate, 2000000, 9000);
	rate_sample(&rate, 3000000, 100);
	ck_assert_uint_eq(rate_bytes_per_second(&rate), 0);
	rate_sample(&rate, 4000000, 300);
	ck_assert_uint_eq(rate_bytes_per_second(&rate), 200);
}
END_TEST

START_TEST(test_a_counter_that_stands_still_never_gets_there)
{
	struct rate rate = { 0 };

	rate_sample(&rate, 1000000, 700);
	rate_sample(&rate, 2000000, 700);
	ck_assert_uint_eq(rate_bytes_per_second(&rate), 0);
	ck_assert_uint_eq(rate_left_usec(&rate, 10), UINT64_MAX);
}
END_TEST

START_TEST(test_the_largest_amounts_do_not_overflow)
{
	struct rate rate = { 0 };

	rate_sample(&rate, 0, 0);
	rate_sample(&rate, 1000000, UINT64_MAX / 2);
	ck_assert_uint_eq(rate_bytes_per_second(&rate), UINT64_MAX / 2);
	ck_assert_uint_eq(rate_left_usec(&rate, UINT64_MAX / 2), 1000000);
	rate_sample(&rate, 1000001, UINT64_MAX);
	ck_assert_uint_gt(rate_bytes_per_second(&rate), UINT64_MAX / 2);

	rate = (struct rate){ 0 };
	rate_sample(&rate, 0, 0);
	rate_sample(&rate, 1, UINT64_MAX);
	ck_assert_uint_eq(rate_bytes_per_second(&rate), UINT64_MAX);

	rate = (struct rate){ 0 };
	rate_sample(&rate, 0, 0);
	rate_sample(&rate, 1000000, 1);
	ck_assert_uint_eq(rate_left_usec(&rate, UINT64_MAX), UINT64_MAX);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rate");
	TCase *samples = tcase_create("samples");

	tcase_add_test(samples, test_fewer_than_two_samples_are_no_rate);
	tcase_add_test(samples, test_rate_and_time_left_follow_from_two_samples);
	tcase_add_test(samples, test_only_the_last_samples_count);
	tcase_add_test(samples, test_a_clock_that_stands_still_divides_nothing_by_zero);
	tcase_add_test(samples, test_a_clock_that_went_back_does_not_matter);
	tcase_add_test(samples, test_a_counter_that_fell_starts_anew);
	tcase_add_test(samples, test_a_counter_that_stands_still_never_gets_there);
	tcase_add_test(samples, test_the_largest_amounts_do_not_overflow);
	suite_add_tcase(suite, samples);
	return suite_main(suite);
}
