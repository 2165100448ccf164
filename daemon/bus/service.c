/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "../../dbus/names.h"
#include "../base/log.h"
#include "error.h"
#include "service-parts.h"

#define FIRST_DELAY_SECONDS 0.1
#define LAST_DELAY_SECONDS  10.

/*
 * Messages that the bus has not taken yet. A reply can be as large as all objects together, and
 * many clients with many open calls each could have us pile up gigabytes of them.
 */
#define UNSENT_MESSAGES_MAX 64

/* org.freedesktop.DBus.RequestName; source: D-Bus specification, "Message Bus Messages" */
enum { NAME_IS_OURS = 1, NAME_WAS_OURS = 4 };

static void set_timer(struct bus_service *service, double seconds)
{
	ev_timer_stop(service->loop, &service->timer);
	ev_timer_set(&service->timer, seconds, 0.);
	ev_timer_start(service->loop, &service->timer);
}

/* Everything that hangs on the connection, in reverse order of its making. The views stay. */
static void disconnect(struct bus_service *service)
{
	ev_timer_stop(service->loop, &service->timer);
	service->owns_name = false;
	service->fault = 0;
	lease_units_clear(service);
	unit_job_clear(service);
	lease_calls_clear(service);
	auth_clear(service);
	service->name_request = sd_bus_slot_unref(service->name_request);
	service->name_lost = sd_bus_slot_unref(service->name_lost);
	objects_withdraw(service);
	service->log_control = sd_bus_slot_unref(service->log_control);
	service->log_filter = sd_bus_slot_unref(service->log_filter);
	service->object_manager = sd_bus_slot_unref(service->object_manager);
	service->overload_filter = sd_bus_slot_unref(service->overload_filter);
	service->bus_loop = bus_loop_free(service->bus_loop);
	service->bus = sd_bus_close_unref(service->bus);
}

static void try_again_later(struct bus_service *service)
{
	set_timer(service, service->delay_seconds);
	service->delay_seconds *= 2;
	if (service->delay_seconds > LAST_DELAY_SECONDS)
		service->delay_seconds = LAST_DELAY_SECONDS;
}

/* The owner may free @service in its callback, so that comes last. */
static void on_lost(int error, void *arg)
{
	struct bus_service *service = arg;
	bool is_known = service->is_loss_reported;

	disconnect(service);
	try_again_later(service);
	service->is_loss_reported = true;
	if (!is_known)
		service->ops->on_connected(service->arg, false, error);
}

/* For sd-bus callbacks: the connection cannot be dropped under them, the timer does it. */
static void drop_soon(struct bus_service *service, int error)
{
	service->fault = error;
	set_timer(service, 0.);
}

static int on_name_reply(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct bus_service *service = userdata;
	uint32_t answer;
	int r;

	(void) ret_error;

	if (sd_bus_message_is_method_error(reply, NULL)) {
		drop_soon(service, -sd_bus_message_get_errno(reply));
		return 1;
	}
	r = sd_bus_message_read(reply, "u", &answer);
	if (r < 0 || (answer != NAME_IS_OURS && answer != NAME_WAS_OURS)) {
		drop_soon(service, r < 0 ? r : -EEXIST);
		return 1;
	}

	service->owns_name = true;
	service->is_loss_reported = false;
	service->delay_seconds = FIRST_DELAY_SECONDS;
	objects_resume(service);
	service->ops->on_connected(service->arg, true, 0);
	return 1;
}

static int on_name_lost(sd_bus_message *signal, void *userdata, sd_bus_error *ret_error)
{
	struct bus_service *service = userdata;
	const char *name;

	(void) ret_error;

	if (sd_bus_message_read(signal, "s", &name) > 0 && strcmp(name, NODEINIT_BUS_NAME) == 0)
		drop_soon(service, -EEXIST);
	return 0;
}

bool service_is_bus_slow(const struct bus_service *service)
{
	uint64_t nr_unsent;

	return sd_bus_get_n_queued_write(service->bus, &nr_unsent) >= 0 &&
	       nr_unsent >= UNSENT_MESSAGES_MAX;
}

