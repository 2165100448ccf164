/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config-tree.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "suite.h"

static char root[64];
static struct config *loaded;

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void) status;
	(void) type;
	(void) walk;
	return remove(path);
}

void tree_setup(void)
{
	tree_setup_in("/tmp");
}

void tree_setup_in(const char *directory)
{
	snprintf(root, sizeof(root), "%s/nodeinit-config-XXXXXX", directory);
	ck_assert_ptr_nonnull(mkdtemp(root));
}

void tree_teardown(void)
{
	loaded = config_free(loaded);
	ck_assert_int_eq(nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

const char *tree_path(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

void tree_directory(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		ck_assert(!mkdir(path, 0755) || errno == EEXIST);
		*slash = '/';
	}
	ck_assert(!mkdir(path, 0755) || errno == EEXIST);
}

static void make_parent(const char *name)
{
	char parent[512];
	char *slash;

	snprintf(parent, sizeof(parent), "%s", name);
	slash = strrchr(parent, '/');
	if (!slash)
		return;
	*slash = '\0';
	tree_directory(parent);
}

void tree_bytes(const char *name, const void *bytes, size_t nr_bytes)
{
	scoped(file_closep) FILE *file = NULL;

	make_parent(name);
	file = fopen(tree_path(name), "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, nr_bytes, file), nr_bytes);
}

void tree_file(const char *name, const char *text)
{
	tree_bytes(name, text, strlen(text));
}

void tree_link(const char *name, const char *target)
{
	make_parent(name);
	ck_assert_int_eq(symlink(target, tree_path(name)), 0);
}

const struct config *tree_load(void)
{
	loaded = config_free(loaded);
	ck_assert_int_eq(config_load(root, NULL, &loaded), 0);
	return loaded;
}

const struct config *tree_search(void)
{
	loaded = config_free(loaded);
	ck_assert_int_eq(config_load(NULL, root, &loaded), 0);
	return loaded;
}

const struct config *tree_pool(const char *text)
{
	tree_file("pools.d/guests.pool", text);
	return tree_load();
}

/* Copy @text without the tree's path, wherever it stands. */
static void print_without_root(FILE *out, const char *text)
{
	char prefix[80];
	const char *found;

	snprintf(prefix, sizeof(prefix), "%s/", root);
	while ((found = strstr(text, prefix))) {
		fwrite(text, 1, (size_t) (found - text), out);
		text = found + strlen(prefix);
	}
	fputs(text, out);
}

void tree_expect_notes(const char *expected)
{
	scoped(freep) char *notes = NULL;
	size_t notes_bytes;
	FILE *out = open_memstream(&notes, &notes_bytes);
	bool is_refused = false;

	ck_assert_ptr_nonnull(out);
	for (size_t i = 0; i < loaded->nr_notes; i++) {
		const struct config_note *note = &loaded->notes[i];

		is_refused |= note->severity == CONFIG_REFUSED;
		fputs(note->severity == CONFIG_REFUSED ? "refused " : "warning ", out);
		print_without_root(out, note->text);
		fputc('\n', out);
	}
	fclose(out);
	ck_assert_str_eq(notes, expected);
	ck_assert_int_eq(is_refused, loaded->is_anything_refused);
}
