/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Copies on a tmpfs that is bound to a node and read-only for everybody, in a mount namespace of
 * the test's own; and what the kernel says about their pages, which the test may answer instead.
 */
#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "replica-world.h"
#include "suite.h"

static struct replica_world world;
static char mounted[128];

/* What the next calls of move_pages(2) answer, and how many were made. */
static struct {
	_Atomic unsigned nr_calls;
	_Atomic unsigned nr_lies; /* still to tell */
	int node;                 /* of all pages, or -errno of a page */
	int error;                /* of the call; 0: none */
} pages;

long __real_move_pages(int pid, unsigned long count, void **addresses, const int *nodes,
                       int *status, int flags);
long __wrap_move_pages(int pid, unsigned long count, void **addresses, const int *nodes,
                       int *status, int flags);

long __wrap_move_pages(int pid, unsigned long count, void **addresses, const int *nodes,
                       int *status, int flags)
{
	pages.nr_calls++;
	if (pages.nr_lies == 0)
		return __real_move_pages(pid, count, addresses, nodes, status, flags);
	pages.nr_lies--;
	for (unsigned long i = 0; i < count; i++)
		status[i] = i + 1 == count ? pages.node : 0;
	errno = pages.error;
	return pages.error ? -1 : 0;
}

static void lie(unsigned nr_lies, int node, int error)
{
	pages.node = node;
	pages.error = error;
	pages.nr_calls = 0;
	pages.nr_lies = nr_lies;
}

static bool mount_tmpfs(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", mounted, "tmpfs", MS_NOSUID | MS_NODEV,
	             "mpol=bind:0,mode=0755,size=4m") == 0 &&
	       mount(NULL, mounted, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
	             NULL) == 0;
}

static void set_up(void)
{
	replica_world_open(&world);
	world.base = replica_base_free(world.base);
	ck_assert_int_eq(replica_base_open(world.copies, &world.base), 0);
	world.context.replica_base = world.base;
	world.node_id = 0;
	(void) snprintf(mounted, sizeof(mounted), "%s/node0", world.copies);
	ck_assert_int_eq(mkdir(mounted, 0755), 0);
	ck_assert(mount_tmpfs());
}

static void tear_down(void)
{
	ck_assert_int_eq(umount2(mounted, MNT_DETACH), 0);
	replica_world_close(&world);
}

static struct share *make(void)
{
	replica_add(&world, "a", 100 * KIB, 1);
	replica_add(&world, "b", 200 * KIB, 2);
	return replica_make(&world, 128 * KIB);
}

START_TEST(test_copies_lie_on_the_node_and_nobody_else_can_write_there)
{
	struct share *share = make();

	replica_run(share);
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert(replica_is_copied(&world, "b"));
	ck_assert_uint_eq(replica_status(share).done_bytes, 300 * KIB);
	ck_assert_uint_eq(replica_status(share).nr_missing, 0);
	/* Each piece was asked about. */
	ck_assert_uint_ge(pages.nr_calls, 6);
	ck_assert_int_eq(open(replica_copy(&world, "a"), O_WRONLY), -1);
	ck_assert_int_eq(errno, EROFS);
	ck_assert_int_eq(unlink(replica_copy(&world, "a")), -1);
	ck_assert_int_eq(errno, EROFS);
	replica_free(share);
	ck_assert(replica_is_absent(&world, "a"));
}
END_TEST

static const int wrong_answers[] = { 7, -ENOENT };

START_TEST(test_a_copy_on_another_node_is_built_anew)
{
	struct share *share = make();

	lie(2, wrong_answers[_i], 0);
	ck_assert_int_eq(replica_round(&share->parts[STAGE_EARLY], 1), 1);
	ck_assert_uint_eq(replica_status(share).done_bytes, 0);
	replica_run(share);
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert(replica_is_copied(&world, "b"));
	ck_assert_uint_eq(replica_status(share).done_bytes, 300 * KIB);
	replica_free(share);
}
END_TEST

START_TEST(test_a_copy_that_is_always_on_another_node_becomes_a_link)
{
	struct share *share = make();

	lie(UINT_MAX, 7, 0);
	ck_assert_uint_eq(replica_drive(&share->parts[STAGE_EARLY]), 4);
	ck_assert_uint_eq(replica_drive(&share->parts[STAGE_DEFERRED]), 1);
	ck_assert_int_eq(replica_status(share).reason, REASON_WRONG_NODE);
	ck_assert_uint_eq(replica_status(share).nr_missing, 2);
	ck_assert_uint_eq(replica_status(share).done_bytes, 0);
	ck_assert_str_eq(replica_link(&world, "a"), replica_original(&world, "a"));
	replica_free(share);
}
END_TEST

static const int refusals[] = { EPERM, ENOSYS };

START_TEST(test_where_the_call_is_refused_others_tell)
{
	struct share *share = make();

	lie(UINT_MAX, 7, refusals[_i]);
	replica_run(share);
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert_uint_eq(replica_status(share).done_bytes, 300 * KIB);
	replica_free(share);
}
END_TEST

