/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The brake's attempts to let go: by a step, and of one member without rests. */
#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "brake-world.h"
#include "suite.h"

/* Loop test: percent by which it is slower. */
START_TEST(test_a_clock_that_slows_down_by_resting_does_not_hold_the_brake)
{
	periods(SECONDS(5));
	others(2, 14);
	periods(SECONDS(5));
	ck_assert_uint_eq(brake_setting(&w.brake).rest_percent, 700);
	/* the foreground computes only; whoever rests is slower, a little or more */
	others(2, 0);
	for (unsigned i = 0; i < SECONDS(60); i++) {
		w.slower = brake_setting(&w.brake).rest_percent > 0 ? 1 + _i / 100.0 : 1;
		period();
	}
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_now_and_then_one_member_is_tried_without_rests_for_a_single_period)
{
	unsigned nr_tries = 0, nr_away = 0;

	periods(SECONDS(5));
	others(8, 14);
	periods(SECONDS(3));
	for (unsigned i = 0; i < SECONDS(1800); i++) {
		period();
		if (brake_setting(&w.brake).rest_percent == 700) {
			nr_away = 0;
			continue;
		}
		nr_tries++;
		ck_assert_uint_eq(brake_setting(&w.brake).nr_members, 1);
		ck_assert_uint_eq(brake_setting(&w.brake).rest_percent, 0);
		ck_assert_uint_le(++nr_away, 1);
	}
	ck_assert_uint_ge(nr_tries, 10);
	ck_assert_uint_le(nr_tries, 20);
}
END_TEST

/* Periods until it is off, a day at most. */
static unsigned nr_until_off(void)
{
	unsigned nr = 0;

	for (; brake_is_on(&w.brake) && nr < SECONDS(24 * 3600); nr++)
		period();
	return nr;
}

START_TEST(test_the_best_of_a_cold_machine_does_not_hold_it_for_good)
{
	w.slower = 0.75;
	periods(SECONDS(5));
	/* from now on others compute, without memory, and the clock is lower */
	w.slower = 1;
	others(4, 0);
	periods(SECONDS(5));
	ck_assert_uint_eq(brake_setting(&w.brake).rest_percent, 700);
	/* not after a few attempts, while others may want the bandwidth indeed */
	periods(SECONDS(200));
	ck_assert_uint_ge(w.brake.nr_rested_wanted, BRAKE_REST_MAX);
	ck_assert_uint_le(w.brake.bests[0].best_nsec_per_mib, (uint64_t) (0.75 * COST) + 1);
	periods(SECONDS(15 * 60));
	ck_assert(brake_is_on(&w.brake));
	ck_assert_uint_le(nr_until_off(), SECONDS(2 * 3600));
	/* and it stays so, but whoever wants the bandwidth is seen */
	for (unsigned i = 0; i < SECONDS(600); i++) {
		period();
		ck_assert(!brake_is_on(&w.brake));
	}
	others(8, 14);
	periods(SECONDS(1));
	ck_assert(brake_is_on(&w.brake));
}
END_TEST

