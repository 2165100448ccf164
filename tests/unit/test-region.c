/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Regions over a scripted memory that runs short, has poison, is on the wrong node. */
#include <errno.h>
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

static struct share *one_share(enum plan_page page, uint64_t page_bytes, uint64_t early_regions,
                               uint64_t deferred_regions)
{
	drive_add(&drive, POOL_REGION, page, page_bytes, early_regions * REGION,
	          deferred_regions * REGION, REGION);
	drive_make(&drive);
	return drive.shares[0];
}

static struct memory_model_counts counts(void)
{
	struct memory_model_counts ret;

	memory_model_counts(&ret);
	return ret;
}

START_TEST(test_all_regions_become_ready_and_only_their_bytes_count)
{
	struct share *share = one_share(PLAN_PAGE_BASE, BASE, 1, 3);

	ck_assert_int_eq(share->ops->prepare(&share->parts[STAGE_EARLY]), 0);
	ck_assert_uint_eq(share->parts[STAGE_EARLY].nr_chunks, 4);
	ck_assert_uint_eq(share->parts[STAGE_EARLY].chunk_bytes, 64 * MIB);
	ck_assert_int_eq(share->ops->run_chunk(&share->parts[STAGE_EARLY], 0), 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, 64 * MIB);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 0);
	for (unsigned i = 1; i < 4; i++)
		ck_assert_int_eq(share->ops->run_chunk(&share->parts[STAGE_EARLY], i), 0);
	/* Ready as soon as its last chunk is, not when the round ends. */
	ck_assert_uint_eq(drive_regions(share).nr_ready, 1);
	ck_assert_uint_eq(drive_regions(share).ready_bytes, REGION);
	ck_assert_int_eq(share->ops->finish(&share->parts[STAGE_EARLY], false), 0);
	drive_all(&drive);
	ck_assert_uint_eq(drive_status(share).done_bytes, 4 * REGION);
	ck_assert_uint_eq(drive_status(share).early_done_bytes, REGION);
	ck_assert_int_eq(drive_status(share).reason, REASON_NONE);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 4);
	ck_assert_uint_eq(counts().nr_verified, 4);
	ck_assert_uint_eq(counts().nr_mapped, 0);
	ck_assert_uint_eq(counts().max_mapped, 1);
}
END_TEST

START_TEST(test_a_chunk_is_one_page_where_the_page_is_larger)
{
	drive_add(&drive, POOL_REGION, PLAN_PAGE_HUGETLB, GIB, 2 * GIB, 0, 2 * GIB);
	drive_make(&drive);
	drive_all(&drive);
	ck_assert_uint_eq(drive.shares[0]->parts[STAGE_EARLY].chunk_bytes, GIB);
	ck_assert_uint_eq(counts().nr_populated, 2);
	ck_assert_uint_eq(drive_status(drive.shares[0]).done_bytes, 2 * GIB);
}
END_TEST

START_TEST(test_the_last_region_may_be_smaller)
{
	drive_add(&drive, POOL_REGION, PLAN_PAGE_BASE, BASE, REGION + 100 * MIB, 0, REGION);
	drive_make(&drive);
	drive_all(&drive);
	ck_assert_uint_eq(drive_status(drive.shares[0]).done_bytes, REGION + 100 * MIB);
	ck_assert_uint_eq(drive_regions(drive.shares[0]).nr_ready, 2);
	ck_assert_uint_eq(counts().resident_bytes, REGION + 100 * MIB);
}
END_TEST

/* Case 21: short is an errno, and what is kept is whole regions. */
static const int short_errors[] = { ENOMEM, ENOSPC, EFAULT };

