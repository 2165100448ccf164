/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A call of Lease: who may have what, the answer, and why there is none. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "lease-choice.h"
#include "lease-grant.h"
#include "messages.h"

static const struct pool_access *find_access(const struct leases *leases, const char *pool)
{
	for (size_t i = 0; i < leases->nr_access; i++)
		if (strcmp(leases->access[i].pool, pool) == 0)
			return &leases->access[i];
	return NULL;
}

static void report_granted(const struct book *book, uint64_t id)
{
	char text[192], bytes[SIZE_TEXT_MAX];
	struct lease lease;

	if (book_find(book, id, &lease) < 0)
		return;
	(void) snprintf(text, sizeof(text), "%s of pool %s on node %u for uid %u, process %d",
	                size_text(lease.bytes, bytes), lease.pool, lease.node_id, lease.uid,
	                (int) lease.pid);
	report_lease(MESSAGE_LEASE_GRANTED, &lease, text);
}

static void answer_granted(struct manager *manager, struct lease_call *call,
                           struct book_grant *grant)
{
	char id[24];
	struct lease_answer answer = {
		.id = id,
		.node_id = grant->node_id,
		.bytes = grant->bytes,
		.memory_fd = grant->memory_fd,
		.lifetime_fd = grant->lifetime_fd,
	};

	(void) snprintf(id, sizeof(id), "%" PRIu64, grant->id);
	report_granted(manager->leases.book, grant->id);
	/* where it cannot be sent, closing the descriptors is what ends the lease */
	(void) bus_service_answer_lease(manager->bus, call, 0, NULL, &answer);
	grant->memory_fd = fd_close(grant->memory_fd);
	grant->lifetime_fd = fd_close(grant->lifetime_fd);
	manager_look_soon(manager);
}

void lease_grant_refuse(struct manager *manager, struct lease_call *call, int error,
                        const char *format, ...)
{
	scoped(freep) char *sentence = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&sentence, format, args) < 0)
		sentence = NULL;
	va_end(args);
	log_debug("no lease: %s", sentence ? sentence : strerror(-error));
	(void) bus_service_answer_lease(manager->bus, call, error, sentence, NULL);
}

static void answer_quota(struct manager *manager, struct lease_call *call,
                         const struct lease_request *request, int which)
{
	unsigned max_leases = manager->config->daemon.max_leases;
	char bytes[SIZE_TEXT_MAX];

	if (which == 1 && max_leases == 0)
		lease_grant_refuse(manager, call, -EDQUOT,
		                   "MaxLeases=0 in nodeinitd.conf: nobody may have a lease");
	else if (which == 1)
		lease_grant_refuse(
			manager, call, -EDQUOT,
			"uid %u has as many leases as MaxLeases= allows, %u; end one, or raise "
			"it in nodeinitd.conf",
			request->uid, max_leases);
	else
		lease_grant_refuse(
			manager, call, -EDQUOT,
			"uid %u would have more than MaxBytes= allows, %s; end a lease, or raise "
			"it in nodeinitd.conf",
			request->uid, size_text(manager->leases.max_bytes, bytes));
}

/* Nothing is there, nor will be: what the pool lacks, where that is known. */
static void answer_none_at_all(struct manager *manager, struct lease_call *call,
                               const struct managed_pool *pool, const char *where)
{
	scoped(freep) char *why = report_pool_sentence(pool);

	if (why)
		lease_grant_refuse(manager, call, -ENOSPC, "no region%s: %s", where, why);
	else
		lease_grant_refuse(manager, call, -ENOSPC, "pool %s has no region%s (%s)",
		                   pool->name, where, share_state_text(pool->state));
}

