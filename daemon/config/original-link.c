/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "original-link.h"

#include <errno.h>
#include <string.h>

#include "../base/scoped.h"

#define LINKS_MAX 40 /* in a row, as the kernel follows them: path_resolution(7) */

/* Cut the last name off. Return: false when there is none. */
static bool cut_name(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

/*
 * From @directory (no links in it; room for @text behind it) along @text, by the names alone. A
 * ".." in front goes up, as far as there is something above; one behind a name may lead anywhere,
 * if that name is a link. Return: false when it cannot be told.
 */
static bool append_relative(char *directory, const char *text)
{
	bool has_name = false;

	for (;;) {
		size_t name_bytes = strcspn(text, "/");
		bool is_self = !name_bytes || (name_bytes == 1 && *text == '.');
		bool is_parent = name_bytes == 2 && !strncmp(text, "..", 2);

		if (is_self || is_parent) {
			if (has_name || (is_parent && !cut_name(directory)))
				return false;
		} else {
			strcat(directory, "/");
			strncat(directory, text, name_bytes);
			has_name = true;
		}
		if (!text[name_bytes])
			return true;
		text += name_bytes + 1;
	}
}

/* Return: 0 and *ret, the path that @link leads to; -ENOMEM; another -errno: it cannot be told. */
static int goal_of(const struct original_tree *tree, const struct original *link, char **ret)
{
	scoped(original_place_close) struct original_place place = { .fd = -1 };
	const char *name = strrchr(link->link_target, '/');
	scoped(freep) char *directory = NULL;
	scoped(freep) char *goal = NULL;
	int r;

	if (*link->link_target != '/') {
		goal = malloc(strlen(link->path) + strlen(link->link_target) + 2);
		if (!goal)
			return -ENOMEM;
		strcpy(goal, link->path);
		if (!cut_name(goal) || !append_relative(goal, link->link_target))
			return -ENOENT;
		*ret = take(goal);
		return 0;
	}
	directory = strndup(link->link_target, (size_t) (name - link->link_target) + 1);
	if (!directory)
		return -ENOMEM;
	r = original_tree_directory(tree, directory, &place);
	if (r < 0)
		return r;
	if (asprintf(&goal, "%s%s", place.path, name) < 0) {
		goal = NULL;
		return -ENOMEM;
	}
	*ret = take(goal);
	return 0;
}

static int compare_path(const void *path, const void *original)
{
	return strcmp(path, ((const struct original *) original)->path);
}

/* Return: 1 it leads to an accepted file; 0 it does not; -ENOMEM. */
static int is_leading(const struct original_tree *tree, const struct originals *originals,
                      const struct original *link)
{
	for (unsigned i = 0; i < LINKS_MAX; i++) {
		scoped(freep) char *goal = NULL;
		int r = goal_of(tree, link, &goal);

		if (r < 0)
			return r == -ENOMEM ? r : 0;
		link = bsearch(goal, originals->files, originals->nr, sizeof(*link), compare_path);
		if (!link || !link->link_target)
			return link && link->refusal == ORIGINAL_ACCEPTED;
	}
	return 0;
}

int original_links_settle(const struct original_tree *tree, struct originals *originals)
{
	for (size_t i = 0; i < originals->nr; i++) {
		struct original *file = &originals->files[i];
		int r;

		if (!file->link_target)
			continue;
		r = is_leading(tree, originals, file);
		if (r < 0)
			return r;
		if (r) {
			file->refusal = ORIGINAL_ACCEPTED;
		} else {
			free(file->link_target);
			file->link_target = NULL;
		}
	}
	return 0;
}
