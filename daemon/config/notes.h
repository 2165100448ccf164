/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * notes.h - what is wrong in the files, collected while they are read
 *
 * Layer: config. Threads: one at a time.
 *
 * Bounded: a file of junk does not fill the log, and does not crowd out the notes on others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config.h"

#define NOTES_MAX         200 /* of one load */
#define NOTES_SUBJECT_MAX 20  /* of one pool with its drop-ins, or of one directory */
#define NOTE_BYTES_MAX    1024

/* Where something stands; line 0: the file as a whole. The path is borrowed. */
struct position {
	const char *path;
	unsigned line;
};

struct notes {
	struct config_note *entries; /* at most NOTES_MAX and one that says how many more */
	size_t nr;
	char **refused; /* names of refused pools, each once, whether its note was kept or not */
	size_t nr_refused;
	bool is_anything_refused;
	bool is_out_of_memory; /* sticky: looked at once, when the load ends */

	/* The pool that is being read, or NULL; its file. Both borrowed. */
	const char *pool;
	bool is_pool_refused;
	const char *subject_path;
	size_t nr_of_subject;
	size_t nr_more_of_subject;
	bool is_more_of_subject_refused;

	size_t nr_more;
	bool is_more_refused;
};

/* Free what it has; it is empty afterwards, as one that is all zero. */
void notes_clear(struct notes *notes);

/* What is noted from here on is about @pool (NULL: none), whose file is @path. Both borrowed. */
void notes_begin(struct notes *notes, const char *pool, const char *path);

/* No subject any more; the number of notes left out, if any, becomes the last note. */
void notes_finish(struct notes *notes);

/*
 * "path:line: sentence". What comes from a file goes through excerpt(); control characters are
 * made visible here. notes_refuse() refuses the pool that is being read.
 */
void notes_warn(struct notes *notes, struct position position, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void notes_refuse(struct notes *notes, struct position position, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
