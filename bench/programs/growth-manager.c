/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * growth-manager - the manager with its workers on a recorded machine, and memory that takes only
 * time
 *
 *     growth-manager ROOT CONFIG BUS NSEC
 *
 * ROOT is what growth-tree printed, CONFIG a directory with pools of kind region and base pages,
 * BUS an address. Filling a MiB is a sleep of NSEC ns (0: not even that), so that a machine of any
 * size fits. Everything else is the daemon's own: probe, plan, threads, looks, sd-bus. Ends when it
 * is ready, and prints as JSON what that took:
 *
 *     seconds              from just before manager_new() to readiness
 *     simulated_seconds    of these, filling: of the thread that filled longest
 *     start_seconds        manager_new() and manager_start(): probe, plan, threads, first look
 *     main_cpu_seconds     of the main thread
 *     cpu_seconds          of all threads
 *     nr_turns             of the loop
 *     nr_threads           most that were seen
 *     peak_rss_kib         most memory at any time
 *     bytes                in service in the end
 */
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/base/log.h"
#include "../../daemon/manager-state.h"

#define LIMIT_SECONDS 300.
#define WATCH_SECONDS .05

static uint64_t nsec_per_mib;
static _Thread_local uint64_t slept_nsec; /* by this thread */
static _Atomic uint64_t most_slept_nsec;  /* by any */
static bool is_late;
static unsigned nr_threads;

static uint64_t now_nsec(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * UINT64_C(1000000000) + (uint64_t) now.tv_nsec;
}

static int sleeping_make(struct memory *memory)
{
	memory->fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return memory->fd < 0 ? -errno : 0;
}

static void note_sleep(uint64_t nsec)
{
	uint64_t most_nsec = atomic_load_explicit(&most_slept_nsec, memory_order_relaxed);

	slept_nsec += nsec;
	while (slept_nsec > most_nsec &&
	       !atomic_compare_exchange_weak_explicit(&most_slept_nsec, &most_nsec, slept_nsec,
	                                              memory_order_relaxed, memory_order_relaxed))
		;
}

static int sleeping_populate(struct memory *memory, uint64_t offset_bytes, uint64_t bytes)
{
	uint64_t begun_nsec = now_nsec();
	uint64_t nsec = bytes / MIB * nsec_per_mib;
	struct timespec span = { (time_t) (nsec / 1000000000), (long) (nsec % 1000000000) };

	(void) memory, (void) offset_bytes;
	if (nsec == 0)
		return 0;
	(void) nanosleep(&span, NULL);
	note_sleep(now_nsec() - begun_nsec);
	return 0;
}

static int sleeping_verify(struct memory *memory)
{
	(void) memory;
	return 0;
}

static void sleeping_close(struct memory *memory)
{
	memory->fd = fd_close(memory->fd);
}

static int sleeping_adopt(struct memory *memory, enum memory_adopted adopted)
{
	(void) memory, (void) adopted;
	return -EMEDIUMTYPE;
}

static int sleeping_open_again(const struct memory *memory)
{
	(void) memory;
	return -EOPNOTSUPP;
}

static int sleeping_is_in_use(const struct memory *memory)
{
	(void) memory;
	return 0;
}

static int sleeping_discard(struct memory *memory, uint64_t offset_bytes, uint64_t bytes)
{
	(void) memory, (void) offset_bytes, (void) bytes;
	return 0;
}

static const struct memory_ops sleeping_memory = {
	.make = sleeping_make,
	.populate = sleeping_populate,
	.verify = sleeping_verify,
	.finish = sleeping_verify,
	.destroy = sleeping_close,
	.release = sleeping_close,
	.adopt = sleeping_adopt,
	.open_again = sleeping_open_again,
	.is_in_use = sleeping_is_in_use,
	.discard = sleeping_discard,
};

/* The number in a line "@key:   123 kB" of /proc/self/status. */
static unsigned status_number(const char *key)
{
	char line[256];
	unsigned number = 0;
	FILE *file = fopen("/proc/self/status", "re");

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, key, strlen(key)) == 0)
			(void) sscanf(line + strlen(key), ":%u", &number);
	if (file)
		(void) fclose(file);
	return number;
}

