/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * prepare.h - nodeinitd --prepare: what only root can do for the service, which is not root
 *
 * Layer: top. Threads: main. Run before the service starts and before it reads its configuration
 * again, outside of its sandbox; and for a node that appears while it runs.
 *
 * - BASE is root's and sticky, and the service's group may make things in it.
 * - Pools of kind replica: each node that one of them names has a tmpfs (prepare-mounts.h).
 * - Pools of kind block: the service's group may bring the offline blocks of their nodes online.
 *   What appears later is given to it by a rule of udev, as long as BASE/wants-blocks exists.
 */
#pragma once

#include <sys/types.h>

#include "options.h"

#define PREPARE_WANTS_BLOCKS "wants-blocks"

struct prepare_setup {
	const char *config_directory; /* as in struct options */
	const char *root;             /* of sysfs and procfs, "" for this machine */
	const char *base;             /* run_directory() */
	uid_t uid;                    /* the service's user and group */
	gid_t gid;
};

/*
 * Do all of it, as far as it can be done; each failure says so in one line. A file of the
 * configuration that is refused is the daemon's to speak of; as long as there is one, or the daemon
 * is at work, no mount is removed.
 *
 * Return: 0 done; 1 something failed, the rest was done; 2 machine or configuration cannot be read,
 * or there is no place to work in.
 */
int prepare(const struct prepare_setup *setup);

/* As the options say, for the user and the group "nodeinit"; what is missing of these is root.
 * Return: as prepare(). */
int prepare_command(const struct options *options);
