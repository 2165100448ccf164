/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Huge page pools on a kernel that grants less, sets back, overshoots. */
#include <errno.h>
#include <limits.h>

#include "kinds-drive.h"
#include "suite.h"

#define GLOBAL_FILE "/proc/sys/vm/nr_hugepages"

static struct drive drive;

static void set_up(void)
{
	drive_open(&drive);
}

static void tear_down(void)
{
	drive_close(&drive);
}

/* One hugetlb share on the node, all of it early. */
static struct share *one_share(uint64_t page_bytes, uint64_t nr_pages)
{
	drive_add(&drive, POOL_HUGETLB, PLAN_PAGE_HUGETLB, page_bytes, nr_pages * page_bytes, 0, 0);
	drive_make(&drive);
	return drive.shares[0];
}

static void set_pages(uint64_t page_bytes, uint64_t nr, uint64_t nr_free, uint64_t nr_surplus)
{
	kernel_model_set_pages(drive.model, DRIVE_NODE, page_bytes,
	                       (struct hugepages_count){ .nr_pages = nr,
	                                                 .free_pages = nr_free,
	                                                 .surplus_pages = nr_surplus });
}

/* Case 1 */
START_TEST(test_a_short_grant_on_a_node_with_free_bytes_is_fragmented_after_one_compaction)
{
	struct share *share = one_share(HUGE, 4096);
	struct share_status status;

	kernel_model_fragment(drive.model, DRIVE_NODE, HUGE, 3738, 0);
	ck_assert_uint_eq(drive_part(&share->parts[STAGE_EARLY]), 5);
	status = drive_status(share);
	ck_assert_uint_eq(status.done_bytes, 3738 * HUGE);
	ck_assert_uint_eq(status.early_done_bytes, 3738 * HUGE);
	ck_assert_int_eq(status.reason, REASON_FRAGMENTED);
	ck_assert_uint_eq(status.nr_attempts, 4);
	ck_assert_uint_eq(kernel_model_nr_compactions(drive.model, DRIVE_NODE), 1);
	ck_assert_uint_eq(kernel_model_nr_compactions(drive.model, 3), 0);
}
END_TEST

START_TEST(test_a_short_grant_on_a_node_without_free_bytes_is_no_memory)
{
	struct share *share = one_share(HUGE, 4096);
	struct share_status status;

	kernel_model_set_free_bytes(drive.model, DRIVE_NODE, 1000 * HUGE + 4096);
	drive_part(&share->parts[STAGE_EARLY]);
	status = drive_status(share);
	ck_assert_uint_eq(status.done_bytes, 1000 * HUGE);
	ck_assert_int_eq(status.reason, REASON_NO_MEMORY);
}
END_TEST

START_TEST(test_missing_bytes_beyond_what_is_free_are_no_memory)
{
	struct share *share = one_share(HUGE, 4096);

	kernel_model_set_free_bytes(drive.model, DRIVE_NODE, 1000 * HUGE);
	kernel_model_fragment(drive.model, DRIVE_NODE, HUGE, 900, 0);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_status(share).done_bytes, 900 * HUGE);
	ck_assert_int_eq(drive_status(share).reason, REASON_NO_MEMORY);
}
END_TEST

START_TEST(test_compaction_brings_the_pages_that_were_missing)
{
	struct share *share = one_share(HUGE, 400);

	kernel_model_fragment(drive.model, DRIVE_NODE, HUGE, 0, 400);
	ck_assert_uint_eq(drive_part(&share->parts[STAGE_EARLY]), 1);
	ck_assert_uint_eq(drive_status(share).done_bytes, 400 * HUGE);
	ck_assert_int_eq(drive_status(share).reason, REASON_NONE);
	ck_assert_uint_eq(kernel_model_nr_compactions(drive.model, DRIVE_NODE), 1);
}
END_TEST

