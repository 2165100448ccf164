/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "original-walk.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>

#include "../base/scoped.h"

struct walk {
	const struct original_tree *tree;
	const struct original_walk_ops *ops;
	void *user;
	size_t *nr_names_left;
};

struct names {
	char **names;
	size_t nr;
};

static void names_clear(struct names *names)
{
	for (size_t i = 0; i < names->nr; i++)
		free(names->names[i]);
	free(names->names);
	*names = (struct names){ 0 };
}

static int names_add(struct names *names, const char *name)
{
	/* Room for a power of two of them: it is full when their number is one. */
	if (!(names->nr & (names->nr - 1))) {
		char **grown =
			reallocarray(names->names, names->nr ? names->nr * 2 : 1, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		names->names = grown;
	}
	names->names[names->nr] = strdup(name);
	return names->names[names->nr++] ? 0 : -ENOMEM;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* The backslash counts: the name is another one than the text. */
static bool has_wildcard(const char *text, size_t text_bytes)
{
	return strcspn(text, "*?[\\") < text_bytes;
}

static bool is_self_or_parent(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* The names of a directory that match, in order. Closed again before anybody goes deeper. */
static int read_names(struct walk *walk, const struct original_place *place, const char *pattern,
                      struct names *names)
{
	scoped(dir_closep) DIR *dir = NULL;
	scoped(fd_closep) int fd = openat(place->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *entry;
	int r = 0;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	(void) take_fd(fd);
	while (!r && (errno = 0, entry = readdir(dir))) {
		if (is_self_or_parent(entry->d_name))
			continue;
		if (!*walk->nr_names_left)
			return -E2BIG;
		--*walk->nr_names_left;
		if (!fnmatch(pattern, entry->d_name, FNM_PERIOD))
			r = names_add(names, entry->d_name);
	}
	if (!r && errno)
		r = -errno;
	if (!r && names->nr)
		qsort(names->names, names->nr, sizeof(*names->names), compare_names);
	return r;
}

static int report(struct walk *walk, const struct original_place *place, const char *name,
                  int error)
{
	scoped(freep) char *path = NULL;

	if (asprintf(&path, "%s%s%s", place->path, name ? "/" : "", name ? name : "") < 0) {
		path = NULL;
		return -ENOMEM;
	}
	return walk->ops->obstacle(walk->user, *path ? path : "/", error);
}

/* A file where a directory would have to be is no match, as for glob(3); nor is a link to one. */
static int report_detour(struct walk *walk, const struct original_place *place, const char *name)
{
	scoped(original_place_close) struct original_place goal = { .fd = -1 };
	scoped(freep) char *path = NULL;
	int r;

	if (asprintf(&path, "%s/%s", place->path, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	r = original_tree_directory(walk->tree, path, &goal);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return walk->ops->detour(walk->user, path, goal.path);
}

static int walk_rest(struct walk *walk, const struct original_place *place, const char *rest);

/* @name in @place; @rest is what comes behind it, or NULL. */
static int walk_name(struct walk *walk, const struct original_place *place, const char *name,
                     const char *rest)
{
	scoped(original_place_close) struct original_place below = { .fd = -1 };
	int r;

	if (!rest)
		return walk->ops->match(walk->user, place, name);
	r = original_place_descend(place, name, &below);
	if (!r)
		return walk_rest(walk, &below, rest);
	if (r == -ENOENT || r == -ENOMEM)
		return r == -ENOMEM ? r : 0;
	if (r == -ENOTDIR || r == -ELOOP)
		return report_detour(walk, place, name);
	return report(walk, place, name, r);
}

/* What @rest (no slash in front) names in @place, without following any link. */
static int walk_rest(struct walk *walk, const struct original_place *place, const char *rest)
{
	size_t name_bytes = strcspn(rest, "/");
	scoped(freep) char *name = strndup(rest, name_bytes);
	scoped(names_clear) struct names names = { 0 };
	int r;

	if (!name)
		return -ENOMEM;
	rest = rest[name_bytes] ? rest + name_bytes + 1 : NULL;
	if (!has_wildcard(name, name_bytes))
		return walk_name(walk, place, name, rest);
	r = read_names(walk, place, name, &names);
	if (r == -ENOMEM || r == -E2BIG)
		return r;
	if (r < 0)
		return report(walk, place, NULL, r);
	for (size_t i = 0; !r && i < names.nr; i++)
		r = walk_name(walk, place, names.names[i], rest);
	return r;
}

/* The first name that has a wildcard, else the last name. */
static const char *first_to_search(const char *pattern)
{
	const char *name = pattern + 1;

	for (;;) {
		size_t name_bytes = strcspn(name, "/");

		if (!name[name_bytes] || has_wildcard(name, name_bytes))
			return name;
		name += name_bytes + 1;
	}
}

int original_walk(const struct original_tree *tree, const char *pattern, size_t *nr_names_left,
                  const struct original_walk_ops *ops, void *user)
{
	scoped(original_place_close) struct original_place place = { .fd = -1 };
	struct walk walk = {
		.tree = tree, .ops = ops, .user = user, .nr_names_left = nr_names_left
	};
	const char *rest = first_to_search(pattern);
	scoped(freep) char *directory = strndup(pattern, (size_t) (rest - pattern));
	int r;

	if (!directory)
		return -ENOMEM;
	r = original_tree_directory(tree, directory, &place);
	return r < 0 ? r : walk_rest(&walk, &place, rest);
}
