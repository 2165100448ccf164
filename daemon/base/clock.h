/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * clock.h - the two clocks, in µs
 *
 * Layer: base. Threads: any. Rates, time-outs and ages use the monotonic clock only; the realtime
 * clock is shown to people and never computed with: it jumps when it is set.
 */
#pragma once

#include <stdint.h>

uint64_t clock_monotonic_usec(void);
uint64_t clock_realtime_usec(void);
