/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * store.h - descriptors that outlive the process, by name
 *
 * Layer: lease. Threads: main. The service manager's store (sd_pid_notify_with_fds(3), FDSTORE=1)
 * gives back what was put into it, but promises neither all of it nor an order: one that is full
 * drops in silence. So what counts is the record; a descriptor is looked up by name, once, and what
 * nobody asked for is closed and taken out.
 *
 * Names: "state", "region-ID", "lifetime-ID" (ID: 16 hexadecimal digits).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/scoped.h"

/* How to reach the store; the manager's talk to the service manager, tests script it. */
struct store_ops {
	/*
	 * Keep a duplicate of @fd under @name. Does not wait until that is done, but, as
	 * sd_notify(3) does, while the service manager's socket has no room for the message.
	 * Return: 0; -errno.
	 */
	int (*put)(void *arg, const char *name, int fd);
	/* Forget all that is kept under @name; waits as put does. */
	void (*remove)(void *arg, const char *name);
};

struct store;

enum store_kind { STORE_REGION, STORE_LIFETIME };

/*
 * @fds, @names: what was given back, @nr of each; the descriptors are the store's from now on, the
 * names are copied. @ops NULL: there is no store, and nothing is kept.
 * Return: 0 and *ret, which the caller owns; -ENOMEM (the descriptors are closed).
 */
int store_new(const struct store_ops *ops, void *arg, const int *fds, const char *const *names,
              size_t nr, struct store **ret);

/* Closes what was not taken, and takes nothing out of the store. NULL is fine. Return: NULL. */
struct store *store_free(struct store *store);
DEFINE_SCOPED(struct store *, store_free)

/* Whether there is a store that keeps what is put. */
bool store_is_there(const struct store *store);

/* The inherited descriptor, which is the caller's from now on; of several with the name the first.
 * Return: -ENOENT there is none. */
int store_take_state(struct store *store);
int store_take(struct store *store, enum store_kind kind, uint64_t id);

/* The same, which stays the store's: to look at. */
int store_look(const struct store *store, enum store_kind kind, uint64_t id);

/*
 * What was taken under the name is in the store already and is not put again; anything else
 * replaces what was given back under it. Return: 0; -EOPNOTSUPP no store; -errno.
 */
int store_put_state(struct store *store, int fd);
int store_put(struct store *store, enum store_kind kind, uint64_t id, int fd);
void store_remove(struct store *store, enum store_kind kind, uint64_t id);

/*
 * After all was taken that is known: close the rest, duplicates too, and take the names that nobody
 * asked for out of the store. Return: how many descriptors that were.
 */
size_t store_close_rest(struct store *store);

/* How many of a kind were inherited, duplicates included. */
size_t store_nr_inherited(const struct store *store, enum store_kind kind);
