/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * block-record-file.h - the file of the record of memory blocks
 *
 * Layer: machine, inside only. Threads: any; no state. The format is that of block-record.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "seen", "ours", "left" and "taken" in the file. */
enum block_sort { BLOCK_SEEN, BLOCK_OURS, BLOCK_LEFT, BLOCK_TAKEN, NR_BLOCK_SORTS };

/* Blocks @first to @last, which are alike. */
struct block_run {
	uint64_t first;
	uint64_t last;
	enum block_sort sort;
	bool is_given_up; /* not in the file */
};

/*
 * Hand each line of the file to @take; a value other than 0 ends it and is returned. What is read
 * is regular files only, and nobody is waited for.
 * Return: 0; -ENOENT; -EBADMSG a line is damaged, or not above the one before; other -errno.
 */
int block_record_file_read(const char *path,
                           int (*take_run)(const struct block_run *run, void *arg), void *arg);

/* Return: 0 and *ret, which the caller frees; -ENOMEM. */
int block_record_file_format(const struct block_run *runs, size_t nr_runs, char **ret);

/*
 * Write a new file beside it (mode 0644) and rename that over it. The directory must exist.
 * Return: 0; -errno, and the old file stands.
 */
int block_record_file_write(const char *path, const char *text);
