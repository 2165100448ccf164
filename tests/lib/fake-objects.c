/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../dbus/names.h"
#include "fake-leases.h"
#include "fake-objects.h"

#define PROPERTIES_MAX 20
#define OBJECTS_MAX    300
#define SHARES_MAX     256

struct value {
	const char *name;
	const char *type;
	char *text;
	uint64_t number;
};

struct fake_share {
	unsigned node_id;
	char state[16], reason[32];
	uint64_t total_bytes, early_bytes, done_bytes, short_bytes;
};

struct object {
	char *path;
	const char *interface;
	char key[64];
	struct value values[PROPERTIES_MAX];
	size_t nr_values;
	struct fake_share shares[SHARES_MAX];
	size_t nr_shares;
	sd_bus_slot *slot, *region_slot;
};

static struct object objects[OBJECTS_MAX];
static size_t nr_objects;

static struct value *value_of(struct object *object, const char *name)
{
	size_t i;

	for (i = 0; i < object->nr_values; i++)
		if (strcmp(object->values[i].name, name) == 0)
			return &object->values[i];
	fprintf(stderr, "fake-daemon: no property %s\n", name);
	exit(1);
}

static int get(sd_bus *from, const char *path, const char *interface, const char *property,
               sd_bus_message *reply, void *arg, sd_bus_error *error)
{
	const struct value *value = value_of(arg, property);

	(void) from, (void) path, (void) interface, (void) error;
	switch (*value->type) {
	case 's':
		return sd_bus_message_append(reply, "s", value->text);
	case 't':
		return sd_bus_message_append(reply, "t", value->number);
	default:
		return sd_bus_message_append(reply, value->type, (int) value->number);
	}
}