START_TEST(test_running_short_keeps_whole_regions_and_says_why)
{
	struct share *share = one_share(PLAN_PAGE_BASE, BASE, 4, 0);
	struct share_status status;

	memory_model_limit(2 * REGION + 100 * MIB, short_errors[_i]);
	ck_assert_uint_eq(drive_part(&share->parts[STAGE_EARLY]), 5);
	status = drive_status(share);
	ck_assert_uint_eq(status.done_bytes, 2 * REGION);
	ck_assert_int_eq(status.reason, REASON_NO_MEMORY);
	ck_assert_uint_eq(status.nr_attempts, 4);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 2);
	ck_assert_uint_eq(counts().resident_bytes, 2 * REGION);
	ck_assert_uint_eq(counts().nr_alive, 2);
}
END_TEST

START_TEST(test_progress_does_not_run_backwards_before_it_settles)
{
	struct share *share = one_share(PLAN_PAGE_BASE, BASE, 4, 0);
	uint64_t before;

	memory_model_limit(2 * REGION + 100 * MIB, ENOMEM);
	ck_assert_int_eq(drive_round(&share->parts[STAGE_EARLY], false), -EAGAIN);
	before = drive_status(share).done_bytes;
	ck_assert_uint_eq(before, 2 * REGION + 64 * MIB);
	memory_model_limit(UINT64_MAX, ENOMEM);
	ck_assert_int_eq(drive_round(&share->parts[STAGE_EARLY], false), 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, 4 * REGION);
	ck_assert_uint_eq(drive_status(share).nr_attempts, 1);
}
END_TEST

START_TEST(test_a_retry_after_settling_fills_what_was_missing)
{
	struct share *share = one_share(PLAN_PAGE_BASE, BASE, 3, 0);

	memory_model_limit(REGION, ENOMEM);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION);
	memory_model_limit(UINT64_MAX, ENOMEM);
	ck_assert_uint_eq(drive_part(&share->parts[STAGE_EARLY]), 1);
	ck_assert_uint_eq(drive_status(share).done_bytes, 3 * REGION);
	ck_assert_int_eq(drive_status(share).reason, REASON_NONE);
}
END_TEST

START_TEST(test_short_thp_memory_on_a_node_with_free_bytes_is_fragmented)
{
	struct share *share = one_share(PLAN_PAGE_THP, HUGE, 2, 0);

	memory_model_limit(REGION, ENOMEM);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_int_eq(drive_status(share).reason, REASON_FRAGMENTED);
}
END_TEST

/* Case 23 */
START_TEST(test_a_region_with_poison_is_built_anew_and_counted)
{
	struct share *share = one_share(PLAN_PAGE_BASE, BASE, 3, 0);

	memory_model_fail_populate(1, 130 * MIB, EHWPOISON, 1);
	/* The rest of the round goes on; the second one has only the replacement to fill. */
	ck_assert_int_eq(drive_round(&share->parts[STAGE_EARLY], false), 1);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 2);
	ck_assert_int_eq(share->ops->prepare(&share->parts[STAGE_EARLY]), 0);
	ck_assert_uint_eq(share->parts[STAGE_EARLY].nr_chunks, 4);
	/* The bad one is still held, so that its page cannot come back with the new one. */
	ck_assert_uint_eq(counts().nr_alive, 3);
	/* What was filled before the poison is not counted again, nor taken back. */
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION + 128 * MIB);
	ck_assert_int_eq(share->ops->run_chunk(&share->parts[STAGE_EARLY], 0), 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION + 128 * MIB);
	for (unsigned i = 1; i < 4; i++)
		ck_assert_int_eq(share->ops->run_chunk(&share->parts[STAGE_EARLY], i), 0);
	ck_assert_int_eq(share->ops->finish(&share->parts[STAGE_EARLY], false), 0);
	ck_assert_uint_eq(counts().nr_made, 4);
	ck_assert_uint_eq(counts().nr_alive, 3);
	ck_assert_uint_eq(drive_status(share).nr_poisoned, 1);
	ck_assert_uint_eq(drive_status(share).nr_attempts, 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, 3 * REGION);
	ck_assert_int_eq(drive_status(share).reason, REASON_NONE);
}
END_TEST