/* Nothing is ready: why, and whether asking again is of use. Return: false it may be waited for. */
static bool answer_nothing(struct manager *manager, struct lease_call *call,
                           const struct managed_pool *pool, const struct lease_request *request,
                           bool may_wait)
{
	char want[SIZE_TEXT_MAX], have[SIZE_TEXT_MAX], where[32] = "";
	struct lease_prospect prospect;

	lease_look_ahead(pool, request, &prospect);
	if (request->has_node && request->is_strict)
		(void) snprintf(where, sizeof(where), " on node %u", request->node_id);
	if (request->bytes > prospect.largest_bytes && prospect.largest_bytes > 0) {
		lease_grant_refuse(
			manager, call, -ENOSPC,
			"pool %s has regions of %s%s, %s were asked for; a lease is one region: "
			"raise RegionSize=",
			pool->name, size_text(prospect.largest_bytes, have), where,
			size_text(request->bytes, want));
		return true;
	}
	if (may_wait && (prospect.nr_coming > 0 || prospect.nr_lent > 0))
		return false;
	if (prospect.nr_coming > 0)
		lease_grant_refuse(manager, call, -EBUSY,
		                   "pool %s has no region ready%s now, %zu being built or "
		                   "drained%s; wait, or ask again",
		                   pool->name, where, prospect.nr_coming,
		                   manager->is_paused ? ", paused until Resume" : "");
	else if (prospect.nr_lent > 0)
		lease_grant_refuse(manager, call, -ENOSPC,
		                   "pool %s has no region left%s: %s in %zu are leased; raise "
		                   "Size=, or wait until one is returned",
		                   pool->name, where, size_text(prospect.lent_bytes, have),
		                   prospect.nr_lent);
	else
		answer_none_at_all(manager, call, pool, where);
	return true;
}

/*
 * Asked for before every attempt: while a call waits, a Reload may take its pool away or make it
 * one of another kind. Return: the pool; NULL the call was answered.
 */
static const struct managed_pool *find_pool(struct manager *manager, struct lease_call *call,
                                            const char *name)
{
	const struct managed_pool *pool = inventory_pool(&manager->inventory, name);

	if (!pool) {
		lease_grant_refuse(manager, call, -ENOENT,
		                   "There is no pool \"%s\"; ListPools shows all.", name);
		return NULL;
	}
	if (pool->kind != POOL_REGION) {
		lease_grant_refuse(manager, call, -EOPNOTSUPP,
		                   "pool %s is of kind %s: only pools of kind region are leased",
		                   name, pool_kind_text(pool->kind));
		return NULL;
	}
	return pool;
}

bool lease_grant_try(struct manager *manager, struct lease_call *call,
                     const struct lease_request *request, bool may_wait)
{
	const struct book_request wanted = {
		.pool = request->pool,
		.bytes = request->bytes,
		.uid = request->uid,
		.pid = request->pid,
	};
	const struct managed_pool *pool = find_pool(manager, call, request->pool);
	scoped(freep) struct share **shares = NULL;
	struct book_grant grant;
	size_t nr_shares = 0;
	int r, quota = 0;

	if (!pool)
		return true;
	r = lease_order_shares(manager, pool, request, &shares, &nr_shares);
	if (r == 0)
		r = book_grant(manager->leases.book, &wanted, shares, nr_shares, &grant, &quota);
	switch (r) {
	case 0:
		answer_granted(manager, call, &grant);
		return true;
	case -ENOENT:
		return answer_nothing(manager, call, pool, request, may_wait);
	case -EDQUOT:
		answer_quota(manager, call, request, quota);
		return true;
	case -ENOBUFS:
		lease_grant_refuse(manager, call, r, "%d leases are out, more are not kept",
		                   BOOK_LEASES_MAX);
		return true;
	default:
		lease_grant_refuse(manager, call, r, "pool %s: no lease could be made: %s",
		                   pool->name, strerror(-r));
		return true;
	}
}

/* As elsewhere on a bus that is not the system's: the user that the daemon runs as. */
static bool is_own_user(const struct manager *manager, uid_t uid)
{
	return strcmp(manager->setup.bus_address, "system") != 0 && uid == geteuid();
}

/* Whether the caller may have what it asks for at all; answered where not. */
bool lease_grant_may(struct manager *manager, struct lease_call *call,
                     const struct lease_request *request)
{
	const struct pool_access *access;

	if (!manager->leases.book) {
		lease_grant_refuse(manager, call, -EBUSY, "%s", manager->refused_text);
		return false;
	}
	if (!find_pool(manager, call, request->pool))
		return false;
	access = find_access(&manager->leases, request->pool);
	if (!access_list_allows(access ? &access->list : &(struct access_list){ 0 }, request->uid,
	                        request->gids, request->nr_gids) &&
	    !is_own_user(manager, request->uid)) {
		lease_grant_refuse(
			manager, call, -EACCES,
			"pool %s may be leased by root and by whom its Users= and Groups= name, "
			"not by uid %u",
			request->pool, request->uid);
		return false;
	}
	if (request->has_node && !inventory_node(&manager->inventory, request->node_id)) {
		lease_grant_refuse(manager, call, -ENXIO,
		                   "There is no node %u; ListNodes shows all.", request->node_id);
		return false;
	}
	return true;
}
