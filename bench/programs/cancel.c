/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cancel - how long the engine goes on after it was told not to
 *
 *     cancel cancel|pause PAGE BYTES THREADS NODE NR
 *
 * A worker brings a region pool of BYTES of PAGE (2M, thp, base) into service on NODE; after a
 * quarter of it worker_cancel() or worker_pause() is called, NR times. Prints for each "USEC
 * CHUNK_USEC": from before the call to the end of the last chunk, 0 where none ran, and the longest
 * chunk there was. Exit 77 with a sentence where it was over before that.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../daemon/base/size.h"
#include "../../daemon/engine/worker.h"
#include "../../daemon/kinds/kind.h"
#include "../../daemon/machine/kernel.h"

#define CHUNK_BYTES  (64 * MIB)
#define REGION_BYTES (256 * MIB)
#define LIMIT_NSEC   UINT64_C(60000000000)
#define STILL_NSEC   UINT64_C(20000000) /* nothing has run for so long: nothing will */
#define LOOK_NSEC    100000

static struct kind_ops timed_ops; /* region_ops with a clock around each chunk */
static atomic_uint nr_running;
static _Atomic uint64_t last_end_nsec, longest_nsec;

static uint64_t now_nsec(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * UINT64_C(1000000000) + (uint64_t) now.tv_nsec;
}

static int must(int r, const char *what)
{
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(-r));
		exit(1);
	}
	return r;
}

static void raise_to(_Atomic uint64_t *most, uint64_t value)
{
	uint64_t before = *most;

	while (value > before && !atomic_compare_exchange_weak(most, &before, value))
		;
}

static int timed_chunk(struct part *part, uint64_t index)
{
	uint64_t begun_nsec = now_nsec();
	int r;

	atomic_fetch_add(&nr_running, 1);
	r = region_ops.run_chunk(part, index);
	raise_to(&longest_nsec, now_nsec() - begun_nsec);
	raise_to(&last_end_nsec, now_nsec());
	atomic_fetch_sub(&nr_running, 1);
	return r;
}

static void on_bell(void *arg)
{
	(void) arg;
}

static void look_again(void)
{
	(void) nanosleep(&(struct timespec){ .tv_nsec = LOOK_NSEC }, NULL);
}

/* Until chunks are at hand, and a quarter is done. */
static void wait_quarter(const struct run *run, uint64_t bytes)
{
	uint64_t end_nsec = now_nsec() + LIMIT_NSEC;
	struct run_status status;

	do {
		look_again();
		run_read(run, &status);
		must(now_nsec() > end_nsec ? -ETIMEDOUT : 0, "a quarter of the pool");
	} while (status.share.done_bytes < bytes / 4 && !run_is_idle(run));
	if (run_is_idle(run)) {
		fputs("the work was over too soon: more bytes are needed\n", stderr);
		exit(77);
	}
}

static void wait_still(void)
{
	uint64_t end_nsec = now_nsec() + LIMIT_NSEC, still_since_nsec = now_nsec();

	while (now_nsec() < still_since_nsec + STILL_NSEC) {
		look_again();
		if (nr_running > 0)
			still_since_nsec = now_nsec();
		must(now_nsec() > end_nsec ? -ETIMEDOUT : 0, "the end of all chunks");
	}
}

static void measure(const struct worker_setup *setup, struct share *share, uint64_t bytes,
                    void (*end)(struct worker *worker))
{
	struct worker *worker;
	uint64_t begun_nsec;
	struct run *run;

	last_end_nsec = longest_nsec = 0;
	must(worker_new(setup, &worker), "a worker");
	must(worker_add(worker, share, bytes, 0, &run), "a run");
	must(worker_start(worker), "threads");
	wait_quarter(run, bytes);
	begun_nsec = now_nsec();
	end(worker);
	wait_still();
	printf("%.1f %.1f\n",
	       last_end_nsec > begun_nsec ? (double) (last_end_nsec - begun_nsec) / 1e3 : 0,
	       (double) longest_nsec / 1e3);
	(void) worker_free(worker);
}

static enum plan_page page_named(const char *name, uint64_t *ret_bytes)
{
	*ret_bytes = strcmp(name, "base") == 0 ? 4096 : 2 * MIB;
	if (strcmp(name, "2M") == 0)
		return PLAN_PAGE_HUGETLB;
	return strcmp(name, "thp") == 0 ? PLAN_PAGE_THP : PLAN_PAGE_BASE;
}

int main(int argc, char **argv)
{
	static _Atomic uint64_t last_region_id;
	struct kind_context context = {
		.memory = &memory_system,
		.chunk_bytes = CHUNK_BYTES,
		.last_region_id = &last_region_id,
	};
	struct plan_pool pool = { .kind = POOL_REGION, .region_bytes = REGION_BYTES };
	struct plan_share planned = { .pool = &pool, .unit_bytes = REGION_BYTES };
	struct plan_node node = { .exists = true, .shares = &planned, .nr_shares = 1 };
	struct worker_setup setup = { .cpus = &node.cpus, .bell = on_bell };
	cpu_set_t usable;

	if (argc != 7) {
		fputs("usage: cancel cancel|pause PAGE BYTES THREADS NODE NR\n", stderr);
		return 2;
	}
	must(kernel_open("", &context.kernel), "the kernel");
	must(memory_system_open(), "memory");
	must(sched_getaffinity(0, sizeof usable, &usable) < 0 ? -errno : 0, "CPUs");
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &usable))
			must(idset_add(&node.cpus, cpu), "CPUs");
	pool.page = page_named(argv[2], &pool.page_bytes);
	planned.declared_bytes = planned.early_bytes = strtoull(argv[3], NULL, 10);
	setup.nr_threads = (unsigned) strtoul(argv[4], NULL, 10);
	setup.node_id = planned.node_id = node.node_id = (unsigned) strtoul(argv[5], NULL, 10);
	timed_ops = region_ops;
	timed_ops.run_chunk = timed_chunk;

	for (unsigned long i = strtoul(argv[6], NULL, 10); i > 0; i--) {
		struct share **shares;

		must(shares_new(&context, &node, NULL, 0, &shares), "a share");
		shares[0]->ops = &timed_ops;
		measure(&setup, shares[0], planned.declared_bytes,
		        strcmp(argv[1], "pause") == 0 ? worker_pause : worker_cancel);
		shares[0]->ops->share_free(shares[0]);
		free(shares);
	}
	idset_clear(&node.cpus);
	memory_system_close();
	(void) kernel_close(context.kernel);
	return 0;
}
