/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "../../daemon/base/size.h"
#include "book-faults.h"
#include "book-world.h"
#include "kernel-model.h"
#include "suite.h"

#define REGION (16 * MIB)

static void start(size_t nr_regions)
{
	world_start_full(PLAN_PAGE_BASE, REGION, nr_regions);
}

START_TEST(test_a_lease_whose_lifetime_is_closed_drains_until_nobody_has_its_memory)
{
	struct pollfd look;
	uint64_t id;

	start(2);
	id = world_lease_id(5);
	look = (struct pollfd){ .fd = book_fd(world.book), .events = POLLIN };
	ck_assert_int_eq(poll(&look, 1, 0), 0);
	ck_assert_uint_eq(world_poll(0), UINT64_MAX);
	world_close_lifetime(&world.clients[0]);
	ck_assert_int_eq(poll(&look, 1, 0), 1);
	ck_assert_uint_eq(world_poll(0), 10000);
	ck_assert_uint_eq(world.nr_ended, 1);
	ck_assert_uint_eq(world.nr_over, 0);
	ck_assert_uint_eq(world.last_event.id, id);
	ck_assert_int_eq(world.last_event.state, LEASE_LEASED);
	ck_assert_int_eq(poll(&look, 1, 0), 0);
	ck_assert_uint_eq(world_recorded(id), RECORD_DRAINING);
	ck_assert(!world_keeps("lifetime", id));
	ck_assert(world_keeps("region", id));
	ck_assert_str_eq(lease_state_text(world_find(id).state), "draining");
	ck_assert_uint_eq(world_find(id).uid, 5);
	world_expect_sums("guests", 0, 0, REGION);
	/* Its bytes are promised to nobody. */
	(void) world_lease_id(6);
	ck_assert_int_eq(world_lease(6, 0), -ENOENT);
	world_close(world_client(id));
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert_uint_eq(world.last_event.id, id);
	ck_assert_int_eq(world.last_event.state, LEASE_DRAINING);
	ck_assert_uint_eq(world_recorded(id), RECORD_SPENT);
	ck_assert_uint_eq(world_counts(0).nr_spent, 1);
	world_expect_sums(NULL, UINT_MAX, REGION, 0);
	ck_assert_int_eq(world_lease(6, 0), -ENOENT);
	/* Destroyed, and another one in its place. */
	ck_assert_uint_eq(fake_share_destroy(world.shares[0]), id);
	world_news();
	ck_assert_uint_eq(world_recorded(id), 0);
	ck_assert(!world_keeps("region", id));
	fake_share_fill_all(world.shares[0]);
	world_news();
	ck_assert_uint_ne(world_lease_id(6), id);
	world_end();
}
END_TEST

START_TEST(test_a_draining_region_is_looked_at_after_10_ms_and_then_ever_more_rarely)
{
	static const uint64_t waits[] = { 10000,  20000,   40000,   80000,   160000, 320000,
		                          640000, 1280000, 2560000, 5000000, 5000000 };
	struct fake_memory_state memory;
	uint64_t id;

	start(1);
	id = world_lease_id(5);
	world_close_lifetime(&world.clients[0]);
	ck_assert_uint_eq(world_poll(0), waits[0]);
	for (unsigned i = 0; i + 1 < ELEMENTS(waits); i++) {
		/* Too early: nothing is looked at. */
		ck_assert_uint_eq(world_poll(waits[i] - 1), 1);
		fake_memory_look(id, &memory);
		ck_assert_uint_eq(memory.nr_probes, i + 1);
		ck_assert_uint_eq(world_poll(1), waits[i + 1]);
	}
	world_end();
}
END_TEST

