/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* org.nodeinit1.Manager */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../../dbus/names.h"
#include "error.h"
#include "options.h"
#include "service-parts.h"
#include "view-copy.h"

struct manager_object {
	struct bus_object object;
	struct manager_view shown;
	struct manager_view sent;
};

/* The reply to a call without arguments but options: a list, to be filled and then sent. */
static int begin_list(sd_bus_message *call, const char *element, sd_bus_message **ret_reply,
                      sd_bus_error *ret_error)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	int r;

	r = options_read_none(call, ret_error);
	if (r < 0)
		return r;
	r = sd_bus_message_new_method_return(call, &reply);
	if (r < 0)
		return r;
	r = sd_bus_message_open_container(reply, 'a', element);
	if (r < 0)
		return r;
	*ret_reply = take(reply);
	return 0;
}

static int send_list(sd_bus_message *reply)
{
	int r = sd_bus_message_close_container(reply);

	return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static int on_list_nodes(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	const struct objects *objects = &((struct bus_object *) userdata)->service->objects;
	int r;

	r = begin_list(call, "(uo)", &reply, ret_error);
	for (size_t i = 0; i < objects->nr_nodes && r >= 0; i++) {
		const struct node_view *view = bus_object_shown(objects->nodes[i]);

		r = sd_bus_message_append(reply, "(uo)", view->node_id, objects->nodes[i]->path);
	}
	return r < 0 ? r : send_list(reply);
}

static int on_list_pools(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	const struct objects *objects = &((struct bus_object *) userdata)->service->objects;
	int r;

	r = begin_list(call, "(so)", &reply, ret_error);
	for (size_t i = 0; i < objects->nr_pools && r >= 0; i++) {
		const struct pool_view *view = bus_object_shown(objects->pools[i]);

		r = sd_bus_message_append(reply, "(so)", view->name, objects->pools[i]->path);
	}
	return r < 0 ? r : send_list(reply);
}

static int on_get_node(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	const struct bus_service *service = ((struct bus_object *) userdata)->service;
	const struct bus_object *node;
	uint32_t node_id;
	int r;

	r = sd_bus_message_read(call, "u", &node_id);
	if (r < 0)
		return r;
	r = options_read_none(call, ret_error);
	if (r < 0)
		return r;
	node = objects_find_node(service, node_id);
	if (!node)
		return bus_error_setf(
			ret_error, -ENXIO,
			"There is no node %u among the %zu nodes; ListNodes shows all.", node_id,
			service->objects.nr_nodes);
	return sd_bus_reply_method_return(call, "o", node->path);
}

static int on_get_pool(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	const struct bus_service *service = ((struct bus_object *) userdata)->service;
	const struct bus_object *pool;
	const char *name;
	int r;

	r = sd_bus_message_read(call, "s", &name);
	if (r < 0)
		return r;
	r = options_read_none(call, ret_error);
	if (r < 0)
		return r;
	pool = objects_find_pool(service, name);
	if (!pool)
		return bus_error_setf(
			ret_error, -ENOENT,
			"There is no pool \"%.64s\" among the %zu pools; ListPools shows "
			"all.",
			name, service->objects.nr_pools);
	return sd_bus_reply_method_return(call, "o", pool->path);
}

static int append_timeline_entry(sd_bus_message *reply, const struct timeline_entry *entry)
{
	return sd_bus_message_append(
		reply, "(usssttta{sv})", entry->node_id, entry->pool, entry->stage, entry->state,
		entry->started_usec, entry->finished_usec, entry->bytes, 4, "threads", "u",
		entry->nr_threads, "cpu_usec", "t", entry->cpu_usec, "attempts", "u",
		entry->nr_attempts, "by_other", "u", entry->nr_by_other);
}

static int on_get_timeline(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	const struct bus_service *service = ((struct bus_object *) userdata)->service;
	scoped(freep) struct timeline_entry *entries = NULL;
	size_t nr_entries = 0;
	int r;

	r = begin_list(call, "(usssttta{sv})", &reply, ret_error);
	if (r < 0)
		return r;
	r = service->ops->timeline(service->arg, &entries, &nr_entries);
	if (r < 0)
		return bus_error_set(ret_error, r, NULL);
	for (size_t i = 0; i < nr_entries && r >= 0; i++)
		r = append_timeline_entry(reply, &entries[i]);
	return r < 0 ? r : send_list(reply);
}

static int append_lease(sd_bus_message *reply, const struct lease_view *lease)
{
	return sd_bus_message_append(reply, "(ssutsuustta{sv})", lease->id, lease->pool,
	                             lease->node_id, lease->bytes, lease->state, lease->uid,
	                             (uint32_t) lease->pid, lease->unit, lease->since_realtime_usec,
	                             lease->since_monotonic_usec, 0);
}

static int on_list_leases(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	const struct bus_service *service = ((struct bus_object *) userdata)->service;
	scoped(freep) struct lease_view *leases = NULL;
	size_t nr_leases = 0;
	int r;

	r = begin_list(call, "(ssutsuustta{sv})", &reply, ret_error);
	if (r < 0)
		return r;
	r = service->ops->leases(service->arg, &leases, &nr_leases);
	if (r < 0)
		return bus_error_set(ret_error, r, NULL);
	for (size_t i = 0; i < nr_leases && r >= 0; i++)
		r = append_lease(reply, &leases[i]);
	return r < 0 ? r : send_list(reply);
}

static int refuse_release(int error, const char *id, const char *sentence, sd_bus_error *ret_error)
{
	if (error == -ESRCH && !sentence)
		return bus_error_setf(ret_error, error,
		                      "There is no lease \"%.64s\"; ListLeases shows all.", id);
	if (error == -EALREADY && !sentence)
		return bus_error_setf(ret_error, error,
		                      "Lease %.64s drains already; it is gone once nobody has its "
		                      "memory open or mapped any more.",
		                      id);
	return bus_error_set(ret_error, error, sentence);
}

static int release_granted(struct bus_service *service, sd_bus_message *call,
                           sd_bus_error *ret_error)
{
	scoped(freep) char *sentence = NULL;
	const char *id;
	int r;

	r = sd_bus_message_rewind(call, 1);
	if (r >= 0)
		r = sd_bus_message_read(call, "s", &id);
	if (r < 0)
		return r;
	r = service->ops->release(service->arg, id, &sentence);
	if (r < 0)
		return refuse_release(r, id, sentence, ret_error);
	return sd_bus_reply_method_return(call, "");
}

/* An id is never given twice: whose it is now, it is when the bus has said who asks. */
static int on_release_lease(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	struct bus_service *service = ((struct bus_object *) userdata)->service;
	struct auth_owner owner;
	const char *id;
	size_t nr_digits;
	int r;

	r = sd_bus_message_read(call, "s", &id);
	if (r < 0)
		return r;
	r = options_read_none(call, ret_error);
	if (r < 0)
		return r;
	nr_digits = strspn(id, "0123456789");
	if (nr_digits == 0 || nr_digits > 20 || id[nr_digits] != '\0')
		return refuse_release(-ESRCH, id, NULL, ret_error);
	r = service->ops->lease_owner(service->arg, id, &owner.uid);
	if (r < 0)
		return refuse_release(r, id, NULL, ret_error);
	(void) snprintf(owner.what, sizeof(owner.what), "Lease %s", id);
	return auth_request(service, call, AUTH_RELEASE, &owner, release_granted, ret_error);
}

static int reload_granted(struct bus_service *service, sd_bus_message *call,
                          sd_bus_error *ret_error)
{
	scoped(freep) char *sentence = NULL;
	int r;

	r = service->ops->reload(service->arg, &sentence);
	if (r < 0)
		return bus_error_set(ret_error, r, sentence);
	return sd_bus_reply_method_return(call, "");
}

static int pause_granted(struct bus_service *service, sd_bus_message *call, sd_bus_error *ret_error)
{
	int r = service->ops->pause(service->arg);

	return r < 0 ? bus_error_set(ret_error, r, NULL) : sd_bus_reply_method_return(call, "");
}

static int resume_granted(struct bus_service *service, sd_bus_message *call,
                          sd_bus_error *ret_error)
{
	int r = service->ops->resume(service->arg);

	return r < 0 ? bus_error_set(ret_error, r, NULL) : sd_bus_reply_method_return(call, "");
}

static int ask_for(sd_bus_message *call, void *userdata, enum auth_action action,
                   auth_granted_fn granted, sd_bus_error *ret_error)
{
	struct bus_object *object = userdata;
	int r;

	r = options_read_none(call, ret_error);
	if (r < 0)
		return r;
	return auth_request(object->service, call, action, NULL, granted, ret_error);
}

static int on_reload(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	return ask_for(call, userdata, AUTH_RELOAD, reload_granted, ret_error);
}

static int on_pause(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	return ask_for(call, userdata, AUTH_PAUSE, pause_granted, ret_error);
}

static int on_resume(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	return ask_for(call, userdata, AUTH_PAUSE, resume_granted, ret_error);
}

#define PROPERTY(name, type, member)                                                     \
	SD_BUS_PROPERTY(name, type, NULL, offsetof(struct manager_object, shown.member), \
	                SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE)
#define SWITCH(name, member)                                           \
	SD_BUS_PROPERTY(name, "b", bus_object_get_bool,                \
	                offsetof(struct manager_object, shown.member), \
	                SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE)

/*
 * "Unprivileged" throughout: sd-bus would otherwise ask the bus for the caller's uid in a blocking
 * call. Who may do what is decided in auth.c.
 */
#define OPEN SD_BUS_VTABLE_UNPRIVILEGED

static const sd_bus_vtable manager_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD_WITH_ARGS("ListNodes", SD_BUS_ARGS("a{sv}", options),
	                        SD_BUS_RESULT("a(uo)", nodes), on_list_nodes, OPEN),
	SD_BUS_METHOD_WITH_ARGS("ListPools", SD_BUS_ARGS("a{sv}", options),
	                        SD_BUS_RESULT("a(so)", pools), on_list_pools, OPEN),
	SD_BUS_METHOD_WITH_ARGS("GetNode", SD_BUS_ARGS("u", id, "a{sv}", options),
	                        SD_BUS_RESULT("o", node), on_get_node, OPEN),
	SD_BUS_METHOD_WITH_ARGS("GetPool", SD_BUS_ARGS("s", name, "a{sv}", options),
	                        SD_BUS_RESULT("o", pool), on_get_pool, OPEN),
	SD_BUS_METHOD_WITH_ARGS("GetTimeline", SD_BUS_ARGS("a{sv}", options),
	                        SD_BUS_RESULT("a(usssttta{sv})", entries), on_get_timeline, OPEN),
	SD_BUS_METHOD_WITH_ARGS("ListLeases", SD_BUS_ARGS("a{sv}", options),
	                        SD_BUS_RESULT("a(ssutsuustta{sv})", leases), on_list_leases, OPEN),
	SD_BUS_METHOD_WITH_ARGS("ReleaseLease", SD_BUS_ARGS("s", id, "a{sv}", options),
	                        SD_BUS_NO_RESULT, on_release_lease, OPEN),
	SD_BUS_METHOD_WITH_ARGS("Reload", SD_BUS_ARGS("a{sv}", options), SD_BUS_NO_RESULT,
	                        on_reload, OPEN),
	SD_BUS_METHOD_WITH_ARGS("Pause", SD_BUS_ARGS("a{sv}", options), SD_BUS_NO_RESULT, on_pause,
	                        OPEN),
	SD_BUS_METHOD_WITH_ARGS("Resume", SD_BUS_ARGS("a{sv}", options), SD_BUS_NO_RESULT,
	                        on_resume, OPEN),
	SD_BUS_PROPERTY("Version", "s", NULL, offsetof(struct manager_object, shown.version),
	                SD_BUS_VTABLE_PROPERTY_CONST),
	PROPERTY("State", "s", state),
	SWITCH("Ready", is_ready),
	SWITCH("Paused", is_paused),
	PROPERTY("Generation", "t", generation),
	PROPERTY("BytesTotal", "t", total_bytes),
	PROPERTY("BytesDone", "t", done_bytes),
	PROPERTY("BytesShort", "t", short_bytes),
	PROPERTY("StartedMonotonic", "t", started_monotonic_usec),
	PROPERTY("EarlyMonotonic", "t", early_monotonic_usec),
	PROPERTY("ReadyMonotonic", "t", ready_monotonic_usec),
	PROPERTY("StartedRealtime", "t", started_realtime_usec),
	PROPERTY("EarlyRealtime", "t", early_realtime_usec),
	PROPERTY("ReadyRealtime", "t", ready_realtime_usec),
	SD_BUS_VTABLE_END,
};

const struct face manager_face = {
	.interface = NODEINIT_MANAGER_INTERFACE,
	.vtable = manager_vtable,
	.object_bytes = sizeof(struct manager_object),
	.shown_offset = offsetof(struct manager_object, shown),
	.sent_offset = offsetof(struct manager_object, sent),
	.view_bytes = sizeof(struct manager_view),
	.view_copy = manager_view_copy,
	.view_clear = manager_view_clear,
};
