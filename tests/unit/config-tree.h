/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * config-tree.h - a directory of configuration files, and what loading it says
 */
#pragma once

#include <stddef.h>

#include "../../daemon/config/config.h"

/* Checked fixture: a fresh directory before each test, gone after it. */
void tree_setup(void);
void tree_setup_in(const char *directory); /* else in /tmp */
void tree_teardown(void);

/* Path of @name in the directory; valid until the next call. */
const char *tree_path(const char *name);

/* Write a file, with the directories it needs. */
void tree_file(const char *name, const char *text);
void tree_bytes(const char *name, const void *bytes, size_t nr_bytes);
void tree_directory(const char *name);
void tree_link(const char *name, const char *target);

/* Load the directory as --config DIR, or as the root of the search path. Freed by the teardown. */
const struct config *tree_load(void);
const struct config *tree_search(void);

/* Load "pools.d/guests.pool" of this text alone. */
const struct config *tree_pool(const char *text);

/*
 * All notes of the last load are these: a line each, "warning " or "refused " in front, paths
 * without the tree's own in front.
 */
void tree_expect_notes(const char *expected);
