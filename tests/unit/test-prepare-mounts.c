/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The nodes' tmpfs of nodeinitd --prepare: run by root, or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/prepare-mounts.h"
#include "prepare-scene.h"
#include "suite.h"

#define LATE 1000 /* a node that has no memory here */

static unsigned run_for(bool may_remove, int node_id, int another_id)
{
	scoped(idset_clear) struct idset nodes = { 0 };
	scoped(fd_closep) int base_fd = open(scene_path("run"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct prepare_mounts mounts = { .base_fd = base_fd,
		                         .base = scene_path("run"),
		                         .nodes = &nodes,
		                         .may_remove = may_remove,
		                         .uid = SERVICE,
		                         .gid = SERVICE };

	ck_assert_int_ge(base_fd, 0);
	if (node_id >= 0)
		ck_assert_int_eq(idset_add(&nodes, (unsigned) node_id), 0);
	if (another_id >= 0)
		ck_assert_int_eq(idset_add(&nodes, (unsigned) another_id), 0);
	return prepare_mounts(&mounts);
}

static void run_well(int node_id)
{
	unsigned nr_failed = run_for(true, node_id, -1);

	ck_assert_msg(nr_failed == 0, "%s", scene_said.text);
	ck_assert_uint_eq(scene_said.nr_lines, 0);
}

static void expect_failure(const char *text)
{
	ck_assert_uint_eq(run_for(true, 0, -1), 1);
	ck_assert_uint_eq(scene_said.nr_lines, 1);
	ck_assert_msg(strstr(scene_said.text, text) != NULL, "\"%s\" does not say \"%s\"",
	              scene_said.text, text);
}

/* What the daemon does: a mount of its own that can be written. Return: a descriptor. */
static int open_writable(const char *name)
{
	struct {
		uint64_t set, clear, propagation, userns_fd;
	} attributes = { .clear = 1 }; /* MOUNT_ATTR_RDONLY */
	int fd = (int) syscall(428, AT_FDCWD, scene_path(name),
	                       1 | O_CLOEXEC); /* open_tree, _CLONE */

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(syscall(442, fd, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)), 0);
	return fd;
}

static void write_copy(const char *node, const char *name)
{
	scoped(fd_closep) int mount_fd = open_writable(node), fd = -1;

	fd = openat(mount_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "#!/bin/true\n", 12), 12);
}

