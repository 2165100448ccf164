/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/scoped.h"
#include "../base/size.h"
#include "pressure.h"

#define USEC_PER_SEC UINT64_C(1000000)

/*
 * /proc/stat, /proc/schedstat: lines for each CPU, a number for each interrupt; more than a page on
 * any larger machine. The kernel writes all of it anew for each attempt to read it, so there is
 * one; of a buffer of that size only what is written to takes memory.
 */
#define STAT_BYTES_MAX (8 * 1024 * 1024)

static const char *const pressure_texts[NR_PRESSURES] = {
	[PRESSURE_CPU] = "cpu",
	[PRESSURE_MEMORY] = "memory",
	[PRESSURE_IO] = "io",
};

const char *pressure_text(enum pressure_kind kind)
{
	return pressure_texts[kind];
}

/* Decimal digits at @text; *ret_end is what follows. Return: whether there is a number. */
static bool number_at(const char *text, const char **ret_end, uint64_t *ret)
{
	uint64_t value = 0;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
		    __builtin_add_overflow(value, (uint64_t) (*text - '0'), &value))
			return false;
	*ret_end = text;
	*ret = value;
	return true;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", of which the first and last word count. */
static bool some_total(const char *text, uint64_t *ret_usec)
{
	static const char word[] = " total=";
	const char *some = text, *total, *end;

	while (strncmp(some, "some ", strlen("some ")) != 0) {
		some = strchr(some, '\n');
		if (!some)
			return false;
		some++;
	}
	total = strstr(some, word);
	if (!total || total > some + strcspn(some, "\n"))
		return false;
	return number_at(total + strlen(word), &end, ret_usec) &&
	       (*end == '\n' || *end == '\0' || *end == ' ');
}

static bool read_total(struct kernel *kernel, const char *path, uint64_t *ret_usec)
{
	char text[512];

	return kernel_read_text(kernel, text, sizeof(text), "%s", path) >= 0 &&
	       some_total(text, ret_usec);
}

/*
 * The path of our cgroup of version 2, of the line "0::/nodeinit.slice/nodeinitd.service". The root
 * is everybody's, and has no pressure of its own; one outside our namespace begins with "/..".
 */
static bool own_cgroup(struct kernel *kernel, char *path, size_t path_bytes)
{
	char text[PATH_MAX + 1024];
	char *at = text;

	if (kernel_read_text(kernel, text, sizeof(text), "/proc/self/cgroup") < 0)
		return false;
	while (strncmp(at, "0::/", strlen("0::/")) != 0) {
		at = strchr(at, '\n');
		if (!at)
			return false;
		at++;
	}
	at += strlen("0::");
	at[strcspn(at, "\n")] = '\0';
	if (strcmp(at, "/") == 0 || strncmp(at, "/..", strlen("/..")) == 0)
		return false;
	return snprintf(path, path_bytes, "%s", at) < (int) path_bytes;
}

static void read_own(struct kernel *kernel, struct pressure_sample *sample)
{
	/* alone, or beside the hierarchies of version 1 */
	static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	char cgroup[PATH_MAX], path[PATH_MAX + 64];

	if (!own_cgroup(kernel, cgroup, sizeof(cgroup)))
		return;
	for (unsigned kind = 0; kind < NR_PRESSURES; kind++) {
		struct pressure_total *total = &sample->totals[kind];

		for (size_t i = 0; i < ELEMENTS(mounts) && !total->has_own; i++) {
			(void) snprintf(path, sizeof(path), "%s%s/%s.pressure", mounts[i], cgroup,
			                pressure_texts[kind]);
			total->has_own = read_total(kernel, path, &total->own_usec);
		}
	}
}

/* The words after "cpu" in /proc/stat, see proc(5). What guests take is within user and nice. */
enum {
	STAT_USER,
	STAT_NICE,
	STAT_SYSTEM,
	STAT_IDLE,
	STAT_IOWAIT,
	STAT_IRQ,
	STAT_SOFTIRQ,
	NR_STATS,
};

static void read_busy(struct kernel *kernel, char *text, struct pressure_sample *sample)
{
	long ticks_per_second = sysconf(_SC_CLK_TCK);
	uint64_t ticks[NR_STATS], busy_ticks;
	const char *at;

	if (kernel_read_text(kernel, text, STAT_BYTES_MAX, "/proc/stat") < 0 ||
	    ticks_per_second <= 0 || strncmp(text, "cpu ", strlen("cpu ")) != 0)
		return;
	at = text + strlen("cpu ");
	for (unsigned i = 0; i < NR_STATS; i++) {
		at += strspn(at, " ");
		if (!number_at(at, &at, &ticks[i]))
			return;
	}
	busy_ticks = bytes_add(
		bytes_add(ticks[STAT_USER], ticks[STAT_NICE]),
		bytes_add(ticks[STAT_SYSTEM], bytes_add(ticks[STAT_IRQ], ticks[STAT_SOFTIRQ])));
	sample->busy_usec = bytes_mul(busy_ticks, USEC_PER_SEC / (uint64_t) ticks_per_second);
	sample->has_busy = true;
}