/* Sees every message first. While the bus is slow, a call gets a short answer, not a long one. */
static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *ret_error)
{
	const struct bus_service *service = userdata;

	if (!sd_bus_message_is_method_call(message, NULL, NULL) || !service_is_bus_slow(service))
		return 0;
	return bus_error_setf(ret_error, -ENOBUFS,
	                      "%d answers wait for the bus to take them; call again later.",
	                      UNSENT_MESSAGES_MAX);
}

/* Does not wait: a local connect, everything else is queued behind the greeting. */
static int open_bus(const struct bus_service *service, sd_bus **ret)
{
	scoped(sd_bus_close_unrefp) sd_bus *bus = NULL;
	int r;

	if (service->is_system_bus)
		return sd_bus_open_system(ret);
	if (strcmp(service->address, "session") == 0)
		return sd_bus_open_user(ret);

	/* sd-bus passes over what it does not know, and then finds nobody. */
	if (!strchr(service->address, ':'))
		return -EINVAL;
	r = sd_bus_new(&bus);
	if (r < 0)
		return r;
	r = sd_bus_set_address(bus, service->address);
	if (r < 0)
		return r;
	r = sd_bus_set_bus_client(bus, 1);
	if (r < 0)
		return r;
	r = sd_bus_start(bus);
	if (r < 0)
		return r;
	*ret = take(bus);
	return 0;
}

/* All objects first, the name last: who sees the name finds everything behind it. */
static int export_all(struct bus_service *service)
{
	int r;

	r = sd_bus_add_filter(service->bus, &service->overload_filter, on_message, service);
	if (r < 0)
		return r;
	r = sd_bus_add_object_manager(service->bus, &service->object_manager, NODEINIT_PATH);
	if (r < 0)
		return r;
	r = log_control_export(service);
	if (r < 0)
		return r;
	r = objects_export(service);
	if (r < 0)
		return r;
	r = sd_bus_match_signal_async(service->bus, &service->name_lost, "org.freedesktop.DBus",
	                              "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameLost",
	                              on_name_lost, NULL, service);
	if (r < 0)
		return r;
	return sd_bus_request_name_async(service->bus, &service->name_request, NODEINIT_BUS_NAME, 0,
	                                 on_name_reply, service);
}

static int connect_bus(struct bus_service *service)
{
	int r;

	r = open_bus(service, &service->bus);
	if (r < 0)
		return r;
	r = bus_loop_new(service->loop, service->bus, on_lost, service, &service->bus_loop);
	if (r >= 0)
		r = export_all(service);
	if (r < 0)
		disconnect(service);
	return r < 0 ? r : 0;
}

static void on_timer(struct ev_loop *loop, ev_timer *watcher, int revents)
{
	struct bus_service *service = watcher->data;
	int r;

	(void) loop, (void) revents;

	if (service->fault) {
		on_lost(service->fault, service);
		return;
	}
	r = connect_bus(service);
	if (r < 0) {
		log_debug("The bus cannot be reached yet: %s", strerror(-r));
		try_again_later(service);
	}
}

int bus_service_new(struct ev_loop *loop, const char *address, const struct bus_service_ops *ops,
                    void *arg, struct bus_service **ret)
{
	scoped(bus_service_freep) struct bus_service *service = calloc(1, sizeof(*service));
	int r;

	if (!service)
		return -ENOMEM;
	service->loop = loop;
	service->ops = ops;
	service->arg = arg;
	service->delay_seconds = FIRST_DELAY_SECONDS;
	service->is_system_bus = strcmp(address, "system") == 0;
	ev_timer_init(&service->timer, on_timer, 0., 0.);
	service->timer.data = service;
	r = objects_init(service);
	if (r < 0)
		return r;
	service->address = strdup(address);
	if (!service->address)
		return -ENOMEM;
	*ret = take(service);
	return 0;
}

int bus_service_start(struct bus_service *service)
{
	return connect_bus(service);
}

bool bus_service_is_connected(const struct bus_service *service)
{
	return service->owns_name;
}

struct bus_service *bus_service_free(struct bus_service *service)
{
	if (!service)
		return NULL;

	objects_flush(service);
	if (service->owns_name)
		(void) sd_bus_release_name_async(service->bus, NULL, NODEINIT_BUS_NAME, NULL, NULL);
	disconnect(service);
	objects_clear(service);
	free(service->address);
	free(service);
	return NULL;
}