static int write_as_root(const char *name)
{
	scoped(fd_closep) int fd = open(scene_path(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	return fd < 0 ? -errno : 0;
}

START_TEST(a_node_has_a_tmpfs_that_is_bound_to_it)
{
	char line[4096];
	struct statfs fs;

	run_well(0);
	ck_assert_uint_eq(scene_nr_mounts("run/replica/node0", line, sizeof(line)), 1);
	ck_assert_int_eq(statfs(scene_path("run/replica/node0"), &fs), 0);
	ck_assert_int_eq(fs.f_type, TMPFS_MAGIC);
	ck_assert_msg(strstr(line, "mpol=bind=static:0") != NULL, "%s", line);
	ck_assert_msg(strstr(line, "nr_inodes=0") != NULL, "%s", line);
}
END_TEST

START_TEST(it_belongs_to_the_user_of_the_service_and_its_place_to_root)
{
	struct stat status;

	run_well(0);
	ck_assert_int_eq(lstat(scene_path("run/replica/node0"), &status), 0);
	ck_assert_uint_eq(status.st_uid, SERVICE);
	ck_assert_uint_eq(status.st_gid, SERVICE);
	ck_assert_uint_eq(status.st_mode, S_IFDIR | 0755);
	ck_assert_int_eq(lstat(scene_path("run/replica"), &status), 0);
	ck_assert_uint_eq(status.st_uid, 0);
	ck_assert_uint_eq(status.st_mode, S_IFDIR | 0755);
	ck_assert_int_eq(lstat(scene_path("run/replica/.lock"), &status), 0);
	ck_assert_uint_eq(status.st_mode, S_IFREG | 0600);
}
END_TEST

START_TEST(it_is_read_only_for_root_too_and_runs_programs)
{
	struct statvfs status;

	run_well(0);
	ck_assert_int_eq(write_as_root("run/replica/node0/x"), -EROFS);
	ck_assert_int_eq(statvfs(scene_path("run/replica/node0"), &status), 0);
	ck_assert_uint_eq(status.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC),
	                  ST_RDONLY | ST_NOSUID | ST_NODEV);
	write_copy("run/replica/node0", "program");
	ck_assert_int_eq(system(scene_path("run/replica/node0/program")), 0);
	ck_assert_int_eq(unlink(scene_path("run/replica/node0/program")), -1);
	ck_assert_int_eq(errno, EROFS);
}
END_TEST

START_TEST(another_run_leaves_all_as_it_is)
{
	struct stat before, after;

	run_well(0);
	write_copy("run/replica/node0", "program");
	ck_assert_int_eq(stat(scene_path("run/replica/node0/program"), &before), 0);
	run_well(0);
	ck_assert_uint_eq(scene_nr_mounts("run/replica/node0", NULL, 0), 1);
	ck_assert_int_eq(stat(scene_path("run/replica/node0/program"), &after), 0);
	ck_assert_uint_eq(before.st_dev, after.st_dev);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
}
END_TEST

START_TEST(what_somebody_loosened_is_fixed_again)
{
	struct statvfs status;

	run_well(0);
	ck_assert_int_eq(
		mount(NULL, scene_path("run/replica/node0"), NULL, MS_REMOUNT | MS_BIND, NULL), 0);
	ck_assert_int_eq(write_as_root("run/replica/node0/x"), 0);
	run_well(0);
	ck_assert_int_eq(write_as_root("run/replica/node0/y"), -EROFS);
	ck_assert_int_eq(statvfs(scene_path("run/replica/node0"), &status), 0);
	ck_assert_uint_ne(status.f_flag & ST_NOSUID, 0);
	ck_assert_uint_ne(status.f_flag & ST_NODEV, 0);
}
END_TEST

START_TEST(a_tmpfs_without_its_policy_gets_it)
{
	char line[4096];

	run_well(-1);
	ck_assert_int_eq(mkdir(scene_path("run/replica"), 0755), 0);
	ck_assert_int_eq(mkdir(scene_path("run/replica/node0"), 0755), 0);
	ck_assert_int_eq(mount("test", scene_path("run/replica/node0"), "tmpfs", 0, "size=1M"), 0);
	run_well(0);
	ck_assert_uint_eq(scene_nr_mounts("run/replica/node0", line, sizeof(line)), 1);
	ck_assert_msg(strstr(line, "mpol=bind=static:0") != NULL, "%s", line);
}
END_TEST

START_TEST(a_node_that_has_no_memory_yet_has_a_tmpfs_without_policy)
{
	char line[4096], name[64];

	(void) snprintf(name, sizeof(name), "run/replica/node%d", LATE);
	run_well(LATE);
	ck_assert_uint_eq(scene_nr_mounts(name, line, sizeof(line)), 1);
	ck_assert_ptr_null(strstr(line, "mpol"));
}
END_TEST

START_TEST(an_empty_mount_that_nobody_wants_goes)
{
	run_well(0);
	run_well(-1);
	ck_assert_uint_eq(scene_nr_mounts("run/replica/node0", NULL, 0), 0);
	ck_assert_int_eq(access(scene_path("run/replica/node0"), F_OK), -1);
}
END_TEST

START_TEST(one_with_copies_in_it_stays)
{
	run_well(0);
	write_copy("run/replica/node0", "program");
	run_well(-1);
	ck_assert_uint_eq(scene_nr_mounts("run/replica/node0", NULL, 0), 1);
}
END_TEST

START_TEST(none_goes_while_not_all_that_is_wanted_is_known)
{
	run_well(0);
	ck_assert_uint_eq(run_for(false, -1, -1), 0);
	ck_assert_uint_eq(scene_nr_mounts("run/replica/node0", NULL, 0), 1);
}
END_TEST

START_TEST(what_has_another_name_is_left_alone)
{
	run_well(0);
	ck_assert_int_eq(mkdir(scene_path("run/replica/node1x"), 0755), 0);
	ck_assert_int_eq(mkdir(scene_path("run/replica/nodes"), 0755), 0);
	run_well(-1);
	ck_assert_int_eq(access(scene_path("run/replica/node1x"), F_OK), 0);
	ck_assert_int_eq(access(scene_path("run/replica/nodes"), F_OK), 0);
}
END_TEST

START_TEST(without_copies_to_make_nothing_is_made)
{
	run_well(-1);
	ck_assert_int_eq(access(scene_path("run/replica"), F_OK), -1);
}
END_TEST

START_TEST(several_at_once_make_one_mount)
{
	enum { NR = 8 };
	int go[2], status;
	char byte;

	ck_assert_int_eq(pipe2(go, O_CLOEXEC), 0);
	for (int i = 0; i < NR; i++) {
		pid_t child = fork();

		ck_assert_int_ge(child, 0);
		if (child == 0) {
			(void) close(go[1]);
			_exit(read(go[0], &byte, 1) == 0 ? (int) run_for(true, 0, -1) : 99);
		}
	}
	(void) close(go[0]);
	(void) close(go[1]);
	for (int i = 0; i < NR; i++) {
		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	ck_assert_uint_eq(scene_nr_mounts("run/replica/node0", NULL, 0), 1);
}
END_TEST

START_TEST(one_that_hangs_keeps_the_next_one_for_seconds_only)
{
	scoped(fd_closep) int lock_fd = -1;

	run_well(0);
	lock_fd = open(scene_path("run/replica/.lock"), O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(flock(lock_fd, LOCK_EX | LOCK_NB), 0);
	expect_failure("run/replica/.lock: cannot be locked: Device or resource busy");
}
END_TEST

/* --- what a service's user who means harm has put there --- */

START_TEST(a_link_in_place_of_the_directory_is_not_followed)
{
	scene_put_victim();
	ck_assert_int_eq(symlink(scene_path("victim"), scene_path("run/replica")), 0);
	expect_failure("run/replica: ");
	scene_expect_victim_unharmed();
}
END_TEST

START_TEST(another_users_directory_is_not_used)
{
	ck_assert_int_eq(mkdir(scene_path("run/replica"), 0755), 0);
	ck_assert_int_eq(chown(scene_path("run/replica"), SERVICE, SERVICE), 0);
	expect_failure("run/replica: cannot be root's own directory: Operation not permitted");
	ck_assert_int_eq(access(scene_path("run/replica/node0"), F_OK), -1);
}
END_TEST

START_TEST(a_directory_that_others_may_write_is_not_used)
{
	ck_assert_int_eq(mkdir(scene_path("run/replica"), 0755), 0);
	ck_assert_int_eq(chmod(scene_path("run/replica"), 0777), 0);
	expect_failure("run/replica: cannot be root's own directory: Operation not permitted");
}
END_TEST

START_TEST(a_fifo_in_place_of_the_directory_keeps_nobody_waiting)
{
	ck_assert_int_eq(mkfifo(scene_path("run/replica"), 0666), 0);
	expect_failure("run/replica: cannot be root's own directory: Not a directory");
}
END_TEST

START_TEST(a_link_in_place_of_a_node_is_not_followed_and_others_go_on)
{
	char name[64];

	scene_put_victim();
	ck_assert_int_eq(mkdir(scene_path("run/replica"), 0755), 0);
	ck_assert_int_eq(symlink(scene_path("victim/node0"), scene_path("run/replica/node0")), 0);
	(void) snprintf(name, sizeof(name), "run/replica/node%d", LATE);
	ck_assert_uint_eq(run_for(true, 0, LATE), 1);
	ck_assert_ptr_nonnull(strstr(scene_said.text, "run/replica/node0: "));
	scene_expect_victim_unharmed();
	ck_assert_uint_eq(scene_nr_mounts(name, NULL, 0), 1);
}
END_TEST

START_TEST(a_link_in_place_of_a_node_that_nobody_wants_unmounts_nothing)
{
	char name[64];

	run_well(0);
	(void) snprintf(name, sizeof(name), "run/replica/node%d", LATE);
	ck_assert_int_eq(mkdir(scene_path("elsewhere"), 0755), 0);
	ck_assert_int_eq(mount("test", scene_path("elsewhere"), "tmpfs", 0, NULL), 0);
	ck_assert_int_eq(symlink(scene_path("elsewhere"), scene_path(name)), 0);
	(void) run_for(true, 0, -1);
	ck_assert_uint_eq(scene_nr_mounts("elsewhere", NULL, 0), 1);
}
END_TEST

START_TEST(another_file_system_in_place_of_a_node_is_left_alone)
{
	struct statvfs before, after;

	ck_assert_int_eq(mkdir(scene_path("run/replica"), 0755), 0);
	ck_assert_int_eq(mkdir(scene_path("run/replica/node0"), 0755), 0);
	ck_assert_int_eq(mount("test", scene_path("run/replica/node0"), "proc", 0, NULL), 0);
	ck_assert_int_eq(statvfs(scene_path("run/replica/node0"), &before), 0);
	expect_failure("run/replica/node0: the node's tmpfs cannot be mounted there: Device or "
	               "resource busy");
	ck_assert_int_eq(statvfs(scene_path("run/replica/node0"), &after), 0);
	ck_assert_uint_eq(before.f_flag, after.f_flag);
	ck_assert_uint_eq(run_for(true, -1, -1), 0);
	ck_assert_uint_eq(scene_nr_mounts("run/replica/node0", NULL, 0), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("prepare-mounts");
	TCase *mounts = tcase_create("mounts");
	TCase *hostile = tcase_create("hostile");

	if (geteuid() != 0 || !scene_is_possible())
		suite_skip("mounts of one's own need root");
	tcase_set_timeout(mounts, 20);
	tcase_add_checked_fixture(mounts, scene_setup, scene_teardown);
	tcase_add_test(mounts, a_node_has_a_tmpfs_that_is_bound_to_it);
	tcase_add_test(mounts, it_belongs_to_the_user_of_the_service_and_its_place_to_root);
	tcase_add_test(mounts, it_is_read_only_for_root_too_and_runs_programs);
	tcase_add_test(mounts, another_run_leaves_all_as_it_is);
	tcase_add_test(mounts, what_somebody_loosened_is_fixed_again);
	tcase_add_test(mounts, a_tmpfs_without_its_policy_gets_it);
	tcase_add_test(mounts, a_node_that_has_no_memory_yet_has_a_tmpfs_without_policy);
	tcase_add_test(mounts, an_empty_mount_that_nobody_wants_goes);
	tcase_add_test(mounts, one_with_copies_in_it_stays);
	tcase_add_test(mounts, none_goes_while_not_all_that_is_wanted_is_known);
	tcase_add_test(mounts, what_has_another_name_is_left_alone);
	tcase_add_test(mounts, without_copies_to_make_nothing_is_made);
	tcase_add_test(mounts, several_at_once_make_one_mount);
	tcase_add_test(mounts, one_that_hangs_keeps_the_next_one_for_seconds_only);
	suite_add_tcase(suite, mounts);

	tcase_add_checked_fixture(hostile, scene_setup, scene_teardown);
	tcase_add_test(hostile, a_link_in_place_of_the_directory_is_not_followed);
	tcase_add_test(hostile, another_users_directory_is_not_used);
	tcase_add_test(hostile, a_directory_that_others_may_write_is_not_used);
	tcase_add_test(hostile, a_fifo_in_place_of_the_directory_keeps_nobody_waiting);
	tcase_add_test(hostile, a_link_in_place_of_a_node_is_not_followed_and_others_go_on);
	tcase_add_test(hostile, a_link_in_place_of_a_node_that_nobody_wants_unmounts_nothing);
	tcase_add_test(hostile, another_file_system_in_place_of_a_node_is_left_alone);
	suite_add_tcase(suite, hostile);

	return suite_main(suite);
}
