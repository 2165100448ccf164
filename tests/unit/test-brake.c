/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The brake on a made-up machine: memory of a given bandwidth that a worker and a foreground share.
 * Whoever wants more of it than there is gets his part, and a byte takes him that much longer.
 */
#include <limits.h>
#include <string.h>

#include "../../daemon/base/size.h"
#include "../../daemon/engine/brake.h"
#include "suite.h"

#define PERIOD_USEC UINT64_C(250000)
#define LIMIT       20
#define COST        40000.0 /* ns a MiB and member, undisturbed */
#define SECONDS(n)  (4 * (n))
#define NR_FULL     8

/* In members' worth of bandwidth: what one asks for that does nothing else. */
#define BANDWIDTH 10.0

static struct world {
	struct brake brake;
	struct brake_host host;
	struct brake_sample now;
	struct brake_work work;
	unsigned nr_full;
	unsigned limit;
	double foreground;         /* members' worth of bandwidth that others want */
	double other_cpus;         /* CPUs that others use */
	double slower;             /* times: memory that the hypervisor has to find first */
	double noise;              /* part of the cost, up and down */
	double lost[NR_PRESSURES]; /* part of the time that others lose by waiting */
	double own_lost;           /* the same for us, in all three */
	unsigned seed;
	double factor; /* of the last period: times slower than alone */
} w;

static void setup(void)
{
	memset(&w, 0, sizeof(w));
	w.nr_full = NR_FULL;
	w.limit = LIMIT;
	w.slower = 1;
	w.now.at_usec = 1000;
	w.work.kind = 1;
	for (unsigned i = 0; i < NR_PRESSURES; i++)
		w.now.pressure.totals[i].has_host = w.now.pressure.totals[i].has_own = true;
	w.now.pressure.has_busy = true;
}

/* From -1 to 1, the same in every run. */
static double random_part(void)
{
	w.seed = w.seed * 1103515245u + 12345u;
	return (double) (w.seed >> 16 & 0x7fff) / 16383.5 - 1;
}

static unsigned nr_members(void)
{
	unsigned nr = brake_setting(&w.brake).nr_members;

	return nr < w.nr_full ? nr : w.nr_full;
}

static double duty(void)
{
	return 100.0 / (100 + brake_setting(&w.brake).rest_percent);
}

/* Let one period pass. */
static void period(void)
{
	double wanted = nr_members() * duty() + w.foreground;
	double cost, bytes, own_usec;

	w.factor = wanted > BANDWIDTH ? wanted / BANDWIDTH : 1;
	cost = COST * w.factor * w.slower * (1 + w.noise * random_part());
	own_usec = nr_members() * duty() * PERIOD_USEC;
	bytes = own_usec * 1000 / cost * MIB;
	w.now.at_usec += PERIOD_USEC;
	w.now.own_cpu_usec += (uint64_t) own_usec;
	w.now.pressure.busy_usec += (uint64_t) (own_usec + w.other_cpus * PERIOD_USEC);
	for (unsigned i = 0; i < NR_PRESSURES; i++) {
		struct pressure_total *total = &w.now.pressure.totals[i];

		total->own_usec += (uint64_t) (w.own_lost * PERIOD_USEC);
		total->host_usec += (uint64_t) ((w.own_lost + w.lost[i]) * PERIOD_USEC);
	}
	w.work.nr_active = nr_members();
	w.work.background_bytes += (uint64_t) bytes;
	w.work.background_cpu_nsec += (uint64_t) (own_usec * 1000);
	brake_host_look(&w.host, &w.now);
	brake_look(&w.brake, &w.host, &w.work, w.limit);
}

static void periods(unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		period();
}

/* Others come who use @cpus CPUs and want @bandwidth. */
static void others(double cpus, double bandwidth)
{
	w.other_cpus = cpus;
	w.foreground = bandwidth;
}

/* Let @nr periods pass. Return: in how many the step rose after a fall, or fell after a rise. */
static unsigned nr_turns(unsigned nr)
{
	unsigned turns = 0, step = w.brake.step;
	int way = 0;

	for (unsigned i = 0; i < nr; i++) {
		period();
		if (w.brake.step != step) {
			int now = w.brake.step > step ? 1 : -1;

			turns += way && now != way;
			way = now;
			step = w.brake.step;
		}
	}
	return turns;
}

/* Percent of its own speed that the foreground had over the next @nr periods. */
static double foreground_percent(unsigned nr)
{
	double sum = 0;

	for (unsigned i = 0; i < nr; i++) {
		/* what it loses to itself is not ours */
		double alone = w.foreground > BANDWIDTH ? w.foreground / BANDWIDTH : 1;

		period();
		sum += alone / w.factor;
	}
	return 100 * sum / nr;
}

/* --- pressure --- */

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
	period();
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

