/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of Lease that wait for a region, first come, first served. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "kinds/region.h"
#include "lease-choice.h"
#include "lease-grant.h"
#include "pieces.h"

/* Below the 25 s after which a client of sd-bus gives up by itself. */
#define WAIT_LIMIT_USEC UINT64_C(20000000)

static void waiter_clear(struct lease_waiter *waiter)
{
	free(waiter->gids);
	free(waiter->pool);
	*waiter = (struct lease_waiter){ 0 };
}

static int waiter_add(struct leases *leases, struct lease_call *call,
                      const struct lease_request *request)
{
	scoped(freep) char *pool = strdup(request->pool);
	scoped(freep) gid_t *gids = calloc(request->nr_gids + 1, sizeof(*gids));
	struct lease_waiter *waiter;

	if (!pool || !gids)
		return -ENOMEM;
	waiter = array_add((void **) &leases->waiters, &leases->nr_waiters, sizeof(*waiter));
	if (!waiter)
		return -ENOMEM;
	if (request->nr_gids > 0)
		memcpy(gids, request->gids, request->nr_gids * sizeof(*gids));
	waiter->call = call;
	waiter->request = *request;
	waiter->request.pool = waiter->pool = take(pool);
	waiter->request.gids = waiter->gids = take(gids);
	waiter->until_usec = clock_monotonic_usec() + WAIT_LIMIT_USEC;
	return 0;
}

void lease_calls_lease(void *arg, struct lease_call *call, const struct lease_request *request)
{
	struct manager *manager = arg;

	/* who has waited longer goes first */
	if (manager->leases.nr_waiters > 0)
		(void) lease_calls_serve(manager, clock_monotonic_usec());
	if (!lease_grant_may(manager, call, request) ||
	    lease_grant_try(manager, call, request, request->may_wait))
		return;
	if (waiter_add(&manager->leases, call, request) < 0)
		lease_grant_refuse(manager, call, -ENOMEM, "out of memory");
	else
		manager_look_soon(manager);
}

static void waiter_remove(struct leases *leases, size_t i)
{
	waiter_clear(&leases->waiters[i]);
	leases->nr_waiters--;
	memmove(&leases->waiters[i], &leases->waiters[i + 1],
	        (leases->nr_waiters - i) * sizeof(leases->waiters[0]));
}

void lease_calls_cancelled(void *arg, struct lease_call *call)
{
	struct manager *manager = arg;
	struct leases *leases = &manager->leases;

	for (size_t i = 0; i < leases->nr_waiters; i++) {
		if (leases->waiters[i].call != call)
			continue;
		waiter_remove(leases, i);
		manager_look_soon(manager);
		return;
	}
}

/* Have the workers hurry where somebody waits, and only there. */
static void want_pieces(struct manager *manager)
{
	struct inventory *inventory = &manager->inventory;
	const struct leases *leases = &manager->leases;

	for (size_t i = 0; i < inventory->nr_pools; i++) {
		struct managed_pool *pool = &inventory->pools[i];

		for (size_t k = 0; pool->kind == POOL_REGION && k < pool->nr_shares; k++) {
			struct managed_share *share = &pool->shares[k];
			bool is_wanted = false;

			for (size_t w = 0; w < leases->nr_waiters && !is_wanted; w++)
				is_wanted = strcmp(leases->waiters[w].pool, pool->name) == 0 &&
				            lease_is_node_meant(&leases->waiters[w].request,
				                                share->node_id);
			if (is_wanted == share->is_wanted)
				continue;
			share->is_wanted = is_wanted;
			for (size_t n = 0; n < share->nr_pieces; n++)
				run_want(share->pieces[n].run, is_wanted);
		}
	}
}

uint64_t lease_calls_serve(struct manager *manager, uint64_t now_usec)
{
	struct leases *leases = &manager->leases;
	uint64_t due_usec = UINT64_MAX;

	for (size_t i = 0; i < leases->nr_waiters;) {
		struct lease_waiter *waiter = &leases->waiters[i];

		/* a Reload may have taken away what it was allowed */
		if (!lease_grant_may(manager, waiter->call, &waiter->request) ||
		    lease_grant_try(manager, waiter->call, &waiter->request, true)) {
			waiter_remove(leases, i);
		} else if (now_usec >= waiter->until_usec) {
			lease_grant_refuse(manager, waiter->call, -EBUSY,
			                   "pool %s: no region came within %u s%s; ask again",
			                   waiter->pool, (unsigned) (WAIT_LIMIT_USEC / 1000000),
			                   manager->is_paused ? ", paused until Resume" : "");
			waiter_remove(leases, i);
		} else {
			due_usec = bytes_min(due_usec, waiter->until_usec);
			i++;
		}
	}
	want_pieces(manager);
	return due_usec;
}

void lease_calls_end(struct manager *manager)
{
	struct leases *leases = &manager->leases;

	while (leases->nr_waiters > 0) {
		lease_grant_refuse(manager, leases->waiters[0].call, -ECANCELED,
		                   "nodeinitd is stopping");
		waiter_remove(leases, 0);
	}
	free(leases->waiters);
	leases->waiters = NULL;
}
