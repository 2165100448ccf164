/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "model.h"
#include "properties.h"
#include "scoped.h"

#define HOST(name, type, field)                          \
	{                                                \
		name, type, offsetof(struct host, field) \
	}
#define NODE(name, type, field)                          \
	{                                                \
		name, type, offsetof(struct node, field) \
	}
#define POOL(name, type, field)                          \
	{                                                \
		name, type, offsetof(struct pool, field) \
	}

static const struct property host_table[] = {
	HOST("Version", 's', version),
	HOST("State", 's', state),
	HOST("Ready", 'b', is_ready),
	HOST("Paused", 'b', is_paused),
	HOST("Generation", 't', generation),
	HOST("BytesTotal", 't', total_bytes),
	HOST("BytesDone", 't', done_bytes),
	HOST("BytesShort", 't', short_bytes),
	HOST("StartedMonotonic", 't', started_monotonic_usec),
	HOST("EarlyMonotonic", 't', early_monotonic_usec),
	HOST("ReadyMonotonic", 't', ready_monotonic_usec),
	HOST("StartedRealtime", 't', started_realtime_usec),
	HOST("EarlyRealtime", 't', early_realtime_usec),
	HOST("ReadyRealtime", 't', ready_realtime_usec),
};

static const struct property node_table[] = {
	NODE("Id", 'u', node_id),
	NODE("CPUs", 's', cpus),
	NODE("HelperNode", 'i', helper_node_id),
	NODE("MemoryTotal", 't', memory_bytes),
	NODE("Spanned", 't', spanned_bytes),
	NODE("EarlyBudget", 't', early_budget_bytes),
	NODE("BytesTotal", 't', total_bytes),
	NODE("BytesDone", 't', done_bytes),
	NODE("BytesShort", 't', short_bytes),
	NODE("Rate", 't', rate_bytes),
	NODE("Threads", 'u', nr_threads),
	NODE("Braked", 'b', is_braked),
	NODE("State", 's', state),
	NODE("CurrentPool", 's', current_pool),
	NODE("StartedMonotonic", 't', started_monotonic_usec),
	NODE("FinishedMonotonic", 't', finished_monotonic_usec),
};

static const struct property pool_table[] = {
	POOL("Name", 's', name),
	POOL("Kind", 's', kind),
	POOL("PageSize", 't', page_bytes),
	POOL("RegionSize", 't', region_bytes),
	POOL("Required", 'b', is_required),
	POOL("State", 's', state),
	POOL("BytesTotal", 't', total_bytes),
	POOL("BytesDone", 't', done_bytes),
	POOL("BytesShort", 't', short_bytes),
	POOL("BytesLeased", 't', leased_bytes),
	POOL("BytesDraining", 't', draining_bytes),
	POOL("Shares", '*', shares),
};

const struct properties host_properties = { host_table, ELEMENTS(host_table) };
const struct properties node_properties = { node_table, ELEMENTS(node_table) };
const struct properties pool_properties = { pool_table, ELEMENTS(pool_table) };

static void shares_free(struct share *shares, size_t nr_shares)
{
	size_t i;

	for (i = 0; i < nr_shares; i++) {
		free(shares[i].state);
		free(shares[i].reason);
	}
	free(shares);
}

int properties_init(const struct properties *properties, void *object)
{
	size_t i;

	for (i = 0; i < properties->nr; i++) {
		char **text = (char **) ((char *) object + properties->table[i].offset);

		if (properties->table[i].type != 's')
			continue;
		*text = strdup("");
		if (!*text)
			return -ENOMEM;
	}
	return 0;
}

void properties_clear(const struct properties *properties, void *object)
{
	size_t i;

	for (i = 0; i < properties->nr; i++) {
		void *field = (char *) object + properties->table[i].offset;

		if (properties->table[i].type == 's') {
			free(*(char **) field);
			*(char **) field = NULL;
		} else if (properties->table[i].type == '*') {
			struct pool *pool = object;

			shares_free(pool->shares, pool->nr_shares);
			pool->shares = NULL;
			pool->nr_shares = 0;
		}
	}
}

static int read_share(sd_bus_message *message, struct share *ret)
{
	const char *state, *reason;
	struct share share = { 0 };
	int r;

	r = sd_bus_message_read(message, "(ustttts)", &share.node_id, &state, &share.total_bytes,
	                        &share.early_bytes, &share.done_bytes, &share.short_bytes, &reason);
	if (r <= 0)
		return r;
	share.state = strdup(state);
	share.reason = strdup(reason);
	if (!share.state || !share.reason) {
		free(share.state);
		free(share.reason);
		return -ENOMEM;
	}
	*ret = share;
	return 1;
}

static int read_shares(sd_bus_message *message, struct pool *pool)
{
	struct share *shares = NULL, share;
	size_t nr_shares = 0;
	int r;

	r = sd_bus_message_enter_container(message, 'a', "(ustttts)");
	if (r < 0)
		return r;
	while ((r = read_share(message, &share)) > 0) {
		struct share *grown = NULL;

		if (nr_shares < MODEL_OBJECTS_MAX)
			grown = reallocarray(shares, nr_shares + 1, sizeof(*shares));
		if (!grown) {
			free(share.state);
			free(share.reason);
			r = nr_shares < MODEL_OBJECTS_MAX ? -ENOMEM : -EBADMSG;
			break;
		}
		shares = grown;
		shares[nr_shares++] = share;
	}
	if (r >= 0)
		r = sd_bus_message_exit_container(message);
	if (r < 0) {
		shares_free(shares, nr_shares);
		return r;
	}
	shares_free(pool->shares, pool->nr_shares);
	pool->shares = shares;
	pool->nr_shares = nr_shares;
	return 0;
}

static int read_value(const struct property *property, void *object, sd_bus_message *message)
{
	void *field = (char *) object + property->offset;
	const char *text;
	char *copy;
	int flag, r;

	switch (property->type) {
	case '*':
		return read_shares(message, object);
	case 's':
		r = sd_bus_message_read_basic(message, 's', &text);
		if (r < 0)
			return r;
		copy = strdup(text);
		if (!copy)
			return -ENOMEM;
		free(*(char **) field);
		*(char **) field = copy;
		return 0;
	case 'b':
		r = sd_bus_message_read_basic(message, 'b', &flag);
		if (r >= 0)
			*(bool *) field = flag;
		return r;
	default:
		return sd_bus_message_read_basic(message, property->type, field);
	}
}

static int read_property(const struct properties *properties, void *object, sd_bus_message *message)
{
	const char *name;
	char type[2] = { 0 };
	size_t i;
	int r;

	r = sd_bus_message_read(message, "s", &name);
	if (r < 0)
		return r;
	for (i = 0; i < properties->nr; i++)
		if (strcmp(properties->table[i].name, name) == 0)
			break;
	if (i == properties->nr)
		return sd_bus_message_skip(message, "v");

	type[0] = properties->table[i].type;
	r = sd_bus_message_enter_container(message, 'v', type[0] == '*' ? "a(ustttts)" : type);
	if (r < 0)
		return r;
	r = read_value(&properties->table[i], object, message);
	if (r < 0)
		return r;
	return sd_bus_message_exit_container(message);
}

int properties_read(const struct properties *properties, void *object, sd_bus_message *message)
{
	int r;

	r = sd_bus_message_enter_container(message, 'a', "{sv}");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_enter_container(message, 'e', "sv")) > 0) {
		r = read_property(properties, object, message);
		if (r < 0)
			return r;
		r = sd_bus_message_exit_container(message);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : sd_bus_message_exit_container(message);
}
