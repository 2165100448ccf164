/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lease-choice.h - which shares of a pool may serve a lease, and what they could give later
 *
 * Layer: top. Threads: main.
 */
#pragma once

#include "manager-state.h"

/* What the shares of a pool could still give, now or later. */
struct lease_prospect {
	uint64_t largest_bytes; /* of its regions */
	size_t nr_lent;         /* draining ones included */
	size_t nr_coming;       /* being built, or about to be; draining ones count once a share */
	uint64_t lent_bytes;
};

/* Whether the request may be served from that node. */
bool lease_is_node_meant(const struct lease_request *request, unsigned node_id);

void lease_look_ahead(const struct managed_pool *pool, const struct lease_request *request,
                      struct lease_prospect *ret);

/*
 * The shares that may serve the request, in order of preference: the node that was asked for, then
 * the nearer one, then by id; with no node asked for, the one that has most to give first.
 * Return: 0 and *ret, which the caller frees; -ENOMEM.
 */
int lease_order_shares(const struct manager *manager, const struct managed_pool *pool,
                       const struct lease_request *request, struct share ***ret, size_t *ret_nr);
