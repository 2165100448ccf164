/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "../../daemon/base/clock.h"
#include "blocks-file.h"
#include "suite.h"

static void set_ours(struct block_record *record, uint64_t first, uint64_t last)
{
	for (uint64_t block = first; block <= last; block++)
		block_record_set_ours(record, block, true);
}

START_TEST(test_a_record_without_a_file_is_empty_and_makes_none_unless_it_changes)
{
	scoped(block_record_freep) struct block_record *record = blocks_reopen(false);

	ck_assert_uint_eq(block_record_nr(record), 0);
	ck_assert(!block_record_find(record, 0, NULL));
	block_record_remove(record, 0);
	block_record_set_ours(record, 0, true);
	block_record_set_given_up(record, 0, true);
	ck_assert_uint_eq(block_record_nr(record), 0);
	ck_assert_int_eq(block_record_save(record), 0);
	blocks_expect_nr_files(0);
	ck_assert_ptr_null(block_record_free(NULL));
}
END_TEST

START_TEST(test_what_was_saved_is_read_again_as_runs)
{
	scoped(block_record_freep) struct block_record *record = blocks_reopen(false);
	scoped(block_record_freep) struct block_record *again = NULL;
	struct stat status;

	blocks_add(record, 40, 49);
	blocks_add(record, 7, 7);
	blocks_add(record, 50, 52);
	set_ours(record, 42, 44);
	ck_assert_int_eq(block_record_leave(record, 8), 0);
	(void) umask(077);
	ck_assert_int_eq(block_record_save(record), 0);
	blocks_expect_file("7-7 seen\n8-8 left\n40-41 seen\n42-44 ours\n45-52 seen\n");
	blocks_expect_nr_files(1);
	ck_assert_int_eq(stat(blocks_path, &status), 0);
	ck_assert_int_eq(status.st_mode & 07777, 0644);
	again = blocks_reopen(false);
	ck_assert_uint_eq(block_record_nr(again), 15);
	blocks_expect(again, 7, false, false, false);
	blocks_expect(again, 8, false, true, false);
	blocks_expect(again, 41, false, false, false);
	blocks_expect(again, 42, true, false, false);
	blocks_expect(again, 44, true, false, false);
	blocks_expect(again, 52, false, false, false);
	for (size_t i = 0; i < 5; i++)
		ck_assert(!block_record_find(again, (uint64_t[]){ 0, 6, 9, 39, 53 }[i], NULL));
}
END_TEST

START_TEST(test_a_file_is_written_only_after_a_change)
{
	scoped(block_record_freep) struct block_record *record = blocks_reopen(false);

	blocks_add(record, 1, 3);
	ck_assert_int_eq(block_record_save(record), 0);
	/* From here on a write would show. */
	blocks_put("mark", 4);
	blocks_add(record, 1, 3);
	block_record_set_ours(record, 2, false);
	block_record_set_given_up(record, 2, true);
	block_record_remove(record, 9);
	ck_assert_int_eq(block_record_leave(record, 2), 0);
	ck_assert_int_eq(block_record_save(record), 0);
	blocks_expect_file("mark");
	block_record_set_ours(record, 2, true);
	ck_assert_int_eq(block_record_save(record), 0);
	blocks_expect_file("1-1 seen\n2-2 ours\n3-3 seen\n");
	blocks_put("mark", 4);
	block_record_set_ours(record, 2, true);
	ck_assert_int_eq(block_record_save(record), 0);
	blocks_expect_file("mark");
	block_record_remove(record, 2);
	ck_assert_int_eq(block_record_save(record), 0);
	blocks_expect_file("1-1 seen\n3-3 seen\n");
}
END_TEST

START_TEST(test_what_was_given_up_is_not_in_the_file)
{
	scoped(block_record_freep) struct block_record *record = blocks_reopen(false);
	scoped(block_record_freep) struct block_record *again = NULL;

	blocks_add(record, 1, 9);
	block_record_set_given_up(record, 5, true);
	block_record_set_given_up(record, 7, true);
	blocks_expect(record, 5, false, false, true);
	blocks_expect(record, 6, false, false, false);
	ck_assert_int_eq(block_record_save(record), 0);
	blocks_expect_file("1-9 seen\n");
	again = blocks_reopen(false);
	blocks_expect(again, 5, false, false, false);
	block_record_set_given_up(record, 5, false);
	blocks_expect(record, 5, false, false, false);
	blocks_expect(record, 7, false, false, true);
}
END_TEST

START_TEST(test_a_block_that_is_left_becomes_a_candidate_when_it_is_added_or_ours)
{
	scoped(block_record_freep) struct block_record *record = blocks_reopen(false);

	for (uint64_t block = 1; block <= 5; block++)
		ck_assert_int_eq(block_record_leave(record, block), 0);
	blocks_expect(record, 3, false, true, false);
	blocks_add(record, 2, 2);
	blocks_expect(record, 2, false, false, false);
	block_record_set_ours(record, 4, true);
	blocks_expect(record, 4, true, false, false);
	/* Not ours it was before: it is left still. */
	block_record_set_ours(record, 5, false);
	blocks_expect(record, 5, false, true, false);
	ck_assert_uint_eq(block_record_nr(record), 5);
	ck_assert_int_eq(block_record_save(record), 0);
	blocks_expect_file("1-1 left\n2-2 seen\n3-3 left\n4-4 ours\n5-5 left\n");
	/* What a pool has had is not left by anybody's leave. */
	ck_assert_int_eq(block_record_leave(record, 4), 0);
	blocks_expect(record, 4, true, false, false);
}
END_TEST