static int get_shares(sd_bus *from, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *arg, sd_bus_error *error)
{
	const struct object *object = arg;
	size_t i;
	int r;

	(void) from, (void) path, (void) interface, (void) property, (void) error;
	r = sd_bus_message_open_container(reply, 'a', "(ustttts)");
	for (i = 0; r >= 0 && i < object->nr_shares; i++) {
		const struct fake_share *share = &object->shares[i];

		r = sd_bus_message_append(reply, "(ustttts)", share->node_id, share->state,
		                          share->total_bytes, share->early_bytes, share->done_bytes,
		                          share->short_bytes, share->reason);
	}
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int obey(sd_bus_message *call, void *arg, sd_bus_error *error)
{
	(void) arg, (void) error;
	return sd_bus_reply_method_return(call, NULL);
}

static int get_pool(sd_bus_message *call, void *arg, sd_bus_error *error)
{
	const char *name;
	size_t i;
	int r;

	(void) arg;
	r = sd_bus_message_read(call, "s", &name);
	if (r < 0)
		return r;
	for (i = 0; i < nr_objects; i++)
		if (objects[i].path && strcmp(objects[i].key, name) == 0)
			return sd_bus_reply_method_return(call, "o", objects[i].path);
	return sd_bus_error_setf(error, NODEINIT_ERROR_NO_SUCH_POOL,
	                         "no pool '%s'; there are others", name);
}

#define SHOW(name, type) SD_BUS_PROPERTY(name, type, get, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE)

static const sd_bus_vtable host_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SHOW("Version", "s"),
	SHOW("State", "s"),
	SHOW("Ready", "b"),
	SHOW("Paused", "b"),
	SHOW("Generation", "t"),
	SHOW("BytesTotal", "t"),
	SHOW("BytesDone", "t"),
	SHOW("BytesShort", "t"),
	SHOW("StartedMonotonic", "t"),
	SHOW("EarlyMonotonic", "t"),
	SHOW("ReadyMonotonic", "t"),
	SHOW("StartedRealtime", "t"),
	SHOW("EarlyRealtime", "t"),
	SHOW("ReadyRealtime", "t"),
	SHOW("NewerThanTheClient", "s"),
	SD_BUS_METHOD("Reload", "a{sv}", "", obey, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("Pause", "a{sv}", "", obey, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("Resume", "a{sv}", "", obey, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("ListLeases", "a{sv}", "a(ssutsuustta{sv})", fake_list_leases,
	              SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("ReleaseLease", "sa{sv}", "", fake_release_lease, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("GetPool", "sa{sv}", "o", get_pool, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

static const sd_bus_vtable retyped_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("State", "t", get, 0, 0),
	SD_BUS_VTABLE_END,
};

static const sd_bus_vtable node_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SHOW("Id", "u"),
	SHOW("CPUs", "s"),
	SHOW("HelperNode", "i"),
	SHOW("MemoryTotal", "t"),
	SHOW("Spanned", "t"),
	SHOW("EarlyBudget", "t"),
	SHOW("BytesTotal", "t"),
	SHOW("BytesDone", "t"),
	SHOW("BytesShort", "t"),
	SHOW("Rate", "t"),
	SHOW("Threads", "u"),
	SHOW("Braked", "b"),
	SHOW("State", "s"),
	SHOW("CurrentPool", "s"),
	SHOW("StartedMonotonic", "t"),
	SHOW("FinishedMonotonic", "t"),
	SD_BUS_VTABLE_END,
};

static const sd_bus_vtable pool_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SHOW("Name", "s"),
	SHOW("Kind", "s"),
	SHOW("PageSize", "t"),
	SHOW("Required", "b"),
	SHOW("State", "s"),
	SHOW("BytesTotal", "t"),
	SHOW("BytesDone", "t"),
	SHOW("BytesShort", "t"),
	SHOW("BytesLeased", "t"),
	SHOW("BytesDraining", "t"),
	SD_BUS_PROPERTY("Shares", "a(ustttts)", get_shares, 0, SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
	SD_BUS_METHOD("Retry", "a{sv}", "", obey, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD("Lease", "ta{sv}", "hhsut", fake_lease, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

/* Apart, since an older daemon does not have it. */
static const sd_bus_vtable region_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SHOW("RegionSize", "t"),
	SD_BUS_VTABLE_END,
};

static bool is_region_size_unsaid;

void fake_unsaid(void)
{
	is_region_size_unsaid = true;
}

void fake_unescape(char *text)
{
	char *to = text;

	while (*text) {
		unsigned byte;

		if (sscanf(text, "\\x%2x", &byte) == 1) {
			*to++ = (char) byte;
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

static void set(struct object *object, const char *name, const char *text)
{
	struct value *value = value_of(object, name);

	free(value->text);
	value->text = strdup(text);
	if (!value->text)
		exit(1);
	fake_unescape(value->text);
	value->number = strtoull(value->text, NULL, 0);
}

/* Show on the bus what @vtable has, at first as empty texts and 0. */
static void expose(struct object *object, const sd_bus_vtable *vtable, sd_bus_slot **slot)
{
	const sd_bus_vtable *entry;

	for (entry = vtable + 1; entry->type != _SD_BUS_VTABLE_END; entry++) {
		if (entry->type == _SD_BUS_VTABLE_METHOD ||
		    strcmp(entry->x.property.member, "Shares") == 0)
			continue;
		object->values[object->nr_values].name = entry->x.property.member;
		object->values[object->nr_values].text = strdup("");
		object->values[object->nr_values++].type = entry->x.property.signature;
	}
	fake_check(sd_bus_add_object_vtable(bus, slot, object->path, object->interface, vtable,
	                                    object),
	           object->path);
}

static struct object *add(const char *key, const char *path, const char *interface,
                          const sd_bus_vtable *vtable)
{
	struct object *object = &objects[nr_objects++];

	if (nr_objects > OBJECTS_MAX)
		exit(1);
	object->path = strdup(path);
	object->interface = interface;
	(void) snprintf(object->key, sizeof(object->key), "%s", key);
	expose(object, vtable, &object->slot);
	return object;
}

struct object *fake_find(const char *interface, const char *key)
{
	size_t i;

	for (i = 0; i < nr_objects; i++)
		if (objects[i].path && strcmp(objects[i].interface, interface) == 0 &&
		    strcmp(objects[i].key, key) == 0)
			return &objects[i];
	return NULL;
}

struct object *fake_node(const char *id, bool *ret_is_new)
{
	struct object *object = fake_find(NODEINIT_NODE_INTERFACE, id);
	char path[128];

	*ret_is_new = !object;
	if (object)
		return object;
	(void) snprintf(path, sizeof(path), NODEINIT_NODE_PREFIX "/%s", id);
	object = add(id, path, NODEINIT_NODE_INTERFACE, node_vtable);
	set(object, "Id", id);
	set(object, "HelperNode", "-1");
	set(object, "State", "waiting");
	return object;
}

struct object *fake_pool(const char *name, bool *ret_is_new)
{
	struct object *object = fake_find(NODEINIT_POOL_INTERFACE, name);
	char *path = NULL;

	*ret_is_new = !object;
	if (object)
		return object;
	fake_check(sd_bus_path_encode(NODEINIT_POOL_PREFIX, name, &path), name);
	object = add(name, path, NODEINIT_POOL_INTERFACE, pool_vtable);
	if (!is_region_size_unsaid)
		expose(object, region_vtable, &object->region_slot);
	set(object, "Name", name);
	set(object, "Kind", "region");
	set(object, "PageSize", "2097152");
	set(object, "Required", "1");
	set(object, "State", "waiting");
	free(path);
	return object;
}

/* Apply "KEY=VALUE KEY=VALUE" and send it as one signal, or announce a new object. */
void fake_apply(struct object *object, char *words, bool is_new)
{
	char *names[PROPERTIES_MAX + 1] = { NULL }, *rest, *word;
	size_t nr = 0;

	for (word = strtok_r(words, " ", &rest); word && nr < PROPERTIES_MAX;
	     word = strtok_r(NULL, " ", &rest)) {
		char *value = strchr(word, '=');

		if (!value)
			exit(1);
		*value = '\0';
		set(object, word, value + 1);
		names[nr++] = word;
	}
	if (is_new)
		fake_check(sd_bus_emit_object_added(bus, object->path), "added");
	else if (nr)
		fake_check(sd_bus_emit_properties_changed_strv(bus, object->path, object->interface,
		                                               names),
		           "changed");
}

void fake_share(char *words)
{
	struct fake_share parsed = { 0 };
	struct object *object;
	char name[64], *changed[] = { (char *) "Shares", NULL };
	size_t i;

	if (sscanf(words, "%63s %u %15s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %31s", name,
	           &parsed.node_id, parsed.state, &parsed.total_bytes, &parsed.early_bytes,
	           &parsed.done_bytes, &parsed.short_bytes, parsed.reason) != 8)
		exit(1);
	if (strcmp(parsed.reason, "-") == 0)
		*parsed.reason = '\0';
	object = fake_find(NODEINIT_POOL_INTERFACE, name);
	if (!object)
		exit(1);
	for (i = 0; i < object->nr_shares && object->shares[i].node_id != parsed.node_id;)
		i++;
	if (i == SHARES_MAX)
		exit(1);
	object->shares[i] = parsed;
	object->nr_shares += i == object->nr_shares;
	fake_check(
		sd_bus_emit_properties_changed_strv(bus, object->path, object->interface, changed),
		"share");
}

void fake_withdraw(const char *name)
{
	struct object *object = fake_find(NODEINIT_POOL_INTERFACE, name);

	fake_check(sd_bus_emit_object_removed(bus, object->path), "removed");
	object->slot = sd_bus_slot_unref(object->slot);
	object->region_slot = sd_bus_slot_unref(object->region_slot);
	free(object->path);
	object->path = NULL;
}

/* A machine with @nr nodes of 64 GiB, some done, some at work, some waiting. */
void fake_many(unsigned nr)
{
	bool is_new;
	struct object *guests = fake_pool("guests", &is_new);
	char id[16], words[512];
	unsigned i;

	for (i = 0; i < nr && i < SHARES_MAX; i++) {
		const char *state = i < nr / 3 ? "ready" : i < nr / 3 * 2 ? "deferred" : "waiting";
		uint64_t total = UINT64_C(48) << 30;
		uint64_t done = i < nr / 3 ? total : i < nr / 3 * 2 ? total / 100 * (i % 100) : 0;

		(void) snprintf(id, sizeof(id), "%u", i);
		(void) snprintf(words, sizeof(words),
		                "CPUs=%u-%u MemoryTotal=68719476736 BytesTotal=%" PRIu64
		                " BytesDone=%" PRIu64 " Rate=%" PRIu64
		                " Threads=%u State=%s CurrentPool=%s",
		                i * 18, i * 18 + 17, total, done,
		                *state == 'd' ? UINT64_C(11) << 30 : 0, *state == 'd' ? 18 : 0,
		                state, *state == 'd' ? "guests" : "");
		fake_apply(fake_node(id, &is_new), words, true);
		guests->shares[i] = (struct fake_share){ .node_id = i,
			                                 .total_bytes = total,
			                                 .done_bytes = done };
		(void) snprintf(guests->shares[i].state, 16, "%s", state);
	}
	guests->nr_shares = i;
	(void) snprintf(words, sizeof(words),
	                "State=deferred BytesTotal=%" PRIu64 " BytesDone=%" PRIu64,
	                (UINT64_C(48) << 30) * i, (UINT64_C(48) << 30) * i / 100 * 44);
	fake_apply(guests, words, true);
}

void fake_retype(void)
{
	struct object *host = fake_find(NODEINIT_MANAGER_INTERFACE, "host");

	sd_bus_slot_unref(host->slot);
	fake_check(sd_bus_add_object_vtable(bus, &host->slot, NODEINIT_PATH,
	                                    NODEINIT_MANAGER_INTERFACE, retyped_vtable, host),
	           "retype");
	value_of(host, "State")->type = "t";
}

void fake_host(void)
{
	struct object *host = add("host", NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, host_vtable);

	set(host, "Version", NODEINIT_VERSION);
	set(host, "State", "idle");
	set(host, "Generation", "1");
}
