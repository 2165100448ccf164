/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "../../daemon/base/scoped.h"
#include "../../dbus/names.h"
#include "landlord.h"

#define POOL      "attacked"
#define POOL_PATH NODEINIT_POOL_PREFIX "/" POOL

void landlord_start(struct landlord *landlord, const struct pages *pages, uint64_t region_bytes)
{
	char text[256];

	landlord->region_bytes = region_bytes;
	daemon_fixture_start(&landlord->daemon);
	(void) snprintf(text, sizeof(text),
	                "[Pool]\nKind=region\nPageSize=%s\nNodes=0\nSize=%" PRIu64 "\n"
	                "[Region]\nRegionSize=%" PRIu64 "\n",
	                pages->setting, LANDLORD_REGIONS * region_bytes, region_bytes);
	daemon_write_pool(&landlord->daemon, POOL, text);
	daemon_launch(&landlord->daemon, NULL);
	landlord->pid = landlord->daemon.pid;
	daemon_wait_notified(&landlord->daemon, "READY=1");
	daemon_wait_state(&landlord->daemon, POOL_PATH, NODEINIT_POOL_INTERFACE, "ready");
	landlord_wait(landlord, 0, 0, LANDLORD_REGIONS);
}

void landlord_end(struct landlord *landlord)
{
	landlord_assert_alive(landlord);
	ck_assert_int_eq(daemon_end(&landlord->daemon, SIGTERM), 0);
}

void landlord_stop(struct landlord *landlord)
{
	if (landlord->daemon.directory[0])
		daemon_fixture_stop(&landlord->daemon);
}

void landlord_lease(struct landlord *landlord, struct landlord_lease *ret)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int memory_fd, lifetime_fd, r;
	uint64_t bytes;
	uint32_t node;
	const char *id;

	r = sd_bus_call_method(landlord->daemon.client, NODEINIT_BUS_NAME, POOL_PATH,
	                       NODEINIT_POOL_INTERFACE, "Lease", &error, &reply, "ta{sv}",
	                       landlord->region_bytes, 0);
	ck_assert_msg(r >= 0, "Lease: %s: %s", error.name, error.message);
	ck_assert_int_ge(
		sd_bus_message_read(reply, "hhsut", &memory_fd, &lifetime_fd, &id, &node, &bytes),
		0);
	ck_assert_uint_eq(node, 0);
	ck_assert_uint_eq(bytes, landlord->region_bytes);
	(void) snprintf(ret->id, sizeof(ret->id), "%s", id);
	ret->memory_fd = fcntl(memory_fd, F_DUPFD_CLOEXEC, 0);
	ret->lifetime_fd = fcntl(lifetime_fd, F_DUPFD_CLOEXEC, 0);
	ck_assert_int_ge(ret->memory_fd, 0);
	ck_assert_int_ge(ret->lifetime_fd, 0);
}

void landlord_count(struct landlord *landlord, unsigned *ret_nr_leased, unsigned *ret_nr_draining)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	sd_bus_error error = SD_BUS_ERROR_NULL;
	const char *id, *pool, *state, *unit;
	uint64_t bytes;
	int r;

	*ret_nr_leased = *ret_nr_draining = 0;
	r = sd_bus_call_method(landlord->daemon.client, NODEINIT_BUS_NAME, NODEINIT_PATH,
	                       NODEINIT_MANAGER_INTERFACE, "ListLeases", &error, &reply, "a{sv}",
	                       0);
	ck_assert_msg(r >= 0, "ListLeases: %s", error.message);
	ck_assert_int_ge(sd_bus_message_enter_container(reply, 'a', "(ssutsuustta{sv})"), 0);
	while ((r = sd_bus_message_enter_container(reply, 'r', "ssutsuustta{sv}")) > 0) {
		ck_assert_int_ge(sd_bus_message_read(reply, "ssutsuustt", &id, &pool, NULL, &bytes,
		                                     &state, NULL, NULL, &unit, NULL, NULL),
		                 0);
		ck_assert_int_ge(sd_bus_message_skip(reply, "a{sv}"), 0);
		ck_assert_int_ge(sd_bus_message_exit_container(reply), 0);
		ck_assert_str_eq(pool, POOL);
		ck_assert_uint_eq(bytes, landlord->region_bytes);
		*ret_nr_leased += strcmp(state, "leased") == 0;
		*ret_nr_draining += strcmp(state, "draining") == 0;
	}
	ck_assert_int_ge(r, 0);
}

static void wait_for(struct landlord *landlord, const char *property, unsigned nr_regions)
{
	daemon_wait_u64(&landlord->daemon, POOL_PATH, NODEINIT_POOL_INTERFACE, property,
	                nr_regions * landlord->region_bytes);
}

void landlord_wait(struct landlord *landlord, unsigned nr_leased, unsigned nr_draining,
                   unsigned nr_done)
{
	unsigned nr_listed_leased, nr_listed_draining;

	wait_for(landlord, "BytesLeased", nr_leased);
	wait_for(landlord, "BytesDraining", nr_draining);
	wait_for(landlord, "BytesDone", nr_done);
	landlord_count(landlord, &nr_listed_leased, &nr_listed_draining);
	ck_assert_uint_eq(nr_listed_leased, nr_leased);
	ck_assert_uint_eq(nr_listed_draining, nr_draining);
}

void landlord_wait_left(struct landlord *landlord)
{
	wait_for(landlord, "BytesLeased", 0);
}

void landlord_assert_alive(struct landlord *landlord)
{
	scoped(freep) char *state = NULL;

	ck_assert_int_eq(landlord->daemon.pid, landlord->pid);
	ck_assert_int_eq(waitpid(landlord->pid, NULL, WNOHANG), 0);
	state = daemon_get_text(&landlord->daemon, POOL_PATH, NODEINIT_POOL_INTERFACE, "State");
	ck_assert_str_eq(state, "ready");
}
