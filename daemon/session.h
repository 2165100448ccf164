/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * session.h - how the service ranks against other sessions, by what it is at
 *
 * Layer: top. Threads: main.
 */
#pragma once

#include <stdint.h>

struct manager;

/* The kernel takes a new rank once in this time from whoever lacks CAP_SYS_ADMIN. */
#define SESSION_RANK_PERIOD_USEC (100 * UINT64_C(1000))

/*
 * While all that works is background work, the session stands behind all others, as its threads do
 * within it; see autogroup.h. The main thread stands there, too: where all CPUs are taken it
 * answers in a tenth of a second or two then, instead of at once. manager->is_rank_due: the kernel
 * was not ready for it, call again.
 */
void session_rank(struct manager *manager);

/* Beside the others again, whatever works: the end is not to wait for them. */
void session_rank_end(struct manager *manager);
