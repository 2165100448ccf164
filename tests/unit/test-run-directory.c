/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

int main(void)
{
	Suite *suite = suite_create("run-directory");
	TCase *tests = tcase_create("run-directory");

	tcase_add_test(tests, without_a_word_of_the_service_manager_it_is_the_usual_one);
	tcase_add_test(tests, the_service_manager_says_where);
	tcase_add_test(tests, of_several_the_first_counts);
	tcase_add_test(tests, what_is_no_absolute_path_does_not_count);
	tcase_add_test(tests, what_is_longer_than_a_path_does_not_count);
	suite_add_tcase(suite, tests);
	return suite_main(suite);
}