/* Case 2 */
START_TEST(test_each_node_ends_at_its_own_number_whatever_the_order)
{
	struct page_account *accounts[2];
	struct page_account_result result;

	for (unsigned is_reversed = 0; is_reversed < 2; is_reversed++) {
		set_pages(HUGE, 0, 0, 0);
		kernel_model_set_pages(drive.model, 3, HUGE, (struct hugepages_count){ 0 });
		accounts[0] = page_account_new(&drive.context, 1, HUGE, 0);
		accounts[1] = page_account_new(&drive.context, 3, HUGE, 0);
		for (unsigned i = 0; i < 2; i++) {
			unsigned which = i ^ is_reversed;

			ck_assert_int_eq(
				page_account_grow(accounts[which], which ? 75 : 25, &result), 0);
		}
		ck_assert_uint_eq(drive_pages(&drive, 1, HUGE), 25);
		ck_assert_uint_eq(drive_pages(&drive, 3, HUGE), 75);
		page_account_unref(accounts[0]);
		page_account_unref(accounts[1]);
	}
	ck_assert_uint_eq(kernel_model_nr_writes(drive.model, GLOBAL_FILE), 0);
}
END_TEST

START_TEST(test_a_second_run_on_a_filled_pool_makes_no_write)
{
	struct share *share = one_share(HUGE, 100);

	set_pages(HUGE, 100, 40, 0);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_status(share).done_bytes, 100 * HUGE);
	ck_assert_uint_eq(kernel_model_nr_writes(drive.model, NULL), 0);
}
END_TEST

/* Case 3 */
START_TEST(test_a_pool_that_fills_on_the_third_try_counts_two_attempts)
{
	struct share *share = one_share(GIB, 8);

	kernel_model_fragment(drive.model, DRIVE_NODE, GIB, 3, 0);
	ck_assert_int_eq(drive_round(&share->parts[STAGE_EARLY], false), -EAGAIN);
	ck_assert_uint_eq(drive_status(share).done_bytes, 3 * GIB);
	kernel_model_fragment(drive.model, DRIVE_NODE, GIB, 2, 0);
	ck_assert_int_eq(drive_round(&share->parts[STAGE_EARLY], false), -EAGAIN);
	ck_assert_uint_eq(drive_status(share).done_bytes, 5 * GIB);
	kernel_model_fragment(drive.model, DRIVE_NODE, GIB, 3, 0);
	ck_assert_int_eq(drive_round(&share->parts[STAGE_EARLY], false), 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, 8 * GIB);
	ck_assert_uint_eq(drive_status(share).nr_attempts, 2);
	ck_assert_int_eq(drive_status(share).reason, REASON_NONE);
}
END_TEST

START_TEST(test_gigantic_pages_are_added_one_a_step)
{
	struct share *share = one_share(GIB, 5);

	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(kernel_model_nr_page_writes(drive.model, DRIVE_NODE, GIB), 5);
}
END_TEST

START_TEST(test_two_megabyte_pages_are_added_512_a_step)
{
	struct share *share = one_share(HUGE, 1536);

	ck_assert_int_eq(share->ops->prepare(&share->parts[STAGE_EARLY]), 1);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 512);
	ck_assert_uint_eq(drive_status(share).done_bytes, 512 * HUGE);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(kernel_model_nr_page_writes(drive.model, DRIVE_NODE, HUGE), 3);
}
END_TEST

/* Case 4 */
START_TEST(test_only_what_is_missing_is_added_and_what_is_too_many_is_left)
{
	struct page_account_result result;
	const uint64_t at_boot[2] = { 0, 2 };

	for (unsigned i = 0; i < 2; i++) {
		struct page_account *account = page_account_new(&drive.context, 1, GIB, 0);

		set_pages(GIB, at_boot[i], at_boot[i], 0);
		ck_assert_int_eq(page_account_grow(account, 1, &result), 0);
		ck_assert_uint_eq(result.nr_pages, i == 0 ? 1 : 2);
		page_account_unref(account);
	}
	ck_assert_uint_eq(kernel_model_nr_writes(drive.model, NULL), 1);
}
END_TEST

/* Case 5: surplus pages on another node make this node's write overshoot by as many. */
START_TEST(test_an_overshoot_by_surplus_is_lowered_to_the_target)
{
	struct share *share = one_share(HUGE, 400);

	kernel_model_set_pages(drive.model, 3, HUGE,
	                       (struct hugepages_count){ .nr_pages = 300, .surplus_pages = 300 });
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 400);
	ck_assert_uint_eq(drive_pages(&drive, 3, HUGE), 300);
	ck_assert_uint_eq(drive_status(share).done_bytes, 400 * HUGE);
	ck_assert_uint_eq(drive_status(share).nr_raced, 0);
}
END_TEST

