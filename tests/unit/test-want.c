/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who is in front when somebody waits for a part, and who is behind that nobody waits for. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

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

/* The next @nr events from *mark on are about fake @id. */
static void expect_events(unsigned *mark, unsigned id, unsigned nr)
{
	ck_assert_uint_le(*mark + nr, bench.book.nr_events);
	for (; nr > 0; nr--, (*mark)++)
		ck_assert_uint_eq(bench.book.events[*mark].id, id);
}

START_TEST(test_the_wanted_go_first_then_shrinks_the_early_the_deferred_and_refills_last)
{
	struct fake fakes[5];
	struct run *refilled, *shrunk;
	unsigned mark;

	bench_open(&bench, 1, 1000);
	refilled = bench_add_settled(&bench, &fakes[0], 0, 2, 2);
	shrunk = bench_add_settled(&bench, &fakes[1], 1, 3, 0);
	mark = book_end(&bench.book);

	bench_refill(refilled, &fakes[0], 1, 2);
	ck_assert_int_eq(run_shrink(shrunk, 3, 3, 3), 0);
	fake_init(&fakes[2], &bench, 2, 0, 2);
	(void) bench_add(&bench, &fakes[2]);
	fake_init(&fakes[3], &bench, 3, 2, 0);
	(void) bench_add(&bench, &fakes[3]);
	fake_init(&fakes[4], &bench, 4, 1, 1);
	run_want(bench_add(&bench, &fakes[4]), true);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);

	ck_assert_int_eq(bench.book.events[mark].stage, STAGE_EARLY);
	expect_events(&mark, 4, 3 + 3);
	expect_events(&mark, 1, 1);
	expect_events(&mark, 3, 4);
	expect_events(&mark, 2, 4);
	ck_assert_int_eq(bench.book.events[mark].stage, STAGE_EARLY);
	expect_events(&mark, 0, 3 + 4);
	ck_assert_uint_eq(mark, bench.book.nr_events);
}
END_TEST

/* From what can wait longest to what can not. */
enum sort { SORT_REFILL, SORT_DEFERRED, SORT_EARLY, SORT_WANTED, NR_SORTS };
enum { NR_PAIRS = NR_SORTS * NR_SORTS };

/* Queue four bytes of that sort. A refill's @run has settled before, others are added now. */
static void place(enum sort sort, struct run *run, struct fake *fake, unsigned id)
{
	if (sort == SORT_REFILL) {
		bench_refill(run, fake, 0, 4);
	} else {
		fake_init(fake, &bench, id, sort == SORT_EARLY ? 4 : 0, sort == SORT_EARLY ? 0 : 4);
		if (id == 1)
			fake->parts[STAGE_EARLY].chunk_gate =
				fake->parts[STAGE_DEFERRED].chunk_gate = &gate;
		run = bench_add(&bench, fake);
	}
	if (sort == SORT_WANTED)
		run_want(run, true);
	ck_assert_int_eq(worker_start(bench.worker), 0);
}

/* Loop test: _i is a pair of sorts. */
START_TEST(test_a_part_at_hand_makes_way_for_what_can_wait_less_and_for_nothing_else)
{
	enum sort newcomer = _i % NR_SORTS, at_hand = _i / NR_SORTS;
	struct run *runs[2] = { NULL, NULL };
	struct fake fakes[2];
	unsigned mark;

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	if (newcomer == SORT_REFILL)
		runs[0] = bench_add_settled(&bench, &fakes[0], 0, 0, 4);
	if (at_hand == SORT_REFILL) {
		runs[1] = bench_add_settled(&bench, &fakes[1], 1, 0, 4);
		fakes[1].parts[STAGE_DEFERRED].chunk_gate = &gate;
	}

	place(at_hand, runs[1], &fakes[1], 1);
	gate_await(&gate, 1);
	mark = book_end(&bench.book);
	place(newcomer, runs[0], &fakes[0], 0);
	gate_open(&gate, 4);
	bench_await_end(&bench);

	if (newcomer > at_hand)
		expect_events(&mark, 0, 1 + 4 + 1);
	expect_events(&mark, 1, 3 + 1);
	if (newcomer <= at_hand)
		expect_events(&mark, 0, 1 + 4 + 1);
	ck_assert_uint_eq(mark, bench.book.nr_events);
}
END_TEST

/* A deferred part that gets in front of an early one, and is put behind it again. */
START_TEST(test_whom_nobody_waits_for_any_more_gives_its_place_back)
{
	struct fake fakes[2];
	struct run *runs[2];
	unsigned mark;

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	for (unsigned i = 0; i < 2; i++) {
		fake_init(&fakes[i], &bench, i, i == 0 ? 4 : 0, i == 0 ? 0 : 4);
		fakes[i].parts[STAGE_EARLY].chunk_gate = &gate;
		fakes[i].parts[STAGE_DEFERRED].chunk_gate = &gate;
		runs[i] = bench_add(&bench, &fakes[i]);
	}
	ck_assert_int_eq(worker_start(bench.worker), 0);
	/* Two chunks: the worker has looked up, and is past all that was queued so far. */
	gate_await(&gate, 1);
	gate_open(&gate, 1);
	gate_await(&gate, 1);
	mark = book_end(&bench.book);
	expect_events(&(unsigned){ 0 }, 0, mark);
	run_want(runs[1], true);
	gate_open(&gate, 1);
	gate_await(&gate, 1);
	run_want(runs[1], false);
	gate_open(&gate, 1);
	gate_await(&gate, 1);
	gate_open(&gate, 5);
	bench_await_end(&bench);

	expect_events(&mark, 1, 2);
	expect_events(&mark, 0, 2 + 1);
	expect_events(&mark, 1, 3 + 1);
	ck_assert_uint_eq(mark, bench.book.nr_events);
}
END_TEST

