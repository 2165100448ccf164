/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rate.h - bytes per second and time left, from samples of a counter
 *
 * Layer: engine. Threads: main. Monotonic time only; the caller passes it in.
 */
#pragma once

#include <stdint.h>

#define RATE_SAMPLES 16

/* Embedded by value; all zero is empty. */
struct rate {
	struct {
		uint64_t at_usec;
		uint64_t bytes;
	} samples[RATE_SAMPLES];
	unsigned nr_samples;
	unsigned next;
};

/* Take a sample. A counter that fell (work was withdrawn) starts the measurement anew. */
void rate_sample(struct rate *rate, uint64_t now_usec, uint64_t bytes);

/* B/s over the samples held (about the last 4 s at 4 Hz); 0 with fewer than two. */
uint64_t rate_bytes_per_second(const struct rate *rate);

/* µs until @left_bytes are done at that rate; UINT64_MAX when nothing moves; 0 when nothing is
 * left. */
uint64_t rate_left_usec(const struct rate *rate, uint64_t left_bytes);
