/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* org.nodeinit1.Pool */
#include <errno.h>
#include <stddef.h>

#include "../../dbus/names.h"
#include "error.h"
#include "options.h"
#include "service-parts.h"
#include "view-copy.h"

struct pool_object {
	struct bus_object object;
	struct pool_view shown;
	struct pool_view sent;
};

static int get_shares(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	const struct pool_view *view = userdata;
	int r;

	(void) bus, (void) path, (void) interface, (void) property, (void) ret_error;

	r = sd_bus_message_open_container(reply, 'a', "(ustttts)");
	for (size_t i = 0; i < view->nr_shares && r >= 0; i++) {
		const struct share_view *share = &view->shares[i];

		r = sd_bus_message_append(reply, "(ustttts)", share->node_id, share->state,
		                          share->total_bytes, share->early_bytes, share->done_bytes,
		                          share->short_bytes, share->reason);
	}
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* The pool may be gone by now: it is the path of the call that says which one was meant. */
static int retry_granted(struct bus_service *service, sd_bus_message *call, sd_bus_error *ret_error)
{
	scoped(freep) char *name = NULL, *sentence = NULL;
	int r;

	r = sd_bus_path_decode(sd_bus_message_get_path(call), NODEINIT_POOL_PREFIX, &name);
	if (r < 0)
		return r;
	r = r == 0 ? -ENOENT : service->ops->retry(service->arg, name, &sentence);
	if (r == -ENOENT && !sentence)
		return bus_error_setf(ret_error, r,
		                      "There is no pool \"%s\" any more; ListPools shows all.",
		                      name);
	if (r == -EALREADY && !sentence)
		return bus_error_setf(
			ret_error, r,
			"Pool \"%s\" has nothing to retry: nothing is missing, or it is "
			"still being worked on.",
			name);
	if (r < 0)
		return bus_error_set(ret_error, r, sentence);
	return sd_bus_reply_method_return(call, "");
}

static int on_retry(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	struct bus_object *object = userdata;
	int r;

	r = options_read_none(call, ret_error);
	if (r < 0)
		return r;
	return auth_request(object->service, call, AUTH_RETRY, NULL, retry_granted, ret_error);
}

static int on_lease(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	struct bus_object *object = userdata;
	const struct pool_view *view = bus_object_shown(object);
	struct lease_request request = { .pool = view->name };
	uint32_t node_id = 0;
	const struct option options[] = {
		{ "node", 'u', &node_id, &request.has_node },
		{ "strict", 'b', &request.is_strict, NULL },
		{ "wait", 'b', &request.may_wait, NULL },
	};
	int r;

	r = sd_bus_message_read(call, "t", &request.bytes);
	if (r < 0)
		return r;
	r = options_read(call, options, ELEMENTS(options), ret_error);
	if (r < 0)
		return r;
	request.node_id = node_id;
	if (request.is_strict && !request.has_node)
		return bus_error_set(ret_error, -EINVAL,
		                     "Option \"strict\" of Lease means the node of option "
		                     "\"node\", which is missing.");
	return lease_calls_begin(object->service, call, &request, ret_error);
}

#define PROPERTY(name, type, member)                                                  \
	SD_BUS_PROPERTY(name, type, NULL, offsetof(struct pool_object, shown.member), \
	                SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE)

static const sd_bus_vtable pool_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD_WITH_ARGS("Retry", SD_BUS_ARGS("a{sv}", options), SD_BUS_NO_RESULT, on_retry,
	                        SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_METHOD_WITH_ARGS(
		"Lease", SD_BUS_ARGS("t", bytes, "a{sv}", options),
		SD_BUS_RESULT("h", memory, "h", lifetime, "s", id, "u", node, "t", bytes), on_lease,
		SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_PROPERTY("Name", "s", NULL, offsetof(struct pool_object, shown.name),
	                SD_BUS_VTABLE_PROPERTY_CONST),
	PROPERTY("Kind", "s", kind),
	PROPERTY("PageSize", "t", page_bytes),
	PROPERTY("RegionSize", "t", region_bytes),
	SD_BUS_PROPERTY("Required", "b", bus_object_get_bool,
	                offsetof(struct pool_object, shown.is_required),
	                SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
	PROPERTY("State", "s", state),
	PROPERTY("BytesTotal", "t", total_bytes),
	PROPERTY("BytesDone", "t", done_bytes),
	PROPERTY("BytesShort", "t", short_bytes),
	PROPERTY("BytesLeased", "t", leased_bytes),
	PROPERTY("BytesDraining", "t", draining_bytes),
	SD_BUS_PROPERTY("Shares", "a(ustttts)", get_shares, offsetof(struct pool_object, shown),
	                SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
	SD_BUS_VTABLE_END,
};

const struct face pool_face = {
	.interface = NODEINIT_POOL_INTERFACE,
	.vtable = pool_vtable,
	.object_bytes = sizeof(struct pool_object),
	.shown_offset = offsetof(struct pool_object, shown),
	.sent_offset = offsetof(struct pool_object, sent),
	.view_bytes = sizeof(struct pool_view),
	.view_copy = pool_view_copy,
	.view_clear = pool_view_clear,
	.lists_differ = pool_view_shares_differ,
};
