/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "../../daemon/base/clock.h"
#include "fake-kind.h"

#define LIMIT_MSEC 20000

void gate_init(struct gate *gate)
{
	ck_assert_int_eq(sem_init(&gate->arrived, 0, 0), 0);
	ck_assert_int_eq(sem_init(&gate->open, 0, 0), 0);
}

static void sem_take(sem_t *sem)
{
	struct timespec limit;

	(void) clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += LIMIT_MSEC / 1000;
	while (sem_timedwait(sem, &limit) < 0)
		ck_assert_int_eq(errno, EINTR);
}

void gate_await(struct gate *gate, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		sem_take(&gate->arrived);
}

void gate_open(struct gate *gate, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		ck_assert_int_eq(sem_post(&gate->open), 0);
}

static void gate_pass(struct gate *gate)
{
	if (!gate)
		return;
	(void) sem_post(&gate->arrived);
	sem_take(&gate->open);
}

static unsigned tasks_count(const char *name_prefix)
{
	scoped(dir_closep) DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned nr = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		scoped(file_closep) FILE *file = NULL;
		char path[300], name[32] = "";

		if (entry->d_name[0] == '.')
			continue;
		(void) snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "re");
		/* It ended between the two looks. */
		if (!file || !fgets(name, sizeof(name), file))
			continue;
		if (strncmp(name, name_prefix, strlen(name_prefix)) == 0)
			nr++;
	}
	return nr;
}

unsigned tasks_nr_named(void)
{
	return tasks_count("init-node");
}

unsigned tasks_nr(void)
{
	return tasks_count("");
}

bool tasks_are_asleep(void)
{
	scoped(dir_closep) DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		scoped(file_closep) FILE *file = NULL;
		char path[300], line[512] = "", *state;

		if (entry->d_name[0] == '.')
			continue;
		(void) snprintf(path, sizeof(path), "/proc/self/task/%s/stat", entry->d_name);
		file = fopen(path, "re");
		if (!file || !fgets(line, sizeof(line), file))
			return false;
		state = strrchr(line, ')');
		ck_assert_ptr_nonnull(state);
		if (strstr(line, "(init-node") && state[2] != 'S')
			return false;
	}
	return true;
}

static struct fake *fake_of(const struct share *share)
{
	return (struct fake *) share;
}

static void note(struct fake *fake, enum event_op op, enum stage stage, uint64_t index,
                 bool is_cancelled)
{
	struct book *book = fake->book;
	struct event event = {
		.op = op,
		.id = fake->id,
		.stage = stage,
		.index = index,
		.is_cancelled = is_cancelled,
		.at_usec = clock_monotonic_usec(),
		.tid = gettid(),
		.policy = sched_getscheduler(0),
		.nice = getpriority(PRIO_PROCESS, 0),
		.nr_named = op == EVENT_PREPARE ? tasks_nr_named() : 0,
	};
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	(void) sched_getaffinity(0, sizeof(cpus), &cpus);
	event.nr_cpus = (unsigned) CPU_COUNT(&cpus);
	(void) pthread_getname_np(pthread_self(), event.name, sizeof(event.name));

	pthread_mutex_lock(&book->lock);
	ck_assert_uint_lt(book->nr_events, BOOK_EVENTS_MAX);
	book->events[book->nr_events++] = event;
	pthread_mutex_unlock(&book->lock);
}

static int fake_prepare(struct part *part)
{
	struct fake *fake = fake_of(part->share);
	struct fake_part *own = &fake->parts[part->stage];
	int r = 0;

	note(fake, EVENT_PREPARE, part->stage, 0, false);
	gate_pass(own->prepare_gate);

	pthread_mutex_lock(&fake->book->lock);
	part->step_bytes = 0;
	if (own->nr_steps_done < own->nr_steps) {
		own->nr_steps_done++;
		part->step_bytes = own->step_bytes;
		r = 1;
	} else if (own->prepare_error < 0) {
		r = own->prepare_error;
		own->prepare_error = 0;
	} else {
		own->nr_steps_done = 0;
		part->nr_chunks = part->want_bytes - own->done_bytes;
		part->chunk_bytes = 1;
	}
	pthread_mutex_unlock(&fake->book->lock);
	return r;
}

