/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * properties.h - D-Bus properties into the fields of a struct, by a table
 *
 * One line per property: its name on the bus, its D-Bus type, where its value goes. Texts are
 * owned by the struct.
 */
#pragma once

#include <stddef.h>
#include <systemd/sd-bus.h>

struct property {
	const char *name;
	char type; /* s b t u i as in D-Bus; '*' the shares of a pool */
	size_t offset;
};

struct properties {
	const struct property *table;
	size_t nr;
};

extern const struct properties host_properties, node_properties, pool_properties;

/* Give the texts of a zeroed @object a value, "". Return: 0; -ENOMEM. */
int properties_init(const struct properties *properties, void *object);

/* Free what the fields own. */
void properties_clear(const struct properties *properties, void *object);

/*
 * Read an a{sv} into the fields of @object. Return: 0; -ENXIO or -EBADMSG a property has another
 * type; -ENOMEM. After an error the fields read so far are set.
 */
int properties_read(const struct properties *properties, void *object, sd_bus_message *message);
