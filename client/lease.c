/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lease: ask for memory, wait for it if that was wanted, and become the command that uses it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "../dbus/names.h"
#include "call.h"
#include "command.h"
#include "connect.h"
#include "lease.h"
#include "report.h"
#include "scoped.h"
#include "text.h"

#define USEC_PER_SEC UINT64_C(1000000)

/*
 * A call that waits is answered after 20 s at the latest, and made again. A daemon that says no
 * sooner is not asked more often than this.
 */
#define AGAIN_USEC (USEC_PER_SEC / 4)

/* A question that does not wait has this time for its answer, however short the whole time is. */
#define ANSWER_USEC USEC_PER_SEC

struct lease {
	const struct client *client;
	const char *pool;
	uint64_t bytes;
	char *object;            /* "16 GiB of pool guests on node 1" */
	uint64_t deadline_usec;  /* 0: it does not wait; UINT64_MAX: for ever */
	bool has_said, was_away; /* what it waits for */
	bool has_come;           /* the daemon, to the bus, since the last question */
};

static uint64_t now_usec(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * USEC_PER_SEC + (uint64_t) now.tv_nsec / 1000;
}

void lease_grant_clear(struct lease_grant *grant)
{
	if (grant->memory_fd >= 0)
		(void) close(grant->memory_fd);
	if (grant->lifetime_fd >= 0)
		(void) close(grant->lifetime_fd);
	free(grant->id);
}

static int append_options(sd_bus_message *message, const struct lease *lease, bool is_waiting)
{
	int r = sd_bus_message_open_container(message, 'a', "{sv}");

	if (r >= 0 && lease->client->has_node)
		r = sd_bus_message_append(message, "{sv}", "node", "u", lease->client->node_id);
	if (r >= 0 && lease->client->is_strict)
		r = sd_bus_message_append(message, "{sv}", "strict", "b", 1);
	if (r >= 0 && is_waiting)
		r = sd_bus_message_append(message, "{sv}", "wait", "b", 1);
	return r < 0 ? r : sd_bus_message_close_container(message);
}

/* One question. @limit_usec: how long the answer may take. */
static int ask(const struct lease *lease, sd_bus *bus, const char *path, bool is_waiting,
               uint64_t limit_usec, sd_bus_error *ret_error, sd_bus_message **ret_reply)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *message = NULL;
	int r;

	r = call_new(bus, path, NODEINIT_POOL_INTERFACE, "Lease", &message);
	if (r >= 0)
		r = sd_bus_message_append(message, "t", lease->bytes);
	if (r >= 0)
		r = append_options(message, lease, is_waiting);
	return r < 0 ? r : sd_bus_call(bus, message, limit_usec, ret_error, ret_reply);
}

static bool is_away(const sd_bus_error *error)
{
	return report_is_absence(error) || sd_bus_error_has_name(error, NODEINIT_ERROR_CANCELLED) ||
	       sd_bus_error_has_name(error, SD_BUS_ERROR_NO_REPLY);
}

/* Say once what is waited for, and again when it is something else. */
static void say_waiting(struct lease *lease, const sd_bus_error *error)
{
	bool is_to_come_back = is_away(error);
	scoped(freep) char *said = text_escape(error->message ? error->message : "not ready");

	if (lease->client->is_quiet || (lease->has_said && lease->was_away == is_to_come_back))
		return;
	fprintf(stderr, "meminitctl: %s: waiting: %s\n", lease->object,
	        is_to_come_back ? "nodeinitd is away"
	        : said          ? said
	                        : "?");
	lease->has_said = true;
	lease->was_away = is_to_come_back;
}

/* Will the answer be another one by and by? All regions leased is not: the daemon knows whether. */
static bool is_worth_a_wait(const sd_bus_error *error)
{
	return sd_bus_error_has_name(error, NODEINIT_ERROR_NOT_READY) ||
	       sd_bus_error_has_name(error, SD_BUS_ERROR_LIMITS_EXCEEDED) || is_away(error);
}

static int on_owner(sd_bus_message *signal, void *arg, sd_bus_error *ret_error)
{
	struct lease *lease = arg;
	const char *name, *old_owner, *new_owner;

	(void) ret_error;
	if (sd_bus_message_read(signal, "sss", &name, &old_owner, &new_owner) > 0 && *new_owner)
		lease->has_come = true;
	return 0;
}

/* Until @until_usec, or until the daemon comes to the bus. Return: 0; -errno: the bus is gone. */
static int pause_until(struct lease *lease, sd_bus *bus, uint64_t until_usec)
{
	lease->has_come = false;
	while (!lease->has_come) {
		uint64_t at_usec = now_usec();
		int r = sd_bus_process(bus, NULL);

		if (r < 0)
			return r;
		if (r == 0 && at_usec >= until_usec)
			return 0;
		if (r == 0)
			r = sd_bus_wait(bus, until_usec == UINT64_MAX ? UINT64_MAX
			                                              : until_usec - at_usec);
		if (r < 0 && r != -EINTR)
			return r;
	}
	return 0;
}