/*
 * Versions of /proc/schedstat: 15 dropped words of "cpuN", 16 and 17 changed those of domains only.
 * What a later one means is not known.
 */
#define SCHEDSTAT_VERSION_MIN 15
#define SCHEDSTAT_VERSION_MAX 17

/* The words after "cpuN", from 0. */
#define SCHEDSTAT_RUN_DELAY 7
#define NR_SCHEDSTATS       9

/* "0 0 0 …": @nr_words numbers up to the end of the line. Return: whether they are there. */
static bool words_at(const char *at, unsigned nr_words, uint64_t *ret)
{
	for (unsigned i = 0; i < nr_words; i++) {
		at += strspn(at, " ");
		if (!number_at(at, &at, &ret[i]))
			return false;
	}
	return *at == '\n' || *at == '\0';
}

/* Lines "cpuN …" among others of /proc/schedstat. Return: whether it is one that we understand. */
static bool host_waits(const char *text, struct pressure_waits *waits)
{
	uint64_t words[NR_SCHEDSTATS], version, number;

	if (strncmp(text, "version ", strlen("version ")) != 0 ||
	    !number_at(text + strlen("version "), &text, &version) || *text != '\n' ||
	    version < SCHEDSTAT_VERSION_MIN || version > SCHEDSTAT_VERSION_MAX)
		return false;
	for (text = strchr(text, '\n'); text; text = strchr(text, '\n')) {
		text++;
		if (strncmp(text, "cpu", strlen("cpu")) != 0)
			continue;
		if (!number_at(text + strlen("cpu"), &text, &number) ||
		    !words_at(text, NR_SCHEDSTATS, words))
			return false;
		waits->host_nsec = bytes_add(waits->host_nsec, words[SCHEDSTAT_RUN_DELAY]);
		waits->nr_cpus++;
	}
	return waits->nr_cpus > 0;
}

struct own_waits {
	struct kernel *kernel;
	struct pressure_waits *waits;
};

/* A file of a thread: time on CPUs, time waiting for one, how often it ran. */
static int add_thread(const char *tid, void *arg)
{
	const struct own_waits *own = arg;
	struct pressure_waits *waits = own->waits;
	uint64_t words[3], thread;
	char text[128];
	const char *end;
	int r;

	if (!number_at(tid, &end, &thread) || *end != '\0')
		return -EINVAL;
	if (waits->nr_own_threads == ELEMENTS(waits->own_threads))
		return -E2BIG;
	r = kernel_read_text(own->kernel, text, sizeof(text), "/proc/self/task/%s/schedstat", tid);
	/* it has ended meanwhile */
	if (r == -ENOENT || r == -ESRCH)
		return 0;
	if (r < 0)
		return r;
	if (!words_at(text, ELEMENTS(words), words))
		return -EINVAL;
	waits->own_nsec = bytes_add(waits->own_nsec, words[1]);
	waits->own_threads[waits->nr_own_threads++] = thread;
	return 0;
}

static void read_waits(struct kernel *kernel, char *text, struct pressure_waits *ret)
{
	struct pressure_waits waits = { 0 };
	struct own_waits own = { kernel, &waits };

	if (kernel_read_text(kernel, text, STAT_BYTES_MAX, "/proc/schedstat") < 0 ||
	    !host_waits(text, &waits) ||
	    kernel->ops->list(kernel, "/proc/self/task", add_thread, &own) != 0 ||
	    waits.nr_own_threads == 0)
		return;
	waits.is_known = true;
	*ret = waits;
}

void pressure_read(struct kernel *kernel, struct pressure_sample *ret)
{
	scoped(freep) char *text = malloc(STAT_BYTES_MAX);
	struct pressure_sample sample = { 0 };
	char path[64];

	for (unsigned kind = 0; kind < NR_PRESSURES; kind++) {
		struct pressure_total *total = &sample.totals[kind];

		(void) snprintf(path, sizeof(path), "/proc/pressure/%s", pressure_texts[kind]);
		total->has_host = read_total(kernel, path, &total->host_usec);
	}
	read_own(kernel, &sample);
	if (text) {
		read_busy(kernel, text, &sample);
		read_waits(kernel, text, &sample.waits);
	}
	*ret = sample;
}