START_TEST(test_a_block_that_was_taken_away_stays_on_record_until_it_is_given_back)
{
	scoped(block_record_freep) struct block_record *record = blocks_reopen(false);
	scoped(block_record_freep) struct block_record *again = NULL;
	struct block_record_entry entry;

	blocks_add(record, 1, 4);
	set_ours(record, 2, 2);
	ck_assert_int_eq(block_record_leave(record, 5), 0);
	for (uint64_t block = 1; block <= 6; block++)
		block_record_take_away(record, block);
	ck_assert_int_eq(block_record_save(record), 0);
	blocks_expect_file("1-4 taken\n5-5 left\n");
	again = blocks_reopen(false);
	ck_assert(block_record_find(again, 2, &entry) && entry.is_taken && !entry.is_ours);
	block_record_give_back(again, 2);
	block_record_give_back(again, 5);
	block_record_set_ours(again, 3, true);
	ck_assert_int_eq(block_record_save(again), 0);
	blocks_expect_file("1-1 taken\n2-2 seen\n3-3 ours\n4-4 taken\n5-5 left\n");
}
END_TEST

/* ---- against a plain array ---- */

enum { NR_MODEL = 48 };

struct model_entry {
	bool is_on_record, is_ours, is_left, is_given_up;
};

static void model_step(struct block_record *record, struct model_entry *entries, unsigned random)
{
	unsigned block = random / 16 % NR_MODEL;
	struct model_entry *entry = &entries[block];
	bool flag = random / 1024 % 2;

	switch (random % 16) {
	case 0:
	case 1:
	case 2:
		block_record_remove(record, block);
		*entry = (struct model_entry){ 0 };
		break;
	case 3:
		ck_assert_int_eq(block_record_leave(record, block), 0);
		if (!entry->is_on_record)
			*entry = (struct model_entry){ .is_on_record = true, .is_left = true };
		break;
	case 4:
	case 5:
	case 6:
		block_record_set_ours(record, block, flag);
		if (entry->is_on_record)
			entry->is_ours = flag;
		if (flag)
			entry->is_left = false;
		break;
	case 7:
	case 8:
	case 9:
		block_record_set_given_up(record, block, flag);
		entry->is_given_up = entry->is_on_record && flag;
		break;
	default:
		ck_assert_int_eq(block_record_add(record, block), 0);
		entry->is_on_record = true;
		entry->is_left = false;
	}
}

static void model_compare(const struct block_record *record, const struct model_entry *entries,
                          bool is_given_up_known)
{
	size_t nr = 0;

	for (unsigned block = 0; block < NR_MODEL; block++) {
		const struct model_entry *entry = &entries[block];

		nr += entry->is_on_record;
		if (entry->is_on_record)
			blocks_expect(record, block, entry->is_ours, entry->is_left,
			              entry->is_given_up && is_given_up_known);
		else if (block_record_find(record, block, NULL))
			ck_abort_msg("block %u is on record", block);
	}
	ck_assert_uint_eq(block_record_nr(record), nr);
}

/* No line of the file may go on where the one before ends. */
static void expect_runs_to_differ(void)
{
	scoped(file_closep) FILE *file = fopen(blocks_path, "re");
	uint64_t first, last, end = UINT64_MAX;
	char word[8], before[8] = "";

	ck_assert_ptr_nonnull(file);
	while (fscanf(file, "%" SCNu64 "-%" SCNu64 " %7s\n", &first, &last, word) == 3) {
		ck_assert(first != end || strcmp(word, before) != 0);
		end = last + 1;
		memcpy(before, word, sizeof(before));
	}
}

START_TEST(test_any_order_of_changes_leaves_what_a_plain_array_would_have)
{
	scoped(block_record_freep) struct block_record *record = blocks_reopen(false);
	struct model_entry entries[NR_MODEL] = { 0 };
	unsigned random = 20261201U + (unsigned) _i;

	for (unsigned i = 0; i < 4000; i++) {
		random = random * 1103515245U + 12345U;
		model_step(record, entries, random >> 8);
		model_compare(record, entries, true);
		if (i % 100 == 99) {
			scoped(block_record_freep) struct block_record *again = NULL;

			ck_assert_int_eq(block_record_save(record), 0);
			again = blocks_reopen(false);
			model_compare(again, entries, false);
			expect_runs_to_differ();
		}
	}
}
END_TEST

