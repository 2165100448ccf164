/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * give-back.h - shares freed at the end of the daemon, the nodes side by side
 *
 * Layer: engine. Threads: main, while no worker runs. The kernel frees base pages at about the
 * speed at which it clears them; one node after the other, the memory of a large host would take
 * longer than the service manager waits.
 */
#pragma once

#include <stddef.h>

#include "../kinds/kind.h"

struct give_back;

/* For up to @nr shares. Return: NULL when out of memory. */
struct give_back *give_back_new(size_t nr);

/* Take a share over, to be freed. No more than give_back_new() was told of. */
void give_back_add(struct give_back *all, struct share *share);

/*
 * Free the shares and @all: those of one node in the order in which they were added, on one thread;
 * of up to 64 nodes at once, by the calling one and up to 63 that it makes, which are named
 * "give-back". Blocks until all are freed. Where no thread can be made, the calling one does all of
 * it. NULL is fine. Return: NULL.
 */
struct give_back *give_back_free(struct give_back *all);
DEFINE_SCOPED(struct give_back *, give_back_free)
