/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../dbus/names.h"
#include "connect.h"
#include "follow.h"
#include "report.h"
#include "scoped.h"

/* The bus itself is away: nothing can tell when it is back, so it is tried for. */
#define RECONNECT_FIRST_USEC UINT64_C(100000)
#define RECONNECT_MAX_USEC   UINT64_C(5000000)

/* So many messages in a turn before the viewer gets a look. */
#define TURN_MESSAGES 64

#define PROPERTIES_INTERFACE "org.freedesktop.DBus.Properties"
#define OBJECTS_INTERFACE    "org.freedesktop.DBus.ObjectManager"

struct follower {
	const struct client *client;
	sd_bus *bus;            /* NULL: no connection */
	sd_bus_slot *read_slot; /* the request on its way, or NULL */
	struct model model;
	char *owner;     /* the daemon's unique name; NULL: model is empty */
	bool is_whole;   /* the host's answer is in the model too; signals are taken before that */
	bool was_seen;   /* once at least */
	bool was_read;   /* the same, or its absence is borne */
	bool is_patient; /* its absence at the start is as one that comes later */
	int end_status;  /* FOLLOW_ON, or a reported failure that ends it */
	uint64_t reconnect_usec, backoff_usec;
};

uint64_t follow_now_usec(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

static void say(const struct follower *follower, const char *what)
{
	if (!follower->client->is_quiet)
		fprintf(stderr, "meminitctl: %s\n", what);
}

static void forget(struct follower *follower)
{
	model_clear(&follower->model);
	free(follower->owner);
	follower->owner = NULL;
	follower->is_whole = false;
}

static int on_read(sd_bus_message *reply, void *arg, sd_bus_error *ret_error);

static int request(struct follower *follower)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *message = NULL;
	int r;

	follower->read_slot = sd_bus_slot_unref(follower->read_slot);
	r = model_request(follower->bus, &message);
	if (r < 0)
		return r;
	return sd_bus_call_async(follower->bus, &follower->read_slot, message, on_read, follower,
	                         0);
}

/* A failure of our own or a message that cannot be understood: there is no way on. */
static void fail(struct follower *follower, int error)
{
	const sd_bus_error none = SD_BUS_ERROR_NULL;

	follower->end_status = report_call(follower->client->verb, error, &none);
}

static int refused_read(struct follower *follower, sd_bus_message *reply)
{
	const sd_bus_error *error = sd_bus_message_get_error(reply);
	int r;

	/* Away, or not there yet; the next NameOwnerChanged reads anew. */
	if (report_is_absence(error) && (follower->was_read || follower->is_patient)) {
		if (!follower->was_read)
			say(follower, "nodeinitd is not on the bus; waiting for it");
		follower->was_read = true;
		return 0;
	}
	/* A daemon that is slow to come back. The call itself took its time limit. */
	if (follower->was_read && sd_bus_error_has_name(error, SD_BUS_ERROR_NO_REPLY)) {
		r = request(follower);
		if (r < 0)
			fail(follower, r);
		return 0;
	}
	follower->end_status =
		report_call(follower->client->verb, -sd_bus_message_get_errno(reply), error);
	return 0;
}

static int on_host(sd_bus_message *reply, void *arg, sd_bus_error *ret_error)
{
	struct follower *follower = arg;
	int r;

	(void) ret_error;
	if (sd_bus_message_is_method_error(reply, NULL))
		return refused_read(follower, reply);
	r = model_replace_host(&follower->model, reply);
	if (r < 0) {
		fail(follower, r);
		return 0;
	}
	follower->is_whole = true;
	follower->was_read = true;
	follower->was_seen = true;
	return 0;
}

static int request_host(struct follower *follower)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *message = NULL;
	int r;

	follower->read_slot = sd_bus_slot_unref(follower->read_slot);
	r = model_request_host(follower->bus, &message);
	if (r < 0)
		return r;
	return sd_bus_call_async(follower->bus, &follower->read_slot, message, on_host, follower,
	                         0);
}

