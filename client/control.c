/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* reload, pause, resume, retry and release: one call each. */
#include <stdio.h>

#include "../dbus/names.h"
#include "call.h"
#include "connect.h"
#include "report.h"
#include "scoped.h"
#include "text.h"

static int control(const struct client *client, const char *member)
{
	scoped(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	scoped(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	int r;

	r = connect_bus(client, &bus);
	if (r < 0)
		return connect_report(client, r);
	r = call_named(bus, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, member, NULL, &error, NULL);
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
static int retry(const struct client *client, sd_bus *bus, const char *name)
{
	scoped(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	scoped(freep) char *object = NULL;
	scoped(freep) char *path = NULL;
	int r;

	(void) client;
	if (asprintf(&object, "pool %s", name) < 0) {
		object = NULL;
		return report_no_memory();
	}
	r = call_get_pool(bus, name, 0, &error, &path);
	if (r >= 0)
		r = call_named(bus, path, NODEINIT_POOL_INTERFACE, "Retry", NULL, &error, NULL);
	if (sd_bus_error_has_name(&error, NODEINIT_ERROR_NO_SUCH_POOL))
		return report_no_such("pool", name);
	return r < 0 ? report_call(object, r, &error) : CLIENT_REACHED;
}

static int release(const struct client *client, sd_bus *bus, const char *id)
{
	scoped(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	scoped(freep) char *object = NULL;
	scoped(freep) char *shown = NULL;
	int r;

	if (asprintf(&object, "lease %s", id) < 0) {
		object = NULL;
		return report_no_memory();
	}
	r = call_named(bus, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ReleaseLease", id, &error,
	               NULL);
	if (r < 0)
		return report_call_of(object, "root or its owner is needed", r, &error);
	shown = text_escape(id);
	if (!client->is_quiet)
		printf("lease %s drains until nobody has its memory\n", shown ? shown : "?");
	return CLIENT_REACHED;
}

/* All of them are asked for, whatever becomes of one; the first failure is the exit status. */
static int each(const struct client *client,
                int (*one)(const struct client *client, sd_bus *bus, const char *operand),
                char **operands)
{
	scoped(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	int status = CLIENT_REACHED, status_of_one, r;

	r = connect_bus(client, &bus);
	if (r < 0)
		return connect_report(client, r);
	for (; *operands; operands++) {
		status_of_one = one(client, bus, *operands);
		if (status == CLIENT_REACHED)
			status = status_of_one;
		if (status_of_one == CLIENT_NO_DAEMON)
			break;
	}
	return report_flush(status);
}

int verb_retry(const struct client *client, char **operands)
{
	return each(client, retry, operands);
}

int verb_release(const struct client *client, char **operands)
{
	return each(client, release, operands);
}
