/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Regions that are lent, come back, and are built anew; what a smaller pool does to them. */
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

START_TEST(test_the_smallest_region_that_is_large_enough_is_lent)
{
	struct share *share =
		drive_full_share(&drive, REGION, PLAN_PAGE_BASE, 2 * REGION + 100 * MIB, 0);
	uint64_t id, other, bytes;

	ck_assert_int_eq(region_lend(share, 0, &id, &bytes), 0);
	ck_assert_uint_eq(bytes, 100 * MIB);
	ck_assert_int_eq(region_unlend(share, id), 0);
	ck_assert_int_eq(region_lend(share, 100 * MIB + 1, &other, &bytes), 0);
	ck_assert_uint_eq(bytes, REGION);
	ck_assert_uint_ne(other, id);
	ck_assert_int_eq(region_lend(share, REGION + 1, &id, &bytes), -ENOENT);
	ck_assert_uint_eq(drive_regions(share).largest_bytes, REGION);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 2);
	ck_assert_uint_eq(drive_regions(share).lent_bytes, REGION);
}
END_TEST

START_TEST(test_what_is_lent_stays_in_service_and_is_lent_once)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, REGION, REGION);
	uint64_t first = drive_lend(share), second = drive_lend(share), id, bytes;

	ck_assert_uint_ne(first, second);
	ck_assert_int_eq(region_lend(share, 0, &id, &bytes), -ENOENT);
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION);
	drive_refill(share);
	ck_assert_int_eq(drive_status(share).reason, REASON_NONE);
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION);
	ck_assert_uint_eq(drive_counts().nr_made, 2);
	ck_assert_uint_eq(drive_regions(share).nr_unfilled, 0);
}
END_TEST

START_TEST(test_a_returned_region_is_destroyed_and_another_one_takes_its_place)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, 2 * REGION, 0);
	uint64_t id = drive_lend(share), bytes, next;

	ck_assert_int_eq(region_return(share, id), 0);
	/* It is nobody's, but still there: neither done nor handed out again. */
	ck_assert_uint_eq(drive_regions(share).nr_spent, 1);
	ck_assert_uint_eq(drive_regions(share).spent_bytes, REGION);
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION);
	ck_assert_uint_eq(drive_counts().nr_destroyed, 0);
	ck_assert_int_eq(region_return(share, id), -ENOENT);
	ck_assert_int_eq(region_unlend(share, id), -ENOENT);
	drive_refill(share);
	ck_assert_uint_eq(drive_counts().nr_destroyed, 1);
	ck_assert_uint_eq(drive_counts().nr_made, 3);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 2);
	ck_assert_uint_eq(drive_regions(share).nr_spent, 0);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(region_lend(share, 0, &next, &bytes), 0);
		ck_assert_uint_ne(next, id);
	}
}
END_TEST

START_TEST(test_spent_regions_go_one_a_step_before_anything_is_filled)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, 3 * REGION, 0);
	struct part *part = &share->parts[STAGE_EARLY];

	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(region_return(share, drive_lend(share)), 0);
	for (unsigned i = 1; i <= 3; i++) {
		ck_assert_int_eq(share->ops->prepare(part), 1);
		ck_assert_uint_eq(drive_counts().nr_destroyed, i);
		ck_assert_uint_eq(drive_status(share).done_bytes, (3 - i) * REGION);
		ck_assert_uint_eq(drive_regions(share).nr_unfilled, i);
	}
	ck_assert_int_eq(share->ops->prepare(part), 0);
	ck_assert_uint_eq(part->nr_chunks, 12);
	ck_assert_int_eq(share->ops->finish(part, true), 0);
	drive_refill(share);
	ck_assert_uint_eq(drive_status(share).done_bytes, 3 * REGION);
}
END_TEST

/* Else it would be missing until somebody asks for a Retry. */
START_TEST(test_a_spent_region_stays_until_the_part_that_builds_it_anew)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, REGION, REGION);
	uint64_t first = drive_lend(share), second = drive_lend(share);

	ck_assert_int_eq(region_return(share, first), 0);
	(void) drive_part(&share->parts[STAGE_DEFERRED]);
	ck_assert_uint_eq(drive_regions(share).nr_spent, 1);
	ck_assert_uint_eq(drive_regions(share).nr_unfilled, 0);
	(void) drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 1);
	ck_assert_int_eq(region_return(share, second), 0);
	drive_refill(share);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 2);
}
END_TEST