START_TEST(test_pages_that_were_moved_are_found_and_the_copy_is_made_anew)
{
	struct share *share = make();
	ino_t a, b;

	replica_run(share);
	a = replica_inode(&world, "a");
	b = replica_inode(&world, "b");
	ck_assert_int_eq(share->ops->share_recheck(share), 1);
	/* They stay in service until they are known to be elsewhere. */
	ck_assert_uint_eq(replica_status(share).done_bytes, 300 * KIB);
	pages.nr_calls = 0;
	replica_run(share);
	ck_assert_uint_ge(pages.nr_calls, 6);
	ck_assert_uint_eq(replica_inode(&world, "a"), a);
	ck_assert_uint_eq(replica_inode(&world, "b"), b);
	ck_assert_uint_eq(replica_status(share).done_bytes, 300 * KIB);

	ck_assert_int_eq(share->ops->share_recheck(share), 1);
	lie(1, 3, 0);
	replica_run(share);
	ck_assert_uint_ne(replica_inode(&world, "a"), a);
	ck_assert_uint_eq(replica_inode(&world, "b"), b);
	ck_assert_uint_eq(replica_status(share).done_bytes, 300 * KIB);
	ck_assert_uint_eq(replica_status(share).nr_missing, 0);
	ck_assert(replica_is_copied(&world, "a"));
	replica_free(share);
}
END_TEST

START_TEST(test_a_check_that_was_cancelled_is_made_later)
{
	struct share *share = make();
	struct part *part = &share->parts[STAGE_DEFERRED];

	replica_run(share);
	ck_assert_int_eq(share->ops->share_recheck(share), 1);
	ck_assert_int_eq(share->ops->prepare(&share->parts[STAGE_EARLY]), 0);
	ck_assert_int_eq(share->ops->run_chunk(&share->parts[STAGE_EARLY], 0), 0);
	ck_assert_int_eq(share->ops->finish(&share->parts[STAGE_EARLY], true), 0);
	ck_assert_uint_eq(replica_status(share).done_bytes, 300 * KIB);
	pages.nr_calls = 0;
	replica_run(share);
	ck_assert_uint_ge(pages.nr_calls, 5);
	ck_assert_uint_eq(replica_status(share).done_bytes, 300 * KIB);
	pages.nr_calls = 0;
	(void) replica_drive(part);
	ck_assert_uint_eq(pages.nr_calls, 0);
	replica_free(share);
}
END_TEST

START_TEST(test_a_mount_that_is_full_ends_the_round_and_leaves_links)
{
	struct share *share;

	replica_add(&world, "a", MIB, 1);
	replica_add(&world, "b", 5 * MIB, 2);
	replica_add(&world, "c", MIB, 2);
	share = replica_make(&world, 0);
	ck_assert_uint_eq(replica_drive(&share->parts[STAGE_DEFERRED]), 3);
	ck_assert_int_eq(replica_status(share).reason, REASON_NO_MEMORY);
	ck_assert_uint_eq(replica_status(share).nr_missing, 2);
	ck_assert_uint_eq(replica_status(share).done_bytes, MIB);
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert_str_eq(replica_link(&world, "b"), replica_original(&world, "b"));
	ck_assert_str_eq(replica_link(&world, "c"), replica_original(&world, "c"));
	replica_free(share);
}
END_TEST

START_TEST(test_another_process_cleans_up_what_was_left_on_the_mount)
{
	struct share *share = make();
	scoped(replica_base_freep) struct replica_base *other = NULL;

	replica_run(share);
	ck_assert_int_eq(replica_base_open(world.copies, &other), 0);
	replica_base_clean(other);
	ck_assert(replica_is_absent(&world, "a"));
	ck_assert(replica_is_absent(&world, ""));
	replica_free(share);
}
END_TEST

START_TEST(test_a_mount_below_a_plain_directory_is_not_entered)
{
	struct share *share = make();
	char path[256];

	(void) snprintf(path, sizeof(path), "%s/node3", world.copies);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	(void) strcat(path, "/data");
	ck_assert_int_eq(mkdir(path, 0755), 0);
	ck_assert_int_eq(mount("tmpfs", path, "tmpfs", 0, "mode=0755"), 0);
	(void) strcat(path, "/x");
	ck_assert_int_eq(mkdir(path, 0755), 0);
	replica_base_clean(world.base);
	ck_assert_int_eq(rmdir(path), 0); /* it was still there */
	*strrchr(path, '/') = '\0';
	ck_assert_int_eq(umount2(path, MNT_DETACH), 0);
	replica_free(share);
}
END_TEST

/* In a process of its own, whose mounts go with it. */
static bool may_mount(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(CLONE_NEWNS) < 0 ||
		      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		      mount("tmpfs", "/tmp", "tmpfs", 0, "mpol=bind:0") < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(void)
{
	Suite *suite = suite_create("replica-mount");
	TCase *tcase = tcase_create("replica-mount");

	if (!may_mount())
		suite_skip("this process may not mount a tmpfs");
	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_copies_lie_on_the_node_and_nobody_else_can_write_there);
	tcase_add_loop_test(tcase, test_a_copy_on_another_node_is_built_anew, 0,
	                    (int) ELEMENTS(wrong_answers));
	tcase_add_test(tcase, test_a_copy_that_is_always_on_another_node_becomes_a_link);
	tcase_add_loop_test(tcase, test_where_the_call_is_refused_others_tell, 0,
	                    (int) ELEMENTS(refusals));
	tcase_add_test(tcase, test_pages_that_were_moved_are_found_and_the_copy_is_made_anew);
	tcase_add_test(tcase, test_a_check_that_was_cancelled_is_made_later);
	tcase_add_test(tcase, test_a_mount_that_is_full_ends_the_round_and_leaves_links);
	tcase_add_test(tcase, test_another_process_cleans_up_what_was_left_on_the_mount);
	tcase_add_test(tcase, test_a_mount_below_a_plain_directory_is_not_entered);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