static int on_read(sd_bus_message *reply, void *arg, sd_bus_error *ret_error)
{
	struct follower *follower = arg;
	char *owner;
	int r;

	(void) ret_error;
	if (sd_bus_message_is_method_error(reply, NULL))
		return refused_read(follower, reply);
	r = model_replace(&follower->model, reply);
	if (r < 0) {
		fail(follower, r);
		return 0;
	}
	owner = strdup(sd_bus_message_get_sender(reply));
	if (!owner) {
		fail(follower, -ENOMEM);
		return 0;
	}
	free(follower->owner);
	follower->owner = owner;
	follower->is_whole = false;
	r = request_host(follower);
	if (r < 0)
		fail(follower, r);
	return 0;
}

static int on_owner(sd_bus_message *signal, void *arg, sd_bus_error *ret_error)
{
	struct follower *follower = arg;
	const char *sender = sd_bus_message_get_sender(signal), *name, *old_owner, *new_owner;
	int r;

	(void) ret_error;
	if (!sender || strcmp(sender, "org.freedesktop.DBus") != 0 ||
	    sd_bus_message_read(signal, "sss", &name, &old_owner, &new_owner) < 0 ||
	    strcmp(name, NODEINIT_BUS_NAME) != 0)
		return 0;
	if (follower->owner && strcmp(follower->owner, new_owner) != 0) {
		forget(follower);
		if (!*new_owner)
			say(follower, "nodeinitd left the bus; waiting for it to come back");
	}
	if (*new_owner && !follower->owner) {
		r = request(follower);
		if (r < 0)
			fail(follower, r);
	}
	return 0;
}

static int on_change(sd_bus_message *signal, void *arg, sd_bus_error *ret_error)
{
	struct follower *follower = arg;
	const char *sender = sd_bus_message_get_sender(signal);
	int r;

	(void) ret_error;
	/* Before the read the signal is older than what is coming; from others it is a lie. */
	if (!follower->owner || !sender || strcmp(sender, follower->owner) != 0)
		return 0;
	if (sd_bus_message_is_signal(signal, PROPERTIES_INTERFACE, "PropertiesChanged"))
		r = model_changed(&follower->model, signal);
	else if (sd_bus_message_is_signal(signal, OBJECTS_INTERFACE, "InterfacesAdded"))
		r = model_added(&follower->model, signal);
	else
		r = model_removed(&follower->model, signal);
	if (r > 0)
		r = request(follower);
	if (r < 0)
		fail(follower, r);
	return 0;
}

static int subscribe(struct follower *follower)
{
	static const char owner_rule[] =
		"type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
		"member='NameOwnerChanged',arg0='" NODEINIT_BUS_NAME "'";
	static const char *const rules[] = {
		"type='signal',sender='" NODEINIT_BUS_NAME "',interface='" PROPERTIES_INTERFACE
		"',member='PropertiesChanged',path_namespace='" NODEINIT_PATH "'",
		"type='signal',sender='" NODEINIT_BUS_NAME "',interface='" OBJECTS_INTERFACE
		"',path='" NODEINIT_PATH "'",
	};
	size_t i;
	int r;

	r = sd_bus_add_match(follower->bus, NULL, owner_rule, on_owner, follower);
	for (i = 0; r >= 0 && i < ELEMENTS(rules); i++)
		r = sd_bus_add_match(follower->bus, NULL, rules[i], on_change, follower);
	return r < 0 ? r : request(follower);
}

static void disconnect(struct follower *follower)
{
	follower->read_slot = sd_bus_slot_unref(follower->read_slot);
	follower->bus = sd_bus_close_unref(follower->bus);
	forget(follower);
}

static int open_and_subscribe(struct follower *follower)
{
	int r;

	r = connect_bus(follower->client, &follower->bus);
	if (r < 0)
		return r;
	r = subscribe(follower);
	if (r < 0)
		disconnect(follower);
	return r;
}

