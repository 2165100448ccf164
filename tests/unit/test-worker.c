/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In which order a worker works, and how it is held, made to let go, and ended. */
#include <errno.h>
#include <sched.h>

#include "../../daemon/base/clock.h"
#include "fake-kind.h"
#include "suite.h"

#define NEVER_USEC UINT64_C(3600000000) /* a back-off that no test lives to see the end of */

static struct bench bench;
static struct gate gate;

static void close_bench(void)
{
	bench_close(&bench);
}

/* Loop test: _i threads more than one. */
START_TEST(test_early_parts_run_before_deferred_ones_on_every_share)
{
	struct fake fakes[3];
	struct run *runs[3];
	bool has_seen_deferred = false;

	bench_open(&bench, 1 + (unsigned) _i, 1000);
	for (unsigned i = 0; i < 3; i++) {
		fake_init(&fakes[i], &bench, i, 3, 5);
		runs[i] = bench_add(&bench, &fakes[i]);
	}
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);

	ck_assert_uint_eq(bench.book.nr_events, 3 * (2 + 3 + 2 + 5));
	for (unsigned i = 0; i < bench.book.nr_events; i++) {
		if (bench.book.events[i].stage == STAGE_DEFERRED)
			has_seen_deferred = true;
		else
			ck_assert(!has_seen_deferred);
	}
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(run_state(runs[i]), SHARE_READY);
}
END_TEST

START_TEST(test_shares_run_in_the_order_in_which_they_were_added)
{
	static const unsigned ids[] = { 2, 0, 1 };
	struct fake fakes[3];
	unsigned nr_finished = 0;

	bench_open(&bench, 2, 1000);
	for (unsigned i = 0; i < 3; i++) {
		fake_init(&fakes[i], &bench, ids[i], 2, 2);
		(void) bench_add(&bench, &fakes[i]);
	}
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);

	for (unsigned i = 0; i < bench.book.nr_events; i++) {
		const struct event *event = &bench.book.events[i];

		ck_assert_uint_eq(event->id, ids[nr_finished % 3]);
		ck_assert_uint_eq(event->stage, nr_finished / 3);
		if (event->op == EVENT_FINISH)
			nr_finished++;
	}
	ck_assert_uint_eq(nr_finished, 6);
}
END_TEST

/* Loop test: _i threads more than one. */
START_TEST(test_an_early_part_goes_in_front_of_a_deferred_one_after_the_chunks_at_hand)
{
	unsigned nr_threads = 1 + (unsigned) _i;
	struct fake deferred, early;
	struct run *runs[2];
	unsigned first;

	bench_open(&bench, nr_threads, 1000);
	gate_init(&gate);
	fake_init(&deferred, &bench, 0, 0, 12);
	deferred.parts[STAGE_DEFERRED].chunk_gate = &gate;
	fake_init(&early, &bench, 1, 3, 0);
	runs[0] = bench_add(&bench, &deferred);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, nr_threads);

	runs[1] = bench_add(&bench, &early);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_open(&gate, 12);
	bench_await_end(&bench);

	/* prepare, the chunks at hand, then the early part as a whole, then the rest. */
	first = book_first(&bench.book, 1, EVENT_PREPARE, STAGE_EARLY);
	ck_assert_uint_eq(first, 1 + nr_threads);
	for (unsigned i = first; i < first + 5; i++)
		ck_assert_uint_eq(bench.book.events[i].id, 1);
	ck_assert_int_eq(bench.book.events[first + 4].op, EVENT_FINISH);
	ck_assert_int_eq(bench.book.events[first + 5].op, EVENT_CHUNK);

	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_PREPARE, -1), 1);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_CHUNK, -1), 12);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_FINISH, -1), 1);
	ck_assert_int_eq(run_state(runs[0]), SHARE_READY);
	ck_assert_int_eq(run_state(runs[1]), SHARE_READY);
}
END_TEST

