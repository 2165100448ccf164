/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Regions that could not be put on record or into the store at once. */
#include <check.h>
#include <errno.h>
#include <limits.h>

#include "../../daemon/base/size.h"
#include "../../daemon/lease/book-inside.h"
#include "book-faults.h"
#include "book-world.h"
#include "suite.h"

#define REGION (16 * MIB)

static void start(size_t nr_regions, size_t nr_large)
{
	world_reset();
	(void) world_add_share("guests", 0, PLAN_PAGE_BASE, REGION, nr_regions);
	(void) world_add_share("guests", 1, PLAN_PAGE_BASE, 2 * REGION, nr_large);
	world_start();
}

/* What fails, and how that ends. */
static void fail_record(bool is_failing)
{
	book_faults = (struct book_faults){ .write_error = is_failing ? ENOSPC : 0 };
}

static void fail_store(bool is_failing)
{
	world.put_error = is_failing ? ENOMEM : 0;
}

static void (*const faults[])(bool is_failing) = { fail_record, fail_store, fake_regions_mute_fd };

/* One is made and filled while something fails. */
static uint64_t make_unstored(unsigned fault)
{
	uint64_t id;

	faults[fault](true);
	id = fake_share_make(world.shares[0]);
	world_news();
	ck_assert_uint_eq(fake_share_fill(world.shares[0]), id);
	world_news();
	ck_assert(!world_keeps("region", id));
	return id;
}

START_TEST(test_what_could_not_be_stored_is_stored_when_its_share_is_looked_at)
{
	uint64_t id;

	start(1, 0);
	id = make_unstored((unsigned) _i);
	faults[_i](false);
	world_news();
	ck_assert(world_keeps("region", id));
	ck_assert_uint_eq(world.nr_kept, 2);
	ck_assert_uint_eq(world_recorded(id), RECORD_READY);
	ck_assert_str_eq(record_get(world.record, id)->pool, "guests");
	ck_assert_uint_eq(record_get(world.record, id)->bytes, REGION);
	/* Once. */
	world_lose("region", id);
	world_news();
	ck_assert(!world_keeps("region", id));
	world_end();
}
END_TEST

START_TEST(test_the_next_process_has_what_was_stored_late)
{
	start(1, 0);
	(void) make_unstored((unsigned) _i);
	faults[_i](false);
	world_news();
	world_restart();
	ck_assert_uint_eq(world.restored.nr_ready, 1);
	ck_assert_uint_eq(world.restored.nr_lost, 0);
	ck_assert_uint_eq(world.restored.ready_bytes, REGION);
	world_end();
}
END_TEST

START_TEST(test_a_lease_of_what_could_not_be_stored_outlives_the_process)
{
	struct fake_memory_state memory;
	uint64_t id;

	start(1, 0);
	id = make_unstored((unsigned) _i);
	faults[_i](false);
	/* Nobody has looked at the share since. */
	ck_assert_int_eq(world_lease(5, 0), 0);
	ck_assert(world_keeps("region", id));
	ck_assert(world_keeps("lifetime", id));
	world_restart();
	ck_assert_uint_eq(world.restored.nr_leases, 1);
	ck_assert(world_find(id).is_memory_known);
	ck_assert_int_eq(world_find(id).state, LEASE_LEASED);
	fake_memory_look(id, &memory);
	ck_assert(memory.exists);
	world_end();
}
END_TEST

START_TEST(test_what_was_lent_meanwhile_is_stored_as_leased)
{
	uint64_t id;

	start(1, 0);
	id = make_unstored(1);
	ck_assert_int_eq(world_lease(5, 0), 0);
	ck_assert(!world_keeps("region", id));
	ck_assert_uint_eq(world_recorded(id), RECORD_LEASED);
	fail_store(false);
	world_news();
	ck_assert(world_keeps("region", id));
	ck_assert_uint_eq(world_recorded(id), RECORD_LEASED);
	/* What is given back is not stored any more. */
	world_close(&world.clients[0]);
	world_poll_out();
	(void) fake_share_destroy(world.shares[0]);
	world_news();
	ck_assert_uint_eq(record_nr(world.record), 0);
	ck_assert_uint_eq(world.nr_kept, 1);
	world_end();
}
END_TEST

START_TEST(test_a_share_tries_some_in_one_look_until_it_has_all)
{
	start(3 * BOOK_STORES_A_LOOK, 0);
	fail_store(true);
	fake_share_fill_all(world.shares[0]);
	world_news();
	fail_store(false);
	for (unsigned n = 1; n <= 3; n++) {
		world_news();
		ck_assert_uint_eq(world.nr_kept, 1 + n * BOOK_STORES_A_LOOK);
	}
	world_news();
	ck_assert_uint_eq(world.nr_kept, 1 + 3 * BOOK_STORES_A_LOOK);
	world_end();
}
END_TEST

/* Filling ones cannot be tried, and do not keep others from it. */
START_TEST(test_each_has_its_turn)
{
	start(3 * BOOK_STORES_A_LOOK, 0);
	fail_store(true);
	while (fake_share_make(world.shares[0]))
		;
	for (unsigned n = 0; n < BOOK_STORES_A_LOOK; n++)
		ck_assert_uint_ne(fake_share_fill(world.shares[0]), 0);
	world_news();
	fail_store(false);
	for (unsigned n = 0; n < 6; n++)
		world_news();
	ck_assert_uint_eq(world.nr_kept, 1 + BOOK_STORES_A_LOOK);
	world_end();
}
END_TEST

