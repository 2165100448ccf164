/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "../dbus/names.h"
#include "connect.h"
#include "model.h"
#include "properties.h"
#include "report.h"
#include "scoped.h"

void model_clear(struct model *model)
{
	size_t i;

	properties_clear(&host_properties, &model->host);
	for (i = 0; i < model->nr_nodes; i++) {
		properties_clear(&node_properties, &model->nodes[i]);
		free(model->nodes[i].path);
	}
	for (i = 0; i < model->nr_pools; i++) {
		properties_clear(&pool_properties, &model->pools[i]);
		free(model->pools[i].path);
	}
	free(model->nodes);
	free(model->pools);
	*model = (struct model){ 0 };
}

static struct node *node_at(const struct model *model, const char *path)
{
	size_t i;

	for (i = 0; i < model->nr_nodes; i++)
		if (strcmp(model->nodes[i].path, path) == 0)
			return &model->nodes[i];
	return NULL;
}

static struct pool *pool_at(const struct model *model, const char *path)
{
	size_t i;

	for (i = 0; i < model->nr_pools; i++)
		if (strcmp(model->pools[i].path, path) == 0)
			return &model->pools[i];
	return NULL;
}

/* Room for one more at the end of @slot, zeroed, with a copy of @path in front. */
static int grow(void *slot, size_t nr, size_t element_bytes, const char *path)
{
	char **objects = slot;
	char *grown, *copy;

	if (nr >= MODEL_OBJECTS_MAX)
		return -EBADMSG;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	grown = reallocarray(*objects, nr + 1, element_bytes);
	if (!grown) {
		free(copy);
		return -ENOMEM;
	}
	*objects = grown;
	memset(grown + nr * element_bytes, 0, element_bytes);
	memcpy(grown + nr * element_bytes, &copy, sizeof(copy));
	return 0;
}

static int read_node(struct model *model, const char *path, sd_bus_message *message)
{
	struct node *node = node_at(model, path);
	int r;

	if (!node) {
		r = grow(&model->nodes, model->nr_nodes, sizeof(*node), path);
		if (r < 0)
			return r;
		node = &model->nodes[model->nr_nodes++];
		node->helper_node_id = -1;
		r = properties_init(&node_properties, node);
		if (r < 0)
			return r;
	}
	node->has_changed = true;
	return properties_read(&node_properties, node, message);
}

static int read_pool(struct model *model, const char *path, sd_bus_message *message)
{
	struct pool *pool = pool_at(model, path);
	int r;

	if (!pool) {
		r = grow(&model->pools, model->nr_pools, sizeof(*pool), path);
		if (r < 0)
			return r;
		pool = &model->pools[model->nr_pools++];
		r = properties_init(&pool_properties, pool);
		if (r < 0)
			return r;
	}
	pool->has_changed = true;
	return properties_read(&pool_properties, pool, message);
}

static int read_host(struct model *model, sd_bus_message *message)
{
	int r;

	if (!model->has_host) {
		r = properties_init(&host_properties, &model->host);
		if (r < 0)
			return r;
		model->has_host = true;
	}
	model->has_host_changed = true;
	return properties_read(&host_properties, &model->host, message);
}

/* The a{sv} of one interface of the object at @path. */
static int read_interface(struct model *model, const char *path, const char *interface,
                          sd_bus_message *message)
{
	if (strcmp(interface, NODEINIT_MANAGER_INTERFACE) == 0)
		return read_host(model, message);
	if (strcmp(interface, NODEINIT_NODE_INTERFACE) == 0)
		return read_node(model, path, message);
	if (strcmp(interface, NODEINIT_POOL_INTERFACE) == 0)
		return read_pool(model, path, message);
	return sd_bus_message_skip(message, "a{sv}");
}

/* The a{sa{sv}} of one object. */
static int read_object(struct model *model, sd_bus_message *message)
{
	const char *path, *interface;
	int r;

	r = sd_bus_message_read(message, "o", &path);
	if (r < 0)
		return r;
	r = sd_bus_message_enter_container(message, 'a', "{sa{sv}}");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_enter_container(message, 'e', "sa{sv}")) > 0) {
		r = sd_bus_message_read(message, "s", &interface);
		if (r < 0)
			return r;
		r = read_interface(model, path, interface, message);
		if (r < 0)
			return r;
		r = sd_bus_message_exit_container(message);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : sd_bus_message_exit_container(message);
}

