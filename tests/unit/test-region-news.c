/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is told of regions that come and go, for the record of what exists. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>

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

static struct share *one_share(uint64_t nr_regions)
{
	drive_add(&drive, POOL_REGION, PLAN_PAGE_BASE, BASE, nr_regions * REGION, 0, REGION);
	drive_make(&drive);
	return drive.shares[0];
}

static void expect(struct share *share, enum region_change change, uint64_t id)
{
	struct region_news news;

	ck_assert(region_next_news(share, &news));
	ck_assert_int_eq(news.change, change);
	ck_assert_uint_eq(news.id, id);
	ck_assert_uint_eq(news.bytes, REGION);
	ck_assert_int_eq(news.fd >= 0, change == REGION_WAS_MADE);
	if (news.fd >= 0) {
		ck_assert(fcntl(news.fd, F_GETFD) & FD_CLOEXEC);
		(void) close(news.fd);
	}
}

static void expect_none(struct share *share)
{
	struct region_news news;

	ck_assert(!region_next_news(share, &news));
}

static size_t nr_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t nr = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		nr++;
	(void) closedir(dir);
	return nr;
}

START_TEST(test_a_region_is_told_as_made_as_ready_and_as_gone)
{
	struct share *share = one_share(1);
	struct part *part = &share->parts[STAGE_EARLY];

	expect_none(share);
	ck_assert_int_eq(share->ops->prepare(part), 0);
	expect_none(share);
	ck_assert_int_eq(share->ops->run_chunk(part, 0), 0);
	expect(share, REGION_WAS_MADE, 1);
	expect_none(share);
	for (unsigned i = 1; i < 4; i++)
		ck_assert_int_eq(share->ops->run_chunk(part, i), 0);
	expect(share, REGION_BECAME_READY, 1);
	expect_none(share);
	ck_assert_int_eq(share->ops->finish(part, false), 0);
	ck_assert_int_eq(region_return(share, drive_lend(share)), 0);
	expect_none(share);
	(void) drive_part(part);
	expect(share, REGION_IS_GONE, 1);
	expect(share, REGION_WAS_MADE, 2);
	expect(share, REGION_BECAME_READY, 2);
	expect_none(share);
}
END_TEST

START_TEST(test_what_is_looked_at_late_is_told_in_order_all_the_same)
{
	struct share *share = one_share(3);

	(void) drive_part(&share->parts[STAGE_EARLY]);
	for (uint64_t id = 1; id <= 3; id++) {
		expect(share, REGION_WAS_MADE, id);
		expect(share, REGION_BECAME_READY, id);
	}
	expect_none(share);
	ck_assert_int_eq(share->ops->share_shrink(share, REGION), 0);
	expect(share, REGION_IS_GONE, 2);
	expect(share, REGION_IS_GONE, 3);
	expect_none(share);
}
END_TEST

START_TEST(test_what_came_and_went_unseen_is_not_told)
{
	struct share *share = one_share(2);
	size_t nr_before;

	memory_model_limit(REGION, ENOMEM);
	nr_before = nr_descriptors();
	(void) drive_part(&share->parts[STAGE_EARLY]);
	/* Five rounds, each made and gave up the second one. */
	expect(share, REGION_WAS_MADE, 1);
	expect(share, REGION_BECAME_READY, 1);
	expect_none(share);
	ck_assert_uint_eq(nr_descriptors(), nr_before + 1);
}
END_TEST

START_TEST(test_what_is_held_for_its_poison_is_gone_when_it_is_let_go)
{
	struct share *share = one_share(1);
	struct part *part = &share->parts[STAGE_EARLY];

	memory_model_fail_populate(0, 130 * MIB, EHWPOISON, 1);
	ck_assert_int_eq(drive_round(part, false), 1);
	expect(share, REGION_WAS_MADE, 1);
	expect_none(share);
	ck_assert_int_eq(drive_round(part, false), 0);
	expect(share, REGION_WAS_MADE, 2);
	expect(share, REGION_BECAME_READY, 2);
	expect(share, REGION_IS_GONE, 1);
	expect_none(share);
}
END_TEST

START_TEST(test_without_a_descriptor_left_it_is_told_without_one)
{
	struct share *share = one_share(1);
	struct part *part = &share->parts[STAGE_EARLY];
	struct region_news news;
	struct rlimit before, limit;
	int lowest;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	lowest = fcntl(0, F_DUPFD_CLOEXEC, 0);
	ck_assert_int_ge(lowest, 0);
	(void) close(lowest);
	/* One for the memory, none for the duplicate. */
	limit = before;
	limit.rlim_cur = (rlim_t) lowest + 1;
	ck_assert_int_eq(share->ops->prepare(part), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(share->ops->run_chunk(part, 0), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert(region_next_news(share, &news));
	ck_assert_int_eq(news.change, REGION_WAS_MADE);
	ck_assert_int_eq(news.fd, -1);
	(void) share->ops->finish(part, true);
}
END_TEST

START_TEST(test_news_that_nobody_took_leave_no_descriptor_behind)
{
	size_t nr_before = nr_descriptors();
	struct share *share = one_share(3);

	(void) drive_part(&share->parts[STAGE_EARLY]);
	share->ops->share_free(share);
	drive.shares[0] = NULL;
	ck_assert_uint_eq(nr_descriptors(), nr_before);
}
END_TEST

START_TEST(test_ids_are_of_the_host_and_not_of_the_share)
{
	drive_add(&drive, POOL_REGION, PLAN_PAGE_BASE, BASE, REGION, 0, REGION);
	drive_add(&drive, POOL_REGION, PLAN_PAGE_BASE, BASE, REGION, 0, REGION);
	drive_make(&drive);
	atomic_store(&drive.last_region_id, 41);
	drive_all(&drive);
	expect(drive.shares[0], REGION_WAS_MADE, 42);
	expect(drive.shares[1], REGION_WAS_MADE, 43);
	ck_assert_uint_eq(atomic_load(&drive.last_region_id), 43);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region-news");
	TCase *tcase = tcase_create("news");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_a_region_is_told_as_made_as_ready_and_as_gone);
	tcase_add_test(tcase, test_what_is_looked_at_late_is_told_in_order_all_the_same);
	tcase_add_test(tcase, test_what_came_and_went_unseen_is_not_told);
	tcase_add_test(tcase, test_what_is_held_for_its_poison_is_gone_when_it_is_let_go);
	tcase_add_test(tcase, test_without_a_descriptor_left_it_is_told_without_one);
	tcase_add_test(tcase, test_news_that_nobody_took_leave_no_descriptor_behind);
	tcase_add_test(tcase, test_ids_are_of_the_host_and_not_of_the_share);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
