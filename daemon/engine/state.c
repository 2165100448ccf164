/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "../base/scoped.h"
#include "state.h"

static const char *const state_texts[] = {
	[SHARE_WAITING] = "waiting",     [SHARE_EARLY] = "early",
	[SHARE_DEFERRED] = "deferred",   [SHARE_READY] = "ready",
	[SHARE_DEGRADED] = "degraded",   [SHARE_FAILED] = "failed",
	[SHARE_CANCELLED] = "cancelled",
};

/* How bad each is for what is made of shares: the largest decides. */
static const unsigned state_weights[] = {
	[SHARE_READY] = 0,   [SHARE_DEGRADED] = 1,  [SHARE_DEFERRED] = 2, [SHARE_EARLY] = 3,
	[SHARE_WAITING] = 4, [SHARE_CANCELLED] = 5, [SHARE_FAILED] = 6,
};

const char *share_state_text(enum share_state state)
{
	assert(state < ELEMENTS(state_texts));
	return state_texts[state];
}

bool share_state_is_settled(enum share_state state)
{
	return state >= SHARE_READY;
}

enum share_state share_state_worse(enum share_state a, enum share_state b)
{
	return state_weights[a] >= state_weights[b] ? a : b;
}

enum share_state share_state_outcome(uint64_t declared_bytes, uint64_t minimum_bytes,
                                     uint64_t done_bytes, bool is_cancelled)
{
	/* A cancel that came after the last byte took nothing away. */
	if (done_bytes >= declared_bytes)
		return SHARE_READY;
	if (is_cancelled)
		return SHARE_CANCELLED;
	return done_bytes >= minimum_bytes ? SHARE_DEGRADED : SHARE_FAILED;
}
