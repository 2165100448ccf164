/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * follow.h - a model that stays up to date: subscribe, then read, then wait
 *
 * Nothing is asked for twice: after one GetManagedObjects everything comes by signals, which are
 * believed only when they are sent by the connection that answered it (anybody on the system bus
 * may send a signal to anybody). When the daemon leaves the bus, or the bus itself goes, the
 * follower waits until both are back and reads anew; only at the start their absence is an error.
 */
#pragma once

#include "model.h"

#define FOLLOW_ON (-1)

/*
 * Looks at the model after every turn in which something may have changed, and at *wake_usec
 * (monotonic; set it to be called again without a change). @model is NULL while the daemon is
 * away. Return: FOLLOW_ON, or the exit status to end with.
 */
typedef int (*follow_look_fn)(struct model *model, uint64_t now_usec, uint64_t *wake_usec,
                              void *arg);

/*
 * @is_patient: the daemon may come after the start, too; the bus must be there. Until @look ends
 * it, or @limit_usec have passed (UINT64_MAX: never). Return: what @look said; CLIENT_NOT_READY
 * after the limit; another exit status, reported.
 */
int follow(const struct client *client, uint64_t limit_usec, bool is_patient, follow_look_fn look,
           void *arg);

uint64_t follow_now_usec(void);
