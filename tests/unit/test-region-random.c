/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whatever is done to a share in whatever order: rounds, leases in the middle of them, shrinks,
 * memory that runs short or has poison. A small book beside it says what must be so.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "kinds-drive.h"
#include "suite.h"

#define BASE     UINT64_C(4096)
#define REGION   (128 * MIB) /* two chunks */
#define SMALL    (40 * MIB)
#define NR_SEEDS 600
#define NR_STEPS 150
#define IDS_MAX  4096 /* pieces that the memory model tells apart */
#define LENT_MAX 64
#define NO_ID    UINT64_MAX

enum told { TOLD_NOTHING, TOLD_MADE, TOLD_READY, TOLD_GONE };

static struct drive drive;

static struct {
	uint64_t seed;
	struct share *share;
	enum told told[IDS_MAX];
	uint64_t lent[LENT_MAX];
	size_t nr_lent;
	bool was_returned[IDS_MAX];
	uint64_t lent_bytes;
	uint64_t abandoned_bytes; /* whose pages somebody keeps */
	uint64_t bytes[IDS_MAX];
} book;

static unsigned pick(unsigned nr)
{
	book.seed = book.seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned) (book.seed >> 33) % nr;
}

static struct memory_model_counts counts(void)
{
	struct memory_model_counts ret;

	memory_model_counts(&ret);
	return ret;
}

static bool is_lent(uint64_t id)
{
	for (size_t i = 0; i < book.nr_lent; i++)
		if (book.lent[i] == id)
			return true;
	return false;
}

/* Each thing once, in order, and nothing of what somebody has is gone. */
static void take_news(void)
{
	struct region_news news;

	while (region_next_news(book.share, &news)) {
		ck_assert_uint_lt(news.id, IDS_MAX);
		switch (news.change) {
		case REGION_WAS_MADE:
			ck_assert_int_ge(news.fd, 0);
			(void) close(news.fd);
			ck_assert_int_eq(book.told[news.id], TOLD_NOTHING);
			book.told[news.id] = TOLD_MADE;
			book.bytes[news.id] = news.bytes;
			break;
		case REGION_BECAME_READY:
			ck_assert_int_eq(book.told[news.id], TOLD_MADE);
			book.told[news.id] = TOLD_READY;
			break;
		default:
			ck_assert(book.told[news.id] == TOLD_MADE ||
			          book.told[news.id] == TOLD_READY);
			ck_assert(!is_lent(news.id));
			book.told[news.id] = TOLD_GONE;
			break;
		}
	}
}

static void lend(void)
{
	const uint64_t wanted[] = { 0, SMALL, REGION, REGION + 1 };
	uint64_t bytes = wanted[pick(ELEMENTS(wanted))], id = NO_ID, got_bytes = 0;
	struct region_counts before = drive_regions(book.share);
	int r;

	if (book.nr_lent == LENT_MAX)
		return;
	r = region_lend(book.share, bytes, &id, &got_bytes);
	if (r < 0) {
		ck_assert_int_eq(r, -ENOENT);
		/* Of small ones there is one in each part at most. */
		ck_assert(before.nr_ready == 0 || bytes > REGION ||
		          before.ready_bytes <= 2 * SMALL);
		return;
	}
	ck_assert_uint_ge(got_bytes, bytes);
	ck_assert(!is_lent(id) && !book.was_returned[id]);
	book.lent[book.nr_lent++] = id;
	book.lent_bytes += got_bytes;
	book.bytes[id] = got_bytes;
	/* Ids and pieces are numbered alike, from 1 and from 0. */
	memory_model_set_in_use((unsigned) id - 1, 1);
}

static uint64_t take_lent(void)
{
	size_t i = pick((unsigned) book.nr_lent);
	uint64_t id = book.lent[i];

	book.lent[i] = book.lent[--book.nr_lent];
	book.lent_bytes -= book.bytes[id];
	memory_model_set_in_use((unsigned) id - 1, 0);
	return id;
}