static void use_all(struct kernel_model *model, const char *path, const char *text, void *arg)
{
	unsigned *nr_writes = arg;
	(void) path;
	(void) text;

	/* Between the overshoot and the lowering somebody maps all that came. */
	if (++*nr_writes == 2)
		ck_assert_int_eq(kernel_model_use_pages(model, DRIVE_NODE, HUGE, 700), 0);
}

START_TEST(test_an_overshoot_is_not_lowered_below_what_is_in_use)
{
	struct share *share = one_share(HUGE, 400);
	unsigned nr_writes = 0;

	kernel_model_set_pages(drive.model, 3, HUGE,
	                       (struct hugepages_count){ .nr_pages = 300, .surplus_pages = 300 });
	kernel_model_on_write(drive.model, use_all, &nr_writes);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 700);
	ck_assert_uint_ge(drive_status(share).done_bytes, 400 * HUGE);
}
END_TEST

START_TEST(test_an_overshoot_is_lowered_to_what_is_in_use_where_that_is_more)
{
	struct share *share = one_share(HUGE, 400);

	set_pages(HUGE, 550, 0, 200);
	kernel_model_set_pages(drive.model, 3, HUGE,
	                       (struct hugepages_count){ .nr_pages = 300, .surplus_pages = 300 });
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 550);
	ck_assert_uint_eq(kernel_model_pages(drive.model, DRIVE_NODE, HUGE).free_pages, 0);
	/* Lower still, and pages in use would have become surplus. */
	ck_assert_uint_eq(kernel_model_pages(drive.model, DRIVE_NODE, HUGE).surplus_pages, 0);
}
END_TEST

START_TEST(test_surplus_pages_do_not_count_as_reached)
{
	struct share *share = one_share(HUGE, 100);

	set_pages(HUGE, 100, 0, 100);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(kernel_model_pages(drive.model, DRIVE_NODE, HUGE).surplus_pages, 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, 100 * HUGE);
}
END_TEST

/* Case 7 */
START_TEST(test_pages_of_others_are_never_taken_away)
{
	struct share *share = one_share(HUGE, 100);

	set_pages(HUGE, 4096, 4096, 0);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_status(share).done_bytes, 100 * HUGE);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 4096);
	ck_assert_uint_eq(kernel_model_nr_writes(drive.model, NULL), 0);
}
END_TEST

START_TEST(test_shrink_yes_lowers_to_the_target_or_to_what_is_in_use)
{
	struct share *share;

	drive_add(&drive, POOL_HUGETLB, PLAN_PAGE_HUGETLB, HUGE, 100 * HUGE, 0, 0)->may_shrink =
		true;
	drive_make(&drive);
	share = drive.shares[0];
	set_pages(HUGE, 4096, 3946, 0);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 150);
	kernel_model_use_pages(drive.model, DRIVE_NODE, HUGE, -150);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 100);
}
END_TEST

START_TEST(test_shrinking_gives_back_only_what_is_ours_and_unused)
{
	struct share *share = one_share(HUGE, 200);

	set_pages(HUGE, 50, 50, 0);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 200);
	kernel_model_use_pages(drive.model, DRIVE_NODE, HUGE, 120);
	ck_assert_int_eq(share->ops->share_shrink(share, 100 * HUGE), 0);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 120);
	ck_assert_uint_eq(drive_status(share).done_bytes, 100 * HUGE);
	kernel_model_use_pages(drive.model, DRIVE_NODE, HUGE, -120);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 50);
}
END_TEST

START_TEST(test_shrinking_leaves_what_others_added_meanwhile)
{
	struct share *share = one_share(HUGE, 200);

	drive_part(&share->parts[STAGE_EARLY]);
	set_pages(HUGE, 300, 300, 0);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 100);
}
END_TEST

