/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The service manager that the tests of the daemon play: does its store do what systemd's does?
 *
 * The daemon here is this program itself, which knows its role by its first argument.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "daemon-fixture.h"
#include "suite.h"

static struct daemon_fixture d;

static void setup(void)
{
	daemon_fixture_start(&d);
}

static void teardown(void)
{
	daemon_fixture_stop(&d);
}

/* --- the daemon --- */

/* A memfd that holds its own name. */
static int make_memory(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0 || write(fd, name, strlen(name)) < 0)
		abort();
	return fd;
}

static void send_fd(const char *message, const char *name, int fd)
{
	char text[256];

	(void) snprintf(text, sizeof(text), "%s\nFDNAME=%s", message, name);
	if (sd_pid_notify_with_fds(0, 0, text, &fd, 1) <= 0)
		abort();
}

/* Put @nr memfds in and take the second one out again. */
static void play_store(int nr)
{
	for (int i = 0; i < nr; i++) {
		scoped(fd_closep) int fd = -1;
		char name[32];

		(void) snprintf(name, sizeof(name), "item-%d", i);
		fd = make_memory(name);
		send_fd("FDSTORE=1\nFDPOLL=0", name, fd);
	}
	(void) sd_notify(0, "FDSTOREREMOVE=1\nFDNAME=item-1");
	(void) sd_notify(0, "READY=1");
}

/* The same open file twice, a second open of it, one without a name, two in one message. */
static void play_odd(void)
{
	scoped(fd_closep) int fd = make_memory("one"), again_fd = -1;
	int pair[2] = { make_memory("a"), make_memory("b") };
	char path[64];

	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again_fd = open(path, O_RDWR | O_CLOEXEC);
	send_fd("FDSTORE=1\nFDPOLL=0", "one", fd);
	send_fd("FDSTORE=1\nFDPOLL=0", "two", fd);
	send_fd("FDSTORE=1\nFDPOLL=0", "again", again_fd);
	(void) sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nSTATUS=odd", pair, 2);
	(void) sd_notify(0, "READY=1");
}

/* Two ends of pipes whose other end is closed; only one of them is watched. */
static void play_pipes(void)
{
	static const char *const messages[] = { "FDSTORE=1", "FDSTORE=1\nFDPOLL=0" };
	static const char *const names[] = { "watched", "unwatched" };
	int writing[2];

	for (unsigned i = 0; i < 2; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0)
			abort();
		writing[i] = ends[1];
		send_fd(messages[i], names[i], ends[0]);
		(void) close(ends[0]);
	}
	(void) sd_notify(0, "STATUS=open");
	(void) sd_notify_barrier(0, UINT64_MAX);
	(void) close(writing[0]);
	(void) close(writing[1]);
	(void) sd_notify(0, "READY=1");
}

/* Say what was given: its name in the store, and what it holds. */
static void play_list(void)
{
	char **names = NULL;
	int nr = sd_listen_fds_with_names(1, &names);

	for (int i = 0; i < nr; i++) {
		char text[32] = "";

		(void) pread(SD_LISTEN_FDS_START + i, text, sizeof(text) - 1, 0);
		(void) sd_notifyf(0, "STATUS=%d %s %s", i, names[i], text);
		free(names[i]);
	}
	free(names);
	(void) sd_notifyf(0, "STATUS=%d in all", nr);
	(void) sd_notify(0, "READY=1");
}

static int play_daemon(void)
{
	const char *role = getenv("ROLE");

	if (strncmp(role, "store ", 6) == 0)
		play_store(atoi(role + 6));
	else if (strcmp(role, "odd") == 0)
		play_odd();
	else if (strcmp(role, "pipes") == 0)
		play_pipes();
	else
		play_list();
	return 0;
}

/* --- the tests --- */

static void launch(const char *role)
{
	const char *environment[] = { role, NULL };

	daemon_launch(&d, environment);
	ck_assert_int_eq(daemon_wait_end(&d), 0);
	ck_assert(daemon_was_notified(&d, "READY=1"));
}

