/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The threads: how many, when, where, under which name, at which priority, with which signals. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "../../daemon/base/clock.h"
#include "fake-kind.h"
#include "suite.h"

static struct bench bench;
static struct gate gate;

/* How many threads can still be made; the linker leads pthread_create() here (--wrap). */
static atomic_int nr_threads_left = INT_MAX;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg)
{
	if (atomic_fetch_sub(&nr_threads_left, 1) <= 0)
		return EAGAIN;
	return __real_pthread_create(thread, attributes, start, arg);
}

static void close_bench(void)
{
	bench_close(&bench);
}

/* Loop test: 2 to the power of _i threads. */
START_TEST(test_all_threads_exist_before_the_first_step)
{
	unsigned nr_threads = 1U << _i;
	struct fake fake;

	bench_open(&bench, nr_threads, 1000);
	fake_init(&fake, &bench, 0, 3, 0);
	(void) bench_add(&bench, &fake);
	ck_assert_uint_eq(tasks_nr_named(), 0);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	ck_assert_int_eq(bench.book.events[0].op, EVENT_PREPARE);
	ck_assert_uint_eq(bench.book.events[0].nr_named, nr_threads);
}
END_TEST

START_TEST(test_160_equal_chunks_over_64_threads_differ_by_one_at_most)
{
	uint64_t min_chunks = UINT64_MAX, max_chunks = 0, sum_chunks = 0;
	struct gate rounds[3];
	struct fake fake;

	bench_open(&bench, 64, 1000);
	fake_init(&fake, &bench, 0, 160, 0);
	fake.parts[STAGE_EARLY].chunk_gate = rounds;
	fake.parts[STAGE_EARLY].nr_chunks_per_gate = 64;
	for (unsigned i = 0; i < 3; i++)
		gate_init(&rounds[i]);
	(void) bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	/* Equal cost: nobody ends a chunk before all have begun theirs. */
	for (unsigned nr_left = 160, i = 0; nr_left > 0; i++) {
		unsigned nr_round = nr_left < 64 ? nr_left : 64;

		gate_await(&rounds[i], nr_round);
		gate_open(&rounds[i], nr_round);
		nr_left -= nr_round;
	}
	bench_await_end(&bench);

	for (unsigned i = 0; i < 64; i++) {
		uint64_t nr_chunks = worker_thread_chunks(bench.worker, i);

		sum_chunks += nr_chunks;
		if (nr_chunks < min_chunks)
			min_chunks = nr_chunks;
		if (nr_chunks > max_chunks)
			max_chunks = nr_chunks;
	}
	ck_assert_uint_eq(sum_chunks, 160);
	ck_assert_uint_le(max_chunks - min_chunks, 1);
	ck_assert_uint_eq(worker_thread_chunks(bench.worker, 64), 0);
}
END_TEST

START_TEST(test_every_chunk_is_taken_exactly_once)
{
	unsigned seen[500] = { 0 };
	struct fake fake;

	bench_open(&bench, 8, 1000);
	fake_init(&fake, &bench, 0, 0, 500);
	(void) bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	for (unsigned i = 0; i < bench.book.nr_events; i++) {
		if (bench.book.events[i].op == EVENT_CHUNK)
			seen[bench.book.events[i].index]++;
	}
	for (unsigned i = 0; i < 500; i++)
		ck_assert_uint_eq(seen[i], 1);
}
END_TEST

static void check_blocked(const char *tid)
{
	scoped(file_closep) FILE *file = NULL;
	unsigned long long blocked = 0;
	char path[300], line[256];
	bool is_found = false;

	(void) snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "SigBlk: %llx", &blocked) == 1)
			is_found = true;
	}
	ck_assert(is_found);
	for (int i = 1; i <= SIGRTMAX; i++) {
		/* Nobody can block the first two; libc keeps those below SIGRTMIN for itself. */
		if (i == SIGKILL || i == SIGSTOP || (i >= 32 && i < SIGRTMIN))
			continue;
		ck_assert_msg(blocked >> (i - 1) & 1, "thread %s does not block signal %d", tid, i);
	}
}