START_TEST(test_freeing_a_share_leaves_its_pages_in_the_pool)
{
	struct share *share = one_share(HUGE, 64);

	drive_part(&share->parts[STAGE_EARLY]);
	share->ops->share_free(share);
	drive.shares[0] = NULL;
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 64);
}
END_TEST

/* Case 8 */
START_TEST(test_a_pool_that_was_set_back_is_one_event_with_both_values_and_set_again)
{
	struct share *share = one_share(HUGE, 1024);
	struct share_status status;

	ck_assert_int_eq(share->ops->prepare(&share->parts[STAGE_EARLY]), 1);
	set_pages(HUGE, 7, 7, 0);
	drive_part(&share->parts[STAGE_EARLY]);
	status = drive_status(share);
	ck_assert_uint_eq(status.nr_raced, 1);
	ck_assert_uint_eq(status.raced_from_pages, 512);
	ck_assert_uint_eq(status.raced_to_pages, 7);
	ck_assert_uint_eq(status.done_bytes, 1024 * HUGE);
	ck_assert_int_eq(status.reason, REASON_NONE);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 1024);
}
END_TEST

START_TEST(test_a_pool_set_back_after_it_was_reached_is_seen_when_it_settles)
{
	struct share *share = one_share(HUGE, 100);
	struct part *part = &share->parts[STAGE_EARLY];

	ck_assert_int_eq(share->ops->prepare(part), 0);
	set_pages(HUGE, 20, 20, 0);
	ck_assert_int_eq(share->ops->finish(part, false), 1);
	drive_part(part);
	ck_assert_uint_eq(drive_status(share).nr_raced, 1);
	ck_assert_uint_eq(drive_status(share).raced_from_pages, 100);
	ck_assert_uint_eq(drive_status(share).raced_to_pages, 20);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 100);
}
END_TEST

START_TEST(test_a_fight_ends_after_as_many_attempts_as_allowed)
{
	struct share *share = one_share(HUGE, 100);
	struct part *part = &share->parts[STAGE_EARLY];
	struct share_status status;
	unsigned nr_rounds = 0;
	int r;

	do {
		(void) share->ops->prepare(part);
		set_pages(HUGE, 20, 20, 0);
		r = share->ops->finish(part, false);
		ck_assert_uint_lt(++nr_rounds, 20);
	} while (r != 0);
	status = drive_status(share);
	ck_assert_int_eq(status.reason, REASON_RACED);
	ck_assert_uint_eq(status.done_bytes, 20 * HUGE);
	ck_assert_uint_eq(nr_rounds, 5);
	ck_assert_uint_eq(kernel_model_nr_page_writes(drive.model, DRIVE_NODE, HUGE), 5);
}
END_TEST

START_TEST(test_a_rival_that_lowers_below_what_was_there_is_raced_not_fragmented)
{
	struct share *share = one_share(HUGE, 200);

	set_pages(HUGE, 100, 100, 0);
	kernel_model_add_rival(drive.model, DRIVE_NODE, HUGE, 10, 1);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_status(share).nr_raced, 1);
	ck_assert_uint_eq(drive_status(share).raced_from_pages, 200);
	ck_assert_uint_eq(drive_status(share).raced_to_pages, 10);
	ck_assert_uint_eq(drive_status(share).done_bytes, 200 * HUGE);
	ck_assert_uint_eq(kernel_model_nr_compactions(drive.model, DRIVE_NODE), 0);
}
END_TEST

/* Case 9 */
START_TEST(test_no_step_takes_what_the_reserve_must_keep)
{
	struct share *share;

	drive.node.reserved_bytes = 10 * GIB;
	share = one_share(GIB, 12);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_status(share).done_bytes, 6 * GIB);
	ck_assert_int_eq(drive_status(share).reason, REASON_EXCEEDS_RESERVE);
	ck_assert_uint_ge(kernel_model_free_bytes(drive.model, DRIVE_NODE), 10 * GIB);
}
END_TEST

START_TEST(test_a_step_is_trimmed_to_what_the_reserve_leaves)
{
	struct share *share;

	drive.node.reserved_bytes = 16 * GIB - 700 * HUGE - HUGE / 2;
	share = one_share(HUGE, 1024);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_status(share).done_bytes, 700 * HUGE);
	ck_assert_int_eq(drive_status(share).reason, REASON_EXCEEDS_RESERVE);
}
END_TEST