START_TEST(test_poison_again_and_again_ends_the_share)
{
	struct share *share = one_share(PLAN_PAGE_BASE, BASE, 2, 0);

	memory_model_fail_populate(UINT_MAX, 0, EHWPOISON, UINT_MAX);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_int_eq(drive_status(share).reason, REASON_POISONED);
	ck_assert_uint_eq(drive_status(share).done_bytes, 0);
	ck_assert_uint_ge(drive_status(share).nr_poisoned, 16);
	ck_assert_uint_le(drive_status(share).nr_poisoned, 18);
	ck_assert_uint_eq(counts().nr_alive, 0);
}
END_TEST

START_TEST(test_what_is_held_for_its_poison_is_let_go_where_memory_is_short)
{
	struct share *share = one_share(PLAN_PAGE_BASE, BASE, 2, 0);

	memory_model_limit(2 * REGION, ENOMEM);
	memory_model_fail_populate(0, 130 * MIB, EHWPOISON, 1);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION);
	ck_assert_uint_eq(drive_status(share).nr_poisoned, 1);
	ck_assert_uint_eq(drive_status(share).nr_attempts, 0);
}
END_TEST

static const struct verdict {
	int error;
	enum share_reason reason;
	unsigned nr_rounds;
} verdicts[] = {
	{ EXDEV, REASON_WRONG_NODE, 1 },
	{ EMEDIUMTYPE, REASON_NOT_HUGE, 5 },
};

START_TEST(test_memory_that_fails_its_check_never_becomes_ready)
{
	struct share *share = one_share(PLAN_PAGE_THP, HUGE, 1, 0);

	memory_model_fail_verify(verdicts[_i].error, UINT_MAX);
	ck_assert_uint_eq(drive_part(&share->parts[STAGE_EARLY]), verdicts[_i].nr_rounds);
	ck_assert_int_eq(drive_status(share).reason, verdicts[_i].reason);
	ck_assert_uint_eq(drive_status(share).done_bytes, 0);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 0);
	ck_assert_uint_eq(counts().nr_alive, 0);
	ck_assert_uint_eq(kernel_model_nr_compactions(drive.model, DRIVE_NODE),
	                  verdicts[_i].error == EMEDIUMTYPE);
}
END_TEST

static const struct refusal {
	int error;
	bool is_cpuset_restricted;
	enum share_reason reason;
} refusals[] = {
	{ EOPNOTSUPP, false, REASON_UNSUPPORTED },
	{ EPERM, false, REASON_NOT_PERMITTED },
	{ EINVAL, true, REASON_NOT_PERMITTED },
	{ EINVAL, false, REASON_FAILED },
	{ EIO, false, REASON_FAILED },
};

START_TEST(test_memory_that_cannot_be_made_settles_at_once)
{
	struct share *share = one_share(PLAN_PAGE_THP, HUGE, 2, 0);

	drive.context.is_cpuset_restricted = refusals[_i].is_cpuset_restricted;
	memory_model_fail_make(refusals[_i].error, UINT_MAX);
	ck_assert_uint_eq(drive_part(&share->parts[STAGE_EARLY]), 1);
	ck_assert_int_eq(drive_status(share).reason, refusals[_i].reason);
	ck_assert_int_eq(drive_status(share).error,
	                 refusals[_i].reason == REASON_NOT_PERMITTED ? 0 : -refusals[_i].error);
}
END_TEST

/* Of the process, and of the whole system. */
static const int full_tables[] = { EMFILE, ENFILE };

START_TEST(test_memory_without_a_descriptor_left_is_tried_again)
{
	struct share *share = one_share(PLAN_PAGE_THP, HUGE, 2, 0);
	struct part *part = &share->parts[STAGE_EARLY];

	memory_model_fail_make(full_tables[_i], 1);
	ck_assert_uint_eq(drive_part(part), 2);
	ck_assert_uint_eq(drive_status(share).done_bytes, part->want_bytes);
	ck_assert_int_eq(drive_status(share).reason, REASON_NONE);
	ck_assert_uint_eq(drive_status(share).nr_attempts, 1);
	ck_assert_int_eq(share->ops->share_shrink(share, 0), 0);
}
END_TEST

