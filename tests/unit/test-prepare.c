/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nodeinitd --prepare as a whole, for a machine that is played: run by root, or not at all. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/prepare.h"
#include "../../daemon/run-directory.h"
#include "prepare-scene.h"
#include "suite.h"
#include "tree.h"

#define MACHINE "uma-4g" /* its node is 0 */

static struct tree *tree;

static void setup_machine(void)
{
	scene_setup();
	tree = tree_new(MACHINE);
	ck_assert_int_eq(mkdir(scene_path("config"), 0755), 0);
	ck_assert_int_eq(mkdir(scene_path("config/pools.d"), 0755), 0);
}

static void teardown_machine(void)
{
	tree = tree_free(tree);
	scene_teardown();
}

static void pool(const char *name, const char *text)
{
	scoped(file_closep) FILE *file = NULL;
	char path[128];

	(void) snprintf(path, sizeof(path), "%s/%s.pool", scene_path("config/pools.d"), name);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
}

static void no_pool(const char *name)
{
	char path[128];

	(void) snprintf(path, sizeof(path), "%s/%s.pool", scene_path("config/pools.d"), name);
	ck_assert_int_eq(unlink(path), 0);
}

static int run_as_a_whole(void)
{
	const struct prepare_setup whole = { .config_directory = scene_path("config"),
		                             .root = tree->root,
		                             .base = scene_path("run"),
		                             .uid = SERVICE,
		                             .gid = SERVICE };

	return prepare(&whole);
}

static void expect_state(uint64_t block, gid_t gid, mode_t mode)
{
	char path[512];
	struct stat status;

	(void) snprintf(path, sizeof(path), "%s/sys/devices/system/memory/memory%llu/state",
	                tree->root, (unsigned long long) block);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_uint_eq(status.st_uid, 0);
	ck_assert_uint_eq(status.st_gid, gid);
	ck_assert_uint_eq(status.st_mode & 07777, mode);
}

START_TEST(offline_blocks_can_be_brought_online_by_the_group)
{
	tree_set_block_state(tree, 5, "offline");
	tree_set_block_state(tree, 7, "online");
	pool("late", "[Pool]\nKind=block\n");
	ck_assert_int_eq(run_as_a_whole(), 0);
	expect_state(5, SERVICE, 0664);
	expect_state(7, 0, 0644);
	ck_assert_int_eq(access(scene_path("run/" PREPARE_WANTS_BLOCKS), F_OK), 0);
	ck_assert_int_eq(access(scene_path("run/replica"), F_OK), -1);
	ck_assert_uint_eq(scene_said.nr_lines, 0);
}
END_TEST

START_TEST(without_a_pool_of_blocks_they_stay_roots)
{
	tree_set_block_state(tree, 5, "offline");
	pool("late", "[Pool]\nKind=block\n");
	ck_assert_int_eq(run_as_a_whole(), 0);
	no_pool("late");
	tree_set_block_state(tree, 6, "offline");
	ck_assert_int_eq(run_as_a_whole(), 0);
	expect_state(6, 0, 0644);
	ck_assert_int_eq(access(scene_path("run/" PREPARE_WANTS_BLOCKS), F_OK), -1);
}
END_TEST

START_TEST(blocks_of_a_node_that_no_pool_names_stay_roots)
{
	tree_set_block_state(tree, 5, "offline");
	pool("late", "[Pool]\nKind=block\nNodes=3\n");
	ck_assert_int_eq(run_as_a_whole(), 0);
	expect_state(5, 0, 0644);
}
END_TEST

START_TEST(a_link_in_place_of_the_mark_is_not_followed)
{
	pool("late", "[Pool]\nKind=block\n");
	ck_assert_int_eq(symlink(scene_path("victim"), scene_path("run/" PREPARE_WANTS_BLOCKS)), 0);
	ck_assert_int_eq(run_as_a_whole(), 0);
	ck_assert_int_eq(access(scene_path("victim"), F_OK), -1);
}
END_TEST

START_TEST(copies_have_a_place_on_the_node_that_their_pool_names)
{
	pool("text", "[Pool]\nKind=replica\nPaths=/bin/true\nNodes=0,3\n");
	ck_assert_int_eq(run_as_a_whole(), 0);
	ck_assert_uint_eq(scene_nr_mounts("run/replica/node0", NULL, 0), 1);
	ck_assert_uint_eq(scene_nr_mounts("run/replica/node3", NULL, 0), 0);
	no_pool("text");
	ck_assert_int_eq(run_as_a_whole(), 0);
	ck_assert_uint_eq(scene_nr_mounts("run/replica/node0", NULL, 0), 0);
}
END_TEST

