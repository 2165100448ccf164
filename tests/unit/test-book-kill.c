/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The process is stopped at each single thing it does to the record, to the store and to memory, in
 * the course of a script in which regions are made, leased, returned, destroyed and given back;
 * then the next process takes over. Stopped means that nothing has an effect any more.
 */
#include <check.h>
#include <errno.h>
#include <limits.h>

#include "../../daemon/base/size.h"
#include "book-world.h"
#include "suite.h"

#define REGION  (160 * MIB)
#define IDS_MAX 64

/* What the clients know, which is the truth. */
static bool was_given[IDS_MAX];

static void lease(uid_t uid)
{
	uint64_t id;

	/* A process that has ended answers nobody. */
	if (fake_has_ended() || world_lease(uid, 0) < 0)
		return;
	id = world.clients[world.nr_clients - 1].id;
	if (fake_has_ended()) {
		world_close(world_client(id));
		return;
	}
	ck_assert_uint_lt(id, IDS_MAX);
	ck_assert_msg(!was_given[id], "region %u was handed out before", (unsigned) id);
	was_given[id] = true;
}

static void make_and_fill(unsigned nr)
{
	for (; nr > 0 && !fake_has_ended(); nr--) {
		(void) fake_share_make(world.shares[0]);
		world_news();
		(void) fake_share_fill(world.shares[0]);
		world_news();
	}
}

/* Everything that can happen to a region, up to two processes later. */
static void act(unsigned step)
{
	switch (step) {
	case 0:
		make_and_fill(3);
		break;
	case 1:
		lease(5);
		lease(6);
		break;
	case 2:
		if (world.nr_clients > 0)
			world_close_lifetime(&world.clients[0]);
		(void) world_poll(0);
		break;
	case 3:
		while (world.nr_clients > 0 && world.clients[0].lifetime_fd < 0)
			world_close(&world.clients[0]);
		/* Three steps until it is empty. */
		for (unsigned n = 0; n < 4; n++)
			(void) world_poll(20000);
		break;
	case 4:
		(void) fake_share_destroy(world.shares[0]);
		world_news();
		break;
	case 5:
		make_and_fill(1);
		lease(7);
		break;
	case 6:
		if (world.nr_clients > 0 && !fake_has_ended())
			(void) book_release(world.book, world.clients[0].id);
		break;
	case 7:
		if (world.nr_clients > 0)
			world_close(&world.clients[0]);
		for (unsigned n = 0; n < 4; n++)
			(void) world_poll(20000);
		(void) fake_share_shrink(world.shares[0]);
		world_news();
		break;
	default:
		/* The pool gets smaller while nobody is there: some have no place. */
		world.config[0].nr_regions = 1;
		world_kill();
		world_start();
		for (unsigned n = 0; n < 10; n++)
			(void) world_poll(20000);
		break;
	}
}
#define NR_ACTS 9

static void expect_books_right(void)
{
	struct region_counts counts;
	size_t nr_with_share = 0;

	region_count_states(world.shares[0], &counts);
	for (size_t i = 0; i < world.nr_clients; i++) {
		const struct world_client *client = &world.clients[i];
		struct lease lease;
		struct fake_memory_state memory;

		/* What a client has is its own: not lost, and not given back. */
		ck_assert_int_eq(book_find(world.book, client->id, &lease), 0);
		ck_assert_uint_eq(lease.uid, client->uid);
		fake_memory_look(client->id, &memory);
		ck_assert(memory.exists);
		ck_assert_uint_eq(memory.discarded_bytes, 0);
		if (client->lifetime_fd < 0)
			ck_assert_int_eq(lease.state, LEASE_DRAINING);
	}
	for (size_t i = 0; i < book_nr(world.book); i++) {
		struct lease lease;

		book_at(world.book, i, &lease);
		nr_with_share++;
		ck_assert_uint_ne(world_recorded(lease.id), 0);
	}
	ck_assert_uint_le(counts.nr_lent, nr_with_share);
	/* Whatever is ready was never handed out. */
	for (size_t i = 0; i < record_nr(world.record); i++) {
		const struct record_entry *entry = record_at(world.record, i);

		ck_assert(world_keeps("region", entry->id));
		if (entry->state == RECORD_READY || entry->state == RECORD_FILLING)
			ck_assert(entry->id >= IDS_MAX || !was_given[entry->id]);
		ck_assert_int_eq(world_keeps("lifetime", entry->id), entry->state == RECORD_LEASED);
	}
}

