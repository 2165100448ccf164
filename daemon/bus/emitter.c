/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "emitter.h"

uint64_t emitter_due_usec(const struct emitter *emitter, bool is_urgent)
{
	uint64_t oldest_usec = emitter->sent_usec[emitter->oldest];
	uint64_t last_usec =
		emitter->sent_usec[(emitter->oldest + EMITTER_SIGNALS - 1) % EMITTER_SIGNALS];
	uint64_t due_usec = 0;

	if (oldest_usec)
		due_usec = oldest_usec + EMITTER_WINDOW_USEC;
	if (last_usec && !is_urgent && last_usec + EMITTER_INTERVAL_USEC > due_usec)
		due_usec = last_usec + EMITTER_INTERVAL_USEC;
	return due_usec;
}

void emitter_note_sent(struct emitter *emitter, uint64_t now_usec)
{
	emitter->sent_usec[emitter->oldest] = now_usec;
	emitter->oldest = (emitter->oldest + 1) % EMITTER_SIGNALS;
}
