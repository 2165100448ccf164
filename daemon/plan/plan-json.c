/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plan as a JSON document. Keys are in the order in which nodeinitd(8) lists them. */
#include <errno.h>

#include <json-c/json.h>

#include "plan-print.h"

static struct json_object *json_free(struct json_object *object)
{
	json_object_put(object);
	return NULL;
}
DEFINE_SCOPED(struct json_object *, json_free)

/* Give @value (NULL: could not be made) to @object. */
static int add(struct json_object *object, const char *key, struct json_object *value)
{
	if (value && json_object_object_add(object, key, value) == 0)
		return 0;
	json_object_put(value);
	return -ENOMEM;
}

static int add_bytes(struct json_object *object, const char *key, uint64_t bytes)
{
	return add(object, key, json_object_new_uint64(bytes));
}

static int add_text(struct json_object *object, const char *key, const char *text)
{
	return add(object, key, json_object_new_string(text));
}

/* A new list, or nothing; it belongs to @object. */
static struct json_object *add_list(struct json_object *object, const char *key)
{
	struct json_object *list = json_object_new_array();

	return add(object, key, list) < 0 ? NULL : list;
}

/* A new object at the end of @list, or nothing. */
static struct json_object *append_object(struct json_object *list)
{
	struct json_object *object = json_object_new_object();

	if (object && json_object_array_add(list, object) == 0)
		return object;
	json_object_put(object);
	return NULL;
}

static int add_totals(struct json_object *document, const struct plan *plan)
{
	struct json_object *totals = json_object_new_object();

	if (add(document, "totals", totals) < 0 ||
	    add_bytes(totals, "declared", plan->declared_bytes) < 0 ||
	    add_bytes(totals, "early", plan->early_bytes) < 0 ||
	    add_bytes(totals, "deferred", plan->deferred_bytes) < 0 ||
	    add_bytes(totals, "refused", plan->refused_bytes) < 0)
		return -ENOMEM;
	return 0;
}

static int append_share(struct json_object *list, const struct plan_share *share)
{
	struct json_object *object = append_object(list);

	if (!object || add_text(object, "pool", share->pool->name) < 0 ||
	    add_text(object, "kind", pool_kind_text(share->pool->kind)) < 0 ||
	    add_bytes(object, "page_size", share->pool->page_bytes) < 0 ||
	    add_bytes(object, "declared", share->declared_bytes) < 0 ||
	    add_bytes(object, "early", share->early_bytes) < 0 ||
	    add_bytes(object, "deferred", share->deferred_bytes) < 0 ||
	    add_bytes(object, "refused", share->refused_bytes) < 0 ||
	    add_text(object, "reason", plan_refusal_text(share->refusal)) < 0)
		return -ENOMEM;
	if (share->pool->kind == POOL_REPLICA &&
	    (add(object, "files", json_object_new_uint64(share->nr_copies)) < 0 ||
	     add(object, "linked", json_object_new_uint64(plan_share_nr_linked(share))) < 0))
		return -ENOMEM;
	return 0;
}

/* null where the node runs on its own CPUs. */
static int add_helper(struct json_object *object, const struct plan_node *node)
{
	if (node->helper_node_id >= 0)
		return add(object, "helper_node", json_object_new_int(node->helper_node_id));
	return json_object_object_add(object, "helper_node", NULL) < 0 ? -ENOMEM : 0;
}

static int append_node(struct json_object *list, const struct plan_node *node)
{
	struct json_object *object = append_object(list);
	scoped(freep) char *cpus = idset_text(&node->cpus);
	struct json_object *shares;

	if (!object || !cpus || add(object, "id", json_object_new_int((int) node->node_id)) < 0 ||
	    add_text(object, "cpus", cpus) < 0 || add_helper(object, node) < 0 ||
	    add_bytes(object, "memory", node->memory_bytes) < 0 ||
	    add_bytes(object, "spanned", node->spanned_bytes) < 0 ||
	    add_bytes(object, "early_budget", node->early_budget_bytes) < 0 ||
	    add_bytes(object, "declared", node->declared_bytes) < 0 ||
	    add_bytes(object, "early", node->early_bytes) < 0 ||
	    add_bytes(object, "deferred", node->deferred_bytes) < 0 ||
	    add_bytes(object, "refused", node->refused_bytes) < 0 ||
	    add_bytes(object, "reserved", node->reserved_bytes) < 0 ||
	    add_bytes(object, "unclaimed", node->unclaimed_bytes) < 0)
		return -ENOMEM;
	shares = add_list(object, "shares");
	if (!shares)
		return -ENOMEM;
	for (size_t i = 0; i < node->nr_shares; i++)
		if (append_share(shares, &node->shares[i]) < 0)
			return -ENOMEM;
	/* later keys are behind the earlier ones */
	if (add_bytes(object, "offline", node->offline_bytes) < 0 ||
	    add_bytes(object, "coming", node->coming_bytes) < 0)
		return -ENOMEM;
	return 0;
}

static int append_pool(struct json_object *list, const struct plan_pool *pool)
{
	struct json_object *object = append_object(list);

	if (!object || add_text(object, "name", pool->name) < 0 ||
	    add_text(object, "kind", pool_kind_text(pool->kind)) < 0 ||
	    add_bytes(object, "page_size", pool->page_bytes) < 0 ||
	    add(object, "required", json_object_new_boolean(pool->is_required)) < 0 ||
	    add_bytes(object, "minimum", pool->minimum_bytes) < 0 ||
	    add_bytes(object, "declared", pool->declared_bytes) < 0 ||
	    add_bytes(object, "refused", pool->refused_bytes) < 0 ||
	    add_text(object, "reason", plan_refusal_text(pool->refusal)) < 0 ||
	    add_text(object, "source", pool->source) < 0)
		return -ENOMEM;
	return 0;
}

static int add_nodes(struct json_object *document, const struct plan *plan)
{
	struct json_object *list = add_list(document, "nodes");

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < plan->nr_nodes; i++)
		if (append_node(list, &plan->nodes[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int add_pools(struct json_object *document, const struct plan *plan)
{
	struct json_object *list = add_list(document, "pools");

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < plan->nr_pools; i++)
		if (append_pool(list, &plan->pools[i]) < 0)
			return -ENOMEM;
	return 0;
}

static int add_warnings(struct json_object *document, const struct plan *plan)
{
	struct json_object *list = add_list(document, "warnings");

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < plan->nr_warnings; i++) {
		struct json_object *text = json_object_new_string(plan->warnings[i]);

		if (!text || json_object_array_add(list, text) < 0) {
			json_object_put(text);
			return -ENOMEM;
		}
	}
	return 0;
}

int plan_print_json(const struct plan *plan, FILE *out)
{
	scoped(json_freep) struct json_object *document = json_object_new_object();
	const char *text;

	if (!document || add_totals(document, plan) < 0 || add_nodes(document, plan) < 0 ||
	    add_pools(document, plan) < 0 || add_warnings(document, plan) < 0)
		return -ENOMEM;
	text = json_object_to_json_string_ext(document, JSON_C_TO_STRING_PRETTY |
	                                                        JSON_C_TO_STRING_SPACED |
	                                                        JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!text)
		return -ENOMEM;
	return fprintf(out, "%s\n", text) < 0 || fflush(out) != 0 ? -EIO : 0;
}
