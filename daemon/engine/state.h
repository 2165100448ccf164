/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * state.h - the states of a share, and of what is made of shares
 *
 * Layer: engine. Threads: any; no state of its own.
 *
 *     waiting -> early -> deferred -> ready | degraded | failed | cancelled
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum share_state {
	SHARE_WAITING,
	SHARE_EARLY,
	SHARE_DEFERRED,
	SHARE_READY,    /* everything declared is in service */
	SHARE_DEGRADED, /* less, but at least the minimum */
	SHARE_FAILED,   /* less than the minimum */
	SHARE_CANCELLED,
};

/* "waiting", "early", … Static. */
const char *share_state_text(enum share_state state);

/* Nothing more will happen to it by itself. */
bool share_state_is_settled(enum share_state state);

/*
 * The worse of two, for pools and the host: failed, cancelled, then what is not settled (the least
 * advanced first), degraded, ready.
 */
enum share_state share_state_worse(enum share_state a, enum share_state b);

/*
 * What a share that ended with @done_bytes of @declared_bytes has become. With everything in
 * service it is ready, even if it was cancelled after the last byte.
 */
enum share_state share_state_outcome(uint64_t declared_bytes, uint64_t minimum_bytes,
                                     uint64_t done_bytes, bool is_cancelled);
