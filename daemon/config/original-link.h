/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * original-link.h - which links lead from one file of a pool to another
 *
 * Layer: config. Threads: one at a time.
 */
#pragma once

#include "original-tree.h"
#include "originals.h"

/*
 * Accept the links among @originals (in order of their paths) that lead to an accepted file among
 * them, through other links among them at most; the others lose their link_target and stay
 * ORIGINAL_SYMLINK. Return: 0; -ENOMEM.
 */
int original_links_settle(const struct original_tree *tree, struct originals *originals);
