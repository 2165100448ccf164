/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The brake by pressure: how far it goes on, and how it lets go. */
#include <limits.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "brake-world.h"
#include "suite.h"

START_TEST(test_without_pressure_nothing_is_held_back)
{
	periods(SECONDS(60));
	ck_assert(!brake_is_on(&w.brake));
	ck_assert_uint_eq(brake_setting(&w.brake).nr_members, UINT_MAX);
	ck_assert_uint_eq(brake_setting(&w.brake).rest_percent, 0);
}
END_TEST

START_TEST(test_pressure_halves_the_members_then_lets_the_last_one_rest)
{
	static const struct worker_brake steps[] = { { 4, 0 },   { 2, 0 },   { 1, 0 },   { 1, 100 },
		                                     { 1, 300 }, { 1, 700 }, { 1, 1500 } };

	periods(4);
	w.lost[PRESSURE_MEMORY] = 0.25;
	for (unsigned i = 0; i < ELEMENTS(steps); i++) {
		period();
		ck_assert_uint_eq(brake_setting(&w.brake).nr_members, steps[i].nr_members);
		ck_assert_uint_eq(brake_setting(&w.brake).rest_percent, steps[i].rest_percent);
		ck_assert_int_eq(w.brake.reason, BRAKE_PRESSURE);
		ck_assert_uint_eq(w.host.percent, 25);
		ck_assert_int_eq(w.host.kind, PRESSURE_MEMORY);
	}
	periods(SECONDS(600));
	ck_assert_uint_eq(brake_setting(&w.brake).rest_percent, 1500);
}
END_TEST

START_TEST(test_twice_the_limit_takes_two_steps_at_once)
{
	periods(4);
	w.lost[PRESSURE_IO] = 0.41;
	period();
	ck_assert_uint_eq(brake_setting(&w.brake).nr_members, 2);
	ck_assert_int_eq(w.host.kind, PRESSURE_IO);
}
END_TEST

START_TEST(test_when_the_pressure_is_gone_it_lets_go_step_by_step)
{
	unsigned step;

	periods(4);
	w.lost[PRESSURE_MEMORY] = 0.5;
	periods(8);
	step = w.brake.step;
	ck_assert_uint_eq(step, 7);
	w.lost[PRESSURE_MEMORY] = 0;
	for (; step > 0; step--) {
		ck_assert_uint_eq(w.brake.step, step);
		periods(BRAKE_GOOD_MIN);
	}
	ck_assert(!brake_is_on(&w.brake));
	ck_assert_uint_eq(brake_setting(&w.brake).nr_members, UINT_MAX);
}
END_TEST

START_TEST(test_just_below_the_limit_is_neither_good_nor_bad)
{
	periods(4);
	w.lost[PRESSURE_MEMORY] = 0.3;
	periods(2);
	w.lost[PRESSURE_MEMORY] = 0.19;
	periods(SECONDS(30));
	ck_assert_uint_eq(w.brake.step, 2);
	w.lost[PRESSURE_MEMORY] = 0.15;
	periods(BRAKE_GOOD_MIN);
	ck_assert_uint_eq(w.brake.step, 1);
}
END_TEST

