/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blocks-file.h"
#include "suite.h"

char blocks_directory[PATH_MAX / 2];
char blocks_path[PATH_MAX];

static int remove_entry(const char *name, const struct stat *status, int type, struct FTW *walk)
{
	(void) status;
	(void) type;
	(void) walk;
	return remove(name);
}

void blocks_setup(void)
{
	const char *parent = getenv("TMPDIR");

	(void) snprintf(blocks_directory, sizeof(blocks_directory), "%s/test-block-record.XXXXXX",
	                parent && *parent ? parent : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(blocks_directory));
	(void) snprintf(blocks_path, sizeof(blocks_path), "%s/blocks", blocks_directory);
}

void blocks_teardown(void)
{
	ck_assert_int_eq(nftw(blocks_directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void blocks_put(const void *data, size_t nr_bytes)
{
	FILE *file;

	/* A new file: some file systems write one out at once that was cut to nothing before. */
	(void) unlink(blocks_path);
	file = fopen(blocks_path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(data, 1, nr_bytes, file), nr_bytes);
	ck_assert_int_eq(fclose(file), 0);
}

void blocks_expect_file(const char *expected)
{
	char text[4096] = "";
	scoped(file_closep) FILE *file = fopen(blocks_path, "re");

	ck_assert_ptr_nonnull(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	ck_assert_str_eq(text, expected);
}

void blocks_expect_nr_files(unsigned expected)
{
	scoped(dir_closep) DIR *dir = opendir(blocks_directory);
	unsigned nr = 0;

	ck_assert_ptr_nonnull(dir);
	for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		nr += entry->d_name[0] != '.';
	ck_assert_uint_eq(nr, expected);
}

struct block_record *blocks_reopen(bool expect_damaged)
{
	struct block_record *record = NULL;
	bool is_damaged = !expect_damaged;

	ck_assert_int_eq(block_record_open(blocks_path, &record, &is_damaged), 0);
	ck_assert_int_eq(is_damaged, expect_damaged);
	return record;
}

void blocks_add(struct block_record *record, uint64_t first, uint64_t last)
{
	for (uint64_t block = first; block <= last; block++)
		if (block_record_add(record, block) < 0)
			ck_abort_msg("block %" PRIu64 " cannot be put on record", block);
}

void blocks_expect(const struct block_record *record, uint64_t block, bool is_ours, bool is_left,
                   bool is_given_up)
{
	struct block_record_entry entry = { 0 };

	/* One assertion, for there are many blocks and each one is a system call of Check's. */
	ck_assert_msg(block_record_find(record, block, &entry) && entry.block == block &&
	                      entry.is_ours == is_ours && entry.is_left == is_left &&
	                      entry.is_given_up == is_given_up,
	              "block %" PRIu64 ": ours %d, left %d, given up %d", block, entry.is_ours,
	              entry.is_left, entry.is_given_up);
}
