/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* org.freedesktop.LogControl1; source: org.freedesktop.LogControl1(5) */
#include <errno.h>
#include <string.h>

#include "../base/log.h"
#include "error.h"
#include "service-parts.h"

#define LOG_CONTROL_PATH      "/org/freedesktop/LogControl1"
#define LOG_CONTROL_INTERFACE "org.freedesktop.LogControl1"
#define PROPERTIES_INTERFACE  "org.freedesktop.DBus.Properties"

static int get_level(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	(void) bus, (void) path, (void) interface, (void) property, (void) userdata,
		(void) ret_error;
	return sd_bus_message_append(reply, "s", log_level_text(log_level()));
}

/*
 * Writes of LogLevel are taken by on_call(), which can let the caller wait for the answer to
 * "may you?". One that reaches sd-bus' own way, which cannot, was not checked.
 */
static int set_level(sd_bus *bus, const char *path, const char *interface, const char *property,
                     sd_bus_message *value, void *userdata, sd_bus_error *ret_error)
{
	(void) bus, (void) path, (void) interface, (void) property, (void) value, (void) userdata;
	return bus_error_set(ret_error, -EACCES, NULL);
}

static int get_target(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	(void) bus, (void) path, (void) interface, (void) property, (void) userdata,
		(void) ret_error;
	return sd_bus_message_append(reply, "s", log_target());
}

/* Where lines go is decided by whoever started the daemon. */
static int set_target(sd_bus *bus, const char *path, const char *interface, const char *property,
                      sd_bus_message *value, void *userdata, sd_bus_error *ret_error)
{
	const char *target;
	int r;

	(void) bus, (void) path, (void) interface, (void) property, (void) userdata;

	r = sd_bus_message_read(value, "s", &target);
	if (r < 0)
		return r;
	if (strcmp(target, log_target()) == 0)
		return 0;
	return bus_error_setf(
		ret_error, -EOPNOTSUPP,
		"The log goes to \"%s\" and cannot be moved to \"%.64s\" at run time; "
		"set StandardError= in the unit.",
		log_target(), target);
}

static int get_identifier(sd_bus *bus, const char *path, const char *interface,
                          const char *property, sd_bus_message *reply, void *userdata,
                          sd_bus_error *ret_error)
{
	(void) bus, (void) path, (void) interface, (void) property, (void) userdata,
		(void) ret_error;
	return sd_bus_message_append(reply, "s", "nodeinitd");
}

static int read_new_level(sd_bus_message *call, enum log_level *ret, sd_bus_error *ret_error)
{
	const char *text;

	if (sd_bus_message_read(call, "v", "s", &text) <= 0)
		return bus_error_set(ret_error, -EINVAL, "LogLevel is a string.");
	if (log_level_from_text(text, ret) < 0)
		return bus_error_setf(ret_error, -EINVAL,
		                      "There is no log level \"%.64s\"; there are err, warning, "
		                      "notice, info and debug.",
		                      text);
	return 0;
}

static int level_granted(struct bus_service *service, sd_bus_message *call, sd_bus_error *ret_error)
{
	enum log_level level;
	int r;

	r = sd_bus_message_rewind(call, 1);
	if (r >= 0)
		r = sd_bus_message_skip(call, "ss");
	if (r >= 0)
		r = read_new_level(call, &level, ret_error);
	if (r < 0)
		return r;

	log_set_level(level);
	service->ops->log_level_changed(service->arg, level);
	return sd_bus_reply_method_return(call, "");
}

/* Runs before sd-bus looks at its vtables. Return: 0 for whatever is not a write of LogLevel. */
static int on_call(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	struct bus_service *service = userdata;
	const char *interface, *property;
	enum log_level level;
	int r;

	if (!sd_bus_message_is_method_call(call, PROPERTIES_INTERFACE, "Set") ||
	    !sd_bus_message_has_signature(call, "ssv"))
		return 0;
	r = sd_bus_message_read(call, "ss", &interface, &property);
	if (r < 0)
		return r;
	if (strcmp(interface, LOG_CONTROL_INTERFACE) != 0 || strcmp(property, "LogLevel") != 0) {
		r = sd_bus_message_rewind(call, 1);
		return r < 0 ? r : 0;
	}
	r = read_new_level(call, &level, ret_error);
	if (r < 0)
		return r;
	return auth_request(service, call, AUTH_LOG_LEVEL, NULL, level_granted, ret_error);
}

static const sd_bus_vtable log_control_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_WRITABLE_PROPERTY("LogLevel", "s", get_level, set_level, 0,
	                         SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_WRITABLE_PROPERTY("LogTarget", "s", get_target, set_target, 0,
	                         SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_PROPERTY("SyslogIdentifier", "s", get_identifier, 0, SD_BUS_VTABLE_PROPERTY_CONST),
	SD_BUS_VTABLE_END,
};

int log_control_export(struct bus_service *service)
{
	int r;

	r = sd_bus_add_object(service->bus, &service->log_filter, LOG_CONTROL_PATH, on_call,
	                      service);
	if (r < 0)
		return r;
	return sd_bus_add_object_vtable(service->bus, &service->log_control, LOG_CONTROL_PATH,
	                                LOG_CONTROL_INTERFACE, log_control_vtable, service);
}
