/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pieces.h - what a managed share consists of: it grows by a piece at a time, and shrinks by them
 *
 * Layer: top. Threads: main.
 */
#pragma once

#include "apply.h"
#include "inventory.h"

/*
 * Room for one more of @item_bytes in an array of @nr, which grows by one. Return: the new item,
 * zeroed; NULL when out of memory, and the array is as it was.
 */
void *array_add(void **array, size_t *nr, size_t item_bytes);

/* Threads for one node by Threads=; auto: one a CPU, at most 16. Always at least 1. */
unsigned pieces_threads(const struct daemon_config *config, size_t nr_cpus);

/* What all pieces of a share are to bring, in bytes. */
uint64_t pieces_granted_bytes(const struct managed_share *share);

/* Cancel all pieces of a share and put them on their way out. Return: 0; -ENOMEM. */
int pieces_leave(struct inventory *inventory, struct managed_share *share);

/* The node was unplugged: all pieces of its shares go. Return: 0; -ENOMEM. */
int pieces_leave_node(struct inventory *inventory, unsigned node_id);

/*
 * Give the node's worker, which is made when the node has none, what its shares do not have yet.
 * Return: 0; -ENOMEM; as shares_new().
 */
int pieces_grow_node(struct inventory *inventory, const struct plan_node *planned,
                     const struct apply_setup *setup);

/*
 * Have idle shares give back what they have too much of (see managed_share.keep_bytes), and free
 * pieces that have nothing left.
 */
void pieces_give_back(struct inventory *inventory);

/*
 * Have idle pieces build anew the regions that came back of ended leases; also those that could not
 * be the last time, when it is time to try again (inventory.refill_usec).
 */
void pieces_refill(struct inventory *inventory, uint64_t now_usec);

/*
 * Have settled shares of kind hugetlb try again where the kernel's pool is smaller than what is
 * said to be in service: somebody has lowered it since. Return: whether any does.
 */
bool pieces_recheck(struct inventory *inventory, struct kernel *kernel);

/* Whether no worker has anything of the share's to do. */
bool pieces_are_idle(const struct managed_share *share);

/*
 * Memory has gone offline or was unplugged: all shares have to see what they still have, each once
 * it is idle.
 */
void pieces_memory_left(struct inventory *inventory);

/*
 * Whether a share of kind block of the node has settled since the machine was looked at last, and
 * none is at work.
 */
bool pieces_are_walk_due(struct inventory *inventory, unsigned node_id);

/*
 * Blocks or a node were plugged in, or others have brought blocks online: shares that lack blocks
 * have to see whether they can be had, and those that were not permitted to try again: what was
 * seen too soon has been given to us by now.
 */
void pieces_memory_came(struct inventory *inventory);

/*
 * Have those that are due and idle see; what has moved to another node is built anew. Return:
 * whether any did.
 */
bool pieces_recheck_left(struct inventory *inventory);

/*
 * See to it that every node's queued work is done; harmless for nodes at work or without any. A
 * failure is logged once. Return: 0; -EAGAIN threads could not be made: call again later.
 */
int pieces_start(struct inventory *inventory);
