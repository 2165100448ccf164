/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "landlord.h"
#include "lessee.h"
#include "naive.h"
#include "suite.h"
#include "victim.h"

#define REGION_BYTES (4 * MIB)

static const struct attack *attack;
static const struct pages *pages;

static struct landlord landlord;
static struct actor lessee;
static struct actor victims[LANDLORD_REGIONS + 1];
static unsigned nr_victims;

static void teardown(void)
{
	actor_kill(&lessee);
	for (unsigned i = 0; i < ELEMENTS(victims); i++)
		actor_kill(&victims[i]);
	landlord_stop(&landlord);
}

/* What the lessee answers; an attack that falls over is a fault of the test. */
static unsigned ask_lessee(enum lessee_order order)
{
	int answer = actor_ask(&lessee, (char) order);

	ck_assert_msg(answer >= 0, "the attack broke off at '%c' (%d)", (char) order, answer);
	return (unsigned) answer;
}

START_TEST(test_a_landlord_who_hands_out_the_same_region_again_lets_the_next_lessee_be_harmed)
{
	int memory_fd, lifetime_fd, complaint;
	struct naive naive;
	unsigned found = 0;
	enum armed armed;

	naive_start(&naive, pages, REGION_BYTES);
	naive_lease(&naive, &memory_fd, &lifetime_fd);
	lessee_start(&lessee, attack, pages, REGION_BYTES, memory_fd, lifetime_fd);
	armed = (enum armed) ask_lessee(LESSEE_LIVE);
	naive_take_back(&naive);
	naive_lease(&naive, &memory_fd, &lifetime_fd);
	victim_start(&victims[0], REGION_BYTES, memory_fd, lifetime_fd);
	complaint = actor_ask(&victims[0], VICTIM_MOVE_IN);
	if (complaint == VICTIM_IS_CONTENT) {
		found = ask_lessee(LESSEE_STRIKE);
		complaint = actor_ask(&victims[0], VICTIM_LOOK);
	}
	(void) ask_lessee(LESSEE_LET_GO);
	actor_end(&victims[0]);
	naive_stop(&naive);

	ck_assert_int_ne(complaint, ACTOR_BROKEN);
	printf("naive landlord, %s: %s; %s\n", pages->name, victim_text(complaint),
	       found & SAW_CANARY ? "the former one read its bytes"
	                          : "the former one read nothing of it");
	if (attack->tame[pages->kind]) {
		ck_assert_int_eq(complaint, VICTIM_IS_CONTENT);
		ck_assert(!(found & SAW_CANARY));
		return;
	}
	ck_assert_int_eq(armed, ARMED);
	ck_assert_msg(complaint != VICTIM_IS_CONTENT || found & SAW_CANARY, "it does not bite");
}
END_TEST

/* The next lessee, who moves into memory that is nobody's. */
static void let_to_the_next(const char *former_id)
{
	struct daemon_lease lease;
	int complaint;

	ck_assert_uint_lt(nr_victims, ELEMENTS(victims));
	landlord_lease(&landlord, &lease);
	ck_assert_str_ne(lease.id, former_id);
	victim_start(&victims[nr_victims], REGION_BYTES, lease.memory_fd, lease.lifetime_fd);
	complaint = actor_ask(&victims[nr_victims++], VICTIM_MOVE_IN);
	ck_assert_msg(complaint == VICTIM_IS_CONTENT, "%s", victim_text(complaint));
}

static void assert_all_content(void)
{
	for (unsigned i = 0; i < nr_victims; i++) {
		int complaint = actor_ask(&victims[i], VICTIM_LOOK);

		ck_assert_msg(complaint == VICTIM_IS_CONTENT, "%s", victim_text(complaint));
	}
}

/* The lease is over; what the former lessee holds is draining as long as the kernel shows it. */
static void wait_for_the_end_of_the_lease(void)
{
	if (attack->is_erratic)
		landlord_wait_left(&landlord);
	else if (attack->is_hidden)
		landlord_wait(&landlord, 0, 0, LANDLORD_REGIONS);
	else
		landlord_wait(&landlord, 0, 1, LANDLORD_REGIONS - 1);
}

static void assert_struck_in_vain(unsigned found)
{
	ck_assert_msg(!(found & SAW_CANARY), "the former lessee reads the next one's bytes");
	ck_assert_msg(!(found & KEPT_PAGES), "the former lessee has memory that is in no book");
	/* What it holds and the kernel shows is its own until it lets go. */
	if (!attack->is_hidden && !attack->is_erratic)
		ck_assert_msg(!(found & (LOST_BYTES | WAS_SIGNALLED)),
		              "what the former lessee holds is taken away under it");
}