static double seconds_of(const struct timeval *time)
{
	return (double) time->tv_sec + (double) time->tv_usec / 1e6;
}

static double cpu_seconds(int who)
{
	struct rusage used;

	(void) getrusage(who, &used);
	return seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime);
}

static void on_late(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void) timer, (void) events;
	is_late = true;
	ev_break(loop, EVBREAK_ALL);
}

static void note_threads(void)
{
	unsigned nr = status_number("Threads");

	nr_threads = nr > nr_threads ? nr : nr_threads;
}

static void on_watch(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void) loop, (void) timer, (void) events;
	note_threads();
}

/* Before the loop sleeps: what is ready by then is on the bus, or on its way there. */
static void on_prepare(struct ev_loop *loop, ev_prepare *prepare, int events)
{
	const struct manager *manager = prepare->data;

	(void) events;
	if (manager->is_ready && manager->is_name_owned)
		ev_break(loop, EVBREAK_ALL);
}

static void print_result(const struct manager *manager, struct ev_loop *loop, uint64_t begun_usec,
                         uint64_t started_usec)
{
	printf("{\"seconds\": %.6f, \"simulated_seconds\": %.6f, \"start_seconds\": %.6f, "
	       "\"main_cpu_seconds\": %.6f, \"cpu_seconds\": %.6f, \"nr_turns\": %u, "
	       "\"nr_threads\": %u, \"peak_rss_kib\": %u, \"bytes\": %" PRIu64 "}\n",
	       (double) (manager->ready_monotonic_usec - begun_usec) / 1e6,
	       (double) most_slept_nsec / 1e9, (double) (started_usec - begun_usec) / 1e6,
	       cpu_seconds(RUSAGE_THREAD), cpu_seconds(RUSAGE_SELF), ev_iteration(loop), nr_threads,
	       status_number("VmHWM"), manager->inventory.done_bytes);
}

static int run(struct ev_loop *loop, const struct manager_setup *setup)
{
	scoped(manager_freep) struct manager *manager = NULL;
	uint64_t begun_usec = clock_monotonic_usec(), started_usec;
	ev_prepare prepare;
	ev_timer late, watch;

	if (manager_new(setup, &manager) < 0 || manager_start(manager) < 0)
		return 1;
	started_usec = clock_monotonic_usec();
	note_threads();

	ev_prepare_init(&prepare, on_prepare);
	prepare.data = manager;
	ev_prepare_start(loop, &prepare);
	ev_timer_init(&late, on_late, LIMIT_SECONDS, 0.);
	ev_timer_start(loop, &late);
	ev_timer_init(&watch, on_watch, WATCH_SECONDS, WATCH_SECONDS);
	ev_timer_start(loop, &watch);
	ev_run(loop, 0);
	ev_timer_stop(loop, &watch);
	ev_timer_stop(loop, &late);
	ev_prepare_stop(loop, &prepare);

	if (is_late) {
		fprintf(stderr, "growth-manager: not ready (%s)\n", manager_state_text(manager));
		return 1;
	}
	print_result(manager, loop, begun_usec, started_usec);
	return 0;
}

static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void) setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
	scoped(kernel_closep) struct kernel *kernel = NULL;
	struct ev_loop *loop = ev_default_loop(EVFLAG_AUTO);
	struct manager_setup setup = { .loop = loop, .memory = &sleeping_memory };
	int r, status;

	if (argc != 5 || !loop) {
		fputs("usage: growth-manager ROOT CONFIG BUS NSEC\n", stderr);
		return 2;
	}
	r = kernel_open(argv[1], &kernel);
	if (r < 0) {
		fprintf(stderr, "growth-manager: %s: %s\n", argv[1], strerror(-r));
		return 1;
	}
	nsec_per_mib = strtoull(argv[4], NULL, 10);
	raise_descriptor_limit();
	/* a sleep is as long as it says, and not 50 µs longer; threads inherit it */
	(void) prctl(PR_SET_TIMERSLACK, 1UL);
	setup.kernel = kernel;
	setup.config_directory = argv[2];
	setup.bus_address = argv[3];
	status = run(loop, &setup);
	ev_loop_destroy(loop);
	return status;
}
