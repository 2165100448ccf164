/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * prepare-scene.h - a mount namespace of the test's own, with a directory for "nodeinitd --prepare"
 *
 * All paths are below the work directory, a tmpfs: "run" is what /run/nodeinit is to the service,
 * where its group may make things.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SERVICE 4242 /* uid and gid of the service's user */

/* What was logged; cleared by scene_setup(). */
struct scene_said {
	unsigned nr_lines;
	char text[4096]; /* the last one */
};
extern struct scene_said scene_said;

/* Checked fixture. */
void scene_setup(void);
void scene_teardown(void);

/* The path of @name, until the next call but three. */
const char *scene_path(const char *name);

/* How many mounts are at @name; @line, unless NULL: the last one's line of mountinfo. */
unsigned scene_nr_mounts(const char *name, char *line, size_t line_bytes);

/* "victim", a directory of root with a "node0" in it, which no link may lead to. */
void scene_put_victim(void);
void scene_expect_victim_unharmed(void);

/* Whether this process may do all that. */
bool scene_is_possible(void);