START_TEST(test_a_shrink_to_what_is_there_forgets_why_more_was_missing)
{
	struct share *share;

	drive_add(&drive, POOL_REGION, PLAN_PAGE_BASE, BASE, REGION, 2 * REGION, REGION);
	drive_make(&drive);
	share = drive.shares[0];
	memory_model_limit(2 * REGION, ENOMEM);
	drive_all(&drive);
	ck_assert_int_eq(drive_status(share).reason, REASON_NO_MEMORY);
	ck_assert_int_eq(share->ops->share_shrink(share, 3 * REGION - 1), 0);
	ck_assert_int_eq(drive_status(share).reason, REASON_NO_MEMORY);
	ck_assert_int_eq(share->ops->share_shrink(share, REGION), 0);
	ck_assert_int_eq(drive_status(share).reason, REASON_NONE);
}
END_TEST

START_TEST(test_what_comes_back_in_a_round_does_not_keep_it_from_ending)
{
	struct share *share;
	struct part *part;

	drive_add(&drive, POOL_REGION, PLAN_PAGE_BASE, BASE, 2 * REGION, 0, REGION);
	drive_make(&drive);
	share = drive.shares[0];
	part = &share->parts[STAGE_EARLY];
	ck_assert_int_eq(share->ops->prepare(part), 0);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(share->ops->run_chunk(part, i), 0);
	/* Ready in the middle of the round, so lent and returned in the middle of it, too. */
	ck_assert_int_eq(region_return(share, drive_lend(share)), 0);
	for (unsigned i = 4; i < 8; i++)
		ck_assert_int_eq(share->ops->run_chunk(part, i), 0);
	ck_assert_int_eq(share->ops->finish(part, false), 0);
	ck_assert_int_eq(drive_status(share).reason, REASON_NONE);
	ck_assert_uint_eq(drive_regions(share).nr_spent, 1);
	drive_refill(share);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 2);
	ck_assert_uint_eq(drive_counts().nr_destroyed, 1);
}
END_TEST

START_TEST(test_a_refill_that_runs_short_says_so_and_a_later_one_ends_it)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, 3 * REGION, 0);

	ck_assert_int_eq(region_return(share, drive_lend(share)), 0);
	memory_model_limit(2 * REGION, ENOMEM);
	ck_assert_uint_eq(drive_part(&share->parts[STAGE_EARLY]), 5);
	ck_assert_int_eq(drive_status(share).reason, REASON_NO_MEMORY);
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION);
	memory_model_limit(UINT64_MAX, ENOMEM);
	drive_refill(share);
	ck_assert_int_eq(drive_status(share).reason, REASON_NONE);
	ck_assert_uint_eq(drive_status(share).done_bytes, 3 * REGION);
}
END_TEST

START_TEST(test_poison_of_former_rounds_does_not_end_a_later_one)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, REGION, 0);

	for (unsigned i = 0; i < 40; i++) {
		ck_assert_int_eq(region_return(share, drive_lend(share)), 0);
		memory_model_fail_populate(UINT_MAX, 0, EHWPOISON, 1);
		drive_refill(share);
		ck_assert_int_eq(drive_status(share).reason, REASON_NONE);
	}
	ck_assert_uint_eq(drive_status(share).nr_poisoned, 40);
}
END_TEST

START_TEST(test_a_lessee_gets_a_description_of_a_lent_region_only)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, REGION, 0);
	uint64_t id = drive_lend(share);
	int fd = region_open_lent(share, id);

	ck_assert_int_ge(fd, 0);
	(void) close(fd);
	memory_model_fail_open(EMFILE, 1);
	ck_assert_int_eq(region_open_lent(share, id), -EMFILE);
	ck_assert_int_eq(region_open_lent(share, id + 1), -ENOENT);
	ck_assert_int_eq(region_unlend(share, id), 0);
	ck_assert_int_eq(region_open_lent(share, id), -ENOENT);
}
END_TEST

/* Flags belong to the description: what has been marked is seen through another duplicate of it. */
static void mark(int fd)
{
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	(void) close(fd);
}

static bool is_marked(struct share *share, uint64_t id)
{
	uint64_t bytes = 0;
	scoped(fd_closep) int fd = region_duplicate(share, id, &bytes);

	ck_assert_int_ge(fd, 0);
	ck_assert_uint_eq(bytes, REGION);
	return fcntl(fd, F_GETFL) & O_NONBLOCK;
}

