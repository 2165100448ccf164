/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * search.h - where the files are, and which of several with the same name counts
 *
 * Layer: config. Threads: one at a time. Reads directories, opens no file.
 */
#pragma once

#include <stddef.h>

#include "notes.h"

/* Of one directory; what lies beyond is noted and not looked at. */
#define SEARCH_NAMES_MAX 4096

/* The directories that hold nodeinitd.conf and pools.d/, the one that wins first. Owned. */
struct places {
	char *directories[4];
	size_t nr;
};

/* Free what it has; it is empty afterwards, as one that is all zero. */
void places_clear(struct places *places);

/*
 * @directory alone; or, where it is NULL, @search_root + /etc/nodeinit, /run/nodeinit,
 * /usr/local/lib/nodeinit, /usr/lib/nodeinit. Return: 0 and *ret; -ENOMEM.
 */
int places_init(const char *directory, const char *search_root, struct places *ret);

/* Names of a directory, ascending, each once; owned. */
struct found {
	struct found_file {
		char *name;
		char *path; /* of the first place that has it */
	} * files;
	size_t nr;
	bool is_incomplete; /* a directory could not be read, or not to its end, which is noted */
};

/* Free what it has; it is empty afterwards, as one that is all zero. */
void found_clear(struct found *found);

/*
 * What @relative ("pools.d") holds in all places. Names with a leading "." or a trailing "~" are
 * left out. A directory that is missing is empty; one that cannot be read is noted.
 * Return: 0 and *ret; -ENOMEM.
 */
int search_names(const struct places *places, const char *relative, struct notes *notes,
                 struct found *ret);

/* The first place's @name. Return: 1 and *ret_path, the caller frees; 0 nowhere; -ENOMEM. */
int search_file(const struct places *places, const char *name, char **ret_path);

/* Whether @name ends in @suffix and has something in front of it. */
bool name_has_suffix(const char *name, const char *suffix);
