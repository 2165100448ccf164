/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Window by window: what each one that is measured does to the number of members. */
#include <string.h>

#include "../../daemon/base/size.h"
#include "../../daemon/engine/knee.h"
#include "../../daemon/kinds/kind.h"
#include "suite.h"

#define NR_MEMBERS 8

static const struct knee_key key = { .ops = &region_ops, .page_bytes = 2 * MIB };

static struct knee knee;
static struct knee_sample samples[NR_MEMBERS];
static uint64_t now_usec;
static unsigned nr_active;

static void open_knee(void)
{
	knee = (struct knee){ 0 };
	memset(samples, 0, sizeof(samples));
	now_usec = 1000;
	knee_set_members(&knee, NR_MEMBERS);
	nr_active = knee_begin(&knee, &key, now_usec, samples);
}

/* Each ends a chunk that took so long, and all together bring @mib_per_second. */
static unsigned end_chunks(uint64_t usec, uint64_t mib_per_second)
{
	now_usec += usec;
	for (unsigned i = 0; i < nr_active; i++) {
		samples[i].nr_chunks++;
		samples[i].bytes += mib_per_second * MIB * usec / 1000000 / nr_active;
		samples[i].busy_usec += usec;
	}
	return knee_look(&knee, now_usec, samples, false);
}

/* A whole window, the chunks that settle it included. */
static void window(uint64_t mib_per_second)
{
	if (knee.is_settling)
		nr_active = end_chunks(3000, mib_per_second);
	ck_assert(!knee.is_settling);
	ck_assert_uint_eq(end_chunks(3000, mib_per_second), nr_active);
	nr_active = end_chunks(3000, mib_per_second);
}

static void windows(unsigned nr, uint64_t mib_per_second)
{
	for (unsigned i = 0; i < nr; i++)
		window(mib_per_second);
}

/* With two members, one more is not worth it. */
static void find_two(void)
{
	window(1000);
	window(1500);
	ck_assert_uint_eq(nr_active, 3);
	windows(2, 1510);
	ck_assert_uint_eq(nr_active, 2);
	ck_assert_uint_eq(knee_found(&knee), 2);
}

START_TEST(test_a_window_is_two_chunks_of_each)
{
	ck_assert_uint_eq(end_chunks(10000, 1000), 1);
	nr_active = end_chunks(10000, 1000);
	ck_assert_uint_eq(nr_active, 2);
}
END_TEST

START_TEST(test_a_window_is_as_long_as_4_ms)
{
	for (unsigned i = 0; i < 39; i++)
		ck_assert_uint_eq(end_chunks(100, 1000), 1);
	ck_assert_uint_eq(end_chunks(100, 1000), 2);
}
END_TEST

START_TEST(test_a_window_waits_for_the_slowest)
{
	window(1000);
	nr_active = end_chunks(3000, 2000);
	/* The other has a chunk that takes long. */
	for (unsigned i = 0; i < 20; i++) {
		now_usec += 3000;
		samples[0].nr_chunks++;
		samples[0].busy_usec += 3000;
		samples[0].bytes += 10 * MIB;
		ck_assert_uint_eq(knee_look(&knee, now_usec, samples, false), 2);
	}
	ck_assert_uint_eq(knee.kinds[0].nr_windows, 0);
}
END_TEST

START_TEST(test_chunks_that_began_before_the_number_changed_do_not_count)
{
	window(1000);
	ck_assert_uint_eq(nr_active, 2);
	/* Ended with two, and as fast as nothing is; begun with one. */
	nr_active = end_chunks(3000, 1);
	ck_assert_uint_eq(nr_active, 2);
	ck_assert(!knee.is_settling);
	window(1500);
	ck_assert_uint_eq(nr_active, 3);
}
END_TEST

START_TEST(test_a_tenth_more_is_enough_and_less_is_not)
{
	window(1000);
	window(1101);
	ck_assert_uint_eq(nr_active, 3);
	windows(2, 1200);
	ck_assert_uint_eq(nr_active, 2);
}
END_TEST

START_TEST(test_the_better_of_two_windows_counts)
{
	window(1000);
	window(1050);
	ck_assert_uint_eq(nr_active, 2);
	ck_assert_uint_eq(knee_found(&knee), 0);
	window(1200);
	ck_assert_uint_eq(nr_active, 3);
}
END_TEST

START_TEST(test_two_windows_that_do_not_agree_decide_nothing)
{
	window(1000);
	window(30);
	window(300);
	ck_assert_uint_eq(nr_active, 2);
	window(1500);
	ck_assert_uint_eq(nr_active, 3);
}
END_TEST

START_TEST(test_six_windows_decide_whether_they_agree_or_not)
{
	window(1000);
	for (unsigned i = 0; i < 5; i++) {
		window(i % 2 ? 30 : 300);
		ck_assert_uint_eq(nr_active, 2);
	}
	window(300);
	ck_assert_uint_eq(nr_active, 1);
	ck_assert_uint_eq(knee_found(&knee), 1);
}
END_TEST

START_TEST(test_a_rate_beyond_all_numbers_is_the_highest)
{
	/* In a chunk of 1 us; each of two brings 0.6 of what fits. */
	uint64_t bytes = UINT64_MAX / 10 * 6 / 1000000;

	for (unsigned nr = 1; nr <= 2; nr++) {
		ck_assert_uint_eq(nr_active, nr);
		for (unsigned k = 0; k < 3 && nr_active == nr; k++) {
			now_usec += 3000;
			for (unsigned i = 0; i < nr; i++) {
				samples[i].nr_chunks++;
				samples[i].bytes += bytes;
				samples[i].busy_usec++;
			}
			nr_active = knee_look(&knee, now_usec, samples, false);
		}
	}
	ck_assert_uint_eq(nr_active, 3);
}
END_TEST

