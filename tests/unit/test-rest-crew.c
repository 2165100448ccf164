/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Members that are held back: rests between chunks, the rate limit. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "../../daemon/base/clock.h"
#include "held-crew.h"
#include "suite.h"

/* A chunk that took a while has ended, and its member rests for ever. */
static struct run *add_resting(struct fake *fake, uint64_t bytes)
{
	struct run *run;

	gate_init(&gate);
	set_brake(UINT_MAX, FOR_EVER);
	run = add_gated(fake, 0, STAGE_DEFERRED, bytes);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	ck_assert(!read_worker().is_resting);
	gate_open(&gate, 1);
	await_yielding(read_worker().is_resting);
	ck_assert_uint_eq(nr_chunks_begun(0), 1);
	return run;
}

START_TEST(test_a_member_rests_after_its_chunk)
{
	struct fake fake;
	struct run *run;

	bench_open(&bench, 1, 1000);
	run = add_resting(&fake, 5);
	await_silence();
	ck_assert(read_worker().is_resting);
	ck_assert_uint_eq(nr_chunks_begun(0), 1);
	/* Cut short by a brake that is let go. */
	gate_open(&gate, 4);
	set_brake(UINT_MAX, 0);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
	ck_assert(!read_worker().is_resting);
}
END_TEST

START_TEST(test_a_rest_is_as_long_as_the_brake_says)
{
	uint64_t begun_usec, chunk_usec;
	struct fake fake;
	unsigned first;

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	set_brake(UINT_MAX, 300);
	(void) add_gated(&fake, 0, STAGE_DEFERRED, 2);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	begun_usec = clock_monotonic_usec();
	await_yielding(clock_monotonic_usec() >= begun_usec + 20000);
	chunk_usec = clock_monotonic_usec() - begun_usec;
	gate_open(&gate, 2);
	bench_await_end(&bench);
	first = book_first(&bench.book, 0, EVENT_CHUNK, -1);
	ck_assert_uint_ge(bench.book.events[first + 1].at_usec, begun_usec + 4 * chunk_usec);
}
END_TEST

START_TEST(test_who_is_one_too_many_after_its_rest_takes_no_chunk)
{
	struct fake fake;

	bench_open(&bench, 2, 1000);
	gate_init(&gate);
	set_brake(2, FOR_EVER);
	(void) add_gated(&fake, 0, STAGE_DEFERRED, 9);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 2);
	gate_open(&gate, 2);
	await_yielding(read_worker().is_resting);
	set_brake(1, 0);
	gate_await(&gate, 1);
	await_silence();
	ck_assert_uint_eq(nr_chunks_begun(0), 3);
	gate_open(&gate, 7);
	bench_await_end(&bench);
}
END_TEST

START_TEST(test_cancel_ends_a_rest_at_once)
{
	struct fake fake;
	struct run *run;

	bench_open(&bench, 3, 1000);
	gate_init(&gate);
	set_brake(UINT_MAX, FOR_EVER);
	run = add_gated(&fake, 0, STAGE_DEFERRED, 9);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 3);
	gate_open(&gate, 3);
	await_yielding(read_worker().is_resting);
	run_cancel(run);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_CANCELLED);
	ck_assert_uint_eq(nr_chunks_begun(0), 3);
}
END_TEST

START_TEST(test_pause_ends_a_rest_at_once_and_what_is_left_of_it_follows)
{
	struct fake fake;

	bench_open(&bench, 1, 1000);
	(void) add_resting(&fake, 5);
	worker_pause(bench.worker);
	await_yielding(!read_worker().is_resting);
	ck_assert(read_worker().is_paused);
	worker_resume(bench.worker);
	await_yielding(read_worker().is_resting);
	await_silence();
	ck_assert_uint_eq(nr_chunks_begun(0), 1);
	worker_cancel(bench.worker);
	bench_await_end(&bench);
}
END_TEST

