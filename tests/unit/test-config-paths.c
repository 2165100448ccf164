/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pools of kind block and replica: what their files may say. */
#include <string.h>

#include "config-tree.h"
#include "suite.h"

#define FILE_   "pools.d/guests.pool"
#define AMOUNTS "bytes as 64G, or a part as 75%"
#define PATHS                                                                                    \
	"absolute paths without '.', '..' and '//', with blanks between; *, ? and [] stand for " \
	"any names"

/* A pool of @kind and of @lines from line 3 on, with exactly these notes. */
static const struct pool_config *pool_of(const char *kind, const char *lines, const char *notes)
{
	scoped(freep) char *text = NULL;
	const struct config *config;

	ck_assert_int_gt(asprintf(&text, "[Pool]\nKind=%s\n%s", kind, lines), 0);
	config = tree_pool(text);
	tree_expect_notes(notes);
	return config_pool(config, "guests");
}

static void expect_paths(const struct pool_config *pool, const char *expected)
{
	scoped(freep) char *text = NULL;
	size_t text_bytes;
	FILE *out = open_memstream(&text, &text_bytes);

	ck_assert_ptr_nonnull(pool);
	for (size_t i = 0; i < pool->nr_paths; i++)
		fprintf(out, "%s %s\n", strrchr(pool->paths[i].position, ':') + 1,
		        pool->paths[i].text);
	fclose(out);
	ck_assert_str_eq(text, expected);
}

START_TEST(test_a_pool_of_blocks_needs_its_kind_only)
{
	const struct pool_config *pool = pool_of("block", "", "");

	ck_assert_ptr_nonnull(pool);
	ck_assert_int_eq(pool->kind, POOL_BLOCK);
	ck_assert_int_eq(pool->zone, POOL_ZONE_AUTO);
	ck_assert_int_eq(pool->page, POOL_PAGE_BASE);
	ck_assert(!pool->size.is_set);
	ck_assert(!pool->minimum.is_set);
	ck_assert(pool->is_required);
	ck_assert_ptr_null(pool->paths);
}
END_TEST

START_TEST(test_paths_of_a_pool_add_up_and_have_their_lines)
{
	const struct pool_config *pool =
		pool_of("replica", "[Replica]\nPaths=/a /b\nPaths=/lib/*.so\n", "");

	expect_paths(pool, "4 /a\n4 /b\n5 /lib/*.so\n");
	ck_assert_int_eq(pool->kind, POOL_REPLICA);
	ck_assert(!pool->size.is_set);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config-paths");
	TCase *paths = tcase_create("paths");

	tcase_add_checked_fixture(paths, tree_setup, tree_teardown);
	tcase_add_test(paths, test_a_pool_of_blocks_needs_its_kind_only);
	tcase_add_test(paths, test_paths_of_a_pool_add_up_and_have_their_lines);
	suite_add_tcase(suite, paths);
	return suite_main(suite);
}
