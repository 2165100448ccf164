/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Building anew what was lent, behind the back of all who look at the state. */
#include <errno.h>

#include "fake-kind.h"
#include "suite.h"

static struct bench bench;
static struct gate gate;

static void close_bench(void)
{
	bench_close(&bench);
}

static void expect_refilling(const struct run *run, enum share_state state, uint64_t done_bytes)
{
	struct run_status status;

	run_read(run, &status);
	ck_assert(status.is_refilling);
	ck_assert(!run_is_idle(run));
	ck_assert_int_eq(status.state, state);
	ck_assert_uint_eq(status.share.done_bytes, done_bytes);
}

static void expect_settled(const struct run *run, enum share_state state, uint64_t done_bytes)
{
	struct run_status status;

	run_read(run, &status);
	ck_assert(!status.is_refilling);
	ck_assert(run_is_idle(run));
	ck_assert_int_eq(status.state, state);
	ck_assert_uint_eq(status.share.done_bytes, done_bytes);
}

START_TEST(test_a_run_that_is_refilled_stays_what_it_was)
{
	struct run_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	run = bench_add_settled(&bench, &fake, 0, 2, 4);
	fake.parts[STAGE_DEFERRED].chunk_gate = &gate;
	bench_refill(run, &fake, 1, 3);
	expect_refilling(run, SHARE_READY, 2);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);

	expect_refilling(run, SHARE_READY, 3);
	run_read(run, &status);
	ck_assert_int_eq(status.stages[STAGE_EARLY].state, STAGE_SETTLED);
	ck_assert_int_eq(status.stages[STAGE_DEFERRED].state, STAGE_RUNNING);
	ck_assert_int_eq(run_refill(run), -EBUSY);
	ck_assert_int_eq(run_retry(run), -EBUSY);
	ck_assert_int_eq(run_shrink(run, 1, 1, 1), -EBUSY);
	expect_refilling(run, SHARE_READY, 3);

	gate_open(&gate, 3);
	bench_await_end(&bench);
	expect_settled(run, SHARE_READY, 6);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_CHUNK, -1), 6 + 4);

	/* The next work that is no refill tells how it goes again. */
	ck_assert_int_eq(run_retry(run), 0);
	run_read(run, &status);
	ck_assert(!status.is_refilling);
	ck_assert_int_eq(status.state, SHARE_WAITING);
	worker_cancel(bench.worker);
}
END_TEST

START_TEST(test_a_shrink_after_a_refill_is_no_refill)
{
	struct run_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 1, 1000);
	run = bench_add_settled(&bench, &fake, 0, 2, 4);
	bench_refill(run, &fake, 0, 1);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	ck_assert_int_eq(run_shrink(run, 3, 3, 3), 0);
	run_read(run, &status);
	ck_assert(!status.is_refilling);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	expect_settled(run, SHARE_READY, 3);
}
END_TEST

START_TEST(test_a_refill_that_comes_back_short_settles_by_its_bytes)
{
	struct fake fake;
	struct run *run;

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	fake_init(&fake, &bench, 0, 2, 4);
	ck_assert_int_eq(worker_add(bench.worker, &fake.share, 6, 4, &run), 0);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);

	fake.parts[STAGE_DEFERRED].chunk_gate = &gate;
	fake.parts[STAGE_DEFERRED].fail_index = 2;
	fake.parts[STAGE_DEFERRED].nr_failures = 1;
	fake.parts[STAGE_DEFERRED].chunk_error = -ENOMEM;
	bench_refill(run, &fake, 0, 4);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	expect_refilling(run, SHARE_READY, 2);
	gate_open(&gate, 3);
	bench_await_end(&bench);
	expect_settled(run, SHARE_DEGRADED, 4);

	/* … and what it is then is what the next one keeps. */
	bench_refill(run, &fake, 0, 0);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	expect_refilling(run, SHARE_DEGRADED, 4);
	gate_open(&gate, 2);
	bench_await_end(&bench);
	expect_settled(run, SHARE_READY, 6);
}
END_TEST

START_TEST(test_a_refill_can_be_cancelled_and_begun_again)
{
	struct fake fake;
	struct run *run;

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	run = bench_add_settled(&bench, &fake, 0, 2, 4);
	fake.parts[STAGE_DEFERRED].chunk_gate = &gate;
	bench_refill(run, &fake, 0, 4);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	run_cancel(run);
	expect_refilling(run, SHARE_READY, 2);
	gate_open(&gate, 4);
	bench_await_end(&bench);
	expect_settled(run, SHARE_CANCELLED, 3);
	ck_assert(bench.book.events[bench.book.nr_events - 1].is_cancelled);

	bench_refill(run, &fake, 0, 0);
	expect_refilling(run, SHARE_CANCELLED, 3);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	expect_settled(run, SHARE_READY, 6);
}
END_TEST

START_TEST(test_a_cancelled_worker_refills_nothing)
{
	struct worker_status status;
	struct fake fake;
	struct run *run;
	unsigned mark;

	bench_open(&bench, 1, 1000);
	run = bench_add_settled(&bench, &fake, 0, 2, 4);
	worker_cancel(bench.worker);
	mark = book_end(&bench.book);
	ck_assert_int_eq(run_refill(run), 0);
	expect_settled(run, SHARE_READY, 6);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	worker_read(bench.worker, &status);
	ck_assert(!status.is_running);
	ck_assert_uint_eq(book_end(&bench.book), mark);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("refill");
	TCase *again = tcase_create("again");

	tcase_set_timeout(again, 60);
	tcase_add_checked_fixture(again, NULL, close_bench);
	tcase_add_test(again, test_a_run_that_is_refilled_stays_what_it_was);
	tcase_add_test(again, test_a_shrink_after_a_refill_is_no_refill);
	tcase_add_test(again, test_a_refill_that_comes_back_short_settles_by_its_bytes);
	tcase_add_test(again, test_a_refill_can_be_cancelled_and_begun_again);
	tcase_add_test(again, test_a_cancelled_worker_refills_nothing);
	suite_add_tcase(suite, again);

	return suite_main(suite);
}
