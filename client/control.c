/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* reload, pause, resume and retry: one call each, silent when it was obeyed. */
#include <stdio.h>

#include "../dbus/names.h"
#include "connect.h"
#include "report.h"
#include "scoped.h"

/* Call @member with @name in front of the options, or with the options only where it is NULL. */
static int call(sd_bus *bus, const char *path, const char *interface, const char *member,
                const char *name, sd_bus_error *ret_error, sd_bus_message **ret_reply)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *message = NULL;
	int r;

	r = sd_bus_message_new_method_call(bus, &message, NODEINIT_BUS_NAME, path, interface,
	                                   member);
	if (r < 0)
		return r;
	/* A daemon that is not there has nothing to reload; it is not started for that. */
	r = sd_bus_message_set_auto_start(message, 0);
	if (r >= 0 && name)
		r = sd_bus_message_append(message, "s", name);
	if (r >= 0)
		r = sd_bus_message_append(message, "a{sv}", 0);
	return r < 0 ? r : sd_bus_call(bus, message, 0, ret_error, ret_reply);
}

static int control(const struct client *client, const char *member)
{
	scoped(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	scoped(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	int r;

	r = connect_bus(client, &bus);
	if (r < 0)
		return connect_report(client, r);
	r = call(bus, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, member, NULL, &error, NULL);
	return r < 0 ? report_call(client->verb, r, &error) : CLIENT_REACHED;
}

int verb_reload(const struct client *client, char **operands)
{
	(void) operands;
	return control(client, "Reload");
}

int verb_pause(const struct client *client, char **operands)
{
	(void) operands;
	return control(client, "Pause");
}

int verb_resume(const struct client *client, char **operands)
{
	(void) operands;
	return control(client, "Resume");
}

/* The daemon is asked for the object, so that a wrong name is told from a refusal. */
static int retry(sd_bus *bus, const char *name)
{
	scoped(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	scoped(freep) char *object = NULL;
	const char *path;
	int r;

	if (asprintf(&object, "pool %s", name) < 0) {
		object = NULL;
		return report_no_memory();
	}
	r = call(bus, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "GetPool", name, &error, &reply);
	if (r >= 0)
		r = sd_bus_message_read(reply, "o", &path);
	if (r >= 0)
		r = call(bus, path, NODEINIT_POOL_INTERFACE, "Retry", NULL, &error, NULL);
	if (sd_bus_error_has_name(&error, NODEINIT_ERROR_NO_SUCH_POOL))
		return report_no_such("pool", name);
	return r < 0 ? report_call(object, r, &error) : CLIENT_REACHED;
}

/* All of them are asked for, whatever becomes of one; the first failure is the exit status. */
int verb_retry(const struct client *client, char **operands)
{
	scoped(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	int status = CLIENT_REACHED, one, r;

	r = connect_bus(client, &bus);
	if (r < 0)
		return connect_report(client, r);
	for (; *operands; operands++) {
		one = retry(bus, *operands);
		if (status == CLIENT_REACHED)
			status = one;
		if (one == CLIENT_NO_DAEMON)
			break;
	}
	return status;
}
