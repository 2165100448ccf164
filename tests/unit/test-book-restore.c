/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "../../daemon/base/size.h"
#include "book-faults.h"
#include "book-world.h"
#include "suite.h"

#define REGION (160 * MIB)

static void start_with(enum plan_page page, size_t nr_regions)
{
	world_reset();
	(void) world_add_share("guests", 0, page, REGION, nr_regions);
	world_start();
	fake_share_fill_all(world.shares[0]);
	world_news();
}

static void start(size_t nr_regions)
{
	start_with(PLAN_PAGE_HUGETLB, nr_regions);
}

static uint64_t lease(uid_t uid)
{
	ck_assert_int_eq(world_lease(uid, 0), 0);
	return world.clients[world.nr_clients - 1].id;
}

static struct region_counts counts(void)
{
	struct region_counts counts;

	region_count_states(world.shares[0], &counts);
	return counts;
}

START_TEST(test_after_a_kill_all_of_it_goes_on)
{
	uint64_t id, draining, spent, filling;

	start(6);
	id = lease(5);
	draining = lease(6);
	spent = lease(7);
	world_close_lifetime(world_client(draining));
	world_close(world_client(spent));
	while (world_recorded(spent) != RECORD_SPENT)
		(void) world_poll(0);
	ck_assert_uint_eq(fake_share_shrink(world.shares[0]) != 0, 1);
	world_news();
	world_kill();
	world_start();
	filling = fake_share_make(world.shares[0]);
	world_news();
	ck_assert_uint_gt(filling, 6);
	world_restart();

	ck_assert_uint_eq(world.restored.nr_ready, 2);
	ck_assert_uint_eq(world.restored.ready_bytes, 2 * REGION);
	ck_assert_uint_eq(world.restored.nr_resumed, 1);
	ck_assert_uint_eq(world.restored.nr_leases, 1);
	ck_assert_uint_eq(world.restored.nr_ended, 1);
	ck_assert_uint_eq(world.restored.nr_lost, 0);
	ck_assert_uint_eq(world.restored.nr_unknown, 0);
	ck_assert_uint_eq(counts().nr_ready, 2);
	ck_assert_uint_eq(counts().nr_lent, 2);
	ck_assert_int_eq(world_find(id).state, LEASE_LEASED);
	ck_assert_uint_eq(world_find(id).uid, 5);
	ck_assert_int_eq(world_find(id).pid, 105);
	ck_assert_uint_eq(world_find(id).bytes, REGION);
	ck_assert(world_find(id).is_memory_known);
	ck_assert_uint_eq(world_find(id).since_realtime_usec, 1000 * world.now_usec);
	ck_assert_uint_eq(world_find(id).since_monotonic_usec, world.now_usec);
	ck_assert_int_eq(world_find(draining).state, LEASE_DRAINING);
	/* They end as they would have. */
	world_close(world_client(id));
	world_close(world_client(draining));
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 3);
	ck_assert_uint_eq(counts().nr_spent, 2);
	/* The half filled one is filled, and what is new gets a new number. */
	ck_assert_uint_eq(fake_share_fill(world.shares[0]), filling);
	world_news();
	ck_assert_uint_eq(world_recorded(filling), RECORD_READY);
	(void) fake_share_destroy(world.shares[0]);
	ck_assert_uint_gt(fake_share_make(world.shares[0]), filling);
	world_end();
}
END_TEST

START_TEST(test_spent_memory_is_given_back_in_steps_and_never_handed_out)
{
	struct fake_memory_state memory;
	uint64_t id;

	start_with(PLAN_PAGE_BASE, 1);
	id = lease(5);
	world_close(&world.clients[0]);
	(void) world_poll(0);
	ck_assert_uint_eq(world_recorded(id), RECORD_SPENT);
	world_restart();
	ck_assert_uint_eq(world.restored.nr_unplaced, 1);
	ck_assert_uint_eq(world.restored.nr_lost, 0);
	ck_assert_int_eq(world_lease(5, 0), -ENOENT);
	ck_assert_uint_eq(world_poll(0), 0);
	fake_memory_look(id, &memory);
	ck_assert_uint_eq(memory.discarded_bytes, 64 * MIB);
	ck_assert(memory.exists);
	ck_assert_uint_eq(world_recorded(id), RECORD_SPENT);
	ck_assert_uint_eq(world_poll(0), 0);
	/* Killed half way. */
	world_restart();
	ck_assert_uint_eq(counts().nr_ready, 0);
	ck_assert(world_keeps("region", id));
	fake_memory_fail_discard(EIO);
	ck_assert_uint_eq(world_poll(0), UINT64_MAX);
	fake_memory_look(id, &memory);
	ck_assert(!memory.exists);
	ck_assert_uint_eq(world_recorded(id), 0);
	ck_assert(!world_keeps("region", id));
	world_end();
}
END_TEST

