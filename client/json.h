/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * json.h - the model as JSON; sizes in bytes, names as in meminitctl(1)
 */
#pragma once

#include <stdio.h>

#include "leases.h"
#include "model.h"

/* The objects belong to the caller, json_object_put(). Return: NULL when out of memory. */
struct json_object *json_host(const struct host *host);
struct json_object *json_node(const struct node *node);
struct json_object *json_pool(const struct pool *pool);
struct json_object *json_nodes(const struct model *model);
struct json_object *json_pools(const struct model *model, char *const *names);
struct json_object *json_leases(const struct leases *leases);

/* The host with "nodes" and "pools" in it. */
struct json_object *json_model(const struct model *model);

/*
 * Print @document (NULL is out of memory) on @out, many lines or one, and drop it. What could drive
 * a terminal is \u-escaped also where JSON would let it through. Return: 0; -ENOMEM.
 */
int json_print(struct json_object *document, bool is_one_line, FILE *out);
