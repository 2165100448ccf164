/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "../../daemon/base/size.h"
#include "book-faults.h"
#include "book-world.h"
#include "suite.h"

#define REGION (16 * MIB)

/* A pool of @nr_regions on node 0, all of them ready. */
static void start(size_t nr_regions)
{
	world_start_full(PLAN_PAGE_HUGETLB, REGION, nr_regions);
}

START_TEST(test_what_the_shares_make_goes_on_record_and_into_the_store)
{
	uint64_t id;

	world_reset();
	(void) world_add_share("guests", 3, PLAN_PAGE_HUGETLB, REGION, 2);
	world_start();
	ck_assert(world.nr_kept == 1 && strcmp(world.kept[0].name, "state") == 0);
	id = fake_share_make(world.shares[0]);
	world.shares[0]->is_locked = true;
	world_news();
	ck_assert_uint_eq(world_recorded(id), RECORD_FILLING);
	ck_assert(world_keeps("region", id));
	ck_assert_str_eq(record_get(world.record, id)->pool, "guests");
	ck_assert_uint_eq(record_get(world.record, id)->node_id, 3);
	ck_assert_uint_eq(record_get(world.record, id)->page, PLAN_PAGE_HUGETLB);
	ck_assert_uint_eq(record_get(world.record, id)->page_bytes, 2 * MIB);
	ck_assert_uint_eq(record_get(world.record, id)->bytes, REGION);
	ck_assert(record_get(world.record, id)->is_locked);
	(void) fake_share_fill(world.shares[0]);
	world_news();
	ck_assert_uint_eq(world_recorded(id), RECORD_READY);
	(void) fake_share_shrink(world.shares[0]);
	world_news();
	ck_assert_uint_eq(world_recorded(id), 0);
	ck_assert(!world_keeps("region", id));
	world_end();
}
END_TEST

START_TEST(test_a_lease_is_on_record_and_in_the_store_before_it_is_handed_out)
{
	struct lease shown;
	uint64_t id;

	start(2);
	id = world_lease_id(1000);
	ck_assert_uint_eq(world_recorded(id), RECORD_LEASED);
	ck_assert_uint_eq(record_get(world.record, id)->uid, 1000);
	ck_assert_uint_eq(record_get(world.record, id)->pid, 1100);
	ck_assert_str_eq(record_get(world.record, id)->pool, "guests");
	ck_assert_uint_eq(record_get(world.record, id)->bytes, REGION);
	ck_assert_uint_eq(record_get(world.record, id)->page, PLAN_PAGE_HUGETLB);
	ck_assert_uint_eq(record_get(world.record, id)->page_bytes, 2 * MIB);
	ck_assert_uint_eq(record_get(world.record, id)->since_monotonic_usec, world.now_usec);
	ck_assert(world_keeps("region", id));
	ck_assert(world_keeps("lifetime", id));
	shown = world_find(id);
	ck_assert_uint_eq(shown.id, id);
	ck_assert_str_eq(shown.pool, "guests");
	ck_assert_str_eq(shown.unit, "");
	ck_assert_str_eq(lease_state_text(shown.state), "leased");
	ck_assert_uint_eq(shown.uid, 1000);
	ck_assert_int_eq(shown.pid, 1100);
	ck_assert_uint_eq(shown.bytes, REGION);
	ck_assert_uint_eq(shown.since_monotonic_usec, world.now_usec);
	ck_assert_uint_eq(shown.since_realtime_usec, 1000 * world.now_usec);
	ck_assert(shown.is_memory_known);
	ck_assert(!shown.is_released);
	ck_assert_uint_eq(world_counts(0).nr_lent, 1);
	world_expect_sums("guests", 0, REGION, 0);
	world_end();
}
END_TEST

