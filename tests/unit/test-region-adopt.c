/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Regions that an earlier process left, and those that are left to the next one. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

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

static struct share *one_share(enum plan_page page, uint64_t early_bytes, uint64_t deferred_bytes)
{
	drive_add(&drive, POOL_REGION, page, page == PLAN_PAGE_BASE ? BASE : HUGE, early_bytes,
	          deferred_bytes, REGION);
	drive_make(&drive);
	return drive.shares[0];
}

static struct memory_model_counts counts(void)
{
	struct memory_model_counts ret;

	memory_model_counts(&ret);
	return ret;
}

static int adopt(struct share *share, uint64_t id, uint64_t bytes, enum region_adopted adopted)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC), r;

	ck_assert_int_ge(fd, 0);
	r = region_adopt(share, id, bytes, fd, adopted);
	/* The share's on success, else still ours. */
	if (r < 0)
		ck_assert_int_eq(close(fd), 0);
	return r;
}

static void expect(struct share *share, enum region_change change, uint64_t id)
{
	struct region_news news;

	ck_assert(region_next_news(share, &news));
	(void) fd_close(news.fd);
	ck_assert_int_eq(news.change, change);
	ck_assert_uint_eq(news.id, id);
}

static void expect_none(struct share *share)
{
	struct region_news news;

	ck_assert(!region_next_news(share, &news));
}

START_TEST(test_regions_that_are_whole_are_not_filled_again)
{
	struct share *share = one_share(PLAN_PAGE_BASE, 2 * REGION, REGION);

	ck_assert_int_eq(adopt(share, 7, REGION, REGION_ADOPT_READY), 0);
	ck_assert_int_eq(adopt(share, 5, REGION, REGION_ADOPT_READY), 0);
	/* In service before anything was done. */
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION);
	ck_assert_uint_eq(drive_status(share).early_done_bytes, 2 * REGION);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 2);
	drive_all(&drive);
	ck_assert_uint_eq(counts().nr_populated, 4);
	ck_assert_uint_eq(drive_status(share).done_bytes, 3 * REGION);
	/* The new one comes after all that were there, and only it is news. */
	expect(share, REGION_WAS_MADE, 8);
	expect(share, REGION_BECAME_READY, 8);
	expect_none(share);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	expect(share, REGION_IS_GONE, 7);
	expect(share, REGION_IS_GONE, 5);
	expect(share, REGION_IS_GONE, 8);
	expect_none(share);
}
END_TEST

START_TEST(test_a_lent_one_is_lent_until_it_is_returned)
{
	struct share *share = one_share(PLAN_PAGE_BASE, REGION, 0);
	uint64_t id, bytes;

	ck_assert_int_eq(adopt(share, 3, REGION, REGION_ADOPT_LENT), 0);
	ck_assert_uint_eq(drive_regions(share).nr_lent, 1);
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION);
	ck_assert_int_eq(region_lend(share, 0, &id, &bytes), -ENOENT);
	memory_model_set_in_use(0, 1);
	ck_assert_int_eq(region_is_lent_in_use(share, 3), 1);
	drive_all(&drive);
	ck_assert_uint_eq(counts().nr_made, 1);
	ck_assert_int_eq(region_return(share, 3), 0);
	drive_all(&drive);
	expect(share, REGION_IS_GONE, 3);
	expect(share, REGION_WAS_MADE, 4);
	expect(share, REGION_BECAME_READY, 4);
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION);
}
END_TEST

START_TEST(test_a_half_filled_one_is_filled_and_is_ready_then)
{
	struct share *share = one_share(PLAN_PAGE_BASE, 2 * REGION, 0);

	memory_model_set_adopted_bytes(100 * MIB);
	ck_assert_int_eq(adopt(share, 9, REGION, REGION_ADOPT_FILLING), 0);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 0);
	ck_assert_uint_eq(drive_regions(share).nr_unfilled, 2);
	/* What it has takes no memory again. */
	memory_model_limit(2 * REGION, ENOMEM);
	drive_all(&drive);
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION);
	ck_assert_uint_eq(counts().nr_made, 2);
	expect(share, REGION_BECAME_READY, 9);
	expect(share, REGION_WAS_MADE, 10);
	expect(share, REGION_BECAME_READY, 10);
	expect_none(share);
}
END_TEST

START_TEST(test_a_half_filled_one_comes_first_where_there_is_not_room_for_all)
{
	struct share *share = one_share(PLAN_PAGE_HUGETLB, 3 * REGION, 0);

	ck_assert_int_eq(adopt(share, 1, REGION, REGION_ADOPT_READY), 0);
	ck_assert_int_eq(adopt(share, 2, REGION, REGION_ADOPT_FILLING), 0);
	kernel_model_fragment(drive.model, DRIVE_NODE, HUGE, 2 * 128, 0);
	drive_all(&drive);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 2);
	ck_assert_uint_eq(counts().nr_made, 2);
	expect(share, REGION_BECAME_READY, 2);
	expect_none(share);
}
END_TEST

