/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "../../dbus/names.h"
#include "daemon-fixture.h"
#include "suite.h"

#define POOL_PATH(name) NODEINIT_POOL_PREFIX "/" name

static struct daemon_fixture d;

static void setup(void)
{
	daemon_fixture_start(&d);
}

static void teardown(void)
{
	daemon_fixture_stop(&d);
}

static const char small_pool[] = "[Pool]\n"
				 "Kind=region\n"
				 "PageSize=base\n"
				 "Size=32M\n"
				 "Early=8M\n"
				 "[Region]\n"
				 "RegionSize=8M\n";

START_TEST(test_an_empty_configuration_is_ready_at_once_and_idle)
{
	scoped(freep) char *state = NULL;

	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	state = daemon_get_text(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "State");
	ck_assert_str_eq(state, "idle");
	ck_assert(daemon_get_bool(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Ready"));
	ck_assert_uint_eq(
		daemon_get_u64(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "BytesTotal"), 0);
	ck_assert(daemon_was_notified(&d, "STATUS=idle: no pool is declared"));
	ck_assert_int_eq(daemon_end(&d, SIGTERM), 0);
	ck_assert(daemon_was_notified(&d, "STOPPING=1"));
}
END_TEST

START_TEST(test_a_pool_becomes_ready_and_its_memory_is_resident)
{
	daemon_write_pool(&d, "small", small_pool);
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	daemon_wait_state(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ready");

	ck_assert(daemon_get_bool(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Ready"));
	ck_assert_uint_gt(
		daemon_get_u64(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "BytesDone"), 0);
	ck_assert_uint_eq(
		daemon_get_u64(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "BytesDone"),
		daemon_get_u64(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "BytesTotal"));
	ck_assert_uint_eq(
		daemon_get_u64(&d, POOL_PATH("small"), NODEINIT_POOL_INTERFACE, "BytesDone") %
			(32 * MIB),
		0);
	ck_assert_int_eq(daemon_end(&d, SIGTERM), 0);
}
END_TEST

static uint64_t timeline_usec(const char *stage, bool is_end)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	uint64_t found_usec = 0, started_usec, finished_usec, bytes;
	const char *pool, *entry_stage, *state;
	sd_bus_error error = SD_BUS_ERROR_NULL;
	uint32_t node_id;
	int r;

	r = sd_bus_call_method(d.client, NODEINIT_BUS_NAME, NODEINIT_PATH,
	                       NODEINIT_MANAGER_INTERFACE, "GetTimeline", &error, &reply, "a{sv}",
	                       0);
	ck_assert_msg(r >= 0, "GetTimeline: %s", error.message);
	ck_assert_int_ge(sd_bus_message_enter_container(reply, 'a', "(usssttta{sv})"), 0);
	while (sd_bus_message_enter_container(reply, 'r', "usssttta{sv}") > 0) {
		ck_assert_int_ge(sd_bus_message_read(reply, "usssttt", &node_id, &pool,
		                                     &entry_stage, &state, &started_usec,
		                                     &finished_usec, &bytes),
		                 0);
		ck_assert_str_eq(state, "settled");
		ck_assert_int_ge(sd_bus_message_skip(reply, "a{sv}"), 0);
		ck_assert_int_ge(sd_bus_message_exit_container(reply), 0);
		if (strcmp(entry_stage, stage) == 0)
			found_usec = is_end ? finished_usec : started_usec;
	}
	ck_assert_uint_ne(found_usec, 0);
	return found_usec;
}

START_TEST(test_the_early_part_ends_before_the_deferred_part_begins)
{
	uint64_t early_end_usec, deferred_start_usec;

	daemon_write_pool(&d, "small", small_pool);
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	daemon_wait_state(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ready");
	early_end_usec = timeline_usec("early", true);
	deferred_start_usec = timeline_usec("deferred", false);
	ck_assert_uint_le(timeline_usec("early", false), early_end_usec);
	ck_assert_uint_le(early_end_usec, deferred_start_usec);
	ck_assert_uint_le(deferred_start_usec, timeline_usec("deferred", true));
}
END_TEST

/* READY comes after the early part; the deferred part goes on while it is paused. */
START_TEST(test_ready_does_not_wait_for_the_deferred_part)
{
	scoped(freep) char *state = NULL;

	daemon_write_pool(&d, "large",
	                  "[Pool]\nKind=region\nPageSize=base\nSize=1G\nEarly=8M\n"
	                  "[Region]\nRegionSize=8M\n");
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	state = daemon_get_text(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "State");
	ck_assert_msg(strcmp(state, "deferred") == 0 || strcmp(state, "ready") == 0, "%s", state);
	ck_assert_uint_gt(
		daemon_get_u64(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "EarlyMonotonic"), 0);
	if (strcmp(state, "deferred") == 0)
		ck_assert(!daemon_get_bool(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Ready"));
	daemon_wait_state(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ready");
	ck_assert_uint_gt(
		daemon_get_u64(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ReadyMonotonic"),
		daemon_get_u64(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "EarlyMonotonic"));
}
END_TEST

static const char endless_pool[] = "[Pool]\n"
				   "Kind=region\n"
				   "PageSize=base\n"
				   "Size=8G\n"
				   "Minimum=8M\n"
				   "Early=8M\n"
				   "[Region]\n"
				   "RegionSize=64M\n";

START_TEST(test_sigterm_in_mid_work_ends_within_one_chunk)
{
	scoped(freep) char *log = NULL;
	uint64_t began_usec;

	daemon_write_pool(&d, "endless", endless_pool);
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	began_usec = clock_monotonic_usec();
	ck_assert_int_eq(daemon_end(&d, SIGTERM), 0);
	/* one chunk of 64 MiB of small pages, and giving back what was filled so far */
	ck_assert_uint_lt(clock_monotonic_usec() - began_usec, 5000000);
	log = daemon_log(&d);
	ck_assert_ptr_nonnull(strstr(log, "stopping"));
	ck_assert(daemon_was_notified(&d, "STOPPING=1"));
}
END_TEST

START_TEST(test_pause_holds_and_resume_goes_on)
{
	uint64_t done_bytes;

	daemon_write_pool(&d, "endless", endless_pool);
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	ck_assert_int_ge(daemon_call(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Pause", NULL),
	                 0);
	ck_assert(daemon_get_bool(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Paused"));
	daemon_wait_notified(&d, "STATUS=paused at *");
	ck_assert_int_ge(daemon_call(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Resume", NULL),
	                 0);
	done_bytes = daemon_get_u64(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "BytesDone");
	daemon_wait_above(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "BytesDone", done_bytes);
}
END_TEST

/* Everybody on one CPU, and every call is answered soon. */
START_TEST(test_the_bus_answers_within_100_ms_on_one_cpu_while_populating)
{
	unsigned nr_slow = 0;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0); /* the daemon inherits it */
	daemon_write_pool(&d, "endless", endless_pool);
	daemon_write_conf(&d, "[Daemon]\nThreads=4\n");
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	for (unsigned i = 0; i < 200; i++) {
		uint64_t began_usec = clock_monotonic_usec();

		(void) daemon_get_u64(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "BytesDone");
		nr_slow += clock_monotonic_usec() - began_usec > 100000;
	}
	/* the machine that runs the tests may stand still once */
	ck_assert_uint_le(nr_slow, 2);
}
END_TEST

START_TEST(test_bytes_are_refused_beyond_the_reserve_and_the_host_lives)
{
	/* A configuration for another machine */
	daemon_write_pool(&d, "giant", "[Pool]\nKind=region\nPageSize=base\nSize=512T\n");
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	daemon_wait_state(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "deferred");
	ck_assert_uint_gt(
		daemon_get_u64(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "BytesShort"), 0);
	ck_assert(!daemon_get_bool(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Ready"));
	ck_assert_int_eq(daemon_end(&d, SIGTERM), 0);
}
END_TEST

static uint64_t context_switches(void)
{
	return daemon_proc_status(&d, "voluntary_ctxt_switches") +
	       daemon_proc_status(&d, "nonvoluntary_ctxt_switches");
}

START_TEST(test_idle_means_one_thread_no_wakeups_and_little_memory)
{
	scoped(fd_closep) int pid_fd = -1;
	struct pollfd poll_fd = { .events = POLLIN };
	uint64_t switches;

	daemon_write_pool(&d, "small", small_pool);
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	daemon_wait_state(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ready");
	daemon_wait_notified(&d, "STATUS=ready: *");
	/* a round trip more: whatever was still to be sent has been sent */
	(void) daemon_get_bool(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Ready");
	pid_fd = (int) syscall(SYS_pidfd_open, d.pid, 0);
	poll_fd.fd = pid_fd;
	ck_assert_int_eq(poll(&poll_fd, 1, 1000), 0); /* the last coalesced signals are out */

	/* the thread sanitizer has one of its own */
	ck_assert_uint_eq(daemon_proc_status(&d, "Threads"),
	                  strcmp(NODEINIT_SANITIZE, "thread") == 0 ? 2 : 1);
	switches = context_switches();
	ck_assert_int_eq(poll(&poll_fd, 1, 4000), 0); /* the daemon is not to end, nor to wake */
	ck_assert_uint_eq(context_switches(), switches);
}
END_TEST

START_TEST(test_the_memory_of_the_idle_daemon_is_bounded)
{
	uint64_t rss_kib;

	daemon_write_pool(&d, "small", small_pool);
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	daemon_wait_state(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ready");
	/* its own memory: what its regions hold is unmapped, and nobody's RSS */
	rss_kib = daemon_proc_status(&d, "VmRSS");
	ck_assert_msg(rss_kib <= 8 * 1024 + 256, "RSS %llu KiB", (unsigned long long) rss_kib);
}
END_TEST

START_TEST(test_the_watchdog_is_fed_from_the_loop)
{
	static const char *const environment[] = { "WATCHDOG_USEC=200000", NULL };

	daemon_launch(&d, environment);
	daemon_wait_notified(&d, "READY=1");
	daemon_forget_notified(&d);
	daemon_wait_notified(&d, "WATCHDOG=1");
}
END_TEST

START_TEST(test_the_watchdog_is_fed_when_no_descriptor_is_left)
{
	static const char *const environment[] = { "WATCHDOG_USEC=200000", NULL };
	struct rlimit limit;

	daemon_launch(&d, environment);
	daemon_wait_notified(&d, "READY=1");
	ck_assert_int_eq(prlimit(d.pid, RLIMIT_NOFILE, NULL, &limit), 0);
	limit.rlim_cur = STDERR_FILENO + 1;
	ck_assert_int_eq(prlimit(d.pid, RLIMIT_NOFILE, &limit, NULL), 0);
	/* the first one may have been begun before */
	for (unsigned i = 0; i < 2; i++) {
		daemon_forget_notified(&d);
		daemon_wait_notified(&d, "WATCHDOG=1");
	}
}
END_TEST

START_TEST(test_without_a_bus_it_ends_and_says_which)
{
	scoped(freep) char *log = NULL;

	bus_fixture_kill(&d.bus);
	daemon_launch(&d, NULL);
	ck_assert_int_eq(daemon_wait_end(&d), 1);
	log = daemon_log(&d);
	ck_assert_ptr_nonnull(strstr(log, bus_fixture_address(&d.bus)));
	ck_assert_ptr_nonnull(strstr(log, "cannot be reached"));
	bus_fixture_revive(&d.bus);
}
END_TEST

START_TEST(test_a_second_daemon_ends_and_names_the_bus_name)
{
	struct daemon_fixture second = d;
	scoped(freep) char *log = NULL;

	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	second.pid = 0;
	daemon_launch(&second, NULL);
	ck_assert_int_eq(daemon_wait_end(&second), 1);
	log = daemon_log(&d);
	ck_assert_ptr_nonnull(strstr(log, NODEINIT_BUS_NAME " is owned by another process"));
	ck_assert_int_eq(daemon_end(&d, SIGTERM), 0);
}
END_TEST

START_TEST(test_a_wrong_option_leads_to_the_help)
{
	char said[512] = "";
	FILE *out = popen("\"$NODEINITD\" --frob 2>&1", "r");
	int status;

	ck_assert_ptr_nonnull(out);
	ck_assert_uint_gt(fread(said, 1, sizeof(said) - 1, out), 0);
	status = pclose(out);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 2);
	ck_assert_ptr_nonnull(strstr(said, "--frob"));
	ck_assert_ptr_nonnull(strstr(said, "see nodeinitd --help\n"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon-life");
	TCase *tc = tcase_create("life");

	bus_fixture_require();
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_an_empty_configuration_is_ready_at_once_and_idle);
	tcase_add_test(tc, test_a_pool_becomes_ready_and_its_memory_is_resident);
	tcase_add_test(tc, test_the_early_part_ends_before_the_deferred_part_begins);
	tcase_add_test(tc, test_ready_does_not_wait_for_the_deferred_part);
	tcase_add_test(tc, test_sigterm_in_mid_work_ends_within_one_chunk);
	tcase_add_test(tc, test_pause_holds_and_resume_goes_on);
	tcase_add_test(tc, test_the_bus_answers_within_100_ms_on_one_cpu_while_populating);
	tcase_add_test(tc, test_bytes_are_refused_beyond_the_reserve_and_the_host_lives);
	tcase_add_test(tc, test_idle_means_one_thread_no_wakeups_and_little_memory);
	/* a sanitizer's shadow memory would count as ours: not among its tests */
	if (strcmp(NODEINIT_SANITIZE, "none") == 0)
		tcase_add_test(tc, test_the_memory_of_the_idle_daemon_is_bounded);
	tcase_add_test(tc, test_the_watchdog_is_fed_from_the_loop);
	tcase_add_test(tc, test_the_watchdog_is_fed_when_no_descriptor_is_left);
	tcase_add_test(tc, test_without_a_bus_it_ends_and_says_which);
	tcase_add_test(tc, test_a_wrong_option_leads_to_the_help);
	tcase_add_test(tc, test_a_second_daemon_ends_and_names_the_bus_name);
	suite_add_tcase(suite, tc);
	return suite_main(suite);
}