static int fake_run_chunk(struct part *part, uint64_t index)
{
	struct fake *fake = fake_of(part->share);
	struct fake_part *own = &fake->parts[part->stage];
	int r = 0;

	ck_assert_uint_lt(index, part->nr_chunks);
	note(fake, EVENT_CHUNK, part->stage, index, false);
	if (own->chunk_gate && own->nr_chunks_per_gate > 0)
		gate_pass(&own->chunk_gate[index / own->nr_chunks_per_gate]);
	else
		gate_pass(own->chunk_gate);

	pthread_mutex_lock(&fake->book->lock);
	if (own->nr_failures > 0 && own->fail_index == index) {
		own->nr_failures--;
		r = own->chunk_error;
	} else {
		own->done_bytes++;
	}
	pthread_mutex_unlock(&fake->book->lock);
	return r;
}

static int fake_finish(struct part *part, bool is_cancelled)
{
	struct fake *fake = fake_of(part->share);
	struct fake_part *own = &fake->parts[part->stage];
	int r = 0;

	note(fake, EVENT_FINISH, part->stage, 0, is_cancelled);
	pthread_mutex_lock(&fake->book->lock);
	if (own->nr_finishes < FAKE_SCRIPT_MAX)
		r = own->finish_results[own->nr_finishes++];
	pthread_mutex_unlock(&fake->book->lock);
	return r;
}

static void fake_read(const struct share *share, struct share_status *ret)
{
	struct fake *fake = fake_of(share);

	*ret = (struct share_status){ 0 };
	pthread_mutex_lock(&fake->book->lock);
	ret->early_done_bytes = fake->parts[STAGE_EARLY].done_bytes;
	ret->done_bytes = ret->early_done_bytes + fake->parts[STAGE_DEFERRED].done_bytes;
	pthread_mutex_unlock(&fake->book->lock);
}

static int fake_shrink(struct share *share, uint64_t keep_bytes)
{
	struct fake *fake = fake_of(share);

	note(fake, EVENT_SHRINK, STAGE_DEFERRED, keep_bytes, false);
	pthread_mutex_lock(&fake->book->lock);
	while (fake->parts[STAGE_EARLY].done_bytes + fake->parts[STAGE_DEFERRED].done_bytes >
	       keep_bytes)
		fake->parts[STAGE_DEFERRED].done_bytes--;
	pthread_mutex_unlock(&fake->book->lock);
	return 0;
}

static const struct kind_ops fake_ops = {
	.name = "fake",
	.prepare = fake_prepare,
	.run_chunk = fake_run_chunk,
	.finish = fake_finish,
	.share_read = fake_read,
	.share_shrink = fake_shrink,
};

static const struct kind_ops fake_first_ops = {
	.name = "fake-first",
	.comes_first = true,
	.prepare = fake_prepare,
	.run_chunk = fake_run_chunk,
	.finish = fake_finish,
	.share_read = fake_read,
	.share_shrink = fake_shrink,
};

void fake_init_first(struct fake *fake, struct bench *bench, unsigned id, uint64_t early_bytes,
                     uint64_t deferred_bytes)
{
	fake_init(fake, bench, id, early_bytes, deferred_bytes);
	fake->share.ops = &fake_first_ops;
}

void fake_init(struct fake *fake, struct bench *bench, unsigned id, uint64_t early_bytes,
               uint64_t deferred_bytes)
{
	*fake = (struct fake){ .share.ops = &fake_ops, .id = id, .book = &bench->book };
	for (unsigned i = 0; i < NR_STAGES; i++) {
		fake->share.parts[i].share = &fake->share;
		fake->share.parts[i].stage = i;
	}
	fake->share.parts[STAGE_EARLY].want_bytes = early_bytes;
	fake->share.parts[STAGE_DEFERRED].want_bytes = deferred_bytes;
}

static void ring(void *arg)
{
	struct bench *bench = arg;

	ck_assert_int_eq(eventfd_write(bench->bell_fd, 1), 0);
}

void bench_wait_for_bell(struct bench *bench)
{
	struct pollfd bell = { .fd = bench->bell_fd, .events = POLLIN };
	eventfd_t nr_rings;
	int r;

	do
		r = poll(&bell, 1, LIMIT_MSEC);
	while (r < 0 && errno == EINTR);
	ck_assert_msg(r == 1, "the bell did not ring in %d ms", LIMIT_MSEC);
	ck_assert_int_eq(eventfd_read(bench->bell_fd, &nr_rings), 0);
}

