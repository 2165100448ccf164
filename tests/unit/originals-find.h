/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * originals-find.h - which files paths name below the directory of config-tree.h
 */
#pragma once

#include "config-tree.h"

/* What the last find() has found. */
extern struct originals found;

/* Checked fixture: that of config-tree.h, and nothing is found. */
void originals_setup(void);
void originals_teardown(void);

/* The directory, without a slash behind it. */
const char *tree_root(void);

/* Look for @paths, one in each line; the n-th has the position "file:n". */
void find(const char *paths);

/* What was found is this: lines "position path", then " -> target" or " word" where refused. */
void expect(const char *expected);
