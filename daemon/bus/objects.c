/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Everything that is shown, and the one timer that tells of its changes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../dbus/names.h"
#include "../base/clock.h"
#include "service-parts.h"

static unsigned node_id_of(const struct bus_object *object)
{
	return ((const struct node_view *) bus_object_shown(object))->node_id;
}

static const char *pool_name_of(const struct bus_object *object)
{
	return ((const struct pool_view *) bus_object_shown(object))->name;
}

/* Return: the index of the node, or of the place where it would stand. */
static size_t node_place(const struct objects *objects, unsigned node_id, bool *ret_found)
{
	size_t i = 0;

	while (i < objects->nr_nodes && node_id_of(objects->nodes[i]) < node_id)
		i++;
	*ret_found = i < objects->nr_nodes && node_id_of(objects->nodes[i]) == node_id;
	return i;
}

static size_t pool_place(const struct objects *objects, const char *name, bool *ret_found)
{
	size_t i = 0;

	while (i < objects->nr_pools && strcmp(pool_name_of(objects->pools[i]), name) < 0)
		i++;
	*ret_found = i < objects->nr_pools && strcmp(pool_name_of(objects->pools[i]), name) == 0;
	return i;
}

struct bus_object *objects_find_node(const struct bus_service *service, unsigned node_id)
{
	bool found;
	size_t i = node_place(&service->objects, node_id, &found);

	return found ? service->objects.nodes[i] : NULL;
}

struct bus_object *objects_find_pool(const struct bus_service *service, const char *name)
{
	bool found;
	size_t i = pool_place(&service->objects, name, &found);

	return found ? service->objects.pools[i] : NULL;
}

static void wake_at(struct bus_service *service, uint64_t due_usec)
{
	struct objects *objects = &service->objects;
	uint64_t now_usec = clock_monotonic_usec();
	uint64_t wait_usec = due_usec > now_usec ? due_usec - now_usec : 0;

	if (!service->owns_name || due_usec >= objects->wake_at_usec)
		return;
	objects->wake_at_usec = due_usec;
	ev_timer_stop(service->loop, &objects->timer);
	ev_timer_set(&objects->timer, (ev_tstamp) wait_usec * 1e-6, 0.);
	ev_timer_start(service->loop, &objects->timer);
}

/* Tell of what is due at @until_usec. Return: when the next is due; UINT64_MAX: nothing is. */
static uint64_t emit_one(struct bus_service *service, struct bus_object *object, uint64_t now_usec,
                         uint64_t until_usec)
{
	uint64_t due_usec = bus_object_due_usec(object);

	if (due_usec <= until_usec && due_usec != UINT64_MAX) {
		(void) bus_object_emit(object, service->bus, now_usec);
		due_usec = bus_object_due_usec(object);
	}
	return due_usec;
}

/* Parts before the whole: who hears that the host is ready has heard it of every pool. */
static uint64_t emit_all(struct bus_service *service, uint64_t now_usec, uint64_t until_usec)
{
	struct objects *objects = &service->objects;
	uint64_t next_usec = UINT64_MAX, due_usec;

	for (size_t i = 0; i < objects->nr_nodes; i++) {
		due_usec = emit_one(service, objects->nodes[i], now_usec, until_usec);
		next_usec = due_usec < next_usec ? due_usec : next_usec;
	}
	for (size_t i = 0; i < objects->nr_pools; i++) {
		due_usec = emit_one(service, objects->pools[i], now_usec, until_usec);
		next_usec = due_usec < next_usec ? due_usec : next_usec;
	}
	due_usec = emit_one(service, objects->manager, now_usec, until_usec);
	return due_usec < next_usec ? due_usec : next_usec;
}

static void on_due(struct ev_loop *loop, ev_timer *watcher, int revents)
{
	struct bus_service *service = watcher->data;
	uint64_t now_usec = clock_monotonic_usec();

	(void) loop, (void) revents;

	service->objects.wake_at_usec = UINT64_MAX;
	if (!service->owns_name)
		return;
	/* Values wait in the views, where they need no room; the last ones are sent later. */
	if (service_is_bus_slow(service))
		wake_at(service, now_usec + EMITTER_INTERVAL_USEC);
	else
		wake_at(service, emit_all(service, now_usec, now_usec));
}

void objects_resume(struct bus_service *service)
{
	wake_at(service, 0);
}

void objects_flush(struct bus_service *service)
{
	if (service->owns_name)
		(void) emit_all(service, clock_monotonic_usec(), UINT64_MAX);
}

int objects_init(struct bus_service *service)
{
	static const struct manager_view nothing_known = {
		.version = NODEINIT_VERSION,
		.state = "waiting",
	};

	ev_timer_init(&service->objects.timer, on_due, 0., 0.);
	service->objects.timer.data = service;
	service->objects.wake_at_usec = UINT64_MAX;
	return bus_object_new(service, &manager_face, NODEINIT_PATH, &nothing_known,
	                      &service->objects.manager);
}

