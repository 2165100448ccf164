/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * emitter.h - when the next PropertiesChanged of one object may be sent
 *
 * Layer: bus. Threads: main. Pure: the caller passes the monotonic time in, and owns the one timer.
 *
 * Ordinary changes wait until 250 ms after the last signal, urgent ones (a state) for nothing; but
 * no more than four signals lie in any second. The window is a little longer than that, because
 * a second is measured by whoever receives them, after each had its own delay.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define EMITTER_SIGNALS       4
#define EMITTER_INTERVAL_USEC UINT64_C(250000)
#define EMITTER_WINDOW_USEC   UINT64_C(1050000)

/* Embedded by value; all zero is "nothing was sent yet". */
struct emitter {
	uint64_t sent_usec[EMITTER_SIGNALS]; /* a ring, 0: not yet */
	unsigned oldest;
};

/* The earliest time for the next signal; 0 when nothing stands against it. */
uint64_t emitter_due_usec(const struct emitter *emitter, bool is_urgent);

/* A signal has gone out at @now_usec. */
void emitter_note_sent(struct emitter *emitter, uint64_t now_usec);
