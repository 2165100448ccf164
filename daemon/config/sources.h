/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sources.h - a file and its drop-ins, in the order in which they are applied
 *
 * Layer: config. Threads: one at a time.
 */
#pragma once

#include "file.h"
#include "search.h"

/* Owned. */
struct sources {
	struct conf_file *files;
	size_t nr;
};

/* Free what it has; it is empty afterwards, as one that is all zero. */
void sources_clear(struct sources *sources);

/*
 * Add @path, which is there. One that masks is left out, one that cannot be used is noted and left
 * out. Return: 0; -ENOMEM.
 */
int sources_add_file(struct sources *sources, const char *path, struct notes *notes);

/*
 * Add NAME.conf of the directory @relative ("nodeinitd.conf.d") of all places. Those that cannot
 * be used are noted and left out. Return: 0; -ENOMEM.
 */
int sources_add_dropins(struct sources *sources, const struct places *places, const char *relative,
                        struct notes *notes);