START_TEST(test_what_is_put_in_is_kept_and_given_to_the_next_one_the_newest_first)
{
	scoped(freep) char *names = NULL;

	launch("ROLE=store 4");
	names = daemon_store_names(&d);
	ck_assert_str_eq(names, "item-3\nitem-2\nitem-0\n");
	ck_assert(!daemon_was_notified(&d, "FD*"));
	for (unsigned i = 0; i < 2; i++) {
		daemon_forget_notified(&d);
		launch("ROLE=list");
		ck_assert(daemon_was_notified(&d, "STATUS=0 item-3 item-3"));
		ck_assert(daemon_was_notified(&d, "STATUS=1 item-2 item-2"));
		ck_assert(daemon_was_notified(&d, "STATUS=2 item-0 item-0"));
		ck_assert(daemon_was_notified(&d, "STATUS=3 in all"));
	}
}
END_TEST

START_TEST(test_without_a_store_nothing_is_given)
{
	launch("ROLE=list");
	ck_assert(daemon_was_notified(&d, "STATUS=0 in all"));
}
END_TEST

START_TEST(test_many_messages_hold_nobody_up_while_the_test_does_something_else)
{
	launch("ROLE=store 3000");
	ck_assert_uint_eq(daemon_store_nr(&d, "*"), 2999);
	ck_assert_uint_eq(daemon_store_nr(&d, "item-29*"), 111);
	daemon_store_shuffle(&d, 7);
	daemon_forget_notified(&d);
	launch("ROLE=list");
	ck_assert(daemon_was_notified(&d, "STATUS=2999 in all"));
	for (unsigned i = 0; i < 3000; i++) {
		scoped(fd_closep) int fd = -1;
		char name[32], text[32] = "";

		(void) snprintf(name, sizeof(name), "item-%u", i);
		fd = daemon_store_get(&d, name);
		ck_assert_int_eq(fd >= 0, i != 1);
		if (fd >= 0)
			ck_assert_int_gt(pread(fd, text, sizeof(text) - 1, 0), 0);
		ck_assert_str_eq(text, i == 1 ? "" : name);
	}
}
END_TEST

START_TEST(test_a_store_that_is_full_drops_in_silence)
{
	daemon_store_limit(&d, 2);
	launch("ROLE=store 5");
	ck_assert_uint_eq(daemon_store_nr(&d, "*"), 1);
	ck_assert_uint_eq(daemon_store_nr(&d, "item-0"), 1);
	ck_assert_uint_eq(daemon_store_nr_dropped(&d), 3);
}
END_TEST

START_TEST(test_an_open_file_is_kept_once_and_what_has_no_name_is_called_stored)
{
	scoped(freep) char *names = NULL;

	launch("ROLE=odd");
	names = daemon_store_names(&d);
	ck_assert_str_eq(names, "stored\nstored\nagain\none\n");
	ck_assert_uint_eq(daemon_store_nr_dropped(&d), 1);
	ck_assert(daemon_was_notified(&d, "STATUS=odd"));
}
END_TEST

START_TEST(test_what_hangs_up_falls_out_unless_it_is_not_watched)
{
	launch("ROLE=pipes");
	ck_assert_uint_eq(daemon_store_nr(&d, "watched"), 0);
	ck_assert_uint_eq(daemon_store_nr(&d, "unwatched"), 1);
}
END_TEST

START_TEST(test_some_are_lost_by_a_seed_and_names_come_twice)
{
	scoped(freep) char *first = NULL, *second = NULL;

	launch("ROLE=store 21");
	ck_assert_uint_eq(daemon_store_drop(&d, "item-1*", 4, 1), 4);
	ck_assert_uint_eq(daemon_store_nr(&d, "item-1*"), 6);
	ck_assert_uint_eq(daemon_store_nr(&d, "*"), 16);
	ck_assert_uint_eq(daemon_store_drop(&d, "item-[02]", SIZE_MAX, 1), 2);
	ck_assert_uint_eq(daemon_store_nr(&d, "item-[02]"), 0);

	ck_assert_uint_eq(daemon_store_duplicate(&d, "item-3"), 1);
	ck_assert_uint_eq(daemon_store_nr(&d, "item-3"), 2);
	ck_assert_uint_eq(daemon_store_duplicate(&d, "item-0"), 0);
	first = daemon_store_names(&d);
	daemon_store_shuffle(&d, 3);
	second = daemon_store_names(&d);
	ck_assert_str_ne(first, second);
	ck_assert_uint_eq(strlen(first), strlen(second));
}
END_TEST

