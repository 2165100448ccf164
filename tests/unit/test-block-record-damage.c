/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files that cannot be read as a record, and writers that cannot write, or are stopped. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blocks-file.h"
#include "suite.h"

START_TEST(test_a_file_with_a_line_that_is_not_to_the_letter_is_empty_as_a_whole)
{
	static const char *const bad[] = {
		"x",
		"\n",
		"1-2 seen",
		"1-2 seen\n\n",
		"1-2 seen\n3-4 ours",
		"1-2 seen \n",
		" 1-2 seen\n",
		"1-2  seen\n",
		"1-2 seen\r\n",
		"01-2 seen\n",
		"1-02 seen\n",
		"+1-2 seen\n",
		"-1-2 seen\n",
		"1 seen\n",
		"1-2\n",
		"1-2 Seen\n",
		"1-2 seens\n",
		"1-2 see\n",
		"2-1 seen\n",
		"1-2 seen\n2-3 seen\n",
		"5-6 seen\n1-2 seen\n",
		"1-2 seen\n1-2 seen\n",
		"0-0 seen\n0-1 ours\n",
		"0-18446744073709551615 seen\n",
		"1-18446744073709551616 seen\n",
		"18446744073709551616-18446744073709551616 seen\n",
		"0-4194304 seen\n",
		"0-4194302 seen\n5000000-5000001 ours\n",
		"1-2 seen\n3-4 ours                                                              "
		"\n",
	};

	for (size_t i = 0; i < ELEMENTS(bad); i++) {
		scoped(block_record_freep) struct block_record *record = NULL;

		blocks_put(bad[i], strlen(bad[i]));
		record = blocks_reopen(true);
		ck_assert_msg(block_record_nr(record) == 0, "%s", bad[i]);
		ck_assert(!block_record_find(record, 1, NULL));
		/* Told or not told, it is the same. */
		record = block_record_free(record);
		ck_assert_int_eq(block_record_open(blocks_path, &record, NULL), 0);
	}
}
END_TEST

START_TEST(test_a_damaged_file_is_replaced_by_the_next_save)
{
	scoped(block_record_freep) struct block_record *record = NULL;

	blocks_put("1-2 seen\n3", 10);
	record = blocks_reopen(true);
	ck_assert_int_eq(block_record_save(record), 0);
	blocks_expect_file("");
	blocks_add(record, 5, 6);
	ck_assert_int_eq(block_record_save(record), 0);
	blocks_expect_file("5-6 seen\n");
}
END_TEST

START_TEST(test_the_largest_record_is_read_and_takes_no_more)
{
	scoped(block_record_freep) struct block_record *record = NULL;

	blocks_put("0-4194302 seen\n18446744073709551615-18446744073709551615 ours\n", 62);
	record = blocks_reopen(false);
	ck_assert_uint_eq(block_record_nr(record), BLOCK_RECORD_BLOCKS_MAX);
	blocks_expect(record, UINT64_MAX, true, false, false);
	ck_assert_int_eq(block_record_add(record, 4194303), -E2BIG);
	ck_assert_int_eq(block_record_leave(record, 4194303), -E2BIG);
	ck_assert_int_eq(block_record_add(record, 7), 0);
	block_record_remove(record, UINT64_MAX);
	ck_assert_int_eq(block_record_add(record, 4194303), 0);
}
END_TEST

/* Whatever a byte turns into: all of the record is gone, or it is another one that could be. */
START_TEST(test_damage_of_any_byte_is_told_or_gives_another_whole_record)
{
	static const char whole[] = "10-19 seen\n20-29 ours\n31-31 left\n40-41 seen\n";
	char text[sizeof(whole)];
	unsigned nr_told = 0;

	for (size_t i = 0; i < strlen(whole); i++)
		for (unsigned byte = 0; byte < 256; byte++) {
			scoped(block_record_freep) struct block_record *record = NULL;
			bool is_damaged = false;

			if ((unsigned char) whole[i] == byte)
				continue;
			memcpy(text, whole, sizeof(whole));
			text[i] = (char) byte;
			blocks_put(text, strlen(whole));
			ck_assert_int_eq(block_record_open(blocks_path, &record, &is_damaged), 0);
			nr_told += is_damaged;
			/* A digit that is another digit now is all that cannot be told. */
			ck_assert_msg(is_damaged || (byte >= '0' && byte <= '9'), "%zu %u", i,
			              byte);
			ck_assert(is_damaged == (block_record_nr(record) == 0));
		}
	ck_assert_uint_gt(nr_told, 255 * strlen(whole) * 9 / 10);
}
END_TEST

START_TEST(test_a_file_that_was_cut_inside_a_line_is_damaged)
{
	static const char whole[] = "10-19 seen\n20-29 ours\n";

	for (size_t nr_bytes = 0; nr_bytes <= strlen(whole); nr_bytes++) {
		scoped(block_record_freep) struct block_record *record = NULL;

		blocks_put(whole, nr_bytes);
		record = blocks_reopen(nr_bytes % 11 != 0);
		ck_assert_uint_eq(block_record_nr(record), nr_bytes % 11 ? 0 : nr_bytes / 11 * 10);
	}
}
END_TEST