START_TEST(test_a_base_that_one_member_cannot_have_made_so_much_better_is_taken_anew)
{
	window(30);
	ck_assert_uint_eq(nr_active, 2);
	window(1050);
	ck_assert_uint_eq(nr_active, 1);
	window(1000);
	ck_assert_uint_eq(nr_active, 2);
	windows(2, 1050);
	ck_assert_uint_eq(nr_active, 1);
	ck_assert_uint_eq(knee_found(&knee), 1);
}
END_TEST

START_TEST(test_a_base_is_not_taken_anew_for_ever)
{
	uint64_t mib_per_second = 1;

	for (unsigned i = 0; i < 2; i++) {
		window(mib_per_second);
		window(mib_per_second *= 10);
		ck_assert_uint_eq(nr_active, 1);
	}
	window(mib_per_second);
	window(mib_per_second * 10);
	ck_assert_uint_eq(nr_active, 3);
}
END_TEST

START_TEST(test_after_64_windows_one_more_and_one_less_are_tried)
{
	find_two();
	windows(63, 1500);
	ck_assert_uint_eq(nr_active, 2);
	window(1500);
	ck_assert_uint_eq(nr_active, 3);
	ck_assert_uint_eq(knee_found(&knee), 2);
	windows(2, 1510);
	ck_assert_uint_eq(nr_active, 1);
	windows(2, 1000);
	ck_assert_uint_eq(nr_active, 2);
	/* Nothing has changed: twice as long. */
	windows(127, 1500);
	ck_assert_uint_eq(nr_active, 2);
	window(1500);
	ck_assert_uint_eq(nr_active, 3);
}
END_TEST

START_TEST(test_no_less_is_tried_when_more_was_better)
{
	find_two();
	windows(64, 1500);
	ck_assert_uint_eq(nr_active, 3);
	window(2000);
	ck_assert_uint_eq(nr_active, 4);
	windows(2, 2010);
	ck_assert_uint_eq(nr_active, 3);
	ck_assert_uint_eq(knee_found(&knee), 3);
	/* And it is examined again as soon as the first time. */
	windows(63, 2000);
	ck_assert_uint_eq(nr_active, 3);
	window(2000);
	ck_assert_uint_eq(nr_active, 4);
}
END_TEST

START_TEST(test_with_less_that_is_as_good_it_goes_down_by_more_than_one)
{
	window(1000);
	window(2000);
	window(3000);
	window(4000);
	windows(2, 4010);
	ck_assert_uint_eq(knee_found(&knee), 4);
	/* Something else wants the memory now. */
	windows(64, 1000);
	ck_assert_uint_eq(nr_active, 5);
	windows(2, 1000);
	ck_assert_uint_eq(nr_active, 3);
	windows(2, 1000);
	ck_assert_uint_eq(nr_active, 2);
	windows(2, 1000);
	ck_assert_uint_eq(nr_active, 1);
	windows(2, 500);
	ck_assert_uint_eq(nr_active, 2);
	ck_assert_uint_eq(knee_found(&knee), 2);
}
END_TEST

START_TEST(test_one_slow_window_with_one_less_does_not_stop_the_way_down)
{
	find_two();
	windows(64, 1500);
	windows(2, 1500);
	ck_assert_uint_eq(nr_active, 1);
	window(30);
	ck_assert_uint_eq(nr_active, 1);
	windows(5, 1500);
	ck_assert_uint_eq(nr_active, 1);
	ck_assert_uint_eq(knee_found(&knee), 1);
}
END_TEST

START_TEST(test_trials_are_compared_with_the_last_windows_only)
{
	find_two();
	windows(60, 1500);
	/* The machine is half as fast by now. */
	windows(4, 750);
	ck_assert_uint_eq(nr_active, 3);
	window(1000);
	ck_assert_uint_eq(nr_active, 4);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("knee-windows");
	TCase *measure = tcase_create("measure");
	TCase *again = tcase_create("again");

	tcase_add_checked_fixture(measure, open_knee, NULL);
	tcase_add_test(measure, test_a_window_is_two_chunks_of_each);
	tcase_add_test(measure, test_a_window_is_as_long_as_4_ms);
	tcase_add_test(measure, test_a_window_waits_for_the_slowest);
	tcase_add_test(measure, test_chunks_that_began_before_the_number_changed_do_not_count);
	tcase_add_test(measure, test_a_tenth_more_is_enough_and_less_is_not);
	tcase_add_test(measure, test_the_better_of_two_windows_counts);
	tcase_add_test(measure, test_two_windows_that_do_not_agree_decide_nothing);
	tcase_add_test(measure, test_a_rate_beyond_all_numbers_is_the_highest);
	tcase_add_test(measure, test_six_windows_decide_whether_they_agree_or_not);
	tcase_add_test(measure,
	               test_a_base_that_one_member_cannot_have_made_so_much_better_is_taken_anew);
	tcase_add_test(measure, test_a_base_is_not_taken_anew_for_ever);
	suite_add_tcase(suite, measure);
	tcase_add_checked_fixture(again, open_knee, NULL);
	tcase_add_test(again, test_after_64_windows_one_more_and_one_less_are_tried);
	tcase_add_test(again, test_no_less_is_tried_when_more_was_better);
	tcase_add_test(again, test_with_less_that_is_as_good_it_goes_down_by_more_than_one);
	tcase_add_test(again, test_one_slow_window_with_one_less_does_not_stop_the_way_down);
	tcase_add_test(again, test_trials_are_compared_with_the_last_windows_only);
	suite_add_tcase(suite, again);
	return suite_main(suite);
}
