/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * settings.h - assignments of all files that are about one thing, the later in place of the earlier
 *
 * Layer: config. Threads: one at a time.
 *
 * Values are kept as text with their position and judged when all files were read: what a drop-in
 * replaces is not judged. Unknown keys and sections are noted at once.
 */
#pragma once

#include "reader.h"

#define SETTING_LIST_MAX 256 /* assignments of one list */

enum setting_form {
	SETTING_PLAIN,    /* the last assignment counts */
	SETTING_LIST,     /* assignments add up, an empty one begins anew */
	SETTING_PER_NODE, /* Key= for all nodes, Key@N= for node N */
};

struct setting_key {
	const char *name;
	const char *sections[2]; /* where it may stand; the second may be NULL */
	enum setting_form form;
	const char *accepted; /* "yes, no", for sentences */
	bool is_in_pages;     /* an amount that may be in pages: 8192 could be 8192p */
};

struct schema {
	const char *const *sections;
	size_t nr_sections;
	const struct setting_key *keys;
	size_t nr_keys;
};

struct setting {
	char *value; /* NULL: not set, or set back to the default */
	struct position position;
	const char *section;  /* of the schema */
	struct setting *next; /* SETTING_LIST: the assignment after this one */
};

struct settings {
	const struct schema *schema; /* borrowed */
	struct notes *notes;         /* borrowed */
	struct setting *values;      /* one a key of the schema */
	struct position *sections;   /* where each was seen first, or path NULL; one a section */

	struct node_setting {
		size_t key; /* index of the schema */
		unsigned node_id;
		struct setting setting;
	} * of_nodes; /* ascending key, node_id */
	size_t nr_of_nodes;
};

/* Return: 0; -ENOMEM. */
int settings_init(const struct schema *schema, struct notes *notes, struct settings *ret);

/* Free what it has; it is empty afterwards, as one that is all zero. */
void settings_clear(struct settings *settings);

/* Add all that @file says. It is borrowed until the settings end. Return: 0; -ENOMEM. */
int settings_read(struct settings *settings, const struct conf_file *file);

/* Note that @setting of @key is not accepted: @error as the parsers of base/size.h return it. */
void settings_refuse(const struct settings *settings, size_t key, const struct setting *setting,
                     int error);

/* The same, where what is accepted is not what the schema says but what @row does. */
void settings_refuse_as(const struct settings *settings, const struct setting_key *row, size_t key,
                        const struct setting *setting, int error);

/* "Key", or "Key@3" for a setting of one node. Return: @buffer. */
#define SETTING_NAME_MAX 48
const char *settings_name(const struct settings *settings, size_t key,
                          const struct setting *setting, char *buffer);