START_TEST(test_what_is_no_regular_file_is_damaged_and_not_waited_for)
{
	char other[PATH_MAX];

	ck_assert_int_eq(mkfifo(blocks_path, 0600), 0);
	block_record_free(blocks_reopen(true));
	ck_assert_int_eq(unlink(blocks_path), 0);
	ck_assert_int_eq(mkdir(blocks_path, 0700), 0);
	block_record_free(blocks_reopen(true));
	ck_assert_int_eq(rmdir(blocks_path), 0);
	blocks_put("1-2 seen\n", 9);
	(void) snprintf(other, sizeof(other), "%s/other", blocks_directory);
	ck_assert_int_eq(rename(blocks_path, other), 0);
	ck_assert_int_eq(symlink("other", blocks_path), 0);
	block_record_free(blocks_reopen(true));
}
END_TEST

START_TEST(test_without_its_directory_a_record_cannot_be_saved_and_goes_on)
{
	scoped(block_record_freep) struct block_record *record = NULL;
	char missing[sizeof(blocks_directory) + 16];

	(void) snprintf(missing, sizeof(missing), "%s/run/blocks", blocks_directory);
	ck_assert_int_eq(block_record_open(missing, &record, NULL), 0);
	blocks_add(record, 1, 2);
	ck_assert_int_eq(block_record_save(record), -ENOENT);
	ck_assert_int_eq(block_record_save(record), -ENOENT);
	ck_assert_uint_eq(block_record_nr(record), 2);
	/* Once it can, it does. */
	*strrchr(missing, '/') = '\0';
	ck_assert_int_eq(mkdir(missing, 0755), 0);
	ck_assert_int_eq(block_record_save(record), 0);
	(void) snprintf(blocks_path, sizeof(blocks_path), "%s/blocks", missing);
	blocks_expect_file("1-2 seen\n");
}
END_TEST

/* An old file of 3 blocks, and a record with 60 lines to be saved over it. */
static struct block_record *many_lines(void)
{
	struct block_record *record;

	blocks_put("1-3 ours\n", 9);
	record = blocks_reopen(false);
	for (uint64_t block = 1000; block < 1120; block += 2)
		blocks_add(record, block, block);
	return record;
}

/* Check writes down what it asserts, and runs into the limit, too: nothing is asserted here. */
static void limit_files(rlim_t nr_bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0)
		abort();
	limit.rlim_cur = nr_bytes < limit.rlim_max ? nr_bytes : limit.rlim_max;
	if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
		abort();
}

static int save_limited(struct block_record *record, rlim_t nr_bytes)
{
	int r;

	limit_files(nr_bytes);
	r = block_record_save(record);
	limit_files(RLIM_INFINITY);
	return r;
}

START_TEST(test_a_disk_that_is_full_at_any_byte_leaves_the_old_file)
{
	scoped(block_record_freep) struct block_record *record = many_lines();
	const rlim_t nr_bytes_max = 9 + 60 * strlen("1000-1000 seen\n");

	ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	for (rlim_t nr_bytes = 0; nr_bytes < nr_bytes_max; nr_bytes++) {
		int r = save_limited(record, nr_bytes);

		ck_assert_int_eq(r, -EFBIG);
		blocks_expect_file("1-3 ours\n");
		blocks_expect_nr_files(1);
	}
	ck_assert_int_eq(save_limited(record, nr_bytes_max), 0);
	ck_assert_uint_eq(block_record_nr(record), 63);
	block_record_free(blocks_reopen(false));
}
END_TEST

/* Return: whether the writer came to its end. */
static bool save_until(struct block_record *record, rlim_t nr_bytes)
{
	pid_t child = fork();
	int status;

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		struct rlimit no_core = { 0 };

		(void) signal(SIGXFSZ, SIG_DFL);
		(void) setrlimit(RLIMIT_CORE, &no_core);
		limit_files(nr_bytes);
		_exit(block_record_save(record) == 0 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	/* Checked by the sanitizers' runtime or not, it did not fail by itself. */
	ck_assert(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	return !WIFSIGNALED(status);
}

START_TEST(test_a_writer_that_is_killed_at_any_byte_leaves_the_old_file_or_the_new_one)
{
	scoped(block_record_freep) struct block_record *record = many_lines();
	const rlim_t nr_bytes_max = 9 + 60 * strlen("1000-1000 seen\n");

	for (rlim_t nr_bytes = 0; nr_bytes < nr_bytes_max; nr_bytes += 7) {
		ck_assert(!save_until(record, nr_bytes));
		blocks_expect_file("1-3 ours\n");
	}
	ck_assert(save_until(record, nr_bytes_max));
	record = block_record_free(record);
	record = blocks_reopen(false);
	ck_assert_uint_eq(block_record_nr(record), 63);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("block-record-damage");
	TCase *tcase = tcase_create("damage");

	tcase_add_checked_fixture(tcase, blocks_setup, blocks_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase,
	               test_a_file_with_a_line_that_is_not_to_the_letter_is_empty_as_a_whole);
	tcase_add_test(tcase, test_a_damaged_file_is_replaced_by_the_next_save);
	tcase_add_test(tcase, test_the_largest_record_is_read_and_takes_no_more);
	tcase_add_test(tcase, test_damage_of_any_byte_is_told_or_gives_another_whole_record);
	tcase_add_test(tcase, test_a_file_that_was_cut_inside_a_line_is_damaged);
	tcase_add_test(tcase, test_what_is_no_regular_file_is_damaged_and_not_waited_for);
	tcase_add_test(tcase, test_without_its_directory_a_record_cannot_be_saved_and_goes_on);
	tcase_add_test(tcase, test_a_disk_that_is_full_at_any_byte_leaves_the_old_file);
	tcase_add_test(tcase,
	               test_a_writer_that_is_killed_at_any_byte_leaves_the_old_file_or_the_new_one);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
