/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Members that are held back: fewer at work. */
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "../../daemon/base/clock.h"
#include "held-crew.h"
#include "suite.h"

/* Loop test: the limit, of four threads. */
START_TEST(test_so_many_members_take_chunks_as_the_brake_says)
{
	static const unsigned limits[] = { 0, 1, 2, 3, 4, 5, UINT_MAX };
	unsigned limit = limits[_i], nr_active = limit == 0 ? 1 : limit > 4 ? 4 : limit;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 4, 1000);
	gate_init(&gate);
	set_brake(limit, 0);
	run = add_gated(&fake, 0, STAGE_DEFERRED, 40);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, nr_active);
	await_silence();
	ck_assert_uint_eq(nr_chunks_begun(0), nr_active);
	ck_assert_uint_eq(read_worker().nr_threads, 4);
	ck_assert_uint_eq(read_worker().nr_active, nr_active);
	ck_assert(read_worker().is_background);
	gate_open(&gate, 39);
	await_yielding(nr_chunks_begun(0) == 40);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(worker_thread_chunks(bench.worker, i) > 0, i < nr_active);
	gate_open(&gate, 1);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
	ck_assert_uint_eq(read_worker().nr_active, 0);
	ck_assert(!read_worker().is_background);
}
END_TEST

START_TEST(test_a_limit_that_is_raised_wakes_sleepers_in_the_round_at_hand)
{
	struct fake fake;

	bench_open(&bench, 6, 1000);
	gate_init(&gate);
	set_brake(1, 0);
	(void) add_gated(&fake, 0, STAGE_DEFERRED, 20);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	set_brake(3, 0);
	gate_await(&gate, 2);
	await_silence();
	ck_assert_uint_eq(nr_chunks_begun(0), 3);
	set_brake(UINT_MAX, 0);
	gate_await(&gate, 3);
	gate_open(&gate, 20);
	bench_await_end(&bench);
}
END_TEST

START_TEST(test_a_limit_that_is_lowered_counts_after_the_chunk_at_hand)
{
	struct gate gates[5];
	struct fake fake;
	struct run *run;

	bench_open(&bench, 4, 1000);
	fake_init(&fake, &bench, 0, 0, 20);
	fake.parts[STAGE_DEFERRED].chunk_gate = gates;
	fake.parts[STAGE_DEFERRED].nr_chunks_per_gate = 4;
	for (unsigned i = 0; i < 5; i++)
		gate_init(&gates[i]);
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gates[0], 4);
	set_brake(2, 0);
	gate_open(&gates[0], 4);
	gate_await(&gates[1], 2);
	await_silence();
	ck_assert_uint_eq(nr_chunks_begun(0), 6);
	/* Up again: who has left comes back. */
	set_brake(4, 0);
	gate_await(&gates[1], 2);
	ck_assert_uint_eq(nr_chunks_begun(0), 8);
	for (unsigned i = 1; i < 5; i++)
		gate_open(&gates[i], 4);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
}
END_TEST

START_TEST(test_the_worker_alone_comes_to_the_end)
{
	struct fake fakes[3];
	struct run *run;

	bench_open(&bench, 8, 1000);
	set_brake(1, 0);
	for (unsigned i = 0; i < 3; i++) {
		fake_init(&fakes[i], &bench, i, 0, 200);
		run = bench_add(&bench, &fakes[i]);
	}
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
	ck_assert_uint_eq(worker_thread_chunks(bench.worker, 0), 600);
}
END_TEST

/* How often a thread gave up its CPU by itself: how often it was woken. */
static unsigned long nr_switches(const char *name)
{
	scoped(dir_closep) DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned long nr = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		scoped(file_closep) FILE *file = NULL;
		char path[300], line[256];
		bool is_it = false;

		(void) snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file)) {
			if (strncmp(line, "Name:\t", 6) == 0)
				is_it = strcspn(line + 6, "\n") == strlen(name) &&
				        strncmp(line + 6, name, strlen(name)) == 0;
			if (is_it)
				(void) sscanf(line, "voluntary_ctxt_switches: %lu", &nr);
		}
	}
	ck_assert_uint_gt(nr, 0);
	return nr;
}

START_TEST(test_who_is_one_too_many_sleeps_through_all_of_it)
{
	unsigned long before;
	struct fake fakes[20];

	bench_open(&bench, 3, 1000);
	gate_init(&gate);
	set_brake(2, 0);
	for (unsigned i = 0; i < 20; i++)
		(void) add_gated(&fakes[i], i, STAGE_DEFERRED, 20);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 2);
	await_silence();
	before = nr_switches("init-node7.2");
	gate_open(&gate, 399);
	gate_await(&gate, 398);
	await_silence();
	ck_assert_uint_eq(nr_switches("init-node7.2"), before);
	gate_open(&gate, 1);
	bench_await_end(&bench);
}
END_TEST

