/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * original-tree.h - directories below a root, each known by its own path without links
 *
 * Layer: config. Threads: one at a time. Nothing but directories is opened.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct original_tree {
	int root_fd;
	char root_path[PATH_MAX]; /* "" for "/", else as the kernel knows it */
	bool is_root_hidden;
};

/* A directory, known by its own path. */
struct original_place {
	int fd;         /* O_PATH */
	char *path;     /* below the root, without links; "" for the root itself */
	bool is_hidden; /* it, or one above it, may not be passed by everybody (mode, ACL) */
};

/* @root: "" for this machine. Return: 0 and *ret; -errno of open(2) or readlink(2). */
int original_tree_open(const char *root, struct original_tree *ret);
void original_tree_close(struct original_tree *tree);

/*
 * Follow the links in @directory (absolute), as if the root were "/".
 * Return: 0 and *ret, closed by original_place_close(); -ENOENT, -ENOTDIR, -EACCES, -ELOOP and
 * others of openat2(2); -ENOMEM.
 */
int original_tree_directory(const struct original_tree *tree, const char *directory,
                            struct original_place *ret);
void original_place_close(struct original_place *place);

/*
 * The directory @name in @place. Return: 0 and *ret; -ENOENT; -ENOTDIR it is none, or a link to
 * one; -EACCES and others of openat(2); -ENOMEM.
 */
int original_place_descend(const struct original_place *place, const char *name,
                           struct original_place *ret);