/* Two nodes more, both without memory: 1 with a CPU, 2 without. */
static void expect_mounts_of_three(const char *nodes, const char *expected)
{
	char text[128], mounted[8] = "";

	tree_write(tree, "0-2\n", "/sys/devices/system/node/online");
	tree_write(tree, "10 20 20\n", "/sys/devices/system/node/node0/distance");
	for (unsigned i = 1; i < 3; i++) {
		tree_write(tree, i == 1 ? "1\n" : "\n", "/sys/devices/system/node/node%u/cpulist",
		           i);
		tree_write(tree, i == 1 ? "20 10 20\n" : "20 20 10\n",
		           "/sys/devices/system/node/node%u/distance", i);
		(void) snprintf(text, sizeof(text),
		                "Node %u MemTotal: 0 kB\nNode %u MemFree: 0 kB\n", i, i);
		tree_write(tree, text, "/sys/devices/system/node/node%u/meminfo", i);
	}
	(void) snprintf(text, sizeof(text), "[Pool]\nKind=replica\nPaths=/bin/true\nNodes=%s\n",
	                nodes);
	pool("text", text);
	ck_assert_int_eq(run_as_a_whole(), 0);
	for (unsigned i = 0; i < 3; i++) {
		(void) snprintf(text, sizeof(text), "run/replica/node%u", i);
		if (scene_nr_mounts(text, NULL, 0) == 1)
			(void) snprintf(mounted + strlen(mounted), 2, "%u", i);
	}
	ck_assert_str_eq(mounted, expected);
}

START_TEST(a_node_without_memory_may_get_some)
{
	expect_mounts_of_three("all", "012");
}
END_TEST

START_TEST(nodes_without_cpus_have_no_copies_where_they_are_for_cpus)
{
	expect_mounts_of_three("cpu", "01");
}
END_TEST

START_TEST(no_mount_goes_while_the_daemon_is_at_work)
{
	scoped(fd_closep) int held_fd = -1;

	pool("text", "[Pool]\nKind=replica\nPaths=/bin/true\n");
	ck_assert_int_eq(run_as_a_whole(), 0);
	held_fd = run_directory_hold(scene_path("run"));
	ck_assert_int_ge(held_fd, 0);
	no_pool("text");
	ck_assert_int_eq(run_as_a_whole(), 0);
	ck_assert_uint_eq(scene_nr_mounts("run/replica/node0", NULL, 0), 1);
	held_fd = fd_close(held_fd);
	ck_assert_int_eq(run_as_a_whole(), 0);
	ck_assert_uint_eq(scene_nr_mounts("run/replica/node0", NULL, 0), 0);
}
END_TEST

START_TEST(no_mount_goes_while_a_file_is_broken)
{
	pool("text", "[Pool]\nKind=replica\nPaths=/bin/true\n");
	ck_assert_int_eq(run_as_a_whole(), 0);
	ck_assert_uint_eq(scene_nr_mounts("run/replica/node0", NULL, 0), 1);
	pool("text", "[Pool]\nKind=replica\nPaths=/bin/true\nNodes=x\n");
	ck_assert_int_eq(run_as_a_whole(), 0);
	ck_assert_uint_eq(scene_nr_mounts("run/replica/node0", NULL, 0), 1);
}
END_TEST

static void expect_owner(const char *name, uid_t uid, gid_t gid, mode_t mode)
{
	struct stat status;

	ck_assert_int_eq(lstat(scene_path(name), &status), 0);
	ck_assert_uint_eq(status.st_uid, uid);
	ck_assert_uint_eq(status.st_gid, gid);
	ck_assert_uint_eq(status.st_mode, mode);
}

START_TEST(a_base_that_is_missing_is_made_for_the_service)
{
	ck_assert_int_eq(rmdir(scene_path("run")), 0);
	ck_assert_int_eq(run_as_a_whole(), 0);
	expect_owner("run", 0, SERVICE, S_IFDIR | 01775);
}
END_TEST

static void have_base(uid_t uid, gid_t gid, mode_t mode)
{
	ck_assert_int_eq(chown(scene_path("run"), uid, gid), 0);
	ck_assert_int_eq(chmod(scene_path("run"), mode), 0);
	ck_assert_int_eq(run_as_a_whole(), 0);
	ck_assert_uint_eq(scene_said.nr_lines, 0);
}

START_TEST(a_base_of_the_service_or_of_root_becomes_what_it_should_be)
{
	have_base(SERVICE, SERVICE, 0755);
	expect_owner("run", 0, SERVICE, S_IFDIR | 01775);
	have_base(0, 0, 0755);
	expect_owner("run", 0, SERVICE, S_IFDIR | 01775);
	have_base(0, SERVICE, 0775);
	expect_owner("run", 0, SERVICE, S_IFDIR | 01775);
}
END_TEST