START_TEST(test_an_early_part_goes_in_front_between_two_steps_as_well)
{
	struct fake deferred, early;

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	fake_init(&deferred, &bench, 0, 0, 2);
	deferred.parts[STAGE_DEFERRED].nr_steps = 3;
	deferred.parts[STAGE_DEFERRED].prepare_gate = &gate;
	fake_init(&early, &bench, 1, 1, 0);
	(void) bench_add(&bench, &deferred);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	(void) bench_add(&bench, &early);
	gate_open(&gate, 4);
	bench_await_end(&bench);

	ck_assert_uint_eq(book_first(&bench.book, 1, EVENT_PREPARE, STAGE_EARLY), 1);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_PREPARE, -1), 4);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_FINISH, -1), 1);
}
END_TEST

START_TEST(test_pause_holds_after_the_chunks_at_hand_and_resume_goes_on)
{
	struct worker_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 3, 1000);
	gate_init(&gate);
	fake_init(&fake, &bench, 0, 20, 0);
	fake.parts[STAGE_EARLY].chunk_gate = &gate;
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 3);
	worker_pause(bench.worker);
	gate_open(&gate, 20);

	bench_await(&bench, (worker_read(bench.worker, &status), status.moves == 4));
	await_yielding(tasks_are_asleep());
	ck_assert(status.is_paused);
	ck_assert_ptr_eq(status.current, run);
	for (unsigned i = 0; i < 1000; i++) {
		(void) sched_yield();
		worker_read(bench.worker, &status);
		ck_assert_uint_eq(status.moves, 4);
	}
	ck_assert(tasks_are_asleep());
	ck_assert_int_eq(run_state(run), SHARE_EARLY);

	worker_resume(bench.worker);
	bench_await_end(&bench);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_CHUNK, -1), 20);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_FINISH, -1), 1);
	ck_assert_int_eq(run_state(run), SHARE_READY);
}
END_TEST

START_TEST(test_a_worker_that_is_paused_before_its_start_calls_no_kind)
{
	struct worker_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 2, 1000);
	fake_init(&fake, &bench, 0, 2, 0);
	run = bench_add(&bench, &fake);
	worker_pause(bench.worker);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	await_yielding((worker_read(bench.worker, &status), status.nr_threads == 2));
	await_yielding(tasks_are_asleep());
	ck_assert_uint_eq(status.moves, 0);
	ck_assert_int_eq(run_state(run), SHARE_WAITING);
	worker_resume(bench.worker);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
}
END_TEST

START_TEST(test_cancel_ends_after_the_chunks_at_hand)
{
	struct fake fakes[2];
	struct run *runs[2];
	struct run_status status;

	bench_open(&bench, 3, 1000);
	gate_init(&gate);
	fake_init(&fakes[0], &bench, 0, 100, 100);
	fakes[0].parts[STAGE_EARLY].chunk_gate = &gate;
	fake_init(&fakes[1], &bench, 1, 10, 10);
	for (unsigned i = 0; i < 2; i++)
		runs[i] = bench_add(&bench, &fakes[i]);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 3);
	worker_cancel(bench.worker);
	ck_assert(!run_is_idle(runs[0]));
	gate_open(&gate, 100);
	bench_await_end(&bench);

	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_CHUNK, -1), 3);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_FINISH, -1), 1);
	ck_assert(bench.book.events[bench.book.nr_events - 1].is_cancelled);
	run_read(runs[0], &status);
	ck_assert_int_eq(status.state, SHARE_CANCELLED);
	ck_assert_uint_eq(status.share.done_bytes, 3);

	/* What had not begun needs nobody's work to be over. */
	ck_assert_uint_eq(book_nr(&bench.book, 1, EVENT_PREPARE, -1), 0);
	ck_assert_uint_eq(book_nr(&bench.book, 1, EVENT_FINISH, -1), 0);
	ck_assert_int_eq(run_state(runs[1]), SHARE_CANCELLED);
	for (unsigned i = 0; i < 2; i++)
		ck_assert(run_is_idle(runs[i]));
}
END_TEST

START_TEST(test_free_in_the_middle_of_the_work_waits_for_the_chunk_at_hand_only)
{
	struct fake fake;

	bench_open(&bench, 2, 1000);
	gate_init(&gate);
	fake_init(&fake, &bench, 0, 50, 50);
	fake.parts[STAGE_EARLY].chunk_gate = &gate;
	(void) bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 2);
	worker_cancel(bench.worker);
	gate_open(&gate, 50);
	bench.worker = worker_free(bench.worker);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_CHUNK, -1), 2);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_FINISH, -1), 1);
}
END_TEST

