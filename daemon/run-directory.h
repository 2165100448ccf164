/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * run-directory.h - where the daemon keeps what lasts until the next boot
 *
 * Layer: top. Threads: main.
 */
#pragma once

#include <stdbool.h>

/*
 * The first directory of $RUNTIME_DIRECTORY (systemd.exec(5) sets it, separated by colons), as long
 * as it is an absolute path; otherwise /run/nodeinit. Never NULL; lasts as long as the process.
 */
const char *run_directory(void);

/*
 * Say that the daemon is at work there, for as long as the descriptor is open: the file systems of
 * the nodes are then not taken away from under it (prepare-mounts.h). Whoever only asks whether it
 * is held is in the way for an instant, and waited for, a tenth of a second at most. Return: a
 * descriptor, the caller's; -ENOENT there is no such directory; -EBUSY somebody else has it locked;
 * -errno.
 */
int run_directory_hold(const char *directory);

/* Whether somebody holds the directory @fd, which is not O_PATH. When in doubt: true. */
bool run_directory_is_held(int fd);