START_TEST(test_descriptors_that_do_not_come_back_are_the_reason)
{
	struct share *share = one_share(PLAN_PAGE_THP, HUGE, 2, 0);

	memory_model_fail_make(full_tables[_i], UINT_MAX);
	ck_assert_uint_eq(drive_part(&share->parts[STAGE_EARLY]), 1 + drive.context.nr_retries);
	ck_assert_int_eq(drive_status(share).reason, REASON_FAILED);
	ck_assert_int_eq(drive_status(share).error, -full_tables[_i]);
}
END_TEST

START_TEST(test_a_cancelled_round_keeps_finished_regions_only)
{
	struct share *share = one_share(PLAN_PAGE_BASE, BASE, 3, 0);
	struct part *part = &share->parts[STAGE_EARLY];

	ck_assert_int_eq(share->ops->prepare(part), 0);
	for (unsigned i = 0; i < 6; i++)
		ck_assert_int_eq(share->ops->run_chunk(part, i), 0);
	ck_assert_int_eq(share->ops->finish(part, true), 0);
	ck_assert_int_eq(drive_status(share).reason, REASON_INTERRUPTED);
	ck_assert_uint_eq(drive_status(share).done_bytes, REGION);
	ck_assert_uint_eq(counts().resident_bytes, REGION);
}
END_TEST

/* Case 9, for memory that no account takes care of. */
START_TEST(test_regions_stop_where_the_reserve_begins)
{
	struct share *share;

	drive.node.reserved_bytes = 16 * GIB - 2 * REGION - 100 * MIB;
	share = one_share(PLAN_PAGE_BASE, BASE, 4, 0);
	ck_assert_int_eq(drive_round(&share->parts[STAGE_EARLY], false), -EAGAIN);
	ck_assert_uint_eq(counts().nr_made, 2);
	/* Memory of the memory model is not taken from the kernel model. */
	kernel_model_set_free_bytes(drive.model, DRIVE_NODE, drive.node.reserved_bytes + 100 * MIB);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_int_eq(drive_status(share).reason, REASON_EXCEEDS_RESERVE);
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION);
	ck_assert_uint_eq(counts().nr_made, 2);
}
END_TEST

START_TEST(test_a_reserve_that_is_reached_meanwhile_ends_the_round)
{
	struct share *share = one_share(PLAN_PAGE_BASE, BASE, 8, 0);
	struct part *part = &share->parts[STAGE_EARLY];

	ck_assert_int_eq(share->ops->prepare(part), 0);
	for (unsigned i = 0; i < 16; i++)
		ck_assert_int_eq(share->ops->run_chunk(part, i), 0);
	share->reserve_bytes = 16 * GIB;
	ck_assert_int_eq(share->ops->run_chunk(part, 16), -ENOSPC);
	ck_assert_int_eq(share->ops->finish(part, false), -EAGAIN);
	drive_part(part);
	ck_assert_int_eq(drive_status(share).reason, REASON_EXCEEDS_RESERVE);
	ck_assert_uint_eq(drive_status(share).done_bytes, 4 * REGION);
}
END_TEST

/* Case 10 */
START_TEST(test_a_share_far_larger_than_the_machine_ends_short_and_bounded)
{
	drive_add(&drive, POOL_REGION, PLAN_PAGE_BASE, BASE, 0, 512 * GIB, GIB);
	drive_make(&drive);
	memory_model_limit(8 * GIB, ENOMEM);
	drive_all(&drive);
	ck_assert_uint_eq(drive_status(drive.shares[0]).done_bytes, 8 * GIB);
	ck_assert_int_ne(drive_status(drive.shares[0]).reason, REASON_NONE);
	ck_assert_uint_eq(counts().nr_alive, 8);
}
END_TEST

