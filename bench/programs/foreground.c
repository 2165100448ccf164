/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * foreground - work that somebody else's work may disturb
 *
 *     foreground integer|memcpy THREADS
 *
 * One thread on each of the first CPUs that it may use: a loop of integers in registers, or copies
 * between buffers that no cache holds. Prints "USEC UNITS" every 20 ms: monotonic time, and what
 * all threads have done since the start, loops or bytes. Runs until its standard input ends.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TICK_MSEC    20
#define BUFFER_BYTES ((size_t) 256 << 20)
#define COPY_BYTES   ((size_t) 1 << 20)
#define LOOPS        100000
#define THREADS_MAX  1024

/* Of each thread, in a cache line of its own. */
static struct {
	_Alignas(64) atomic_uint_fast64_t nr_units;
} done[THREADS_MAX];
static unsigned cpus[THREADS_MAX];
static pthread_t threads[THREADS_MAX];
static atomic_bool is_over;
static void *(*work)(void *);

static void pin(size_t i)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpus[i], &set);
	(void) pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void *count(void *arg)
{
	size_t i = (size_t) arg;
	uint64_t x = i + 1;

	pin(i);
	while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
		for (unsigned nr = 0; nr < LOOPS; nr++) {
			x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
			__asm__ volatile("" : "+r"(x));
		}
		atomic_fetch_add_explicit(&done[i].nr_units, LOOPS, memory_order_relaxed);
	}
	return NULL;
}

static void *copy(void *arg)
{
	size_t i = (size_t) arg, at = 0;
	char *from, *to;

	pin(i);
	from = aligned_alloc(4096, BUFFER_BYTES);
	to = aligned_alloc(4096, BUFFER_BYTES);
	if (!from || !to)
		exit(1);
	memset(from, 1, BUFFER_BYTES);
	memset(to, 2, BUFFER_BYTES);
	while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
		memcpy(to + at, from + at, COPY_BYTES);
		at = (at + COPY_BYTES) % BUFFER_BYTES;
		atomic_fetch_add_explicit(&done[i].nr_units, COPY_BYTES, memory_order_relaxed);
	}
	free(from);
	free(to);
	return NULL;
}

static unsigned find_cpus(unsigned nr_wanted)
{
	cpu_set_t set;
	unsigned nr = 0;

	if (sched_getaffinity(0, sizeof set, &set) < 0)
		return 0;
	for (unsigned cpu = 0; cpu < CPU_SETSIZE && nr < nr_wanted && nr < THREADS_MAX; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[nr++] = cpu;
	return nr;
}

static void print_tick(unsigned nr_threads)
{
	struct timespec now;
	uint64_t nr_units = 0;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	for (unsigned i = 0; i < nr_threads; i++)
		nr_units += atomic_load_explicit(&done[i].nr_units, memory_order_relaxed);
	printf("%" PRIu64 " %" PRIu64 "\n",
	       (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000, nr_units);
}

int main(int argc, char **argv)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	unsigned nr_threads;

	if (argc != 3 || (strcmp(argv[1], "integer") != 0 && strcmp(argv[1], "memcpy") != 0)) {
		fputs("usage: foreground integer|memcpy THREADS\n", stderr);
		return 2;
	}
	work = strcmp(argv[1], "memcpy") == 0 ? copy : count;
	nr_threads = find_cpus((unsigned) strtoul(argv[2], NULL, 10));
	for (size_t i = 0; i < nr_threads; i++)
		if (pthread_create(&threads[i], NULL, work, (void *) i) != 0)
			return 1;
	while (poll(&input, 1, TICK_MSEC) == 0)
		print_tick(nr_threads);
	atomic_store(&is_over, true);
	for (size_t i = 0; i < nr_threads; i++)
		(void) pthread_join(threads[i], NULL);
	return 0;
}
