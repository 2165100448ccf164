/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "../../dbus/names.h"
#include "landlord.h"

#define POOL      "attacked"
#define POOL_PATH NODEINIT_POOL_PREFIX "/" POOL

void landlord_start(struct landlord *landlord, const struct pages *pages, uint64_t region_bytes,
                    const char *conf)
{
	char text[256];

	landlord->region_bytes = region_bytes;
	daemon_fixture_start(&landlord->daemon);
	(void) snprintf(text, sizeof(text),
	                "[Pool]\nKind=region\nPageSize=%s\nNodes=0\nSize=%" PRIu64 "M\n"
	                "[Region]\nRegionSize=%" PRIu64 "M\n",
	                pages->setting, LANDLORD_REGIONS * region_bytes / MIB, region_bytes / MIB);
	daemon_write_pool(&landlord->daemon, POOL, text);
	if (conf)
		daemon_write_conf(&landlord->daemon, conf);
	daemon_launch(&landlord->daemon, NULL);
	landlord->pid = landlord->daemon.pid;
	daemon_wait_notified(&landlord->daemon, "READY=1");
	daemon_wait_state(&landlord->daemon, POOL_PATH, NODEINIT_POOL_INTERFACE, "ready");
	landlord_wait(landlord, 0, 0, LANDLORD_REGIONS);
}

void landlord_replace(struct landlord *landlord)
{
	ck_assert_int_eq(daemon_end(&landlord->daemon, SIGKILL), 128 + SIGKILL);
	daemon_forget_notified(&landlord->daemon);
	daemon_launch(&landlord->daemon, NULL);
	landlord->pid = landlord->daemon.pid;
	daemon_wait_notified(&landlord->daemon, "READY=1");
	daemon_wait_state(&landlord->daemon, POOL_PATH, NODEINIT_POOL_INTERFACE, "ready");
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

void landlord_lease(struct landlord *landlord, struct daemon_lease *ret)
{
	/* A region is in the books when it is filled, and there to be had once it was checked. */
	const struct daemon_lease_options options = { .may_wait = true };
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r;

	r = daemon_lease(&landlord->daemon, POOL, landlord->region_bytes, &options, ret, &error);
	ck_assert_msg(r == 0, "Lease: %s: %s", error.name, error.message);
	ck_assert_uint_eq(ret->node_id, 0);
	ck_assert_uint_eq(ret->bytes, landlord->region_bytes);
}

static void assert_listed(struct landlord *landlord, unsigned nr_leased, unsigned nr_draining)
{
	scoped(freep) struct daemon_lease_line *lines = NULL;
	size_t nr = daemon_leases(&landlord->daemon, &lines);
	unsigned nr_listed_leased = 0, nr_listed_draining = 0;

	for (size_t i = 0; i < nr; i++) {
		ck_assert_str_eq(lines[i].pool, POOL);
		ck_assert_uint_eq(lines[i].bytes, landlord->region_bytes);
		nr_listed_leased += strcmp(lines[i].state, "leased") == 0;
		nr_listed_draining += strcmp(lines[i].state, "draining") == 0;
	}
	ck_assert_uint_eq(nr, nr_leased + nr_draining);
	ck_assert_uint_eq(nr_listed_leased, nr_leased);
	ck_assert_uint_eq(nr_listed_draining, nr_draining);
}

static void wait_for(struct landlord *landlord, const char *property, unsigned nr_regions)
{
	daemon_wait_u64(&landlord->daemon, POOL_PATH, NODEINIT_POOL_INTERFACE, property,
	                nr_regions * landlord->region_bytes);
}

void landlord_wait(struct landlord *landlord, unsigned nr_leased, unsigned nr_draining,
                   unsigned nr_done)
{
	wait_for(landlord, "BytesLeased", nr_leased);
	wait_for(landlord, "BytesDraining", nr_draining);
	wait_for(landlord, "BytesDone", nr_done);
	assert_listed(landlord, nr_leased, nr_draining);
}

void landlord_assert_draining(struct landlord *landlord, const char *id)
{
	scoped(freep) struct daemon_lease_line *lines = NULL;
	size_t nr = daemon_leases(&landlord->daemon, &lines);
	unsigned nr_draining = 0;

	for (size_t i = 0; i < nr; i++) {
		if (strcmp(lines[i].state, "draining") != 0)
			continue;
		nr_draining++;
		ck_assert_str_eq(lines[i].id, id);
		ck_assert_uint_eq(lines[i].uid, getuid());
		ck_assert_int_eq(lines[i].pid, getpid());
	}
	ck_assert_uint_eq(nr_draining, 1);
}

void landlord_wait_left(struct landlord *landlord)
{
	wait_for(landlord, "BytesLeased", 0);
}

void landlord_break_lease(struct landlord *landlord)
{
	ck_assert_int_eq(kill(landlord->pid, SIGIO), 0);
}

void landlord_assert_alive(struct landlord *landlord)
{
	scoped(freep) char *state = NULL;

	ck_assert_int_eq(landlord->daemon.pid, landlord->pid);
	ck_assert_int_eq(waitpid(landlord->pid, NULL, WNOHANG), 0);
	state = daemon_get_text(&landlord->daemon, POOL_PATH, NODEINIT_POOL_INTERFACE, "State");
	ck_assert_str_eq(state, "ready");
	ck_assert(daemon_get_bool(&landlord->daemon, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE,
	                          "Ready"));
}
