/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "connect.h"
#include "scoped.h"
#include "text.h"

static int open_address(const char *address, sd_bus **ret)
{
	scoped(sd_bus_unrefp) sd_bus *bus = NULL;
	int r;

	/* sd-bus passes over parts that it does not know, and then finds nobody. */
	if (!strchr(address, ':'))
		return -EINVAL;
	r = sd_bus_new(&bus);
	if (r < 0)
		return r;
	r = sd_bus_set_address(bus, address);
	if (r < 0)
		return r;
	r = sd_bus_set_bus_client(bus, 1);
	if (r < 0)
		return r;
	r = sd_bus_start(bus);
	if (r < 0)
		return r;
	*ret = bus;
	bus = NULL;
	return 0;
}

static int open_bus(const struct client *client, sd_bus **ret)
{
	if (client->host)
		return sd_bus_open_system_remote(ret, client->host);
	if (client->machine)
		return sd_bus_open_system_machine(ret, client->machine);
	if (strcmp(client->address, "system") == 0)
		return sd_bus_open_system(ret);
	if (strcmp(client->address, "session") == 0)
		return sd_bus_open_user(ret);
	return open_address(client->address, ret);
}

/* --timeout limits the whole wait there, and every single call elsewhere. */
static uint64_t call_limit_usec(const struct client *client)
{
	bool is_waiting = strcmp(client->verb, "wait") == 0 || strcmp(client->verb, "watch") == 0 ||
	                  strcmp(client->verb, "lease") == 0;

	/* 0 would mean "as by default" to sd-bus. */
	if (!is_waiting && client->timeout_usec != UINT64_MAX)
		return client->timeout_usec ? client->timeout_usec : 1;
	return CONNECT_CALL_USEC;
}

int connect_bus(const struct client *client, sd_bus **ret)
{
	scoped(sd_bus_close_unrefp) sd_bus *bus = NULL;
	const char *name;
	int r;

	r = open_bus(client, &bus);
	if (r < 0)
		return r;
	r = sd_bus_set_method_call_timeout(bus, call_limit_usec(client));
	if (r < 0)
		return r;
	r = sd_bus_get_unique_name(bus, &name);
	if (r < 0)
		return r;
	*ret = bus;
	bus = NULL;
	return 0;
}

int connect_report(const struct client *client, int error)
{
	scoped(freep) char *where = text_escape(client->host      ? client->host
	                                        : client->machine ? client->machine
	                                                          : client->address);
	const char *name = where ? where : "?";

	if (client->host)
		fprintf(stderr,
		        "meminitctl: the bus of host %s cannot be reached (%s); try: ssh %s "
		        "systemctl status nodeinitd\n",
		        name, strerror(-error), name);
	else if (client->machine)
		fprintf(stderr,
		        "meminitctl: the bus of machine %s cannot be reached (%s); machinectl list "
		        "shows which machines run\n",
		        name, strerror(-error));
	else if (error == -EINVAL)
		fprintf(stderr,
		        "meminitctl: '%s' names no bus; --bus= takes system, session or a D-Bus "
		        "address such as unix:path=/run/dbus/system_bus_socket\n",
		        name);
	else
		fprintf(stderr,
		        "meminitctl: no bus at '%s' (%s); see DBUS_SYSTEM_BUS_ADDRESS, --bus= and "
		        "systemctl status dbus\n",
		        name, strerror(-error));
	return error == -EINVAL && !client->host && !client->machine ? CLIENT_USAGE
	                                                             : CLIENT_NO_DAEMON;
}