START_TEST(test_regions_without_a_place_are_given_back)
{
	struct fake_memory_state memory;
	uint64_t filling;

	start(3);
	world_kill();
	/* One place is left, and none for the half filled one of another size. */
	world.config[0].nr_regions = 1;
	(void) world_add_share("others", 0, PLAN_PAGE_HUGETLB, REGION, 1);
	world_start();
	ck_assert_uint_eq(world.restored.nr_ready, 1);
	ck_assert_uint_eq(world.restored.nr_unplaced, 2);
	world_poll_out();
	ck_assert_uint_eq(record_nr(world.record), 1);
	ck_assert_uint_eq(world.nr_kept, 2);
	ck_assert_uint_eq(fake_memory_nr(), 1);
	filling = fake_share_make(world.shares[1]);
	world_news();
	world_kill();
	world.nr_config = 1;
	world_start();
	ck_assert_uint_eq(world.restored.nr_unplaced, 1);
	/* From the first moment it is none that a later pool could take. */
	ck_assert_uint_eq(world_recorded(filling), RECORD_SPENT);
	fake_memory_look(filling, &memory);
	ck_assert(memory.exists);
	ck_assert_uint_eq(world_poll(0), 0);
	ck_assert_uint_eq(world_poll(0), 0);
	ck_assert_uint_eq(world_poll(0), UINT64_MAX);
	fake_memory_look(filling, &memory);
	ck_assert_uint_eq(memory.discarded_bytes, REGION);
	ck_assert(!memory.exists);
	world_end();
}
END_TEST

START_TEST(test_a_leased_region_goes_before_a_ready_one_where_places_are_few)
{
	uint64_t id;

	start(3);
	(void) lease(5);
	(void) lease(5);
	id = lease(5);
	for (unsigned other = 1; other < id; other++)
		world_close(world_client(other));
	world_poll_out();
	(void) fake_share_destroy(world.shares[0]);
	(void) fake_share_destroy(world.shares[0]);
	fake_share_fill_all(world.shares[0]);
	world_news();
	world_kill();
	world.config[0].nr_regions = 2;
	world_start();
	ck_assert_uint_eq(counts().nr_lent, 1);
	ck_assert_uint_eq(counts().nr_ready, 1);
	ck_assert_uint_eq(counts().nr_unfilled, 0);
	ck_assert_uint_eq(world.restored.nr_unplaced, 1);
	ck_assert_int_eq(world_find(id).state, LEASE_LEASED);
	world_end();
}
END_TEST

START_TEST(test_a_share_takes_only_what_is_of_its_pool_node_and_page)
{
	start(1);
	world_kill();
	(void) world_add_share("others", 0, PLAN_PAGE_HUGETLB, REGION, 1);
	(void) world_add_share("guests", 1, PLAN_PAGE_HUGETLB, REGION, 1);
	(void) world_add_share("guests", 0, PLAN_PAGE_BASE, REGION, 1);
	/* The one that fits is gone: each of the others has one thing that does not. */
	world.config[0].page_bytes = GIB;
	world_start();
	ck_assert_uint_eq(world.restored.nr_ready, 0);
	ck_assert_uint_eq(world.restored.nr_unplaced, 1);
	world_end();
}
END_TEST