void objects_clear(struct bus_service *service)
{
	struct objects *objects = &service->objects;

	ev_timer_stop(service->loop, &objects->timer);
	for (size_t i = 0; i < objects->nr_pools; i++)
		bus_object_free(objects->pools[i]);
	for (size_t i = 0; i < objects->nr_nodes; i++)
		bus_object_free(objects->nodes[i]);
	free(objects->pools);
	free(objects->nodes);
	objects->manager = bus_object_free(objects->manager);
}

int objects_export(struct bus_service *service)
{
	struct objects *objects = &service->objects;
	int r;

	r = bus_object_export(objects->manager, service->bus);
	for (size_t i = 0; i < objects->nr_nodes && r >= 0; i++)
		r = bus_object_export(objects->nodes[i], service->bus);
	for (size_t i = 0; i < objects->nr_pools && r >= 0; i++)
		r = bus_object_export(objects->pools[i], service->bus);
	return r;
}

void objects_withdraw(struct bus_service *service)
{
	struct objects *objects = &service->objects;

	ev_timer_stop(service->loop, &objects->timer);
	objects->wake_at_usec = UINT64_MAX;
	for (size_t i = 0; i < objects->nr_pools; i++)
		bus_object_withdraw(objects->pools[i]);
	for (size_t i = 0; i < objects->nr_nodes; i++)
		bus_object_withdraw(objects->nodes[i]);
	/* NULL: there was no memory for it, and the service is given up half made. */
	if (objects->manager)
		bus_object_withdraw(objects->manager);
}

/* Make the object, put it on the bus where there is one, and into its place in the list. */
static int add_object(struct bus_service *service, const struct face *face, const char *path,
                      const void *view, size_t place, struct bus_object ***list, size_t *nr_listed)
{
	scoped(bus_object_freep) struct bus_object *object = NULL;
	struct bus_object **longer;
	int r;

	r = bus_object_new(service, face, path, view, &object);
	if (r < 0)
		return r;
	longer = reallocarray(*list, *nr_listed + 1, sizeof(**list));
	if (!longer)
		return -ENOMEM;
	*list = longer;
	if (service->bus) {
		r = bus_object_export(object, service->bus);
		if (r < 0)
			return r;
		/* Other errors mean that the bus is going away: it will be there at the next. */
		r = sd_bus_emit_object_added(service->bus, path);
		if (r == -ENOMEM)
			return r;
	}
	memmove(&longer[place + 1], &longer[place], (*nr_listed - place) * sizeof(*longer));
	longer[place] = take(object);
	(*nr_listed)++;
	return 0;
}

static void remove_object(struct bus_service *service, size_t place, struct bus_object **list,
                          size_t *nr_listed)
{
	if (list[place]->slot)
		(void) sd_bus_emit_object_removed(service->bus, list[place]->path);
	bus_object_free(list[place]);
	(*nr_listed)--;
	memmove(&list[place], &list[place + 1], (*nr_listed - place) * sizeof(*list));
}

static int show_again(struct bus_service *service, struct bus_object *object, const void *view)
{
	int r;

	r = bus_object_show(object, view);
	if (r < 0)
		return r;
	wake_at(service, bus_object_due_usec(object));
	return 0;
}

int bus_service_show_manager(struct bus_service *service, const struct manager_view *view)
{
	return show_again(service, service->objects.manager, view);
}

int bus_service_show_node(struct bus_service *service, const struct node_view *view)
{
	struct objects *objects = &service->objects;
	char path[sizeof(NODEINIT_NODE_PREFIX) + 16];
	bool found;
	size_t place = node_place(objects, view->node_id, &found);

	if (found)
		return show_again(service, objects->nodes[place], view);
	(void) snprintf(path, sizeof(path), NODEINIT_NODE_PREFIX "/%u", view->node_id);
	return add_object(service, &node_face, path, view, place, &objects->nodes,
	                  &objects->nr_nodes);
}

int bus_service_show_pool(struct bus_service *service, const struct pool_view *view)
{
	struct objects *objects = &service->objects;
	scoped(freep) char *path = NULL;
	bool found;
	size_t place = pool_place(objects, view->name, &found);
	int r;

	if (found)
		return show_again(service, objects->pools[place], view);
	r = sd_bus_path_encode(NODEINIT_POOL_PREFIX, view->name, &path);
	if (r < 0)
		return r;
	return add_object(service, &pool_face, path, view, place, &objects->pools,
	                  &objects->nr_pools);
}

void bus_service_hide_pool(struct bus_service *service, const char *name)
{
	bool found;
	size_t place = pool_place(&service->objects, name, &found);

	if (found)
		remove_object(service, place, service->objects.pools, &service->objects.nr_pools);
}

void bus_service_hide_node(struct bus_service *service, unsigned node_id)
{
	bool found;
	size_t place = node_place(&service->objects, node_id, &found);

	if (found)
		remove_object(service, place, service->objects.nodes, &service->objects.nr_nodes);
}
