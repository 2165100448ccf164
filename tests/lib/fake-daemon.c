/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fake-daemon - the face of nodeinitd without anything behind it, for tests of clients
 *
 * Usage: fake-daemon ADDRESS. Owns the name on that bus and obeys lines on standard input, each
 * answered by one line, "ok" or what was asked for, when it has been done and sent:
 *
 *     host KEY=VALUE...             set properties of the manager (State=ready Ready=1 ...)
 *     node ID KEY=VALUE...          the same for a node, which is made if need be
 *     pool NAME KEY=VALUE...        the same for a pool
 *     share POOL NODE STATE TOTAL EARLY DONE SHORT REASON    ("-" for no reason)
 *     remove POOL                   withdraw a pool
 *     refuse MEMBER ERROR TEXT...   answer calls of MEMBER with an error from now on
 *     mute MEMBER                   never answer them
 *     babble MEMBER                 answer them with one text, whatever they should return
 *     obey MEMBER                   as before
 *     calls MEMBER                  how often it was called
 *     await MEMBER N                wait until it was called N times
 *     lend NODE                     lease from that node, whatever is asked for
 *     lend-later N [ERROR]          answer the next N calls of Lease with NotReady, or that error
 *     lend-never                    never answer those that wait
 *     lease ID POOL NODE BYTES STATE UID PID UNIT REALTIME MONOTONIC    show it ("-": no unit)
 *     asked                         what the last call of Lease asked for: BYTES NODE STRICT WAIT
 *     is-ended                      0 or 1: whether the last lease has ended
 *     await-end                     wait until the last lease has ended
 *     release, acquire              the name
 *     spoof                         tell everybody from another connection that the host is ready
 *     retype                        show State as a number
 *     unsaid                        have pools from now on that do not show RegionSize
 *
 * Values and TEXT may hold \xNN. "many N" makes nodes 0 to N-1 with a pool "guests" on all of them.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "../../dbus/names.h"
#include "fake-leases.h"
#include "fake-objects.h"

#define RULES_MAX 16

static struct rule {
	char member[64], error[128], text[512];
	unsigned nr_calls;
	bool is_mute, is_babbling;
} rules[RULES_MAX];

sd_bus *bus;
static const char *address;

void fake_check(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "fake-daemon: %s: %s\n", what, strerror(-r));
	exit(1);
}

static struct rule *rule_of(const char *member)
{
	size_t i;

	for (i = 0; i < RULES_MAX && *rules[i].member; i++)
		if (strcmp(rules[i].member, member) == 0)
			return &rules[i];
	if (i == RULES_MAX)
		exit(1);
	(void) snprintf(rules[i].member, sizeof(rules[i].member), "%s", member);
	return &rules[i];
}

/* Sees every call before it reaches its object. */
static int on_message(sd_bus_message *message, void *arg, sd_bus_error *error)
{
	struct rule *rule;

	(void) arg, (void) error;
	if (!sd_bus_message_is_method_call(message, NULL, NULL))
		return 0;
	rule = rule_of(sd_bus_message_get_member(message));
	rule->nr_calls++;
	if (rule->is_mute)
		return 1;
	if (rule->is_babbling)
		return sd_bus_reply_method_return(message, "s", "babble");
	if (*rule->error)
		return sd_bus_reply_method_errorf(message, rule->error, "%s", rule->text);
	return 0;
}

static sd_bus *connect_to_bus(void)
{
	sd_bus *connection = NULL;

	fake_check(sd_bus_new(&connection), "bus");
	fake_check(sd_bus_set_address(connection, address), address);
	fake_check(sd_bus_set_bus_client(connection, 1), "bus");
	fake_check(sd_bus_start(connection), address);
	return connection;
}

/* What any user can do: a signal from another connection straight to whoever is on the bus. */
static void spoof(void)
{
	sd_bus *liar = connect_to_bus();
	sd_bus_message *reply = NULL;
	char **names = NULL, **name;

	fake_check(sd_bus_list_names(liar, &names, NULL), "names");
	for (name = names; *name; name++) {
		sd_bus_message *lie = NULL;

		if (**name == ':') {
			fake_check(sd_bus_message_new_signal(liar, &lie, NODEINIT_PATH,
			                                     "org.freedesktop.DBus.Properties",
			                                     "PropertiesChanged"),
			           "lie");
			fake_check(sd_bus_message_append(lie, "sa{sv}as",
			                                 NODEINIT_MANAGER_INTERFACE, 2, "State",
			                                 "s", "ready", "Ready", "b", 1, 0),
			           "lie");
			fake_check(sd_bus_message_set_destination(lie, *name), "lie");
			fake_check(sd_bus_send(liar, lie, NULL), "lie");
			sd_bus_message_unref(lie);
		}
		free(*name);
	}
	free(names);
	/* The bus has passed them on before it answers this. */
	fake_check(sd_bus_call_method(liar, "org.freedesktop.DBus", "/org/freedesktop/DBus",
	                              "org.freedesktop.DBus.Peer", "Ping", NULL, &reply, ""),
	           "ping");
	sd_bus_message_unref(reply);
	sd_bus_flush_close_unref(liar);
}

static void await(const struct rule *rule, unsigned nr_calls)
{
	while (rule->nr_calls < nr_calls) {
		int r = sd_bus_process(bus, NULL);

		fake_check(r, "process");
		if (r == 0)
			fake_check(sd_bus_wait(bus, UINT64_MAX), "wait");
	}
}

