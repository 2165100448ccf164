/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * book.h - the leases: who has which region, since when, and what becomes of it afterwards
 *
 * Layer: lease. Threads: main; nothing here blocks, but for the store (store.h).
 *
 *     granted -> leased -> draining -> over
 *
 * leased: from the record on, before any descriptor leaves the process. draining: every copy of the
 * lifetime is closed, or the lease was released; somebody may still have the memory, so it is shown
 * and promised to nobody. over: the kernel says that nobody has it (or, where it does not say, the
 * fallback in book_poll()); the region is given back to its share to be destroyed and built anew.
 * One of a huge page pool is emptied first, and over when the node has the pages for another one:
 * as long as a former lessee keeps some of them, his lease is in the list to show who that is.
 * Pages that the node's pool has lost meanwhile, as it was made smaller, nobody keeps; and a region
 * that no pool has a place for any more is not replaced: neither is waited for.
 * A returned region is never handed out again: pages of it may still be held by vmsplice(2), a
 * registered buffer or RDMA.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../base/scoped.h"
#include "../kinds/kind.h"
#include "record.h"
#include "store.h"

#define BOOK_LEASES_MAX 65536 /* of the host, draining ones included */

struct book;

struct book_setup {
	struct record *record;                /* borrowed */
	struct store *store;                  /* borrowed */
	const struct memory_ops *memory;      /* borrowed */
	uint64_t (*now_monotonic_usec)(void); /* base/clock.h; tests have their own */
	uint64_t (*now_realtime_usec)(void);
};

/* Return: 0 and *ret, which the caller owns; -ENOMEM, -EMFILE. */
int book_new(const struct book_setup *setup, struct book **ret);

/* Forgets the leases; who has them keeps them. NULL is fine. Return: NULL. */
struct book *book_free(struct book *book);
DEFINE_SCOPED(struct book *, book_free)

/* Per uid; draining ones count, too. Of leases that exceed a lowered quota none is ended. */
struct book_quota {
	unsigned nr_leases;
	uint64_t bytes;
};

void book_set_quota(struct book *book, const struct book_quota *quota);

struct book_request {
	const char *pool;
	uint64_t bytes; /* at least; 0: any region */
	uid_t uid;
	pid_t pid;
};

struct book_grant {
	uint64_t id;
	unsigned node_id;
	uint64_t bytes;
	int memory_fd;   /* the caller's: to be sent, then closed */
	int lifetime_fd; /* the caller's: to be sent, then closed; the lease ends when no copy is
	                    left */
};

/*
 * Lend a region of the first of @shares that has one ready: the caller puts them in the order of
 * preference. On record and in the store before this returns.
 * Return: 0 and *ret; -ENOENT none has one ready now; -EDQUOT the uid's quota, *ret_quota says
 * which (1 leases, 2 bytes); -ENOBUFS BOOK_LEASES_MAX; -EMFILE, -ENFILE, -ENOMEM, -errno: nothing
 * was lent.
 */
int book_grant(struct book *book, const struct book_request *request, struct share *const *shares,
               size_t nr_shares, struct book_grant *ret, int *ret_quota);

enum lease_state { LEASE_LEASED, LEASE_DRAINING };

/* "leased", "draining". Static. */
const char *lease_state_text(enum lease_state state);

struct lease {
	uint64_t id;
	enum lease_state state;
	const char *pool; /* borrowed */
	unsigned node_id;
	uint64_t bytes;
	uid_t uid;
	pid_t pid;
	const char *unit; /* borrowed; "" while unknown */
	uint64_t since_realtime_usec;
	uint64_t since_monotonic_usec;
	bool is_released;     /* by request, before its lifetime was closed */
	bool is_memory_known; /* false: the store lost the descriptor; drains by the fallback */
};

size_t book_nr(const struct book *book);

/* Lease @i of book_nr(), by ascending id; its texts live until the book changes. */
void book_at(const struct book *book, size_t i, struct lease *ret);

/* Return: 0 and *ret; -ENOENT. */
int book_find(const struct book *book, uint64_t id, struct lease *ret);

/* Which unit the lessee runs in, as far as that could be found out; for people. A name that the
 * record has no room for is none: part of it could be another unit's. Return: 0; -ENOENT. */
int book_set_unit(struct book *book, uint64_t id, const char *unit);

/* End a lease on request: it drains. Return: 0; -ENOENT; -EALREADY it drains already. */
int book_release(struct book *book, uint64_t id);

/* Sums over a pool (NULL: all) and node (UINT_MAX: all), in bytes. */
void book_sums(const struct book *book, const char *pool, unsigned node_id,
               uint64_t *ret_leased_bytes, uint64_t *ret_draining_bytes);

/* What drains of @share's own regions; a pool that was declared anew may have leases of a former
 * share, too. */
uint64_t book_share_draining_bytes(const struct book *book, const struct share *share);

/* Readable when some lifetime was closed; then book_poll(). Borrowed. */
int book_fd(const struct book *book);

/* Something happened to a lease, for the log and for who waits. */
struct book_event {
	enum {
		BOOK_LEASE_ENDED,
		BOOK_LEASE_OVER
	} what;             /* draining begins; the region is given back */
	struct lease lease; /* as it was */
};

/*
 * Take note of closed lifetimes, and look whether draining regions are free: those that are due by
 * now, each again after 10 ms, then doubling up to 5 s. Where the kernel does not say who has a
 * file (is_in_use: -EOPNOTSUPP, or the descriptor was lost) a region is over once the node has as
 * many free pages of its size as it holds: then its replacement can be built beside it; or where
 * there will be none. Its memory is not emptied then, only let go of: it stays with whoever may
 * have it, and is on no record.
 * @event is called for each change. Return: when to call again (monotonic µs); UINT64_MAX: not
 * before book_fd() is readable.
 */
uint64_t book_poll(struct book *book, void (*event)(void *arg, const struct book_event *event),
                   void *arg);

/* --- shares come, change and go --- */

/* Take note of what was made, got ready and went (region_next_news()): record and store follow. */
void book_take_news(struct book *book, struct share *share, const char *pool);

/*
 * A share was made and is not yet with its worker: put in what the record has for it (pool, node,
 * page, bytes). Regions that are whole are not filled again.
 */
void book_restore_share(struct book *book, struct share *share, const char *pool);

/*
 * All shares that the configuration declares were made. What has no place any more is given back in
 * steps by book_poll(), leased regions once they are free; what nobody knows is closed. Also of a
 * share that was freed: book_forget_share() first.
 */
struct book_restored {
	size_t nr_ready;   /* regions that need not be filled again */
	size_t nr_resumed; /* half filled ones */
	size_t nr_leases;  /* that go on */
	size_t nr_ended; /* leases that ended meanwhile, or whose lifetime the store lost: draining
	                  */
	size_t nr_lost;  /* regions on record whose descriptor the store lost */
	size_t nr_unplaced; /* regions that no pool has a place for any more */
	size_t nr_unknown;  /* descriptors that nobody knows */
	uint64_t ready_bytes;
};

void book_restore_end(struct book *book, struct book_restored *ret);

/* Bytes that inherited regions without a share, or not yet with one, hold of the memory that counts
 * against a cgroup (not hugetlb). */
uint64_t book_inherited_bytes(const struct book *book);

/* @share is about to be freed. News of it are of no use any more. It has lent regions only where
 * the process ends: those stay on record, as their lessees keep them. */
void book_forget_share(struct book *book, struct share *share);