START_TEST(test_a_lease_outlives_its_pool)
{
	struct fake_memory_state memory;
	uint64_t id, other;

	start(2);
	id = lease(5);
	other = lease(6);
	world_close_lifetime(world_client(other));
	world_kill();
	world.nr_config = 0;
	world_start();
	ck_assert_uint_eq(world.restored.nr_leases, 1);
	ck_assert_uint_eq(world.restored.nr_ended, 1);
	ck_assert_int_eq(world_find(id).state, LEASE_LEASED);
	ck_assert_str_eq(world_find(id).pool, "guests");
	ck_assert(world_find(id).is_memory_known);
	ck_assert_uint_eq(world_poll(0), 10000);
	world_close_lifetime(world_client(id));
	ck_assert_uint_eq(world_poll(0), 10000);
	ck_assert_uint_eq(world.nr_ended, 1);
	ck_assert_int_eq(world_find(id).state, LEASE_DRAINING);
	world_close(world_client(id));
	ck_assert_uint_eq(world_poll(10000), 0);
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert_uint_eq(world_recorded(id), RECORD_SPENT);
	world_close(world_client(other));
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 2);
	fake_memory_look(id, &memory);
	ck_assert(!memory.exists);
	ck_assert_uint_eq(memory.discarded_bytes, REGION);
	ck_assert_uint_eq(record_nr(world.record), 0);
	ck_assert_uint_eq(world.nr_kept, 1);
	world_end();
}
END_TEST

START_TEST(test_a_lease_that_no_share_can_adopt_goes_on_by_itself)
{
	uint64_t id;

	start(1);
	id = lease(5);
	world_kill();
	fake_regions_fail_adopt(ENOMEM, 1);
	world_start();
	ck_assert_int_eq(world_find(id).state, LEASE_LEASED);
	ck_assert(world_find(id).is_memory_known);
	ck_assert_uint_eq(counts().nr_lent, 0);
	world_close(world_client(id));
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert_uint_eq(fake_memory_nr(), 0);
	world_end();
}
END_TEST

START_TEST(test_a_lifetime_that_the_store_lost_makes_its_lease_drain)
{
	uint64_t id;

	start(1);
	id = lease(5);
	world_kill();
	world_lose("lifetime", id);
	world_start();
	ck_assert_uint_eq(world.restored.nr_ended, 1);
	ck_assert_uint_eq(world.restored.nr_leases, 0);
	ck_assert_int_eq(world_find(id).state, LEASE_DRAINING);
	ck_assert_uint_eq(world_recorded(id), RECORD_DRAINING);
	/* Its lessee has the memory for as long as it wants. */
	ck_assert_uint_eq(world_poll(0), 10000);
	ck_assert_uint_eq(world.nr_over, 0);
	world_close(world_client(id));
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	world_end();
}
END_TEST

START_TEST(test_a_lease_that_ended_while_nobody_watched_drains)
{
	uint64_t id;

	start(1);
	id = lease(5);
	world_kill();
	world_close_lifetime(&world.clients[0]);
	world_start();
	ck_assert_uint_eq(world.restored.nr_ended, 1);
	ck_assert_int_eq(world_find(id).state, LEASE_DRAINING);
	ck_assert(!world_keeps("lifetime", id));
	world_end();
}
END_TEST

START_TEST(test_a_lease_that_cannot_be_watched_drains)
{
	uint64_t id;

	start(1);
	id = lease(5);
	world_kill();
	book_faults.watch_error = ENOSPC;
	world_start();
	book_faults.watch_error = 0;
	ck_assert_uint_eq(world.restored.nr_ended, 1);
	ck_assert_int_eq(world_find(id).state, LEASE_DRAINING);
	world_end();
}
END_TEST

START_TEST(test_a_lease_whose_memory_the_store_lost_is_watched_all_the_same)
{
	uint64_t id;

	start(1);
	id = lease(5);
	world_kill();
	world_lose("region", id);
	world_start();
	ck_assert_uint_eq(world.restored.nr_leases, 1);
	ck_assert_uint_eq(world.restored.nr_lost, 1);
	ck_assert(!world_find(id).is_memory_known);
	ck_assert_int_eq(world_find(id).state, LEASE_LEASED);
	ck_assert_uint_eq(world_poll(0), UINT64_MAX);
	world_close(&world.clients[0]);
	/* Without a kernel to ask the fallback has nothing to wait for. */
	world_poll_out();
	ck_assert_uint_eq(world.nr_ended, 1);
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert_uint_eq(record_nr(world.record), 0);
	ck_assert_uint_eq(world.nr_kept, 1);
	world_end();
}
END_TEST

