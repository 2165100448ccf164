/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The book when the process has no memory left: the first allocation fails, then the second, and so
 * on.
 */
#include <check.h>
#include <errno.h>
#include <unistd.h>

#include "../../daemon/base/size.h"
#include "book-faults.h"
#include "book-world.h"
#include "suite.h"

#define REGION (160 * MIB)

static void start(size_t nr_regions)
{
	world_start_full(PLAN_PAGE_HUGETLB, REGION, nr_regions);
}

/* Whatever fails, nothing was lent and nothing is left behind. */
static void expect_nothing_lent(size_t nr_kept, size_t nr_fds)
{
	ck_assert_uint_eq(world.nr_kept, nr_kept);
	ck_assert_uint_eq(book_nr(world.book), 0);
	ck_assert_uint_eq(world_counts(0).nr_lent, 0);
	ck_assert_uint_eq(world_counts(0).nr_ready, 1);
	ck_assert_uint_eq(record_nr(world.record), 1);
	ck_assert_uint_eq(record_at(world.record, 0)->state, RECORD_READY);
	ck_assert_uint_eq(world_nr_fds(), nr_fds);
}

START_TEST(test_a_grant_without_memory_is_undone_at_every_step)
{
	size_t nr_kept, nr_fds;
	unsigned nr = 0;

	start(1);
	nr_kept = world.nr_kept;
	nr_fds = world_nr_fds();
	for (;;) {
		struct book_grant grant;
		struct book_request request = { .pool = "guests", .uid = 5 };
		int r, quota;

		book_faults = (struct book_faults){ .has_no_memory = true, .nr_memory_before = nr };
		r = book_grant(world.book, &request, world.shares, 1, &grant, &quota);
		book_faults = (struct book_faults){ 0 };
		if (r == 0) {
			(void) close(grant.memory_fd);
			(void) close(grant.lifetime_fd);
			break;
		}
		ck_assert_int_eq(r, -ENOMEM);
		nr++;
		expect_nothing_lent(nr_kept, nr_fds);
	}
	/* The list, the lease, and the map of lifetimes. */
	ck_assert_uint_ge(nr, 3);
	world_end();
}
END_TEST

static unsigned nr_memory, nr_failures;

static void run_out_of_memory(void)
{
	book_faults = (struct book_faults){ .has_no_memory = true,
		                            .nr_memory_before = nr_memory,
		                            .nr_memory_failures = nr_failures };
}

static void expect_each_once(void)
{
	struct lease shown;
	uint64_t last_id = 0;

	for (size_t i = 0; i < book_nr(world.book); i++) {
		book_at(world.book, i, &shown);
		ck_assert_uint_gt(shown.id, last_id);
		last_id = shown.id;
	}
}

/* A process takes over and has memory for @nr_memory things only; then another one. */
static void restore_without_memory(size_t nr_config)
{
	uint64_t id, other;
	struct lease shown;
	bool was_seen;

	start(3);
	id = world_lease_id(5);
	other = world_lease_id(6);
	world_close_lifetime(world_client(other));
	world_kill();
	world.nr_config = nr_config;
	world.before_restore = run_out_of_memory;
	world_start();
	book_faults = (struct book_faults){ 0 };
	world.before_restore = NULL;
	ck_assert_uint_ne(world_recorded(id), 0);
	expect_each_once();
	/* What is on record is there. */
	for (size_t i = 0; i < record_nr(world.record); i++) {
		struct fake_memory_state memory;

		fake_memory_look(record_at(world.record, i)->id, &memory);
		ck_assert(memory.exists);
	}
	was_seen = book_find(world.book, id, &shown) == 0;
	(void) world_poll(0);
	world_restart();
	expect_each_once();
	/* Nobody has looked at its lifetime yet. */
	if (!was_seen)
		ck_assert_int_eq(world_find(id).state, LEASE_LEASED);
	/* One that could not be watched drains; its memory is its lessee's either way. */
	ck_assert(world_find(id).is_memory_known);
	ck_assert_int_eq(world_find(other).state, LEASE_DRAINING);
	(void) world_poll(0);
	ck_assert_uint_eq(world.nr_over, 0);
	while (world.nr_clients > 0)
		world_close(&world.clients[0]);
	world_poll_out();
	ck_assert_uint_eq(book_nr(world.book), 0);
	world_end();
}

/* What is known is never closed as unknown; the next process has all that was left out. */
START_TEST(test_a_restoration_without_memory_loses_no_lease)
{
	size_t nr_fds = world_nr_fds();

	/* From then on, or once. */
	for (nr_failures = 0; nr_failures < 2; nr_failures++)
		for (nr_memory = 0; nr_memory < 24; nr_memory++)
			for (size_t nr_config = 0; nr_config < 2; nr_config++) {
				restore_without_memory(nr_config);
				ck_assert_uint_eq(world_nr_fds(), nr_fds);
			}
}
END_TEST

START_TEST(test_without_memory_there_is_no_store_record_or_book_and_nothing_stays_open)
{
	static const char *const names[] = { "region-0000000000000001", "other" };
	size_t nr_fds = world_nr_fds();

	for (unsigned nr = 0; nr < 2; nr++) {
		int fds[] = { dup(STDERR_FILENO), dup(STDERR_FILENO) };
		struct store *store = NULL;

		book_faults = (struct book_faults){ .has_no_memory = true, .nr_memory_before = nr };
		ck_assert_int_eq(store_new(NULL, NULL, fds, names, 2, &store), -ENOMEM);
		book_faults = (struct book_faults){ 0 };
		ck_assert_ptr_null(store);
	}
	start(2);
	world_kill();
	world_start();
	for (unsigned nr = 0; nr < 3; nr++) {
		struct book_setup setup = { .record = world.record,
			                    .store = world.store,
			                    .memory = &fake_memory };
		struct record *record = NULL;
		struct book *book = NULL;
		size_t nr_damaged;
		uint32_t version;
		int r, fd = record_fd(world.record);

		book_faults = (struct book_faults){ .has_no_memory = true, .nr_memory_before = nr };
		r = record_open(fd, &record, &nr_damaged, &version);
		ck_assert_int_eq(r, -ENOMEM);
		ck_assert_ptr_null(record);
		ck_assert_uint_eq(record_nr(world.record), 2);
		book_faults.nr_memory_before = nr;
		r = record_new(&record);
		ck_assert_int_eq(r, -ENOMEM);
		book_faults.nr_memory_before = nr;
		r = book_new(&setup, &book);
		ck_assert_int_eq(r, nr < 2 ? -ENOMEM : 0);
		book_faults = (struct book_faults){ 0 };
		book_freep(&book);
	}
	world_end();
	ck_assert_uint_eq(world_nr_fds(), nr_fds);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("book-no-memory");
	TCase *tcase = tcase_create("no-memory");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_a_grant_without_memory_is_undone_at_every_step);
	tcase_add_test(tcase, test_a_restoration_without_memory_loses_no_lease);
	tcase_add_test(tcase,
	               test_without_memory_there_is_no_store_record_or_book_and_nothing_stays_open);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
