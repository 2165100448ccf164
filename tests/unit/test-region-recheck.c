/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of the node was taken offline: where are the pages of what is ready now? */
#include <errno.h>
#include <limits.h>

#include "kinds-drive.h"
#include "suite.h"

#define REGION (256 * MIB)

static struct drive drive;
static struct share *share;

static void set_up(void)
{
	drive_open(&drive);
	share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, REGION, 3 * REGION);
}

static void tear_down(void)
{
	drive_close(&drive);
}

static void expect_ready(unsigned nr_ready, uint64_t done_bytes)
{
	ck_assert_uint_eq(drive_regions(share).nr_ready, nr_ready);
	ck_assert_uint_eq(drive_status(share).done_bytes, done_bytes);
}

START_TEST(test_what_may_have_moved_is_not_lent_until_it_was_looked_at)
{
	uint64_t id, bytes;

	ck_assert_int_eq(region_ops.share_recheck(share), 1);
	expect_ready(0, 4 * REGION);
	ck_assert_uint_eq(drive_regions(share).ready_bytes, 0);
	ck_assert_uint_eq(drive_regions(share).nr_unfilled, 4);
	ck_assert_uint_eq(drive_regions(share).coming_bytes, 4 * REGION);
	ck_assert_int_eq(region_lend(share, 0, &id, &bytes), -ENOENT);
	/* Asked once more, it is not forgotten. */
	ck_assert_int_eq(region_ops.share_recheck(share), 1);
	drive_refill(share);
	expect_ready(4, 4 * REGION);
	ck_assert_uint_eq(drive_regions(share).nr_unfilled, 0);
	ck_assert_uint_eq(drive_regions(share).coming_bytes, 0);
	ck_assert_uint_eq(drive_counts().nr_verified, 8);
	ck_assert_uint_eq(drive_counts().nr_made, 4);
	ck_assert_uint_eq(drive_counts().nr_destroyed, 0);
	(void) drive_lend(share);
}
END_TEST

START_TEST(test_what_is_elsewhere_is_built_anew)
{
	struct part *early = &share->parts[STAGE_EARLY], *deferred = &share->parts[STAGE_DEFERRED];

	ck_assert_int_eq(region_ops.share_recheck(share), 1);
	memory_model_fail_verify(EXDEV, 2);
	/* One step for each of the part's own. */
	ck_assert_int_eq(region_ops.prepare(early), 1);
	expect_ready(0, 3 * REGION);
	ck_assert_uint_eq(drive_status(share).early_done_bytes, 0);
	ck_assert_uint_eq(drive_counts().nr_destroyed, 1);
	ck_assert_int_eq(region_ops.prepare(early), 0);
	ck_assert_int_eq(region_ops.prepare(deferred), 1);
	ck_assert_int_eq(region_ops.prepare(deferred), 1);
	expect_ready(1, 2 * REGION);
	drive_refill(share);
	expect_ready(4, 4 * REGION);
	ck_assert_uint_eq(drive_counts().nr_made, 6);
	ck_assert_uint_eq(drive_counts().nr_destroyed, 2);
	ck_assert_uint_eq(drive_counts().resident_bytes, 4 * REGION);
	ck_assert_int_eq(drive_status(share).reason, REASON_NONE);
}
END_TEST

START_TEST(test_what_cannot_be_built_anew_is_missing)
{
	ck_assert_int_eq(region_ops.share_recheck(share), 1);
	memory_model_fail_verify(EXDEV, 1);
	ck_assert_int_eq(region_ops.prepare(&share->parts[STAGE_EARLY]), 1);
	memory_model_fail_make(EINVAL, UINT_MAX);
	drive_refill(share);
	expect_ready(3, 3 * REGION);
	ck_assert_int_eq(drive_status(share).reason, REASON_FAILED);
	ck_assert_int_eq(region_ops.share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_regions(share).nr_unfilled, 0);
	ck_assert_uint_eq(drive_regions(share).coming_bytes, 0);
}
END_TEST

START_TEST(test_what_is_lent_is_left_alone)
{
	uint64_t id = drive_lend(share), other;

	for (unsigned i = 0; i < 3; i++)
		other = drive_lend(share);
	ck_assert_int_eq(region_ops.share_recheck(share), 0);
	ck_assert_int_eq(region_unlend(share, other), 0);
	ck_assert_int_eq(region_ops.share_recheck(share), 1);
	memory_model_fail_verify(EXDEV, UINT_MAX);
	ck_assert_int_eq(region_ops.prepare(&share->parts[STAGE_DEFERRED]), 1);
	memory_model_fail_verify(0, 0);
	drive_refill(share);
	ck_assert_uint_eq(drive_counts().nr_destroyed, 1);
	ck_assert_uint_eq(drive_regions(share).nr_lent, 3);
	expect_ready(1, 4 * REGION);
	ck_assert_int_eq(region_unlend(share, id), 0);
}
END_TEST

START_TEST(test_what_is_in_doubt_can_be_duplicated_for_the_store)
{
	uint64_t id = drive_lend(share), bytes;
	int fd;

	ck_assert_int_eq(region_unlend(share, id), 0);
	ck_assert_int_eq(region_ops.share_recheck(share), 1);
	fd = region_duplicate(share, id, &bytes);
	ck_assert_int_ge(fd, 0);
	ck_assert_uint_eq(bytes, REGION);
	(void) fd_close(fd);
	ck_assert_int_eq(region_duplicate(share, id + 100, &bytes), -ENOENT);
}
END_TEST

START_TEST(test_what_is_in_doubt_can_be_given_back)
{
	ck_assert_int_eq(region_ops.share_recheck(share), 1);
	ck_assert_int_eq(region_ops.share_shrink(share, 2 * REGION), 0);
	ck_assert_uint_eq(drive_counts().nr_destroyed, 2);
	expect_ready(0, 2 * REGION);
	ck_assert_uint_eq(drive_regions(share).nr_unfilled, 2);
	drive_refill(share);
	expect_ready(2, 2 * REGION);
	ck_assert_uint_eq(drive_counts().nr_verified, 4 + 2);
	ck_assert_int_eq(region_ops.share_recheck(share), 1);
	/* The end of the share comes with both in doubt. */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region-recheck");
	TCase *recheck = tcase_create("recheck");

	tcase_add_checked_fixture(recheck, set_up, tear_down);
	tcase_add_test(recheck, test_what_may_have_moved_is_not_lent_until_it_was_looked_at);
	tcase_add_test(recheck, test_what_is_elsewhere_is_built_anew);
	tcase_add_test(recheck, test_what_cannot_be_built_anew_is_missing);
	tcase_add_test(recheck, test_what_is_lent_is_left_alone);
	tcase_add_test(recheck, test_what_is_in_doubt_can_be_duplicated_for_the_store);
	tcase_add_test(recheck, test_what_is_in_doubt_can_be_given_back);
	suite_add_tcase(suite, recheck);
	return suite_main(suite);
}
