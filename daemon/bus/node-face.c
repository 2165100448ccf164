/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* org.nodeinit1.Node */
#include <stddef.h>

#include "../../dbus/names.h"
#include "service-parts.h"
#include "view-copy.h"

struct node_object {
	struct bus_object object;
	struct node_view shown;
	struct node_view sent;
};

#define PROPERTY(name, type, member)                                                  \
	SD_BUS_PROPERTY(name, type, NULL, offsetof(struct node_object, shown.member), \
	                SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE)

static const sd_bus_vtable node_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("Id", "u", NULL, offsetof(struct node_object, shown.node_id),
	                SD_BUS_VTABLE_PROPERTY_CONST),
	PROPERTY("CPUs", "s", cpus),
	PROPERTY("HelperNode", "i", helper_node_id),
	PROPERTY("MemoryTotal", "t", memory_bytes),
	PROPERTY("Spanned", "t", spanned_bytes),
	PROPERTY("EarlyBudget", "t", early_budget_bytes),
	PROPERTY("BytesTotal", "t", total_bytes),
	PROPERTY("BytesDone", "t", done_bytes),
	PROPERTY("BytesShort", "t", short_bytes),
	PROPERTY("Rate", "t", rate_bytes),
	PROPERTY("Threads", "u", nr_threads),
	SD_BUS_PROPERTY("Braked", "b", bus_object_get_bool,
	                offsetof(struct node_object, shown.is_braked),
	                SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
	PROPERTY("State", "s", state),
	PROPERTY("CurrentPool", "s", current_pool),
	PROPERTY("StartedMonotonic", "t", started_monotonic_usec),
	PROPERTY("FinishedMonotonic", "t", finished_monotonic_usec),
	SD_BUS_VTABLE_END,
};

const struct face node_face = {
	.interface = NODEINIT_NODE_INTERFACE,
	.vtable = node_vtable,
	.object_bytes = sizeof(struct node_object),
	.shown_offset = offsetof(struct node_object, shown),
	.sent_offset = offsetof(struct node_object, sent),
	.view_bytes = sizeof(struct node_view),
	.view_copy = node_view_copy,
	.view_clear = node_view_clear,
};
