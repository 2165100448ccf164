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

/* A pool of @nr_regions on node 0, all of them ready. */
static void start_with(enum plan_page page, uint64_t region_bytes, size_t nr_regions)
{
	world_reset();
	(void) world_add_share("guests", 0, page, region_bytes, nr_regions);
	world_start();
	fake_share_fill_all(world.shares[0]);
	world_news();
}

static void start(size_t nr_regions)
{
	start_with(PLAN_PAGE_BASE, REGION, nr_regions);
}

static uint64_t lease(uid_t uid)
{
	ck_assert_int_eq(world_lease(uid, 0), 0);
	return world.clients[world.nr_clients - 1].id;
}

static struct region_counts counts(unsigned i)
{
	struct region_counts counts;

	region_count_states(world.shares[i], &counts);
	return counts;
}

static void expect_sums(const char *pool, unsigned node_id, uint64_t leased_bytes,
                        uint64_t draining_bytes)
{
	uint64_t leased, draining;

	book_sums(world.book, pool, node_id, &leased, &draining);
	ck_assert_uint_eq(leased, leased_bytes);
	ck_assert_uint_eq(draining, draining_bytes);
}

static void set_free_pages(struct kernel_model *model, uint64_t free_pages)
{
	struct hugepages_count pages = { .nr_pages = 200, .free_pages = free_pages };

	kernel_model_set_pages(model, 0, 2 * MIB, pages);
}

START_TEST(test_a_lease_whose_lifetime_is_closed_drains_until_nobody_has_its_memory)
{
	struct pollfd look;
	uint64_t id;

	start(2);
	id = lease(5);
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
	expect_sums("guests", 0, 0, REGION);
	/* Its bytes are promised to nobody. */
	(void) lease(6);
	ck_assert_int_eq(world_lease(6, 0), -ENOENT);
	world_close(world_client(id));
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert_uint_eq(world.last_event.id, id);
	ck_assert_int_eq(world.last_event.state, LEASE_DRAINING);
	ck_assert_uint_eq(world_recorded(id), RECORD_SPENT);
	ck_assert_uint_eq(counts(0).nr_spent, 1);
	expect_sums(NULL, UINT_MAX, REGION, 0);
	ck_assert_int_eq(world_lease(6, 0), -ENOENT);
	/* Destroyed, and another one in its place. */
	ck_assert_uint_eq(fake_share_destroy(world.shares[0]), id);
	world_news();
	ck_assert_uint_eq(world_recorded(id), 0);
	ck_assert(!world_keeps("region", id));
	fake_share_fill_all(world.shares[0]);
	world_news();
	ck_assert_uint_ne(lease(6), id);
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
	id = lease(5);
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
	id = lease(5);
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
	id = lease(5);
	world_close(&world.clients[0]);
	book_faults = (struct book_faults){ .write_error = EIO, .nr_writes_before = 1 };
	ck_assert_uint_eq(world_poll(0), 10000);
	ck_assert_uint_eq(world.nr_over, 0);
	ck_assert_uint_eq(counts(0).nr_spent, 0);
	book_faults = (struct book_faults){ 0 };
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert_uint_eq(counts(0).nr_spent, 1);
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
	(void) lease(5);
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
	(void) lease(5);
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
	id = lease(5);
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
	(void) lease(5);
	(void) lease(5);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_uint_eq(book_share_draining_bytes(world.book, world.shares[i]), 0);
	ck_assert_int_eq(book_release(world.book, world.clients[1].id), 0);
	ck_assert_uint_eq(book_share_draining_bytes(world.book, world.shares[0]), 0);
	ck_assert_uint_eq(book_share_draining_bytes(world.book, world.shares[1]), 2 * REGION);
	world_end();
}
END_TEST

/* A node with huge pages, and a share of regions of them, all ready; @free_pages are left. */
static struct kernel_model *start_on_node(uint64_t region_bytes, size_t nr_regions,
                                          uint64_t free_pages)
{
	struct kernel_model *model = kernel_model_new();

	kernel_model_add_page_size(model, 2 * MIB);
	kernel_model_add_node(model, 0, "0", GIB);
	kernel_model_set_free_bytes(model, 0, GIB);
	world_reset();
	fake_regions_set_kernel(kernel_model_kernel(model));
	(void) world_add_share("guests", 0, PLAN_PAGE_HUGETLB, region_bytes, nr_regions);
	world_start();
	fake_share_fill_all(world.shares[0]);
	world_news();
	set_free_pages(model, free_pages);
	return model;
}