START_TEST(test_cancel_ends_a_worker_that_is_paused)
{
	struct worker_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 2, 1000);
	gate_init(&gate);
	fake_init(&fake, &bench, 0, 9, 9);
	fake.parts[STAGE_EARLY].chunk_gate = &gate;
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 2);
	worker_pause(bench.worker);
	gate_open(&gate, 9);
	bench_await(&bench, (worker_read(bench.worker, &status), status.moves == 3));
	worker_cancel(bench.worker);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_CANCELLED);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_CHUNK, -1), 2);
}
END_TEST

START_TEST(test_one_run_that_is_cancelled_leaves_the_others_alone)
{
	struct fake fakes[3];
	struct run *runs[3];

	bench_open(&bench, 2, 1000);
	gate_init(&gate);
	for (unsigned i = 0; i < 3; i++)
		fake_init(&fakes[i], &bench, i, 6, 6);
	fakes[0].parts[STAGE_EARLY].chunk_gate = &gate;
	for (unsigned i = 0; i < 3; i++)
		runs[i] = bench_add(&bench, &fakes[i]);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 2);
	run_cancel(runs[0]);
	run_cancel(runs[1]);
	ck_assert(run_is_idle(runs[1]));
	gate_open(&gate, 6);
	bench_await_end(&bench);

	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_CHUNK, -1), 2);
	ck_assert_int_eq(run_state(runs[0]), SHARE_CANCELLED);
	ck_assert_uint_eq(book_nr(&bench.book, 1, EVENT_PREPARE, -1), 0);
	ck_assert_int_eq(run_state(runs[1]), SHARE_CANCELLED);
	ck_assert_int_eq(run_state(runs[2]), SHARE_READY);

	/* Too late to change what has become of it. */
	run_cancel(runs[2]);
	ck_assert_int_eq(run_state(runs[2]), SHARE_READY);
}
END_TEST

START_TEST(test_a_run_that_waits_out_a_back_off_can_be_cancelled)
{
	struct run_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 1, NEVER_USEC);
	fake_init(&fake, &bench, 0, 3, 3);
	for (unsigned i = 0; i < FAKE_SCRIPT_MAX; i++)
		fake.parts[STAGE_EARLY].finish_results[i] = -EAGAIN;
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await(&bench, (run_read(run, &status), status.is_in_backoff));
	run_cancel(run);
	bench_await_end(&bench);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_FINISH, STAGE_EARLY), 2);
	ck_assert(bench.book.events[bench.book.nr_events - 1].is_cancelled);
	ck_assert_int_eq(run_state(run), SHARE_CANCELLED);
}
END_TEST

START_TEST(test_a_cancelled_worker_takes_no_more_work)
{
	struct worker_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 1, 1000);
	worker_cancel(bench.worker);
	fake_init(&fake, &bench, 0, 1, 1);
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(run_state(run), SHARE_CANCELLED);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	ck_assert_int_eq(run_retry(run), 0);
	ck_assert_int_eq(run_state(run), SHARE_CANCELLED);
	worker_read(bench.worker, &status);
	ck_assert(!status.is_running);
	ck_assert_uint_eq(bench.book.nr_events, 0);
}
END_TEST

START_TEST(test_start_twice_is_harmless)
{
	struct worker_status status;
	struct fake fake;

	bench_open(&bench, 2, 1000);
	ck_assert_int_eq(worker_start(bench.worker), 0); /* nothing to do */
	worker_read(bench.worker, &status);
	ck_assert(!status.is_running);

	gate_init(&gate);
	fake_init(&fake, &bench, 0, 4, 0);
	fake.parts[STAGE_EARLY].chunk_gate = &gate;
	(void) bench_add(&bench, &fake);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 2);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	ck_assert_uint_eq(tasks_nr_named(), 2);
	gate_open(&gate, 4);
	bench_await_end(&bench);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_CHUNK, -1), 4);
}
END_TEST

