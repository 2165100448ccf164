/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../dbus/names.h"
#include "call.h"
#include "client.h"
#include "connect.h"
#include "json.h"
#include "leases.h"
#include "report.h"
#include "scoped.h"
#include "tables.h"

static void entry_clear(struct lease_entry *entry)
{
	free(entry->id);
	free(entry->pool);
	free(entry->state);
	free(entry->unit);
}

void leases_clear(struct leases *leases)
{
	size_t i;

	for (i = 0; i < leases->nr_entries; i++)
		entry_clear(&leases->entries[i]);
	free(leases->entries);
	*leases = (struct leases){ 0 };
}

/* Ids are decimal numbers without zeros in front: the shorter one is the smaller. */
static int by_id(const void *a, const void *b)
{
	const struct lease_entry *one = a, *other = b;
	size_t nr_one = strlen(one->id), nr_other = strlen(other->id);

	if (nr_one != nr_other)
		return nr_one < nr_other ? -1 : 1;
	return strcmp(one->id, other->id);
}

static int append(struct leases *leases, const struct lease_entry *entry)
{
	struct lease_entry *grown, copy = *entry;

	if (leases->nr_entries == LEASES_MAX)
		return -EBADMSG;
	copy.id = strdup(entry->id);
	copy.pool = strdup(entry->pool);
	copy.state = strdup(entry->state);
	copy.unit = strdup(entry->unit);
	grown = reallocarray(leases->entries, leases->nr_entries + 1, sizeof(*grown));
	if (grown)
		leases->entries = grown;
	if (!grown || !copy.id || !copy.pool || !copy.state || !copy.unit) {
		entry_clear(&copy);
		return -ENOMEM;
	}
	grown[leases->nr_entries++] = copy;
	return 0;
}

/* Return: 1 and *ret, whose texts are the message's; 0 at the end; -errno. */
static int read_entry(sd_bus_message *reply, struct lease_entry *ret)
{
	const char *id, *pool, *state, *unit;
	struct lease_entry entry = { 0 };
	int r;

	r = sd_bus_message_enter_container(reply, 'r', "ssutsuustta{sv}");
	if (r <= 0)
		return r;
	r = sd_bus_message_read(reply, "ssutsuustt", &id, &pool, &entry.node_id, &entry.bytes,
	                        &state, &entry.uid, &entry.pid, &unit, &entry.since_realtime_usec,
	                        &entry.since_monotonic_usec);
	if (r >= 0)
		r = sd_bus_message_skip(reply, "a{sv}");
	if (r >= 0)
		r = sd_bus_message_exit_container(reply);
	if (r < 0)
		return r;
	entry.id = (char *) id;
	entry.pool = (char *) pool;
	entry.state = (char *) state;
	entry.unit = (char *) unit;
	*ret = entry;
	return 1;
}

int leases_read(sd_bus_message *reply, const char *pool, struct leases *ret)
{
	struct leases leases = { 0 };
	struct lease_entry entry;
	int r;

	r = sd_bus_message_enter_container(reply, 'a', "(ssutsuustta{sv})");
	while (r >= 0 && (r = read_entry(reply, &entry)) > 0)
		if (!pool || strcmp(entry.pool, pool) == 0)
			r = append(&leases, &entry);
	if (r < 0) {
		leases_clear(&leases);
		return r == -ENOMEM ? r : -EBADMSG;
	}
	if (leases.nr_entries)
		qsort(leases.entries, leases.nr_entries, sizeof(*leases.entries), by_id);
	*ret = leases;
	return 0;
}

/* A pool that was withdrawn may still have leases; one that has none must be there. */
static int check_pool(sd_bus *bus, const char *name)
{
	scoped(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	scoped(freep) char *path = NULL;
	int r = call_get_pool(bus, name, 0, &error, &path);

	if (sd_bus_error_has_name(&error, NODEINIT_ERROR_NO_SUCH_POOL))
		return report_no_such("pool", name);
	return r < 0 ? report_call("leases", r, &error) : CLIENT_REACHED;
}

static int look(const struct client *client, const char *pool, struct leases *ret)
{
	scoped(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	scoped(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	int r;

	r = connect_bus(client, &bus);
	if (r < 0)
		return connect_report(client, r);
	r = call_named(bus, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ListLeases", NULL, &error,
	               &reply);
	if (r >= 0)
		r = leases_read(reply, pool, ret);
	if (r < 0)
		return report_call("leases", r, &error);
	return pool && !ret->nr_entries ? check_pool(bus, pool) : CLIENT_REACHED;
}

int verb_leases(const struct client *client, char **operands)
{
	scoped(leases_clear) struct leases leases = { 0 };
	int status = look(client, operands[0], &leases);

	if (status != CLIENT_REACHED)
		return status;
	if (client->is_json)
		return report_printed(json_print(json_leases(&leases), false, stdout), status);
	if (!leases.nr_entries)
		report_none(client, "nothing is leased");
	return report_printed(tables_leases(client, &leases), status);
}