/* One question; *path is asked for where it is NULL. Return: as sd_bus_call(3); -EBUSY: the time is
 * over. */
static int ask_once(struct lease *lease, sd_bus *bus, char **path, bool is_waiting,
                    sd_bus_error *ret_error, sd_bus_message **ret_reply)
{
	uint64_t at_usec = now_usec(), limit_usec = CONNECT_CALL_USEC;
	int r;

	if (lease->deadline_usec && lease->deadline_usec != UINT64_MAX) {
		uint64_t left_usec =
			lease->deadline_usec > at_usec ? lease->deadline_usec - at_usec : 0;

		if (!is_waiting && left_usec < ANSWER_USEC)
			left_usec = ANSWER_USEC;
		if (left_usec < limit_usec)
			limit_usec = left_usec;
	}
	if (!limit_usec)
		return -EBUSY;
	if (!*path) {
		r = call_get_pool(bus, lease->pool, limit_usec, ret_error, path);
		if (r < 0)
			return r;
	}
	return ask(lease, bus, *path, is_waiting, limit_usec, ret_error, ret_reply);
}

/*
 * Ask again until the time is over. *error is the first answer, and then the last: a question that
 * the end of the time cuts off is not reported as a daemon that is silent. One that is restarted
 * comes back with its regions.
 */
static int ask_on(struct lease *lease, sd_bus *bus, char **path, sd_bus_error *error,
                  sd_bus_message **ret_reply)
{
	uint64_t begun_usec = now_usec(), until_usec;
	int r;

	/* Now comes the first question that waits. */
	if (sd_bus_error_has_name(error, NODEINIT_ERROR_NOT_READY))
		begun_usec -= AGAIN_USEC;
	for (;;) {
		scoped(sd_bus_error_free) sd_bus_error next = SD_BUS_ERROR_NULL;

		until_usec = begun_usec + AGAIN_USEC;
		if (report_is_absence(error) || until_usec > lease->deadline_usec)
			until_usec = lease->deadline_usec;
		if (is_worth_a_wait(error)) {
			say_waiting(lease, error);
			r = pause_until(lease, bus, until_usec);
			if (r < 0)
				return r;
		}
		begun_usec = now_usec();
		r = ask_once(lease, bus, path, true, &next, ret_reply);
		if (r == -EBUSY || (r == -ETIMEDOUT && now_usec() >= lease->deadline_usec))
			return -EBUSY;
		sd_bus_error_free(error);
		if (r >= 0)
			return r;
		(void) sd_bus_error_move(error, &next);
		if (!is_worth_a_wait(error))
			return r;
	}
}

/*
 * The first question does not wait, so it has the time of an answer however short the time is. That
 * all regions are leased is a shortfall to it, and worth a wait: the daemon knows whether.
 */
static int ask_until(struct lease *lease, sd_bus *bus, sd_bus_error *error,
                     sd_bus_message **ret_reply)
{
	scoped(freep) char *path = NULL;
	int r = 0;

	/* Before the first question, so that no coming falls in between. */
	if (lease->deadline_usec)
		r = sd_bus_add_match(bus, NULL,
		                     "type='signal',sender='org.freedesktop.DBus',"
		                     "interface='org.freedesktop.DBus',member='NameOwnerChanged',"
		                     "arg0='" NODEINIT_BUS_NAME "'",
		                     on_owner, lease);
	if (r < 0)
		return r;
	r = ask_once(lease, bus, &path, false, error, ret_reply);
	if (r >= 0 || !lease->deadline_usec)
		return r;
	if (!is_worth_a_wait(error) && !sd_bus_error_has_name(error, NODEINIT_ERROR_SHORTFALL))
		return r;
	return ask_on(lease, bus, &path, error, ret_reply);
}

static int fail(const struct lease *lease, int error, const sd_bus_error *bus_error)
{
	int status;

	if (sd_bus_error_has_name(bus_error, NODEINIT_ERROR_NO_SUCH_POOL))
		return report_no_such("pool", lease->pool);
	status = report_call_of(lease->object, "the pool's Users= and Groups= say who may", error,
	                        bus_error);
	if (error == -EBUSY || sd_bus_error_has_name(bus_error, NODEINIT_ERROR_NOT_READY)) {
		fprintf(stderr, "meminitctl: %s: %s\n", lease->object,
		        lease->deadline_usec ? "not ready within the time limit"
		                             : "--timeout=5min would wait for it");
		status = CLIENT_NOT_READY;
	}
	return is_away(bus_error) ? CLIENT_NO_DAEMON : status;
}