/* --- bandwidth --- */

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
	others(4, 7);
	(void) nr_turns(SECONDS(60));
	ck_assert_uint_le(nr_turns(SECONDS(600)), 2 * 600 / 16 + 2);
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

START_TEST(test_a_clock_that_slows_down_by_resting_does_not_hold_the_brake)
{
	periods(SECONDS(5));
	others(2, 14);
	periods(SECONDS(5));
	ck_assert_uint_eq(brake_setting(&w.brake).rest_percent, 700);
	/* the foreground computes only; whoever rests is slower by 30 % */
	others(2, 0);
	for (unsigned i = 0; i < SECONDS(60); i++) {
		w.slower = brake_setting(&w.brake).rest_percent > 0 ? 1.3 : 1;
		period();
	}
	ck_assert(!brake_is_on(&w.brake));
}
END_TEST

START_TEST(test_a_period_without_a_chunk_says_nothing)
{
	struct brake_work work;
	unsigned step;

	periods(SECONDS(5));
	others(8, 14);
	periods(SECONDS(2));
	step = w.brake.step;
	work = w.work;
	for (unsigned i = 0; i < SECONDS(10); i++) {
		period();
		w.work = work;
		w.brake.last = work;
		brake_look(&w.brake, &w.host, &work, w.limit);
	}
	ck_assert_uint_ge(w.brake.step, step);
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

int main(void)
{
	Suite *suite = suite_create("brake");
	TCase *pressure = tcase_create("pressure"), *bandwidth = tcase_create("bandwidth");

	tcase_add_checked_fixture(pressure, setup, NULL);
	tcase_add_test(pressure, test_without_pressure_nothing_is_held_back);
	tcase_add_test(pressure, test_pressure_halves_the_members_then_lets_the_last_one_rest);
	tcase_add_test(pressure, test_twice_the_limit_takes_two_steps_at_once);
	tcase_add_test(pressure, test_when_the_pressure_is_gone_it_lets_go_step_by_step);
	tcase_add_test(pressure, test_just_below_the_limit_is_neither_good_nor_bad);
	tcase_add_test(pressure, test_what_we_lose_ourselves_is_no_pressure);
	tcase_add_test(pressure, test_cpu_pressure_of_others_counts_where_ours_is_known);
	tcase_add_test(pressure, test_a_limit_of_0_never_brakes_and_lets_go_at_once);
	tcase_add_test(pressure, test_a_counter_that_cannot_be_read_any_more_is_no_pressure);
	tcase_add_test(pressure, test_one_thread_has_nothing_to_halve_and_rests);
	suite_add_tcase(suite, pressure);
	tcase_add_checked_fixture(bandwidth, setup, NULL);
	tcase_add_test(bandwidth, test_whoever_wants_the_bandwidth_gets_it);
	tcase_add_test(bandwidth, test_a_foreground_that_wants_more_than_there_is_never_loses_much);
	tcase_add_test(bandwidth, test_a_foreground_that_never_goes_is_not_tried_each_second);
	tcase_add_test(bandwidth, test_when_the_foreground_goes_full_speed_comes_back);
	tcase_add_test(bandwidth, test_a_foreground_that_comes_and_goes_is_served_each_time);
	tcase_add_test(bandwidth, test_a_computation_without_memory_holds_nothing_back);
	tcase_add_test(bandwidth, test_a_single_slow_period_is_noise);
	tcase_add_test(bandwidth, test_a_single_fast_period_is_not_the_best);
	tcase_add_test(bandwidth, test_slow_memory_is_nobodys_fault_while_nobody_else_runs);
	tcase_add_test(bandwidth, test_memory_that_the_hypervisor_took_back_is_nobodys_fault);
	tcase_add_test(bandwidth, test_a_machine_that_became_slower_for_good_is_learned_in_peace);
	tcase_add_test(bandwidth,
	               test_a_foreground_from_before_is_seen_once_it_was_away_for_a_moment);
	tcase_add_test(bandwidth, test_other_work_has_a_best_of_its_own);
	tcase_add_test(bandwidth, test_fewer_members_are_held_against_the_best_of_more);
	tcase_add_test(bandwidth, test_more_members_are_not_held_against_the_best_of_fewer);
	tcase_add_test(bandwidth, test_a_clock_that_slows_down_by_resting_does_not_hold_the_brake);
	tcase_add_test(bandwidth, test_a_period_without_a_chunk_says_nothing);
	tcase_add_test(bandwidth, test_after_other_work_the_first_look_is_compared_with_nothing);
	tcase_add_test(bandwidth, test_more_kinds_of_work_than_there_is_room_for_are_forgotten);
	tcase_add_test(bandwidth, test_noise_and_a_foreground_do_not_make_it_flutter);
	suite_add_tcase(suite, bandwidth);
	return suite_main(suite);
}
