/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rounds that fail, come back short, or are wanted again; and giving back. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/engine/schedule.h"
#include "fake-kind.h"
#include "suite.h"

#define NEVER_USEC UINT64_C(3600000000) /* a back-off that no test lives to see the end of */

static struct bench bench;
static struct gate gate;

static void close_bench(void)
{
	bench_close(&bench);
}

START_TEST(test_a_short_part_is_tried_again_after_back_offs_that_double)
{
	uint64_t finished_usec = 0, backoff_usec = 2000;
	struct run_status status;
	unsigned nr_rounds = 0;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 1, backoff_usec);
	fake_init(&fake, &bench, 0, 1, 0);
	for (unsigned i = 0; i < 4; i++)
		fake.parts[STAGE_EARLY].finish_results[i] = -EAGAIN;
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);

	for (unsigned i = 0; i < bench.book.nr_events; i++) {
		const struct event *event = &bench.book.events[i];

		if (event->op == EVENT_FINISH)
			finished_usec = event->at_usec;
		if (event->op != EVENT_PREPARE || nr_rounds++ == 0)
			continue;
		ck_assert_uint_ge(event->at_usec - finished_usec, backoff_usec);
		backoff_usec *= 2;
	}
	ck_assert_uint_eq(nr_rounds, 5);
	run_read(run, &status);
	ck_assert_int_eq(status.stages[STAGE_EARLY].state, STAGE_SETTLED);
	ck_assert(!status.is_in_backoff);
}
END_TEST

START_TEST(test_a_part_whose_back_off_ended_is_in_none)
{
	struct run_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	fake_init(&fake, &bench, 0, 1, 0);
	fake.parts[STAGE_EARLY].prepare_gate = &gate;
	fake.parts[STAGE_EARLY].finish_results[0] = -EAGAIN;
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_open(&gate, 1);
	gate_await(&gate, 2);
	run_read(run, &status);
	ck_assert(!status.is_in_backoff);
	ck_assert_int_eq(status.stages[STAGE_EARLY].state, STAGE_RUNNING);
	gate_open(&gate, 1);
	bench_await_end(&bench);
}
END_TEST

START_TEST(test_a_back_off_never_exceeds_thirty_seconds)
{
	uint64_t backoff_usec = 250000;

	ck_assert_uint_eq(schedule_backoff_next(backoff_usec), 500000);
	for (unsigned i = 0; i < 200; i++)
		backoff_usec = schedule_backoff_next(backoff_usec);
	ck_assert_uint_eq(backoff_usec, 30000000);
	ck_assert_uint_eq(schedule_backoff_next(16000000), 30000000);
}
END_TEST

START_TEST(test_other_parts_run_while_one_waits_out_its_back_off)
{
	struct run_status status;
	struct fake fakes[2];
	struct run *runs[2];

	bench_open(&bench, 2, NEVER_USEC);
	for (unsigned i = 0; i < 2; i++)
		fake_init(&fakes[i], &bench, i, 4, 4);
	fakes[0].parts[STAGE_EARLY].finish_results[0] = -EAGAIN;
	for (unsigned i = 0; i < 2; i++)
		runs[i] = bench_add(&bench, &fakes[i]);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_idle(&bench, runs[1]);

	ck_assert_int_eq(run_state(runs[1]), SHARE_READY);
	run_read(runs[0], &status);
	ck_assert(status.is_in_backoff);
	ck_assert_int_eq(status.state, SHARE_EARLY);
	/* Its deferred part does not go past its early one. */
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_PREPARE, STAGE_DEFERRED), 0);
	worker_cancel(bench.worker);
	bench_await_end(&bench);
}
END_TEST