static int by_node_id(const void *a, const void *b)
{
	uint32_t left = ((const struct node *) a)->node_id;
	uint32_t right = ((const struct node *) b)->node_id;

	return left < right ? -1 : left > right;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct pool *) a)->name, ((const struct pool *) b)->name);
}

static void sort(struct model *model)
{
	if (model->nr_nodes)
		qsort(model->nodes, model->nr_nodes, sizeof(*model->nodes), by_node_id);
	if (model->nr_pools)
		qsort(model->pools, model->nr_pools, sizeof(*model->pools), by_name);
}

/* sd-bus says -ENXIO where a type is not the expected one; to the caller it is a bad message. */
static int verdict(int r)
{
	return r == -ENXIO || r == -EINVAL ? -EBADMSG : r;
}

static int read_objects(struct model *model, sd_bus_message *reply)
{
	int r;

	r = sd_bus_message_enter_container(reply, 'a', "{oa{sa{sv}}}");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_enter_container(reply, 'e', "oa{sa{sv}}")) > 0) {
		r = read_object(model, reply);
		if (r < 0)
			return r;
		r = sd_bus_message_exit_container(reply);
		if (r < 0)
			return r;
	}
	return r;
}

int model_replace(struct model *model, sd_bus_message *reply)
{
	struct model fresh = { 0 };
	int r;

	r = verdict(read_objects(&fresh, reply));
	if (r < 0) {
		model_clear(&fresh);
		return r;
	}
	sort(&fresh);
	model_clear(model);
	*model = fresh;
	return 0;
}

int model_replace_host(struct model *model, sd_bus_message *reply)
{
	return verdict(read_host(model, reply));
}

int model_added(struct model *model, sd_bus_message *signal)
{
	int r = verdict(read_object(model, signal));

	sort(model);
	return r < 0 ? r : 0;
}

int model_removed(struct model *model, sd_bus_message *signal)
{
	const char *path;
	struct node *node;
	struct pool *pool;
	int r;

	r = sd_bus_message_read(signal, "o", &path);
	if (r < 0)
		return verdict(r);
	node = node_at(model, path);
	if (node) {
		properties_clear(&node_properties, node);
		free(node->path);
		*node = model->nodes[--model->nr_nodes];
	}
	pool = pool_at(model, path);
	if (pool) {
		properties_clear(&pool_properties, pool);
		free(pool->path);
		*pool = model->pools[--model->nr_pools];
	}
	sort(model);
	return 0;
}

int model_changed(struct model *model, sd_bus_message *signal)
{
	const char *path = sd_bus_message_get_path(signal), *interface, *name;
	bool is_known;
	int r;

	r = sd_bus_message_read(signal, "s", &interface);
	if (r < 0)
		return verdict(r);
	/* An object that was not announced would have half of its properties only. */
	is_known = strcmp(interface, NODEINIT_MANAGER_INTERFACE) == 0 || node_at(model, path) ||
	           pool_at(model, path);
	r = is_known ? read_interface(model, path, interface, signal)
	             : sd_bus_message_skip(signal, "a{sv}");
	if (r < 0)
		return verdict(r);
	r = sd_bus_message_enter_container(signal, 'a', "s");
	if (r < 0)
		return verdict(r);
	r = sd_bus_message_read(signal, "s", &name);
	return r < 0 ? verdict(r) : r > 0;
}

int model_request(sd_bus *bus, sd_bus_message **ret)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *request = NULL;
	int r;

	r = sd_bus_message_new_method_call(bus, &request, NODEINIT_BUS_NAME, NODEINIT_PATH,
	                                   "org.freedesktop.DBus.ObjectManager",
	                                   "GetManagedObjects");
	if (r < 0)
		return r;
	/* Looking at memory must not begin to take it: the daemon is not started by a question. */
	r = sd_bus_message_set_auto_start(request, 0);
	if (r < 0)
		return r;
	*ret = request;
	request = NULL;
	return 0;
}