/* Commands on the bus name and on calls. Return: false, it is none of these. */
static bool obey_bus_line(const char *verb, char *key, char *rest)
{
	if (strcmp(verb, "refuse") == 0) {
		if (sscanf(rest, "%127s %511[^\n]", rule_of(key)->error, rule_of(key)->text) < 1)
			exit(1);
		fake_unescape(rule_of(key)->text);
	} else if (strcmp(verb, "mute") == 0) {
		rule_of(key)->is_mute = true;
	} else if (strcmp(verb, "babble") == 0) {
		rule_of(key)->is_babbling = true;
	} else if (strcmp(verb, "obey") == 0) {
		rule_of(key)->is_mute = rule_of(key)->is_babbling = false;
		*rule_of(key)->error = '\0';
	} else if (strcmp(verb, "calls") == 0) {
		printf("%u ", rule_of(key)->nr_calls);
	} else if (strcmp(verb, "await") == 0) {
		await(rule_of(key), (unsigned) strtoul(rest, NULL, 10));
	} else if (strcmp(verb, "release") == 0) {
		fake_check(sd_bus_release_name(bus, NODEINIT_BUS_NAME), "release");
	} else if (strcmp(verb, "acquire") == 0) {
		fake_check(sd_bus_request_name(bus, NODEINIT_BUS_NAME, 0), "acquire");
	} else {
		return false;
	}
	return true;
}

/* Commands on leases. Return: false, it is none of these. */
static bool obey_lease_line(const char *verb, const char *words)
{
	if (strcmp(verb, "lend") == 0)
		fake_lend_from((unsigned) strtoul(words, NULL, 10));
	else if (strcmp(verb, "lend-later") == 0)
		fake_lend_later(words);
	else if (strcmp(verb, "lend-never") == 0)
		fake_lend_never();
	else if (strcmp(verb, "lease") == 0)
		fake_add_lease(words);
	else if (strcmp(verb, "asked") == 0)
		fake_print_asked();
	else if (strcmp(verb, "is-ended") == 0)
		fake_print_is_ended();
	else if (strcmp(verb, "await-end") == 0)
		fake_await_end();
	else
		return false;
	return true;
}

static void obey_line(char *line)
{
	char *rest = line, *verb = strsep(&rest, " "), *key, *words = rest;
	bool is_done = obey_lease_line(verb, words), is_new = false;
	struct object *object;

	key = rest ? strsep(&rest, " ") : NULL;
	if (is_done || obey_bus_line(verb, key, rest)) {
		;
	} else if (strcmp(verb, "host") == 0) {
		if (key && rest)
			rest[-1] = ' ';
		fake_apply(fake_find(NODEINIT_MANAGER_INTERFACE, "host"), key, false);
	} else if (strcmp(verb, "node") == 0) {
		object = fake_node(key, &is_new);
		fake_apply(object, rest, is_new);
	} else if (strcmp(verb, "pool") == 0) {
		object = fake_pool(key, &is_new);
		fake_apply(object, rest, is_new);
	} else if (strcmp(verb, "share") == 0) {
		if (key && rest)
			rest[-1] = ' ';
		fake_share(words);
	} else if (strcmp(verb, "remove") == 0) {
		fake_withdraw(key);
	} else if (strcmp(verb, "many") == 0) {
		fake_many((unsigned) strtoul(key, NULL, 10));
	} else if (strcmp(verb, "spoof") == 0) {
		spoof();
	} else if (strcmp(verb, "retype") == 0) {
		fake_retype();
	} else if (strcmp(verb, "unsaid") == 0) {
		fake_unsaid();
	} else {
		fprintf(stderr, "fake-daemon: no command %s\n", verb);
		exit(1);
	}
	fake_check(sd_bus_flush(bus), "flush");
	puts("ok");
}

/* Lines that are complete in @buffer are obeyed and taken out of it. Return: false at the end. */
static bool read_lines(char *buffer, size_t *nr_bytes, size_t buffer_bytes)
{
	ssize_t got = read(STDIN_FILENO, buffer + *nr_bytes, buffer_bytes - 1 - *nr_bytes);
	char *end;

	if (got <= 0)
		return false;
	*nr_bytes += (size_t) got;
	buffer[*nr_bytes] = '\0';
	while ((end = strchr(buffer, '\n'))) {
		*end = '\0';
		obey_line(buffer);
		*nr_bytes -= (size_t) (end + 1 - buffer);
		memmove(buffer, end + 1, *nr_bytes + 1);
	}
	return true;
}

static void loop(void)
{
	static char buffer[65536];
	size_t nr_bytes = 0;

	for (;;) {
		struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
			                 { .fd = sd_bus_get_fd(bus) } };
		int r;

		do {
			r = sd_bus_process(bus, NULL);
			fake_check(r, "process");
		} while (r > 0);
		fds[1].events = (short) sd_bus_get_events(bus);
		if (poll(fds, 2, -1) < 0)
			fake_check(-errno, "poll");
		if (fds[0].revents && !read_lines(buffer, &nr_bytes, sizeof(buffer)))
			return;
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	address = argv[1];
	(void) setvbuf(stdout, NULL, _IOLBF, 0);
	bus = connect_to_bus();
	fake_check(sd_bus_add_filter(bus, NULL, on_message, NULL), "filter");
	fake_check(sd_bus_add_object_manager(bus, NULL, NODEINIT_PATH), "manager");
	fake_host();
	fake_check(sd_bus_request_name(bus, NODEINIT_BUS_NAME, 0), NODEINIT_BUS_NAME);
	puts("ok");
	loop();
	sd_bus_flush_close_unref(bus);
	return 0;
}