START_TEST(test_an_error_of_the_probe_is_no_reason_to_believe_that_nobody_has_it)
{
	uint64_t id;

	start(1);
	id = world_lease_id(5);
	world_close(&world.clients[0]);
	fake_memory_fail_probe(EIO);
	ck_assert_uint_eq(world_poll(0), 10000);
	ck_assert_uint_eq(world_recorded(id), RECORD_DRAINING);
	fake_memory_fail_probe(0);
	world_poll_out();
	ck_assert_uint_eq(world_recorded(id), RECORD_SPENT);
	world_end();
}
END_TEST

/* That it is spent has to be on record before it is given back. */
START_TEST(test_what_cannot_go_on_record_as_spent_is_not_given_back)
{
	uint64_t id;

	start(1);
	id = world_lease_id(5);
	world_close(&world.clients[0]);
	book_faults = (struct book_faults){ .write_error = EIO, .nr_writes_before = 1 };
	ck_assert_uint_eq(world_poll(0), 10000);
	ck_assert_uint_eq(world.nr_over, 0);
	ck_assert_uint_eq(world_counts(0).nr_spent, 0);
	book_faults = (struct book_faults){ 0 };
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert_uint_eq(world_counts(0).nr_spent, 1);
	ck_assert_uint_eq(world_recorded(id), RECORD_SPENT);
	world_end();
}
END_TEST

START_TEST(test_where_the_kernel_does_not_say_a_region_is_over_once_another_fits_beside_it)
{
	scoped(kernel_model_freep) struct kernel_model *model = kernel_model_new();
	struct hugepages_count pages = { .nr_pages = 20, .free_pages = 7 };

	kernel_model_add_page_size(model, 2 * MIB);
	kernel_model_add_node(model, 0, "0", GIB);
	kernel_model_set_free_bytes(model, 0, GIB);
	kernel_model_set_pages(model, 0, 2 * MIB, pages);
	world_reset();
	fake_regions_set_kernel(kernel_model_kernel(model));
	(void) world_add_share("guests", 0, PLAN_PAGE_HUGETLB, REGION, 1);
	(void) world_add_share("tables", 0, PLAN_PAGE_BASE, REGION, 1);
	world_start();
	fake_share_fill_all(world.shares[0]);
	world_news();
	fake_memory_fail_probe(EOPNOTSUPP);
	(void) world_lease_id(5);
	world_close(&world.clients[0]);
	ck_assert_uint_eq(world_poll(0), 10000);
	ck_assert_uint_eq(world.nr_over, 0);
	pages.free_pages = 8;
	kernel_model_set_pages(model, 0, 2 * MIB, pages);
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	/* Other memory: what is available above the reserve. */
	fake_share_fill_all(world.shares[1]);
	world_news();
	world.shares[1]->reserve_bytes = 64 * MIB;
	kernel_model_set_free_bytes(model, 0, 64 * MIB + REGION - 4 * KIB);
	(void) world_lease_id(5);
	world_close(&world.clients[0]);
	ck_assert_uint_eq(world_poll(0), 10000);
	ck_assert_uint_eq(world.nr_over, 1);
	kernel_model_set_free_bytes(model, 0, 64 * MIB + REGION);
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 2);
	/* What the kernel says counts more. */
	fake_memory_fail_probe(0);
	world_end();
}
END_TEST

START_TEST(test_a_released_lease_drains_while_its_lifetime_is_open)
{
	uint64_t id;

	start(1);
	id = world_lease_id(5);
	ck_assert_int_eq(book_release(world.book, id + 1), -ENOENT);
	ck_assert_int_eq(book_release(world.book, id), 0);
	ck_assert_int_eq(book_release(world.book, id), -EALREADY);
	ck_assert(world_find(id).is_released);
	ck_assert_uint_eq(world_recorded(id), RECORD_DRAINING);
	ck_assert(!world_keeps("lifetime", id));
	ck_assert_uint_eq(world_poll(0), 10000);
	/* That its lifetime is closed later is no news. */
	world_close_lifetime(&world.clients[0]);
	(void) world_poll(0);
	ck_assert_uint_eq(world.nr_ended, 0);
	world_close(&world.clients[0]);
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert(world.last_event.is_released);
	world_end();
}
END_TEST