/* Case 24, as far as kinds see it. */
START_TEST(test_memory_that_its_cgroup_denies_is_cgroup_limit)
{
	struct share *share = one_share(PLAN_PAGE_BASE, BASE, 8, 0);

	kernel_model_set_file(drive.model, "/proc/self/cgroup", "0::/small.service\n");
	kernel_model_set_file(drive.model, "/proc/self/status",
	                      "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0-3\n");
	kernel_model_set_file(drive.model, "/proc/self/mountinfo",
	                      "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	kernel_model_set_file(drive.model, "/sys/fs/cgroup/cgroup.controllers", "memory\n");
	kernel_model_set_file(drive.model, "/sys/fs/cgroup/small.service/memory.max",
	                      "1073741824\n");
	kernel_model_set_file(drive.model, "/sys/fs/cgroup/small.service/memory.current",
	                      "1073741824\n");
	kernel_model_set_file(drive.model, "/sys/fs/cgroup/small.service/memory.stat", "file 0\n");
	memory_model_limit(4 * REGION, ENOMEM);
	drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_int_eq(drive_status(share).reason, REASON_CGROUP_LIMIT);
	ck_assert_uint_eq(drive_status(share).done_bytes, 4 * REGION);
}
END_TEST

START_TEST(test_the_pages_of_a_region_pool_are_added_before_its_regions)
{
	struct share *share = one_share(PLAN_PAGE_HUGETLB, HUGE, 2, 6);

	ck_assert_int_eq(share->ops->prepare(&share->parts[STAGE_EARLY]), 0);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 256);
	/* Pages in the pool are no progress, populated bytes are. */
	ck_assert_uint_eq(drive_status(share).done_bytes, 0);
	drive_all(&drive);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 1024);
	ck_assert_uint_eq(drive_status(share).done_bytes, 8 * REGION);
}
END_TEST

START_TEST(test_a_region_pool_takes_no_page_of_a_hugetlb_pool)
{
	drive_add(&drive, POOL_HUGETLB, PLAN_PAGE_HUGETLB, HUGE, 128 * HUGE, 0, 0);
	drive_add(&drive, POOL_REGION, PLAN_PAGE_HUGETLB, HUGE, 2 * REGION, 0, REGION);
	drive_make(&drive);
	kernel_model_fragment(drive.model, DRIVE_NODE, HUGE, 128 + 200, 0);
	drive_all(&drive);
	ck_assert_uint_eq(drive_status(drive.shares[0]).done_bytes, 128 * HUGE);
	ck_assert_uint_eq(drive_status(drive.shares[1]).done_bytes, REGION);
	ck_assert_int_eq(drive_status(drive.shares[1]).reason, REASON_FRAGMENTED);
	ck_assert_uint_eq(counts().nr_made, 1);
}
END_TEST

START_TEST(test_shrinking_gives_back_whole_regions_and_their_pages)
{
	struct share *share = one_share(PLAN_PAGE_HUGETLB, HUGE, 1, 3);

	drive_all(&drive);
	ck_assert_int_eq(share->ops->share_shrink(share, REGION + 1), 0);
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 2);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 256);
	ck_assert_uint_eq(share->parts[STAGE_DEFERRED].want_bytes, REGION);
	drive_all(&drive);
	ck_assert_uint_eq(drive_status(share).done_bytes, 2 * REGION);
	ck_assert_uint_eq(counts().nr_made, 4);
}
END_TEST

START_TEST(test_freeing_a_region_share_gives_its_pages_back_and_leaves_others)
{
	drive_add(&drive, POOL_HUGETLB, PLAN_PAGE_HUGETLB, HUGE, 50 * HUGE, 0, 0);
	drive_add(&drive, POOL_REGION, PLAN_PAGE_HUGETLB, HUGE, REGION, 0, REGION);
	drive_make(&drive);
	drive_all(&drive);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 178);
	drive.shares[1]->ops->share_free(drive.shares[1]);
	drive.shares[1] = NULL;
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 50);
	ck_assert_uint_eq(counts().nr_alive, 0);
}
END_TEST