START_TEST(test_what_we_lose_ourselves_is_no_pressure)
{
	w.own_lost = 0.9;
	periods(SECONDS(10));
	ck_assert(!brake_is_on(&w.brake));
	ck_assert_uint_eq(w.host.percent, 0);
	/* of memory and I/O nobody but others loses where ours is not known */
	for (unsigned i = 0; i < NR_PRESSURES; i++)
		w.now.pressure.totals[i].has_own = false;
	w.own_lost = 0;
	w.lost[PRESSURE_CPU] = 0.9;
	periods(SECONDS(10));
	ck_assert(!brake_is_on(&w.brake));
	w.lost[PRESSURE_IO] = 0.3;
	periods(2);
	ck_assert(brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_cpu_pressure_of_others_counts_where_ours_is_known)
{
	periods(4);
	w.own_lost = 0.2;
	w.lost[PRESSURE_CPU] = 0.3;
	period();
	ck_assert_uint_eq(w.brake.step, 1);
	ck_assert_int_eq(w.host.kind, PRESSURE_CPU);
}
END_TEST

START_TEST(test_a_limit_of_0_never_brakes_and_lets_go_at_once)
{
	periods(SECONDS(5));
	w.lost[PRESSURE_MEMORY] = 1;
	others(8, 20);
	periods(4);
	ck_assert(brake_is_on(&w.brake));
	w.limit = 0;
	period();
	ck_assert(!brake_is_on(&w.brake));
	ck_assert_uint_eq(brake_setting(&w.brake).nr_members, UINT_MAX);
	periods(SECONDS(60));
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_a_counter_that_cannot_be_read_any_more_is_no_pressure)
{
	periods(4);
	w.now.pressure.totals[PRESSURE_MEMORY].host_usec += 100 * PERIOD_USEC;
	w.now.pressure.totals[PRESSURE_MEMORY].has_host = false;
	w.lost[PRESSURE_MEMORY] = 0;
	period();
	w.host.last.pressure.totals[PRESSURE_MEMORY].host_usec = 0;
	ck_assert_uint_eq(w.host.percent, 0);
	/* the first after a gap is compared with nothing */
	w.now.pressure.totals[PRESSURE_MEMORY].has_host = true;
	period();
	ck_assert_uint_eq(w.host.percent, 0);
	brake_host_forget(&w.host);
	w.now.pressure.totals[PRESSURE_MEMORY].host_usec += 100 * PERIOD_USEC;
	period();
	ck_assert(!w.host.is_known);
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_one_thread_has_nothing_to_halve_and_rests)
{
	w.nr_full = 1;
	periods(4);
	w.lost[PRESSURE_MEMORY] = 0.3;
	period();
	ck_assert_uint_eq(brake_setting(&w.brake).nr_members, 1);
	ck_assert_uint_eq(brake_setting(&w.brake).rest_percent, 100);
	periods(20);
	ck_assert_uint_eq(w.brake.step, 4);
}
END_TEST

START_TEST(test_a_host_that_nobody_looked_at_is_not_a_good_one)
{
	periods(4);
	w.lost[PRESSURE_MEMORY] = 0.5;
	period();
	ck_assert_uint_eq(w.brake.step, 2);
	w.lost[PRESSURE_MEMORY] = 0;
	for (unsigned i = 0; i < SECONDS(5); i++) {
		brake_host_forget(&w.host);
		period();
	}
	ck_assert_uint_eq(w.brake.step, 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("brake");
	TCase *tc = tcase_create("pressure");

	tcase_add_checked_fixture(tc, brake_world_setup, NULL);
	tcase_add_test(tc, test_without_pressure_nothing_is_held_back);
	tcase_add_test(tc, test_pressure_halves_the_members_then_lets_the_last_one_rest);
	tcase_add_test(tc, test_twice_the_limit_takes_two_steps_at_once);
	tcase_add_test(tc, test_when_the_pressure_is_gone_it_lets_go_step_by_step);
	tcase_add_test(tc, test_just_below_the_limit_is_neither_good_nor_bad);
	tcase_add_test(tc, test_what_we_lose_ourselves_is_no_pressure);
	tcase_add_test(tc, test_cpu_pressure_of_others_counts_where_ours_is_known);
	tcase_add_test(tc, test_a_limit_of_0_never_brakes_and_lets_go_at_once);
	tcase_add_test(tc, test_a_counter_that_cannot_be_read_any_more_is_no_pressure);
	tcase_add_test(tc, test_one_thread_has_nothing_to_halve_and_rests);
	tcase_add_test(tc, test_a_host_that_nobody_looked_at_is_not_a_good_one);
	suite_add_tcase(suite, tc);
	return suite_main(suite);
}