/* Case 11 */
START_TEST(test_each_page_size_has_its_own_account)
{
	drive_add(&drive, POOL_HUGETLB, PLAN_PAGE_HUGETLB, HUGE, 10 * HUGE, 0, 0);
	drive_add(&drive, POOL_HUGETLB, PLAN_PAGE_HUGETLB, GIB, 2 * GIB, 0, 0);
	drive_make(&drive);
	drive_all(&drive);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 10);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, GIB), 2);
	ck_assert_uint_eq(drive_status(drive.shares[0]).done_bytes, 10 * HUGE);
	ck_assert_uint_eq(drive_status(drive.shares[1]).done_bytes, 2 * GIB);
	ck_assert_ptr_ne(drive.shares[0]->account, drive.shares[1]->account);
}
END_TEST

START_TEST(test_parts_of_one_size_add_up_to_one_target)
{
	drive_add(&drive, POOL_HUGETLB, PLAN_PAGE_HUGETLB, HUGE, 10 * HUGE, 20 * HUGE, 0);
	drive_add(&drive, POOL_HUGETLB, PLAN_PAGE_HUGETLB, HUGE, 1 * HUGE, 2 * HUGE, 0);
	drive_make(&drive);
	ck_assert_uint_eq(drive.shares[0]->account_start_pages[STAGE_EARLY], 0);
	ck_assert_uint_eq(drive.shares[1]->account_start_pages[STAGE_EARLY], 10);
	ck_assert_uint_eq(drive.shares[0]->account_start_pages[STAGE_DEFERRED], 11);
	ck_assert_uint_eq(drive.shares[1]->account_start_pages[STAGE_DEFERRED], 31);
	ck_assert_uint_eq(drive.shares[1]->account_end_pages[STAGE_DEFERRED], 33);
	drive_part(&drive.shares[0]->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 10);
	drive_part(&drive.shares[1]->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 11);
	drive_all(&drive);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 33);
	ck_assert_uint_eq(drive_status(drive.shares[0]).done_bytes, 30 * HUGE);
	ck_assert_uint_eq(drive_status(drive.shares[1]).done_bytes, 3 * HUGE);
}
END_TEST

START_TEST(test_those_behind_a_share_that_shrank_move_down)
{
	drive_add(&drive, POOL_HUGETLB, PLAN_PAGE_HUGETLB, HUGE, 100 * HUGE, 0, 0);
	drive_add(&drive, POOL_HUGETLB, PLAN_PAGE_HUGETLB, HUGE, 50 * HUGE, 0, 0);
	drive_make(&drive);
	drive_all(&drive);
	ck_assert_int_eq(drive.shares[0]->ops->share_shrink(drive.shares[0], 30 * HUGE), 0);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 80);
	ck_assert_uint_eq(drive.shares[1]->account_start_pages[STAGE_EARLY], 30);
	drive_part(&drive.shares[1]->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 80);
	ck_assert_uint_eq(drive_status(drive.shares[1]).done_bytes, 50 * HUGE);
}
END_TEST

START_TEST(test_a_write_cut_short_by_a_signal_is_seen_by_reading_back)
{
	struct share *share = one_share(HUGE, 300);

	kernel_model_limit_write(drive.model, DRIVE_NODE, HUGE, 100);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_status(share).done_bytes, 300 * HUGE);
	ck_assert_uint_eq(drive_status(share).nr_attempts, 0);
	ck_assert_uint_eq(kernel_model_nr_page_writes(drive.model, DRIVE_NODE, HUGE), 3);
}
END_TEST

static const struct refusal {
	int error;
	enum share_reason reason;
} refusals[] = {
	{ EACCES, REASON_NOT_PERMITTED },
	{ EROFS, REASON_NOT_PERMITTED },
	{ EINVAL, REASON_UNSUPPORTED },
	{ EIO, REASON_FAILED },
};