START_TEST(test_threads_block_every_signal_and_carry_their_node_in_their_name)
{
	scoped(dir_closep) DIR *dir = NULL;
	bool has_name[4] = { false };
	struct dirent *entry;
	struct fake fake;
	sigset_t mine;

	bench_open(&bench, 4, 1000);
	gate_init(&gate);
	fake_init(&fake, &bench, 0, 4, 0);
	fake.parts[STAGE_EARLY].chunk_gate = &gate;
	(void) bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 4);

	dir = opendir("/proc/self/task");
	while ((entry = readdir(dir))) {
		scoped(file_closep) FILE *file = NULL;
		char path[300], name[32] = "";

		if (entry->d_name[0] == '.')
			continue;
		(void) snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "re");
		ck_assert_ptr_nonnull(fgets(name, sizeof(name), file));
		if (strncmp(name, "init-node", 9) != 0)
			continue;
		check_blocked(entry->d_name);
		has_name[0] |= strcmp(name, "init-node7\n") == 0;
		has_name[1] |= strcmp(name, "init-node7.1\n") == 0;
		has_name[2] |= strcmp(name, "init-node7.2\n") == 0;
		has_name[3] |= strcmp(name, "init-node7.3\n") == 0;
	}
	for (unsigned i = 0; i < 4; i++)
		ck_assert_msg(has_name[i], "no thread is named after member %u", i);

	/* The main thread's own mask is as it was. */
	ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, NULL, &mine), 0);
	ck_assert_int_eq(sigismember(&mine, SIGTERM), 0);
	gate_open(&gate, 4);
	bench_await_end(&bench);
}
END_TEST

/* Twice: a sanitizer starts a thread of its own with the first of ours. */
START_TEST(test_no_thread_is_left_when_the_last_part_has_settled)
{
	struct worker_status status;
	unsigned nr_before = 0;
	struct fake fakes[2];

	bench_open(&bench, 6, 1000);
	for (unsigned i = 0; i < 2; i++) {
		fake_init(&fakes[i], &bench, i, 10, 10);
		(void) bench_add(&bench, &fakes[i]);
		ck_assert_int_eq(worker_start(bench.worker), 0);
		bench_await_end(&bench);
		worker_read(bench.worker, &status);
		ck_assert_uint_eq(status.nr_threads, 0);
		await_yielding(tasks_nr_named() == 0);
		if (i == 0)
			nr_before = tasks_nr();
	}
	await_yielding(tasks_nr() == nr_before);
}
END_TEST

START_TEST(test_threads_come_back_for_new_work_and_count_anew)
{
	struct fake fakes[2];

	bench_open(&bench, 1, 1000);
	for (unsigned i = 0; i < 2; i++) {
		fake_init(&fakes[i], &bench, i, 5 + i, 0);
		(void) bench_add(&bench, &fakes[i]);
		ck_assert_int_eq(worker_start(bench.worker), 0);
		bench_await_end(&bench);
		ck_assert_uint_eq(worker_thread_chunks(bench.worker, 0), 5 + i);
	}
}
END_TEST

START_TEST(test_work_added_at_the_very_end_is_never_left_behind)
{
	struct fake fakes[100];

	bench_open(&bench, 2, 1000);
	for (unsigned i = 0; i < 100; i++) {
		struct run *run;

		fake_init(&fakes[i], &bench, i, 2, 0);
		run = bench_add(&bench, &fakes[i]);
		ck_assert_int_eq(worker_start(bench.worker), 0);
		/* Settled, but its threads may be anywhere on their way out. */
		bench_await_idle(&bench, run);
		ck_assert_int_eq(run_state(run), SHARE_READY);
	}
}
END_TEST

