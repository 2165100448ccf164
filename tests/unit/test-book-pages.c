/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What drains of a huge page pool: its pages go back, and are waited for. */
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

static void set_free_pages(struct kernel_model *model, uint64_t free_pages)
{
	struct hugepages_count pages = { .nr_pages = 200, .free_pages = free_pages };

	kernel_model_set_pages(model, 0, 2 * MIB, pages);
}

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
	uint64_t id = world_lease_id(5);

	world_close(&world.clients[0]);
	for (unsigned i = 1; i <= 2; i++) {
		ck_assert_uint_eq(world_poll(0), 0);
		fake_memory_look(id, &memory);
		ck_assert_uint_eq(memory.discarded_bytes, i * 64 * MIB);
		/* Whatever happens now, it is nobody's, and its lessee is known. */
		ck_assert_uint_eq(world_recorded(id), RECORD_DRAINING);
		ck_assert_uint_eq(world_find(id).uid, 5);
		world_expect_sums("guests", 0, 0, 160 * MIB);
	}
	ck_assert_uint_eq(world_poll(0), UINT64_MAX);
	fake_memory_look(id, &memory);
	ck_assert_uint_eq(memory.discarded_bytes, 160 * MIB);
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert_uint_eq(world_recorded(id), RECORD_SPENT);
	ck_assert_uint_eq(world_counts(0).nr_spent, 1);
	world_end();
}
END_TEST

START_TEST(test_a_page_that_is_larger_than_a_step_goes_as_a_whole)
{
	struct fake_memory_state memory;
	uint64_t id;

	world_start_full(PLAN_PAGE_HUGETLB, 3 * GIB, 1);
	world.shares[0]->page_bytes = GIB;
	id = world_lease_id(5);
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

	world_start_full(PLAN_PAGE_HUGETLB, REGION, 8);
	for (unsigned i = 0; i < 8; i++)
		(void) world_lease_id(5);
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
	uint64_t id = world_lease_id(5);

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
	world_expect_sums("guests", 0, 0, REGION);
	ck_assert_uint_eq(world_counts(0).nr_spent, 0);
	/* Over a restart, too. */
	world_restart();
	ck_assert_uint_eq(world_find(id).uid, 5);
	(void) world_poll(0);
	ck_assert_uint_eq(world.nr_over, 0);
	set_free_pages(model, 8);
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert_uint_eq(world_counts(0).nr_spent, 1);
	world_end();
}
END_TEST

START_TEST(test_what_was_opened_again_is_emptied_again)
{
	scoped(kernel_model_freep) struct kernel_model *model = start_on_node(REGION, 1, 7);
	uint64_t id = world_lease_id(5);

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

	(void) world_lease_id(5);
	(void) world_lease_id(5);
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
	uint64_t id = world_lease_id(5);

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
	ck_assert_uint_eq(world_counts(0).nr_spent, 1);
	ck_assert_uint_eq(fake_share_destroy(world.shares[0]), id);
	world_news();
	fake_memory_look(id, &memory);
	ck_assert(memory.exists);
	ck_assert_uint_eq(memory.discarded_bytes, 0);
	fake_share_fill_all(world.shares[0]);
	world_news();
	ck_assert_uint_ne(world_lease_id(6), id);
	world_end();
}
END_TEST