/* Out of the way of the numbers that the command will find them at. */
static int take_grant(sd_bus_message *reply, struct lease_grant *ret)
{
	int memory_fd, lifetime_fd, r;
	const char *id;

	r = sd_bus_message_read(reply, "hhsut", &memory_fd, &lifetime_fd, &id, &ret->node_id,
	                        &ret->bytes);
	if (r <= 0)
		return -EBADMSG;
	ret->id = strdup(id);
	if (!ret->id)
		return -ENOMEM;
	ret->memory_fd = fcntl(memory_fd, F_DUPFD_CLOEXEC, LEASE_LIFETIME_FD + 1);
	if (ret->memory_fd < 0)
		return -errno;
	ret->lifetime_fd = fcntl(lifetime_fd, F_DUPFD_CLOEXEC, LEASE_LIFETIME_FD + 1);
	return ret->lifetime_fd < 0 ? -errno : 0;
}

static void say_node(const struct lease *lease, const struct lease_grant *grant)
{
	const struct client *client = lease->client;

	if (client->has_node && grant->node_id != client->node_id && !client->is_quiet)
		fprintf(stderr,
		        "meminitctl: %s: on node %" PRIu32 ", node %" PRIu32 " had none ready\n",
		        lease->object, grant->node_id, client->node_id);
}

/* The connection is closed when this returns: the lease lives by its own descriptor. */
static int get(struct lease *lease, struct lease_grant *ret)
{
	scoped(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	scoped(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
	int r;

	r = connect_bus(lease->client, &bus);
	if (r < 0)
		return connect_report(lease->client, r);
	if (sd_bus_can_send(bus, SD_BUS_TYPE_UNIX_FD) <= 0) {
		fprintf(stderr, "meminitctl: lease: this bus carries no descriptors; a bus at a "
		                "unix: address does\n");
		return CLIENT_USAGE;
	}
	r = ask_until(lease, bus, &error, &reply);
	if (r >= 0)
		r = take_grant(reply, ret);
	if (r < 0)
		return fail(lease, r, &error);
	say_node(lease, ret);
	return CLIENT_REACHED;
}

static int usage(const char *why)
{
	fprintf(stderr, "meminitctl: lease: %s\n", why);
	return CLIENT_USAGE;
}

static int check_place(const struct client *client)
{
	if (client->host || client->machine)
		return usage("memory cannot be handed on from another host or a machine; run "
		             "meminitctl lease there");
	if (client->is_strict && !client->has_node)
		return usage("--strict needs --node=: there is no node to insist on");
	/* The command would take the memory for a socket: it keeps this pid. */
	if (sd_listen_fds(0) > 0)
		return usage("$LISTEN_FDS is set: descriptor 3 is a socket that systemd passes, "
		             "and the memory's place");
	return 0;
}

static int parse_bytes(const char *text, uint64_t *ret_bytes)
{
	scoped(freep) char *shown = text_escape(text);
	const char *word = shown ? shown : "?";
	int r = text_parse_bytes(text, ret_bytes);

	if (r == -EDOM)
		fprintf(stderr,
		        "meminitctl: lease: '%s' has no unit and two readings: write %sG for "
		        "gigabytes or %sB for bytes\n",
		        word, word, word);
	else if (r < 0)
		fprintf(stderr,
		        "meminitctl: lease: '%s' is %s; write bytes with a unit as 16G, or 0 for "
		        "any region\n",
		        word, r == -ERANGE ? "out of range" : "no number of bytes");
	return r;
}

static int describe(struct lease *lease)
{
	scoped(freep) char *pool = text_escape(lease->pool);
	char size[TEXT_MAX], node[TEXT_MAX] = "";
	const struct client *client = lease->client;

	if (client->has_node)
		(void) snprintf(node, sizeof(node), " on node %" PRIu32, client->node_id);
	(void) text_size(lease->bytes, client->is_bytes, size);
	if (!pool || asprintf(&lease->object, "%s of pool %s%s", lease->bytes ? size : "a region",
	                      pool, node) < 0) {
		lease->object = NULL;
		return -ENOMEM;
	}
	return 0;
}

static uint64_t deadline_of(const struct client *client)
{
	uint64_t deadline_usec;

	if (!client->has_timeout || !client->timeout_usec)
		return 0;
	if (__builtin_add_overflow(now_usec(), client->timeout_usec, &deadline_usec))
		return UINT64_MAX;
	return deadline_usec;
}

int verb_lease(const struct client *client, char **operands)
{
	scoped(lease_grant_clear) struct lease_grant grant = { .memory_fd = -1, .lifetime_fd = -1 };
	struct lease lease = { .client = client, .pool = operands[0] };
	scoped(freep) char *path = NULL;
	char **command = operands + 2;
	int status, r;

	status = check_place(client);
	if (status)
		return status;
	if (parse_bytes(operands[1], &lease.bytes) < 0)
		return CLIENT_USAGE;
	/* What is lent in vain has to be filled again. */
	r = command_find(command[0], &path);
	if (r < 0)
		return command_refuse("lease", command[0], -r);
	if (describe(&lease) < 0)
		return report_no_memory();
	lease.deadline_usec = deadline_of(client);
	status = get(&lease, &grant);
	free(lease.object);
	return status == CLIENT_REACHED ? lease_command_run(&grant, command) : status;
}
