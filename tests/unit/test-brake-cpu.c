/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The brake by the CPU time that others lose: who gives way to whom, and how far. */
#include <limits.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "brake-world.h"
#include "suite.h"

#define EQUALS 1.0
#define NICE   (15.0 / 1024) /* nice 19 against 0 */

static unsigned rest_percent(void)
{
	return brake_setting(&w.brake).rest_percent;
}

/* Let one period pass in which others lose @percent of the time of @nr_cpus, whatever we do. */
static void lose_of(double percent, double nr_cpus)
{
	struct pressure_waits *waits = &w.now.pressure.waits;
	double waited = percent / 100 * nr_cpus;

	w.now.at_usec += PERIOD_USEC;
	w.now.own_cpu_usec += PERIOD_USEC;
	w.now.pressure.busy_usec += (uint64_t) ((1 + nr_cpus - waited) * PERIOD_USEC);
	waits->host_nsec += (uint64_t) (waited * PERIOD_USEC * 1000);
	w.work.nr_active = w.nr_full;
	w.work.background_bytes += MIB;
	w.work.background_cpu_nsec += (uint64_t) COST;
	brake_host_look(&w.host, &w.now);
	brake_look(&w.brake, &w.host, &w.work, w.limit);
}

static void lose(double percent)
{
	lose_of(percent, 1);
}

/* Loop test: CPUs. */
static const unsigned sizes[] = { 2, 16 };

START_TEST(test_an_equal_on_all_cpus_gets_nearly_all_of_them)
{
	cpus(sizes[_i], sizes[_i], EQUALS);
	periods(SECONDS(5));
	ck_assert(!brake_is_on(&w.brake));
	w.computing = sizes[_i];
	period();
	ck_assert_uint_eq(w.host.percent, 50);
	ck_assert_int_eq(w.host.kind, PRESSURE_CPU);
	ck_assert_int_eq(w.brake.reason, BRAKE_PRESSURE);
	ck_assert_int_eq(w.brake.kind, PRESSURE_CPU);
	ck_assert_uint_eq(w.brake.percent, 50);
	/* at once what steps would lead to */
	ck_assert_uint_eq(brake_setting(&w.brake).nr_members, 1);
	ck_assert_uint_eq(rest_percent(), 700);
	periods(2);
	ck_assert_double_ge(computing_percent(SECONDS(2)), 93);
	ck_assert_double_ge(computing_percent(SECONDS(600)), 96.5);
	/* what it was braked for, not what is left of it */
	ck_assert_uint_eq(w.brake.percent, 50);
	w.computing = 0;
	periods(SECONDS(16 + 5));
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_where_cpus_suffice_for_a_member_it_is_not_held_back)
{
	cpus(16, 16, EQUALS);
	w.computing = 15;
	periods(SECONDS(60));
	ck_assert_uint_eq(brake_setting(&w.brake).nr_members, 1);
	ck_assert_uint_le(nr_turns(SECONDS(600)), 2 * 600 / 16 + 2);
	ck_assert_double_ge(computing_percent(SECONDS(600)), 99);
	ck_assert_uint_eq(rest_percent(), 0);
}
END_TEST

START_TEST(test_where_nice_ranks_us_behind_nothing_is_held_back)
{
	cpus(sizes[_i], sizes[_i], NICE);
	periods(SECONDS(5));
	w.computing = sizes[_i];
	for (unsigned i = 0; i < SECONDS(60); i++) {
		period();
		ck_assert(!brake_is_on(&w.brake));
		ck_assert_uint_le(w.host.percent, 2);
	}
	ck_assert(w.host.has_cpu_loss && w.host.percent > 0);
}
END_TEST

START_TEST(test_others_that_never_wait_lose_nothing)
{
	cpus(sizes[_i], sizes[_i] / 2, EQUALS);
	w.computing = sizes[_i] / 2.0;
	w.own_lost = 0.5;
	periods(SECONDS(60));
	ck_assert(!brake_is_on(&w.brake));
	ck_assert_uint_eq(w.host.cpu_loss_percent, 0);
}
END_TEST