START_TEST(test_so_is_that_of_a_pool_that_is_gone)
{
	struct fake_memory_state memory;
	uint64_t id;

	world_start_full(PLAN_PAGE_BASE, REGION, 1);
	id = world_lease_id(5);
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
		(void) world_lease_id(5);
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

/* The node's pool is made smaller, as far as its pages are free; the rest becomes surplus. */
static void shrink_pool(struct kernel_model *model, uint64_t nr_pages, uint64_t surplus_pages)
{
	struct hugepages_count pages = { .nr_pages = nr_pages, .surplus_pages = surplus_pages };

	kernel_model_set_pages(model, 0, 2 * MIB, pages);
}

static const int probe_errors[] = { 0, EOPNOTSUPP };

START_TEST(test_pages_that_the_node_s_pool_has_lost_are_not_waited_for)
{
	scoped(kernel_model_freep) struct kernel_model *model = start_on_node(REGION, 1, 0);

	fake_memory_fail_probe(probe_errors[_i]);
	(void) world_lease_id(5);
	world_close(&world.clients[0]);
	(void) world_poll(5000000);
	/* What somebody has is still there. */
	shrink_pool(model, 200, 8);
	(void) world_poll(5000000);
	shrink_pool(model, 193, 1);
	(void) world_poll(5000000);
	ck_assert_uint_eq(world.nr_over, 0);
	shrink_pool(model, 192, 0);
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert_uint_eq(world_counts(0).nr_spent, 1);
	/* What one lease has seen go excuses no other. */
	(void) fake_share_destroy(world.shares[0]);
	fake_share_fill_all(world.shares[0]);
	(void) world_lease_id(5);
	world_close(&world.clients[0]);
	(void) world_poll(5000000);
	(void) world_poll(5000000);
	ck_assert_uint_eq(world.nr_over, 1);
	world_end();
}
END_TEST

START_TEST(test_nor_are_those_that_it_lost_while_a_region_was_emptied)
{
	scoped(kernel_model_freep) struct kernel_model *model = start_on_node(160 * MIB, 1, 0);
	struct fake_memory_state memory;
	uint64_t id = world_lease_id(5);

	shrink_pool(model, 200, 80);
	world_close(&world.clients[0]);
	ck_assert_uint_eq(world_poll(0), 0);
	shrink_pool(model, 120, 0);
	world_poll_out();
	ck_assert_uint_eq(world.nr_over, 1);
	fake_memory_look(id, &memory);
	ck_assert_uint_eq(memory.discarded_bytes, 160 * MIB);
	world_end();
}
END_TEST

/* Its pool was made smaller, and its pages went with that. */
START_TEST(test_a_region_that_is_not_replaced_waits_for_no_pages)
{
	scoped(kernel_model_freep) struct kernel_model *model = start_on_node(REGION, 1, 0);
	struct fake_memory_state memory;
	uint64_t id = world_lease_id(5);

	world.config[0].nr_regions = 0;
	world_restart();
	ck_assert_uint_eq(world_counts(0).nr_lent, 1);
	fake_memory_fail_probe(probe_errors[_i]);
	world_close(&world.clients[0]);
	ck_assert_uint_eq(world_poll(0), UINT64_MAX);
	ck_assert_uint_eq(world.nr_over, 1);
	ck_assert_uint_eq(world_counts(0).nr_spent, 1);
	/* The worker destroys it, unless somebody may have it. */
	ck_assert_uint_eq(fake_share_destroy(world.shares[0]), id);
	fake_memory_look(id, &memory);
	ck_assert(memory.exists == (probe_errors[_i] != 0));
	ck_assert_uint_eq(memory.discarded_bytes, 0);
	world_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("book-pages");
	TCase *tcase = tcase_create("pages");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_huge_pages_go_back_in_steps_before_the_lease_is_over);
	tcase_add_test(tcase, test_a_page_that_is_larger_than_a_step_goes_as_a_whole);
	tcase_add_test(tcase, test_one_turn_gives_back_no_more_than_a_step_however_many_drain);
	tcase_add_test(tcase, test_huge_pages_that_do_not_come_back_keep_their_lease_in_the_list);
	tcase_add_test(tcase, test_what_was_opened_again_is_emptied_again);
	tcase_add_test(tcase, test_free_pages_are_counted_for_one_replacement_only);
	tcase_add_test(tcase,
	               test_where_the_kernel_does_not_say_memory_is_let_go_of_and_not_emptied);
	tcase_add_test(tcase, test_so_is_that_of_a_pool_that_is_gone);
	tcase_add_test(tcase, test_what_the_node_has_free_is_looked_at_for_16_in_one_turn);
	tcase_add_loop_test(tcase, test_pages_that_the_node_s_pool_has_lost_are_not_waited_for, 0,
	                    ELEMENTS(probe_errors));
	tcase_add_test(tcase, test_nor_are_those_that_it_lost_while_a_region_was_emptied);
	tcase_add_loop_test(tcase, test_a_region_that_is_not_replaced_waits_for_no_pages, 0,
	                    ELEMENTS(probe_errors));
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