START_TEST(test_huge_pages_go_back_in_steps_before_the_lease_is_over)
{
	scoped(kernel_model_freep) struct kernel_model *model = start_on_node(160 * MIB, 1, 80);
	struct fake_memory_state memory;
	uint64_t id = lease(5);

	world_close(&world.clients[0]);
	for (unsigned i = 1; i <= 2; i++) {
		ck_assert_uint_eq(world_poll(0), 0);
		fake_memory_look(id, &memory);
		ck_assert_uint_eq(memory.discarded_bytes, i * 64 * MIB);
		/* Whatever happens now, it is nobody's, and its lessee is known. */
		ck_assert_uint_eq(world_recorded(id), RECORD_DRAINING);
		ck_assert_uint_eq(world_find(id).uid, 5);
		expect_sums("guests", 0, 0, 160 * MIB);
	}
	ck_assert_uint_eq(world_poll(0), UINT64_MAX);
	fake_memory_look(id, &memory);
	ck_assert_uint_eq(memory.discarded_bytes, 160 * MIB);
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert_uint_eq(world_recorded(id), RECORD_SPENT);
	ck_assert_uint_eq(counts(0).nr_spent, 1);
	world_end();
}
END_TEST

START_TEST(test_a_page_that_is_larger_than_a_step_goes_as_a_whole)
{
	struct fake_memory_state memory;
	uint64_t id;

	start_with(PLAN_PAGE_HUGETLB, 3 * GIB, 1);
	world.shares[0]->page_bytes = GIB;
	id = lease(5);
	world_close(&world.clients[0]);
	ck_assert_uint_eq(world_poll(0), 0);
	fake_memory_look(id, &memory);
	ck_assert_uint_eq(memory.discarded_bytes, GIB);
	world_poll_out();
	world_end();
}
END_TEST

START_TEST(test_one_turn_gives_back_no_more_than_a_step_however_many_drain)
{
	uint64_t given_bytes = 0;

	start_with(PLAN_PAGE_HUGETLB, REGION, 8);
	for (unsigned i = 0; i < 8; i++)
		(void) lease(5);
	while (world.nr_clients > 0)
		world_close(&world.clients[0]);
	ck_assert_uint_eq(world_poll(0), 0);
	for (uint64_t id = 1; id <= 8; id++) {
		struct fake_memory_state memory;

		fake_memory_look(id, &memory);
		given_bytes += memory.discarded_bytes;
	}
	ck_assert_uint_eq(given_bytes, 64 * MIB);
	ck_assert_uint_eq(world.nr_over, 4);
	ck_assert_uint_eq(world_poll(0), UINT64_MAX);
	ck_assert_uint_eq(world.nr_over, 8);
	world_end();
}
END_TEST

START_TEST(test_huge_pages_that_do_not_come_back_keep_their_lease_in_the_list)
{
	static const uint64_t waits[] = { 10000,  20000,   40000,   80000,   160000, 320000,
		                          640000, 1280000, 2560000, 5000000, 5000000 };
	scoped(kernel_model_freep) struct kernel_model *model = start_on_node(REGION, 2, 7);
	struct fake_memory_state memory;
	uint64_t id = lease(5);

	world_close_lifetime(&world.clients[0]);
	for (unsigned i = 0; i < 5; i++)
		(void) world_poll(1000000);
	fake_memory_look(id, &memory);
	ck_assert_uint_eq(memory.discarded_bytes, 0);
	/* By now it is looked at every so often; what is waited for next begins anew. */
	world_close(&world.clients[0]);
	ck_assert_uint_eq(world_poll(5000000), waits[0]);
	for (unsigned i = 1; i < ELEMENTS(waits); i++)
		ck_assert_uint_eq(world_poll(waits[i - 1]), waits[i]);
	ck_assert_uint_eq(world.nr_over, 0);
	ck_assert_uint_eq(world_recorded(id), RECORD_DRAINING);
	ck_assert_int_eq(world_find(id).state, LEASE_DRAINING);
	ck_assert_uint_eq(world_find(id).uid, 5);
	ck_assert_int_eq(world_find(id).pid, 105);
	expect_sums("guests", 0, 0, REGION);
	ck_assert_uint_eq(counts(0).nr_spent, 0);
	/* Over a restart, too. */
	world_restart();
	ck_assert_uint_eq(world_find(id).uid, 5);
	(void) world_poll(0);
	ck_assert_uint_eq(world.nr_over, 0);
	set_free_pages(model, 8);
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert_uint_eq(counts(0).nr_spent, 1);
	world_end();
}
END_TEST

START_TEST(test_what_was_opened_again_is_emptied_again)
{
	scoped(kernel_model_freep) struct kernel_model *model = start_on_node(REGION, 1, 7);
	uint64_t id = lease(5);

	world_close(&world.clients[0]);
	(void) world_poll(0);
	/* By a descriptor that was opened with O_PATH. */
	fake_memory_use(id, 1);
	(void) world_poll(5000000);
	fake_memory_use(id, -1);
	fake_memory_fail_discard(EIO);
	set_free_pages(model, 8);
	(void) world_poll(5000000);
	ck_assert_uint_eq(world.nr_over, 0);
	fake_memory_fail_discard(0);
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	world_end();
}
END_TEST