START_TEST(test_a_part_that_wants_nothing_settles_without_a_thread)
{
	struct run_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 2, 1000);
	fake_init(&fake, &bench, 0, 0, 0);
	run = bench_add(&bench, &fake);
	ck_assert(run_is_idle(run));
	run_read(run, &status);
	ck_assert_int_eq(status.state, SHARE_READY);
	ck_assert_int_eq(status.stages[STAGE_EARLY].state, STAGE_SETTLED);
	ck_assert_uint_eq(status.stages[STAGE_EARLY].started_usec, 0);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	ck_assert_uint_eq(tasks_nr_named(), 0);
	ck_assert_uint_eq(bench.book.nr_events, 0);
}
END_TEST

START_TEST(test_states_follow_the_work)
{
	struct worker_status worker;
	struct run_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	fake_init(&fake, &bench, 0, 1, 1);
	fake.parts[STAGE_EARLY].chunk_gate = &gate;
	fake.parts[STAGE_DEFERRED].chunk_gate = &gate;
	run = bench_add(&bench, &fake);
	run_read(run, &status);
	ck_assert_int_eq(status.state, SHARE_WAITING);
	ck_assert_int_eq(status.stages[STAGE_EARLY].state, STAGE_WAITING);

	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	run_read(run, &status);
	ck_assert_int_eq(status.state, SHARE_EARLY);
	ck_assert_int_eq(status.stages[STAGE_EARLY].state, STAGE_RUNNING);
	ck_assert_int_eq(status.stages[STAGE_DEFERRED].state, STAGE_WAITING);
	worker_read(bench.worker, &worker);
	ck_assert_ptr_eq(worker.current, run);
	ck_assert_int_eq(worker.current_stage, STAGE_EARLY);

	gate_open(&gate, 1);
	gate_await(&gate, 1);
	run_read(run, &status);
	ck_assert_int_eq(status.state, SHARE_DEFERRED);
	ck_assert_int_eq(status.stages[STAGE_EARLY].state, STAGE_SETTLED);
	ck_assert_uint_eq(status.stages[STAGE_EARLY].done_bytes, 1);
	worker_read(bench.worker, &worker);
	ck_assert_int_eq(worker.current_stage, STAGE_DEFERRED);

	gate_open(&gate, 1);
	bench_await_end(&bench);
	run_read(run, &status);
	ck_assert_int_eq(status.state, SHARE_READY);
	ck_assert_uint_eq(status.stages[STAGE_DEFERRED].done_bytes, 1);
	worker_read(bench.worker, &worker);
	ck_assert_ptr_null(worker.current);
	ck_assert(!worker.is_running);
	ck_assert_uint_eq(worker.moves, 4); /* two steps, two chunks */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("worker");
	TCase *order = tcase_create("order");
	TCase *control = tcase_create("control");

	tcase_set_timeout(order, 60);
	tcase_add_checked_fixture(order, NULL, close_bench);
	tcase_add_loop_test(order, test_early_parts_run_before_deferred_ones_on_every_share, 0, 4);
	tcase_add_test(order, test_shares_run_in_the_order_in_which_they_were_added);
	tcase_add_loop_test(
		order, test_an_early_part_goes_in_front_of_a_deferred_one_after_the_chunks_at_hand,
		0, 4);
	tcase_add_test(order, test_an_early_part_goes_in_front_between_two_steps_as_well);
	tcase_add_test(order, test_states_follow_the_work);
	suite_add_tcase(suite, order);

	tcase_set_timeout(control, 60);
	tcase_add_checked_fixture(control, NULL, close_bench);
	tcase_add_test(control, test_pause_holds_after_the_chunks_at_hand_and_resume_goes_on);
	tcase_add_test(control, test_a_worker_that_is_paused_before_its_start_calls_no_kind);
	tcase_add_test(control, test_cancel_ends_after_the_chunks_at_hand);
	tcase_add_test(control,
	               test_free_in_the_middle_of_the_work_waits_for_the_chunk_at_hand_only);
	tcase_add_test(control, test_cancel_ends_a_worker_that_is_paused);
	tcase_add_test(control, test_one_run_that_is_cancelled_leaves_the_others_alone);
	tcase_add_test(control, test_a_run_that_waits_out_a_back_off_can_be_cancelled);
	tcase_add_test(control, test_a_cancelled_worker_takes_no_more_work);
	tcase_add_test(control, test_start_twice_is_harmless);
	tcase_add_test(control, test_a_part_that_wants_nothing_settles_without_a_thread);
	suite_add_tcase(suite, control);
	return suite_main(suite);
}
