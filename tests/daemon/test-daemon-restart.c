/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the next process finds: after a kill, a stop, a restart; with a store that is too small. */
#include <check.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "../../dbus/names.h"
#include "fake-jobs.h"
#include "lease-scene.h"
#include "record-copy.h"
#include "suite.h"

#define REGION_BYTES (4 * MIB)
#define NR_LEASES    2

static struct daemon_fixture d;
static struct daemon_lease leases[NR_LEASES];
static uint64_t total_bytes, nr_regions;

static void setup(void)
{
	daemon_fixture_start(&d);
}

static void teardown(void)
{
	daemon_fixture_stop(&d);
}

/* A pool that is ready, and lessees who wrote into their memory. */
static void start_with_leases(void)
{
	scene_write_pool(&d, "small", "32M", "4M", NULL);
	total_bytes = scene_start(&d, "small");
	nr_regions = total_bytes / REGION_BYTES;
	for (unsigned i = 0; i < NR_LEASES; i++) {
		scene_lease(&d, "small", 0, NULL, &leases[i]);
		scene_write_pattern(&leases[i], i);
	}
	scene_wait_pool_bytes(&d, "small", "BytesLeased", NR_LEASES * REGION_BYTES);
	daemon_store_wait(&d, "*", 1 + nr_regions + NR_LEASES);
}

static void expect_leases(const char *state)
{
	for (unsigned i = 0; i < NR_LEASES; i++) {
		ck_assert_str_eq(scene_lease_state(&d, leases[i].id), state);
		scene_expect_pattern(&leases[i], i);
	}
}

/* They end, are gone, and the pool is whole. */
static void end_leases(void)
{
	for (unsigned i = 0; i < NR_LEASES; i++) {
		scene_expect_pattern(&leases[i], i);
		daemon_lease_close(&leases[i]);
	}
	for (unsigned i = 0; i < NR_LEASES; i++)
		scene_wait_lease_state(&d, leases[i].id, "");
	scene_wait_pool_bytes(&d, "small", "BytesDone", total_bytes);
	daemon_store_wait(&d, "*", 1 + nr_regions);
}

static void kill_daemon(void)
{
	ck_assert_int_eq(daemon_end(&d, SIGKILL), 128 + SIGKILL);
	ck_assert_int_eq(truncate(d.log_path, 0), 0);
}

static void expect_logged(const char *text)
{
	scoped(freep) char *log = daemon_log(&d);

	ck_assert_msg(strstr(log, text) != NULL, "no '%s' in:\n%s", text, log);
}

static void expect_not_logged(const char *text)
{
	scoped(freep) char *log = daemon_log(&d);

	ck_assert_msg(strstr(log, text) == NULL, "'%s' in:\n%s", text, log);
}