START_TEST(a_base_of_another_user_stays_his)
{
	have_base(SERVICE + 1, SERVICE + 1, 0750);
	expect_owner("run", SERVICE + 1, SERVICE + 1, S_IFDIR | 0750);
}
END_TEST

static void file(const char *name, uid_t uid)
{
	scoped(file_closep) FILE *file = fopen(scene_path(name), "we");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(chown(scene_path(name), uid, uid), 0);
}

START_TEST(roots_record_of_blocks_becomes_the_services)
{
	file("run/blocks", 0);
	ck_assert_int_eq(run_as_a_whole(), 0);
	expect_owner("run/blocks", SERVICE, SERVICE, S_IFREG | 0644);
}
END_TEST

START_TEST(what_may_be_something_else_of_roots_does_not)
{
	file("precious", 0);
	ck_assert_int_eq(link(scene_path("precious"), scene_path("run/blocks")), 0);
	ck_assert_int_eq(run_as_a_whole(), 0);
	ck_assert_int_eq(unlink(scene_path("run/blocks")), 0);
	ck_assert_int_eq(symlink(scene_path("precious"), scene_path("run/blocks")), 0);
	ck_assert_int_eq(run_as_a_whole(), 0);
	expect_owner("precious", 0, 0, S_IFREG | 0644);
	ck_assert_int_eq(unlink(scene_path("run/blocks")), 0);
	file("run/blocks", SERVICE + 1);
	ck_assert_int_eq(run_as_a_whole(), 0);
	expect_owner("run/blocks", SERVICE + 1, SERVICE + 1, S_IFREG | 0644);
	ck_assert_uint_eq(scene_said.nr_lines, 0);
}
END_TEST

START_TEST(a_link_in_place_of_the_base_is_refused)
{
	scene_put_victim();
	pool("text", "[Pool]\nKind=replica\nPaths=/bin/true\n");
	ck_assert_int_eq(rmdir(scene_path("run")), 0);
	ck_assert_int_eq(symlink(scene_path("victim"), scene_path("run")), 0);
	ck_assert_int_eq(run_as_a_whole(), 2);
	ck_assert_uint_eq(scene_said.nr_lines, 1);
	scene_expect_victim_unharmed();
}
END_TEST

START_TEST(a_configuration_that_cannot_be_read_is_said)
{
	ck_assert_int_eq(rmdir(scene_path("config/pools.d")), 0);
	ck_assert_int_eq(rmdir(scene_path("config")), 0);
	ck_assert_int_eq(run_as_a_whole(), 2);
	ck_assert_uint_eq(scene_said.nr_lines, 1);
	ck_assert_ptr_nonnull(strstr(scene_said.text, "/config: No such file or directory"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("prepare");
	TCase *whole = tcase_create("whole");

	if (geteuid() != 0 || !scene_is_possible())
		suite_skip("mounts of one's own need root");
	tcase_set_timeout(whole, 20);
	tcase_add_checked_fixture(whole, setup_machine, teardown_machine);
	tcase_add_test(whole, offline_blocks_can_be_brought_online_by_the_group);
	tcase_add_test(whole, without_a_pool_of_blocks_they_stay_roots);
	tcase_add_test(whole, blocks_of_a_node_that_no_pool_names_stay_roots);
	tcase_add_test(whole, a_link_in_place_of_the_mark_is_not_followed);
	tcase_add_test(whole, copies_have_a_place_on_the_node_that_their_pool_names);
	tcase_add_test(whole, a_node_without_memory_may_get_some);
	tcase_add_test(whole, nodes_without_cpus_have_no_copies_where_they_are_for_cpus);
	tcase_add_test(whole, no_mount_goes_while_the_daemon_is_at_work);
	tcase_add_test(whole, no_mount_goes_while_a_file_is_broken);
	tcase_add_test(whole, a_base_that_is_missing_is_made_for_the_service);
	tcase_add_test(whole, a_base_of_the_service_or_of_root_becomes_what_it_should_be);
	tcase_add_test(whole, a_base_of_another_user_stays_his);
	tcase_add_test(whole, roots_record_of_blocks_becomes_the_services);
	tcase_add_test(whole, what_may_be_something_else_of_roots_does_not);
	tcase_add_test(whole, a_link_in_place_of_the_base_is_refused);
	tcase_add_test(whole, a_configuration_that_cannot_be_read_is_said);
	suite_add_tcase(suite, whole);
	return suite_main(suite);
}