START_TEST(test_what_is_ready_or_lent_can_be_duplicated_and_nothing_else)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, 2 * REGION, 0);
	uint64_t id = drive_lend(share), ready_id = id == 1 ? 2 : 1, bytes = 7;
	struct rlimit before, none;

	ck_assert(!is_marked(share, id));
	mark(region_duplicate(share, id, &bytes));
	ck_assert(is_marked(share, id));
	ck_assert(!is_marked(share, ready_id));
	bytes = 7;
	ck_assert_int_eq(region_duplicate(share, 3, &bytes), -ENOENT);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	/* What the kernel says where the limit is 0. */
	ck_assert_int_lt(region_duplicate(share, id, &bytes), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert_int_eq(region_return(share, id), 0);
	ck_assert_int_eq(region_duplicate(share, id, &bytes), -ENOENT);
	ck_assert_uint_eq(bytes, 7);
}
END_TEST

START_TEST(test_whether_it_is_in_use_is_asked_of_that_very_memory)
{
	static const int answers[] = { 1, 0, -EOPNOTSUPP };
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, 2 * REGION, 0);
	uint64_t id = drive_lend(share), other = drive_lend(share);

	/* Ids begin at 1, pieces at 0; both go up together. */
	for (unsigned i = 0; i < ELEMENTS(answers); i++) {
		memory_model_set_in_use((unsigned) id - 1, answers[i]);
		ck_assert_int_eq(region_is_lent_in_use(share, id), answers[i]);
		ck_assert_int_eq(region_is_lent_in_use(share, other), 0);
	}
	ck_assert_int_eq(region_is_lent_in_use(share, 99), -ENOENT);
	ck_assert_int_eq(region_return(share, id), 0);
	ck_assert_int_eq(region_is_lent_in_use(share, id), -ENOENT);
}
END_TEST

START_TEST(test_shrinking_takes_what_is_not_lent_and_moves_what_is)
{
	struct share *share =
		drive_full_share(&drive, REGION, PLAN_PAGE_BASE, 2 * REGION, 4 * REGION);
	uint64_t ids[6];

	for (unsigned i = 0; i < 6; i++)
		ids[i] = drive_lend(share);
	/* Lent are the last two, of the deferred part. */
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(region_unlend(share, ids[i]), 0);
	ck_assert_int_eq(share->ops->share_shrink(share, 2 * REGION), 0);
	ck_assert_uint_eq(drive_counts().nr_destroyed, 4);
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION);
	ck_assert_uint_eq(drive_status(share).early_done_bytes, 2 * REGION);
	ck_assert_uint_eq(drive_regions(share).nr_lent, 2);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 0);
	ck_assert_uint_eq(drive_regions(share).nr_unfilled, 0);
	/* They have places there, so others take them. */
	ck_assert_int_eq(region_return(share, ids[4]), 0);
	drive_refill(share);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 1);
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION);
}
END_TEST

START_TEST(test_a_lent_region_that_has_no_place_any_more_is_kept_and_not_replaced)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, 4 * REGION, 0);
	unsigned nr_replaced = 0;
	uint64_t ids[3];

	for (unsigned i = 0; i < 3; i++)
		ids[i] = drive_lend(share);
	ck_assert_int_eq(share->ops->share_shrink(share, REGION), 0);
	ck_assert_uint_eq(share->parts[STAGE_EARLY].want_bytes, REGION);
	ck_assert_uint_eq(drive_status(share).done_bytes, 3 * REGION);
	ck_assert_uint_eq(drive_regions(share).nr_lent, 3);
	for (unsigned i = 0; i < 3; i++)
		nr_replaced += region_is_replaced(share, ids[i]);
	ck_assert_uint_eq(nr_replaced, 1);
	ck_assert(!region_is_replaced(share, 100));
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(region_is_lent_in_use(share, ids[i]), 0);
		ck_assert_int_eq(region_return(share, ids[i]), 0);
		drive_refill(share);
	}
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 1);
	ck_assert_uint_eq(drive_counts().nr_alive, 1);
	ck_assert_uint_eq(drive_counts().nr_made, 5);
	ck_assert_uint_eq(drive_status(share).early_done_bytes, REGION);
}
END_TEST

START_TEST(test_of_regions_of_one_part_the_lent_ones_stay)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, 4 * REGION, 0);
	uint64_t ids[4];

	for (unsigned i = 0; i < 4; i++)
		ids[i] = drive_lend(share);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(region_unlend(share, ids[i]), 0);
	ck_assert_int_eq(share->ops->share_shrink(share, 2 * REGION), 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 1);
	ck_assert_uint_eq(drive_regions(share).nr_lent, 1);
}
END_TEST

static struct {
	struct share *share;
	uint64_t id;
} late;

static void return_late(void *arg)
{
	(void) arg;
	ck_assert_int_eq(region_return(late.share, late.id), 0);
}

