/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fd-store.h - the descriptors that a service manager keeps for a service, as systemd does it
 *
 * What is put in a second time (the same open file) and what comes when it is full is dropped
 * without a word. What is watched (no FDPOLL=0) and hangs up falls out. The next process gets all
 * of it, the newest first, from descriptor 3 on. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct fd_store_entry {
	char *name;
	int fd;
	bool is_watched;
	ino_t inode;
};

/* Embedded by value; all zero is one that holds nothing and takes nothing. */
struct fd_store {
	struct fd_store_entry *entries; /* the oldest first */
	size_t nr;
	size_t max_nr;
	size_t nr_dropped; /* so far */
};

/* @fd is the store's from now on, whatever becomes of it. */
void fd_store_add(struct fd_store *store, const char *name, int fd, bool is_watched);

/* Let go of all that is kept under @name. */
void fd_store_forget(struct fd_store *store, const char *name);

/*
 * Lose those of which @pattern (fnmatch(3)) matches the name, at most @nr, chosen by @seed.
 * Return: how many.
 */
size_t fd_store_lose(struct fd_store *store, const char *pattern, size_t nr, unsigned seed);

/* Have all that is kept under @name a second time, which systemd would refuse. Return: how many. */
size_t fd_store_duplicate(struct fd_store *store, const char *name);

void fd_store_shuffle(struct fd_store *store, unsigned seed);

/* Let go of what is watched and has hung up. */
void fd_store_settle(struct fd_store *store);

/* Keep nothing. */
void fd_store_clear(struct fd_store *store);

/*
 * In a child, right before its exec(): put everything in its place and say so in the environment.
 * Other descriptors that are in the way are closed. Return: 0; -errno.
 */
int fd_store_hand_over(const struct fd_store *store);
