/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * replica.h - where the copies of files lie: a tmpfs of its own for each node
 *
 * Layer: kinds. Threads: main; what shares share on a node has its own lock inside.
 *
 *     DIRECTORY/nodeN          a tmpfs, bound to the node (mpol=bind:N)
 *     DIRECTORY/nodeN/PATH     the copy of PATH, or a link to PATH
 *
 * Root mounts them before the service starts (nodeinitd --prepare): what the daemon mounts in its
 * own namespace nobody else would see.
 *
 * Copies are written under a name of their own, checked, and renamed into place; who has the former
 * one open keeps it. One that is of no pool any more is removed. A mount that is read-only for
 * everybody is written through a clone of the mount that nobody else sees (open_tree(2),
 * mount_setattr(2)).
 */
#pragma once

#include "../base/scoped.h"

struct replica_base;

/*
 * @directory: "/run/nodeinit/replica"; need not exist (then nodes have no mount, and shares settle
 * with links or nothing and the reason no-mount). Return: 0 and *ret, the caller's; -ENOMEM.
 */
int replica_base_open(const char *directory, struct replica_base **ret);

/*
 * For tests, and for who runs without a tmpfs for each node: take plain directories for mounts.
 * They are not bound to the node, so pages elsewhere are no fault.
 */
void replica_base_allow_directories(struct replica_base *base);

/*
 * Remove what is in the nodes' directories and is of no share, as an earlier process left it. Main
 * thread, after all shares were made.
 */
void replica_base_clean(struct replica_base *base);

/* All shares must be gone. Leaves the directories as they are. NULL is fine. Return: NULL. */
struct replica_base *replica_base_free(struct replica_base *base);
DEFINE_SCOPED(struct replica_base *, replica_base_free)