/* The shrink has taken what was spent in its part by then, and goes on to cut. */
START_TEST(test_what_comes_back_in_a_shrink_goes_in_the_next_one)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, REGION, REGION);
	uint64_t deferred;

	late.share = share;
	late.id = drive_lend(share);
	deferred = drive_lend(share);
	ck_assert_int_eq(region_return(share, deferred), 0);
	memory_model_on_destroy(return_late, NULL);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_regions(share).nr_spent, 1);
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION);
	ck_assert_uint_eq(drive_counts().nr_alive, 1);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_regions(share).nr_spent, 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, 0);
	ck_assert_uint_eq(drive_counts().nr_alive, 0);
}
END_TEST

static uint64_t done_bytes_meanwhile;

static void look_late(void *arg)
{
	done_bytes_meanwhile = drive_status(arg).done_bytes;
	ck_assert_uint_eq(drive_regions(arg).spent_bytes, 0);
}

/* Else it would seem to be in service while its pages go. */
START_TEST(test_what_is_being_destroyed_is_neither_spent_nor_done)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, 0, 3 * REGION);

	ck_assert_int_eq(region_return(share, drive_lend(share)), 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, 3 * REGION);
	ck_assert_uint_eq(drive_regions(share).spent_bytes, REGION);
	memory_model_on_destroy(look_late, share);
	drive_refill(share);
	ck_assert_uint_eq(done_bytes_meanwhile, 2 * REGION);
	ck_assert_uint_eq(drive_status(share).done_bytes, 3 * REGION);
}
END_TEST

START_TEST(test_pages_that_others_have_added_meanwhile_stay_where_some_are_lent)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_HUGETLB, 4 * REGION, 0);
	uint64_t first = drive_lend(share), second = drive_lend(share);

	kernel_model_set_pages(
		drive.model, DRIVE_NODE, HUGE,
		(struct hugepages_count){ .nr_pages = 512 + 100, .free_pages = 512 + 100 });
	/* A look that finds them. */
	drive_refill(share);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 256 + 100);
	ck_assert_int_eq(region_return(share, first), 0);
	ck_assert_int_eq(region_return(share, second), 0);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 100);
}
END_TEST

START_TEST(test_a_share_that_is_to_go_waits_for_its_lent_regions)
{
	struct share *share =
		drive_full_share(&drive, REGION, PLAN_PAGE_HUGETLB, 2 * REGION, 2 * REGION);
	uint64_t first = drive_lend(share), second = drive_lend(share);

	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 256);
	ck_assert_uint_eq(drive_regions(share).largest_bytes, 0);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_counts().nr_alive, 2);
	ck_assert_int_eq(region_return(share, first), 0);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 128);
	ck_assert_int_eq(region_return(share, second), 0);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, 0);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 0);
	ck_assert_uint_eq(drive_counts().nr_alive, 0);
}
END_TEST

START_TEST(test_a_lent_region_that_is_taken_back_after_a_shrink_is_spent)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, REGION, 0);
	uint64_t id = drive_lend(share);

	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_int_eq(region_unlend(share, id), 0);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 0);
	ck_assert_uint_eq(drive_regions(share).nr_spent, 1);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, 0);
}
END_TEST

START_TEST(test_the_smaller_last_region_is_kept_aside_where_whole_ones_remain)
{
	struct share *share =
		drive_full_share(&drive, REGION, PLAN_PAGE_BASE, 2 * REGION + 100 * MIB, 0);
	uint64_t id = drive_lend(share);

	ck_assert_int_eq(share->ops->share_shrink(share, REGION), 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION + 100 * MIB);
	ck_assert_uint_eq(drive_regions(share).lent_bytes, 100 * MIB);
	ck_assert_uint_eq(drive_regions(share).ready_bytes, REGION);
	ck_assert_int_eq(region_return(share, id), 0);
	drive_refill(share);
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION);
}
END_TEST

/* Pages that a lessee has are none for the shares that come later. */
START_TEST(test_huge_pages_of_what_is_aside_are_counted_before_those_of_others)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_HUGETLB, 2 * REGION, 0);
	struct share **more = NULL;
	uint64_t id;

	id = drive_lend(share);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 128);
	ck_assert_int_eq(shares_new(&drive.context, &drive.node, drive.shares, 1, &more), 0);
	ck_assert_ptr_eq(more[0]->account, share->account);
	(void) drive_part(&more[0]->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 3 * 128);
	ck_assert_uint_eq(drive_status(more[0]).done_bytes, 2 * REGION);
	ck_assert_int_eq(region_return(share, id), 0);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 2 * 128);
	more[0]->ops->share_free(more[0]);
	free(more);
}
END_TEST

