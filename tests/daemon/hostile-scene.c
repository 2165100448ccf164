/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "hostile-scene.h"

struct daemon_fixture d;
uint64_t total_bytes;
static size_t nr_fds_at_start;

size_t look_at_fds(bool ret_is_open[NR_FDS_MAX])
{
	char path[64];
	struct dirent *entry;
	size_t nr = 0;
	DIR *directory;

	if (ret_is_open)
		memset(ret_is_open, 0, NR_FDS_MAX * sizeof(*ret_is_open));
	(void) snprintf(path, sizeof(path), "/proc/%d/fd", (int) d.pid);
	directory = opendir(path);
	ck_assert_ptr_nonnull(directory);
	while ((entry = readdir(directory))) {
		unsigned long fd = strtoul(entry->d_name, NULL, 10);

		if (entry->d_name[0] == '.')
			continue;
		ck_assert_uint_lt(fd, NR_FDS_MAX);
		if (ret_is_open)
			ret_is_open[fd] = true;
		nr++;
	}
	(void) closedir(directory);
	return nr;
}

void setup(void)
{
	/* many connections of one user */
	d.bus.limits = "<limit name='max_connections_per_user'>1024</limit>"
		       "<limit name='max_completed_connections'>2048</limit>";
	daemon_fixture_start(&d);
	daemon_write_conf(&d, "[Daemon]\nMaxLeases=1000\nMaxBytes=1T\n");
	scene_write_pool(&d, POOL, POOL_SIZE, "4M", NULL);
	total_bytes = scene_start(&d, POOL);
	nr_fds_at_start = look_at_fds(NULL);
}

void teardown(void)
{
	daemon_fixture_stop(&d);
}

void wait_no_leases(void)
{
	scoped(freep) struct daemon_lease_line *lines = NULL;
	size_t nr = daemon_leases(&d, &lines);

	for (size_t i = 0; i < nr; i++)
		scene_wait_lease_state(&d, lines[i].id, "");
}

void expect_as_at_start(void)
{
	uint64_t end_usec = clock_monotonic_usec() + 10 * UINT64_C(1000000);
	struct daemon_lease lease;

	wait_no_leases();
	scene_wait_pool_bytes(&d, POOL, "BytesLeased", 0);
	scene_wait_pool_bytes(&d, POOL, "BytesDraining", 0);
	scene_wait_pool_bytes(&d, POOL, "BytesDone", total_bytes);
	/* a worker that ends, or a look at the machine, has a file open for a moment */
	while (look_at_fds(NULL) != nr_fds_at_start && clock_monotonic_usec() < end_usec)
		scene_wait_pool_bytes(&d, POOL, "BytesDone", total_bytes);
	ck_assert_uint_eq(look_at_fds(NULL), nr_fds_at_start);
	scene_lease(&d, POOL, 0, NULL, &lease);
	scene_expect_zero(&lease);
	daemon_lease_close(&lease);
	wait_no_leases();
	scene_wait_pool_bytes(&d, POOL, "BytesDone", total_bytes);
}