static void end_lease(void)
{
	uint64_t id;

	if (book.nr_lent == 0)
		return;
	id = take_lent();
	if (pick(3) == 0) {
		ck_assert_int_eq(region_unlend(book.share, id), 0);
		return;
	}
	if (pick(3) == 0) {
		/* Whoever has it keeps it: it must not be destroyed. */
		memory_model_set_in_use((unsigned) id - 1, 1);
		ck_assert_int_eq(region_abandon(book.share, id), 0);
		book.abandoned_bytes += book.bytes[id];
	} else {
		if (pick(2) == 0)
			ck_assert_int_eq(region_discard_lent(book.share, id, 0, SMALL), 0);
		ck_assert_int_eq(region_return(book.share, id), 0);
	}
	book.was_returned[id] = true;
	ck_assert_int_eq(region_return(book.share, id), -ENOENT);
	ck_assert_int_eq(region_open_lent(book.share, id), -ENOENT);
}

/* What the main thread does, at any time. */
static void main_thread(void)
{
	switch (pick(6)) {
	case 0:
	case 1:
		lend();
		break;
	case 2:
		end_lease();
		break;
	case 3:
		take_news();
		break;
	default:
		break;
	}
}

static void check(void)
{
	struct region_counts now = drive_regions(book.share);

	ck_assert_uint_eq(now.nr_lent, book.nr_lent);
	ck_assert_uint_eq(now.lent_bytes, book.lent_bytes);
	ck_assert_uint_eq(counts().nr_destroyed_in_use, 0);
	ck_assert_uint_ge(drive_status(book.share).done_bytes,
	                  now.ready_bytes + now.lent_bytes + now.spent_bytes);
	for (size_t i = 0; i < book.nr_lent; i++)
		ck_assert_int_eq(region_is_lent_in_use(book.share, book.lent[i]), 1);
}

/* Between rounds, when no part is in its middle. */
static void check_settled(void)
{
	struct region_counts now = drive_regions(book.share);
	uint64_t want_bytes = book.share->parts[STAGE_EARLY].want_bytes +
	                      book.share->parts[STAGE_DEFERRED].want_bytes;
	size_t nr_alive = 0;

	check();
	ck_assert_uint_eq(drive_status(book.share).done_bytes,
	                  now.ready_bytes + now.lent_bytes + now.spent_bytes);
	/* Only what is lent or spent may exceed what is wanted. */
	ck_assert_uint_le(now.ready_bytes, want_bytes);
	ck_assert_uint_eq(counts().nr_alive, now.nr_ready + now.nr_lent + now.nr_spent);
	take_news();
	for (size_t id = 0; id < IDS_MAX; id++)
		nr_alive += book.told[id] == TOLD_MADE || book.told[id] == TOLD_READY;
	ck_assert_uint_eq(nr_alive, counts().nr_alive);
}

/* One part until it settles, with leases in between; given up at some point, or not. */
static void run_part(enum stage stage, unsigned patience)
{
	struct part *part = &book.share->parts[stage];
	bool is_cancelled = false;
	int r;

	if (part->want_bytes == 0)
		return;
	do {
		while ((r = book.share->ops->prepare(part)) == 1)
			main_thread();
		for (uint64_t i = 0; r == 0 && i < part->nr_chunks && !is_cancelled; i++) {
			r = book.share->ops->run_chunk(part, i);
			main_thread();
			check();
			is_cancelled = patience > 0 && pick(patience) == 0;
		}
		r = book.share->ops->finish(part, is_cancelled);
	} while (r != 0);
}

static void run_both(unsigned patience)
{
	for (unsigned i = 0; i < NR_STAGES; i++)
		run_part(i, patience);
}

