/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "json.h"
#include "scoped.h"
#include "times.h"

static int add(struct json_object *object, const char *key, struct json_object *value)
{
	if (!value)
		return -ENOMEM;
	return json_object_object_add(object, key, value);
}

static int add_number(struct json_object *object, const char *key, uint64_t value)
{
	return add(object, key, json_object_new_uint64(value));
}

static int add_text(struct json_object *object, const char *key, const char *value)
{
	return add(object, key, json_object_new_string(value));
}

static int add_flag(struct json_object *object, const char *key, bool value)
{
	return add(object, key, json_object_new_boolean(value));
}

/* JSON's null is a NULL here, so add() cannot tell it from an error. */
static int add_number_or_null(struct json_object *object, const char *key, bool is_number,
                              uint64_t value)
{
	return is_number ? add_number(object, key, value)
	                 : json_object_object_add(object, key, NULL);
}

static int add_amounts(struct json_object *object, uint64_t total_bytes, uint64_t done_bytes,
                       uint64_t short_bytes)
{
	if (add_number(object, "total", total_bytes) < 0 ||
	    add_number(object, "done", done_bytes) < 0)
		return -ENOMEM;
	return add_number(object, "short", short_bytes);
}

/* @object when @r is good; else NULL, and it is gone. */
static struct json_object *finished(struct json_object *object, int r)
{
	if (r >= 0)
		return object;
	json_object_put(object);
	return NULL;
}

static int fill_host(struct json_object *object, const struct host *host)
{
	if (add_text(object, "version", host->version) < 0 ||
	    add_text(object, "state", host->state) < 0 ||
	    add_flag(object, "ready", host->is_ready) < 0 ||
	    add_flag(object, "paused", host->is_paused) < 0 ||
	    add_number(object, "generation", host->generation) < 0 ||
	    add_amounts(object, host->total_bytes, host->done_bytes, host->short_bytes) < 0 ||
	    add_number(object, "started_monotonic_usec", host->started_monotonic_usec) < 0 ||
	    add_number(object, "early_monotonic_usec", host->early_monotonic_usec) < 0 ||
	    add_number(object, "ready_monotonic_usec", host->ready_monotonic_usec) < 0 ||
	    add_number(object, "started_realtime_usec", host->started_realtime_usec) < 0 ||
	    add_number(object, "early_realtime_usec", host->early_realtime_usec) < 0)
		return -ENOMEM;
	return add_number(object, "ready_realtime_usec", host->ready_realtime_usec);
}

struct json_object *json_host(const struct host *host)
{
	struct json_object *object = json_object_new_object();

	return object ? finished(object, fill_host(object, host)) : NULL;
}

static int fill_node(struct json_object *object, const struct node *node)
{
	uint64_t spent_usec = 0;
	bool is_spent = times_spent_usec(node, &spent_usec);

	if (add_number(object, "id", node->node_id) < 0 ||
	    add_text(object, "cpus", node->cpus) < 0 ||
	    add_number_or_null(object, "helper_node", node->helper_node_id >= 0,
	                       (uint64_t) node->helper_node_id) < 0 ||
	    add_number(object, "memory", node->memory_bytes) < 0 ||
	    add_number(object, "spanned", node->spanned_bytes) < 0 ||
	    add_number(object, "early_budget", node->early_budget_bytes) < 0 ||
	    add_amounts(object, node->total_bytes, node->done_bytes, node->short_bytes) < 0 ||
	    add_number(object, "rate", node->rate_bytes) < 0 ||
	    add_number(object, "threads", node->nr_threads) < 0 ||
	    add_flag(object, "braked", node->is_braked) < 0 ||
	    add_text(object, "state", node->state) < 0 ||
	    add_text(object, "current_pool", node->current_pool) < 0 ||
	    add_number(object, "started_monotonic_usec", node->started_monotonic_usec) < 0 ||
	    add_number(object, "finished_monotonic_usec", node->finished_monotonic_usec) < 0 ||
	    add_number_or_null(object, "boot_usec", node->has_boot, node->boot_usec) < 0)
		return -ENOMEM;
	return add_number_or_null(object, "spent_usec", is_spent, spent_usec);
}

struct json_object *json_node(const struct node *node)
{
	struct json_object *object = json_object_new_object();

	return object ? finished(object, fill_node(object, node)) : NULL;
}

static int fill_share(struct json_object *object, const struct share *share)
{
	if (add_number(object, "node", share->node_id) < 0 ||
	    add_text(object, "state", share->state) < 0 ||
	    add_number(object, "early", share->early_bytes) < 0 ||
	    add_amounts(object, share->total_bytes, share->done_bytes, share->short_bytes) < 0)
		return -ENOMEM;
	return add_text(object, "reason", share->reason);
}

/* Append @element (NULL is out of memory) to @array; it is the array's, or gone. */
static int append(struct json_object *array, struct json_object *element)
{
	if (!element)
		return -ENOMEM;
	if (json_object_array_add(array, element) < 0) {
		json_object_put(element);
		return -ENOMEM;
	}
	return 0;
}

static struct json_object *json_shares(const struct pool *pool)
{
	struct json_object *array = json_object_new_array(), *object;
	size_t i;
	int r = array ? 0 : -ENOMEM;

