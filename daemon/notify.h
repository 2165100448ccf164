/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * notify.h - what the service manager is told: READY, STATUS, EXTEND, WATCHDOG, STOPPING
 *
 * Layer: top. Threads: main. Without NOTIFY_SOCKET everything here does nothing. Source of the
 * messages: sd_notify(3).
 */
#pragma once

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

/* Embedded by value. */
struct notify {
	struct ev_loop *loop; /* borrowed */
	ev_timer watchdog;    /* runs only where the service manager asked for it */
	bool is_ready;
	uint64_t extended_usec; /* monotonic; when EXTEND_TIMEOUT_USEC was last sent */
	uint64_t extended_moves;
	char status[256]; /* the last STATUS sent */
};

/* Begin the watchdog where WATCHDOG_USEC asks for it: one WATCHDOG=1 in half of that time, from
 * @loop only, so that a loop that hangs is noticed. */
void notify_start(struct notify *notify, struct ev_loop *loop);
void notify_stop(struct notify *notify);

/* READY=1, once. */
void notify_ready(struct notify *notify);

/* STATUS=@text, when it differs from the last one. */
void notify_status(struct notify *notify, const char *text);

/*
 * Before READY=1: ask for NOTIFY_EXTEND_USEC more, but only when @moves differs from the last time
 * (a stall is allowed to time out), and at most once in NOTIFY_EXTEND_PERIOD_USEC.
 */
#define NOTIFY_EXTEND_USEC        (30 * UINT64_C(1000000))
#define NOTIFY_EXTEND_PERIOD_USEC (5 * UINT64_C(1000000))
void notify_extend(struct notify *notify, uint64_t now_usec, uint64_t moves);

/* RELOADING=1 with MONOTONIC_USEC, and READY=1 after it. */
void notify_reloading(void);
void notify_reloaded(struct notify *notify);

/* STOPPING=1. */
void notify_stopping(void);
