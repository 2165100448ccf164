/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shares that come first, and who waits for them. */
#include <errno.h>
#include <sched.h>

#include "../../daemon/base/clock.h"
#include "fake-kind.h"
#include "suite.h"

#define NEVER_USEC UINT64_C(3600000000)

enum { FIRST, OTHER, THIRD };

static struct bench bench;
static struct gate gate;
static struct fake fakes[3]; /* outlive the test's function: the worker ends after it */

static void close_bench(void)
{
	bench_close(&bench);
}

static unsigned last_event(unsigned id)
{
	unsigned at = 0;

	for (unsigned i = 0; i < bench.book.nr_events; i++)
		if (bench.book.events[i].id == id)
			at = i;
	return at;
}

static unsigned first_event(unsigned id)
{
	unsigned at = 0;

	while (at < bench.book.nr_events && bench.book.events[at].id != id)
		at++;
	return at;
}

static unsigned nr_of(unsigned id)
{
	unsigned nr = 0;

	for (unsigned op = EVENT_PREPARE; op <= EVENT_SHRINK; op++)
		nr += book_nr(&bench.book, id, op, -1);
	return nr;
}

static void start(void)
{
	ck_assert_int_eq(worker_start(bench.worker), 0);
}

static bool is_in_backoff(const struct run *run)
{
	struct run_status status;

	run_read(run, &status);
	return status.is_in_backoff;
}

/* A share that comes first and waits out a back-off that never ends. */
static struct run *add_backed_off(struct fake *fake, uint64_t early_bytes, uint64_t deferred_bytes)
{
	struct run *run;

	fake_init_first(fake, &bench, FIRST, early_bytes, deferred_bytes);
	fake->parts[STAGE_EARLY].finish_results[0] = -EAGAIN;
	if (early_bytes == 0)
		fake->parts[STAGE_DEFERRED].finish_results[0] = -EAGAIN;
	run = bench_add(&bench, fake);
	start();
	bench_await(&bench, is_in_backoff(run));
	return run;
}

START_TEST(test_other_shares_begin_when_those_that_come_first_have_settled)
{
	struct run *runs[3];

	bench_open(&bench, 2, 1000);
	fake_init(&fakes[OTHER], &bench, OTHER, 4, 4);
	fake_init_first(&fakes[FIRST], &bench, FIRST, 3, 5);
	fake_init_first(&fakes[THIRD], &bench, THIRD, 0, 5);
	runs[OTHER] = bench_add(&bench, &fakes[OTHER]);
	runs[FIRST] = bench_add(&bench, &fakes[FIRST]);
	runs[THIRD] = bench_add(&bench, &fakes[THIRD]);
	start();
	bench_await_end(&bench);

	ck_assert_uint_lt(last_event(FIRST), first_event(OTHER));
	ck_assert_uint_lt(last_event(THIRD), first_event(OTHER));
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(run_state(runs[i]), SHARE_READY);
}
END_TEST

START_TEST(test_early_parts_of_those_that_come_first_go_before_their_deferred_ones)
{
	bench_open(&bench, 1, 1000);
	fake_init_first(&fakes[0], &bench, 0, 2, 2);
	fake_init_first(&fakes[1], &bench, 1, 2, 2);
	for (unsigned i = 0; i < 2; i++)
		(void) bench_add(&bench, &fakes[i]);
	start();
	bench_await_end(&bench);
	ck_assert_uint_lt(book_first(&bench.book, 1, EVENT_FINISH, STAGE_EARLY),
	                  book_first(&bench.book, 0, EVENT_PREPARE, STAGE_DEFERRED));
	ck_assert_uint_lt(book_first(&bench.book, 0, EVENT_FINISH, STAGE_DEFERRED),
	                  book_first(&bench.book, 1, EVENT_PREPARE, STAGE_DEFERRED));
}
END_TEST

