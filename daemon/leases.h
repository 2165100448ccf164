/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * leases.h - the manager's part in leases: who may have one, from which node, and who waits
 *
 * Layer: top. Threads: main. The book (lease/book.h) knows what is lent; the bus brings the calls;
 * the pieces of the inventory have the regions. leases.c has their life, lease-grant.c the calls.
 */
#pragma once

#include <ev.h>
#include <stdatomic.h>

#include "bus/service.h"
#include "inventory.h"
#include "lease/access.h"
#include "lease/book.h"

struct manager;

/* A call that waits for a region. */
struct lease_waiter {
	struct lease_call *call;      /* the bus's; to be answered once */
	struct lease_request request; /* its pool and groups are those below */
	char *pool;
	gid_t *gids;
	uint64_t until_usec; /* monotonic: answered by then */
};

struct pool_access {
	char *pool;
	struct access_list list;
};

struct leases {
	_Atomic uint64_t last_region_id;
	struct record *record;
	struct store *store;
	struct book *book; /* NULL: the record of a newer version is left alone */
	ev_io ended;       /* some lifetime was closed */
	ev_timer poll;     /* draining regions are to be looked at, or a waiter is to be answered */
	struct lease_waiter *waiters; /* first come, first served */
	size_t nr_waiters;
	struct pool_access *access;
	size_t nr_access;
	uint64_t max_bytes; /* MaxBytes= per uid */
};

/*
 * Take over what an earlier process left. Return: 0; -EPROTONOSUPPORT its record is of a newer
 * version: nothing of it was touched, and no pool may be begun (said in the log); -errno.
 */
int leases_open(struct manager *manager);

/* Which regions go on; called when the first plan was applied, and says what was found. */
void leases_restored(struct manager *manager);

/* After a configuration was taken over: quotas, Users= and Groups=. */
void leases_configure(struct manager *manager);

/* The one line in the log about the end of a lease. */
void leases_report_ended(const struct lease *lease);

/* Hooks of apply.h and inventory.h. */
void leases_share_comes(struct share *share, struct managed_share *managed, const char *pool,
                        void *arg);
void leases_share_leaves(struct share *share, void *arg);

/*
 * Part of every look: what the workers made goes on record, what came back is looked after, who
 * waits is served, and the shares' leased and draining bytes are written.
 */
void leases_look(struct manager *manager, uint64_t now_usec);

/* No more calls and no more looks; @keep: what is ready is left to the next process. */
void leases_stop(struct manager *manager, bool keep);
/* After the last share was freed. */
void leases_close(struct manager *manager);

/* Callbacks of bus/service.h; @arg is the manager. */
void lease_calls_lease(void *arg, struct lease_call *call, const struct lease_request *request);
void lease_calls_cancelled(void *arg, struct lease_call *call);
void lease_calls_unit(void *arg, const char *id, const char *unit);
int lease_calls_list(void *arg, struct lease_view **ret, size_t *ret_nr);
int lease_calls_owner(void *arg, const char *id, uid_t *ret_uid);
int lease_calls_release(void *arg, const char *id, char **ret_sentence);

/* Try again for all who wait. Return: when the first of them is to be answered in any case. */
uint64_t lease_calls_serve(struct manager *manager, uint64_t now_usec);
void lease_calls_end(struct manager *manager);
