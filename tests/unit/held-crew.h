/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * held-crew.h - a worker whose members are held back, and chunks that stop at a gate
 *
 * Threads: the test's own. Each test opens the bench itself; close_bench() ends it.
 */
#pragma once

#include <limits.h>

#include "fake-kind.h"

#define FOR_EVER UINT_MAX /* percent of a chunk: no test lives to see the end of such a rest */

extern struct bench bench;
extern struct gate gate;

/* Checked fixture, behind every test. */
void close_bench(void);

void set_brake(unsigned nr_members, unsigned rest_percent);
struct worker_status read_worker(void);

/* One share of @bytes in one stage, whose chunks stop at the gate. The run is the bench's. */
struct run *add_gated(struct fake *fake, unsigned id, enum stage stage, uint64_t bytes);

/* By the share with this id. */
unsigned nr_chunks_begun(unsigned id);

/* Nobody does anything any more, and nobody is about to. */
void await_silence(void);
