/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies of files that stand still: their content, and how they are counted. */
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

START_TEST(test_files_are_copied_and_links_are_links)
{
	struct share *share;
	struct share_status status;

	replica_add(&world, "a", 300000, 1);
	replica_add(&world, "empty", 0, 0);
	replica_add(&world, "full", 5000, 2)->is_linked = true;
	replica_name_link(&world, "link", "deep/er/b");
	replica_add(&world, "deep/er/b", 1, 3);
	share = replica_make(&world, 0);
	ck_assert_uint_eq(replica_status(share).done_bytes, 0);
	replica_run(share);
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert(replica_is_copied(&world, "empty"));
	ck_assert(replica_is_copied(&world, "deep/er/b"));
	ck_assert_str_eq(replica_link(&world, "link"), "deep/er/b");
	ck_assert_str_eq(replica_link(&world, "full"), replica_original(&world, "full"));
	status = replica_status(share);
	/* In whole pages. */
	ck_assert_uint_eq(status.done_bytes, 74 * REPLICA_PAGE + REPLICA_PAGE);
	/* What the plan has linked is missing, and the plan knows why; a link that is one is not.
	 */
	ck_assert_uint_eq(status.nr_missing, 1);
	ck_assert_str_eq(status.missing, replica_original(&world, "full"));
	ck_assert_int_eq(status.reason, REASON_NONE);
	replica_free(share);
	ck_assert(replica_is_absent(&world, "a"));
	ck_assert(replica_is_absent(&world, "link"));
	ck_assert(replica_is_absent(&world, "deep"));
}
END_TEST

START_TEST(test_a_share_of_links_alone_has_them_without_a_round)
{
	struct share *share;
	struct plan_node node = { .node_id = 1, .exists = true, .nr_shares = 1 };
	scoped(freep) struct share **shares = NULL;

	replica_add(&world, "full", 5000, 2)->is_linked = true;
	node.shares = replica_plan(&world, 0);
	ck_assert_int_eq(replica_ops.share_new(&share), 0);
	share->ops = &replica_ops;
	share->context = &world.context;
	share->node_id = 1;
	share->page_bytes = REPLICA_PAGE;
	ck_assert_int_eq(replica_ops.share_take(share, node.shares), 0);
	ck_assert_str_eq(replica_link(&world, "full"), replica_original(&world, "full"));
	replica_free(share);
	ck_assert(replica_is_absent(&world, "full"));
}
END_TEST

START_TEST(test_the_early_part_ends_in_the_middle_of_a_file)
{
	struct share *share;
	struct share_status status;

	replica_add(&world, "a", 100 * KIB, 1);
	replica_add(&world, "b", 300 * KIB, 2);
	replica_add(&world, "c", 100 * KIB, 3);
	share = replica_make(&world, 200 * KIB);
	ck_assert_uint_eq(replica_drive(&share->parts[STAGE_EARLY]), 1);
	status = replica_status(share);
	ck_assert_uint_eq(status.early_done_bytes, 200 * KIB);
	ck_assert_uint_eq(status.done_bytes, 200 * KIB);
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert(replica_is_absent(&world, "b"));
	ck_assert_uint_eq(replica_drive(&share->parts[STAGE_DEFERRED]), 1);
	status = replica_status(share);
	ck_assert_uint_eq(status.early_done_bytes, 200 * KIB);
	ck_assert_uint_eq(status.done_bytes, 500 * KIB);
	ck_assert_uint_eq(status.nr_missing, 0);
	ck_assert_int_eq(status.reason, REASON_NONE);
	ck_assert(replica_is_copied(&world, "b"));
	ck_assert(replica_is_copied(&world, "c"));
	replica_free(share);
}
END_TEST

START_TEST(test_ten_thousand_small_files_and_a_crew)
{
	struct share *share;
	char name[64];

	for (unsigned i = 0; i < 10000; i++) {
		(void) snprintf(name, sizeof(name), "d%02u/f%05u", i / 100, i);
		replica_add(&world, name, i % 97 + 1, i);
	}
	world.context.chunk_bytes = 4 * MIB;
	share = replica_make(&world, 17 * REPLICA_PAGE);
	ck_assert_int_eq(replica_round(&share->parts[STAGE_EARLY], 4), 0);
	ck_assert_int_eq(replica_round(&share->parts[STAGE_DEFERRED], 4), 0);
	ck_assert_uint_eq(replica_status(share).done_bytes, 10000 * REPLICA_PAGE);
	for (unsigned i = 0; i < 10000; i += 33) {
		(void) snprintf(name, sizeof(name), "d%02u/f%05u", i / 100, i);
		ck_assert(replica_is_copied(&world, name));
	}
	replica_free(share);
	ck_assert(replica_is_absent(&world, "d00"));
}
END_TEST

START_TEST(test_a_large_file_with_holes_is_copied_by_a_crew_as_it_reads)
{
	scoped(fd_closep) int fd = -1;
	struct share *share;

	replica_write(&world, "a", 5000, 1);
	fd = open(replica_original(&world, "a"), O_WRONLY);
	ck_assert_int_eq(ftruncate(fd, 33 * MIB + 5), 0);
	ck_assert_int_eq(pwrite(fd, "end", 3, 33 * MIB), 3);
	fd = fd_close(fd);
	replica_name(&world, "a");
	world.context.chunk_bytes = MIB + 5; /* is taken as whole pages */
	share = replica_make(&world, 3 * MIB + 4096);
	ck_assert_int_eq(replica_round(&share->parts[STAGE_EARLY], 4), 0);
	ck_assert_uint_eq(share->parts[STAGE_EARLY].chunk_bytes, MIB);
	ck_assert_int_eq(replica_round(&share->parts[STAGE_DEFERRED], 4), 0);
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert_uint_eq(replica_status(share).done_bytes, 33 * MIB + 4096);
	replica_free(share);
}
END_TEST

START_TEST(test_a_long_path_is_named_by_its_end)
{
	struct share *share;
	char name[400];

	(void) snprintf(name, sizeof(name), "%0200d/%0100d", 1, 2);
	replica_add(&world, name, 10, 1);
	replica_add(&world, "z\n\t\xff\xfe \\", 10, 1);
	ck_assert_int_eq(unlink(replica_original(&world, name)), 0);
	share = replica_make(&world, 0);
	replica_run(share);
	ck_assert_uint_eq(strlen(replica_status(share).missing), SHARE_MISSING_MAX - 1);
	ck_assert_str_eq(replica_status(share).missing,
	                 name + strlen(name) - (SHARE_MISSING_MAX - 1));
	ck_assert(replica_is_copied(&world, "z\n\t\xff\xfe \\"));
	replica_free(share);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("replica");
	TCase *tcase = tcase_create("replica");

	tcase_set_timeout(tcase,
	                  250); /* ten thousand files on a machine that has other things to do */
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_files_are_copied_and_links_are_links);
	tcase_add_test(tcase, test_a_share_of_links_alone_has_them_without_a_round);
	tcase_add_test(tcase, test_the_early_part_ends_in_the_middle_of_a_file);
	tcase_add_test(tcase, test_ten_thousand_small_files_and_a_crew);
	tcase_add_test(tcase, test_a_large_file_with_holes_is_copied_by_a_crew_as_it_reads);
	tcase_add_test(tcase, test_a_long_path_is_named_by_its_end);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
