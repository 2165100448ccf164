/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "originals-find.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

struct originals found;

void originals_setup(void)
{
	tree_setup();
}

void originals_teardown(void)
{
	originals_clear(&found);
	tree_teardown();
}

const char *tree_root(void)
{
	static char root[512];

	snprintf(root, sizeof(root), "%s", tree_path(""));
	root[strlen(root) - 1] = '\0';
	return root;
}

void find(const char *paths)
{
	static char positions[300][16];
	struct original_pattern patterns[300];
	scoped(freep) char *copy = strdup(paths);
	size_t nr = 0;

	for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n"), nr++) {
		ck_assert_uint_lt(nr, ELEMENTS(patterns));
		snprintf(positions[nr], sizeof(positions[nr]), "file:%zu", nr + 1);
		patterns[nr] = (struct original_pattern){ line, positions[nr] };
	}
	originals_clear(&found);
	ck_assert_int_eq(originals_find(tree_root(), patterns, nr, &found), 0);
}

void expect(const char *expected)
{
	scoped(freep) char *text = NULL;
	size_t text_bytes;
	FILE *out = open_memstream(&text, &text_bytes);
	size_t nr_refused = 0;

	for (size_t i = 0; i < found.nr; i++) {
		const struct original *file = &found.files[i];

		fprintf(out, "%s %s", file->position, file->path);
		if (file->link_target)
			fprintf(out, " -> %s", file->link_target);
		if (file->refusal)
			fprintf(out, " %s", original_refusal_text(file->refusal));
		fputc('\n', out);
		nr_refused += file->refusal != ORIGINAL_ACCEPTED;
		ck_assert_int_eq(file->error, 0);
	}
	fclose(out);
	ck_assert_str_eq(text, expected);
	ck_assert_uint_eq(found.nr_refused, nr_refused);
}