START_TEST(test_a_refused_write_settles_at_once_with_its_reason)
{
	struct share *share = one_share(GIB, 1);

	kernel_model_refuse(drive.model, "/sys/devices/system/node/node1", refusals[_i].error);
	ck_assert_uint_eq(drive_part(&share->parts[STAGE_EARLY]), 1);
	ck_assert_int_eq(drive_status(share).reason, refusals[_i].reason);
	ck_assert_int_eq(drive_status(share).error, -refusals[_i].error);
	ck_assert_uint_eq(drive_status(share).done_bytes, 0);
}
END_TEST

START_TEST(test_a_cancelled_share_keeps_what_came_and_says_interrupted)
{
	struct share *share = one_share(GIB, 4);

	ck_assert_int_eq(share->ops->prepare(&share->parts[STAGE_EARLY]), 1);
	ck_assert_int_eq(share->ops->finish(&share->parts[STAGE_EARLY], true), 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, GIB);
	ck_assert_int_eq(drive_status(share).reason, REASON_INTERRUPTED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hugetlb");
	TCase *tcase = tcase_create("pools");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(
		tcase,
		test_a_short_grant_on_a_node_with_free_bytes_is_fragmented_after_one_compaction);
	tcase_add_test(tcase, test_a_short_grant_on_a_node_without_free_bytes_is_no_memory);
	tcase_add_test(tcase, test_missing_bytes_beyond_what_is_free_are_no_memory);
	tcase_add_test(tcase, test_compaction_brings_the_pages_that_were_missing);
	tcase_add_test(tcase, test_each_node_ends_at_its_own_number_whatever_the_order);
	tcase_add_test(tcase, test_a_second_run_on_a_filled_pool_makes_no_write);
	tcase_add_test(tcase, test_a_pool_that_fills_on_the_third_try_counts_two_attempts);
	tcase_add_test(tcase, test_gigantic_pages_are_added_one_a_step);
	tcase_add_test(tcase, test_two_megabyte_pages_are_added_512_a_step);
	tcase_add_test(tcase, test_only_what_is_missing_is_added_and_what_is_too_many_is_left);
	tcase_add_test(tcase, test_an_overshoot_by_surplus_is_lowered_to_the_target);
	tcase_add_test(tcase, test_an_overshoot_is_not_lowered_below_what_is_in_use);
	tcase_add_test(tcase, test_an_overshoot_is_lowered_to_what_is_in_use_where_that_is_more);
	tcase_add_test(tcase, test_surplus_pages_do_not_count_as_reached);
	tcase_add_test(tcase, test_pages_of_others_are_never_taken_away);
	tcase_add_test(tcase, test_shrink_yes_lowers_to_the_target_or_to_what_is_in_use);
	tcase_add_test(tcase, test_shrinking_gives_back_only_what_is_ours_and_unused);
	tcase_add_test(tcase, test_shrinking_leaves_what_others_added_meanwhile);
	tcase_add_test(tcase, test_freeing_a_share_leaves_its_pages_in_the_pool);
	tcase_add_test(tcase,
	               test_a_pool_that_was_set_back_is_one_event_with_both_values_and_set_again);
	tcase_add_test(tcase, test_a_pool_set_back_after_it_was_reached_is_seen_when_it_settles);
	tcase_add_test(tcase, test_a_fight_ends_after_as_many_attempts_as_allowed);
	tcase_add_test(tcase,
	               test_a_rival_that_lowers_below_what_was_there_is_raced_not_fragmented);
	tcase_add_test(tcase, test_no_step_takes_what_the_reserve_must_keep);
	tcase_add_test(tcase, test_a_step_is_trimmed_to_what_the_reserve_leaves);
	tcase_add_test(tcase, test_each_page_size_has_its_own_account);
	tcase_add_test(tcase, test_parts_of_one_size_add_up_to_one_target);
	tcase_add_test(tcase, test_those_behind_a_share_that_shrank_move_down);
	tcase_add_test(tcase, test_a_write_cut_short_by_a_signal_is_seen_by_reading_back);
	tcase_add_loop_test(tcase, test_a_refused_write_settles_at_once_with_its_reason, 0,
	                    (int) ELEMENTS(refusals));
	tcase_add_test(tcase, test_a_cancelled_share_keeps_what_came_and_says_interrupted);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