static void bench_open_with(struct bench *bench, unsigned nr_threads, bool is_auto,
                            uint64_t backoff_usec, const char *cpus)
{
	struct idset set = { 0 };
	struct worker_setup setup = {
		.node_id = 7,
		.cpus = &set,
		.nr_threads = nr_threads,
		.is_auto = is_auto,
		.backoff_usec = backoff_usec,
		.bell = ring,
		.arg = bench,
	};

	memset(bench, 0, sizeof(*bench));
	ck_assert_int_eq(idset_parse(cpus, &set), 0);
	ck_assert_int_eq(pthread_mutex_init(&bench->book.lock, NULL), 0);
	bench->bell_fd = eventfd(0, EFD_CLOEXEC);
	ck_assert_int_ge(bench->bell_fd, 0);
	ck_assert_int_eq(worker_new(&setup, &bench->worker), 0);
	idset_clear(&set);
}

void bench_open(struct bench *bench, unsigned nr_threads, uint64_t backoff_usec)
{
	bench_open_with(bench, nr_threads, false, backoff_usec, "");
}

void bench_open_auto(struct bench *bench, unsigned nr_threads)
{
	bench_open_with(bench, nr_threads, true, 1000, "");
}

void bench_open_on(struct bench *bench, unsigned nr_threads, const char *cpus)
{
	bench_open_with(bench, nr_threads, false, 1000, cpus);
}

void bench_close(struct bench *bench)
{
	bench->worker = worker_free(bench->worker);
	bench->bell_fd = fd_close(bench->bell_fd);
	(void) pthread_mutex_destroy(&bench->book.lock);
}

struct run *bench_add(struct bench *bench, struct fake *fake)
{
	uint64_t all_bytes = fake->share.parts[STAGE_EARLY].want_bytes +
	                     fake->share.parts[STAGE_DEFERRED].want_bytes;
	struct run *run = NULL;

	ck_assert_int_eq(worker_add(bench->worker, &fake->share, all_bytes, all_bytes, &run), 0);
	return run;
}

void bench_await_idle(struct bench *bench, const struct run *run)
{
	bench_await(bench, run_is_idle(run));
}

void bench_await_end(struct bench *bench)
{
	struct worker_status status;

	bench_await(bench, (worker_read(bench->worker, &status), !status.is_running));
}

struct run *bench_add_settled(struct bench *bench, struct fake *fake, unsigned id,
                              uint64_t early_bytes, uint64_t deferred_bytes)
{
	struct run *run;

	fake_init(fake, bench, id, early_bytes, deferred_bytes);
	run = bench_add(bench, fake);
	ck_assert_int_eq(worker_start(bench->worker), 0);
	bench_await_end(bench);
	ck_assert_int_eq(run_state(run), SHARE_READY);
	return run;
}

void bench_refill(struct run *run, struct fake *fake, uint64_t early_bytes, uint64_t deferred_bytes)
{
	ck_assert_int_eq(run_refill(run), 0);
	pthread_mutex_lock(&fake->book->lock);
	ck_assert_uint_ge(fake->parts[STAGE_EARLY].done_bytes, early_bytes);
	fake->parts[STAGE_EARLY].done_bytes -= early_bytes;
	ck_assert_uint_ge(fake->parts[STAGE_DEFERRED].done_bytes, deferred_bytes);
	fake->parts[STAGE_DEFERRED].done_bytes -= deferred_bytes;
	pthread_mutex_unlock(&fake->book->lock);
}

enum share_state run_state(const struct run *run)
{
	struct run_status status;

	run_read(run, &status);
	return status.state;
}

unsigned book_end(struct book *book)
{
	unsigned nr_events;

	pthread_mutex_lock(&book->lock);
	nr_events = book->nr_events;
	pthread_mutex_unlock(&book->lock);
	return nr_events;
}

static bool is_that(const struct event *event, unsigned id, enum event_op op, int stage)
{
	return event->id == id && event->op == op && (stage < 0 || (int) event->stage == stage);
}

unsigned book_nr(struct book *book, unsigned id, enum event_op op, int stage)
{
	unsigned nr = 0;

	pthread_mutex_lock(&book->lock);
	for (unsigned i = 0; i < book->nr_events; i++)
		nr += is_that(&book->events[i], id, op, stage);
	pthread_mutex_unlock(&book->lock);
	return nr;
}

unsigned book_first(struct book *book, unsigned id, enum event_op op, int stage)
{
	unsigned i;

	pthread_mutex_lock(&book->lock);
	for (i = 0; i < book->nr_events; i++) {
		if (is_that(&book->events[i], id, op, stage))
			break;
	}
	pthread_mutex_unlock(&book->lock);
	return i;
}
