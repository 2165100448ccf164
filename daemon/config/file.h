/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * file.h - one configuration file, read as a whole
 *
 * Layer: config. Threads: one at a time. Does not block on a FIFO and opens no device: only
 * regular files are opened.
 */
#pragma once

#include <stddef.h>

#include "notes.h"

/* Owned; freed by conf_file_clear(). */
struct conf_file {
	char *path;
	char *text; /* may hold NUL bytes; one more follows the text */
	size_t text_bytes;
};

/* Free what it has; it is empty afterwards, as one that is all zero. */
void conf_file_clear(struct conf_file *file);

/*
 * Read @path. Return: 1 and *ret; 0 it masks (an empty file, or /dev/null); -EINVAL it cannot be
 * used, which is noted; -ENOMEM.
 */
int conf_file_read(const char *path, struct notes *notes, struct conf_file *ret);
