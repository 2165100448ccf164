/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * run-copies.h - the copies that a node has of files, for a command that runs there
 *
 * One thread. DIRECTORY/nodeN/PATH is the copy of PATH, or a link to it where the node has none. A
 * copy is taken only while it is current: a regular file of the same size and modification time as
 * the original that can be read and executed by the same users, and on no mount that is noexec. The
 * original must not be one that runs with rights of its own (set-user-id, set-group-id, file
 * capabilities), as these would be lost.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The copy of the executable @path, which is absolute and without links. Return: 0 and *ret_copy, a
 * path, which the caller frees; -ENOENT: there is none; -ELOOP: it is a link to the original;
 * -ESTALE: of another version of it, or the original has become something else; -EPERM: the
 * original has rights of its own; -EACCES: not all who may execute the original may execute it, or
 * this process may not; -EUSERS: DIRECTORY is neither root's alone nor this user's own; -ENOMEM,
 * -errno: cannot be told.
 */
int run_copies_find(const char *directory, uint32_t node_id, const char *path, char **ret_copy);

/* How many of the node's copies are current, at most RUN_COPIES_MAX. */
size_t run_copies_count(const char *directory, uint32_t node_id);

/* More are left aside: fs.mount-max is 100000 for a whole namespace. */
#define RUN_COPIES_MAX 16384

/*
 * Enter a mount namespace of this process's own, in which all current copies of the node lie over
 * their originals, read-only. Changes of the host's mounts go on to be seen, but not the other way
 * round. Return: 0 and *ret_nr, how many do; -EPERM: not allowed to; -errno: this kernel does not
 * do it. After an error files are as they were.
 */
int run_copies_mount(const char *directory, uint32_t node_id, size_t *ret_nr);
