/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * thp-mount.h - unnamed files on tmpfs mounts of our own, with huge=always
 *
 * Layer: kinds. Threads: any. The mounts are attached nowhere: no path leads to them, and they are
 * gone with their descriptor and the files on them. One a node, made at its first use, as the
 * memory policy is a mount option. Source: tmpfs(5), fsopen(2), fsmount(2) (Linux 5.2).
 */
#pragma once

/*
 * An empty file that holds memory of @node_id. Return: a descriptor, which the caller owns;
 * -EPERM we may not mount; -EOPNOTSUPP the kernel lacks the calls or huge=; -ENOMEM; -errno.
 */
int thp_mount_file(unsigned node_id);

/* Close all mounts; files that are still open stay. */
void thp_mount_close(void);
