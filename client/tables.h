/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tables.h - nodes, pools, shares and leases as tables on standard output
 *
 * On a terminal the long columns (CPU lists, pool names, reasons) are cut to its width; elsewhere
 * nothing is cut.
 */
#pragma once

#include "leases.h"
#include "model.h"

/* @has_times: with what the kernel took at boot and user space since. Return: 0; -ENOMEM. */
int tables_nodes(const struct client *client, const struct model *model, bool has_times);

/* Those called @names (ends with NULL), all when it is empty. Return: 0; -ENOMEM. */
int tables_pools(const struct client *client, const struct model *model, char *const *names);

/* Return: 0; -ENOMEM. */
int tables_shares(const struct client *client, const struct pool *pool);

/* The shares of one node, a line per pool. Return: 0; -ENOMEM. */
int tables_node_shares(const struct client *client, const struct model *model, uint32_t node_id);

/* Return: 0; -ENOMEM. */
int tables_leases(const struct client *client, const struct leases *leases);