START_TEST(test_regions_that_the_store_lost_are_struck_out_and_filled_again)
{
	start(3);
	world_kill();
	world_lose("region", 1);
	world_lose("region", 3);
	world_start();
	ck_assert_uint_eq(world.restored.nr_lost, 2);
	ck_assert_uint_eq(world.restored.nr_ready, 1);
	ck_assert_uint_eq(record_nr(world.record), 1);
	ck_assert_uint_eq(counts().nr_unfilled, 2);
	fake_share_fill_all(world.shares[0]);
	world_news();
	ck_assert_uint_eq(record_nr(world.record), 3);
	ck_assert_uint_eq(record_last_id(world.record), 5);
	world_end();
}
END_TEST

START_TEST(test_what_nobody_knows_is_closed)
{
	size_t nr_fds;
	int fd;

	start(1);
	(void) lease(5);
	world_kill();
	nr_fds = world_nr_fds();
	fd = memfd_create("other", MFD_CLOEXEC);
	world_keep("stored", fd);
	world_keep("region-00000000000000ff", fd);
	world_keep("region-0000000000000001", fd);
	(void) close(fd);
	world_start();
	ck_assert_uint_eq(world.restored.nr_unknown, 3);
	ck_assert_uint_eq(world.nr_kept, 3);
	ck_assert(world_keeps("region", 1));
	world_kill();
	ck_assert_uint_eq(world_nr_fds(), nr_fds);
	world_end();
}
END_TEST

START_TEST(test_the_order_of_the_store_means_nothing)
{
	start(20);
	for (unsigned n = 0; n < 10; n++)
		(void) lease(n);
	for (unsigned n = 0; n < 20; n++) {
		world_kill();
		world_shuffle(n);
		world_start();
		ck_assert_uint_eq(world.restored.nr_leases, 10);
		ck_assert_uint_eq(world.restored.nr_ready, 10);
		ck_assert_uint_eq(world.nr_kept, 1 + 20 + 10);
	}
	world_end();
}
END_TEST

START_TEST(test_without_a_store_it_starts_afresh_and_lessees_keep_their_memory)
{
	uint64_t id;

	world_reset();
	world.has_no_store = true;
	(void) world_add_share("guests", 0, PLAN_PAGE_HUGETLB, REGION, 2);
	world_start();
	fake_share_fill_all(world.shares[0]);
	world_news();
	id = lease(5);
	ck_assert_int_eq(world_find(id).state, LEASE_LEASED);
	ck_assert_uint_eq(world.nr_kept, 0);
	world_close(&world.clients[0]);
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	world_end();
}
END_TEST

/* What the end of the restoration does is about the past only. */
START_TEST(test_a_second_end_of_the_restoration_touches_nothing)
{
	struct book_restored again;

	start(3);
	(void) lease(5);
	world_restart();
	fake_share_fill_all(world.shares[0]);
	(void) lease(6);
	book_restore_share(world.book, world.shares[0], "guests");
	book_restore_end(world.book, &again);
	ck_assert_uint_eq(again.nr_leases + again.nr_ready + again.nr_unplaced + again.nr_lost +
	                          again.nr_unknown,
	                  0);
	ck_assert_uint_eq(again.ready_bytes, 0);
	ck_assert_uint_eq(book_nr(world.book), 2);
	ck_assert_uint_eq(record_nr(world.record), 3);
	world_end();
}
END_TEST

START_TEST(test_a_restored_share_that_goes_takes_its_regions_off_the_record)
{
	start(2);
	world_restart();
	book_forget_share(world.book, world.shares[0]);
	ck_assert_uint_eq(record_nr(world.record), 0);
	ck_assert_uint_eq(world.nr_kept, 1);
	world_end();
}
END_TEST

static uint64_t expected_bytes;

static void expect_inherited(void)
{
	ck_assert_uint_eq(book_inherited_bytes(world.book), expected_bytes);
}