START_TEST(test_deferred_parts_that_come_first_run_at_normal_priority)
{
	bench_open(&bench, 2, 1000);
	fake_init_first(&fakes[FIRST], &bench, FIRST, 0, 6);
	fake_init(&fakes[OTHER], &bench, OTHER, 0, 6);
	for (unsigned i = 0; i < 2; i++)
		(void) bench_add(&bench, &fakes[i]);
	start();
	bench_await_end(&bench);
	for (unsigned i = 0; i < bench.book.nr_events; i++)
		ck_assert_int_eq(bench.book.events[i].policy,
		                 bench.book.events[i].id == FIRST ? SCHED_OTHER : SCHED_BATCH);
}
END_TEST

START_TEST(test_others_wait_while_one_that_comes_first_waits_out_its_back_off)
{
	struct run *runs[2];

	bench_open(&bench, 2, 2000);
	fake_init_first(&fakes[FIRST], &bench, FIRST, 0, 2);
	fakes[FIRST].parts[STAGE_DEFERRED].finish_results[0] = -EAGAIN;
	fakes[FIRST].parts[STAGE_DEFERRED].finish_results[1] = -EAGAIN;
	fake_init(&fakes[OTHER], &bench, OTHER, 2, 2);
	for (unsigned i = 0; i < 2; i++)
		runs[i] = bench_add(&bench, &fakes[i]);
	start();
	bench_await_end(&bench);
	ck_assert_uint_eq(book_nr(&bench.book, FIRST, EVENT_FINISH, -1), 3);
	ck_assert_uint_lt(last_event(FIRST), first_event(OTHER));
	ck_assert_int_eq(run_state(runs[OTHER]), SHARE_READY);
}
END_TEST

START_TEST(test_who_waits_goes_on_once_what_it_waits_for_is_cancelled)
{
	struct run *first, *other;

	bench_open(&bench, 1, NEVER_USEC);
	first = add_backed_off(&fakes[FIRST], 1, 1);
	fake_init(&fakes[OTHER], &bench, OTHER, 2, 2);
	other = bench_add(&bench, &fakes[OTHER]);
	ck_assert_int_eq(run_state(other), SHARE_WAITING);
	run_cancel(first);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(other), SHARE_READY);
	ck_assert_int_eq(run_state(first), SHARE_CANCELLED);
}
END_TEST

START_TEST(test_another_one_that_comes_first_does_not_wait_for_the_back_off)
{
	struct run *third;

	bench_open(&bench, 1, NEVER_USEC);
	(void) add_backed_off(&fakes[FIRST], 1, 1);
	fake_init_first(&fakes[THIRD], &bench, THIRD, 2, 2);
	third = bench_add(&bench, &fakes[THIRD]);
	bench_await_idle(&bench, third);
	ck_assert_int_eq(run_state(third), SHARE_READY);
}
END_TEST

START_TEST(test_what_was_cancelled_gives_back_without_waiting)
{
	struct run *first, *other;

	bench_open(&bench, 1, NEVER_USEC);
	gate_init(&gate);
	fake_init(&fakes[OTHER], &bench, OTHER, 4, 0);
	fakes[OTHER].parts[STAGE_EARLY].chunk_gate = &gate;
	other = bench_add(&bench, &fakes[OTHER]);
	start();
	gate_await(&gate, 1);
	fake_init_first(&fakes[FIRST], &bench, FIRST, 1, 0);
	fakes[FIRST].parts[STAGE_EARLY].finish_results[0] = -EAGAIN;
	first = bench_add(&bench, &fakes[FIRST]);
	gate_open(&gate, 1);
	/* The part at hand has made way, and may not go on. */
	bench_await(&bench, is_in_backoff(first));
	ck_assert_uint_eq(book_nr(&bench.book, OTHER, EVENT_CHUNK, -1), 1);
	run_cancel(other);
	bench_await_idle(&bench, other);
	ck_assert_uint_eq(book_nr(&bench.book, OTHER, EVENT_CHUNK, -1), 1);
	ck_assert_uint_eq(book_nr(&bench.book, OTHER, EVENT_FINISH, -1), 1);
	ck_assert(is_in_backoff(first));
}
END_TEST

