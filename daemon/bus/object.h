/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * object.h - one object on the bus: a view, and what of it clients have been told
 *
 * Layer: bus. Threads: main.
 *
 * Every object keeps its view twice: as shown (what Get answers) and as last sent. A signal names
 * the properties in which the two differ, so it never repeats a value, never loses the last one,
 * and a value that went back in between is no change. The sd-bus vtable is the only list of
 * properties: names, types and places are read from there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "../base/scoped.h"
#include "emitter.h"

struct bus_service;

/* What is common to all objects of one interface. The offsets are within the whole object. */
struct face {
	const char *interface;
	const sd_bus_vtable *vtable; /* its user data is the object */
	size_t object_bytes;
	size_t shown_offset;
	size_t sent_offset;
	size_t view_bytes;
	int (*view_copy)(const void *view, void *ret);
	void (*view_clear)(void *view);
	/* For the one property that is a list; NULL where there is none. */
	bool (*lists_differ)(const void *shown, const void *sent);
};

/* The first member of every object. */
struct bus_object {
	struct bus_service *service; /* borrowed */
	const struct face *face;
	char *path;
	sd_bus_slot *slot; /* NULL: not on a bus */
	struct emitter emitter;
	/* A bit for each property, in their order, whose value since the last signal was another */
	uint32_t touched;
};

/*
 * Make an object that shows @view (copied) and is on no bus yet.
 * Return: 0 and *ret, which the caller owns; -ENOMEM.
 */
int bus_object_new(struct bus_service *service, const struct face *face, const char *path,
                   const void *view, struct bus_object **ret);

/* NULL is fine. Return: NULL. */
struct bus_object *bus_object_free(struct bus_object *object);
DEFINE_SCOPED(struct bus_object *, bus_object_free)

/* Put it on @bus; whatever it shows now counts as sent. Return: 0; -ENOMEM; -errno of sd-bus. */
int bus_object_export(struct bus_object *object, sd_bus *bus);

/* Take it off the bus, without a signal. Harmless when it is not there. */
void bus_object_withdraw(struct bus_object *object);

/* Show other values. Sends nothing. Return: 0; -ENOMEM, and the old values stay. */
int bus_object_show(struct bus_object *object, const void *view);

/* When its next signal is due (emitter.h). Return: UINT64_MAX when there is nothing to tell. */
uint64_t bus_object_due_usec(const struct bus_object *object);

/*
 * Tell what changed, if anything did, in one PropertiesChanged. Return: 0; -ENOMEM, -errno of
 * sd-bus: nothing was told, and it stays due.
 */
int bus_object_emit(struct bus_object *object, sd_bus *bus, uint64_t now_usec);

/* The view that it shows; borrowed until the next bus_object_show(). */
static inline const void *bus_object_shown(const struct bus_object *object)
{
	return (const char *) object + object->face->shown_offset;
}

/* For vtables: a C bool, which sd-bus cannot read by itself. */
int bus_object_get_bool(sd_bus *bus, const char *path, const char *interface, const char *property,
                        sd_bus_message *reply, void *userdata, sd_bus_error *ret_error);