/* The bus is gone. A remote one may want a password again: that is not asked for unseen. */
static void lose(struct follower *follower, int error)
{
	bool may_return = follower->was_read && !follower->client->host;

	disconnect(follower);
	if (!may_return) {
		follower->end_status = connect_report(follower->client, error);
		return;
	}
	say(follower, "the bus went away; waiting for it to come back");
	follower->backoff_usec = RECONNECT_FIRST_USEC;
	follower->reconnect_usec = follow_now_usec() + follower->backoff_usec;
}

static void reconnect(struct follower *follower, uint64_t now_usec)
{
	if (now_usec < follower->reconnect_usec)
		return;
	if (open_and_subscribe(follower) >= 0)
		return;
	follower->backoff_usec *= 2;
	if (follower->backoff_usec > RECONNECT_MAX_USEC)
		follower->backoff_usec = RECONNECT_MAX_USEC;
	follower->reconnect_usec = follow_now_usec() + follower->backoff_usec;
}

static void turn(struct follower *follower)
{
	int r = 1, i;

	for (i = 0; r > 0 && i < TURN_MESSAGES && follower->end_status == FOLLOW_ON; i++)
		r = sd_bus_process(follower->bus, NULL);
	if (r < 0 && follower->end_status == FOLLOW_ON)
		lose(follower, r);
}

/* Until something arrives or @wake_usec; at once when messages are left from this turn. */
static void wait_for_more(struct follower *follower, uint64_t wake_usec)
{
	uint64_t now_usec = follow_now_usec(), left_usec;
	struct timespec limit;

	if (!follower->bus && follower->reconnect_usec < wake_usec)
		wake_usec = follower->reconnect_usec;
	left_usec = wake_usec == UINT64_MAX ? UINT64_MAX
	                                    : (wake_usec > now_usec ? wake_usec - now_usec : 0);
	if (follower->bus) {
		(void) sd_bus_wait(follower->bus, left_usec);
		return;
	}
	limit.tv_sec = (time_t) (left_usec / 1000000);
	limit.tv_nsec = (long) (left_usec % 1000000) * 1000;
	(void) ppoll(NULL, 0, &limit, NULL);
}

static int never_came(const struct follower *follower)
{
	const sd_bus_error error =
		SD_BUS_ERROR_MAKE_CONST(SD_BUS_ERROR_NAME_HAS_NO_OWNER, "nobody came");

	return report_call(follower->client->verb, -ENXIO, &error);
}

static int run(struct follower *follower, uint64_t limit_usec, follow_look_fn look, void *arg)
{
	uint64_t deadline_usec = UINT64_MAX, now_usec = follow_now_usec(), wake_usec;
	int status;

	if (__builtin_add_overflow(now_usec, limit_usec, &deadline_usec))
		deadline_usec = UINT64_MAX;
	for (;;) {
		if (follower->bus)
			turn(follower);
		else
			reconnect(follower, now_usec);
		if (follower->end_status != FOLLOW_ON)
			return follower->end_status;
		now_usec = follow_now_usec();
		wake_usec = UINT64_MAX;
		if (follower->was_read && (follower->is_whole || !follower->owner)) {
			status = look(follower->owner ? &follower->model : NULL, now_usec,
			              &wake_usec, arg);
			if (status != FOLLOW_ON)
				return status;
		}
		/* The first answer has the time of a call, so that a limit of 0 asks "now?". */
		if (now_usec >= deadline_usec && follower->was_read)
			return follower->was_seen ? CLIENT_NOT_READY : never_came(follower);
		if (follower->was_read && deadline_usec < wake_usec)
			wake_usec = deadline_usec;
		wait_for_more(follower, wake_usec);
		now_usec = follow_now_usec();
	}
}

int follow(const struct client *client, uint64_t limit_usec, bool is_patient, follow_look_fn look,
           void *arg)
{
	struct follower follower = {
		.client = client,
		.is_patient = is_patient,
		.end_status = FOLLOW_ON,
	};
	int r, status;

	r = open_and_subscribe(&follower);
	if (r < 0)
		return connect_report(client, r);
	status = run(&follower, limit_usec, look, arg);
	disconnect(&follower);
	return status;
}