START_TEST(test_a_share_that_was_refused_as_a_whole_is_no_share)
{
	drive_add(&drive, POOL_REGION, PLAN_PAGE_BASE, BASE, 0, 0, REGION);
	drive_add(&drive, POOL_REGION, PLAN_PAGE_BASE, BASE, REGION, 0, REGION);
	drive_make(&drive);
	ck_assert_ptr_null(drive.shares[0]);
	ck_assert_ptr_nonnull(drive.shares[1]);
}
END_TEST

START_TEST(test_a_kind_that_is_not_there_is_said_to_be_unsupported)
{
	struct share **shares = NULL;

	drive_add(&drive, POOL_REGION, PLAN_PAGE_HUGETLB, HUGE, REGION, 0, REGION);
	drive_add(&drive, (enum pool_kind) 99, PLAN_PAGE_BASE, BASE, REGION, 0, 0);
	ck_assert_int_eq(shares_new(&drive.context, &drive.node, NULL, 0, &shares), -EOPNOTSUPP);
	ck_assert_ptr_null(shares);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region");
	TCase *tcase = tcase_create("regions");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_all_regions_become_ready_and_only_their_bytes_count);
	tcase_add_test(tcase, test_a_chunk_is_one_page_where_the_page_is_larger);
	tcase_add_test(tcase, test_the_last_region_may_be_smaller);
	tcase_add_loop_test(tcase, test_running_short_keeps_whole_regions_and_says_why, 0,
	                    (int) ELEMENTS(short_errors));
	tcase_add_test(tcase, test_progress_does_not_run_backwards_before_it_settles);
	tcase_add_test(tcase, test_a_retry_after_settling_fills_what_was_missing);
	tcase_add_test(tcase, test_short_thp_memory_on_a_node_with_free_bytes_is_fragmented);
	tcase_add_test(tcase, test_a_region_with_poison_is_built_anew_and_counted);
	tcase_add_test(tcase, test_poison_again_and_again_ends_the_share);
	tcase_add_test(tcase, test_what_is_held_for_its_poison_is_let_go_where_memory_is_short);
	tcase_add_loop_test(tcase, test_memory_that_fails_its_check_never_becomes_ready, 0,
	                    (int) ELEMENTS(verdicts));
	tcase_add_loop_test(tcase, test_memory_that_cannot_be_made_settles_at_once, 0,
	                    (int) ELEMENTS(refusals));
	tcase_add_loop_test(tcase, test_memory_without_a_descriptor_left_is_tried_again, 0,
	                    ELEMENTS(full_tables));
	tcase_add_loop_test(tcase, test_descriptors_that_do_not_come_back_are_the_reason, 0,
	                    ELEMENTS(full_tables));
	tcase_add_test(tcase, test_a_cancelled_round_keeps_finished_regions_only);
	tcase_add_test(tcase, test_regions_stop_where_the_reserve_begins);
	tcase_add_test(tcase, test_a_reserve_that_is_reached_meanwhile_ends_the_round);
	tcase_add_test(tcase, test_a_share_far_larger_than_the_machine_ends_short_and_bounded);
	tcase_add_test(tcase, test_memory_that_its_cgroup_denies_is_cgroup_limit);
	tcase_add_test(tcase, test_the_pages_of_a_region_pool_are_added_before_its_regions);
	tcase_add_test(tcase, test_a_region_pool_takes_no_page_of_a_hugetlb_pool);
	tcase_add_test(tcase, test_shrinking_gives_back_whole_regions_and_their_pages);
	tcase_add_test(tcase, test_freeing_a_region_share_gives_its_pages_back_and_leaves_others);
	tcase_add_test(tcase, test_a_share_that_was_refused_as_a_whole_is_no_share);
	tcase_add_test(tcase, test_a_kind_that_is_not_there_is_said_to_be_unsupported);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