START_TEST(test_without_any_thread_the_queue_stays_and_start_says_so)
{
	struct worker_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 2, 1000);
	fake_init(&fake, &bench, 0, 2, 2);
	run = bench_add(&bench, &fake);
	atomic_store(&nr_threads_left, 0);
	ck_assert_int_eq(worker_start(bench.worker), -EAGAIN);
	worker_read(bench.worker, &status);
	ck_assert(!status.is_running);
	ck_assert_int_eq(run_state(run), SHARE_WAITING);

	atomic_store(&nr_threads_left, INT_MAX);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
}
END_TEST

START_TEST(test_with_fewer_threads_than_asked_for_the_work_is_done_all_the_same)
{
	struct worker_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 8, 1000);
	gate_init(&gate);
	fake_init(&fake, &bench, 0, 20, 0);
	fake.parts[STAGE_EARLY].chunk_gate = &gate;
	run = bench_add(&bench, &fake);
	atomic_store(&nr_threads_left, 3);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 3);
	worker_read(bench.worker, &status);
	ck_assert_uint_eq(status.nr_threads, 3);
	gate_open(&gate, 20);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
}
END_TEST

START_TEST(test_deferred_parts_run_in_the_background_and_early_ones_do_not)
{
	int own_nice = getpriority(PRIO_PROCESS, 0);
	struct fake fake;

	bench_open(&bench, 3, 1000);
	gate_init(&gate);
	fake_init(&fake, &bench, 0, 3, 3);
	fake.parts[STAGE_EARLY].chunk_gate = &gate;
	fake.parts[STAGE_DEFERRED].chunk_gate = &gate;
	(void) bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	for (unsigned i = 0; i < 2; i++) {
		gate_await(&gate, 3);
		gate_open(&gate, 3);
	}
	bench_await_end(&bench);
	ck_assert_uint_eq(bench.book.nr_events, 10);
	for (unsigned i = 0; i < bench.book.nr_events; i++) {
		const struct event *event = &bench.book.events[i];
		bool is_early = event->stage == STAGE_EARLY;

		ck_assert_int_eq(event->policy, is_early ? SCHED_OTHER : SCHED_BATCH);
		ck_assert_int_eq(event->nice, is_early ? own_nice : 19);
	}
}
END_TEST

START_TEST(test_one_thread_on_one_cpu_does_all_the_work)
{
	char cpu[16];
	struct fake fake;
	struct run *run;

	(void) snprintf(cpu, sizeof(cpu), "%d", sched_getcpu());
	bench_open_on(&bench, 1, cpu);
	fake_init(&fake, &bench, 0, 5, 5);
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
	for (unsigned i = 0; i < bench.book.nr_events; i++) {
		ck_assert_uint_eq(bench.book.events[i].nr_cpus, 1);
		ck_assert_str_eq(bench.book.events[i].name, "init-node7");
	}
}
END_TEST

START_TEST(test_other_cpus_count_from_the_next_start_of_the_threads_on)
{
	scoped(idset_clear) struct idset one = { 0 };
	struct fake first, second;
	struct run *run;

	bench_open(&bench, 1, 1000);
	gate_init(&gate);
	fake_init(&first, &bench, 0, 1, 0);
	first.parts[STAGE_EARLY].chunk_gate = &gate;
	run = bench_add(&bench, &first);
	ck_assert_int_eq(idset_add(&one, (unsigned) sched_getcpu()), 0);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 1);
	ck_assert_int_eq(worker_set_cpus(bench.worker, &one), -EBUSY);
	gate_open(&gate, 1);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);

	ck_assert_int_eq(worker_set_cpus(bench.worker, &one), 0);
	bench.book.nr_events = 0;
	fake_init(&second, &bench, 1, 5, 5);
	run = bench_add(&bench, &second);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
	ck_assert_uint_gt(bench.book.nr_events, 0);
	for (unsigned i = 0; i < bench.book.nr_events; i++)
		ck_assert_uint_eq(bench.book.events[i].nr_cpus, 1);
}
END_TEST

