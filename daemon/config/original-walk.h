/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * original-walk.h - which names below a root a pattern matches
 *
 * Layer: config. Threads: one at a time. Nothing but directories is opened; what matches is not
 * looked at here.
 */
#pragma once

#include "original-tree.h"

#define ORIGINAL_NAMES_MAX (1024 * 1024) /* looked at for the patterns of one pool */

struct original_walk_ops {
	/* @name in @place matches, if it is there. */
	int (*match)(void *user, const struct original_place *place, const char *name);
	/* The directory @path is on the way and cannot be passed: -EACCES, others of openat(2). */
	int (*obstacle)(void *user, const char *path, int error);
	/* @path is on the way and is not gone along, being a link: to the directory @goal. */
	int (*detour)(void *user, const char *path, const char *goal);
};

/*
 * Each name of a directory that is searched takes one of *@nr_names_left.
 *
 * Call @ops for what @pattern (absolute) names, the names of a directory in order (strcmp). Links
 * are followed in front of the first wildcard only. What an operation returns below 0 ends the
 * walk. Return: 0; of original_tree_directory() for what is in front of the first wildcard; -E2BIG
 * there were too many names to look at; what the operation returned; -ENOMEM.
 */
int original_walk(const struct original_tree *tree, const char *pattern, size_t *nr_names_left,
                  const struct original_walk_ops *ops, void *user);
