/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "../../daemon/base/size.h"
#include "../../daemon/engine/pace.h"
#include "suite.h"

START_TEST(test_without_a_limit_everything_is_due_at_once)
{
	struct pace pace = { 0 };

	for (unsigned i = 0; i < 10; i++) {
		ck_assert_uint_eq(pace_due_usec(&pace, 5000), 5000);
		pace_take(&pace, 5000, UINT64_MAX);
	}
}
END_TEST

START_TEST(test_a_chunk_begins_when_those_before_it_are_paid_for)
{
	struct pace pace = { 0 };

	pace_set_rate(&pace, 1000, 64 * MIB);
	ck_assert_uint_eq(pace_due_usec(&pace, 1000), 1000);
	pace_take(&pace, 1000, 64 * MIB);
	ck_assert_uint_eq(pace_due_usec(&pace, 1000), 1001000);
	ck_assert_uint_eq(pace_due_usec(&pace, 501000), 1001000);
	pace_take(&pace, 1001000, 32 * MIB);
	ck_assert_uint_eq(pace_due_usec(&pace, 1001000), 1501000);
}
END_TEST

START_TEST(test_what_began_before_it_was_due_is_paid_for_too)
{
	struct pace pace = { 0 };

	pace_set_rate(&pace, 0, 1000);
	pace_take(&pace, 0, 1000);
	pace_take(&pace, 0, 2000);
	ck_assert_uint_eq(pace_due_usec(&pace, 0), 3000000);
}
END_TEST

START_TEST(test_idle_time_is_not_saved_up)
{
	struct pace pace = { 0 };

	pace_set_rate(&pace, 0, 1000);
	pace_take(&pace, 0, 1000);
	ck_assert_uint_eq(pace_due_usec(&pace, 3600000000), 3600000000);
	pace_take(&pace, 3600000000, 1000);
	ck_assert_uint_eq(pace_due_usec(&pace, 3600000000), 3601000000);
}
END_TEST

START_TEST(test_another_rate_counts_for_who_waits)
{
	struct pace pace = { 0 };

	pace_set_rate(&pace, 0, 1000);
	pace_take(&pace, 0, 10000);
	/* Half of it is paid, the rest goes ten times as fast. */
	pace_set_rate(&pace, 5000000, 10000);
	ck_assert_uint_eq(pace_due_usec(&pace, 5000000), 5500000);
	pace_set_rate(&pace, 5000000, 500);
	ck_assert_uint_eq(pace_due_usec(&pace, 5000000), 15000000);
	pace_set_rate(&pace, 5000000, 0);
	ck_assert_uint_eq(pace_due_usec(&pace, 5000000), 5000000);
	/* A limit that comes back does not bring back what was owed. */
	pace_set_rate(&pace, 5000000, 1);
	ck_assert_uint_eq(pace_due_usec(&pace, 5000000), 5000000);
}
END_TEST

START_TEST(test_one_byte_a_second_is_exact_however_often_one_looks)
{
	struct pace pace = { 0 };

	pace_set_rate(&pace, 0, 1);
	pace_take(&pace, 0, 64 * MIB);
	for (uint64_t now_usec = 0; now_usec < 3000000; now_usec += 997)
		ck_assert_uint_eq(pace_due_usec(&pace, now_usec), 64 * MIB * 1000000);
	pace_take(&pace, 3000000, UINT64_MAX);
	ck_assert_uint_eq(pace_due_usec(&pace, 3000000), UINT64_MAX);
}
END_TEST

START_TEST(test_the_highest_rate_holds_nobody_up)
{
	struct pace pace = { 0 };

	pace_set_rate(&pace, 10, UINT64_MAX);
	pace_take(&pace, 10, UINT64_MAX);
	ck_assert_uint_eq(pace_due_usec(&pace, 10), 1000010);
	ck_assert_uint_eq(pace_due_usec(&pace, UINT64_MAX), UINT64_MAX);
	pace_take(&pace, UINT64_MAX, 64 * MIB);
	ck_assert_uint_eq(pace_due_usec(&pace, UINT64_MAX), UINT64_MAX);
}
END_TEST

START_TEST(test_what_is_owed_does_not_wrap)
{
	struct pace pace = { 0 };

	pace_set_rate(&pace, 0, 1);
	pace.owed = ~(unsigned __int128) 0 - 5;
	pace_take(&pace, 0, 1);
	ck_assert_uint_eq(pace_due_usec(&pace, 0), UINT64_MAX);
}
END_TEST

START_TEST(test_small_pieces_at_a_high_rate_add_up)
{
	struct pace pace = { 0 };
	uint64_t now_usec = 0;

	/* A page a time at 40 GiB/s is less than a µs, and yet no page is free. */
	pace_set_rate(&pace, 0, 40 * GIB);
	for (unsigned i = 0; i < 100000; i++) {
		now_usec = pace_due_usec(&pace, now_usec);
		pace_take(&pace, now_usec, 4096);
	}
	ck_assert_uint_ge(now_usec, 9500);
}
END_TEST

START_TEST(test_what_is_due_is_paid_for_to_the_last_bit)
{
	struct pace pace = { 0 };
	uint64_t now_usec;

	pace_set_rate(&pace, 0, 3);
	pace_take(&pace, 0, 1);
	now_usec = pace_due_usec(&pace, 0);
	ck_assert_uint_eq(now_usec, 333334);
	ck_assert_uint_eq(pace_due_usec(&pace, now_usec), now_usec);
}
END_TEST

START_TEST(test_a_clock_that_went_back_pays_nothing_twice)
{
	struct pace pace = { 0 };

	pace_set_rate(&pace, 5000000, 1000);
	pace_take(&pace, 5000000, 3000);
	ck_assert_uint_eq(pace_due_usec(&pace, 6000000), 8000000);
	ck_assert_uint_eq(pace_due_usec(&pace, 5500000), 7500000);
	ck_assert_uint_eq(pace_due_usec(&pace, 6000000), 8000000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pace");
	TCase *limit = tcase_create("limit");

	tcase_add_test(limit, test_without_a_limit_everything_is_due_at_once);
	tcase_add_test(limit, test_a_chunk_begins_when_those_before_it_are_paid_for);
	tcase_add_test(limit, test_what_began_before_it_was_due_is_paid_for_too);
	tcase_add_test(limit, test_idle_time_is_not_saved_up);
	tcase_add_test(limit, test_another_rate_counts_for_who_waits);
	tcase_add_test(limit, test_one_byte_a_second_is_exact_however_often_one_looks);
	tcase_add_test(limit, test_the_highest_rate_holds_nobody_up);
	tcase_add_test(limit, test_what_is_owed_does_not_wrap);
	tcase_add_test(limit, test_small_pieces_at_a_high_rate_add_up);
	tcase_add_test(limit, test_what_is_due_is_paid_for_to_the_last_bit);
	tcase_add_test(limit, test_a_clock_that_went_back_pays_nothing_twice);
	suite_add_tcase(suite, limit);
	return suite_main(suite);
}