START_TEST(test_an_early_part_whose_back_off_ended_goes_in_front_of_a_deferred_one)
{
	unsigned nr_rounds = 0, nr_chunks = 0;
	uint64_t due_usec;
	struct fake fakes[2];

	bench_open(&bench, 1, 20000);
	gate_init(&gate);
	fake_init(&fakes[0], &bench, 0, 1, 0);
	fakes[0].parts[STAGE_EARLY].finish_results[0] = -EAGAIN;
	fake_init(&fakes[1], &bench, 1, 0, 10);
	fakes[1].parts[STAGE_DEFERRED].chunk_gate = &gate;
	for (unsigned i = 0; i < 2; i++)
		(void) bench_add(&bench, &fakes[i]);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	/* The deferred part has begun; let the back-off end while its first chunk is at hand. */
	gate_await(&gate, 1);
	due_usec = clock_monotonic_usec() + 20000;
	await_yielding(clock_monotonic_usec() > due_usec);
	gate_open(&gate, 10);
	bench_await_end(&bench);

	/* That chunk is the only one in front of the second round, or none on a slow machine. */
	for (unsigned i = 0; i < bench.book.nr_events && nr_rounds < 2; i++) {
		const struct event *event = &bench.book.events[i];

		nr_rounds += event->id == 0 && event->op == EVENT_PREPARE;
		nr_chunks += event->id == 1 && event->op == EVENT_CHUNK;
	}
	ck_assert_uint_eq(nr_rounds, 2);
	ck_assert_uint_le(nr_chunks, 1);
	ck_assert_uint_eq(book_nr(&bench.book, 1, EVENT_PREPARE, -1), 1);
	ck_assert_uint_eq(book_nr(&bench.book, 1, EVENT_CHUNK, -1), 10);
}
END_TEST

START_TEST(test_a_part_that_has_to_be_built_anew_runs_again_at_once)
{
	struct fake fake;
	struct run *run;

	bench_open(&bench, 2, NEVER_USEC);
	fake_init(&fake, &bench, 0, 6, 0);
	fake.parts[STAGE_EARLY].finish_results[0] = 1;
	fake.parts[STAGE_EARLY].finish_results[1] = 1;
	fake.parts[STAGE_EARLY].fail_index = 2;
	fake.parts[STAGE_EARLY].nr_failures = 1;
	fake.parts[STAGE_EARLY].chunk_error = -EHWPOISON;
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_FINISH, -1), 3);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_PREPARE, -1), 3);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_CHUNK, -1), 7);
	ck_assert_int_eq(run_state(run), SHARE_READY);
}
END_TEST

START_TEST(test_after_a_chunk_that_failed_no_further_one_is_taken)
{
	struct run_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 1, 1000);
	fake_init(&fake, &bench, 0, 10, 0);
	fake.parts[STAGE_EARLY].fail_index = 3;
	fake.parts[STAGE_EARLY].nr_failures = 1;
	fake.parts[STAGE_EARLY].chunk_error = -ENOMEM;
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_CHUNK, -1), 4);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_FINISH, -1), 1);
	ck_assert(!bench.book.events[bench.book.nr_events - 1].is_cancelled);
	run_read(run, &status);
	ck_assert_int_eq(status.state, SHARE_FAILED);
	ck_assert_uint_eq(status.share.done_bytes, 3);
	ck_assert_int_eq(status.stages[STAGE_EARLY].error, -ENOMEM);

	/* A cancel comes too late to change that. */
	run_cancel(run);
	ck_assert_int_eq(run_state(run), SHARE_FAILED);
}
END_TEST

START_TEST(test_the_first_error_is_kept)
{
	struct run_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 2, 1000);
	fake_init(&fake, &bench, 0, 4, 0);
	fake.parts[STAGE_EARLY].prepare_error = -ENOSPC;
	fake.parts[STAGE_EARLY].finish_results[0] = 1;
	fake.parts[STAGE_EARLY].nr_failures = 1;
	fake.parts[STAGE_EARLY].chunk_error = -EIO;
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_FINISH, -1), 2);
	run_read(run, &status);
	ck_assert_int_eq(status.stages[STAGE_EARLY].error, -ENOSPC);
}
END_TEST

START_TEST(test_a_prepare_that_failed_or_found_no_chunks_goes_straight_to_finish)
{
	struct fake fakes[2];

	bench_open(&bench, 2, 1000);
	fake_init(&fakes[0], &bench, 0, 4, 0);
	fakes[0].parts[STAGE_EARLY].prepare_error = -EACCES;
	fake_init(&fakes[1], &bench, 1, 4, 0);
	fakes[1].parts[STAGE_EARLY].done_bytes = 4;
	for (unsigned i = 0; i < 2; i++)
		(void) bench_add(&bench, &fakes[i]);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_uint_eq(book_nr(&bench.book, i, EVENT_PREPARE, -1), 1);
		ck_assert_uint_eq(book_nr(&bench.book, i, EVENT_CHUNK, -1), 0);
		ck_assert_uint_eq(book_nr(&bench.book, i, EVENT_FINISH, -1), 1);
	}
}
END_TEST