START_TEST(test_a_region_that_got_ready_this_moment_can_be_leased)
{
	uint64_t id;

	start(0);
	world_kill();
	world.config[0].nr_regions = 1;
	world_start();
	id = fake_share_make(world.shares[0]);
	(void) fake_share_fill(world.shares[0]);
	/* No news was taken yet. */
	ck_assert_uint_eq(world_lease_id(0), id);
	ck_assert_uint_eq(world_recorded(id), RECORD_LEASED);
	ck_assert(world_keeps("region", id));
	world_news();
	ck_assert_uint_eq(world_recorded(id), RECORD_LEASED);
	world_end();
}
END_TEST

START_TEST(test_the_first_share_that_has_one_ready_and_large_enough_lends_it)
{
	world_reset();
	(void) world_add_share("guests", 0, PLAN_PAGE_BASE, REGION, 1);
	(void) world_add_share("guests", 1, PLAN_PAGE_BASE, REGION, 1);
	(void) world_add_share("guests", 2, PLAN_PAGE_BASE, 4 * REGION, 1);
	world_start();
	for (unsigned i = 1; i < 3; i++)
		fake_share_fill_all(world.shares[i]);
	world_news();
	ck_assert_int_eq(world_lease(0, REGION), 0);
	ck_assert_uint_eq(world_find(world.clients[0].id).node_id, 1);
	ck_assert_uint_eq(world.clients[0].bytes, REGION);
	ck_assert_int_eq(world_lease(0, 4 * REGION + 1), -ENOENT);
	ck_assert_int_eq(world_lease(0, 1), 0);
	ck_assert_uint_eq(world_find(world.clients[1].id).node_id, 2);
	ck_assert_uint_eq(world.clients[1].bytes, 4 * REGION);
	ck_assert_int_eq(world_lease(0, 0), -ENOENT);
	world_expect_sums("guests", UINT_MAX, 5 * REGION, 0);
	world_expect_sums("guests", 1, REGION, 0);
	world_expect_sums("guests", 0, 0, 0);
	world_expect_sums(NULL, 2, 4 * REGION, 0);
	world_expect_sums("others", UINT_MAX, 0, 0);
	world_end();
}
END_TEST

START_TEST(test_leases_are_listed_by_ascending_id)
{
	struct lease shown;
	uint64_t last_id = 0, id;

	start(9);
	for (unsigned n = 0; n < 9; n++)
		(void) world_lease_id(n);
	/* One in the middle goes, and another comes. */
	id = world.clients[4].id;
	world_close(&world.clients[4]);
	world_poll_out();
	ck_assert_int_eq(book_find(world.book, id, &shown), -ENOENT);
	ck_assert_uint_eq(book_nr(world.book), 8);
	for (size_t i = 0; i < book_nr(world.book); i++) {
		book_at(world.book, i, &shown);
		ck_assert_uint_gt(shown.id, last_id);
		last_id = shown.id;
		ck_assert_uint_eq(world_client(shown.id)->uid, shown.uid);
	}
	world_end();
}
END_TEST

START_TEST(test_quotas_are_per_uid_and_draining_ones_count)
{
	struct book_quota quota = { 2, UINT64_MAX };
	struct book_grant grant;
	struct book_request request = { .pool = "guests", .uid = 5 };
	int which = 0;

	start(8);
	book_set_quota(world.book, &quota);
	(void) world_lease_id(5);
	(void) world_lease_id(5);
	(void) world_lease_id(6);
	ck_assert_int_eq(book_grant(world.book, &request, world.shares, 1, &grant, &which),
	                 -EDQUOT);
	ck_assert_int_eq(which, 1);
	world_close_lifetime(&world.clients[0]);
	(void) world_poll(0);
	ck_assert_int_eq(world_lease(5, 0), -EDQUOT);
	ck_assert_int_eq(world_lease(6, 0), 0);
	/* By bytes: of what is asked for, and of what it would come to. */
	quota = (struct book_quota){ 100, 3 * REGION - 1 };
	book_set_quota(world.book, &quota);
	which = 0;
	ck_assert_int_eq(book_grant(world.book, &request, world.shares, 1, &grant, &which),
	                 -EDQUOT);
	ck_assert_int_eq(which, 2);
	/* What there is none of is not a matter of quotas: that is what one has to know. */
	request.bytes = 1 + UINT64_MAX / 2;
	ck_assert_int_eq(book_grant(world.book, &request, world.shares, 1, &grant, &which),
	                 -ENOENT);
	ck_assert_uint_eq(world_counts(0).nr_lent, 4);
	ck_assert_uint_eq(world_counts(0).nr_ready, 4);
	quota.bytes = 3 * REGION;
	book_set_quota(world.book, &quota);
	ck_assert_int_eq(world_lease(5, 0), 0);
	ck_assert_int_eq(world_lease(5, 0), -EDQUOT);
	/* One that is lowered ends nothing. */
	quota.nr_leases = 0;
	book_set_quota(world.book, &quota);
	ck_assert_uint_eq(book_nr(world.book), 5);
	world_end();
}
END_TEST