/* Loop test: an early part, and a deferred one that somebody waits for. */
START_TEST(test_what_somebody_waits_for_is_not_held_back)
{
	struct fake fake;
	struct run *run;

	bench_open(&bench, 4, 1000);
	gate_init(&gate);
	set_brake(1, FOR_EVER);
	worker_set_max_rate(bench.worker, 1);
	run = add_gated(&fake, 0, _i == 0 ? STAGE_EARLY : STAGE_DEFERRED, 100);
	run_want(run, _i == 1);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 4);
	ck_assert(!read_worker().is_background);
	ck_assert_uint_eq(read_worker().nr_active, 4);
	gate_open(&gate, 100);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
	ck_assert_uint_eq(read_worker().background_bytes, 0);
	ck_assert_uint_eq(read_worker().background_cpu_nsec, 0);
}
END_TEST

START_TEST(test_a_part_that_is_wanted_in_the_middle_has_all_members)
{
	struct fake fake;
	struct run *run;

	bench_open(&bench, 4, 1000);
	gate_init(&gate);
	set_brake(1, 0);
	run = add_gated(&fake, 0, STAGE_DEFERRED, 20);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	run_want(run, true);
	gate_open(&gate, 1);
	gate_await(&gate, 4);
	/* … and one only when nobody waits any more. */
	run_want(run, false);
	gate_open(&gate, 4);
	gate_await(&gate, 1);
	await_silence();
	ck_assert_uint_eq(nr_chunks_begun(0), 6);
	gate_open(&gate, 15);
	bench_await_end(&bench);
}
END_TEST

START_TEST(test_refills_are_held_back_their_early_part_too)
{
	struct fake fake;
	struct run *run;

	bench_open(&bench, 4, 1000);
	run = bench_add_settled(&bench, &fake, 0, 10, 0);
	bench_refill(run, &fake, 10, 0);
	gate_init(&gate);
	fake.parts[STAGE_EARLY].chunk_gate = &gate;
	set_brake(2, 0);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 2);
	await_silence();
	ck_assert_uint_eq(nr_chunks_begun(0), 12);
	gate_open(&gate, 10);
	bench_await_end(&bench);
}
END_TEST

/* Loop test: with others that wait for what comes first, and without. */
START_TEST(test_what_comes_first_is_held_back_when_nobody_waits_for_it)
{
	unsigned nr_active = _i == 0 ? 1 : 4;
	struct fake first, other;

	bench_open(&bench, 4, 1000);
	gate_init(&gate);
	set_brake(1, 0);
	fake_init_first(&first, &bench, 0, 0, 10);
	first.parts[STAGE_DEFERRED].chunk_gate = &gate;
	(void) bench_add(&bench, &first);
	fake_init(&other, &bench, 1, 2, 2);
	if (_i == 1)
		(void) bench_add(&bench, &other);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, nr_active);
	await_silence();
	ck_assert_uint_eq(nr_chunks_begun(0), nr_active);
	ck_assert_int_eq(read_worker().is_background, _i == 0);
	gate_open(&gate, 10);
	bench_await_end(&bench);
}
END_TEST

START_TEST(test_threads_auto_begins_with_one_and_tries_another)
{
	struct worker_status status;
	struct fake fake;
	unsigned nr_ended = 0;

	bench_open_auto(&bench, 4);
	gate_init(&gate);
	(void) add_gated(&fake, 0, STAGE_EARLY, 1000);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	await_silence();
	ck_assert_uint_eq(nr_chunks_begun(0), 1);
	status = read_worker();
	ck_assert_uint_eq(status.nr_threads, 4);
	ck_assert_uint_eq(status.nr_active, 1);
	ck_assert_uint_eq(status.knee, 0);
	/* Chunks of 3 ms make a window. */
	while (read_worker().nr_active == 1) {
		uint64_t end_usec = clock_monotonic_usec() + 3000;

		await_yielding(clock_monotonic_usec() >= end_usec);
		gate_open(&gate, 1);
		gate_await(&gate, 1);
		ck_assert_uint_le(++nr_ended, 10);
	}
	ck_assert_uint_ge(nr_ended, 2);
	ck_assert_uint_eq(read_worker().nr_active, 2);
	gate_await(&gate, 1);
	ck_assert_uint_eq(nr_chunks_begun(0), nr_ended + 2);
	gate_open(&gate, 1000);
	bench_await_end(&bench);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("brake-crew");
	TCase *number = tcase_create("number");

	tcase_set_timeout(number, 60);
	tcase_add_checked_fixture(number, NULL, close_bench);
	tcase_add_loop_test(number, test_so_many_members_take_chunks_as_the_brake_says, 0, 7);
	tcase_add_test(number, test_a_limit_that_is_raised_wakes_sleepers_in_the_round_at_hand);
	tcase_add_test(number, test_a_limit_that_is_lowered_counts_after_the_chunk_at_hand);
	tcase_add_test(number, test_the_worker_alone_comes_to_the_end);
	tcase_add_test(number, test_who_is_one_too_many_sleeps_through_all_of_it);
	tcase_add_loop_test(number, test_what_somebody_waits_for_is_not_held_back, 0, 2);
	tcase_add_test(number, test_a_part_that_is_wanted_in_the_middle_has_all_members);
	tcase_add_test(number, test_refills_are_held_back_their_early_part_too);
	tcase_add_loop_test(number, test_what_comes_first_is_held_back_when_nobody_waits_for_it, 0,
	                    2);
	tcase_add_test(number, test_threads_auto_begins_with_one_and_tries_another);
	suite_add_tcase(suite, number);
	return suite_main(suite);
}