/* Until its share has it, and counts it itself: what is counted twice would be promised twice. */
START_TEST(test_inherited_memory_that_is_charged_counts_as_such_until_a_share_has_it)
{
	uint64_t page_bytes = 4 * KIB;

	world_reset();
	(void) world_add_share("guests", 0, PLAN_PAGE_BASE, REGION, 2);
	(void) world_add_share("others", 0, PLAN_PAGE_HUGETLB, REGION, 2);
	world_start();
	for (unsigned i = 0; i < 2; i++)
		fake_share_fill_all(world.shares[i]);
	world_news();
	ck_assert_int_eq(world_lease(5, 0), 0);
	ck_assert_uint_eq(world.clients[0].id, 1);
	ck_assert_uint_eq(book_inherited_bytes(world.book), 0);
	for (size_t i = 1; i < world.nr_kept; i++) {
		if (strncmp(world.kept[i].name, "region", 6) == 0)
			ck_assert_int_eq(
				fallocate(world.kept[i].fd, 0, 0, (off_t) (3 * page_bytes)), 0);
	}
	/* Two of hugetlb do not count. */
	expected_bytes = 6 * page_bytes;
	world.before_restore = expect_inherited;
	world_restart();
	ck_assert_uint_eq(book_inherited_bytes(world.book), 0);

	/* Its pool is gone: only the lease has it. */
	world_kill();
	world_lose("region", 2);
	world.config[0].pool = "elsewhere";
	expected_bytes = 3 * page_bytes;
	world_start();
	ck_assert_uint_eq(book_inherited_bytes(world.book), 3 * page_bytes);
	world_close(&world.clients[0]);
	world_poll_out();
	ck_assert_uint_eq(book_inherited_bytes(world.book), 0);
	world_end();
}
END_TEST

START_TEST(test_lowered_quotas_count_what_was_restored)
{
	start(3);
	(void) lease(5);
	(void) lease(5);
	world.quota.nr_leases = 2;
	world_restart();
	ck_assert_uint_eq(book_nr(world.book), 2);
	ck_assert_int_eq(world_lease(5, 0), -EDQUOT);
	ck_assert_int_eq(world_lease(6, 0), 0);
	world_end();
}
END_TEST

START_TEST(test_many_regions_without_a_place_are_all_given_back)
{
	start(40);
	world_kill();
	world.nr_config = 0;
	world_start();
	ck_assert_uint_eq(world.restored.nr_unplaced, 40);
	world_poll_out();
	ck_assert_uint_eq(fake_memory_nr(), 0);
	ck_assert_uint_eq(record_nr(world.record), 0);
	ck_assert_uint_eq(world.nr_kept, 1);
	world_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("book-restore");
	TCase *tcase = tcase_create("restore");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_after_a_kill_all_of_it_goes_on);
	tcase_add_test(tcase, test_spent_memory_is_given_back_in_steps_and_never_handed_out);
	tcase_add_test(tcase, test_regions_without_a_place_are_given_back);
	tcase_add_test(tcase, test_a_leased_region_goes_before_a_ready_one_where_places_are_few);
	tcase_add_test(tcase, test_a_share_takes_only_what_is_of_its_pool_node_and_page);
	tcase_add_test(tcase, test_a_lease_outlives_its_pool);
	tcase_add_test(tcase, test_a_lease_that_no_share_can_adopt_goes_on_by_itself);
	tcase_add_test(tcase, test_a_lifetime_that_the_store_lost_makes_its_lease_drain);
	tcase_add_test(tcase, test_a_lease_that_ended_while_nobody_watched_drains);
	tcase_add_test(tcase, test_a_lease_that_cannot_be_watched_drains);
	tcase_add_test(tcase, test_a_lease_whose_memory_the_store_lost_is_watched_all_the_same);
	tcase_add_test(tcase, test_regions_that_the_store_lost_are_struck_out_and_filled_again);
	tcase_add_test(tcase, test_what_nobody_knows_is_closed);
	tcase_add_test(tcase, test_the_order_of_the_store_means_nothing);
	tcase_add_test(tcase, test_without_a_store_it_starts_afresh_and_lessees_keep_their_memory);
	tcase_add_test(tcase, test_a_second_end_of_the_restoration_touches_nothing);
	tcase_add_test(tcase, test_a_restored_share_that_goes_takes_its_regions_off_the_record);
	tcase_add_test(tcase,
	               test_inherited_memory_that_is_charged_counts_as_such_until_a_share_has_it);
	tcase_add_test(tcase, test_lowered_quotas_count_what_was_restored);
	tcase_add_test(tcase, test_many_regions_without_a_place_are_all_given_back);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
