/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "search.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void places_clear(struct places *places)
{
	for (size_t i = 0; i < places->nr; i++)
		free(places->directories[i]);
	*places = (struct places){ 0 };
}

int places_init(const char *directory, const char *search_root, struct places *ret)
{
	static const char *const search_path[] = { "/etc", "/run", "/usr/local/lib", "/usr/lib" };
	scoped(places_clear) struct places places = { 0 };

	for (size_t i = 0; i < (directory ? 1 : ELEMENTS(search_path)); i++) {
		char *place;
		int r;

		if (directory)
			r = asprintf(&place, "%s", directory);
		else
			r = asprintf(&place, "%s%s/nodeinit", search_root ? search_root : "",
			             search_path[i]);
		if (r < 0)
			return -ENOMEM;
		places.directories[places.nr++] = place;
	}
	*ret = places;
	places = (struct places){ 0 };
	return 0;
}

void found_clear(struct found *found)
{
	for (size_t i = 0; i < found->nr; i++) {
		free(found->files[i].name);
		free(found->files[i].path);
	}
	free(found->files);
	*found = (struct found){ 0 };
}

/* A number of places keeps its names apart until all are known; then the first one counts. */
static int found_add(struct found *found, const char *directory, const char *name)
{
	scoped(freep) char *path = NULL;
	scoped(freep) char *copy = strdup(name);
	struct found_file *grown;

	if (asprintf(&path, "%s/%s", directory, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (!copy)
		return -ENOMEM;
	grown = reallocarray(found->files, found->nr + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	found->files = grown;
	found->files[found->nr++] = (struct found_file){ .name = take(copy), .path = take(path) };
	return 0;
}

static bool is_hidden_or_backup(const char *name)
{
	return name[0] == '.' || name[strlen(name) - 1] == '~';
}

/*
 * A directory that is not there is empty, and so is one whose parent cannot be searched, when that
 * is pools.d: it was noted when pools.d was read, and does not refuse each pool of other places.
 */
static int note_unread(struct found *found, const char *directory, bool is_in_pools, int error,
                       struct notes *notes)
{
	struct stat status;

	if (error == ENOMEM)
		return -ENOMEM;
	if (error != ENOENT && (!is_in_pools || !lstat(directory, &status))) {
		found->is_incomplete = true;
		notes_refuse(notes, (struct position){ .path = directory }, "cannot be read: %s",
		             strerror(error));
	}
	return 0;
}

static int add_directory(struct found *found, const char *directory, bool is_in_pools,
                         struct notes *notes)
{
	scoped(dir_closep) DIR *dir = opendir(directory);
	size_t nr_names = 0;

	if (!dir)
		return note_unread(found, directory, is_in_pools, errno, notes);
	for (;;) {
		const struct dirent *entry;
		int r;

		errno = 0;
		entry = readdir(dir);
		if (!entry)
			return errno ? note_unread(found, directory, is_in_pools, errno, notes) : 0;
		if (is_hidden_or_backup(entry->d_name))
			continue;
		if (++nr_names > SEARCH_NAMES_MAX) {
			found->is_incomplete = true;
			notes_refuse(notes, (struct position){ .path = directory },
			             "holds more than %d files; the others are not looked at",
			             SEARCH_NAMES_MAX);
			return 0;
		}
		r = found_add(found, directory, entry->d_name);
		if (r < 0)
			return r;
	}
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct found_file *) a)->name, ((const struct found_file *) b)->name);
}

/* Leave of each name the first in the order of @found, then sort. */
static void keep_first_of_each(struct found *found, size_t nr_earlier)
{
	size_t nr_kept = nr_earlier;

	for (size_t i = nr_earlier; i < found->nr; i++) {
		struct found_file *file = &found->files[i];

		if (bsearch(file, found->files, nr_earlier, sizeof(*file), compare_names)) {
			free(file->name);
			free(file->path);
		} else
			found->files[nr_kept++] = *file;
	}
	found->nr = nr_kept;
	if (found->nr)
		qsort(found->files, found->nr, sizeof(*found->files), compare_names);
}

int search_names(const struct places *places, const char *relative, struct notes *notes,
                 struct found *ret)
{
	scoped(found_clear) struct found found = { 0 };

	for (size_t i = 0; i < places->nr; i++) {
		scoped(freep) char *directory = NULL;
		size_t nr_earlier = found.nr;
		int r;

		if (asprintf(&directory, "%s/%s", places->directories[i], relative) < 0) {
			directory = NULL;
			return -ENOMEM;
		}
		r = add_directory(&found, directory, strchr(relative, '/'), notes);
		if (r < 0)
			return r;
		keep_first_of_each(&found, nr_earlier);
	}
	*ret = found;
	found = (struct found){ 0 };
	return 0;
}

int search_file(const struct places *places, const char *name, char **ret_path)
{
	for (size_t i = 0; i < places->nr; i++) {
		scoped(freep) char *path = NULL;
		struct stat status;

		if (asprintf(&path, "%s/%s", places->directories[i], name) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		/* A link to nowhere is there, too: it hides what later places have. */
		if (lstat(path, &status) < 0 && (errno == ENOENT || errno == ENOTDIR))
			continue;
		*ret_path = take(path);
		return 1;
	}
	return 0;
}

bool name_has_suffix(const char *name, const char *suffix)
{
	size_t name_bytes = strlen(name);
	size_t suffix_bytes = strlen(suffix);

	return name_bytes > suffix_bytes && !strcmp(name + name_bytes - suffix_bytes, suffix);
}
