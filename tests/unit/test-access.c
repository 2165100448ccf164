/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The name service is played here, by --wrap of its two calls. */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/lease/access.h"
#include "suite.h"

int __wrap_getpwnam_r(const char *name, struct passwd *entry, char *buffer, size_t buffer_bytes,
                      struct passwd **ret);
int __wrap_getgrnam_r(const char *name, struct group *entry, char *buffer, size_t buffer_bytes,
                      struct group **ret);

/* "long" needs a buffer of 64 KiB, "endless" more than anybody has, "broken" is an error. */
static int answer(const char *name, size_t buffer_bytes)
{
	if (strcmp(name, "long") == 0)
		return buffer_bytes < 65536 ? ERANGE : 0;
	if (strcmp(name, "endless") == 0)
		return ERANGE;
	return strcmp(name, "broken") == 0 ? EIO : 0;
}

int __wrap_getpwnam_r(const char *name, struct passwd *entry, char *buffer, size_t buffer_bytes,
                      struct passwd **ret)
{
	int r = answer(name, buffer_bytes);

	(void) buffer;
	*ret = NULL;
	if (r != 0)
		return r;
	entry->pw_uid = strcmp(name, "long") == 0 ? 77 : 1001;
	if (strcmp(name, "long") == 0 || strcmp(name, "anna") == 0)
		*ret = entry;
	return 0;
}

int __wrap_getgrnam_r(const char *name, struct group *entry, char *buffer, size_t buffer_bytes,
                      struct group **ret)
{
	int r = answer(name, buffer_bytes);

	(void) buffer;
	*ret = NULL;
	if (r != 0)
		return r;
	entry->gr_gid = 2002;
	if (strcmp(name, "kvm") == 0)
		*ret = entry;
	return 0;
}

static char told[256];

static void unknown(void *arg, const char *what, const char *name)
{
	ck_assert_ptr_eq(arg, told);
	strcat(strcat(strcat(strcat(told, what), " "), name), ";");
}

static struct access_list make(const char *const *users, const char *const *groups)
{
	struct access_list list;

	told[0] = '\0';
	ck_assert_int_eq(access_list_make((char *const *) users, (char *const *) groups, unknown,
	                                  told, &list),
	                 0);
	return list;
}

START_TEST(test_with_neither_list_only_root_may)
{
	static const gid_t gids[] = { 0, 1, 2002 };
	struct access_list none = { 0 };
	scoped(access_list_clear) struct access_list list = make(NULL, NULL);

	ck_assert(access_list_allows(&none, 0, NULL, 0));
	ck_assert(access_list_allows(&list, 0, NULL, 0));
	ck_assert(!access_list_allows(&none, 1, gids, 3));
	ck_assert(!access_list_allows(&list, 1001, gids, 3));
}
END_TEST

START_TEST(test_users_are_named_or_numbered)
{
	static const char *const users[] = { "anna", "1003", "long", NULL };
	scoped(access_list_clear) struct access_list list = make(users, NULL);

	ck_assert_str_eq(told, "");
	ck_assert(access_list_allows(&list, 1001, NULL, 0));
	ck_assert(access_list_allows(&list, 1003, NULL, 0));
	ck_assert(access_list_allows(&list, 77, NULL, 0));
	ck_assert(!access_list_allows(&list, 1002, NULL, 0));
	ck_assert(access_list_allows(&list, 0, NULL, 0));
}
END_TEST

START_TEST(test_any_group_of_the_caller_will_do)
{
	static const char *const groups[] = { "55", "kvm", NULL };
	static const gid_t in_second[] = { 7, 9, 2002 }, in_first[] = { 55 };
	static const gid_t in_none[] = { 7, 1001, 54 };
	scoped(access_list_clear) struct access_list list = make(NULL, groups);

	ck_assert(access_list_allows(&list, 5, in_second, 3));
	ck_assert(access_list_allows(&list, 5, in_first, 1));
	ck_assert(!access_list_allows(&list, 5, in_none, 3));
	ck_assert(!access_list_allows(&list, 5, in_second, 2));
	/* A number that is a group's is no user's. */
	ck_assert(!access_list_allows(&list, 55, NULL, 0));
}
END_TEST

START_TEST(test_unknown_names_are_left_out_and_told)
{
	static const char *const users[] = { "bob", "anna",       "broken", "endless", "12x",
		                             "-5",  "4294967295", "",       NULL };
	static const char *const groups[] = { "anna", "99999999999999999999", NULL };
	scoped(access_list_clear) struct access_list list = make(users, groups);

	ck_assert_str_eq(told, "user bob;user broken;user endless;user 12x;user -5;"
	                       "user 4294967295;user ;group anna;group 99999999999999999999;");
	ck_assert_uint_eq(list.nr_uids, 1);
	ck_assert_uint_eq(list.nr_gids, 0);
	ck_assert(access_list_allows(&list, 1001, NULL, 0));
	ck_assert(!access_list_allows(&list, 12, NULL, 0));
}
END_TEST

START_TEST(test_nobody_needs_to_be_told)
{
	static const char *const users[] = { "bob", "4294967294", NULL };
	struct access_list list;

	ck_assert_int_eq(access_list_make((char *const *) users, NULL, NULL, NULL, &list), 0);
	ck_assert(access_list_allows(&list, 4294967294, NULL, 0));
	access_list_clear(&list);
	ck_assert_uint_eq(list.nr_uids, 0);
	ck_assert_ptr_null(list.uids);
	access_list_clear(&list);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("access");
	TCase *tcase = tcase_create("access");

	tcase_add_test(tcase, test_with_neither_list_only_root_may);
	tcase_add_test(tcase, test_users_are_named_or_numbered);
	tcase_add_test(tcase, test_any_group_of_the_caller_will_do);
	tcase_add_test(tcase, test_unknown_names_are_left_out_and_told);
	tcase_add_test(tcase, test_nobody_needs_to_be_told);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