	for (i = 0; r >= 0 && i < pool->nr_shares; i++) {
		object = json_object_new_object();
		if (object)
			object = finished(object, fill_share(object, &pool->shares[i]));
		r = append(array, object);
	}
	return finished(array, r);
}

static int fill_pool(struct json_object *object, const struct pool *pool)
{
	if (add_text(object, "name", pool->name) < 0 || add_text(object, "kind", pool->kind) < 0 ||
	    add_number(object, "page_size", pool->page_bytes) < 0 ||
	    add_number_or_null(object, "region_size", pool->region_bytes, pool->region_bytes) < 0 ||
	    add_flag(object, "required", pool->is_required) < 0 ||
	    add_text(object, "state", pool->state) < 0 ||
	    add_amounts(object, pool->total_bytes, pool->done_bytes, pool->short_bytes) < 0 ||
	    add_number(object, "leased", pool->leased_bytes) < 0 ||
	    add_number(object, "draining", pool->draining_bytes) < 0 ||
	    add_number_or_null(object, "free", model_has_leases(pool), model_free_bytes(pool)) < 0)
		return -ENOMEM;
	return add(object, "shares", json_shares(pool));
}

struct json_object *json_pool(const struct pool *pool)
{
	struct json_object *object = json_object_new_object();

	return object ? finished(object, fill_pool(object, pool)) : NULL;
}

struct json_object *json_nodes(const struct model *model)
{
	struct json_object *array = json_object_new_array();
	int r = array ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; r >= 0 && i < model->nr_nodes; i++)
		r = append(array, json_node(&model->nodes[i]));
	return finished(array, r);
}

struct json_object *json_pools(const struct model *model, char *const *names)
{
	struct json_object *array = json_object_new_array();
	int r = array ? 0 : -ENOMEM;
	size_t i, j;

	for (i = 0; r >= 0 && i < model->nr_pools; i++) {
		for (j = 0; names[j] && strcmp(names[j], model->pools[i].name) != 0;)
			j++;
		if (!names[0] || names[j])
			r = append(array, json_pool(&model->pools[i]));
	}
	return finished(array, r);
}

static int fill_lease(struct json_object *object, const struct lease_entry *lease)
{
	if (add_text(object, "id", lease->id) < 0 || add_text(object, "pool", lease->pool) < 0 ||
	    add_number(object, "node", lease->node_id) < 0 ||
	    add_number(object, "bytes", lease->bytes) < 0 ||
	    add_text(object, "state", lease->state) < 0 ||
	    add_number(object, "uid", lease->uid) < 0 ||
	    add_number(object, "pid", lease->pid) < 0 ||
	    add_text(object, "unit", lease->unit) < 0 ||
	    add_number(object, "since_realtime_usec", lease->since_realtime_usec) < 0)
		return -ENOMEM;
	return add_number(object, "since_monotonic_usec", lease->since_monotonic_usec);
}

struct json_object *json_leases(const struct leases *leases)
{
	struct json_object *array = json_object_new_array(), *object;
	int r = array ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; r >= 0 && i < leases->nr_entries; i++) {
		object = json_object_new_object();
		if (object)
			object = finished(object, fill_lease(object, &leases->entries[i]));
		r = append(array, object);
	}
	return finished(array, r);
}

static int add_times(struct json_object *object, const char *sum_key, const char *wall_key,
                     const struct times *times)
{
	if (add_number_or_null(object, sum_key, times->nr_nodes, times->sum_usec) < 0)
		return -ENOMEM;
	return add_number_or_null(object, wall_key, times->nr_nodes, times->wall_usec);
}

struct json_object *json_model(const struct model *model)
{
	struct json_object *object = json_host(&model->host);
	struct times nodes, boot;
	char *all[] = { NULL };
	int r;

	if (!object)
		return NULL;
	times_of_nodes(model, &nodes);
	times_of_boot(model, &boot);
	r = add_times(object, "nodes_sum_usec", "nodes_wall_usec", &nodes);
	if (r >= 0)
		r = add_times(object, "boot_sum_usec", "boot_longest_usec", &boot);
	if (r >= 0)
		r = add(object, "nodes", json_nodes(model));
	if (r >= 0)
		r = add(object, "pools", json_pools(model, all));
	return finished(object, r);
}

int json_print(struct json_object *document, bool is_one_line, FILE *out)
{
	const char *text = NULL;

	if (document)
		text = json_object_to_json_string_ext(
			document, (is_one_line ? JSON_C_TO_STRING_PLAIN : JSON_C_TO_STRING_PRETTY) |
					  JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!text) {
		json_object_put(document);
		return -ENOMEM;
	}
	/* DEL and U+0080 to U+009F (C2 80 to C2 9F) can only stand inside a string. */
	for (; *text; text++) {
		unsigned char byte = (unsigned char) text[0], next = (unsigned char) text[1];

		if (byte == 0x7f)
			fputs("\\u007f", out);
		else if (byte == 0xc2 && next >= 0x80 && next <= 0x9f)
			fprintf(out, "\\u%04x", *(const unsigned char *) ++text);
		else
			fputc(byte, out);
	}
	fputc('\n', out);
	json_object_put(document);
	return 0;
}
