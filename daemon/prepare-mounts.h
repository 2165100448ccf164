/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * prepare-mounts.h - a tmpfs of its own for each node, for copies of files
 *
 * Layer: top. Threads: main; run by root, in the namespace that everybody sees.
 *
 *     BASE/replica          root's own, so that what lies in it is moved by nobody else
 *     BASE/replica/nodeN    tmpfs of the service's user: bound to node N, nosuid, nodev, and the
 *                           mount is read-only, for root as well
 *
 * In BASE the service's user may make things, too: nothing of it is followed, and no owner or mode
 * of what is found is changed. Source: tmpfs(5), fsopen(2), fsmount(2), move_mount(2) (Linux 5.2),
 * mount_setattr(2) (5.12).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/idset.h"

struct prepare_mounts {
	int base_fd;      /* the directory BASE; borrowed, may be O_PATH */
	const char *base; /* its path, for messages */
	const struct idset
		*nodes;  /* nodes that have memory, or may get some, and shall have a mount */
	bool may_remove; /* what is empty and of no node in nodes is unmounted */
	uid_t uid;       /* of the tmpfs */
	gid_t gid;
};

/*
 * Make what is missing and right what is there; repeated, it changes nothing. Two at the same time
 * wait for each other, for some seconds at most. A node that has no memory yet cannot have a
 * policy: its tmpfs is without one until this is run again.
 *
 * Return: how many things failed; each has said so in one line.
 */
unsigned prepare_mounts(const struct prepare_mounts *mounts);
