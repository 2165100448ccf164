/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pace.h - when the next bytes may be brought into service under a limit in bytes per second
 *
 * Layer: engine. Threads: pure; the owner's lock. Monotonic time only; the caller passes it in.
 *
 * Who begins something owes its bytes, and what is owed is paid at the limit as time passes. The
 * next may begin when nothing is owed. Idle time is not saved up: after a pause, too, one chunk
 * begins at once and the next one when it is paid for. Computed exactly, without rounding.
 */
#pragma once

#include <stdint.h>

/* Embedded by value; all zero is no limit. */
struct pace {
	uint64_t bytes_per_second; /* 0: no limit */
	uint64_t at_usec;          /* up to when it was paid */
	unsigned __int128 owed;    /* bytes, in millionths: what a µs at 1 B/s pays is 1 */
};

/* What is owed already is paid at the new rate from now on; 0 is no limit, and forgives it. */
void pace_set_rate(struct pace *pace, uint64_t now_usec, uint64_t bytes_per_second);

/* When the next may begin: @now_usec for at once; UINT64_MAX is never, as far as the clock goes. */
uint64_t pace_due_usec(struct pace *pace, uint64_t now_usec);

/* @bytes begin now, whether or not they were due. */
void pace_take(struct pace *pace, uint64_t now_usec, uint64_t bytes);
