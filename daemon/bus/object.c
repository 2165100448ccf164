/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "object.h"

#define PROPERTIES_MAX 31

static void *shown(struct bus_object *object)
{
	return (char *) object + object->face->shown_offset;
}

static void *sent(struct bus_object *object)
{
	return (char *) object + object->face->sent_offset;
}

int bus_object_get_bool(sd_bus *bus, const char *path, const char *interface, const char *property,
                        sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	(void) bus, (void) path, (void) interface, (void) property, (void) ret_error;
	return sd_bus_message_append(reply, "b", (int) *(const bool *) userdata);
}

int bus_object_new(struct bus_service *service, const struct face *face, const char *path,
                   const void *view, struct bus_object **ret)
{
	scoped(bus_object_freep) struct bus_object *object = calloc(1, face->object_bytes);
	int r;

	if (!object)
		return -ENOMEM;
	object->service = service;
	object->face = face;
	object->path = strdup(path);
	if (!object->path)
		return -ENOMEM;
	r = face->view_copy(view, shown(object));
	if (r < 0)
		return r;
	r = face->view_copy(view, sent(object));
	if (r < 0)
		return r;
	*ret = take(object);
	return 0;
}

struct bus_object *bus_object_free(struct bus_object *object)
{
	if (!object)
		return NULL;

	bus_object_withdraw(object);
	object->face->view_clear(shown(object));
	object->face->view_clear(sent(object));
	free(object->path);
	free(object);
	return NULL;
}

/* The new copy is made before the old one goes: on failure nothing has changed. */
static int replace_view(const struct face *face, const void *from, void *to)
{
	_Alignas(max_align_t) char copy[256];
	int r;

	assert(face->view_bytes <= sizeof(copy));
	r = face->view_copy(from, copy);
	if (r < 0)
		return r;
	face->view_clear(to);
	memcpy(to, copy, face->view_bytes);
	return 0;
}

int bus_object_export(struct bus_object *object, sd_bus *bus)
{
	int r;

	r = replace_view(object->face, shown(object), sent(object));
	if (r < 0)
		return r;
	object->touched = 0;
	r = sd_bus_add_object_vtable(bus, &object->slot, object->path, object->face->interface,
	                             object->face->vtable, object);
	return r < 0 ? r : 0;
}

void bus_object_withdraw(struct bus_object *object)
{
	object->slot = sd_bus_slot_unref(object->slot);
}

static bool values_differ(const struct bus_object *object, const sd_bus_vtable *property)
{
	const struct face *face = object->face;
	const char *a = (const char *) object + property->x.property.offset;
	const char *b = a - face->shown_offset + face->sent_offset;

	switch (property->x.property.signature[0]) {
	case SD_BUS_TYPE_STRING:
		return strcmp(*(const char *const *) a, *(const char *const *) b) != 0;
	case SD_BUS_TYPE_BOOLEAN:
		return *(const bool *) a != *(const bool *) b;
	case SD_BUS_TYPE_INT32:
	case SD_BUS_TYPE_UINT32:
		return *(const uint32_t *) a != *(const uint32_t *) b;
	case SD_BUS_TYPE_UINT64:
		return *(const uint64_t *) a != *(const uint64_t *) b;
	case SD_BUS_TYPE_ARRAY:
		return face->lists_differ((const char *) object + face->shown_offset,
		                          (const char *) object + face->sent_offset);
	}
	assert(!"a property type that no face has");
	return false;
}

/* States and switches are what people wait for; amounts can wait for the next signal. */
static bool is_urgent(const sd_bus_vtable *property)
{
	return property->x.property.signature[0] == SD_BUS_TYPE_BOOLEAN ||
	       strcmp(property->x.property.member, "State") == 0;
}

static bool is_told(const sd_bus_vtable *property)
{
	return property->type == _SD_BUS_VTABLE_PROPERTY &&
	       (property->flags & SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE) != 0;
}

/*
 * A value that changes and changes back before the signal may have been read in between: it is
 * told again, or that reader would wait for a change that does not come.
 */
int bus_object_show(struct bus_object *object, const void *view)
{
	const sd_bus_vtable *vtable = object->face->vtable;
	int r;

	r = replace_view(object->face, view, shown(object));
	if (r < 0)
		return r;
	for (size_t i = 0; vtable[i].type != _SD_BUS_VTABLE_END; i++)
		if (is_told(&vtable[i]) && values_differ(object, &vtable[i]))
			object->touched |= UINT32_C(1) << i;
	return 0;
}

/*
 * Put the names of all properties that have changed since the last signal into @ret_names, NULL
 * terminated. Return: how many there are.
 */
static size_t find_changes(const struct bus_object *object, char *ret_names[PROPERTIES_MAX + 1],
                           bool *ret_urgent)
{
	const sd_bus_vtable *vtable = object->face->vtable;
	size_t nr_changes = 0;

	*ret_urgent = false;
	for (size_t i = 0; vtable[i].type != _SD_BUS_VTABLE_END; i++) {
		assert(i <= PROPERTIES_MAX);
		if (!(object->touched & UINT32_C(1) << i))
			continue;
		ret_names[nr_changes++] = (char *) vtable[i].x.property.member;
		*ret_urgent = *ret_urgent || is_urgent(&vtable[i]);
	}
	ret_names[nr_changes] = NULL;
	return nr_changes;
}

uint64_t bus_object_due_usec(const struct bus_object *object)
{
	char *names[PROPERTIES_MAX + 1];
	bool urgent;

	if (!object->slot || find_changes(object, names, &urgent) == 0)
		return UINT64_MAX;
	return emitter_due_usec(&object->emitter, urgent);
}

int bus_object_emit(struct bus_object *object, sd_bus *bus, uint64_t now_usec)
{
	char *names[PROPERTIES_MAX + 1];
	bool urgent;
	int r;

	if (!object->slot || find_changes(object, names, &urgent) == 0)
		return 0;

	/* A failure counts as a signal too, or the next attempt would follow at once. */
	emitter_note_sent(&object->emitter, now_usec);
	r = sd_bus_emit_properties_changed_strv(bus, object->path, object->face->interface, names);
	if (r < 0)
		return r;
	r = replace_view(object->face, shown(object), sent(object));
	if (r < 0)
		return r;
	object->touched = 0;
	return 0;
}