/* Those of the second share are more than are kept in mind. */
static void make_too_many(void (*fault)(bool is_failing))
{
	start(BOOK_UNSTORED_MAX, 2);
	fault(true);
	for (unsigned i = 0; i < 2; i++)
		fake_share_fill_all(world.shares[i]);
	world_news();
	fault(false);
}

START_TEST(test_of_too_many_each_is_stored_before_it_is_lent)
{
	uint64_t id;

	make_too_many(fail_store);
	for (unsigned n = 0; n < 2 * BOOK_UNSTORED_MAX; n++)
		world_news();
	ck_assert_uint_eq(world.nr_kept, 1 + BOOK_UNSTORED_MAX);
	ck_assert_int_eq(world_lease(5, 2 * REGION), 0);
	id = world.clients[0].id;
	ck_assert(world_keeps("region", id));
	world_restart();
	ck_assert(world_find(id).is_memory_known);
	ck_assert_uint_eq(world.restored.nr_lost, 1);
	world_end();
}
END_TEST

START_TEST(test_what_is_gone_leaves_room_for_others)
{
	start(BOOK_UNSTORED_MAX, 2);
	fail_store(true);
	fake_share_fill_all(world.shares[0]);
	world_news();
	while (fake_share_shrink(world.shares[0]))
		;
	world_news();
	fake_share_fill_all(world.shares[1]);
	world_news();
	fail_store(false);
	world_news();
	ck_assert_uint_eq(world.nr_kept, 1 + 2);
	world_end();
}
END_TEST

START_TEST(test_a_share_that_goes_leaves_room_for_others)
{
	make_too_many(fail_record);
	book_forget_share(world.book, world.shares[0]);
	world.shares[0] = fake_share_free(world.shares[0]);
	world.shares[0] = fake_share_new(0, PLAN_PAGE_BASE, 4 * KIB, REGION, 1);
	(void) make_unstored(1);
	fail_store(false);
	world_news();
	ck_assert_uint_eq(world.nr_kept, 2);
	world_end();
}
END_TEST

START_TEST(test_without_memory_to_keep_it_in_mind_it_is_stored_before_it_is_lent)
{
	uint64_t id;

	start(1, 0);
	world.put_error = ENOMEM;
	id = fake_share_make(world.shares[0]);
	book_faults = (struct book_faults){ .has_no_memory = true };
	world_news();
	book_faults = (struct book_faults){ 0 };
	fake_share_fill_all(world.shares[0]);
	world.put_error = 0;
	world_news();
	ck_assert_int_eq(world_lease(5, 0), 0);
	ck_assert(world_keeps("region", id));
	ck_assert_uint_eq(world_recorded(id), RECORD_LEASED);
	world_end();
}
END_TEST

START_TEST(test_without_a_store_nothing_is_tried_again)
{
	uint64_t id;

	world_reset();
	world.has_no_store = true;
	(void) world_add_share("guests", 0, PLAN_PAGE_BASE, REGION, 1);
	world_start();
	id = make_unstored(0);
	faults[0](false);
	world_news();
	ck_assert_uint_eq(world_recorded(id), 0);
	ck_assert_int_eq(world_lease(5, 0), 0);
	ck_assert_uint_eq(world_recorded(id), RECORD_LEASED);
	world_end();
}
END_TEST

START_TEST(test_nothing_is_left_open)
{
	size_t nr_fds = world_nr_fds();

	for (unsigned i = 0; i < ELEMENTS(faults); i++) {
		start(2, 0);
		(void) make_unstored(i);
		world_news();
		faults[i](false);
		world_news();
		world_end();
	}
	ck_assert_uint_eq(world_nr_fds(), nr_fds);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("book-store");
	TCase *tcase = tcase_create("store");
	int nr_faults = ELEMENTS(faults);

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase,
	                    test_what_could_not_be_stored_is_stored_when_its_share_is_looked_at, 0,
	                    nr_faults);
	tcase_add_loop_test(tcase, test_the_next_process_has_what_was_stored_late, 0, nr_faults);
	tcase_add_loop_test(tcase, test_a_lease_of_what_could_not_be_stored_outlives_the_process, 0,
	                    nr_faults);
	tcase_add_test(tcase, test_what_was_lent_meanwhile_is_stored_as_leased);
	tcase_add_test(tcase, test_a_share_tries_some_in_one_look_until_it_has_all);
	tcase_add_test(tcase, test_each_has_its_turn);
	tcase_add_test(tcase, test_of_too_many_each_is_stored_before_it_is_lent);
	tcase_add_test(tcase, test_what_is_gone_leaves_room_for_others);
	tcase_add_test(tcase, test_a_share_that_goes_leaves_room_for_others);
	tcase_add_test(tcase,
	               test_without_memory_to_keep_it_in_mind_it_is_stored_before_it_is_lent);
	tcase_add_test(tcase, test_without_a_store_nothing_is_tried_again);
	tcase_add_test(tcase, test_nothing_is_left_open);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
