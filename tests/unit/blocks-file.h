/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * blocks-file.h - a record of memory blocks, and its file in a directory of its own
 *
 * For tests of block-record.h. Functions end the running test where something goes wrong.
 */
#pragma once

#include <limits.h>

#include "../../daemon/machine/block-record.h"

/* Where the file is, or is to be, and its directory. */
extern char blocks_directory[PATH_MAX / 2];
extern char blocks_path[PATH_MAX];

/* For the fixture: an empty directory, which is removed in the end. */
void blocks_setup(void);
void blocks_teardown(void);

void blocks_put(const void *data, size_t nr_bytes);
/* Assert what is in the file. */
void blocks_expect_file(const char *expected);
/* Assert how many files are in the directory: those of a writer that failed are not left. */
void blocks_expect_nr_files(unsigned expected);

/* Open the record, and assert whether it is damaged. The caller owns it. */
struct block_record *blocks_reopen(bool expect_damaged);

/* Blocks @first to @last. */
void blocks_add(struct block_record *record, uint64_t first, uint64_t last);
void blocks_expect(const struct block_record *record, uint64_t block, bool is_ours, bool is_left,
                   bool is_given_up);