START_TEST(test_other_seeds_lose_others)
{
	unsigned nr_lost[10] = { 0 };

	for (unsigned seed = 0; seed < 200; seed++) {
		struct fd_store store = { .max_nr = 10 };
		char name[2] = "0";

		for (; name[0] <= '9'; name[0]++)
			fd_store_add(&store, name, make_memory(name), false);
		ck_assert_uint_eq(fd_store_lose(&store, "*", 5, seed), 5);
		for (unsigned i = 0; i < 10; i++)
			nr_lost[i]++;
		for (size_t i = 0; i < store.nr; i++)
			nr_lost[store.entries[i].name[0] - '0']--;
		fd_store_clear(&store);
	}
	/* half of the times, give or take */
	for (unsigned i = 0; i < 10; i++) {
		ck_assert_uint_gt(nr_lost[i], 60);
		ck_assert_uint_lt(nr_lost[i], 140);
	}
}
END_TEST

START_TEST(test_a_look_sees_all_that_was_sent_before_it)
{
	char path[96], line[32];

	(void) snprintf(path, sizeof(path), "%s/notify", d.directory);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", path, 1), 0);
	for (unsigned i = 0; i < 1000; i++) {
		for (unsigned k = 0; k < 4; k++)
			ck_assert_int_gt(sd_notifyf(0, "STATUS=%u %u", i, k), 0);
		(void) snprintf(line, sizeof(line), "STATUS=%u 3", i);
		ck_assert_msg(daemon_was_notified(&d, line), "%s was lost", line);
		daemon_forget_notified(&d);
	}
}
END_TEST

START_TEST(test_a_wait_ends_with_what_is_put_in)
{
	const char *environment[] = { "ROLE=store 40", NULL };
	scoped(fd_closep) int fd = make_memory("mine");

	daemon_launch(&d, environment);
	daemon_store_wait(&d, "item-*", 39);
	ck_assert_int_eq(daemon_wait_end(&d), 0);
	daemon_store_put(&d, "mine", fd);
	ck_assert_uint_eq(daemon_store_nr(&d, "*"), 40);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("fixture");
	TCase *store = tcase_create("store");

	if (argc > 1 && strcmp(argv[1], "--config") == 0)
		return play_daemon();
	bus_fixture_require();
	if (setenv("NODEINITD", "/proc/self/exe", 1) < 0)
		return 1;

	tcase_set_timeout(store, 60);
	tcase_add_checked_fixture(store, setup, teardown);
	tcase_add_test(store,
	               test_what_is_put_in_is_kept_and_given_to_the_next_one_the_newest_first);
	tcase_add_test(store, test_without_a_store_nothing_is_given);
	tcase_add_test(store, test_many_messages_hold_nobody_up_while_the_test_does_something_else);
	tcase_add_test(store, test_a_store_that_is_full_drops_in_silence);
	tcase_add_test(store, test_an_open_file_is_kept_once_and_what_has_no_name_is_called_stored);
	tcase_add_test(store, test_what_hangs_up_falls_out_unless_it_is_not_watched);
	tcase_add_test(store, test_some_are_lost_by_a_seed_and_names_come_twice);
	tcase_add_test(store, test_other_seeds_lose_others);
	tcase_add_test(store, test_a_look_sees_all_that_was_sent_before_it);
	tcase_add_test(store, test_a_wait_ends_with_what_is_put_in);
	suite_add_tcase(suite, store);
	return suite_main(suite);
}