START_TEST(test_who_is_wanted_rests_no_more)
{
	struct fake fake;
	struct run *run;

	bench_open(&bench, 1, 1000);
	run = add_resting(&fake, 5);
	run_want(run, true);
	gate_open(&gate, 4);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
}
END_TEST

START_TEST(test_an_early_part_does_not_wait_for_the_rest_of_another)
{
	struct fake resting, early;
	struct run *run;

	bench_open(&bench, 2, 1000);
	gate_init(&gate);
	set_brake(1, FOR_EVER);
	(void) add_gated(&resting, 0, STAGE_DEFERRED, 5);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	gate_open(&gate, 1);
	await_yielding(read_worker().is_resting);
	fake_init(&early, &bench, 1, 50, 0);
	run = bench_add(&bench, &early);
	bench_await_idle(&bench, run);
	ck_assert_int_eq(run_state(run), SHARE_READY);
	/* And then it rests on. */
	await_yielding(read_worker().is_resting);
	ck_assert_uint_eq(nr_chunks_begun(0), 1);
	worker_cancel(bench.worker);
	bench_await_end(&bench);
}
END_TEST

START_TEST(test_a_back_off_that_ends_in_a_rest_has_its_turn)
{
	struct fake resting, early;
	struct run *run;

	bench_open(&bench, 3, 50000);
	gate_init(&gate);
	set_brake(UINT_MAX, FOR_EVER);
	fake_init(&early, &bench, 1, 3, 0);
	early.parts[STAGE_EARLY].finish_results[0] = -EAGAIN;
	run = bench_add(&bench, &early);
	(void) add_gated(&resting, 0, STAGE_DEFERRED, 9);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 3);
	gate_open(&gate, 3);
	bench_await_idle(&bench, run);
	ck_assert_int_eq(run_state(run), SHARE_READY);
	worker_cancel(bench.worker);
	bench_await_end(&bench);
}
END_TEST

START_TEST(test_the_end_of_a_part_waits_for_no_rest_but_the_next_part_does)
{
	struct fake first, second;
	struct run *run;

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	set_brake(UINT_MAX, FOR_EVER);
	run = add_gated(&first, 0, STAGE_DEFERRED, 1);
	(void) add_gated(&second, 1, STAGE_DEFERRED, 1);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	gate_open(&gate, 2);
	bench_await_idle(&bench, run);
	await_yielding(read_worker().is_resting);
	ck_assert_uint_eq(nr_chunks_begun(1), 0);
	set_brake(UINT_MAX, 0);
	bench_await_end(&bench);
	ck_assert_uint_eq(nr_chunks_begun(1), 1);
}
END_TEST

START_TEST(test_who_rests_before_a_chunk_that_another_takes_goes_home)
{
	struct fake fake;
	struct run *run;

	bench_open(&bench, 3, 1000);
	gate_init(&gate);
	set_brake(2, FOR_EVER);
	run = add_gated(&fake, 0, STAGE_DEFERRED, 3);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 2);
	gate_open(&gate, 2);
	await_yielding(read_worker().is_resting);
	set_brake(3, FOR_EVER);
	gate_await(&gate, 1);
	gate_open(&gate, 1);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
}
END_TEST

START_TEST(test_the_worker_that_takes_the_last_chunk_sends_home_who_rests)
{
	unsigned first, workers;
	struct gate gates[3];
	struct fake fake;
	struct run *run;

	bench_open(&bench, 2, 1000);
	set_brake(2, FOR_EVER);
	fake_init(&fake, &bench, 0, 0, 3);
	fake.parts[STAGE_DEFERRED].chunk_gate = gates;
	fake.parts[STAGE_DEFERRED].nr_chunks_per_gate = 1;
	for (unsigned i = 0; i < 3; i++)
		gate_init(&gates[i]);
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gates[0], 1);
	gate_await(&gates[1], 1);
	first = book_first(&bench.book, 0, EVENT_CHUNK, -1);
	workers = strcmp(bench.book.events[first].name, "init-node7") == 0 ? first : first + 1;
	workers = (unsigned) bench.book.events[workers].index;
	await_yielding(clock_monotonic_usec() >= bench.book.events[first].at_usec + 10000);
	gate_open(&gates[workers], 1);
	await_yielding(clock_monotonic_usec() >= bench.book.events[first].at_usec + 500000);
	gate_open(&gates[1 - workers], 1);
	await_yielding(read_worker().is_resting);
	/* The worker was quick, and rests for a second or two; the other has a minute to go. */
	gate_open(&gates[2], 1);
	set_brake(2, 12000);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
}
END_TEST