START_TEST(test_prepare_is_called_while_it_asks_for_it_and_its_steps_are_moves)
{
	struct worker_status status;
	struct fake fake;

	bench_open(&bench, 2, 1000);
	fake_init(&fake, &bench, 0, 2, 0);
	fake.parts[STAGE_EARLY].nr_steps = 9;
	(void) bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_PREPARE, -1), 10);
	worker_read(bench.worker, &status);
	ck_assert_uint_eq(status.moves, 12);
}
END_TEST

START_TEST(test_steps_run_on_the_worker_alone)
{
	struct fake fake;
	pid_t tid;

	bench_open(&bench, 4, 1000);
	fake_init(&fake, &bench, 0, 20, 20);
	fake.parts[STAGE_DEFERRED].finish_results[0] = 1;
	(void) bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	tid = bench.book.events[0].tid;
	for (unsigned i = 0; i < bench.book.nr_events; i++) {
		if (bench.book.events[i].op == EVENT_CHUNK)
			continue;
		ck_assert_int_eq(bench.book.events[i].tid, tid);
		ck_assert_str_eq(bench.book.events[i].name, "init-node7");
	}
}
END_TEST

START_TEST(test_a_settled_run_can_be_tried_again_for_what_is_missing)
{
	struct run_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	fake_init(&fake, &bench, 0, 2, 6);
	fake.parts[STAGE_DEFERRED].chunk_gate = &gate;
	fake.parts[STAGE_DEFERRED].fail_index = 1;
	fake.parts[STAGE_DEFERRED].nr_failures = 1;
	fake.parts[STAGE_DEFERRED].chunk_error = -ENOMEM;
	ck_assert_int_eq(worker_add(bench.worker, &fake.share, 8, 3, &run), 0);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	ck_assert_int_eq(run_retry(run), -EBUSY);
	ck_assert_int_eq(run_shrink(run, 1, 1, 1), -EBUSY);
	gate_open(&gate, 8);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_DEGRADED);

	ck_assert_int_eq(run_retry(run), 0);
	ck_assert(!run_is_idle(run));
	ck_assert_int_eq(run_state(run), SHARE_WAITING);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	run_read(run, &status);
	ck_assert_int_eq(status.state, SHARE_READY);
	ck_assert_uint_eq(status.share.done_bytes, 8);
	ck_assert_int_eq(status.stages[STAGE_DEFERRED].error, 0);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_CHUNK, STAGE_EARLY), 2);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_PREPARE, STAGE_EARLY), 2);
}
END_TEST

START_TEST(test_a_cancelled_run_can_be_tried_again)
{
	struct fake fake;
	struct run *run;

	bench_open(&bench, 2, 1000);
	fake_init(&fake, &bench, 0, 2, 6);
	run = bench_add(&bench, &fake);
	run_cancel(run);
	ck_assert_int_eq(run_state(run), SHARE_CANCELLED);
	ck_assert_int_eq(run_retry(run), 0);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
}
END_TEST

START_TEST(test_shrink_gives_back_on_the_worker_and_settles_by_the_new_goal)
{
	struct run_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 2, 1000);
	fake_init(&fake, &bench, 0, 2, 8);
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);

	ck_assert_int_eq(run_shrink(run, 5, 5, 5), 0);
	ck_assert(!run_is_idle(run));
	ck_assert(!share_state_is_settled(run_state(run)));
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	ck_assert(run_is_idle(run));
	run_read(run, &status);
	ck_assert_uint_eq(status.share.done_bytes, 5);
	ck_assert_int_eq(status.state, SHARE_READY);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_SHRINK, -1), 1);
	ck_assert_uint_eq(bench.book.events[bench.book.nr_events - 1].index, 5);
	ck_assert_str_eq(bench.book.events[bench.book.nr_events - 1].name, "init-node7");
}
END_TEST

START_TEST(test_shrink_goes_in_front_of_the_deferred_part_of_another_share)
{
	struct fake fakes[2];
	struct run *runs[2];

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	fake_init(&fakes[0], &bench, 0, 4, 0);
	runs[0] = bench_add(&bench, &fakes[0]);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_idle(&bench, runs[0]);

	fake_init(&fakes[1], &bench, 1, 0, 5);
	fakes[1].parts[STAGE_DEFERRED].chunk_gate = &gate;
	worker_pause(bench.worker);
	runs[1] = bench_add(&bench, &fakes[1]);
	/* No early part, and the deferred one has not begun. */
	ck_assert_int_eq(run_state(runs[1]), SHARE_WAITING);
	worker_resume(bench.worker);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	ck_assert_int_eq(run_state(runs[1]), SHARE_DEFERRED);
	ck_assert_int_eq(run_shrink(runs[0], 4, 2, 2), 0);
	gate_open(&gate, 5);
	bench_await_end(&bench);
	ck_assert_uint_eq(book_first(&bench.book, 0, EVENT_SHRINK, -1),
	                  book_first(&bench.book, 1, EVENT_CHUNK, -1) + 1);
	ck_assert_int_eq(run_state(runs[0]), SHARE_READY);
	ck_assert_int_eq(run_state(runs[1]), SHARE_READY);
}
END_TEST