/* Loop test: members' worth that others want. */
START_TEST(test_a_foreground_of_a_whole_day_loses_no_more_than_a_fifth)
{
	static const double bandwidths[] = { 9, 14, 30 };

	periods(SECONDS(5));
	others(8, bandwidths[_i]);
	periods(SECONDS(3));
	ck_assert_double_ge(foreground_percent(SECONDS(1800)), 90);
	ck_assert_double_ge(foreground_percent(SECONDS(24 * 3600)), 80);
	ck_assert(brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_only_the_work_that_was_tried_has_its_best_doubted)
{
	/* seen undisturbed, with as many members and with more */
	w.work.kind = 2;
	periods(SECONDS(5));
	w.work.kind = 1;
	periods(SECONDS(5));
	others(8, 14);
	periods(SECONDS(3600));
	ck_assert(brake_is_on(&w.brake));
	for (unsigned i = 0; i < w.brake.nr_bests; i++)
		if (w.brake.bests[i].kind == 2)
			ck_assert_uint_le(w.brake.bests[i].best_nsec_per_mib, (uint64_t) COST + 1);
}
END_TEST

START_TEST(test_an_attempt_that_shows_nothing_is_over_after_a_while)
{
	unsigned step;

	periods(SECONDS(5));
	w.lost[PRESSURE_MEMORY] = 0.25;
	periods(2);
	w.lost[PRESSURE_MEMORY] = 0;
	periods(BRAKE_GOOD_MIN);
	ck_assert(w.brake.is_trying);
	step = w.brake.step;
	/* below the limit, and not much: neither good nor bad, with a good one here and there */
	for (unsigned i = 1; i < BRAKE_TRY_MAX; i++) {
		w.lost[PRESSURE_MEMORY] = i == 20 ? 0 : 0.19;
		period();
		ck_assert(w.brake.is_trying);
	}
	period();
	ck_assert(!w.brake.is_trying);
	ck_assert_uint_eq(w.brake.step, step);
	/* it is no failure of the attempt any more: what comes is a step like the first */
	w.lost[PRESSURE_MEMORY] = 0.25;
	period();
	ck_assert_uint_eq(w.brake.step, step + 1);
	ck_assert_uint_eq(w.brake.nr_good_wanted, 0);
}
END_TEST

START_TEST(test_each_attempt_has_time_of_its_own)
{
	periods(SECONDS(5));
	w.lost[PRESSURE_MEMORY] = 0.5;
	periods(8);
	w.lost[PRESSURE_MEMORY] = 0;
	periods(3 * BRAKE_GOOD_MIN + 1);
	ck_assert_uint_eq(w.brake.step, 4);
	ck_assert(w.brake.is_trying);
	w.lost[PRESSURE_MEMORY] = 0.19;
	periods(BRAKE_TRY_MAX - 2);
	ck_assert(w.brake.is_trying);
	w.lost[PRESSURE_MEMORY] = 0;
	periods(1);
	ck_assert_uint_eq(w.brake.step, 3);
	w.lost[PRESSURE_MEMORY] = 0.19;
	periods(2);
	w.lost[PRESSURE_MEMORY] = 0.25;
	periods(1);
	ck_assert_uint_eq(w.brake.step, 4);
	ck_assert_uint_eq(w.brake.nr_good_wanted, 2 * BRAKE_GOOD_MIN);
}
END_TEST

START_TEST(test_an_attempt_in_which_no_chunk_ends_is_not_over)
{
	/* let go of to the last step, which hurts; its chunks are long */
	w.nr_full = 1;
	periods(SECONDS(5));
	others(4, 14);
	periods(2);
	ck_assert_uint_eq(w.brake.step, 1);
	others(4, 0);
	periods(BRAKE_GOOD_MIN + 1);
	ck_assert_uint_eq(w.brake.step, 0);
	ck_assert(w.brake.is_trying);
	w.has_no_chunk = true;
	periods(2 * BRAKE_TRY);
	ck_assert(w.brake.is_trying);
	w.has_no_chunk = false;
	others(4, 14);
	periods(1);
	ck_assert_uint_eq(w.brake.step, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("brake-attempts");
	TCase *tc = tcase_create("attempts");

	tcase_add_checked_fixture(tc, brake_world_setup, NULL);
	tcase_add_loop_test(tc, test_a_clock_that_slows_down_by_resting_does_not_hold_the_brake, 1,
	                    31);
	tcase_add_test(tc, test_now_and_then_one_member_is_tried_without_rests_for_a_single_period);
	tcase_add_test(tc, test_the_best_of_a_cold_machine_does_not_hold_it_for_good);
	tcase_add_loop_test(tc, test_a_foreground_of_a_whole_day_loses_no_more_than_a_fifth, 0, 3);
	tcase_add_test(tc, test_only_the_work_that_was_tried_has_its_best_doubted);
	tcase_add_test(tc, test_an_attempt_that_shows_nothing_is_over_after_a_while);
	tcase_add_test(tc, test_each_attempt_has_time_of_its_own);
	tcase_add_test(tc, test_an_attempt_in_which_no_chunk_ends_is_not_over);
	suite_add_tcase(suite, tc);
	return suite_main(suite);
}