/* Nothing is filled: it is all there with the first word, as the same regions. */
static void start_and_expect_all(const char *names_before)
{
	scoped(freep) char *names = NULL;

	daemon_forget_notified(&d);
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	ck_assert_uint_eq(scene_pool_bytes(&d, "small", "BytesDone"), total_bytes);
	daemon_wait_state(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ready");
	expect_not_logged("started");
	expect_logged(": ready, 32 MiB in service");
	names = daemon_store_names(&d);
	ck_assert_str_eq(names, names_before);
}

START_TEST(test_a_killed_daemon_is_followed_by_one_that_has_all)
{
	scoped(freep) char *names = NULL;
	char found[64];

	start_with_leases();
	names = daemon_store_names(&d);
	(void) snprintf(found, sizeof(found), ": %" PRIu64 " ready regions (",
	                nr_regions - NR_LEASES);
	for (unsigned i = 0; i < 3; i++) {
		kill_daemon();
		start_and_expect_all(names);
		expect_logged(found);
		expect_logged(", 0 half filled, 2 leases, 0 that ended");
		expect_leases("leased");
	}
	end_leases();
}
END_TEST

START_TEST(test_a_lease_that_ends_while_there_is_no_daemon_drains_when_there_is)
{
	struct daemon_lease lease;
	unsigned char *memory;

	start_with_leases();
	kill_daemon();
	memory = scene_map(&leases[0]);
	daemon_lease_close(&leases[0]);
	(void) scene_start(&d, "small");
	ck_assert_str_eq(scene_lease_state(&d, leases[0].id), "draining");
	ck_assert_int_eq(munmap(memory, REGION_BYTES), 0);
	scene_wait_lease_state(&d, leases[0].id, "");
	scene_wait_pool_bytes(&d, "small", "BytesDone", total_bytes);
	for (uint64_t i = 1; i < nr_regions; i++) {
		scene_lease(&d, "small", 0, NULL, &lease);
		scene_expect_zero(&lease);
		daemon_lease_close(&lease);
	}
}
END_TEST

static uint64_t stored_bytes(const char *pattern)
{
	scoped(freep) char *names = daemon_store_names(&d);
	char *rest = names, *name;
	uint64_t bytes = 0;
	struct stat st;

	while ((name = strsep(&rest, "\n")) && *name) {
		scoped(fd_closep) int fd = daemon_store_get(&d, name);

		ck_assert_int_eq(fstat(fd, &st), 0);
		if (strncmp(name, pattern, strlen(pattern)) == 0)
			bytes += (uint64_t) st.st_blocks * 512;
	}
	return bytes;
}

/* The first region of @names, of which something was filled: a mark that nothing may remove. */
static int open_first(const char *names)
{
	char name[32] = "";

	ck_assert_int_eq(sscanf(strstr(names, "region-"), "%31s", name), 1);
	return daemon_store_get(&d, name);
}

static void mark_first_bytes(const char *names)
{
	scoped(fd_closep) int fd = open_first(names);

	ck_assert_int_eq(pwrite(fd, "mark", 4, 0), 4);
}

static void expect_first_bytes(const char *names)
{
	scoped(fd_closep) int fd = open_first(names);
	char found[4];

	ck_assert_int_eq(pread(fd, found, sizeof(found), 0), sizeof(found));
	ck_assert_int_eq(memcmp(found, "mark", sizeof(found)), 0);
}

/* One region that takes many chunks; the daemon is stopped among them. */
START_TEST(test_a_half_filled_region_is_gone_on_with)
{
	scoped(freep) char *names = NULL, *names_after = NULL;
	uint64_t half_bytes;

	daemon_write_conf(&d, "[Daemon]\nThreads=1\n");
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	scene_write_pool(&d, "large", "1G", "1G", NULL);
	scene_reload(&d);
	daemon_store_wait(&d, "region-*",
	                  scene_pool_bytes(&d, "large", "BytesTotal") / (1024 * MIB));
	while (stored_bytes("region-") == 0)
		; /* the kernel tells nobody; the test has a limit */
	kill_daemon();
	names = daemon_store_names(&d);
	half_bytes = stored_bytes("region-");
	ck_assert_uint_gt(half_bytes, 0);
	ck_assert_msg(half_bytes < 1024 * MIB, "it was done when it was killed");
	mark_first_bytes(names);

	daemon_forget_notified(&d);
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	daemon_wait_state(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ready");
	expect_not_logged("0 half filled");
	names_after = daemon_store_names(&d);
	ck_assert_str_eq(names_after, names);
	expect_first_bytes(names);
}
END_TEST

/* --- the end by SIGTERM --- */

START_TEST(test_a_stop_gives_all_back_but_what_is_leased)
{
	start_with_leases();
	ck_assert_int_eq(daemon_end(&d, SIGTERM), 0);
	daemon_store_wait(&d, "region-*", NR_LEASES);
	ck_assert_uint_eq(stored_bytes("region-"), NR_LEASES * REGION_BYTES);
	for (unsigned i = 0; i < NR_LEASES; i++)
		scene_expect_pattern(&leases[i], i);

	/* a service manager that keeps its store over a stop is welcome */
	ck_assert_uint_eq(scene_start(&d, "small"), total_bytes);
	expect_leases("leased");
	end_leases();
}
END_TEST

START_TEST(test_a_stop_by_a_job_is_a_stop)
{
	pid_t jobs;

	start_with_leases();
	jobs = fake_jobs_start(&d, "stop");
	ck_assert_int_eq(daemon_end(&d, SIGTERM), 0);
	fake_jobs_end(jobs);
	daemon_store_wait(&d, "region-*", NR_LEASES);
}
END_TEST

START_TEST(test_a_restart_keeps_all_and_fills_nothing)
{
	scoped(freep) char *names = NULL;
	pid_t jobs;

	start_with_leases();
	names = daemon_store_names(&d);
	jobs = fake_jobs_start(&d, "restart");
	ck_assert_int_eq(daemon_end(&d, SIGTERM), 0);
	fake_jobs_end(jobs);
	expect_logged("to be started again: what is in service stays for the next process");
	ck_assert_uint_eq(stored_bytes("region-"), total_bytes);
	ck_assert_int_eq(truncate(d.log_path, 0), 0);
	start_and_expect_all(names);
	expect_leases("leased");
	end_leases();
}
END_TEST

/* --- a store that does not keep all --- */

START_TEST(test_a_store_that_is_too_small_is_said_and_made_up_for)
{
	daemon_store_limit(&d, 3);
	scene_write_pool(&d, "small", "32M", "4M", NULL);
	total_bytes = scene_start(&d, "small");
	nr_regions = total_bytes / REGION_BYTES;
	for (unsigned i = 0; i < NR_LEASES; i++) {
		scene_lease(&d, "small", 0, NULL, &leases[i]);
		scene_write_pattern(&leases[i], i);
	}
	ck_assert_uint_eq(daemon_store_nr(&d, "*"), 3);
	kill_daemon();
	(void) scene_start(&d, "small");
	expect_logged("FileDescriptorStoreMax=");
	scene_wait_pool_bytes(&d, "small", "BytesLeased", 0);
	for (unsigned i = 0; i < NR_LEASES; i++) {
		/* without its lifetime, and perhaps without its memory: drains, or is gone */
		ck_assert_str_ne(scene_lease_state(&d, leases[i].id), "leased");
		scene_expect_pattern(&leases[i], i);
		daemon_lease_close(&leases[i]);
	}
	scene_wait_pool_bytes(&d, "small", "BytesDraining", 0);
	scene_wait_pool_bytes(&d, "small", "BytesDone", total_bytes);
}
END_TEST

START_TEST(test_lost_lifetimes_drain_while_their_memory_is_in_use)
{
	start_with_leases();
	kill_daemon();
	ck_assert_uint_eq(daemon_store_drop(&d, "lifetime-*", SIZE_MAX, 0), NR_LEASES);
	(void) scene_start(&d, "small");
	expect_leases("draining");
	expect_logged("0 leases, 2 that ended meanwhile");
	scene_wait_pool_bytes(&d, "small", "BytesDraining", NR_LEASES * REGION_BYTES);
	end_leases();
}
END_TEST

START_TEST(test_without_a_store_it_starts_afresh_and_lessees_keep_their_memory)
{
	daemon_store_limit(&d, 0);
	scene_write_pool(&d, "small", "32M", "4M", NULL);
	total_bytes = scene_start(&d, "small");
	scene_lease(&d, "small", 0, NULL, &leases[0]);
	scene_write_pattern(&leases[0], 0);
	ck_assert_uint_eq(daemon_store_nr(&d, "*"), 0);
	kill_daemon();
	ck_assert_uint_eq(scene_start(&d, "small"), total_bytes);
	scene_wait_pool_bytes(&d, "small", "BytesDone", total_bytes);
	expect_logged(": ready, 32 MiB in ");
	expect_not_logged(": ready, 32 MiB in service"); /* which is said of what was there */
	ck_assert_str_eq(scene_lease_state(&d, leases[0].id), "");
	scene_expect_pattern(&leases[0], 0);
	daemon_lease_close(&leases[0]);
}
END_TEST

START_TEST(test_a_shuffled_store_with_duplicates_is_the_same_store)
{
	scoped(freep) char *names = NULL;
	char *rest, *name;

	start_with_leases();
	kill_daemon();
	names = daemon_store_names(&d);
	for (rest = names; (name = strsep(&rest, "\n")) && *name;)
		ck_assert_uint_eq(daemon_store_duplicate(&d, name), 1);
	daemon_store_shuffle(&d, 7);
	(void) scene_start(&d, "small");
	expect_leases("leased");
	expect_not_logged("small, node 0: started");
	end_leases();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon-restart");
	TCase *tc = tcase_create("restart");

	bus_fixture_require();
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_a_killed_daemon_is_followed_by_one_that_has_all);
	tcase_add_test(tc, test_a_lease_that_ends_while_there_is_no_daemon_drains_when_there_is);
	tcase_add_test(tc, test_a_half_filled_region_is_gone_on_with);
	tcase_add_test(tc, test_a_stop_gives_all_back_but_what_is_leased);
	/* root alone may play the service manager on a bus */
	if (geteuid() == 0) {
		tcase_add_test(tc, test_a_stop_by_a_job_is_a_stop);
		tcase_add_test(tc, test_a_restart_keeps_all_and_fills_nothing);
	}
	tcase_add_test(tc, test_a_store_that_is_too_small_is_said_and_made_up_for);
	tcase_add_test(tc, test_lost_lifetimes_drain_while_their_memory_is_in_use);
	tcase_add_test(tc, test_without_a_store_it_starts_afresh_and_lessees_keep_their_memory);
	tcase_add_test(tc, test_a_shuffled_store_with_duplicates_is_the_same_store);
	suite_add_tcase(suite, tc);
	return suite_main(suite);
}