/* The loop has other things to do in between. */
START_TEST(test_many_that_end_together_are_not_dealt_with_in_one_go)
{
	enum { NR = 300 };
	static struct book_grant grants[NR];
	struct book_request request = { .pool = "guests", .uid = 5 };
	int quota;

	start(NR);
	for (unsigned i = 0; i < NR; i++)
		ck_assert_int_eq(
			book_grant(world.book, &request, world.shares, 1, &grants[i], &quota), 0);
	for (unsigned i = 0; i < NR; i++) {
		(void) close(grants[i].memory_fd);
		(void) close(grants[i].lifetime_fd);
	}
	ck_assert_uint_eq(world_poll(0), UINT64_MAX); /* its descriptor is readable still */
	ck_assert_uint_eq(world.nr_ended, 256);
	ck_assert_uint_eq(world.nr_over, 256);
	(void) world_poll(0);
	ck_assert_uint_eq(world.nr_ended, NR);
	ck_assert_uint_eq(world.nr_over, NR);
	world_end();
}
END_TEST

START_TEST(test_more_probes_than_one_poll_makes_are_due_at_once)
{
	enum { NR = 300 };
	static struct book_grant grants[NR];
	struct book_request request = { .pool = "guests", .uid = 5 };
	int quota;

	start(NR);
	for (unsigned i = 0; i < NR; i++) {
		ck_assert_int_eq(
			book_grant(world.book, &request, world.shares, 1, &grants[i], &quota), 0);
		ck_assert_int_eq(book_release(world.book, grants[i].id), 0);
		(void) close(grants[i].memory_fd);
		(void) close(grants[i].lifetime_fd);
	}
	ck_assert_uint_eq(world_poll(0), 0);
	ck_assert_uint_eq(world.nr_over, 256);
	ck_assert_uint_eq(world_poll(0), UINT64_MAX);
	ck_assert_uint_eq(world.nr_over, NR);
	world_end();
}
END_TEST

START_TEST(test_what_drains_is_known_by_share_too)
{
	world_reset();
	(void) world_add_share("guests", 0, PLAN_PAGE_BASE, REGION, 1);
	(void) world_add_share("guests", 0, PLAN_PAGE_BASE, 2 * REGION, 1);
	world_start();
	for (unsigned i = 0; i < 2; i++)
		fake_share_fill_all(world.shares[i]);
	world_news();
	(void) world_lease_id(5);
	(void) world_lease_id(5);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_uint_eq(book_share_draining_bytes(world.book, world.shares[i]), 0);
	ck_assert_int_eq(book_release(world.book, world.clients[1].id), 0);
	ck_assert_uint_eq(book_share_draining_bytes(world.book, world.shares[0]), 0);
	ck_assert_uint_eq(book_share_draining_bytes(world.book, world.shares[1]), 2 * REGION);
	world_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("book-drain");
	TCase *tcase = tcase_create("drain");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase,
	               test_a_lease_whose_lifetime_is_closed_drains_until_nobody_has_its_memory);
	tcase_add_test(tcase,
	               test_a_draining_region_is_looked_at_after_10_ms_and_then_ever_more_rarely);
	tcase_add_test(tcase,
	               test_an_error_of_the_probe_is_no_reason_to_believe_that_nobody_has_it);
	tcase_add_test(tcase, test_what_cannot_go_on_record_as_spent_is_not_given_back);
	tcase_add_test(
		tcase,
		test_where_the_kernel_does_not_say_a_region_is_over_once_another_fits_beside_it);
	tcase_add_test(tcase, test_a_released_lease_drains_while_its_lifetime_is_open);
	tcase_add_test(tcase, test_many_that_end_together_are_not_dealt_with_in_one_go);
	tcase_add_test(tcase, test_more_probes_than_one_poll_makes_are_due_at_once);
	tcase_add_test(tcase, test_what_drains_is_known_by_share_too);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