/* Nothing is lost for good either: all memory is found again, and comes back at the end. */
static void expect_all_comes_back(void)
{
	struct region_counts counts;

	while (world.nr_clients > 0)
		world_close(&world.clients[0]);
	world_poll_out();
	while (fake_share_destroy(world.shares[0]) != 0)
		;
	world_news();
	region_count_states(world.shares[0], &counts);
	ck_assert_uint_eq(book_nr(world.book), 0);
	ck_assert_uint_eq(counts.nr_lent + counts.nr_spent, 0);
	ck_assert_uint_eq(world.nr_kept, 1 + record_nr(world.record));
	for (size_t i = 0; i < record_nr(world.record); i++) {
		struct fake_memory_state memory;

		fake_memory_look(record_at(world.record, i)->id, &memory);
		ck_assert(memory.exists);
	}
	/* Lease all there is: none of it was anybody's. */
	fake_share_fill_all(world.shares[0]);
	for (unsigned n = 0; n < 8; n++)
		lease(9);
	ck_assert_uint_gt(world.nr_clients, 0);
}

/* Return: whether the script came to its end before the process did. */
static bool run(unsigned nr_steps)
{
	bool is_complete;

	world_reset();
	for (unsigned i = 0; i < IDS_MAX; i++)
		was_given[i] = false;
	(void) world_add_share("guests", 0, PLAN_PAGE_HUGETLB, REGION, 3);
	world_start();
	fake_end_after(nr_steps);
	for (unsigned step = 0; step < NR_ACTS && !fake_has_ended(); step++)
		act(step);
	is_complete = !fake_has_ended();
	world_restart();
	expect_books_right();
	/* Once more, right after. */
	world_restart();
	expect_books_right();
	expect_all_comes_back();
	world_end();
	return is_complete;
}

START_TEST(test_a_process_that_is_stopped_anywhere_loses_no_lease_and_spends_nothing_twice)
{
	size_t nr_fds = world_nr_fds();
	unsigned nr_steps = 0;

	while (!run(nr_steps))
		nr_steps++;
	/* That many different moments. */
	ck_assert_uint_gt(nr_steps, 30);
	ck_assert_uint_eq(world_nr_fds(), nr_fds);
}
END_TEST

/* Where nobody can say who has a region: two come back while their lessees still have them. */
static bool run_unsure(unsigned nr_steps)
{
	bool is_complete;

	world_reset();
	(void) world_add_share("guests", 0, PLAN_PAGE_HUGETLB, REGION, 3);
	world_start();
	fake_memory_fail_probe(EOPNOTSUPP);
	make_and_fill(3);
	for (uid_t uid = 5; uid < 7; uid++)
		ck_assert_int_eq(world_lease(uid, 0), 0);
	fake_end_after(nr_steps);
	for (size_t i = 0; i < world.nr_clients && !fake_has_ended(); i++) {
		world_close_lifetime(&world.clients[i]);
		(void) world_poll(20000);
		(void) fake_share_destroy(world.shares[0]);
		world_news();
	}
	make_and_fill(2);
	is_complete = !fake_has_ended();
	world_restart();
	fake_share_fill_all(world.shares[0]);
	world_news();
	for (size_t i = 0; i < world.nr_clients; i++)
		world_close_lifetime(&world.clients[i]);
	world_poll_out();
	while (fake_share_destroy(world.shares[0]) != 0)
		;
	world_news();
	for (size_t i = 0; i < world.nr_clients; i++) {
		struct fake_memory_state memory;

		fake_memory_look(world.clients[i].id, &memory);
		ck_assert(memory.exists);
		ck_assert_uint_eq(memory.discarded_bytes, 0);
		ck_assert_uint_eq(world_recorded(world.clients[i].id), 0);
		ck_assert(!world_keeps("region", world.clients[i].id));
	}
	ck_assert_uint_eq(book_nr(world.book), 0);
	world_end();
	return is_complete;
}

START_TEST(test_a_process_that_is_stopped_anywhere_empties_nothing_that_somebody_may_have)
{
	unsigned nr_steps = 0;

	while (!run_unsure(nr_steps))
		nr_steps++;
	ck_assert_uint_gt(nr_steps, 10);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("book-kill");
	TCase *tcase = tcase_create("kill");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(
		tcase,
		test_a_process_that_is_stopped_anywhere_loses_no_lease_and_spends_nothing_twice);
	tcase_add_test(
		tcase,
		test_a_process_that_is_stopped_anywhere_empties_nothing_that_somebody_may_have);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
