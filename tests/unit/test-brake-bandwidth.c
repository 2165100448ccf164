/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The brake by our own time per byte: who wants the memory, and who does not. */
#include <limits.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "brake-world.h"
#include "suite.h"

START_TEST(test_whoever_wants_the_bandwidth_gets_it)
{
	periods(SECONDS(5));
	others(4, 9);
	periods(SECONDS(3));
	ck_assert_int_eq(w.brake.reason, BRAKE_BANDWIDTH);
	ck_assert_double_ge(foreground_percent(SECONDS(60)), 90);
}
END_TEST

START_TEST(test_a_foreground_that_wants_more_than_there_is_never_loses_much)
{
	periods(SECONDS(5));
	others(8, 14);
	periods(SECONDS(3));
	/* the last step is for pressure alone */
	ck_assert_uint_eq(brake_setting(&w.brake).rest_percent, 700);
	ck_assert_double_ge(foreground_percent(SECONDS(1800)), 97);
}
END_TEST

START_TEST(test_a_foreground_that_never_goes_is_not_tried_each_second)
{
	/* a step less does not hurt it, two do: the brake must find that out, and stay there */
	periods(SECONDS(5));
	others(4, 6);
	(void) nr_turns(SECONDS(60));
	ck_assert_uint_le(nr_turns(SECONDS(600)), 2 * 600 / 16 + 2);
	ck_assert_uint_gt(nr_turns(SECONDS(60)), 0);
	ck_assert(brake_is_on(&w.brake));
	ck_assert_double_ge(foreground_percent(SECONDS(60)), 90);
}
END_TEST

START_TEST(test_when_the_foreground_goes_full_speed_comes_back)
{
	periods(SECONDS(5));
	others(8, 14);
	periods(SECONDS(60));
	others(0, 0);
	periods(6 * BRAKE_GOOD_MIN);
	ck_assert(!brake_is_on(&w.brake));
	/* also where it had been tried in vain for long */
	others(4, 7);
	periods(SECONDS(120));
	ck_assert(brake_is_on(&w.brake));
	others(0, 0);
	periods(SECONDS(16 + 10));
	ck_assert(!brake_is_on(&w.brake));
	/* and while it goes on computing, without memory */
	others(4, 14);
	periods(SECONDS(60));
	ck_assert(brake_is_on(&w.brake));
	others(4, 0);
	periods(SECONDS(180));
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_a_foreground_that_comes_and_goes_is_served_each_time)
{
	double percent = 0;

	periods(SECONDS(5));
	for (unsigned i = 0; i < 20; i++) {
		others(8, 14);
		percent += foreground_percent(SECONDS(10)) / 20;
		ck_assert(brake_is_on(&w.brake));
		others(0, 0);
		periods(SECONDS(10));
		ck_assert(!brake_is_on(&w.brake));
	}
	ck_assert_double_ge(percent, 90);
}
END_TEST

START_TEST(test_a_computation_without_memory_holds_nothing_back)
{
	w.noise = 0.05;
	periods(SECONDS(5));
	others(8, 0);
	for (unsigned i = 0; i < SECONDS(600); i++) {
		period();
		ck_assert(!brake_is_on(&w.brake));
	}
}
END_TEST