START_TEST(test_the_end_does_not_wait_for_a_rest)
{
	struct fake fake;

	bench_open(&bench, 1, 1000);
	(void) add_resting(&fake, 5);
	bench.worker = worker_free(bench.worker);
	ck_assert_uint_eq(tasks_nr_named(), 0);
}
END_TEST

/* Loop test: from one thread to eight. */
START_TEST(test_all_members_together_keep_to_the_rate)
{
	uint64_t start_usec = clock_monotonic_usec();
	struct fake fake;
	unsigned first;

	bench_open(&bench, 1U << _i, 1000);
	/* A chunk is a byte: one every 5 ms. */
	worker_set_max_rate(bench.worker, 200);
	fake_init(&fake, &bench, 0, 0, 20);
	(void) bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	first = book_first(&bench.book, 0, EVENT_CHUNK, -1);
	for (unsigned i = 0; i < 20; i++)
		ck_assert_uint_ge(bench.book.events[first + i].at_usec, start_usec + i * 5000);
	ck_assert_uint_eq(read_worker().background_bytes, 20);
}
END_TEST

START_TEST(test_another_rate_counts_for_those_who_wait)
{
	struct fake fake;
	struct run *run;

	bench_open(&bench, 4, 1000);
	worker_set_max_rate(bench.worker, 1);
	fake_init(&fake, &bench, 0, 0, 3600);
	fake.share.parts[STAGE_DEFERRED].want_bytes = 1000;
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	await_yielding(read_worker().is_resting);
	await_silence();
	ck_assert_uint_lt(nr_chunks_begun(0), 100);
	worker_set_max_rate(bench.worker, 0);
	bench_await_end(&bench);
	ck_assert_uint_eq(nr_chunks_begun(0), 1000);
	(void) run;
}
END_TEST

START_TEST(test_steps_that_bring_bytes_are_paid_for_before_the_next_one)
{
	uint64_t start_usec = clock_monotonic_usec();
	struct fake fake;
	unsigned first;

	bench_open(&bench, 2, 1000);
	worker_set_max_rate(bench.worker, 1000);
	fake_init(&fake, &bench, 0, 0, 1);
	fake.parts[STAGE_DEFERRED].nr_steps = 3;
	fake.parts[STAGE_DEFERRED].step_bytes = 20;
	(void) bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	first = book_first(&bench.book, 0, EVENT_PREPARE, -1);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_int_eq(bench.book.events[first + i].op, EVENT_PREPARE);
		ck_assert_uint_ge(bench.book.events[first + i].at_usec, start_usec + i * 20000);
	}
}
END_TEST

START_TEST(test_steps_of_early_parts_are_not_paid_for)
{
	struct fake fake;
	struct run *run;

	bench_open(&bench, 2, 1000);
	worker_set_max_rate(bench.worker, 1);
	set_brake(1, FOR_EVER);
	fake_init(&fake, &bench, 0, 1, 1);
	fake.parts[STAGE_EARLY].nr_steps = 3;
	fake.parts[STAGE_EARLY].step_bytes = UINT64_MAX;
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
}
END_TEST