START_TEST(test_a_half_filled_one_without_room_is_given_up)
{
	struct share *share = one_share(PLAN_PAGE_HUGETLB, 2 * REGION, 0);

	ck_assert_int_eq(adopt(share, 1, REGION, REGION_ADOPT_READY), 0);
	ck_assert_int_eq(adopt(share, 2, REGION, REGION_ADOPT_FILLING), 0);
	kernel_model_fragment(drive.model, DRIVE_NODE, HUGE, 128, 0);
	drive_all(&drive);
	ck_assert_int_eq(drive_status(share).reason, REASON_FRAGMENTED);
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION);
	ck_assert_uint_eq(counts().nr_alive, 1);
	expect(share, REGION_IS_GONE, 2);
	expect_none(share);
}
END_TEST

START_TEST(test_what_has_no_place_stays_its_owners_unless_it_is_lent)
{
	struct share *share = one_share(PLAN_PAGE_BASE, REGION, 100 * MIB);

	ck_assert_int_eq(adopt(share, 1, 2 * REGION, REGION_ADOPT_READY), -ENOSPC);
	ck_assert_int_eq(adopt(share, 1, 2 * REGION, REGION_ADOPT_FILLING), -ENOSPC);
	ck_assert_int_eq(adopt(share, 1, REGION, REGION_ADOPT_READY), 0);
	ck_assert_int_eq(adopt(share, 2, REGION, REGION_ADOPT_READY), -ENOSPC);
	/* The smaller last one of the deferred part. */
	ck_assert_int_eq(adopt(share, 3, 100 * MIB, REGION_ADOPT_READY), 0);
	ck_assert_uint_eq(drive_status(share).early_done_bytes, REGION);
	ck_assert_int_eq(adopt(share, 4, 2 * REGION, REGION_ADOPT_LENT), 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, 3 * REGION + 100 * MIB);
	ck_assert_uint_eq(drive_regions(share).lent_bytes, 2 * REGION);
	drive_all(&drive);
	ck_assert_uint_eq(counts().nr_populated, 0);
	/* It is not replaced. */
	ck_assert_int_eq(region_return(share, 4), 0);
	drive_all(&drive);
	expect(share, REGION_IS_GONE, 4);
	expect_none(share);
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION + 100 * MIB);
	ck_assert_uint_eq(counts().nr_alive, 2);
}
END_TEST

START_TEST(test_one_that_cannot_be_taken_over_leaves_its_place_free)
{
	struct share *share = one_share(PLAN_PAGE_BASE, REGION, 0);

	memory_model_fail_adopt(ENODATA, 1);
	ck_assert_int_eq(adopt(share, 1, REGION, REGION_ADOPT_READY), -ENODATA);
	memory_model_fail_adopt(EMEDIUMTYPE, 1);
	ck_assert_int_eq(adopt(share, 1, 2 * REGION, REGION_ADOPT_LENT), -EMEDIUMTYPE);
	ck_assert_uint_eq(drive_status(share).done_bytes, 0);
	ck_assert_int_eq(adopt(share, 2, REGION, REGION_ADOPT_READY), 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION);
}
END_TEST

START_TEST(test_huge_pages_of_an_earlier_process_are_ours_to_give_back)
{
	struct share *share = one_share(PLAN_PAGE_HUGETLB, 3 * REGION, 0);

	/* The earlier process left 2 regions; 10 pages are somebody else's. */
	kernel_model_set_pages(drive.model, DRIVE_NODE, HUGE,
	                       (struct hugepages_count){ .nr_pages = 266, .free_pages = 266 });
	ck_assert_int_eq(adopt(share, 1, REGION, REGION_ADOPT_READY), 0);
	ck_assert_int_eq(adopt(share, 2, REGION, REGION_ADOPT_LENT), 0);
	drive_all(&drive);
	ck_assert_uint_eq(drive_status(share).done_bytes, 3 * REGION);
	ck_assert_int_eq(region_return(share, 2), 0);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 10);
}
END_TEST

START_TEST(test_huge_pages_of_what_has_no_place_are_not_those_of_the_rest)
{
	struct share *share = one_share(PLAN_PAGE_HUGETLB, REGION, 0);

	kernel_model_set_pages(
		drive.model, DRIVE_NODE, HUGE,
		(struct hugepages_count){ .nr_pages = 2 * 128, .free_pages = 2 * 128 });
	ck_assert_int_eq(adopt(share, 1, 2 * REGION, REGION_ADOPT_LENT), 0);
	drive_all(&drive);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 3 * 128);
	ck_assert_int_eq(region_return(share, 1), 0);
	drive_all(&drive);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 128);
}
END_TEST

