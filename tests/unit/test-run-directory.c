/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/run-directory.h"
#include "suite.h"

static void expect(const char *variable, const char *directory)
{
	ck_assert_int_eq(setenv("RUNTIME_DIRECTORY", variable, 1), 0);
	ck_assert_str_eq(run_directory(), directory);
}

START_TEST(without_a_word_of_the_service_manager_it_is_the_usual_one)
{
	ck_assert_int_eq(unsetenv("RUNTIME_DIRECTORY"), 0);
	ck_assert_str_eq(run_directory(), "/run/nodeinit");
}
END_TEST

START_TEST(the_service_manager_says_where)
{
	expect("/run/user/7/nodeinit", "/run/user/7/nodeinit");
}
END_TEST

START_TEST(of_several_the_first_counts)
{
	expect("/run/a:/run/b", "/run/a");
}
END_TEST

START_TEST(what_is_no_absolute_path_does_not_count)
{
	expect("", "/run/nodeinit");
	expect("run/a", "/run/nodeinit");
	expect(":/run/a", "/run/nodeinit");
}
END_TEST

START_TEST(what_is_longer_than_a_path_does_not_count)
{
	char text[PATH_MAX + 1];

	memset(text, 'a', sizeof(text) - 1);
	text[0] = '/';
	text[sizeof(text) - 1] = '\0';
	expect(text, "/run/nodeinit");
	text[PATH_MAX - 1] = '\0';
	expect(text, text);
}
END_TEST

START_TEST(it_is_held_as_long_as_somebody_holds_it)
{
	char directory[] = "/tmp/nodeinit-run-XXXXXX";
	scoped(fd_closep) int fd = -1, first_fd = -1, second_fd = -1;

	ck_assert_ptr_nonnull(mkdtemp(directory));
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert(!run_directory_is_held(fd));
	first_fd = run_directory_hold(directory);
	second_fd = run_directory_hold(directory);
	ck_assert_int_ge(first_fd, 0);
	ck_assert_int_ge(second_fd, 0);
	ck_assert(run_directory_is_held(fd));
	first_fd = fd_close(first_fd);
	ck_assert(run_directory_is_held(fd));
	second_fd = fd_close(second_fd);
	ck_assert(!run_directory_is_held(fd));
	/* and the look itself holds nothing */
	first_fd = run_directory_hold(directory);
	ck_assert_int_ge(first_fd, 0);
	ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

/* As many a "--prepare" would: again and again, a moment apart. */
static void ask_for_ever(const char *directory)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat status;

	for (unsigned long i = 0;; i++)
		if (i % 8 == 0)
			(void) run_directory_is_held(fd);
		else
			(void) fstat(fd, &status);
}

START_TEST(who_asks_in_the_same_moment_is_not_in_the_way)
{
	char directory[] = "/tmp/nodeinit-run-XXXXXX";
	pid_t child;

	ck_assert_ptr_nonnull(mkdtemp(directory));
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		ask_for_ever(directory);
	for (unsigned i = 0; i < 2000; i++) {
		int fd = run_directory_hold(directory);

		if (fd < 0)
			(void) kill(child, SIGKILL);
		ck_assert_msg(fd >= 0, "round %u: %s", i, strerror(-fd));
		(void) fd_close(fd);
	}
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

START_TEST(who_keeps_it_locked_is_not_waited_for)
{
	char directory[] = "/tmp/nodeinit-run-XXXXXX";
	scoped(fd_closep) int fd = -1;

	ck_assert_ptr_nonnull(mkdtemp(directory));
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	ck_assert_int_eq(run_directory_hold(directory), -EBUSY);
	ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

START_TEST(what_is_not_there_cannot_be_held)
{
	ck_assert_int_eq(run_directory_hold("/nonexistent/nodeinit"), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("run-directory");
	TCase *tests = tcase_create("run-directory");

	tcase_add_test(tests, without_a_word_of_the_service_manager_it_is_the_usual_one);
	tcase_add_test(tests, the_service_manager_says_where);
	tcase_add_test(tests, of_several_the_first_counts);
	tcase_add_test(tests, what_is_no_absolute_path_does_not_count);
	tcase_add_test(tests, what_is_longer_than_a_path_does_not_count);
	tcase_add_test(tests, it_is_held_as_long_as_somebody_holds_it);
	tcase_add_test(tests, who_asks_in_the_same_moment_is_not_in_the_way);
	tcase_add_test(tests, who_keeps_it_locked_is_not_waited_for);
	tcase_add_test(tests, what_is_not_there_cannot_be_held);
	suite_add_tcase(suite, tests);
	return suite_main(suite);
}
