/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lines.h - the lines of a file, as systemd.syntax(7) reads them
 *
 * Layer: config. Threads: one at a time.
 *
 * Comments and blank lines are left out. A backslash at the end joins the next line with one
 * blank; comment lines in between do not end that. A comment also begins at a blank that is
 * followed by "#" or ";". Line ends are LF or CRLF; a byte order mark is skipped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config.h"

struct lines {
	const char *text; /* borrowed */
	size_t text_bytes;
	size_t offset_bytes;
	unsigned nr_read; /* physical lines */
	bool is_over;     /* nothing after this can be understood */
};

struct line {
	unsigned number; /* of its first physical line, from 1 */
	const char
		*fault; /* why it cannot be used, a sentence without its subject, or NULL. Static */
	size_t text_bytes;
	char text[CONFIG_LINE_BYTES_MAX + 1]; /* no blanks around it, not empty */
};

/* Begin at the start of @text, which is borrowed. */
void lines_init(const char *text, size_t text_bytes, struct lines *ret);

/* Return: true and *ret; false at the end. */
bool lines_next(struct lines *lines, struct line *ret);