START_TEST(test_a_deferred_part_that_made_way_goes_on_before_others_begin)
{
	struct fake fakes[3];
	struct run *runs[3];

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	for (unsigned i = 0; i < 2; i++) {
		fake_init(&fakes[i], &bench, i, 0, 4);
		runs[i] = bench_add(&bench, &fakes[i]);
	}
	fakes[1].parts[STAGE_DEFERRED].chunk_gate = &gate;
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	/* The first in the order has deferred work again, while the second one makes way. */
	ck_assert_int_eq(run_retry(runs[0]), 0);
	fake_init(&fakes[2], &bench, 2, 1, 0);
	runs[2] = bench_add(&bench, &fakes[2]);
	gate_open(&gate, 4);
	bench_await_end(&bench);

	/* 0: six events; 1: prepare, chunk; 2: three; 1: three chunks, finish; 0: prepare, finish.
	 */
	ck_assert_uint_eq(bench.book.nr_events, 6 + 2 + 3 + 4 + 2);
	ck_assert_uint_eq(bench.book.events[8].id, 2);
	for (unsigned i = 11; i < 15; i++)
		ck_assert_uint_eq(bench.book.events[i].id, 1);
	ck_assert_uint_eq(bench.book.events[15].id, 0);
}
END_TEST

START_TEST(test_an_idle_run_can_be_dropped_while_another_one_works)
{
	struct fake *first = calloc(1, sizeof(*first));
	struct fake second;
	struct run *runs[2];

	bench_open(&bench, 2, 1000);
	gate_init(&gate);
	fake_init(first, &bench, 0, 3, 0);
	fake_init(&second, &bench, 1, 3, 3);
	second.parts[STAGE_EARLY].chunk_gate = &gate;
	runs[0] = bench_add(&bench, first);
	runs[1] = bench_add(&bench, &second);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_idle(&bench, runs[0]);
	run_drop(runs[0]);
	free(first);
	gate_open(&gate, 3);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(runs[1]), SHARE_READY);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rounds");
	TCase *again = tcase_create("again");
	TCase *limits = tcase_create("limits");

	tcase_add_test(limits, test_a_back_off_never_exceeds_thirty_seconds);
	suite_add_tcase(suite, limits);

	tcase_set_timeout(again, 60);
	tcase_add_checked_fixture(again, NULL, close_bench);
	tcase_add_test(again, test_a_short_part_is_tried_again_after_back_offs_that_double);
	tcase_add_test(again, test_a_part_whose_back_off_ended_is_in_none);
	tcase_add_test(again, test_other_parts_run_while_one_waits_out_its_back_off);
	tcase_add_test(again,
	               test_an_early_part_whose_back_off_ended_goes_in_front_of_a_deferred_one);
	tcase_add_test(again, test_a_part_that_has_to_be_built_anew_runs_again_at_once);
	tcase_add_test(again, test_after_a_chunk_that_failed_no_further_one_is_taken);
	tcase_add_test(again, test_the_first_error_is_kept);
	tcase_add_test(again,
	               test_a_prepare_that_failed_or_found_no_chunks_goes_straight_to_finish);
	tcase_add_test(again, test_prepare_is_called_while_it_asks_for_it_and_its_steps_are_moves);
	tcase_add_test(again, test_steps_run_on_the_worker_alone);
	tcase_add_test(again, test_a_settled_run_can_be_tried_again_for_what_is_missing);
	tcase_add_test(again, test_a_cancelled_run_can_be_tried_again);
	tcase_add_test(again, test_shrink_gives_back_on_the_worker_and_settles_by_the_new_goal);
	tcase_add_test(again, test_shrink_goes_in_front_of_the_deferred_part_of_another_share);
	tcase_add_test(again, test_a_deferred_part_that_made_way_goes_on_before_others_begin);
	tcase_add_test(again, test_an_idle_run_can_be_dropped_while_another_one_works);
	suite_add_tcase(suite, again);
	return suite_main(suite);
}