START_TEST(test_cpus_that_went_offline_do_not_stop_the_work)
{
	struct fake fake;
	struct run *run;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	if (CPU_ISSET(1023, &cpus))
		suite_skip("this machine has a CPU 1023");
	bench_open_on(&bench, 2, "1023");
	fake_init(&fake, &bench, 0, 5, 0);
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	bench_await_end(&bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
	ck_assert_uint_eq(bench.book.events[0].nr_cpus, (unsigned) CPU_COUNT(&cpus));
}
END_TEST

START_TEST(test_the_timeline_says_when_how_many_and_at_what_cost)
{
	uint64_t before_usec = clock_monotonic_usec();
	const struct stage_status *early, *deferred;
	struct run_status status;
	struct fake fake;
	struct run *run;

	bench_open(&bench, 4, 1000);
	gate_init(&gate);
	fake_init(&fake, &bench, 0, 3, 1);
	fake.parts[STAGE_EARLY].chunk_gate = &gate;
	run = bench_add(&bench, &fake);
	ck_assert_int_eq(worker_start(bench.worker), 0);
	gate_await(&gate, 3);
	gate_open(&gate, 3);
	bench_await_end(&bench);

	run_read(run, &status);
	early = &status.stages[STAGE_EARLY];
	deferred = &status.stages[STAGE_DEFERRED];
	ck_assert_uint_ge(early->started_usec, before_usec);
	ck_assert_uint_ge(early->finished_usec, early->started_usec);
	ck_assert_uint_ge(deferred->started_usec, early->finished_usec);
	ck_assert_uint_ge(deferred->finished_usec, deferred->started_usec);
	ck_assert_uint_le(deferred->finished_usec, clock_monotonic_usec());
	/* Three took a chunk; the worker took the steps, and maybe none of the three. */
	ck_assert_uint_ge(early->nr_threads, 3);
	ck_assert_uint_le(early->nr_threads, 4);
	ck_assert_uint_eq(deferred->nr_threads, 1);
	ck_assert_uint_gt(early->cpu_usec, 0);
	ck_assert_uint_gt(deferred->cpu_usec, 0);
	ck_assert_uint_eq(early->done_bytes, 3);
	ck_assert_uint_eq(deferred->done_bytes, 1);
	ck_assert_int_eq(early->error, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("crew");
	TCase *threads = tcase_create("threads");

	tcase_set_timeout(threads, 60);
	tcase_add_checked_fixture(threads, NULL, close_bench);
	tcase_add_loop_test(threads, test_all_threads_exist_before_the_first_step, 0, 6);
	tcase_add_test(threads, test_160_equal_chunks_over_64_threads_differ_by_one_at_most);
	tcase_add_test(threads, test_every_chunk_is_taken_exactly_once);
	tcase_add_test(threads, test_threads_block_every_signal_and_carry_their_node_in_their_name);
	tcase_add_test(threads, test_no_thread_is_left_when_the_last_part_has_settled);
	tcase_add_test(threads, test_threads_come_back_for_new_work_and_count_anew);
	tcase_add_test(threads, test_work_added_at_the_very_end_is_never_left_behind);
	tcase_add_test(threads, test_without_any_thread_the_queue_stays_and_start_says_so);
	tcase_add_test(threads,
	               test_with_fewer_threads_than_asked_for_the_work_is_done_all_the_same);
	tcase_add_test(threads, test_deferred_parts_run_in_the_background_and_early_ones_do_not);
	tcase_add_test(threads, test_one_thread_on_one_cpu_does_all_the_work);
	tcase_add_test(threads, test_other_cpus_count_from_the_next_start_of_the_threads_on);
	tcase_add_test(threads, test_cpus_that_went_offline_do_not_stop_the_work);
	tcase_add_test(threads, test_the_timeline_says_when_how_many_and_at_what_cost);
	suite_add_tcase(suite, threads);
	return suite_main(suite);
}
