/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * book-world.h - a host for the book: a service manager with a store, a daemon that may be killed,
 * clients, and a clock that the test moves
 *
 * Threads: main. There is one world a process, as the fake regions are. Functions end the test
 * where something goes wrong that is not the daemon's doing.
 */
#pragma once

#include "../../daemon/lease/book.h"
#include "fake-regions.h"

#define WORLD_SHARES_MAX  4
#define WORLD_CLIENTS_MAX 64

struct world_share {
	const char *pool;
	unsigned node_id;
	enum plan_page page;
	uint64_t page_bytes;
	uint64_t region_bytes;
	size_t nr_regions;
};

/* What the service manager keeps. */
struct world_kept {
	char name[40];
	int fd;
};

/* A lease as its client sees it. */
struct world_client {
	uint64_t id;
	uint64_t bytes;
	uid_t uid;
	int lifetime_fd; /* -1: closed */
	int memory_fd;
};

struct world {
	/* The configuration. */
	struct world_share config[WORLD_SHARES_MAX];
	size_t nr_config;
	struct book_quota quota;
	bool has_no_store;

	/* The service manager. */
	struct world_kept *kept;
	size_t nr_kept;
	size_t kept_max;
	size_t store_room; /* what does not fit is dropped in silence */
	int put_error;
	void (*before_restore)(void); /* or NULL */

	/* The daemon. */
	struct record *record;
	struct store *store;
	struct book *book;
	struct share *shares[WORLD_SHARES_MAX];
	struct book_restored restored;
	size_t nr_damaged;

	struct world_client clients[WORLD_CLIENTS_MAX];
	size_t nr_clients;

	/* Events since the test last set them to 0. */
	unsigned nr_ended;
	unsigned nr_over;
	struct lease last_event;

	uint64_t now_usec;
};

extern struct world world;

/* An empty host without a configuration. Before each test. */
void world_reset(void);

/* Everything is closed, clients too. */
void world_end(void);

/* One more share. Return: its index in config and shares. */
size_t world_add_share(const char *pool, unsigned node_id, enum plan_page page,
                       uint64_t region_bytes, size_t nr_regions);

/* The daemon starts, takes over what there is, and fills nothing. */
void world_start(void);

/* It is killed: memory and what is in the store stay. */
void world_kill(void);

/* Kill it and start it. */
void world_restart(void);

/* Lease for @uid, of the shares in their order. Return: as book_grant(), and a client more. */
int world_lease(uid_t uid, uint64_t bytes);

/* The client closes its lifetime; its memory is still open. */
void world_close_lifetime(struct world_client *client);
/* And its memory. The client is forgotten. */
void world_close(struct world_client *client);

struct world_client *world_client(uint64_t id);

/* Let @usec go by, then book_poll(). Return: in how many µs it wants to be called again. */
uint64_t world_poll(uint64_t usec);

/* Poll until nothing drains or waits to be given back; fails after a while. */
void world_poll_out(void);

/* Take the news of all shares. */
void world_news(void);

bool world_keeps(const char *kind, uint64_t id);
size_t world_nr_kept(void);
/* One descriptor less in the store. */
void world_lose(const char *kind, uint64_t id);
/* A duplicate of @fd under any name, behind what is there. */
void world_keep(const char *name, int fd);
void world_shuffle(unsigned seed);

/* The state on record; 0 none. */
unsigned world_recorded(uint64_t id);

struct lease world_find(uint64_t id);

/* Descriptors that this process has open. */
size_t world_nr_fds(void);

/* Begin with a pool "guests" of @nr_regions on node 0, all of them ready. */
void world_start_full(enum plan_page page, uint64_t region_bytes, size_t nr_regions);

/* A lease of any region, which succeeds. Return: its id. */
uint64_t world_lease_id(uid_t uid);

/* Of share @i. */
struct region_counts world_counts(unsigned i);

void world_expect_sums(const char *pool, unsigned node_id, uint64_t leased_bytes,
                       uint64_t draining_bytes);