START_TEST(test_one_that_is_to_be_locked_is_ready_when_it_is_locked_again)
{
	struct share *share;

	drive_add(&drive, POOL_REGION, PLAN_PAGE_BASE, BASE, REGION, 0, REGION)->is_locked = true;
	drive_make(&drive);
	share = drive.shares[0];
	ck_assert_int_eq(adopt(share, 6, REGION, REGION_ADOPT_READY), 0);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION);
	/* Nothing is left, and nothing is needed. */
	memory_model_limit(0, ENOMEM);
	drive_all(&drive);
	ck_assert_uint_eq(counts().nr_populated, 4);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 1);
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION);
	ck_assert_uint_eq(counts().nr_mapped, 1);
	ck_assert_uint_eq(counts().nr_made, 1);
}
END_TEST

START_TEST(test_memory_that_is_kept_is_not_given_back_at_the_end)
{
	struct share *share = one_share(PLAN_PAGE_HUGETLB, 2 * REGION, 0);
	struct part *part = &share->parts[STAGE_EARLY];

	ck_assert_int_eq(share->ops->prepare(part), 0);
	for (unsigned i = 0; i < 6; i++)
		ck_assert_int_eq(share->ops->run_chunk(part, i), 0);
	region_keep_memory(share);
	ck_assert_int_eq(share->ops->finish(part, true), 0);
	ck_assert_int_eq(drive_status(share).reason, REASON_INTERRUPTED);
	/* The second one is half filled, and stays so. */
	ck_assert_uint_eq(counts().resident_bytes, REGION + 128 * MIB);
	ck_assert_uint_eq(counts().nr_alive, 2);
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION);
	share->ops->share_free(share);
	drive.shares[0] = NULL;
	ck_assert_uint_eq(counts().nr_released, 2);
	ck_assert_uint_eq(counts().nr_destroyed, 0);
	ck_assert_uint_eq(counts().resident_bytes, REGION + 128 * MIB);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 2 * 128);
}
END_TEST

START_TEST(test_a_round_that_is_not_cancelled_keeps_nothing_half_filled)
{
	struct share *share = one_share(PLAN_PAGE_BASE, 2 * REGION, 0);

	region_keep_memory(share);
	memory_model_limit(REGION + 100 * MIB, ENOMEM);
	drive_all(&drive);
	ck_assert_uint_eq(counts().resident_bytes, REGION);
	ck_assert_uint_eq(counts().nr_alive, 1);
}
END_TEST

START_TEST(test_a_kept_round_goes_on_where_it_was_if_it_is_tried_again)
{
	struct share *share = one_share(PLAN_PAGE_BASE, REGION, 0);
	struct part *part = &share->parts[STAGE_EARLY];

	ck_assert_int_eq(share->ops->prepare(part), 0);
	ck_assert_int_eq(share->ops->run_chunk(part, 0), 0);
	region_keep_memory(share);
	ck_assert_int_eq(share->ops->finish(part, true), 0);
	drive_all(&drive);
	ck_assert_uint_eq(counts().nr_made, 1);
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION);
	expect(share, REGION_WAS_MADE, 1);
	expect(share, REGION_BECAME_READY, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region-adopt");
	TCase *tcase = tcase_create("adopted");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_regions_that_are_whole_are_not_filled_again);
	tcase_add_test(tcase, test_a_lent_one_is_lent_until_it_is_returned);
	tcase_add_test(tcase, test_a_half_filled_one_is_filled_and_is_ready_then);
	tcase_add_test(tcase, test_a_half_filled_one_comes_first_where_there_is_not_room_for_all);
	tcase_add_test(tcase, test_a_half_filled_one_without_room_is_given_up);
	tcase_add_test(tcase, test_what_has_no_place_stays_its_owners_unless_it_is_lent);
	tcase_add_test(tcase, test_one_that_cannot_be_taken_over_leaves_its_place_free);
	tcase_add_test(tcase, test_huge_pages_of_an_earlier_process_are_ours_to_give_back);
	tcase_add_test(tcase, test_huge_pages_of_what_has_no_place_are_not_those_of_the_rest);
	tcase_add_test(tcase, test_one_that_is_to_be_locked_is_ready_when_it_is_locked_again);
	tcase_add_test(tcase, test_memory_that_is_kept_is_not_given_back_at_the_end);
	tcase_add_test(tcase, test_a_round_that_is_not_cancelled_keeps_nothing_half_filled);
	tcase_add_test(tcase, test_a_kept_round_goes_on_where_it_was_if_it_is_tried_again);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