/* What one has been given back for is not there for the other. */
START_TEST(test_free_pages_are_counted_for_one_replacement_only)
{
	scoped(kernel_model_freep) struct kernel_model *model = start_on_node(REGION, 3, 8);

	(void) lease(5);
	(void) lease(5);
	world_close(&world.clients[0]);
	world_close(&world.clients[0]);
	(void) world_poll(0);
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert_uint_ne(fake_share_destroy(world.shares[0]), 0);
	(void) world_poll(5000000);
	ck_assert_uint_ne(fake_share_make(world.shares[0]), 0);
	(void) world_poll(5000000);
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert_uint_ne(fake_share_fill(world.shares[0]), 0);
	set_free_pages(model, 0);
	(void) world_poll(5000000);
	ck_assert_uint_eq(world.nr_over, 1);
	set_free_pages(model, 8);
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 2);
	world_end();
}
END_TEST

/* It may be just what keeps its lessee alive. */
START_TEST(test_where_the_kernel_does_not_say_memory_is_let_go_of_and_not_emptied)
{
	scoped(kernel_model_freep) struct kernel_model *model = start_on_node(REGION, 1, 7);
	struct fake_memory_state memory;
	uint64_t id = lease(5);

	fake_memory_fail_probe(EOPNOTSUPP);
	world_close_lifetime(&world.clients[0]);
	(void) world_poll(0);
	ck_assert_uint_eq(world_recorded(id), RECORD_DRAINING);
	set_free_pages(model, 8);
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	/* Not even the next process would empty it. */
	ck_assert_uint_eq(world_recorded(id), 0);
	ck_assert(!world_keeps("region", id));
	ck_assert_uint_eq(counts(0).nr_spent, 1);
	ck_assert_uint_eq(fake_share_destroy(world.shares[0]), id);
	world_news();
	fake_memory_look(id, &memory);
	ck_assert(memory.exists);
	ck_assert_uint_eq(memory.discarded_bytes, 0);
	fake_share_fill_all(world.shares[0]);
	world_news();
	ck_assert_uint_ne(lease(6), id);
	world_end();
}
END_TEST

START_TEST(test_so_is_that_of_a_pool_that_is_gone)
{
	struct fake_memory_state memory;
	uint64_t id;

	start(1);
	id = lease(5);
	world_kill();
	world.nr_config = 0;
	world_start();
	fake_memory_fail_probe(EOPNOTSUPP);
	world_close_lifetime(&world.clients[0]);
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	fake_memory_look(id, &memory);
	ck_assert(memory.exists);
	ck_assert_uint_eq(memory.discarded_bytes, 0);
	ck_assert_uint_eq(world_recorded(id), 0);
	ck_assert_uint_eq(world.nr_kept, 1);
	world_end();
}
END_TEST

/* A look at it is several files of the kernel's to open. */
START_TEST(test_what_the_node_has_free_is_looked_at_for_16_in_one_turn)
{
	scoped(kernel_model_freep) struct kernel_model *model = start_on_node(REGION, 40, 0);

	for (unsigned i = 0; i < 40; i++)
		(void) lease(5);
	fake_memory_fail_probe(EOPNOTSUPP);
	while (world.nr_clients > 0)
		world_close(&world.clients[0]);
	ck_assert_uint_eq(world_poll(0), 0);
	ck_assert_uint_eq(world_poll(0), 0);
	ck_assert_uint_eq(world_poll(0), 10000);
	set_free_pages(model, 8);
	(void) world_poll(10000);
	ck_assert_uint_eq(world.nr_over, 1);
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
	tcase_add_test(tcase, test_huge_pages_go_back_in_steps_before_the_lease_is_over);
	tcase_add_test(tcase, test_a_page_that_is_larger_than_a_step_goes_as_a_whole);
	tcase_add_test(tcase, test_one_turn_gives_back_no_more_than_a_step_however_many_drain);
	tcase_add_test(tcase, test_huge_pages_that_do_not_come_back_keep_their_lease_in_the_list);
	tcase_add_test(tcase, test_what_was_opened_again_is_emptied_again);
	tcase_add_test(tcase, test_free_pages_are_counted_for_one_replacement_only);
	tcase_add_test(tcase,
	               test_where_the_kernel_does_not_say_memory_is_let_go_of_and_not_emptied);
	tcase_add_test(tcase, test_what_the_node_has_free_is_looked_at_for_16_in_one_turn);
	tcase_add_test(tcase, test_so_is_that_of_a_pool_that_is_gone);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
