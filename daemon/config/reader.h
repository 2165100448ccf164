/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * reader.h - sections and assignments of a file, through libinih
 *
 * Layer: config. Threads: one at a time.
 *
 * libinih takes what it is served into a buffer of its own (200 bytes, unless it was built
 * otherwise) and reports neither line numbers nor what it cut. So lines are served one at a time,
 * and a longer value in pieces, as several assignments of its key, which are put together again.
 */
#pragma once

#include "file.h"

/* A longer one is no key of ours, and is not served. */
#define KEY_BYTES_MAX 64

/* What is found, in the order of the file. All texts are borrowed for the call. */
struct reader_ops {
	void (*section)(void *user, const char *section, struct position position);
	void (*assignment)(void *user, const char *section, const char *key, const char *value,
	                   struct position position);
};

/* What is neither is noted and refuses the file. Return: 0; -ENOMEM. */
int reader_run(const struct conf_file *file, struct notes *notes, const struct reader_ops *ops,
               void *user);