START_TEST(test_at_the_end_of_the_process_lent_memory_is_left_to_its_lessee)
{
	struct share *share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, 2 * REGION, REGION);

	(void) drive_lend(share);
	(void) drive_lend(share);
	share->ops->share_free(share);
	drive.shares[0] = NULL;
	ck_assert_uint_eq(drive_counts().nr_released, 2);
	ck_assert_uint_eq(drive_counts().nr_destroyed, 1);
	ck_assert_uint_eq(drive_counts().nr_alive, 0);
}
END_TEST

START_TEST(test_without_ids_nothing_is_lent_and_nothing_is_told)
{
	struct share *share;
	struct region_news news;
	uint64_t id, bytes;

	drive.context.last_region_id = NULL;
	share = drive_full_share(&drive, REGION, PLAN_PAGE_BASE, REGION, 0);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 1);
	ck_assert_int_eq(region_lend(share, 0, &id, &bytes), -ENOENT);
	ck_assert(!region_next_news(share, &news));
}
END_TEST

START_TEST(test_shares_of_kind_region_are_told_from_others)
{
	drive_add(&drive, POOL_HUGETLB, PLAN_PAGE_HUGETLB, HUGE, HUGE, 0, 0);
	drive_add(&drive, POOL_REGION, PLAN_PAGE_BASE, BASE, REGION, 0, REGION);
	drive_make(&drive);
	ck_assert(!share_has_regions(drive.shares[0]));
	ck_assert(share_has_regions(drive.shares[1]));
	/* Before it has begun, all of it is to be made. */
	ck_assert_uint_eq(drive_regions(drive.shares[1]).nr_unfilled, 1);
	ck_assert_uint_eq(drive_regions(drive.shares[1]).largest_bytes, REGION);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region-lease");
	TCase *tcase = tcase_create("lent");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_the_smallest_region_that_is_large_enough_is_lent);
	tcase_add_test(tcase, test_what_is_lent_stays_in_service_and_is_lent_once);
	tcase_add_test(tcase, test_a_returned_region_is_destroyed_and_another_one_takes_its_place);
	tcase_add_test(tcase, test_spent_regions_go_one_a_step_before_anything_is_filled);
	tcase_add_test(tcase, test_a_spent_region_stays_until_the_part_that_builds_it_anew);
	tcase_add_test(tcase, test_a_shrink_to_what_is_there_forgets_why_more_was_missing);
	tcase_add_test(tcase, test_what_comes_back_in_a_round_does_not_keep_it_from_ending);
	tcase_add_test(tcase, test_a_refill_that_runs_short_says_so_and_a_later_one_ends_it);
	tcase_add_test(tcase, test_poison_of_former_rounds_does_not_end_a_later_one);
	tcase_add_test(tcase, test_a_lessee_gets_a_description_of_a_lent_region_only);
	tcase_add_test(tcase, test_what_is_ready_or_lent_can_be_duplicated_and_nothing_else);
	tcase_add_test(tcase, test_whether_it_is_in_use_is_asked_of_that_very_memory);
	tcase_add_test(tcase, test_shrinking_takes_what_is_not_lent_and_moves_what_is);
	tcase_add_test(tcase,
	               test_a_lent_region_that_has_no_place_any_more_is_kept_and_not_replaced);
	tcase_add_test(tcase, test_of_regions_of_one_part_the_lent_ones_stay);
	tcase_add_test(tcase, test_what_comes_back_in_a_shrink_goes_in_the_next_one);
	tcase_add_test(tcase, test_what_is_being_destroyed_is_neither_spent_nor_done);
	tcase_add_test(tcase, test_pages_that_others_have_added_meanwhile_stay_where_some_are_lent);
	tcase_add_test(tcase, test_a_share_that_is_to_go_waits_for_its_lent_regions);
	tcase_add_test(tcase, test_a_lent_region_that_is_taken_back_after_a_shrink_is_spent);
	tcase_add_test(tcase, test_the_smaller_last_region_is_kept_aside_where_whole_ones_remain);
	tcase_add_test(tcase, test_huge_pages_of_what_is_aside_are_counted_before_those_of_others);
	tcase_add_test(tcase, test_at_the_end_of_the_process_lent_memory_is_left_to_its_lessee);
	tcase_add_test(tcase, test_without_ids_nothing_is_lent_and_nothing_is_told);
	tcase_add_test(tcase, test_shares_of_kind_region_are_told_from_others);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