START_TEST(test_a_shrink_runs_in_the_back_off_of_what_comes_first_but_not_in_front_of_it)
{
	struct run *first, *other;

	bench_open(&bench, 1, NEVER_USEC);
	gate_init(&gate);
	other = bench_add_settled(&bench, &fakes[OTHER], OTHER, 2, 2);
	fake_init_first(&fakes[FIRST], &bench, FIRST, 0, 3);
	fakes[FIRST].parts[STAGE_DEFERRED].chunk_gate = &gate;
	fakes[FIRST].parts[STAGE_DEFERRED].finish_results[0] = -EAGAIN;
	first = bench_add(&bench, &fakes[FIRST]);
	start();
	gate_await(&gate, 1);
	ck_assert_int_eq(run_shrink(other, 1, 1, 1), 0);
	gate_open(&gate, 3);
	bench_await_idle(&bench, other);
	ck_assert(is_in_backoff(first));
	ck_assert_uint_lt(book_first(&bench.book, FIRST, EVENT_FINISH, -1),
	                  book_first(&bench.book, OTHER, EVENT_SHRINK, -1));
}
END_TEST

START_TEST(test_a_refill_does_not_wait_for_what_comes_first)
{
	struct run *first, *other;

	bench_open(&bench, 1, NEVER_USEC);
	other = bench_add_settled(&bench, &fakes[OTHER], OTHER, 2, 2);
	first = add_backed_off(&fakes[FIRST], 1, 1);
	worker_pause(bench.worker);
	bench_refill(other, &fakes[OTHER], 1, 1);
	worker_resume(bench.worker);
	bench_await_idle(&bench, other);
	ck_assert_int_eq(run_state(other), SHARE_READY);
	ck_assert(is_in_backoff(first));
}
END_TEST

START_TEST(test_a_wanted_part_goes_behind_the_early_and_before_the_deferred_part)
{
	struct run *runs[2];

	bench_open(&bench, 1, 1000);
	fake_init(&fakes[OTHER], &bench, OTHER, 2, 2);
	fake_init_first(&fakes[FIRST], &bench, FIRST, 3, 3);
	runs[OTHER] = bench_add(&bench, &fakes[OTHER]);
	runs[FIRST] = bench_add(&bench, &fakes[FIRST]);
	run_want(runs[OTHER], true);
	start();
	bench_await_end(&bench);
	ck_assert_uint_lt(book_first(&bench.book, FIRST, EVENT_FINISH, STAGE_EARLY),
	                  first_event(OTHER));
	ck_assert_uint_lt(last_event(OTHER),
	                  book_first(&bench.book, FIRST, EVENT_PREPARE, STAGE_DEFERRED));
	ck_assert_int_eq(run_state(runs[FIRST]), SHARE_READY);
}
END_TEST

START_TEST(test_a_wanted_part_waits_with_an_early_part_but_not_with_a_deferred_one)
{
	struct run *other;
	bool has_early = _i;

	bench_open(&bench, 1, NEVER_USEC);
	(void) add_backed_off(&fakes[FIRST], has_early, 1);
	fake_init(&fakes[OTHER], &bench, OTHER, 2, 0);
	other = bench_add(&bench, &fakes[OTHER]);
	run_want(other, true);
	if (has_early)
		await_yielding(tasks_are_asleep());
	else
		bench_await_idle(&bench, other);
	ck_assert_int_eq(run_state(other), has_early ? SHARE_WAITING : SHARE_READY);
}
END_TEST

