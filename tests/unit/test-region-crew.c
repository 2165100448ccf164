/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Regions in the hands of several threads: a crew that fills them, and a main thread that lends. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>

#include "kinds-drive.h"
#include "suite.h"

#define BASE   UINT64_C(4096)
#define REGION (256 * MIB)

static struct drive drive;

static void set_up(void)
{
	drive_open(&drive);
}

static void tear_down(void)
{
	drive_close(&drive);
}

static struct share *one_share(enum plan_page page, uint64_t page_bytes, uint64_t nr_regions)
{
	drive_add(&drive, POOL_REGION, page, page_bytes, nr_regions * REGION, 0, REGION);
	drive_make(&drive);
	return drive.shares[0];
}

static struct memory_model_counts counts(void)
{
	struct memory_model_counts ret;

	memory_model_counts(&ret);
	return ret;
}

struct crew_member {
	struct part *part;
	_Atomic uint64_t *next;
};

static void *crew_main(void *arg)
{
	struct crew_member *member = arg;
	uint64_t i;

	while ((i = (*member->next)++) < member->part->nr_chunks)
		if (member->part->share->ops->run_chunk(member->part, i) < 0)
			break;
	return NULL;
}

static int crew_round(struct part *part, unsigned nr_threads)
{
	_Atomic uint64_t next = 0;
	struct crew_member member = { part, &next };
	pthread_t threads[8];
	int r;

	r = part->share->ops->prepare(part);
	for (unsigned i = 0; r == 0 && i < nr_threads; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, crew_main, &member), 0);
	for (unsigned i = 0; r == 0 && i < nr_threads; i++)
		(void) pthread_join(threads[i], NULL);
	return part->share->ops->finish(part, false);
}

static const enum plan_page crew_pages[] = { PLAN_PAGE_BASE, PLAN_PAGE_THP };

START_TEST(test_a_crew_fills_each_byte_once_and_readers_may_look_meanwhile)
{
	struct share *share =
		one_share(crew_pages[_i], crew_pages[_i] == PLAN_PAGE_THP ? HUGE : BASE, 13);

	memory_model_fail_populate(2, 70 * MIB, EHWPOISON, 1);
	while (crew_round(&share->parts[STAGE_EARLY], 4) != 0)
		ck_assert_uint_le(drive_status(share).done_bytes, 13 * REGION);
	ck_assert_uint_eq(drive_status(share).done_bytes, 13 * REGION);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 13);
	ck_assert_uint_eq(counts().resident_bytes, 13 * REGION);
	ck_assert_uint_eq(drive_status(share).nr_poisoned, 1);
}
END_TEST

START_TEST(test_files_of_thp_have_one_writer_each_while_there_are_enough)
{
	struct share *share = one_share(PLAN_PAGE_THP, HUGE, 12);
	struct part *part = &share->parts[STAGE_EARLY];
	_Atomic uint64_t next = 0;
	struct crew_member member = { part, &next };
	pthread_t threads[4];

	ck_assert_int_eq(share->ops->prepare(part), 0);
	/* All but the end, where there are fewer files than threads. */
	next = 4 * 3 + 4;
	memory_model_gate_close();
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, crew_main, &member), 0);
	ck_assert(memory_model_gate_wait(4, 20000000));
	/* Four at the same time, each at the first chunk of its own file. */
	ck_assert_uint_eq(counts().max_mapped, 4);
	ck_assert_uint_eq(counts().max_writers, 1);
	memory_model_gate_open(UINT_MAX);
	for (unsigned i = 0; i < 4; i++)
		(void) pthread_join(threads[i], NULL);
	ck_assert_uint_eq(counts().max_writers, 1);
	(void) share->ops->finish(part, true);
}
END_TEST

START_TEST(test_other_memory_takes_the_whole_crew_at_one_region_after_another)
{
	struct share *share = one_share(PLAN_PAGE_BASE, BASE, 4);
	struct part *part = &share->parts[STAGE_EARLY];
	_Atomic uint64_t next = 0;
	struct crew_member member = { part, &next };
	pthread_t threads[4];

	ck_assert_int_eq(share->ops->prepare(part), 0);
	memory_model_gate_close();
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, crew_main, &member), 0);
	ck_assert(memory_model_gate_wait(4, 20000000));
	ck_assert_uint_eq(counts().nr_made, 1);
	ck_assert_uint_eq(counts().max_writers, 4);
	memory_model_gate_open(UINT_MAX);
	for (unsigned i = 0; i < 4; i++)
		(void) pthread_join(threads[i], NULL);
	ck_assert_int_eq(share->ops->finish(part, false), 0);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 4);
}
END_TEST

START_TEST(test_a_crew_that_runs_short_leaves_whole_regions)
{
	struct share *share = one_share(PLAN_PAGE_THP, HUGE, 16);
	int r;

	memory_model_limit(5 * REGION, ENOMEM);
	while ((r = crew_round(&share->parts[STAGE_EARLY], 4)) != 0)
		ck_assert_int_eq(r, -EAGAIN);
	ck_assert_uint_eq(drive_status(share).done_bytes % REGION, 0);
	ck_assert_uint_eq(counts().resident_bytes, drive_status(share).done_bytes);
	ck_assert_uint_eq(drive_regions(share).nr_ready * REGION, drive_status(share).done_bytes);
}
END_TEST

