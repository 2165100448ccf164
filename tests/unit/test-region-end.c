/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lent regions that are emptied before they come back, or never come back, and what they wait for.
 */
#include <errno.h>

#include "kinds-drive.h"
#include "suite.h"

#define BASE   UINT64_C(4096)
#define REGION (256 * MIB)

static struct drive drive;

static void set_up(void)
{
	drive_open(&drive);
}

static void tear_down(void)
{
	drive_close(&drive);
}

START_TEST(test_an_abandoned_region_is_let_go_of_and_another_one_takes_its_place)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, 2 * REGION, 0);
	uint64_t id = drive_lend(share);

	ck_assert_int_eq(region_abandon(share, id), 0);
	ck_assert_int_eq(region_abandon(share, id), -ENOENT);
	ck_assert_int_eq(region_return(share, id), -ENOENT);
	ck_assert_uint_eq(drive_regions(share).nr_spent, 1);
	drive_refill(share);
	ck_assert_uint_eq(drive_counts().nr_released, 1);
	ck_assert_uint_eq(drive_counts().nr_destroyed, 0);
	/* Its pages are somebody's; what took its place are others. */
	ck_assert_uint_eq(drive_counts().resident_bytes, 3 * REGION);
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 2);
	ck_assert_uint_eq(drive_counts().nr_made, 3);
	/* The one that took its place is as any other. */
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_counts().nr_released, 1);
	ck_assert_uint_eq(drive_counts().nr_destroyed, 2);
}
END_TEST

START_TEST(test_an_abandoned_region_is_emptied_neither_by_a_shrink_nor_by_the_end)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, 3 * REGION, 0);

	ck_assert_int_eq(region_abandon(share, drive_lend(share)), 0);
	ck_assert_int_eq(share->ops->share_shrink(share, REGION), 0);
	ck_assert_uint_eq(drive_counts().nr_released, 1);
	ck_assert_uint_eq(drive_counts().nr_destroyed, 1);
	ck_assert_int_eq(region_abandon(share, drive_lend(share)), 0);
	share->ops->share_free(share);
	drive.shares[0] = NULL;
	ck_assert_uint_eq(drive_counts().nr_released, 2);
	ck_assert_uint_eq(drive_counts().nr_destroyed, 1);
	ck_assert_uint_eq(drive_counts().nr_alive, 0);
}
END_TEST

START_TEST(test_pages_of_a_lent_region_only_are_given_back_in_parts)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_HUGETLB, REGION, 0);
	uint64_t id = drive_lend(share);

	ck_assert_int_eq(region_discard_lent(share, id, 0, HUGE), 0);
	ck_assert_int_eq(region_discard_lent(share, id, HUGE, REGION - HUGE), 0);
	ck_assert_uint_eq(drive_counts().nr_discarded, 2);
	/* It is lent all the same. */
	ck_assert_uint_eq(drive_regions(share).nr_lent, 1);
	ck_assert_int_eq(region_discard_lent(share, id + 1, 0, HUGE), -ENOENT);
	ck_assert_int_eq(region_return(share, id), 0);
	ck_assert_int_eq(region_discard_lent(share, id, 0, HUGE), -ENOENT);
	ck_assert_uint_eq(drive_counts().nr_discarded, 2);
}
END_TEST

START_TEST(test_what_is_still_to_be_filled_is_known_but_not_what_was_given_up)
{
	struct share *share;

	drive_add(&drive, POOL_REGION, PLAN_PAGE_BASE, BASE, 3 * REGION, 0, REGION);
	drive_make(&drive);
	share = drive.shares[0];
	ck_assert_uint_eq(drive_regions(share).coming_bytes, 3 * REGION);
	memory_model_limit(2 * REGION, ENOMEM);
	drive_all(&drive);
	ck_assert_int_eq(drive_status(share).reason, REASON_NO_MEMORY);
	ck_assert_uint_eq(drive_regions(share).coming_bytes, 0);
	ck_assert_int_eq(region_return(share, drive_lend(share)), 0);
	ck_assert_uint_eq(drive_regions(share).coming_bytes, REGION);
	memory_model_limit(UINT64_MAX, ENOMEM);
	drive_refill(share);
	ck_assert_uint_eq(drive_regions(share).coming_bytes, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region-end");
	TCase *tcase = tcase_create("end");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase,
	               test_an_abandoned_region_is_let_go_of_and_another_one_takes_its_place);
	tcase_add_test(tcase,
	               test_an_abandoned_region_is_emptied_neither_by_a_shrink_nor_by_the_end);
	tcase_add_test(tcase, test_pages_of_a_lent_region_only_are_given_back_in_parts);
	tcase_add_test(tcase, test_what_is_still_to_be_filled_is_known_but_not_what_was_given_up);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
