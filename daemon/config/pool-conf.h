/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pool-conf.h - one pool, from its file and drop-ins
 *
 * Layer: config. Threads: one at a time.
 */
#pragma once

#include "settings.h"
#include "sources.h"

/* The words of a pool's file, and where they may stand. */
enum pool_key {
	KEY_KIND,
	KEY_NODES,
	KEY_PAGE_SIZE,
	KEY_SIZE,
	KEY_MINIMUM,
	KEY_REQUIRED,
	KEY_EARLY,
	KEY_SHRINK,
	KEY_LOCK,
	KEY_REGION_SIZE,
	KEY_USERS,
	KEY_GROUPS,
	KEY_ZONE,
	KEY_PATHS,
	NR_POOL_KEYS,
};

/*
 * What @sources say of the pool @name; @path is its file. notes_begin() was called for it.
 * Return: 0 and *ret, to be freed by pool_config_clear(); -EINVAL refused, which is noted;
 * -ENOMEM.
 */
int pool_conf_read(const char *name, const char *path, const struct sources *sources,
                   struct notes *notes, struct pool_config *ret);

/* Free what it has; it is empty afterwards, as one that is all zero. */
void pool_config_clear(struct pool_config *pool);

/*
 * Note what is at odds between the settings of one pool, whose values are good one by one.
 * May refuse the pool.
 */
void pool_conf_check(const struct pool_config *pool, const struct settings *settings);
