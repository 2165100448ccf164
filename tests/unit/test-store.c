/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "../../daemon/lease/store.h"
#include "book-world.h"
#include "suite.h"

#define REGION_5   "region-0000000000000005"
#define LIFETIME_5 "lifetime-0000000000000005"

/* What the service manager was told: "+name -name ". */
static char told[512];
static int put_error;

static int put(void *arg, const char *name, int fd)
{
	ck_assert_ptr_eq(arg, told);
	ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
	strcat(strcat(strcat(told, "+"), name), " ");
	return -put_error;
}

static void remove_name(void *arg, const char *name)
{
	ck_assert_ptr_eq(arg, told);
	strcat(strcat(strcat(told, "-"), name), " ");
}

static const struct store_ops ops = { .put = put, .remove = remove_name };

/* Since the last time. */
static void expect_told(const char *expected)
{
	ck_assert_str_eq(told, expected);
	told[0] = '\0';
}

static int make_fd(void)
{
	int fd = memfd_create("store", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

#define NR_MAX 8
static int fds[NR_MAX];

static struct store *make(const struct store_ops *with, const char *const *names, size_t nr)
{
	struct store *store;

	for (size_t i = 0; i < nr; i++)
		fds[i] = make_fd();
	ck_assert_int_eq(store_new(with, told, fds, names, nr, &store), 0);
	return store;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

START_TEST(test_what_was_given_back_is_taken_by_name_once)
{
	static const char *const names[] = { LIFETIME_5, "state", REGION_5 };
	scoped(store_freep) struct store *store = make(&ops, names, 3);

	ck_assert(store_is_there(store));
	ck_assert_int_eq(store_look(store, STORE_REGION, 5), fds[2]);
	ck_assert_int_eq(store_take(store, STORE_REGION, 5), fds[2]);
	ck_assert_int_eq(store_take(store, STORE_LIFETIME, 5), fds[0]);
	ck_assert_int_eq(store_take_state(store), fds[1]);
	ck_assert_int_eq(store_take(store, STORE_REGION, 5), -ENOENT);
	ck_assert_int_eq(store_look(store, STORE_REGION, 5), -ENOENT);
	ck_assert_int_eq(store_take_state(store), -ENOENT);
	ck_assert_int_eq(store_take(store, STORE_REGION, 0x50), -ENOENT);
	ck_assert_int_eq(store_take(store, STORE_LIFETIME, 6), -ENOENT);
	ck_assert_uint_eq(store_close_rest(store), 0);
	expect_told("");
	store = store_free(store);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert(is_open(fds[i]));
		(void) close(fds[i]);
	}
}
END_TEST

START_TEST(test_names_have_sixteen_hexadecimal_digits)
{
	scoped(store_freep) struct store *store = make(&ops, NULL, 0);
	scoped(fd_closep) int fd = make_fd();

	ck_assert_int_eq(store_put(store, STORE_REGION, UINT64_C(0xfedcba9876543210), fd), 0);
	ck_assert_int_eq(store_put(store, STORE_LIFETIME, 26, fd), 0);
	ck_assert_int_eq(store_put_state(store, fd), 0);
	store_remove(store, STORE_REGION, 26);
	expect_told("+region-fedcba9876543210 +lifetime-000000000000001a +state "
	            "-region-000000000000001a ");
}
END_TEST

START_TEST(test_what_nobody_asked_for_is_closed_and_taken_out)
{
	static const char *const names[] = { "stored", REGION_5, LIFETIME_5, "stored" };
	scoped(store_freep) struct store *store = make(&ops, names, 4);

	ck_assert_int_eq(store_take(store, STORE_REGION, 5), fds[1]);
	ck_assert_uint_eq(store_close_rest(store), 3);
	expect_told("-" LIFETIME_5 " -stored ");
	ck_assert(is_open(fds[1]));
	ck_assert(!is_open(fds[0]));
	ck_assert(!is_open(fds[2]));
	ck_assert(!is_open(fds[3]));
	/* Once is enough. */
	ck_assert_uint_eq(store_close_rest(store), 0);
	expect_told("");
	(void) close(fds[1]);
}
END_TEST

START_TEST(test_of_several_with_one_name_the_first_counts_and_is_put_anew_alone)
{
	static const char *const names[] = { "z", REGION_5, REGION_5, "a", REGION_5 };
	scoped(store_freep) struct store *store = make(&ops, names, 5);
	size_t nr_fds;

	ck_assert_uint_eq(store_nr_inherited(store, STORE_REGION), 3);
	ck_assert_uint_eq(store_nr_inherited(store, STORE_LIFETIME), 0);
	ck_assert_int_eq(store_take(store, STORE_REGION, 5), fds[1]);
	nr_fds = world_nr_fds();
	ck_assert_uint_eq(store_close_rest(store), 4);
	expect_told("-a -" REGION_5 " +" REGION_5 " -z ");
	ck_assert(is_open(fds[1]));
	/* Four, and the duplicate that was needed to put it anew. */
	ck_assert_uint_eq(world_nr_fds(), nr_fds - 5);
	(void) close(fds[1]);
}
END_TEST

START_TEST(test_what_was_taken_is_not_put_again)
{
	static const char *const names[] = { "state", LIFETIME_5 };
	scoped(store_freep) struct store *store = make(&ops, names, 2);
	int fd = store_take_state(store);

	ck_assert_int_eq(store_put_state(store, fd), 0);
	expect_told("");
	ck_assert_int_eq(store_take(store, STORE_LIFETIME, 5), fds[1]);
	ck_assert_int_eq(store_put(store, STORE_LIFETIME, 5, fds[1]), 0);
	expect_told("");
	/* After it was taken out, it is. */
	store_remove(store, STORE_LIFETIME, 5);
	ck_assert_int_eq(store_put(store, STORE_LIFETIME, 5, fds[1]), 0);
	expect_told("-" LIFETIME_5 " +" LIFETIME_5 " ");
	(void) close(fds[0]);
	(void) close(fds[1]);
}
END_TEST

START_TEST(test_something_else_replaces_what_was_given_back)
{
	static const char *const names[] = { "state", "state", REGION_5, LIFETIME_5, LIFETIME_5 };
	scoped(store_freep) struct store *store = make(&ops, names, 5);
	scoped(fd_closep) int fd = make_fd();

	ck_assert_int_eq(store_take_state(store), fds[0]);
	ck_assert_int_eq(store_put_state(store, fd), 0);
	expect_told("-state +state ");
	/* Never taken, and put: only what is put now is kept. */
	ck_assert_int_eq(store_put(store, STORE_REGION, 5, fd), 0);
	expect_told("-" REGION_5 " +" REGION_5 " ");
	ck_assert_int_eq(store_take(store, STORE_LIFETIME, 5), fds[3]);
	store_remove(store, STORE_LIFETIME, 5);
	expect_told("-" LIFETIME_5 " ");
	ck_assert_uint_eq(store_close_rest(store), 3);
	expect_told("");
	(void) close(fds[0]);
	(void) close(fds[3]);
}
END_TEST

START_TEST(test_a_put_that_fails_says_so)
{
	scoped(store_freep) struct store *store = make(&ops, NULL, 0);
	scoped(fd_closep) int fd = make_fd();

	put_error = ENOBUFS;
	ck_assert_int_eq(store_put(store, STORE_REGION, 5, fd), -ENOBUFS);
	ck_assert_int_eq(store_put_state(store, fd), -ENOBUFS);
}
END_TEST

START_TEST(test_without_a_store_nothing_is_kept_and_nothing_breaks)
{
	static const char *const names[] = { REGION_5, REGION_5, "other" };
	scoped(store_freep) struct store *store = make(NULL, names, 3);
	scoped(fd_closep) int fd = make_fd();
	int region;

	ck_assert(!store_is_there(store));
	ck_assert_int_eq(store_put_state(store, fd), -EOPNOTSUPP);
	ck_assert_int_eq(store_put(store, STORE_REGION, 6, fd), -EOPNOTSUPP);
	store_remove(store, STORE_REGION, 6);
	region = store_take(store, STORE_REGION, 5);
	ck_assert_int_eq(region, fds[0]);
	ck_assert_uint_eq(store_close_rest(store), 2);
	(void) close(region);
	expect_told("");
}
END_TEST

START_TEST(test_the_end_of_the_process_takes_nothing_out)
{
	static const char *const names[] = { REGION_5, LIFETIME_5, LIFETIME_5 };
	struct store *store = make(&ops, names, 3);
	size_t nr_fds = world_nr_fds();

	ck_assert_int_eq(store_take(store, STORE_LIFETIME, 5), fds[1]);
	ck_assert_ptr_null(store_free(store));
	expect_told("");
	ck_assert_uint_eq(world_nr_fds(), nr_fds - 2);
	ck_assert(is_open(fds[1]));
	ck_assert_ptr_null(store_free(NULL));
	(void) close(fds[1]);
}
END_TEST

START_TEST(test_ten_thousand_are_found)
{
	enum { NR = 10000 };
	static char texts[NR][40];
	static const char *names[NR];
	static int all[NR];
	scoped(store_freep) struct store *store = NULL;
	scoped(fd_closep) int fd = make_fd();

	/* One descriptor does for all: only one of them is looked at. */
	for (unsigned i = 0; i < NR; i++) {
		(void) snprintf(texts[i], sizeof(texts[i]), "region-%016x", NR - i);
		names[i] = texts[i];
		all[i] = i == 1234 ? fd : -1;
	}
	ck_assert_int_eq(store_new(&ops, told, all, names, NR, &store), 0);
	ck_assert_uint_eq(store_nr_inherited(store, STORE_REGION), NR);
	ck_assert_int_eq(store_take(store, STORE_REGION, NR - 1234), fd);
	ck_assert_int_eq(store_take(store, STORE_REGION, NR + 1), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("store");
	TCase *tcase = tcase_create("store");

	tcase_add_test(tcase, test_what_was_given_back_is_taken_by_name_once);
	tcase_add_test(tcase, test_names_have_sixteen_hexadecimal_digits);
	tcase_add_test(tcase, test_what_nobody_asked_for_is_closed_and_taken_out);
	tcase_add_test(tcase, test_of_several_with_one_name_the_first_counts_and_is_put_anew_alone);
	tcase_add_test(tcase, test_what_was_taken_is_not_put_again);
	tcase_add_test(tcase, test_something_else_replaces_what_was_given_back);
	tcase_add_test(tcase, test_a_put_that_fails_says_so);
	tcase_add_test(tcase, test_without_a_store_nothing_is_kept_and_nothing_breaks);
	tcase_add_test(tcase, test_the_end_of_the_process_takes_nothing_out);
	tcase_add_test(tcase, test_ten_thousand_are_found);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