static void shrink(void)
{
	uint64_t want_bytes = book.share->parts[STAGE_EARLY].want_bytes +
	                      book.share->parts[STAGE_DEFERRED].want_bytes;
	uint64_t keep_bytes = want_bytes - bytes_min(want_bytes, pick(5) * REGION / 2);

	ck_assert_int_eq(book.share->ops->share_shrink(book.share, keep_bytes), 0);
	ck_assert_uint_ge(book.share->parts[STAGE_EARLY].want_bytes +
	                          book.share->parts[STAGE_DEFERRED].want_bytes,
	                  keep_bytes);
	ck_assert_uint_eq(drive_regions(book.share).nr_spent, 0);
}

static void step(void)
{
	switch (pick(12)) {
	case 0:
		run_both(20);
		break;
	case 1:
	case 2:
		run_both(0);
		break;
	case 3:
		if (pick(4) == 0)
			shrink();
		break;
	case 4:
		memory_model_fail_populate(UINT_MAX, pick(2) * 64 * MIB, EHWPOISON, 1 + pick(3));
		break;
	case 5:
		memory_model_limit(pick(12) * REGION, pick(2) ? ENOMEM : ENOSPC);
		break;
	case 6:
		memory_model_limit(UINT64_MAX, ENOMEM);
		break;
	case 7:
		memory_model_fail_make(ENOMEM, 1);
		break;
	default:
		main_thread();
		return;
	}
}

/* All that the share still wants is there in the end, whatever happened before. */
static void check_end(void)
{
	struct region_counts now;
	uint64_t want_bytes;

	memory_model_limit(UINT64_MAX, ENOMEM);
	memory_model_fail_make(0, 0);
	memory_model_fail_populate(UINT_MAX, 0, 0, 0);
	run_both(0);
	run_both(0);
	now = drive_regions(book.share);
	want_bytes = book.share->parts[STAGE_EARLY].want_bytes +
	             book.share->parts[STAGE_DEFERRED].want_bytes;
	if (want_bytes > 0 && now.nr_spent == 0) {
		ck_assert_uint_eq(now.nr_unfilled, 0);
		ck_assert_uint_ge(now.ready_bytes + now.lent_bytes, want_bytes);
		ck_assert_int_eq(drive_status(book.share).reason, REASON_NONE);
	}
	while (book.nr_lent > 0)
		ck_assert_int_eq(region_return(book.share, take_lent()), 0);
	ck_assert_int_eq(book.share->ops->share_shrink(book.share, 0), 0);
	check_settled();
	ck_assert_uint_eq(counts().nr_alive, 0);
	ck_assert_uint_eq(counts().resident_bytes, book.abandoned_bytes);
	ck_assert_uint_eq(drive_pages(&drive, DRIVE_NODE, HUGE), 0);
}

static void run_seed(uint64_t seed)
{
	bool is_hugetlb;

	memset(&book, 0, sizeof(book));
	book.seed = seed;
	(void) pick(2);
	drive_open(&drive);
	is_hugetlb = pick(2) == 0;
	drive_add(&drive, POOL_REGION, is_hugetlb ? PLAN_PAGE_HUGETLB : PLAN_PAGE_BASE,
	          is_hugetlb ? HUGE : BASE, (1 + pick(4)) * REGION + pick(2) * SMALL,
	          pick(5) * REGION + pick(2) * SMALL, REGION);
	drive_make(&drive);
	book.share = drive.shares[0];
	for (unsigned i = 0; i < NR_STEPS; i++) {
		step();
		check();
	}
	run_both(0);
	check_settled();
	check_end();
	drive_close(&drive);
}

START_TEST(test_nothing_lent_is_destroyed_and_the_sums_are_right_whatever_is_done)
{
	/* A loop test: what fails is told with its number, which is the seed. */
	run_seed((uint64_t) _i);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region-random");
	TCase *tcase = tcase_create("random");

	tcase_add_loop_test(tcase,
	                    test_nothing_lent_is_destroyed_and_the_sums_are_right_whatever_is_done,
	                    0, NR_SEEDS);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
