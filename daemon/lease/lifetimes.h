/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lifetimes.h - the pipes whose writing ends are the leases
 *
 * Layer: lease. Threads: main. A lease lasts until every copy of the writing end is closed: it
 * survives exec, fork and the connection that asked for it, and ends with the last process. Our
 * reading end shows that as a hang-up. One epoll instance watches all of them, for the hang-up
 * alone: what a client writes into its end wakes nobody.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/scoped.h"

struct lifetimes;

/* Return: 0 and *ret, which the caller owns; -ENOMEM, -EMFILE. */
int lifetimes_new(struct lifetimes **ret);

/* Closes all reading ends. NULL is fine. Return: NULL. */
struct lifetimes *lifetimes_free(struct lifetimes *lifetimes);
DEFINE_SCOPED(struct lifetimes *, lifetimes_free)

/* Readable while some lease has ended; for the loop to watch. Borrowed. */
int lifetimes_fd(const struct lifetimes *lifetimes);

/* A new pipe, both ends close-on-exec. Return: 0 and the two ends, the caller's; -EMFILE. */
int lifetime_pipe(int *ret_ours, int *ret_theirs);

/* Whether every copy of the other end is closed; also of one that is not watched. */
bool lifetime_has_ended(int ours);

/* Watch @ours (ours from now on, also on error) for lease @id. Return: 0; -ENOMEM, -ENOSPC. */
int lifetimes_add(struct lifetimes *lifetimes, uint64_t id, int ours);

/* Stop watching and close. Harmless for an id that is not there. */
void lifetimes_remove(struct lifetimes *lifetimes, uint64_t id);

/* One lease that has ended and was not told yet; its end is closed. Return: 1 and *ret_id; 0 none;
 * does not block. */
int lifetimes_next_ended(struct lifetimes *lifetimes, uint64_t *ret_id);

size_t lifetimes_nr(const struct lifetimes *lifetimes);
