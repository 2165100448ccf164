/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <time.h>

#include "clock.h"

#define USEC_PER_SEC  UINT64_C(1000000)
#define NSEC_PER_USEC UINT64_C(1000)

static uint64_t clock_usec(clockid_t id)
{
	struct timespec now = { 0 };

	/* Cannot fail for these two clocks and a valid address. */
	(void) clock_gettime(id, &now);
	return (uint64_t) now.tv_sec * USEC_PER_SEC + (uint64_t) now.tv_nsec / NSEC_PER_USEC;
}

uint64_t clock_monotonic_usec(void)
{
	return clock_usec(CLOCK_MONOTONIC);
}

uint64_t clock_realtime_usec(void)
{
	return clock_usec(CLOCK_REALTIME);
}