/* Pages for regions, say: the bytes are paid for when they are filled. */
START_TEST(test_a_step_that_brings_no_bytes_is_rested_after_as_well)
{
	struct fake fake;
	struct run *run;

	bench_open(&bench, 2, 1000);
	gate_init(&gate);
	set_brake(UINT_MAX, FOR_EVER);
	fake_init(&fake, &bench, 0, 0, 1);
	fake.parts[STAGE_DEFERRED].nr_steps = 2;
	fake.parts[STAGE_DEFERRED].prepare_gate = &gate;
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	gate_open(&gate, 1);
	await_yielding(read_worker().is_resting);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_PREPARE, -1), 1);
	set_brake(UINT_MAX, 0);
	gate_open(&gate, 2);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
}
END_TEST

START_TEST(test_background_steps_are_counted_with_their_cpu_time)
{
	struct fake fake;
	struct worker_status status;

	bench_open(&bench, 2, 1000);
	fake_init(&fake, &bench, 0, 1, 1);
	for (unsigned stage = 0; stage < NR_STAGES; stage++) {
		fake.parts[stage].nr_steps = 3;
		fake.parts[stage].step_bytes = 20;
	}
	(void) bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	status = read_worker();
	ck_assert_uint_eq(status.background_bytes, 3 * 20 + 1);
	ck_assert_uint_gt(status.background_cpu_nsec, 0);
}
END_TEST

START_TEST(test_background_chunks_are_counted_with_their_cpu_time)
{
	struct fake fake;
	struct worker_status status;

	bench_open(&bench, 3, 1000);
	fake_init(&fake, &bench, 0, 30, 70);
	(void) bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	status = read_worker();
	ck_assert_uint_eq(status.background_bytes, 70);
	ck_assert_uint_gt(status.background_cpu_nsec, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rest-crew");
	TCase *rest = tcase_create("rest");
	TCase *rate = tcase_create("rate");

	tcase_set_timeout(rest, 60);
	tcase_add_checked_fixture(rest, NULL, close_bench);
	tcase_add_test(rest, test_a_member_rests_after_its_chunk);
	tcase_add_test(rest, test_a_rest_is_as_long_as_the_brake_says);
	tcase_add_test(rest, test_who_is_one_too_many_after_its_rest_takes_no_chunk);
	tcase_add_test(rest, test_cancel_ends_a_rest_at_once);
	tcase_add_test(rest, test_pause_ends_a_rest_at_once_and_what_is_left_of_it_follows);
	tcase_add_test(rest, test_who_is_wanted_rests_no_more);
	tcase_add_test(rest, test_an_early_part_does_not_wait_for_the_rest_of_another);
	tcase_add_test(rest, test_a_back_off_that_ends_in_a_rest_has_its_turn);
	tcase_add_test(rest, test_the_end_of_a_part_waits_for_no_rest_but_the_next_part_does);
	tcase_add_test(rest, test_who_rests_before_a_chunk_that_another_takes_goes_home);
	tcase_add_test(rest, test_the_worker_that_takes_the_last_chunk_sends_home_who_rests);
	tcase_add_test(rest, test_the_end_does_not_wait_for_a_rest);
	suite_add_tcase(suite, rest);

	tcase_set_timeout(rate, 60);
	tcase_add_checked_fixture(rate, NULL, close_bench);
	tcase_add_loop_test(rate, test_all_members_together_keep_to_the_rate, 0, 4);
	tcase_add_test(rate, test_another_rate_counts_for_those_who_wait);
	tcase_add_test(rate, test_steps_that_bring_bytes_are_paid_for_before_the_next_one);
	tcase_add_test(rate, test_steps_of_early_parts_are_not_paid_for);
	tcase_add_test(rate, test_a_step_that_brings_no_bytes_is_rested_after_as_well);
	tcase_add_test(rate, test_background_steps_are_counted_with_their_cpu_time);
	tcase_add_test(rate, test_background_chunks_are_counted_with_their_cpu_time);
	suite_add_tcase(suite, rate);
	return suite_main(suite);
}
