/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a copy has besides its content, and who could read it by that. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "replica-world.h"
#include "suite.h"

#define NOBODY 65534

static struct replica_world world;

static void set_up(void)
{
	replica_world_open(&world);
}

static void tear_down(void)
{
	replica_world_close(&world);
}

/* An attribute that the file system of the copies does not take. */
static const char *refused = "";

int __real_fsetxattr(int fd, const char *name, const void *value, size_t bytes, int flags);
int __wrap_fsetxattr(int fd, const char *name, const void *value, size_t bytes, int flags);

int __wrap_fsetxattr(int fd, const char *name, const void *value, size_t bytes, int flags)
{
	if (strcmp(name, refused) != 0)
		return __real_fsetxattr(fd, name, value, bytes, flags);
	errno = ENOTSUP;
	return -1;
}

START_TEST(test_mode_time_owner_and_attributes_are_the_originals_but_nobody_may_write)
{
	struct timespec times[2] = { { 1000000001, 5 }, { 1000000002, 123456789 } };
	const char *path = replica_original(&world, "a");
	struct share *share;
	struct stat status;
	char value[16];

	replica_write(&world, "a", 5000, 1);
	if (geteuid() == 0) {
		ck_assert_int_eq(setxattr(path, "trusted.b", "three", 5, 0), 0);
		ck_assert_int_eq(chown(path, 1234, 4321), 0);
	}
	ck_assert_int_eq(setxattr(path, "user.a", "four", 4, 0), 0);
	ck_assert_int_eq(chmod(path, 0775), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	replica_name(&world, "a");
	share = replica_make(&world, 0);
	replica_run(share);
	ck_assert_int_eq(lstat(replica_copy(&world, "a"), &status), 0);
	ck_assert_uint_eq(status.st_mode, S_IFREG | 0555);
	ck_assert_int_eq(status.st_mtim.tv_sec, times[1].tv_sec);
	ck_assert_int_eq(status.st_mtim.tv_nsec, times[1].tv_nsec);
	ck_assert_int_eq(getxattr(replica_copy(&world, "a"), "user.a", value, sizeof(value)), 4);
	if (geteuid() == 0) {
		ck_assert_uint_eq(status.st_uid, 1234);
		ck_assert_uint_eq(status.st_gid, 4321);
		ck_assert_int_eq(
			getxattr(replica_copy(&world, "a"), "trusted.b", value, sizeof(value)), 5);
	}
	/* The directories are open to everybody, whatever umask says. */
	ck_assert_int_eq(lstat(replica_copy(&world, ""), &status), 0);
	ck_assert_uint_eq(status.st_mode, S_IFDIR | 0755);
	replica_free(share);
}
END_TEST

/* Version 2; owner rw-, user 1234 rw-, group r--, mask rw-, others r--. */
static const unsigned char access_list[] = {
	2, 0,    0,    0,    1,    0,    6,    0, 0xff, 0xff, 0xff, 0xff, 2,    0,    6,
	0, 0xd2, 0x04, 0,    0,    4,    0,    4, 0,    0xff, 0xff, 0xff, 0xff, 0x10, 0,
	6, 0,    0xff, 0xff, 0xff, 0xff, 0x20, 0, 4,    0,    0xff, 0xff, 0xff, 0xff,
};

START_TEST(test_the_access_list_is_kept_and_lets_nobody_write)
{
	unsigned char kept[sizeof(access_list)];
	struct share *share;
	struct stat status;

	replica_write(&world, "a", 5000, 1);
	ck_assert_int_eq(setxattr(replica_original(&world, "a"), "system.posix_acl_access",
	                          access_list, sizeof(access_list), 0),
	                 0);
	replica_name(&world, "a");
	share = replica_make(&world, 0);
	replica_run(share);
	ck_assert_int_eq(
		getxattr(replica_copy(&world, "a"), "system.posix_acl_access", kept, sizeof(kept)),
		sizeof(kept));
	ck_assert_mem_eq(kept + 12, access_list + 12, 16); /* who is named, and the group */
	ck_assert_uint_eq(kept[30], 4);                    /* the mask */
	ck_assert_int_eq(lstat(replica_copy(&world, "a"), &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0444);
	replica_free(share);
}
END_TEST

START_TEST(test_an_attribute_that_is_not_taken_is_left_out_but_not_an_access_list)
{
	struct share *share;

	replica_write(&world, "a", 5000, 1);
	replica_write(&world, "b", 5000, 1);
	ck_assert_int_eq(setxattr(replica_original(&world, "a"), "user.a", "four", 4, 0), 0);
	ck_assert_int_eq(setxattr(replica_original(&world, "b"), "system.posix_acl_access",
	                          access_list, sizeof(access_list), 0),
	                 0);
	replica_name(&world, "a");
	replica_name(&world, "b");
	refused = "user.a";
	share = replica_make(&world, 0);
	replica_run(share);
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert(replica_is_copied(&world, "b"));
	ck_assert_int_eq(getxattr(replica_copy(&world, "a"), "user.a", NULL, 0), -1);
	replica_free(share);
	refused = "system.posix_acl_access";
	share = replica_make(&world, 0);
	replica_run(share);
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert_str_eq(replica_link(&world, "b"), replica_original(&world, "b"));
	ck_assert_int_eq(replica_status(share).reason, REASON_NOT_PERMITTED);
	replica_free(share);
}
END_TEST

/* Only for root; the test's end removes the directory as root again. */
static void become_nobody(void)
{
	char node[128];

	(void) snprintf(node, sizeof(node), "%s/node1", world.copies);
	ck_assert_int_eq(chown(node, NOBODY, NOBODY), 0);
	ck_assert_int_eq(setegid(NOBODY), 0);
	ck_assert_int_eq(seteuid(NOBODY), 0);
}

static void become_root(void)
{
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(setegid(0), 0);
}

START_TEST(test_an_access_list_is_of_no_use_with_another_owner)
{
	struct share *share;

	replica_write(&world, "a", 5000, 1);
	ck_assert_int_eq(setxattr(replica_original(&world, "a"), "system.posix_acl_access",
	                          access_list, sizeof(access_list), 0),
	                 0);
	replica_name(&world, "a");
	become_nobody();
	share = replica_make(&world, 0);
	replica_run(share);
	ck_assert_int_eq(replica_status(share).reason, REASON_NOT_PERMITTED);
	ck_assert_str_eq(replica_link(&world, "a"), replica_original(&world, "a"));
	replica_free(share);
	become_root();
}
END_TEST

static const struct {
	mode_t mode;
	bool is_copied;
} foreign_modes[] = {
	{ 0644, true },
	{ 0755, true },
	{ 0604, false }, /* the group is kept out; a copy would let it in */
	{ 0744, false }, /* the owner alone may run it */
};

START_TEST(test_a_copy_that_would_belong_to_us_must_not_let_in_who_is_kept_out)
{
	struct share *share;

	replica_write(&world, "a", 5000, 1);
	ck_assert_int_eq(chown(replica_original(&world, "a"), 1234, 1234), 0);
	ck_assert_int_eq(chmod(replica_original(&world, "a"), foreign_modes[_i].mode), 0);
	replica_name(&world, "a");
	become_nobody();
	share = replica_make(&world, 0);
	replica_run(share);
	ck_assert_int_eq(replica_is_copied(&world, "a"), foreign_modes[_i].is_copied);
	if (!foreign_modes[_i].is_copied) {
		ck_assert_int_eq(replica_status(share).reason, REASON_NOT_PERMITTED);
		ck_assert_uint_eq(replica_status(share).done_bytes, 0);
		ck_assert_str_eq(replica_link(&world, "a"), replica_original(&world, "a"));
	}
	replica_free(share);
	become_root();
}
END_TEST

START_TEST(test_the_owner_is_kept_by_who_may_do_that_and_nothing_else)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2];
	struct share *share;
	struct stat status;

	replica_write(&world, "a", 5000, 1);
	ck_assert_int_eq(chown(replica_original(&world, "a"), 1234, 4321), 0);
	ck_assert_int_eq(chmod(replica_original(&world, "a"), 0744), 0);
	replica_name(&world, "a");
	become_nobody();
	ck_assert_int_eq(syscall(SYS_capget, &header, sets), 0);
	sets[0].effective = 1u << CAP_CHOWN;
	ck_assert_int_eq(syscall(SYS_capset, &header, sets), 0);
	share = replica_make(&world, 0);
	replica_run(share);
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert_int_eq(lstat(replica_copy(&world, "a"), &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0544);
	ck_assert_uint_eq(status.st_uid, 1234);
	ck_assert_uint_eq(status.st_gid, 4321);
	replica_free(share);
	ck_assert(replica_is_absent(&world, "a"));
	become_root();
}
END_TEST

START_TEST(test_what_cannot_be_read_is_a_link_and_others_go_on)
{
	struct share *share;
	struct share_status status;

	replica_add(&world, "a", 5000, 1);
	replica_add(&world, "b", 5000, 1);
	ck_assert_int_eq(chmod(replica_original(&world, "a"), 0600), 0);
	become_nobody();
	share = replica_make(&world, 0);
	replica_run(share);
	status = replica_status(share);
	ck_assert_int_eq(status.reason, REASON_UNREADABLE);
	ck_assert_uint_eq(status.nr_missing, 1);
	ck_assert_str_eq(status.missing, replica_original(&world, "a"));
	ck_assert_str_eq(replica_link(&world, "a"), replica_original(&world, "a"));
	ck_assert(replica_is_copied(&world, "b"));
	replica_free(share);
	become_root();
}
END_TEST

static void add_tests_of_users(TCase *tcase)
{
	tcase_add_test(tcase, test_an_access_list_is_of_no_use_with_another_owner);
	tcase_add_loop_test(tcase,
	                    test_a_copy_that_would_belong_to_us_must_not_let_in_who_is_kept_out, 0,
	                    (int) ELEMENTS(foreign_modes));
	tcase_add_test(tcase, test_the_owner_is_kept_by_who_may_do_that_and_nothing_else);
	tcase_add_test(tcase, test_what_cannot_be_read_is_a_link_and_others_go_on);
}

int main(void)
{
	Suite *suite = suite_create("replica-attributes");
	TCase *tcase = tcase_create("replica-attributes");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase,
	               test_mode_time_owner_and_attributes_are_the_originals_but_nobody_may_write);
	tcase_add_test(tcase, test_the_access_list_is_kept_and_lets_nobody_write);
	tcase_add_test(tcase,
	               test_an_attribute_that_is_not_taken_is_left_out_but_not_an_access_list);
	if (geteuid() == 0)
		add_tests_of_users(tcase);
	else
		printf("skipped: only root may become somebody else\n");
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
