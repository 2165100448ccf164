/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sched.h>

#include "../../daemon/base/clock.h"
#include "held-crew.h"
#include "suite.h"

struct bench bench;
struct gate gate;

void close_bench(void)
{
	bench_close(&bench);
}

void set_brake(unsigned nr_members, unsigned rest_percent)
{
	const struct worker_brake brake = { .nr_members = nr_members,
		                            .rest_percent = rest_percent };

	worker_set_brake(bench.worker, &brake);
}

struct worker_status read_worker(void)
{
	struct worker_status status;

	worker_read(bench.worker, &status);
	return status;
}

struct run *add_gated(struct fake *fake, unsigned id, enum stage stage, uint64_t bytes)
{
	fake_init(fake, &bench, id, stage == STAGE_EARLY ? bytes : 0,
	          stage == STAGE_DEFERRED ? bytes : 0);
	fake->parts[stage].chunk_gate = &gate;
	return bench_add(&bench, fake);
}

unsigned nr_chunks_begun(unsigned id)
{
	return book_nr(&bench.book, id, EVENT_CHUNK, -1);
}

void await_silence(void)
{
	await_yielding(tasks_are_asleep());
}