int model_request_host(sd_bus *bus, sd_bus_message **ret)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *request = NULL;
	int r;

	r = sd_bus_message_new_method_call(bus, &request, NODEINIT_BUS_NAME, NODEINIT_PATH,
	                                   "org.freedesktop.DBus.Properties", "GetAll");
	if (r < 0)
		return r;
	r = sd_bus_message_append(request, "s", NODEINIT_MANAGER_INTERFACE);
	if (r < 0)
		return r;
	r = sd_bus_message_set_auto_start(request, 0);
	if (r < 0)
		return r;
	*ret = request;
	request = NULL;
	return 0;
}

int model_look(const struct client *client, struct model *ret)
{
	scoped(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	scoped(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	scoped(sd_bus_message_unrefp) sd_bus_message *request = NULL, *reply = NULL;
	scoped(sd_bus_message_unrefp) sd_bus_message *host_request = NULL, *host_reply = NULL;
	int r;

	r = connect_bus(client, &bus);
	if (r < 0)
		return connect_report(client, r);
	r = model_request(bus, &request);
	if (r >= 0)
		r = sd_bus_call(bus, request, 0, &error, &reply);
	if (r >= 0)
		r = model_replace(ret, reply);
	if (r >= 0)
		r = model_request_host(bus, &host_request);
	if (r >= 0)
		r = sd_bus_call(bus, host_request, 0, &error, &host_reply);
	if (r >= 0)
		r = model_replace_host(ret, host_reply);
	return r < 0 ? report_call(client->verb, r, &error) : CLIENT_REACHED;
}

struct node *model_node(const struct model *model, uint32_t node_id)
{
	size_t i;

	for (i = 0; i < model->nr_nodes; i++)
		if (model->nodes[i].node_id == node_id)
			return &model->nodes[i];
	return NULL;
}

struct pool *model_pool(const struct model *model, const char *name)
{
	size_t i;

	for (i = 0; i < model->nr_pools; i++)
		if (strcmp(model->pools[i].name, name) == 0)
			return &model->pools[i];
	return NULL;
}

uint64_t model_left_bytes(uint64_t total_bytes, uint64_t done_bytes, uint64_t short_bytes)
{
	uint64_t left_bytes = total_bytes > done_bytes ? total_bytes - done_bytes : 0;

	return left_bytes > short_bytes ? left_bytes - short_bytes : 0;
}

bool model_has_pages(const struct pool *pool)
{
	return strcmp(pool->kind, "block") != 0 && strcmp(pool->kind, "replica") != 0;
}

bool model_has_leases(const struct pool *pool)
{
	return strcmp(pool->kind, "region") == 0;
}

uint64_t model_free_bytes(const struct pool *pool)
{
	return pool->done_bytes > pool->leased_bytes ? pool->done_bytes - pool->leased_bytes : 0;
}

uint64_t model_refill_bytes(const struct pool *pool)
{
	uint64_t left_bytes =
		model_left_bytes(pool->total_bytes, pool->done_bytes, pool->short_bytes);

	if (!model_has_leases(pool) || !model_is_reached(pool->state))
		return 0;
	return left_bytes > pool->draining_bytes ? left_bytes - pool->draining_bytes : 0;
}

uint64_t model_refill_bytes_of_all(const struct model *model)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < model->nr_pools; i++)
		bytes += model_refill_bytes(&model->pools[i]);
	return bytes;
}

bool model_has_refused(const struct model *model)
{
	size_t i;

	if (strcmp(model->host.state, "failed") != 0)
		return false;
	for (i = 0; i < model->nr_pools; i++)
		if (model->pools[i].is_required && model_is_failed(model->pools[i].state))
			return false;
	return true;
}

bool model_is_reached(const char *state)
{
	return strcmp(state, "ready") == 0 || strcmp(state, "degraded") == 0 ||
	       strcmp(state, "idle") == 0;
}

bool model_is_failed(const char *state)
{
	return strcmp(state, "failed") == 0 || strcmp(state, "cancelled") == 0;
}

bool model_is_settled(const char *state)
{
	return model_is_reached(state) || model_is_failed(state);
}