START_TEST(test_in_memory_only_there_is_nothing_to_save)
{
	scoped(block_record_freep) struct block_record *record = NULL;
	bool is_damaged = true;

	ck_assert_int_eq(block_record_open(NULL, &record, &is_damaged), 0);
	ck_assert(!is_damaged);
	blocks_add(record, 1, 2);
	ck_assert_int_eq(block_record_save(record), 0);
	ck_assert_uint_eq(block_record_nr(record), 2);
}
END_TEST

/* ---- many, and at the same time ---- */

START_TEST(test_a_hundred_thousand_blocks_are_fast)
{
	enum { NR = 100000 };
	scoped(block_record_freep) struct block_record *record = blocks_reopen(false);
	struct block_record_entry entry;
	uint64_t begin_usec = clock_monotonic_usec();

	/* Node 1 before node 0, each ascending. */
	blocks_add(record, NR / 2, NR - 1);
	blocks_add(record, 0, NR / 2 - 1);
	set_ours(record, 0, NR - 1);
	for (uint64_t block = 0; block < NR; block += 2)
		block_record_set_given_up(record, block, true);
	ck_assert_int_eq(block_record_save(record), 0);
	for (uint64_t block = 0; block < NR; block++)
		if (!block_record_find(record, block, &entry) || !entry.is_ours ||
		    entry.is_given_up != (block % 2 == 0))
			ck_abort_msg("block %" PRIu64, block);
	blocks_expect_file("0-99999 ours\n");
	ck_assert_uint_lt(clock_monotonic_usec() - begin_usec, 20 * 1000 * 1000);
}
END_TEST

struct marker {
	struct block_record *record;
	uint64_t first;
};

/* A worker's blocks, while the main thread saves. */
static void *mark(void *arg)
{
	const struct marker *marker = arg;

	for (uint64_t block = marker->first; block < marker->first + 500; block++) {
		struct block_record_entry entry;

		if (block_record_add(marker->record, block) < 0)
			return NULL;
		block_record_set_given_up(marker->record, block, true);
		block_record_set_ours(marker->record, block, true);
		block_record_set_given_up(marker->record, block, false);
		if (!block_record_find(marker->record, block, &entry) || !entry.is_ours)
			return NULL;
		if (block % 10 == 9)
			block_record_remove(marker->record, block);
	}
	return arg;
}

START_TEST(test_workers_mark_blocks_while_the_record_is_saved)
{
	scoped(block_record_freep) struct block_record *record = blocks_reopen(false);
	struct marker markers[4];
	pthread_t threads[4];

	for (size_t i = 0; i < ELEMENTS(threads); i++) {
		markers[i] = (struct marker){ .record = record, .first = 1000 * i };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, mark, &markers[i]), 0);
	}
	for (unsigned i = 0; i < 200; i++) {
		scoped(block_record_freep) struct block_record *again = NULL;

		ck_assert_int_eq(block_record_save(record), 0);
		again = blocks_reopen(false);
		ck_assert_uint_le(block_record_nr(again), block_record_nr(record) + 4 * 50);
	}
	for (size_t i = 0; i < ELEMENTS(threads); i++) {
		void *result;

		ck_assert_int_eq(pthread_join(threads[i], &result), 0);
		ck_assert_ptr_eq(result, &markers[i]);
	}
	/* What came while it was written is in the next one. */
	ck_assert_int_eq(block_record_save(record), 0);
	block_record_freep(&record);
	record = blocks_reopen(false);
	ck_assert_uint_eq(block_record_nr(record), 4 * 450);
	blocks_expect(record, 3498, true, false, false);
}
END_TEST

static TCase *contents_case(void)
{
	TCase *tcase = tcase_create("contents");

	tcase_add_test(tcase,
	               test_a_record_without_a_file_is_empty_and_makes_none_unless_it_changes);
	tcase_add_test(tcase, test_what_was_saved_is_read_again_as_runs);
	tcase_add_test(tcase, test_a_file_is_written_only_after_a_change);
	tcase_add_test(tcase, test_what_was_given_up_is_not_in_the_file);
	tcase_add_test(tcase,
	               test_a_block_that_is_left_becomes_a_candidate_when_it_is_added_or_ours);
	tcase_add_loop_test(tcase, test_any_order_of_changes_leaves_what_a_plain_array_would_have,
	                    0, 8);
	tcase_add_test(tcase, test_in_memory_only_there_is_nothing_to_save);
	tcase_add_test(tcase,
	               test_a_block_that_was_taken_away_stays_on_record_until_it_is_given_back);
	return tcase;
}

static TCase *many_case(void)
{
	TCase *tcase = tcase_create("many");

	tcase_add_test(tcase, test_a_hundred_thousand_blocks_are_fast);
	tcase_add_test(tcase, test_workers_mark_blocks_while_the_record_is_saved);
	return tcase;
}

int main(void)
{
	TCase *const tcases[] = { contents_case(), many_case() };
	Suite *suite = suite_create("block-record");

	for (size_t i = 0; i < ELEMENTS(tcases); i++) {
		tcase_add_checked_fixture(tcases[i], blocks_setup, blocks_teardown);
		tcase_set_timeout(tcases[i], 60);
		suite_add_tcase(suite, tcases[i]);
	}
	return suite_main(suite);
}