START_TEST(test_a_single_slow_period_is_noise)
{
	others(1, 0);
	periods(SECONDS(5));
	w.slower = 2;
	period();
	w.slower = 1;
	ck_assert(!brake_is_on(&w.brake));
	periods(2);
	ck_assert(!brake_is_on(&w.brake));
	/* two in a row are not */
	w.slower = 2;
	periods(2);
	ck_assert(brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_a_single_fast_period_is_not_the_best)
{
	others(1, 0);
	periods(SECONDS(5));
	w.slower = 0.5;
	period();
	w.slower = 1;
	periods(SECONDS(5));
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_slow_memory_is_nobodys_fault_while_nobody_else_runs)
{
	periods(SECONDS(5));
	w.slower = 3;
	others(0.09, 0);
	periods(SECONDS(5));
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_memory_that_the_hypervisor_took_back_is_nobodys_fault)
{
	others(2, 0);
	periods(SECONDS(5));
	w.slower = 45;
	periods(SECONDS(60));
	ck_assert(!brake_is_on(&w.brake));
	/* nothing of it was learned: who takes bandwidth afterwards is seen */
	w.slower = 1;
	periods(2);
	others(8, 14);
	periods(SECONDS(1));
	ck_assert(brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_a_machine_that_became_slower_for_good_is_learned_in_peace)
{
	periods(SECONDS(5));
	w.slower = 1.5;
	periods(SECONDS(30));
	others(1, 0);
	periods(SECONDS(30));
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_a_foreground_from_before_is_seen_once_it_was_away_for_a_moment)
{
	others(8, 14);
	periods(SECONDS(30));
	/* nothing to compare with */
	ck_assert(!brake_is_on(&w.brake));
	others(0, 0);
	periods(3);
	others(8, 14);
	periods(SECONDS(1));
	ck_assert(brake_is_on(&w.brake));
	ck_assert_int_eq(w.brake.reason, BRAKE_BANDWIDTH);
}
END_TEST

START_TEST(test_other_work_has_a_best_of_its_own)
{
	others(2, 0);
	periods(SECONDS(5));
	w.work.kind = 2;
	w.slower = 4;
	periods(SECONDS(30));
	ck_assert(!brake_is_on(&w.brake));
	w.work.kind = 1;
	w.slower = 1;
	periods(SECONDS(5));
	w.slower = 1.3;
	periods(4);
	ck_assert(brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_fewer_members_are_held_against_the_best_of_more)
{
	/* four were never seen undisturbed when the foreground comes, and stay braked all the same
	 */
	periods(SECONDS(5));
	others(4, 12);
	periods(2);
	ck_assert_uint_gt(w.brake.step, 0);
	periods(4);
	ck_assert_uint_gt(w.brake.step, 2);
}
END_TEST

START_TEST(test_more_members_are_not_held_against_the_best_of_fewer)
{
	w.nr_full = 16; /* which take 1.6 times as long for a byte by themselves */
	others(2, 0);
	for (w.nr_full = 1; w.nr_full < 16; w.nr_full++)
		periods(4);
	periods(SECONDS(30));
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_a_period_without_a_chunk_says_nothing)
{
	unsigned step;

	periods(SECONDS(5));
	others(8, 14);
	periods(2);
	step = w.brake.step;
	w.has_no_chunk = true;
	periods(SECONDS(10));
	ck_assert_uint_eq(w.brake.step, step);
	/* but when nobody else is there any more it need not be held back */
	others(0, 0);
	periods(SECONDS(10));
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_work_that_brings_nothing_is_not_held_by_the_bandwidth_of_other_work)
{
	periods(SECONDS(5));
	others(8, 14);
	periods(SECONDS(3));
	ck_assert_uint_gt(w.brake.step, 2);
	ck_assert_int_eq(w.brake.reason, BRAKE_BANDWIDTH);
	w.work.kind = 2;
	w.has_no_chunk = true;
	periods(SECONDS(10));
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_nor_by_a_brake_that_went_on_for_pressure)
{
	periods(SECONDS(5));
	others(8, 0);
	w.lost[PRESSURE_MEMORY] = 0.25;
	periods(4);
	ck_assert_uint_eq(w.brake.step, 4);
	w.lost[PRESSURE_MEMORY] = 0;
	w.has_no_chunk = true;
	periods(SECONDS(10));
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_after_other_work_the_first_look_is_compared_with_nothing)
{
	others(2, 0);
	periods(SECONDS(5));
	brake_skip(&w.brake);
	/* its CPU time is not that of these bytes */
	w.work.background_cpu_nsec += UINT64_C(1000000000);
	w.work.background_bytes += MIB;
	period();
	periods(2);
	ck_assert(!brake_is_on(&w.brake));
	w.lost[PRESSURE_MEMORY] = 1;
	brake_skip(&w.brake);
	period();
	ck_assert(!brake_is_on(&w.brake));
	period();
	ck_assert(brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_more_kinds_of_work_than_there_is_room_for_are_forgotten)
{
	for (unsigned i = 0; i < 4 * BRAKE_BESTS_MAX; i++) {
		w.work.kind = 100 + i;
		periods(4);
		ck_assert_uint_le(w.brake.nr_bests, BRAKE_BESTS_MAX);
	}
	/* the last one is known */
	others(8, 14);
	periods(4);
	ck_assert(brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_noise_and_a_foreground_do_not_make_it_flutter)
{
	w.noise = 0.06;
	periods(SECONDS(10));
	others(8, 14);
	periods(SECONDS(10));
	ck_assert_uint_le(nr_turns(SECONDS(600)), 2 * 600 / 10);
	ck_assert_double_ge(foreground_percent(SECONDS(60)), 90);
	others(0, 0);
	periods(SECONDS(30));
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_how_much_slower_it_is_says_how_many_steps)
{
	periods(SECONDS(5));
	others(4, 4);
	periods(2);
	ck_assert_uint_eq(w.brake.step, 1);
	brake_world_setup();
	periods(SECONDS(5));
	others(4, 8);
	periods(2);
	ck_assert_uint_eq(w.brake.step, 2);
}
END_TEST

START_TEST(test_once_it_is_on_others_lose_no_more_than_a_tenth)
{
	unsigned nr_periods_with_four = 0;

	periods(SECONDS(5));
	others(4, 7.2);
	periods(SECONDS(10));
	/* with four it would be 12 %, for as long as nobody notices */
	for (unsigned i = 0; i < SECONDS(60); i++) {
		period();
		nr_periods_with_four += w.work.nr_active == 4;
	}
	ck_assert_uint_le(nr_periods_with_four, SECONDS(60) / 6);
}
END_TEST

START_TEST(test_a_foreground_is_not_learned_as_what_the_machine_gives)
{
	w.nr_full = 1;
	periods(SECONDS(5));
	others(4, 14);
	periods(SECONDS(2));
	for (unsigned i = 0; i < SECONDS(600); i++) {
		period();
		ck_assert(brake_is_on(&w.brake));
	}
}
END_TEST

START_TEST(test_nor_is_memory_that_the_hypervisor_has_to_find)
{
	periods(SECONDS(5));
	w.slower = 45;
	periods(SECONDS(60));
	w.slower = 1;
	others(8, 14);
	periods(SECONDS(1));
	ck_assert(brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_a_period_of_two_kinds_of_work_says_nothing)
{
	others(2, 0);
	periods(SECONDS(5));
	w.work.kind = 2;
	w.slower = 4;
	periods(SECONDS(5));
	w.lost[PRESSURE_MEMORY] = 0.25;
	period();
	w.lost[PRESSURE_MEMORY] = 0.19;
	ck_assert_uint_eq(w.brake.step, 1);
	w.work.kind = 1;
	period();
	w.slower = 1;
	periods(4);
	ck_assert_uint_eq(w.brake.step, 1);
}
END_TEST

START_TEST(test_what_was_not_seen_for_longest_is_forgotten_first)
{
	others(1, 0);
	for (unsigned i = 0; i < 4 * BRAKE_BESTS_MAX; i++) {
		w.work.kind = 1;
		periods(4);
		w.work.kind = 100 + i;
		periods(4);
	}
	w.work.kind = 1;
	others(8, 14);
	periods(3);
	ck_assert(brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_a_period_with_two_numbers_of_members_is_held_against_the_larger)
{
	/* sixteen take 1.6 times as long for a byte by themselves */
	others(2, 0);
	periods(SECONDS(5));
	w.nr_full = 16;
	periods(SECONDS(5));
	w.lost[PRESSURE_MEMORY] = 0.25;
	period();
	w.lost[PRESSURE_MEMORY] = 0.19;
	ck_assert_uint_eq(w.brake.step, 1);
	periods(4);
	ck_assert_uint_eq(w.brake.step, 1);
}
END_TEST

START_TEST(test_nothing_is_learned_of_a_period_with_two_numbers_of_members)
{
	others(2, 0);
	periods(SECONDS(5));
	for (unsigned i = 0; i < 20; i++) {
		w.nr_full = i % 2 ? 8 : 16;
		period();
	}
	w.nr_full = 16;
	periods(SECONDS(5));
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("brake-bandwidth");
	TCase *tc = tcase_create("bandwidth");

	tcase_add_checked_fixture(tc, brake_world_setup, NULL);
	tcase_add_test(tc, test_whoever_wants_the_bandwidth_gets_it);
	tcase_add_test(tc, test_a_foreground_that_wants_more_than_there_is_never_loses_much);
	tcase_add_test(tc, test_a_foreground_that_never_goes_is_not_tried_each_second);
	tcase_add_test(tc, test_when_the_foreground_goes_full_speed_comes_back);
	tcase_add_test(tc, test_a_foreground_that_comes_and_goes_is_served_each_time);
	tcase_add_test(tc, test_a_computation_without_memory_holds_nothing_back);
	tcase_add_test(tc, test_a_single_slow_period_is_noise);
	tcase_add_test(tc, test_a_single_fast_period_is_not_the_best);
	tcase_add_test(tc, test_slow_memory_is_nobodys_fault_while_nobody_else_runs);
	tcase_add_test(tc, test_memory_that_the_hypervisor_took_back_is_nobodys_fault);
	tcase_add_test(tc, test_a_machine_that_became_slower_for_good_is_learned_in_peace);
	tcase_add_test(tc, test_a_foreground_from_before_is_seen_once_it_was_away_for_a_moment);
	tcase_add_test(tc, test_other_work_has_a_best_of_its_own);
	tcase_add_test(tc, test_fewer_members_are_held_against_the_best_of_more);
	tcase_add_test(tc, test_more_members_are_not_held_against_the_best_of_fewer);
	tcase_add_test(tc, test_a_period_without_a_chunk_says_nothing);
	tcase_add_test(tc,
	               test_work_that_brings_nothing_is_not_held_by_the_bandwidth_of_other_work);
	tcase_add_test(tc, test_nor_by_a_brake_that_went_on_for_pressure);
	tcase_add_test(tc, test_after_other_work_the_first_look_is_compared_with_nothing);
	tcase_add_test(tc, test_more_kinds_of_work_than_there_is_room_for_are_forgotten);
	tcase_add_test(tc, test_noise_and_a_foreground_do_not_make_it_flutter);
	tcase_add_test(tc, test_how_much_slower_it_is_says_how_many_steps);
	tcase_add_test(tc, test_once_it_is_on_others_lose_no_more_than_a_tenth);
	tcase_add_test(tc, test_a_foreground_is_not_learned_as_what_the_machine_gives);
	tcase_add_test(tc, test_nor_is_memory_that_the_hypervisor_has_to_find);
	tcase_add_test(tc, test_a_period_of_two_kinds_of_work_says_nothing);
	tcase_add_test(tc, test_what_was_not_seen_for_longest_is_forgotten_first);
	tcase_add_test(tc, test_a_period_with_two_numbers_of_members_is_held_against_the_larger);
	tcase_add_test(tc, test_nothing_is_learned_of_a_period_with_two_numbers_of_members);
	suite_add_tcase(suite, tc);
	return suite_main(suite);
}
