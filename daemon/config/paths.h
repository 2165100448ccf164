/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * paths.h - the words of Paths=
 *
 * Layer: config. Threads: one at a time. The file system is not looked at.
 *
 * Blanks separate words; what stands in double or single quotes is one word with its blanks. A
 * backslash is left to glob(7), where it takes the meaning from the character behind it.
 */
#pragma once

#include "settings.h"

#define PATHS_MAX 256 /* words of one pool */

#define PATHS_ACCEPTED                                                                           \
	"absolute paths without '.', '..' and '//', with blanks between; *, ? and [] stand for " \
	"any names"

/*
 * Add the words of the list that begins with @list to @pool. A word that is no such path is noted
 * as a warning and left out; more than PATHS_MAX refuse the pool, which is noted too.
 * Return: 0; -ENOMEM.
 */
int paths_read(struct notes *notes, const struct setting *list, struct pool_config *pool);

/* Free the paths of @pool; it has none afterwards. */
void paths_clear(struct pool_config *pool);