START_TEST(test_a_part_that_is_wanted_no_more_waits_again)
{
	struct run *first, *other;

	bench_open(&bench, 1, NEVER_USEC);
	gate_init(&gate);
	first = add_backed_off(&fakes[FIRST], 0, 1);
	fake_init(&fakes[OTHER], &bench, OTHER, 4, 0);
	fakes[OTHER].parts[STAGE_EARLY].chunk_gate = &gate;
	other = bench_add(&bench, &fakes[OTHER]);
	run_want(other, true);
	gate_await(&gate, 1);
	run_want(other, false);
	gate_open(&gate, 4);
	await_yielding(tasks_are_asleep());
	ck_assert_uint_eq(book_nr(&bench.book, OTHER, EVENT_CHUNK, -1), 1);
	run_cancel(first);
	bench_await_end(&bench);
	ck_assert_uint_eq(book_nr(&bench.book, OTHER, EVENT_CHUNK, -1), 4);
	ck_assert_int_eq(run_state(other), SHARE_READY);
}
END_TEST

START_TEST(test_a_retry_of_what_comes_first_leaves_settled_what_has_settled)
{
	struct run *first, *other, *third;
	unsigned nr_other;

	bench_open(&bench, 1, NEVER_USEC);
	gate_init(&gate);
	fake_init_first(&fakes[FIRST], &bench, FIRST, 2, 2);
	first = bench_add(&bench, &fakes[FIRST]);
	start();
	bench_await_end(&bench);
	other = bench_add_settled(&bench, &fakes[OTHER], OTHER, 2, 2);
	nr_other = nr_of(OTHER);

	fake_init(&fakes[THIRD], &bench, THIRD, 0, 4);
	fakes[THIRD].parts[STAGE_DEFERRED].chunk_gate = &gate;
	third = bench_add(&bench, &fakes[THIRD]);
	start();
	gate_await(&gate, 1);
	fakes[FIRST].parts[STAGE_EARLY].done_bytes = 0;
	ck_assert_int_eq(run_retry(first), 0);
	ck_assert_int_eq(run_state(other), SHARE_READY);
	ck_assert(run_is_idle(other));
	gate_open(&gate, 4);
	bench_await_end(&bench);
	/* The part at hand made way for it, and went on. */
	ck_assert_uint_lt(last_event(FIRST), last_event(THIRD));
	ck_assert_uint_eq(book_nr(&bench.book, THIRD, EVENT_PREPARE, -1), 1);
	ck_assert_uint_lt(book_first(&bench.book, THIRD, EVENT_CHUNK, -1), last_event(FIRST));
	ck_assert_int_eq(run_state(third), SHARE_READY);
	ck_assert_uint_eq(nr_of(OTHER), nr_other);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("first");
	TCase *first = tcase_create("first");

	tcase_set_timeout(first, 60);
	tcase_add_checked_fixture(first, NULL, close_bench);
	tcase_add_test(first, test_other_shares_begin_when_those_that_come_first_have_settled);
	tcase_add_test(first,
	               test_early_parts_of_those_that_come_first_go_before_their_deferred_ones);
	tcase_add_test(first, test_deferred_parts_that_come_first_run_at_normal_priority);
	tcase_add_test(first, test_others_wait_while_one_that_comes_first_waits_out_its_back_off);
	tcase_add_test(first, test_who_waits_goes_on_once_what_it_waits_for_is_cancelled);
	tcase_add_test(first, test_another_one_that_comes_first_does_not_wait_for_the_back_off);
	tcase_add_test(first, test_what_was_cancelled_gives_back_without_waiting);
	tcase_add_test(
		first,
		test_a_shrink_runs_in_the_back_off_of_what_comes_first_but_not_in_front_of_it);
	tcase_add_test(first, test_a_refill_does_not_wait_for_what_comes_first);
	tcase_add_test(first,
	               test_a_wanted_part_goes_behind_the_early_and_before_the_deferred_part);
	tcase_add_loop_test(first,
	                    test_a_wanted_part_waits_with_an_early_part_but_not_with_a_deferred_one,
	                    0, 2);
	tcase_add_test(first, test_a_part_that_is_wanted_no_more_waits_again);
	tcase_add_test(first, test_a_retry_of_what_comes_first_leaves_settled_what_has_settled);
	suite_add_tcase(suite, first);
	return suite_main(suite);
}