struct engine {
	struct share *share;
	unsigned nr_threads;
	_Atomic unsigned nr_rounds;
	_Atomic bool is_stopped;
};

/* As a worker: rounds with a crew, and a smaller share from time to time. */
static void *engine_main(void *arg)
{
	struct engine *engine = arg;
	struct share *share = engine->share;
	struct part *part = &share->parts[STAGE_EARLY];

	while (!atomic_load(&engine->is_stopped)) {
		while (crew_round(part, engine->nr_threads) != 0)
			;
		if (++engine->nr_rounds % 20 == 0 && part->want_bytes > 6 * REGION)
			(void) share->ops->share_shrink(share, part->want_bytes - REGION);
	}
	return NULL;
}

static void take_news(struct share *share)
{
	struct region_news news;

	while (region_next_news(share, &news))
		(void) fd_close(news.fd);
}

enum ending { UNLENT, RETURNED, ABANDONED, EMPTIED, NR_ENDINGS };

static void end_lease(struct share *share, uint64_t id, enum ending ending, bool is_told_apart)
{
	/* What is abandoned is in use all the same. */
	if (is_told_apart && ending != ABANDONED)
		memory_model_set_in_use((unsigned) id - 1, 0);
	switch (ending) {
	case UNLENT:
		ck_assert_int_eq(region_unlend(share, id), 0);
		break;
	case ABANDONED:
		ck_assert_int_eq(region_abandon(share, id), 0);
		break;
	case EMPTIED:
		ck_assert_int_eq(region_discard_lent(share, id, 0, REGION), 0);
		ck_assert_int_eq(region_return(share, id), 0);
		break;
	default:
		ck_assert_int_eq(region_return(share, id), 0);
		break;
	}
}

static uint64_t newest_id(void)
{
	return atomic_load(&drive.last_region_id);
}

static bool is_duplicated(struct share *share, uint64_t id)
{
	uint64_t bytes = 0;
	int fd = region_duplicate(share, id, &bytes);

	(void) fd_close(fd);
	return fd >= 0 && bytes == REGION;
}

/* With one thread pieces are made in the order of their ids, and can be told apart by them. */
static const unsigned engine_threads[] = { 1, 3 };

START_TEST(test_the_main_thread_lends_while_the_engine_works)
{
	struct engine engine = {
		.share = one_share(PLAN_PAGE_BASE, BASE, 12),
		.nr_threads = engine_threads[_i],
	};
	const bool is_told_apart = engine.nr_threads == 1;
	struct share *share = engine.share;
	uint64_t ids[4], bytes, nr_lent = 0;
	size_t nr = 0;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, engine_main, &engine), 0);
	/* Six shrinks and more, and leases all the while. */
	while (nr_lent < 300 || atomic_load(&engine.nr_rounds) < 150) {
		if (nr < ELEMENTS(ids) && region_lend(share, 0, &ids[nr], &bytes) == 0) {
			if (is_told_apart)
				memory_model_set_in_use((unsigned) ids[nr] - 1, 1);
			(void) fd_close(region_open_lent(share, ids[nr++]));
			nr_lent++;
		}
		if (nr > 0 && (nr == ELEMENTS(ids) || nr_lent % 3 == 0)) {
			uint64_t id = ids[--nr];

			ck_assert_int_eq(region_is_lent_in_use(share, id), is_told_apart);
			end_lease(share, id, (enum ending)(nr_lent % NR_ENDINGS), is_told_apart);
		}
		/* Of whatever state: filling, ready, lent, being destroyed, or long gone. */
		(void) fd_close(region_duplicate(share, newest_id(), &bytes));
		for (size_t i = 0; i < nr; i++)
			ck_assert(is_duplicated(share, ids[i]));
		ck_assert_uint_le(drive_status(share).done_bytes, 12 * REGION);
		ck_assert_uint_eq(drive_regions(share).nr_lent, nr);
		take_news(share);
	}
	atomic_store(&engine.is_stopped, true);
	(void) pthread_join(thread, NULL);
	ck_assert_uint_eq(counts().nr_destroyed_in_use, 0);
	ck_assert_uint_gt(counts().nr_released, 0);
	while (nr > 0)
		ck_assert_int_eq(region_return(share, ids[--nr]), 0);
	(void) drive_part(&share->parts[STAGE_EARLY]);
	ck_assert_uint_eq(drive_status(share).done_bytes, 6 * REGION);
	ck_assert_uint_eq(drive_regions(share).nr_ready, 6);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region-crew");
	TCase *tcase = tcase_create("threads");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, test_a_crew_fills_each_byte_once_and_readers_may_look_meanwhile,
	                    0, (int) ELEMENTS(crew_pages));
	tcase_add_test(tcase, test_files_of_thp_have_one_writer_each_while_there_are_enough);
	tcase_add_test(tcase, test_other_memory_takes_the_whole_crew_at_one_region_after_another);
	tcase_add_test(tcase, test_a_crew_that_runs_short_leaves_whole_regions);
	tcase_add_loop_test(tcase, test_the_main_thread_lends_while_the_engine_works, 0,
	                    (int) ELEMENTS(engine_threads));
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
