/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "../dbus/names.h"
#include "call.h"
#include "scoped.h"

int call_new(sd_bus *bus, const char *path, const char *interface, const char *member,
             sd_bus_message **ret)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *message = NULL;
	int r;

	r = sd_bus_message_new_method_call(bus, &message, NODEINIT_BUS_NAME, path, interface,
	                                   member);
	if (r < 0)
		return r;
	r = sd_bus_message_set_auto_start(message, 0);
	if (r < 0)
		return r;
	*ret = message;
	message = NULL;
	return 0;
}

static int call_within(sd_bus *bus, const char *path, const char *interface, const char *member,
                       const char *name, uint64_t limit_usec, sd_bus_error *ret_error,
                       sd_bus_message **ret_reply)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *message = NULL;
	int r;

	r = call_new(bus, path, interface, member, &message);
	if (r >= 0 && name)
		r = sd_bus_message_append(message, "s", name);
	if (r >= 0)
		r = sd_bus_message_append(message, "a{sv}", 0);
	return r < 0 ? r : sd_bus_call(bus, message, limit_usec, ret_error, ret_reply);
}

int call_named(sd_bus *bus, const char *path, const char *interface, const char *member,
               const char *name, sd_bus_error *ret_error, sd_bus_message **ret_reply)
{
	return call_within(bus, path, interface, member, name, 0, ret_error, ret_reply);
}

int call_get_pool(sd_bus *bus, const char *name, uint64_t limit_usec, sd_bus_error *ret_error,
                  char **ret_path)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	const char *path;
	char *copy;
	int r;

	r = call_within(bus, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "GetPool", name, limit_usec,
	                ret_error, &reply);
	if (r < 0)
		return r;
	if (sd_bus_message_read(reply, "o", &path) <= 0)
		return -EBADMSG;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	*ret_path = copy;
	return 0;
}
