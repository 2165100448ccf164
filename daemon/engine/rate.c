/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rate.h"

#define USEC_PER_SEC UINT64_C(1000000)

/* @value * @factor / @divisor without overflow on the way; stops at UINT64_MAX. */
static uint64_t scale(uint64_t value, uint64_t factor, uint64_t divisor)
{
	unsigned __int128 scaled = (unsigned __int128) value * factor / divisor;

	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t) scaled;
}

static unsigned newest(const struct rate *rate)
{
	return (rate->next + RATE_SAMPLES - 1) % RATE_SAMPLES;
}

static unsigned oldest(const struct rate *rate)
{
	return (rate->next + RATE_SAMPLES - rate->nr_samples) % RATE_SAMPLES;
}

void rate_sample(struct rate *rate, uint64_t now_usec, uint64_t bytes)
{
	if (rate->nr_samples > 0) {
		unsigned last = newest(rate);

		if (bytes < rate->samples[last].bytes) {
			rate->nr_samples = 0;
		} else if (now_usec <= rate->samples[last].at_usec) {
			/* No time has passed, so there is no rate to see between the two. */
			rate->samples[last].bytes = bytes;
			return;
		}
	}

	rate->samples[rate->next].at_usec = now_usec;
	rate->samples[rate->next].bytes = bytes;
	rate->next = (rate->next + 1) % RATE_SAMPLES;
	if (rate->nr_samples < RATE_SAMPLES)
		rate->nr_samples++;
}

uint64_t rate_bytes_per_second(const struct rate *rate)
{
	unsigned first = oldest(rate);
	unsigned last = newest(rate);

	if (rate->nr_samples < 2)
		return 0;

	/* Never 0 apart: rate_sample() keeps one sample per instant, in ascending order. */
	return scale(rate->samples[last].bytes - rate->samples[first].bytes, USEC_PER_SEC,
	             rate->samples[last].at_usec - rate->samples[first].at_usec);
}

uint64_t rate_left_usec(const struct rate *rate, uint64_t left_bytes)
{
	uint64_t bytes_per_second = rate_bytes_per_second(rate);

	if (left_bytes == 0)
		return 0;
	if (bytes_per_second == 0)
		return UINT64_MAX;
	return scale(left_bytes, USEC_PER_SEC, bytes_per_second);
}