START_TEST(test_others_that_hardly_compute_are_within_the_ticks)
{
	/* 9 % of one CPU, run and waited for */
	cpus(2, 2, EQUALS);
	periods(SECONDS(5));
	for (unsigned i = 0; i < SECONDS(5); i++) {
		w.now.pressure.waits.host_nsec += PERIOD_USEC * 1000 / 100 * 8;
		w.now.pressure.busy_usec += PERIOD_USEC / 100;
		period();
		ck_assert(!brake_is_on(&w.brake));
	}
	/* who only waits does compute, if he waits for longer */
	w.now.pressure.waits.host_nsec += PERIOD_USEC * 1000 / 100 * 30;
	period();
	ck_assert_uint_eq(w.host.cpu_loss_percent, 100);
	ck_assert(brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_a_host_that_waits_for_itself_loses_no_more_than_we_took)
{
	/* of five parts one is ours: at the limit, and not above; of nine, one */
	cpus(16, 16, EQUALS);
	w.computing = 64;
	periods(SECONDS(10));
	ck_assert(!brake_is_on(&w.brake));
	ck_assert_uint_eq(w.host.percent, 20);
	w.computing = 128;
	periods(SECONDS(10));
	ck_assert(!brake_is_on(&w.brake));
	ck_assert_uint_le(w.host.percent, 12);
	/* and next to nothing where nice ranks us behind */
	cpus(16, 16, NICE);
	periods(SECONDS(10));
	ck_assert_uint_le(w.host.percent, 1);
}
END_TEST

START_TEST(test_our_own_threads_that_wait_are_not_others)
{
	cpus(2, 32, NICE);
	w.computing = 2;
	periods(SECONDS(10));
	ck_assert_uint_gt(w.now.pressure.waits.own_nsec, 60 * w.now.at_usec * 1000 / 100);
	w.now.pressure.waits.own_nsec += 20 * PERIOD_USEC * 1000;
	w.now.pressure.waits.host_nsec += 20 * PERIOD_USEC * 1000;
	/* O / (O + R) alone would not tell: we take nearly all of it */
	w.now.own_cpu_usec += PERIOD_USEC;
	w.now.pressure.busy_usec += PERIOD_USEC;
	w.computing = 0.2;
	period();
	ck_assert(!brake_is_on(&w.brake));
	ck_assert_uint_eq(w.host.cpu_loss_percent, 0);
}
END_TEST

START_TEST(test_pressure_on_cpus_does_not_count_where_the_loss_is_known)
{
	cpus(2, 2, EQUALS);
	w.lost[PRESSURE_CPU] = 0.9;
	periods(SECONDS(10));
	ck_assert(!brake_is_on(&w.brake));
	ck_assert_uint_eq(w.host.percent, 0);
	/* other pressure does */
	w.lost[PRESSURE_IO] = 0.3;
	period();
	ck_assert_uint_eq(w.brake.step, 1);
	ck_assert_int_eq(w.brake.kind, PRESSURE_IO);
}
END_TEST

START_TEST(test_without_schedstat_or_stat_pressure_on_cpus_counts)
{
	cpus(2, 2, EQUALS);
	w.computing = 2;
	w.lost[PRESSURE_CPU] = 0.23;
	if (_i == 0)
		w.now.pressure.waits.is_known = false;
	else
		w.now.pressure.has_busy = false;
	periods(2);
	ck_assert(!w.host.has_cpu_loss);
	ck_assert_uint_eq(w.host.percent, 23);
	ck_assert_uint_eq(w.brake.step, 1);
	/* and its limit is the same when it is on */
	w.lost[PRESSURE_CPU] = 0.10;
	periods(2 * BRAKE_GOOD_MIN);
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_it_takes_two_samples_with_schedstat_to_know_the_loss)
{
	static const bool are_known[] = { true, true, false, false, true, true };

	cpus(2, 2, EQUALS);
	for (size_t i = 0; i < ELEMENTS(are_known); i++) {
		w.now.pressure.waits.is_known = are_known[i];
		period();
		ck_assert_int_eq(w.host.has_cpu_loss, i == 1 || i == 5);
	}
}
END_TEST

START_TEST(test_where_no_cgroup_is_ours_the_loss_is_known_all_the_same)
{
	for (unsigned i = 0; i < NR_PRESSURES; i++)
		w.now.pressure.totals[i].has_host = w.now.pressure.totals[i].has_own = false;
	cpus(2, 2, EQUALS);
	w.computing = 2;
	periods(2);
	ck_assert_uint_eq(w.host.percent, 50);
	ck_assert(brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_a_loss_above_the_limit_takes_one_step)
{
	cpus(2, 8, EQUALS);
	periods(2);
	lose(20);
	ck_assert_uint_eq(w.host.cpu_loss_percent, 20);
	ck_assert(!brake_is_on(&w.brake));
	lose(20.2);
	ck_assert_uint_eq(w.brake.step, 1);
	w.limit = 60;
	brake_release(&w.brake);
	lose(50);
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_a_loss_of_two_fifths_takes_two_steps_and_one_above_all_but_one)
{
	cpus(2, 8, EQUALS);
	periods(2);
	lose(40);
	ck_assert_uint_eq(w.brake.step, 2);
	brake_release(&w.brake);
	lose(41);
	ck_assert_uint_eq(w.brake.step, 6);
	lose(41);
	ck_assert_uint_eq(w.brake.step, 7);
	lose(41);
	ck_assert_uint_eq(w.brake.step, 7);
}
END_TEST

/* Loop test: CPUs. */
START_TEST(test_one_noisy_period_of_a_small_load_is_no_reason_for_all_but_one)
{
	cpus(sizes[_i], sizes[_i], EQUALS);
	periods(SECONDS(5));
	for (unsigned i = 0; i < SECONDS(60); i++) {
		if (i % SECONDS(6) == 0) {
			lose_of(90, 0.5);
			ck_assert_uint_eq(w.host.cpu_loss_percent, 90);
			ck_assert_uint_eq(w.brake.step, 2);
		} else {
			lose_of(0, 0.5);
		}
		ck_assert_uint_le(rest_percent(), 100);
	}
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

/* Loop test: CPUs. */
START_TEST(test_a_second_one_in_a_row_is)
{
	cpus(sizes[_i], sizes[_i], EQUALS);
	periods(SECONDS(5));
	lose_of(90, 0.9);
	lose_of(90, 0.9);
	ck_assert_uint_eq(brake_setting(&w.brake).nr_members, 1);
	ck_assert_uint_eq(rest_percent(), 700);
	/* not when something lies between: a better period, one that nobody looked at, or one
	   that tells of nothing */
	for (unsigned i = 0; i < 3; i++) {
		brake_release(&w.brake);
		lose_of(90, 0.9);
		ck_assert_uint_eq(w.brake.step, 2);
		if (i == 0)
			lose_of(4, 0.9);
		else if (i == 1)
			brake_skip(&w.brake);
		else
			w.now.pressure.waits.nr_cpus++;
		if (i > 0)
			lose_of(90, 0.9);
		ck_assert_uint_eq(w.brake.step, 2);
		lose_of(90, 0.9);
		ck_assert_uint_le(w.brake.step, 4);
	}
}
END_TEST

/* Loop test: CPUs. */
START_TEST(test_a_load_that_begins_within_a_period_has_nearly_all_within_a_second)
{
	cpus(sizes[_i], sizes[_i], EQUALS);
	periods(SECONDS(5));
	/* a fifth of the period, the load on each CPU */
	lose_of(50, 0.2 * sizes[_i]);
	w.computing = sizes[_i];
	periods(SECONDS(1) - 1);
	ck_assert_uint_eq(brake_setting(&w.brake).nr_members, 1);
	ck_assert_double_ge(computing_percent(SECONDS(2)), 93);
	ck_assert_double_ge(computing_percent(SECONDS(60)), 96);
}
END_TEST

START_TEST(test_once_it_is_on_for_cpus_others_may_lose_little)
{
	cpus(2, 8, EQUALS);
	periods(2);
	lose(25);
	ck_assert_uint_eq(w.brake.step, 1);
	lose(5.2);
	ck_assert_uint_eq(w.brake.step, 2);
	/* in between nothing is done */
	for (unsigned i = 0; i < SECONDS(10); i++)
		lose(i % 2 ? 5 : 3.2);
	ck_assert_uint_eq(w.brake.step, 2);
	for (unsigned i = 0; i < BRAKE_GOOD_MIN; i++)
		lose(3);
	ck_assert_uint_eq(w.brake.step, 1);
	/* that was an attempt, and the next one waits longer */
	lose(6);
	ck_assert_uint_eq(w.brake.step, 2);
	/* its chunks end in this period */
	lose(6);
	ck_assert_uint_eq(w.brake.step, 2);
	lose(6);
	ck_assert_uint_eq(w.brake.step, 3);
}
END_TEST

START_TEST(test_the_last_attempt_is_held_to_the_little_too)
{
	cpus(2, 8, EQUALS);
	periods(2);
	lose(25);
	for (unsigned i = 0; i < BRAKE_GOOD_MIN; i++)
		lose(0);
	ck_assert_uint_eq(w.brake.step, 0);
	lose(6);
	ck_assert_uint_eq(w.brake.step, 1);
	/* when it has gone well the limit is the limit again */
	for (unsigned i = 0; i < 2 * BRAKE_GOOD_MIN + BRAKE_TRY + 2; i++)
		lose(0);
	ck_assert_uint_eq(w.brake.step, 0);
	lose(19);
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

/* It goes on for memory, and lets go though others lose 15 % of the CPUs: the limit is 20 %. */
static void expect_the_limit_after_memory(void)
{
	w.lost[PRESSURE_MEMORY] = 0.3;
	period();
	w.lost[PRESSURE_MEMORY] = 0;
	ck_assert_uint_eq(w.brake.step, 1);
	for (unsigned i = 0; i < BRAKE_GOOD_MIN; i++)
		lose(15);
	ck_assert(!brake_is_on(&w.brake));
}

START_TEST(test_when_the_last_attempt_shows_nothing_the_limit_is_the_limit_again)
{
	cpus(2, 8, EQUALS);
	periods(2);
	lose(25);
	for (unsigned i = 0; i < BRAKE_GOOD_MIN; i++)
		lose(0);
	ck_assert_uint_eq(w.brake.step, 0);
	for (unsigned i = 0; i < BRAKE_TRY_MAX; i++)
		lose(4);
	lose(19);
	ck_assert(!brake_is_on(&w.brake));
	/* also when it goes on for something else */
	expect_the_limit_after_memory();
}
END_TEST

/* Loop test: let go of step by step, or at once. */
START_TEST(test_a_brake_for_something_else_lets_cpus_have_the_limit)
{
	cpus(2, 8, EQUALS);
	periods(2);
	/* of a former time, which is over */
	lose(25);
	for (unsigned i = 0; _i == 0 && i < BRAKE_GOOD_MIN + BRAKE_TRY + 1; i++)
		lose(0);
	if (_i == 1)
		brake_release(&w.brake);
	expect_the_limit_after_memory();
}
END_TEST

START_TEST(test_a_smaller_limit_than_the_little_is_kept)
{
	cpus(2, 8, EQUALS);
	w.limit = 2;
	periods(2);
	lose(3);
	ck_assert_uint_eq(w.brake.step, 1);
	lose(3);
	ck_assert_uint_eq(w.brake.step, 2);
}
END_TEST

/* What can go: CPUs, threads of ours, time of either. What comes brings what it counted before. */
static void change_waits(unsigned i)
{
	struct pressure_waits *waits = &w.now.pressure.waits;

	switch (i) {
	case 0:
		waits->nr_cpus--;
		break;
	case 1:
		waits->nr_cpus++;
		waits->host_nsec += UINT64_C(1) << 50;
		break;
	case 2:
		waits->nr_own_threads--;
		break;
	case 3:
		waits->own_nsec -= PERIOD_USEC;
		break;
	case 4:
		/* one begins as one ends */
		waits->own_threads[3] += 1000;
		break;
	case 5:
		/* one ends as two begin */
		waits->own_threads[waits->nr_own_threads] = waits->own_threads[0] + 50000;
		waits->own_threads[0] += 1000;
		waits->nr_own_threads++;
		break;
	default:
		waits->host_nsec -= PERIOD_USEC;
	}
}

/* Loop test: change_waits(). */
START_TEST(test_a_period_in_which_something_ended_says_nothing)
{
	cpus(16, 8, EQUALS);
	w.now.pressure.waits.host_nsec = w.now.pressure.waits.own_nsec = UINT64_C(1) << 40;
	periods(2);
	lose(25);
	ck_assert_uint_eq(w.brake.step, 1);
	/* neither good nor bad */
	for (unsigned i = 0; i < 3 * BRAKE_GOOD_MIN; i++) {
		change_waits((unsigned) _i);
		lose(0);
		ck_assert(w.host.has_cpu_loss && w.host.is_cpu_loss_unclear);
		ck_assert_uint_eq(w.host.percent, 0);
		ck_assert_uint_eq(w.brake.step, 1);
	}
	lose(25);
	ck_assert(!w.host.is_cpu_loss_unclear);
	ck_assert_uint_eq(w.brake.step, 2);
}
END_TEST

START_TEST(test_a_thread_that_begins_does_no_harm)
{
	cpus(2, 8, EQUALS);
	periods(2);
	w.now.pressure.waits.own_threads[9] = 7;
	w.now.pressure.waits.nr_own_threads++;
	/* the kernel lists them in no order that we know of */
	w.now.pressure.waits.own_threads[2] = 108;
	w.now.pressure.waits.own_threads[8] = 102;
	lose(25);
	ck_assert(!w.host.is_cpu_loss_unclear);
	ck_assert_uint_eq(w.brake.step, 1);
}
END_TEST

START_TEST(test_counters_that_go_wild_are_survived)
{
	struct pressure_waits *waits = &w.now.pressure.waits;

	cpus(2, 8, EQUALS);
	periods(2);
	waits->host_nsec = w.now.pressure.busy_usec = UINT64_MAX;
	w.now.at_usec += PERIOD_USEC;
	w.now.own_cpu_usec = UINT64_MAX;
	brake_host_look(&w.host, &w.now);
	ck_assert_uint_le(w.host.percent, 100);
	/* more of ours than of all */
	waits->own_nsec = UINT64_MAX;
	w.now.at_usec += PERIOD_USEC;
	brake_host_look(&w.host, &w.now);
	ck_assert_uint_eq(w.host.percent, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("brake-cpu");
	TCase *tc = tcase_create("loss");

	tcase_add_checked_fixture(tc, brake_world_setup, NULL);
	tcase_add_loop_test(tc, test_an_equal_on_all_cpus_gets_nearly_all_of_them, 0,
	                    ELEMENTS(sizes));
	tcase_add_test(tc, test_where_cpus_suffice_for_a_member_it_is_not_held_back);
	tcase_add_loop_test(tc, test_where_nice_ranks_us_behind_nothing_is_held_back, 0,
	                    ELEMENTS(sizes));
	tcase_add_loop_test(tc, test_others_that_never_wait_lose_nothing, 0, ELEMENTS(sizes));
	tcase_add_test(tc, test_others_that_hardly_compute_are_within_the_ticks);
	tcase_add_test(tc, test_a_host_that_waits_for_itself_loses_no_more_than_we_took);
	tcase_add_test(tc, test_our_own_threads_that_wait_are_not_others);
	tcase_add_test(tc, test_pressure_on_cpus_does_not_count_where_the_loss_is_known);
	tcase_add_loop_test(tc, test_without_schedstat_or_stat_pressure_on_cpus_counts, 0, 2);
	tcase_add_test(tc, test_it_takes_two_samples_with_schedstat_to_know_the_loss);
	tcase_add_test(tc, test_where_no_cgroup_is_ours_the_loss_is_known_all_the_same);
	tcase_add_test(tc, test_a_loss_above_the_limit_takes_one_step);
	tcase_add_test(tc, test_a_loss_of_two_fifths_takes_two_steps_and_one_above_all_but_one);
	tcase_add_loop_test(tc, test_one_noisy_period_of_a_small_load_is_no_reason_for_all_but_one,
	                    0, ELEMENTS(sizes));
	tcase_add_loop_test(tc, test_a_second_one_in_a_row_is, 0, ELEMENTS(sizes));
	tcase_add_loop_test(tc,
	                    test_a_load_that_begins_within_a_period_has_nearly_all_within_a_second,
	                    0, ELEMENTS(sizes));
	tcase_add_test(tc, test_once_it_is_on_for_cpus_others_may_lose_little);
	tcase_add_test(tc, test_the_last_attempt_is_held_to_the_little_too);
	tcase_add_test(tc, test_when_the_last_attempt_shows_nothing_the_limit_is_the_limit_again);
	tcase_add_loop_test(tc, test_a_brake_for_something_else_lets_cpus_have_the_limit, 0, 2);
	tcase_add_test(tc, test_a_smaller_limit_than_the_little_is_kept);
	tcase_add_loop_test(tc, test_a_period_in_which_something_ended_says_nothing, 0, 7);
	tcase_add_test(tc, test_a_thread_that_begins_does_no_harm);
	tcase_add_test(tc, test_counters_that_go_wild_are_survived);
	suite_add_tcase(suite, tc);
	return suite_main(suite);
}