START_TEST(test_the_daemon_lets_nobody_be_harmed_and_its_books_are_right)
{
	struct daemon_lease lease;
	unsigned nr_at_once = attack->is_hidden ? LANDLORD_REGIONS : LANDLORD_REGIONS - 1;

	landlord_start(&landlord, pages, REGION_BYTES, NULL);
	landlord_lease(&landlord, &lease);
	landlord_wait(&landlord, 1, 0, LANDLORD_REGIONS);
	lessee_start(&lessee, attack, pages, REGION_BYTES, lease.memory_fd, lease.lifetime_fd);
	if (ask_lessee(LESSEE_LIVE) == ARMED)
		ck_assert_msg(!(attack->refused_pages & PAGES_BIT(pages->kind)),
		              "the region lets it be done");
	wait_for_the_end_of_the_lease();

	while (nr_victims < nr_at_once)
		let_to_the_next(lease.id);
	assert_struck_in_vain(ask_lessee(LESSEE_STRIKE));
	assert_all_content();
	if (!attack->is_hidden && !attack->is_erratic)
		landlord_wait(&landlord, nr_at_once, 1, LANDLORD_REGIONS - 1);

	(void) ask_lessee(LESSEE_LET_GO);
	landlord_wait(&landlord, nr_at_once, 0, LANDLORD_REGIONS);
	while (nr_victims < LANDLORD_REGIONS)
		let_to_the_next(lease.id);
	assert_all_content();
	landlord_wait(&landlord, LANDLORD_REGIONS, 0, LANDLORD_REGIONS);

	landlord_break_lease(&landlord);
	for (unsigned i = 0; i < nr_victims; i++)
		actor_end(&victims[i]);
	landlord_wait(&landlord, 0, 0, LANDLORD_REGIONS);
	landlord_end(&landlord);
}
END_TEST

START_TEST(test_pages_that_do_not_come_back_are_promised_to_nobody_until_they_do)
{
	struct daemon_lease lease;

	if (!pages_leave(LANDLORD_REGIONS * REGION_BYTES / pages->page_bytes)) {
		printf("left out: there are other free huge pages\n");
		return;
	}
	/* So that not even one attempt to fill it may fall short. */
	landlord_start(&landlord, pages, REGION_BYTES, "[Daemon]\nRetry=0\n");
	landlord_lease(&landlord, &lease);
	landlord_wait(&landlord, 1, 0, LANDLORD_REGIONS);
	lessee_start(&lessee, attack, pages, REGION_BYTES, lease.memory_fd, lease.lifetime_fd);
	ck_assert_int_eq(ask_lessee(LESSEE_LIVE), ARMED);
	landlord_wait(&landlord, 0, 1, LANDLORD_REGIONS - 1);
	let_to_the_next(lease.id);
	landlord_assert_draining(&landlord, lease.id);
	landlord_assert_alive(&landlord);
	landlord_replace(&landlord);
	landlord_wait(&landlord, 1, 1, LANDLORD_REGIONS - 1);
	landlord_assert_draining(&landlord, lease.id);
	landlord_assert_alive(&landlord);

	(void) ask_lessee(LESSEE_LET_GO);
	landlord_wait(&landlord, 1, 0, LANDLORD_REGIONS);
	let_to_the_next(lease.id);
	assert_all_content();
	landlord_end(&landlord);
}
END_TEST

static void add(Suite *suite, const char *landlord_name, const TTest *test)
{
	TCase *tcase = tcase_create(landlord_name);

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, NULL, teardown);
	tcase_add_test(tcase, test);
	suite_add_tcase(suite, tcase);
}

int attack_main(const struct attack *row, int argc, char **argv)
{
	Suite *suite = suite_create(row->name);
	int status;

	attack = row;
	if (attack->why_not && attack->why_not())
		suite_skip(attack->why_not());
	bus_fixture_require();
	pages = pages_require(argc > 1 ? argv[1] : "base");
	if (attack->tame[pages->kind])
		printf("the naive landlord stands this one: %s\n", attack->tame[pages->kind]);
	add(suite, "naive",
	    test_a_landlord_who_hands_out_the_same_region_again_lets_the_next_lessee_be_harmed);
	add(suite, "daemon", test_the_daemon_lets_nobody_be_harmed_and_its_books_are_right);
	if (pages->kind == PAGES_HUGETLB && attack->has_pages)
		add(suite, "scarce",
		    test_pages_that_do_not_come_back_are_promised_to_nobody_until_they_do);
	status = suite_main(suite);
	pages_give_back();
	return status;
}
