/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tree of a node: who owns what in it, what an earlier process left, and strange names. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "replica-world.h"
#include "suite.h"

static struct replica_world world;

static void set_up(void)
{
	replica_world_open(&world);
}

static void tear_down(void)
{
	replica_world_close(&world);
}

static void put_text(const char *path, const char *text)
{
	scoped(file_closep) FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	(void) fputs(text, file);
}

static const char *below(const char *name)
{
	static char path[PATH_MAX];

	(void) snprintf(path, sizeof(path), "%s/%s", world.directory, name);
	return path;
}

static bool is_there(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

START_TEST(test_a_share_that_is_replaced_leaves_what_its_successor_has)
{
	struct share *old, *new;
	ino_t kept, changed;

	replica_add(&world, "changed", 5000, 1);
	replica_add(&world, "dropped", 5000, 2);
	replica_add(&world, "kept", 5000, 3);
	old = replica_make(&world, 0);
	replica_run(old);
	kept = replica_inode(&world, "kept");
	changed = replica_inode(&world, "changed");

	replica_forget_names(&world);
	replica_add(&world, "changed", 6000, 4);
	replica_name(&world, "kept");
	replica_add(&world, "new", 10, 5);
	ck_assert(!old->ops->share_is_same(old, replica_plan(&world, 0)));
	new = replica_make(&world, 0);
	/* What both are about is in the service of the new one already. */
	ck_assert_uint_eq(replica_status(new).done_bytes, 2 * REPLICA_PAGE);
	replica_free(old);
	ck_assert(replica_is_absent(&world, "dropped"));
	ck_assert_uint_eq(replica_inode(&world, "kept"), kept);
	ck_assert_uint_eq(replica_inode(&world, "changed"), changed);
	replica_run(new);
	ck_assert_uint_eq(replica_inode(&world, "kept"), kept);
	ck_assert_uint_ne(replica_inode(&world, "changed"), changed);
	ck_assert(replica_is_copied(&world, "changed"));
	ck_assert(replica_is_copied(&world, "new"));
	replica_free(new);
	ck_assert(replica_is_absent(&world, "kept"));
	ck_assert(replica_is_absent(&world, ""));
}
END_TEST

START_TEST(test_a_copy_becomes_a_link_when_its_successor_has_no_room_for_it)
{
	struct share *old, *new;
	struct plan_copy *copy;

	copy = replica_add(&world, "a", 5000, 1);
	replica_add(&world, "b", 5000, 1);
	old = replica_make(&world, 0);
	replica_run(old);
	copy->is_linked = true;
	new = replica_make(&world, 0);
	replica_run(new);
	/* As long as somebody has a copy, it stays. */
	ck_assert(replica_is_copied(&world, "a"));
	replica_free(old);
	ck_assert_str_eq(replica_link(&world, "a"), replica_original(&world, "a"));
	ck_assert(replica_is_copied(&world, "b"));
	replica_free(new);
	ck_assert(replica_is_absent(&world, "a"));
}
END_TEST

START_TEST(test_who_has_a_former_copy_open_keeps_it)
{
	scoped(fd_closep) int fd = -1;
	struct share *share, *new;
	char byte;

	replica_add(&world, "a", 1, 'x');
	share = replica_make(&world, 0);
	replica_run(share);
	fd = open(replica_copy(&world, "a"), O_RDONLY | O_CLOEXEC);
	replica_forget_names(&world);
	ck_assert_int_eq(unlink(replica_original(&world, "a")), 0);
	replica_add(&world, "a", 1, 'y');
	new = replica_make(&world, 0);
	replica_run(new);
	replica_free(share);
	ck_assert_int_eq(pread(fd, &byte, 1, 0), 1);
	ck_assert_int_eq(byte, 'x');
	ck_assert(replica_is_copied(&world, "a"));
	replica_free(new);
}
END_TEST

START_TEST(test_two_pools_may_name_the_same_file)
{
	struct share *one, *two;

	replica_add(&world, "a", 5000, 1);
	one = replica_make(&world, 0);
	two = replica_make(&world, 0);
	replica_run(one);
	replica_run(two);
	ck_assert_uint_eq(replica_status(one).done_bytes, 2 * REPLICA_PAGE);
	ck_assert_uint_eq(replica_status(two).done_bytes, 2 * REPLICA_PAGE);
	ck_assert(replica_is_copied(&world, "a"));
	replica_free(two);
	ck_assert(replica_is_copied(&world, "a"));
	replica_free(one);
	ck_assert(replica_is_absent(&world, "a"));
}
END_TEST

START_TEST(test_shrinking_to_nothing_withdraws_all_and_to_less_nothing)
{
	struct share *share;

	replica_add(&world, "a", 5000, 1);
	share = replica_make(&world, 0);
	replica_run(share);
	ck_assert_int_eq(share->ops->share_shrink(share, 1), 0);
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert(replica_is_absent(&world, "a"));
	ck_assert_uint_eq(replica_status(share).done_bytes, 0);
	ck_assert_uint_eq(share->parts[STAGE_DEFERRED].want_bytes, 0);
	replica_free(share);
}
END_TEST

START_TEST(test_what_an_earlier_process_left_is_removed_and_nothing_else)
{
	struct share *share;
	char path[PATH_MAX];

	put_text(below("outside"), "mine");
	replica_add(&world, "kept/a", 5000, 1);
	replica_add(&world, "kept/later", 5000, 1);
	replica_write(&world, "left/deep/b", 1, 1);
	share = replica_make(&world, 0);
	replica_run(share);
	(void) snprintf(path, sizeof(path), "%s/node1/left", world.copies);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	(void) strcat(path, "/deep");
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(symlink(world.directory, below("c/node1/left/deep/away")), 0);
	ck_assert_int_eq(symlink("../../..", below("c/node1/up")), 0);
	ck_assert_int_eq(mkfifo(below("c/node1/fifo"), 0600), 0);
	put_text(below("c/node1/.nodeinitd.new"), "half");
	put_text(below("c/node1/left/b"), "old");
	put_text(replica_copy(&world, "kept/z"), "old");
	/* Neither a node nor ours. */
	put_text(below("c/other"), "mine");
	ck_assert_int_eq(mkdir(below("c/node01"), 0700), 0);
	put_text(below("c/node01/x"), "mine");

	replica_base_clean(world.base);
	ck_assert(replica_is_copied(&world, "kept/a"));
	ck_assert(!is_there(below("c/node1/left")));
	ck_assert(!is_there(below("c/node1/up")));
	ck_assert(!is_there(below("c/node1/fifo")));
	ck_assert(!is_there(below("c/node1/.nodeinitd.new")));
	ck_assert(replica_is_absent(&world, "kept/z"));
	ck_assert(is_there(below("outside")));
	ck_assert(is_there(replica_original(&world, "left/deep/b")));
	ck_assert(is_there(below("c/other")));
	ck_assert(is_there(below("c/node01/x")));
	replica_free(share);
}
END_TEST

START_TEST(test_cleaning_does_not_follow_a_link_of_ours_to_what_has_become_a_directory)
{
	struct share *share;

	replica_add(&world, "a", 5000, 1)->is_linked = true;
	share = replica_make(&world, 0);
	replica_run(share);
	ck_assert_int_eq(unlink(replica_original(&world, "a")), 0);
	replica_write(&world, "a/precious", 1, 1);
	replica_base_clean(world.base);
	ck_assert(is_there(replica_original(&world, "a/precious")));
	ck_assert_str_eq(replica_link(&world, "a"), replica_original(&world, "a"));
	replica_free(share);
	ck_assert(is_there(replica_original(&world, "a/precious")));
}
END_TEST

START_TEST(test_what_is_in_the_way_is_replaced_and_no_link_in_the_tree_is_followed)
{
	struct share *share;
	char path[PATH_MAX];

	replica_add(&world, "d/a", 5000, 1);
	replica_add(&world, "e", 5000, 1);
	replica_add(&world, "f", 5000, 1);
	ck_assert_int_eq(mkdir(below("outside"), 0700), 0);
	(void) snprintf(path, sizeof(path), "%s/node1%s/o", world.copies, world.directory);
	replica_make_directories(path);
	/* The directory of all of them is a link to elsewhere. */
	ck_assert_int_eq(symlink(below("outside"), path), 0);
	share = replica_make(&world, 0);
	replica_run(share);
	ck_assert(replica_is_copied(&world, "d/a"));
	ck_assert(!is_there(below("outside/d")));
	ck_assert(!is_there(below("outside/e")));
	replica_free(share);
	/* A file where a directory is to be, a link and a directory where a file is to be. */
	replica_write(&world, "x", 1, 1);
	replica_make_directories(replica_copy(&world, "d"));
	put_text(replica_copy(&world, "d"), "old");
	ck_assert_int_eq(symlink(below("outside"), replica_copy(&world, "e")), 0);
	ck_assert_int_eq(mkdir(replica_copy(&world, "f"), 0755), 0);
	share = replica_make(&world, 0);
	replica_run(share);
	ck_assert(replica_is_copied(&world, "d/a"));
	ck_assert(replica_is_copied(&world, "e"));
	ck_assert(replica_is_copied(&world, "f"));
	ck_assert(is_there(below("outside")));
	replica_free(share);
}
END_TEST

START_TEST(test_without_a_tmpfs_there_are_links_with_a_word_and_without_a_directory_nothing)
{
	struct share *share;
	struct share_status status;

	world.base = replica_base_free(world.base);
	ck_assert_int_eq(replica_base_open(world.copies, &world.base), 0);
	world.context.replica_base = world.base;
	replica_add(&world, "a", 5000, 1);
	replica_name_link(&world, "b", "a");
	share = replica_make(&world, 0);
	replica_run(share);
	status = replica_status(share);
	ck_assert_int_eq(status.reason, REASON_NO_MOUNT);
	ck_assert_uint_eq(status.nr_missing, 1);
	ck_assert_uint_eq(status.done_bytes, 0);
	ck_assert_str_eq(replica_link(&world, "a"), replica_original(&world, "a"));
	ck_assert_str_eq(replica_link(&world, "b"), "a");
	replica_free(share);
	ck_assert_int_eq(rmdir(below("c/node1")), 0);
	world.base = replica_base_free(world.base);
	ck_assert_int_eq(replica_base_open(world.copies, &world.base), 0);
	world.context.replica_base = world.base;
	share = replica_make(&world, 0);
	replica_run(share);
	status = replica_status(share);
	ck_assert_int_eq(status.reason, REASON_NO_MOUNT);
	ck_assert_uint_eq(status.nr_missing, 2);
	ck_assert(!is_there(below("c/node1")));
	/* It comes later: Retry. */
	replica_base_allow_directories(world.base);
	ck_assert_int_eq(mkdir(below("c/node1"), 0755), 0);
	replica_run(share);
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert_str_eq(replica_link(&world, "b"), "a");
	ck_assert_uint_eq(replica_status(share).nr_missing, 0);
	replica_free(share);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("replica-tree");
	TCase *tcase = tcase_create("replica-tree");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_a_share_that_is_replaced_leaves_what_its_successor_has);
	tcase_add_test(tcase, test_a_copy_becomes_a_link_when_its_successor_has_no_room_for_it);
	tcase_add_test(tcase, test_who_has_a_former_copy_open_keeps_it);
	tcase_add_test(tcase, test_two_pools_may_name_the_same_file);
	tcase_add_test(tcase, test_shrinking_to_nothing_withdraws_all_and_to_less_nothing);
	tcase_add_test(tcase, test_what_an_earlier_process_left_is_removed_and_nothing_else);
	tcase_add_test(tcase,
	               test_cleaning_does_not_follow_a_link_of_ours_to_what_has_become_a_directory);
	tcase_add_test(tcase,
	               test_what_is_in_the_way_is_replaced_and_no_link_in_the_tree_is_followed);
	tcase_add_test(
		tcase,
		test_without_a_tmpfs_there_are_links_with_a_word_and_without_a_directory_nothing);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