/* Whatever fails, nothing was lent and nothing is left behind. */
static void expect_nothing_lent(int error, size_t nr_kept, size_t nr_fds)
{
	ck_assert_int_eq(world_lease(5, 0), error);
	ck_assert_uint_eq(world.nr_kept, nr_kept);
	ck_assert_uint_eq(book_nr(world.book), 0);
	ck_assert_uint_eq(world_counts(0).nr_lent, 0);
	ck_assert_uint_eq(world_counts(0).nr_ready, 1);
	ck_assert_uint_eq(record_nr(world.record), 1);
	ck_assert_uint_eq(record_at(world.record, 0)->state, RECORD_READY);
	ck_assert_uint_eq(world_nr_fds(), nr_fds);
}

START_TEST(test_a_grant_that_fails_is_undone_at_every_step)
{
	size_t nr_kept, nr_fds;

	start(1);
	nr_kept = world.nr_kept;
	nr_fds = world_nr_fds();
	fake_regions_fail_open(EMFILE, 1);
	expect_nothing_lent(-EMFILE, nr_kept, nr_fds);
	book_faults.pipe_error = ENFILE;
	expect_nothing_lent(-ENFILE, nr_kept, nr_fds);
	book_faults = (struct book_faults){ .write_error = ENOSPC };
	expect_nothing_lent(-ENOSPC, nr_kept, nr_fds);
	book_faults = (struct book_faults){ .watch_error = ENOMEM };
	expect_nothing_lent(-ENOMEM, nr_kept, nr_fds);
	book_faults = (struct book_faults){ 0 };
	ck_assert_int_eq(world_lease(5, 0), 0);
	ck_assert_int_eq(fcntl(world.clients[0].memory_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	world_end();
}
END_TEST

START_TEST(test_a_store_that_refuses_does_not_prevent_a_lease)
{
	uint64_t id;

	start(1);
	world.put_error = ENOBUFS;
	id = world_lease_id(5);
	ck_assert(!world_keeps("lifetime", id));
	world_close(&world.clients[0]);
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	world_end();
}
END_TEST

START_TEST(test_a_unit_is_kept_for_people)
{
	char long_unit[RECORD_UNIT_BYTES_MAX + 1] = { 0 };
	uint64_t id;

	start(1);
	id = world_lease_id(5);
	ck_assert_int_eq(book_set_unit(world.book, id + 1, "a.service"), -ENOENT);
	memset(long_unit, 'x', RECORD_UNIT_BYTES_MAX - 1);
	ck_assert_int_eq(book_set_unit(world.book, id, long_unit), 0);
	ck_assert_str_eq(world_find(id).unit, long_unit);
	/* Part of a name is another name. */
	long_unit[RECORD_UNIT_BYTES_MAX - 1] = 'x';
	ck_assert_int_eq(book_set_unit(world.book, id, long_unit), 0);
	ck_assert_str_eq(world_find(id).unit, "");
	ck_assert_str_eq(record_get(world.record, id)->unit, "");
	ck_assert_int_eq(book_set_unit(world.book, id, "a.service"), 0);
	ck_assert_str_eq(world_find(id).unit, "a.service");
	ck_assert_uint_eq(world_recorded(id), RECORD_LEASED);
	ck_assert_int_eq(book_release(world.book, id), 0);
	world_restart();
	ck_assert_str_eq(world_find(id).unit, "a.service");
	world_end();
}
END_TEST

START_TEST(test_a_share_that_goes_takes_its_regions_off_the_record_and_no_others)
{
	world_reset();
	(void) world_add_share("guests", 0, PLAN_PAGE_HUGETLB, REGION, 3);
	(void) world_add_share("others", 0, PLAN_PAGE_HUGETLB, REGION, 2);
	world_start();
	for (unsigned i = 0; i < 2; i++)
		fake_share_fill_all(world.shares[i]);
	world_news();
	/* One of them is spent, and one that goes now was never told of. */
	(void) world_lease_id(5);
	world_close(&world.clients[0]);
	world_poll_out();
	(void) fake_share_destroy(world.shares[0]);
	(void) fake_share_make(world.shares[0]);
	ck_assert_uint_eq(world.nr_kept, 1 + 5);
	book_forget_share(world.book, world.shares[0]);
	world.shares[0] = fake_share_free(world.shares[0]);
	ck_assert_uint_eq(record_nr(world.record), 2);
	ck_assert_uint_eq(world.nr_kept, 1 + 2);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_str_eq(record_at(world.record, i)->pool, "others");
		ck_assert(world_keeps("region", record_at(world.record, i)->id));
	}
	world_end();
}
END_TEST

START_TEST(test_without_a_descriptor_for_the_store_a_region_is_on_record_all_the_same)
{
	uint64_t id;

	start(1);
	(void) fake_share_shrink(world.shares[0]);
	world_kill();
	world_start();
	id = fake_share_make(world.shares[0]);
	fake_regions_mute_fd(true);
	world_news();
	ck_assert_uint_eq(world_recorded(id), RECORD_FILLING);
	ck_assert(!world_keeps("region", id));
	world_end();
}
END_TEST

START_TEST(test_the_book_leaves_no_descriptor_open)
{
	size_t nr_fds = world_nr_fds();

	start(4);
	for (unsigned i = 0; i < 4; i++)
		(void) world_lease_id(5);
	world_close(&world.clients[0]);
	world_close_lifetime(&world.clients[0]);
	(void) world_poll(0);
	world_end();
	ck_assert_uint_eq(world_nr_fds(), nr_fds);
	ck_assert_ptr_null(book_free(NULL));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("book");
	TCase *tcase = tcase_create("book");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_what_the_shares_make_goes_on_record_and_into_the_store);
	tcase_add_test(tcase, test_a_lease_is_on_record_and_in_the_store_before_it_is_handed_out);
	tcase_add_test(tcase, test_a_region_that_got_ready_this_moment_can_be_leased);
	tcase_add_test(tcase, test_the_first_share_that_has_one_ready_and_large_enough_lends_it);
	tcase_add_test(tcase, test_leases_are_listed_by_ascending_id);
	tcase_add_test(tcase, test_quotas_are_per_uid_and_draining_ones_count);
	tcase_add_test(tcase, test_a_grant_that_fails_is_undone_at_every_step);
	tcase_add_test(tcase, test_a_store_that_refuses_does_not_prevent_a_lease);
	tcase_add_test(tcase, test_a_unit_is_kept_for_people);
	tcase_add_test(tcase,
	               test_a_share_that_goes_takes_its_regions_off_the_record_and_no_others);
	tcase_add_test(tcase,
	               test_without_a_descriptor_for_the_store_a_region_is_on_record_all_the_same);
	tcase_add_test(tcase, test_the_book_leaves_no_descriptor_open);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