START_TEST(test_being_wanted_cuts_no_back_off_short)
{
	struct run_status status;
	struct fake fakes[3];
	struct run *runs[3];

	bench_open(&bench, 1, NEVER_USEC);
	for (unsigned i = 0; i < 3; i++)
		fake_init(&fakes[i], &bench, i, 2, 2);
	fakes[0].parts[STAGE_EARLY].finish_results[0] = -EAGAIN;
	for (unsigned i = 0; i < 2; i++)
		runs[i] = bench_add(&bench, &fakes[i]);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_idle(&bench, runs[1]);
	run_want(runs[0], true);
	runs[2] = bench_add(&bench, &fakes[2]);
	bench_await_idle(&bench, runs[2]);
	run_read(runs[0], &status);
	ck_assert(status.is_in_backoff);
	ck_assert_uint_eq(book_nr(&bench.book, 0, EVENT_PREPARE, -1), 1);
	worker_cancel(bench.worker);
	bench_await_end(&bench);
}
END_TEST

START_TEST(test_a_wanted_part_whose_back_off_ended_goes_in_front_of_an_early_one)
{
	unsigned nr_rounds = 0, nr_chunks = 0;
	uint64_t due_usec;
	struct fake fakes[2];
	struct run *run;

	bench_open(&bench, 1, 20000);
	gate_init(&gate);
	fake_init(&fakes[0], &bench, 0, 0, 1);
	fakes[0].parts[STAGE_DEFERRED].finish_results[0] = -EAGAIN;
	run = bench_add(&bench, &fakes[0]);
	run_want(run, true);
	fake_init(&fakes[1], &bench, 1, 10, 0);
	fakes[1].parts[STAGE_EARLY].chunk_gate = &gate;
	(void) bench_add(&bench, &fakes[1]);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	due_usec = clock_monotonic_usec() + 20000;
	await_yielding(clock_monotonic_usec() > due_usec);
	gate_open(&gate, 10);
	bench_await_end(&bench);

	/* One chunk is in front of the second round, or none on a slow machine. */
	for (unsigned i = 0; i < bench.book.nr_events && nr_rounds < 2; i++) {
		const struct event *event = &bench.book.events[i];

		nr_rounds += event->id == 0 && event->op == EVENT_PREPARE;
		nr_chunks += event->id == 1 && event->op == EVENT_CHUNK;
	}
	ck_assert_uint_eq(nr_rounds, 2);
	ck_assert_uint_le(nr_chunks, 1);
}
END_TEST

START_TEST(test_a_shrink_has_its_turn_while_a_wanted_part_waits_out_its_back_off)
{
	struct run *shrunk, *wanted;
	struct fake fakes[2];
	unsigned mark;

	bench_open(&bench, 1, NEVER_USEC);
	shrunk = bench_add_settled(&bench, &fakes[0], 0, 0, 4);
	mark = book_end(&bench.book);
	ck_assert_int_eq(run_shrink(shrunk, 2, 2, 2), 0);
	fake_init(&fakes[1], &bench, 1, 0, 2);
	fakes[1].parts[STAGE_DEFERRED].finish_results[0] = -EAGAIN;
	wanted = bench_add(&bench, &fakes[1]);
	run_want(wanted, true);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_idle(&bench, shrunk);
	expect_events(&mark, 1, 4);
	ck_assert_int_eq(bench.book.events[mark].op, EVENT_SHRINK);
	worker_cancel(bench.worker);
	bench_await_end(&bench);
}
END_TEST

START_TEST(test_an_early_part_at_hand_makes_no_way_for_a_shrink)
{
	struct run *shrunk;
	struct fake fakes[2];
	unsigned mark;

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	shrunk = bench_add_settled(&bench, &fakes[0], 0, 0, 4);
	fake_init(&fakes[1], &bench, 1, 3, 0);
	fakes[1].parts[STAGE_EARLY].chunk_gate = &gate;
	mark = book_end(&bench.book);
	(void) bench_add(&bench, &fakes[1]);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	ck_assert_int_eq(run_shrink(shrunk, 2, 2, 2), 0);
	gate_open(&gate, 3);
	bench_await_end(&bench);
	expect_events(&mark, 1, 1 + 3 + 1);
	ck_assert_int_eq(bench.book.events[mark].op, EVENT_SHRINK);
}
END_TEST

