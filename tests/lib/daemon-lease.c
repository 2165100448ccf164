/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../daemon/base/scoped.h"
#include "../../dbus/names.h"
#include "daemon-lease.h"

static void append_option(sd_bus_message *call, const char *name, const char *type, unsigned value)
{
	ck_assert_int_ge(sd_bus_message_append(call, "{sv}", name, type, value), 0);
}

sd_bus_message *daemon_lease_call(sd_bus *bus, const char *pool, uint64_t bytes,
                                  const struct daemon_lease_options *options)
{
	scoped(freep) char *path = NULL;
	sd_bus_message *call = NULL;

	ck_assert_int_ge(sd_bus_path_encode(NODEINIT_POOL_PREFIX, pool, &path), 0);
	ck_assert_int_ge(sd_bus_message_new_method_call(bus, &call, NODEINIT_BUS_NAME, path,
	                                                NODEINIT_POOL_INTERFACE, "Lease"),
	                 0);
	ck_assert_int_ge(sd_bus_message_append(call, "t", bytes), 0);
	ck_assert_int_ge(sd_bus_message_open_container(call, 'a', "{sv}"), 0);
	if (options && options->has_node)
		append_option(call, "node", "u", options->node_id);
	if (options && options->is_strict)
		append_option(call, "strict", "b", true);
	if (options && options->may_wait)
		append_option(call, "wait", "b", true);
	ck_assert_int_ge(sd_bus_message_close_container(call), 0);
	return call;
}

void daemon_lease_read(sd_bus_message *reply, struct daemon_lease *ret)
{
	int memory_fd, lifetime_fd;
	const char *id;
	int r;

	r = sd_bus_message_read(reply, "hhsut", &memory_fd, &lifetime_fd, &id, &ret->node_id,
	                        &ret->bytes);
	ck_assert_int_gt(r, 0);
	(void) snprintf(ret->id, sizeof(ret->id), "%s", id);
	ret->memory_fd = fcntl(memory_fd, F_DUPFD_CLOEXEC, 0);
	ck_assert_int_ge(ret->memory_fd, 0);
	ret->lifetime_fd = fcntl(lifetime_fd, F_DUPFD_CLOEXEC, 0);
	ck_assert_int_ge(ret->lifetime_fd, 0);
}

int daemon_lease(struct daemon_fixture *fixture, const char *pool, uint64_t bytes,
                 const struct daemon_lease_options *options, struct daemon_lease *ret,
                 sd_bus_error *ret_error)
{
	sd_bus *bus = daemon_client(fixture);
	scoped(sd_bus_message_unrefp) sd_bus_message *call =
		daemon_lease_call(bus, pool, bytes, options);
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	int r;

	*ret = (struct daemon_lease){ .memory_fd = -1, .lifetime_fd = -1 };
	r = sd_bus_call(bus, call, 0, ret_error, &reply);
	if (r < 0)
		return r;
	daemon_lease_read(reply, ret);
	return 0;
}

void daemon_lease_close(struct daemon_lease *lease)
{
	lease->memory_fd = fd_close(lease->memory_fd);
	lease->lifetime_fd = fd_close(lease->lifetime_fd);
}

/* Return: whether there was one more. */
static bool read_lease_line(sd_bus_message *reply, struct daemon_lease_line *ret)
{
	const char *id, *pool, *state, *unit;
	uint32_t uid, pid;
	int r;

	r = sd_bus_message_enter_container(reply, 'r', "ssutsuustta{sv}");
	ck_assert_int_ge(r, 0);
	if (r == 0)
		return false;
	r = sd_bus_message_read(reply, "ssutsuustt", &id, &pool, &ret->node_id, &ret->bytes, &state,
	                        &uid, &pid, &unit, &ret->since_realtime_usec,
	                        &ret->since_monotonic_usec);
	ck_assert_int_gt(r, 0);
	ck_assert_int_ge(sd_bus_message_skip(reply, "a{sv}"), 0);
	ck_assert_int_ge(sd_bus_message_exit_container(reply), 0);
	(void) snprintf(ret->id, sizeof(ret->id), "%s", id);
	(void) snprintf(ret->pool, sizeof(ret->pool), "%s", pool);
	(void) snprintf(ret->state, sizeof(ret->state), "%s", state);
	(void) snprintf(ret->unit, sizeof(ret->unit), "%s", unit);
	ret->uid = uid;
	ret->pid = (pid_t) pid;
	return true;
}

size_t daemon_leases(struct daemon_fixture *fixture, struct daemon_lease_line **ret)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct daemon_lease_line *lines = NULL, line;
	sd_bus_error error = SD_BUS_ERROR_NULL;
	size_t nr = 0;
	int r;

	r = sd_bus_call_method(daemon_client(fixture), NODEINIT_BUS_NAME, NODEINIT_PATH,
	                       NODEINIT_MANAGER_INTERFACE, "ListLeases", &error, &reply, "a{sv}",
	                       0);
	ck_assert_msg(r >= 0, "ListLeases: %s", error.message);
	ck_assert_int_gt(sd_bus_message_enter_container(reply, 'a', "(ssutsuustta{sv})"), 0);
	while (read_lease_line(reply, &line)) {
		lines = reallocarray(lines, nr + 1, sizeof(*lines));
		ck_assert_ptr_nonnull(lines);
		lines[nr++] = line;
	}
	*ret = lines;
	return nr;
}

int daemon_release(struct daemon_fixture *fixture, const char *id, sd_bus_error *ret_error)
{
	int r = sd_bus_call_method(daemon_client(fixture), NODEINIT_BUS_NAME, NODEINIT_PATH,
	                           NODEINIT_MANAGER_INTERFACE, "ReleaseLease", ret_error, NULL,
	                           "sa{sv}", id, 0);

	return r < 0 ? r : 0;
}
