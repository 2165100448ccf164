/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * access.h - who may lease from a pool: Users= and Groups=
 *
 * Layer: lease. Threads: main. Names are looked up when the configuration is taken over, not when
 * somebody asks: a look-up may wait for a name service. root may always; with neither list nobody
 * else may.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Embedded by value; all zero: root only. */
struct access_list {
	uid_t *uids;
	size_t nr_uids;
	gid_t *gids;
	size_t nr_gids;
};

/*
 * Make the list of names and numbers (NULL terminated lists, or NULL) into *ret, which the caller
 * clears. Names that are unknown are left out and, where @unknown is not NULL, told to it, one by
 * one: (@what is "user" or "group"). Return: 0; -ENOMEM.
 */
int access_list_make(char *const *users, char *const *groups,
                     void (*unknown)(void *arg, const char *what, const char *name), void *arg,
                     struct access_list *ret);

void access_list_clear(struct access_list *list);

/* @gids: all groups of the caller. */
bool access_list_allows(const struct access_list *list, uid_t uid, const gid_t *gids,
                        size_t nr_gids);