START_TEST(test_pause_holds_the_wanted_too)
{
	struct worker_status status;
	struct fake fakes[2];
	struct run *run;

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	fake_init(&fakes[0], &bench, 0, 0, 4);
	fakes[0].parts[STAGE_DEFERRED].chunk_gate = &gate;
	(void) bench_add(&bench, &fakes[0]);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	worker_pause(bench.worker);
	fake_init(&fakes[1], &bench, 1, 1, 0);
	run = bench_add(&bench, &fakes[1]);
	run_want(run, true);
	gate_open(&gate, 4);

	bench_await(&bench, (worker_read(bench.worker, &status), status.moves == 2));
	await_yielding(tasks_are_asleep());
	for (unsigned i = 0; i < 1000; i++) {
		(void) sched_yield();
		worker_read(bench.worker, &status);
		ck_assert_uint_eq(status.moves, 2);
	}
	ck_assert_int_eq(run_state(run), SHARE_WAITING);
	worker_resume(bench.worker);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
}
END_TEST

static void expect_priority(const struct event *event, bool is_background)
{
	ck_assert_int_eq(event->policy, is_background ? SCHED_BATCH : SCHED_OTHER);
	ck_assert_int_eq(event->nice, is_background ? 19 : getpriority(PRIO_PROCESS, 0));
}

/* Loop test: wanted or not. */
START_TEST(test_refills_run_in_the_background_unless_they_are_wanted_whatever_their_stage)
{
	bool is_wanted = _i;
	struct fake fake;
	struct run *run;
	unsigned mark;

	bench_open(&bench, 3, 1000);
	gate_init(&gate);
	run = bench_add_settled(&bench, &fake, 0, 3, 3);
	fake.parts[STAGE_EARLY].chunk_gate = fake.parts[STAGE_DEFERRED].chunk_gate = &gate;
	run_want(run, is_wanted);
	mark = book_end(&bench.book);
	bench_refill(run, &fake, 3, 3);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	for (unsigned i = 0; i < NR_STAGES; i++) {
		gate_await(&gate, 3);
		gate_open(&gate, 3);
	}
	bench_await_end(&bench);
	ck_assert_uint_eq(bench.book.nr_events - mark, 10);
	for (; mark < bench.book.nr_events; mark++)
		expect_priority(&bench.book.events[mark], !is_wanted);
}
END_TEST

START_TEST(test_the_threads_change_their_priority_in_the_middle_of_a_part_that_is_wanted)
{
	struct fake fake;
	struct run *run;

	bench_open(&bench, 3, 1000);
	gate_init(&gate);
	fake_init(&fake, &bench, 0, 0, 9);
	fake.parts[STAGE_DEFERRED].chunk_gate = &gate;
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	for (unsigned i = 0; i < 3; i++) {
		gate_await(&gate, 3);
		run_want(run, i == 0);
		gate_open(&gate, 3);
	}
	bench_await_end(&bench);

	/* prepare and three chunks, three chunks, three chunks and finish */
	ck_assert_uint_eq(bench.book.nr_events, 11);
	for (unsigned i = 0; i < 11; i++)
		expect_priority(&bench.book.events[i], i < 4 || i >= 7);
}
END_TEST

static bool may_raise_priority(void)
{
	struct rlimit limit;

	return geteuid() == 0 || (getrlimit(RLIMIT_NICE, &limit) == 0 && limit.rlim_cur >= 20);
}

int main(void)
{
	Suite *suite = suite_create("want");
	TCase *order = tcase_create("order");
	TCase *priority = tcase_create("priority");

	tcase_set_timeout(order, 60);
	tcase_add_checked_fixture(order, NULL, close_bench);
	tcase_add_test(
		order,
		test_the_wanted_go_first_then_shrinks_the_early_the_deferred_and_refills_last);
	tcase_add_loop_test(
		order, test_a_part_at_hand_makes_way_for_what_can_wait_less_and_for_nothing_else, 0,
		NR_SORTS * NR_SORTS);
	tcase_add_test(order, test_whom_nobody_waits_for_any_more_gives_its_place_back);
	tcase_add_test(order, test_being_wanted_cuts_no_back_off_short);
	tcase_add_test(order,
	               test_a_wanted_part_whose_back_off_ended_goes_in_front_of_an_early_one);
	tcase_add_test(order,
	               test_a_shrink_has_its_turn_while_a_wanted_part_waits_out_its_back_off);
	tcase_add_test(order, test_an_early_part_at_hand_makes_no_way_for_a_shrink);
	tcase_add_test(order, test_pause_holds_the_wanted_too);
	suite_add_tcase(suite, order);

	tcase_set_timeout(priority, 60);
	tcase_add_checked_fixture(priority, NULL, close_bench);
	if (may_raise_priority()) {
		tcase_add_loop_test(
			priority,
			test_refills_run_in_the_background_unless_they_are_wanted_whatever_their_stage,
			0, 2);
		tcase_add_test(
			priority,
			test_the_threads_change_their_priority_in_the_middle_of_a_part_that_is_wanted);
	} else {
		puts("skipped: the tests of wanted parts' priority need CAP_SYS_NICE");
	}
	suite_add_tcase(suite, priority);
	return suite_main(suite);
}
