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

START_TEST(test_every_key_of_a_pool_of_blocks_is_read)
{
	const struct pool_config *pool = pool_of("block",
	                                         "Nodes=cpu\nSize=50%\nSize@1=8G\nMinimum=25%\n"
	                                         "Required=no\nEarly=2G\n[Block]\nZone=movable\n",
	                                         "");
	struct amount amount;

	ck_assert_ptr_nonnull(pool);
	ck_assert_int_eq(pool->zone, POOL_ZONE_MOVABLE);
	ck_assert_int_eq(pool->nodes, POOL_NODES_CPU);
	ck_assert(pool->size.is_set);
	ck_assert_int_eq(pool->size.amount.unit, AMOUNT_PERCENT);
	ck_assert_uint_eq(pool->size.amount.value, 5000);
	ck_assert(node_amount_get(&pool->size, 1, &amount));
	ck_assert_uint_eq(amount.value, 8 * GIB);
	ck_assert_uint_eq(pool->minimum.amount.value, 2500);
	ck_assert(!pool->is_required);
	ck_assert_int_eq(pool->early, POOL_EARLY_AMOUNT);
	ck_assert_int_eq(pool_of("block", "[Block]\nZone=kernel\n", "")->zone, POOL_ZONE_KERNEL);
	ck_assert_int_eq(pool_of("block", "[Block]\nZone=auto\n", "")->zone, POOL_ZONE_AUTO);
	ck_assert_int_eq(pool_of("block", "[Block]\nZone=kernel\nZone=\n", "")->zone,
	                 POOL_ZONE_AUTO);
}
END_TEST

START_TEST(test_a_zone_that_is_none_is_refused)
{
	ck_assert_ptr_null(pool_of("block", "[Block]\nZone=normal\n",
	                           "refused " FILE_ ":4: Zone=normal is not accepted; accepted: "
	                           "auto, kernel, movable\n"));
	ck_assert_ptr_null(pool_of("block", "Zone=Movable\n",
	                           "refused " FILE_ ":3: Zone=Movable is not accepted; accepted: "
	                           "auto, kernel, movable\n"));
}
END_TEST

START_TEST(test_amounts_without_pages_of_their_own_are_not_in_pages)
{
	ck_assert_ptr_null(pool_of("block", "Size=4096p\n",
	                           "refused " FILE_
	                           ":3: Size=4096p is not accepted; accepted: " AMOUNTS "\n"));
	ck_assert_ptr_null(pool_of(
		"block", "Size@2=4096p\nMinimum@3=1p\nMinimum=2p\n",
		"refused " FILE_ ":5: Minimum=2p is not accepted; accepted: " AMOUNTS "\n"
		"refused " FILE_ ":3: Size@2=4096p is not accepted; accepted: " AMOUNTS "\n"
		"refused " FILE_ ":4: Minimum@3=1p is not accepted; accepted: " AMOUNTS "\n"));
	ck_assert_ptr_null(pool_of("replica", "Paths=/a\nSize=4096p\n",
	                           "refused " FILE_
	                           ":4: Size=4096p is not accepted; accepted: " AMOUNTS "\n"));
	ck_assert_ptr_null(pool_of("block", "Size=8192\n",
	                           "refused " FILE_ ":3: Size=8192 has no unit and two readings: "
	                           "write 8192M for megabytes or 8192B for bytes\n"));
	ck_assert_ptr_null(pool_of("block", "Size=110%\n",
	                           "refused " FILE_
	                           ":3: Size=110% is out of range; accepted: " AMOUNTS "\n"));
}
END_TEST

START_TEST(test_a_minimum_above_the_size_is_refused_here_too)
{
	ck_assert_ptr_null(pool_of("block", "Size=50%\nMinimum=60%\n",
	                           "refused " FILE_ ":4: Minimum=60% is above Size=50%; accepted: "
	                           "at most as much\n"));
	ck_assert(pool_of("block", "Minimum=60%\n", "")->minimum.is_set);
	ck_assert(!pool_of("block", "Size@1=1G\n", "")->size.is_set);
}
END_TEST

START_TEST(test_what_has_no_effect_is_a_warning_and_not_judged)
{
	const struct pool_config *pool;

	pool = pool_of("block", "PageSize=3M\nLock=yes\nPaths=relative\n[Region]\nRegionSize=x\n",
	               "warning " FILE_ ":6: [Region] has no effect in a pool with Kind=block\n"
	               "warning " FILE_ ":4: Lock= has no effect in a pool with Kind=block\n"
	               "warning " FILE_ ":5: Paths= has no effect in a pool with Kind=block\n"
	               "warning " FILE_ ":3: PageSize= has no effect in a pool with Kind=block\n");
	ck_assert_ptr_nonnull(pool);
	ck_assert_int_eq(pool->page, POOL_PAGE_BASE);
	ck_assert_ptr_null(pool->paths);

	pool = pool_of("replica", "PageSize=2M\nZone=kernel\n[Replica]\nPaths=/a\n",
	               "warning " FILE_ ":4: Zone= has no effect in a pool with Kind=replica\n"
	               "warning " FILE_ ":3: PageSize= has no effect in a pool with "
	               "Kind=replica\n");
	ck_assert_ptr_nonnull(pool);
	ck_assert_int_eq(pool->page, POOL_PAGE_BASE);

	pool = pool_of("hugetlb", "Size=1G\n[Block]\nZone=none\n[Replica]\nPaths=none\n",
	               "warning " FILE_ ":4: [Block] has no effect in a pool with Kind=hugetlb\n"
	               "warning " FILE_ ":6: [Replica] has no effect in a pool with "
	               "Kind=hugetlb\n");
	ck_assert_ptr_nonnull(pool);
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
	ck_assert(!pool->minimum.is_set);
	ck_assert_str_eq(pool->paths[0].position, tree_path(FILE_ ":4"));
	expect_paths(pool_of("replica", "[Replica]\nPaths=/a\nPaths=\nPaths=/b\n", ""), "6 /b\n");
	expect_paths(pool_of("replica", "Paths=/a\n[Replica]\nPaths=/b\n", ""), "3 /a\n5 /b\n");
	expect_paths(pool_of("replica", "Paths=/a\t/b\\\n/c\n", ""), "3 /a\n3 /b\n3 /c\n");
}
END_TEST

START_TEST(test_a_drop_in_adds_paths_of_its_own)
{
	const struct pool_config *pool;

	tree_file("pools.d/guests.pool.d/more.conf", "[Replica]\nPaths=/b\n");
	pool = pool_of("replica", "[Replica]\nPaths=/a\n", "");
	expect_paths(pool, "4 /a\n2 /b\n");
	ck_assert_str_eq(pool->paths[1].position, tree_path("pools.d/guests.pool.d/more.conf:2"));
}
END_TEST

START_TEST(test_quotes_keep_blanks_together)
{
	expect_paths(pool_of("replica",
	                     "Paths=\"/a b\" '/c \"d' /e\"' \t \"f/g '/h*i'\n"
	                     "Paths=/j\\*k \"/l\\m\" /n=o\n",
	                     ""),
	             "3 /a b\n3 /c \"d\n3 /e' \t f/g\n3 /h*i\n4 /j\\*k\n4 /l\\m\n4 /n=o\n");
}
END_TEST

/* One path of two is bad: the other one stays. */
static void refuses_path(const char *path, const char *shown, const char *fault)
{
	scoped(freep) char *lines = NULL;
	scoped(freep) char *notes = NULL;

	ck_assert_int_gt(asprintf(&lines, "[Replica]\nPaths=/good %s\n", path), 0);
	ck_assert_int_gt(asprintf(&notes,
	                          "warning " FILE_ ":4: '%s' in Paths= %s; it is ignored; "
	                          "accepted: " PATHS "\n",
	                          shown, fault),
	                 0);
	expect_paths(pool_of("replica", lines, notes), "4 /good\n");
}

START_TEST(test_a_path_that_may_lead_anywhere_is_left_out)
{
	static const char empty[] = "has an empty name in it, or at its end";

	refuses_path("usr/lib", "usr/lib", "is not absolute");
	refuses_path("./x", "./x", "is not absolute");
	refuses_path("*", "*", "is not absolute");
	refuses_path("\"\"", "", "is not absolute");
	refuses_path("~/x", "~/x", "is not absolute");
	refuses_path("/", "/", empty);
	refuses_path("/usr/lib/", "/usr/lib/", empty);
	refuses_path("//usr", "//usr", empty);
	refuses_path("/usr//lib", "/usr//lib", empty);
	refuses_path("/usr/../etc/shadow", "/usr/../etc/shadow", "has a '..' in it");
	refuses_path("/..", "/..", "has a '..' in it");
	refuses_path("/./a", "/./a", "has a '.' in it");
	refuses_path("/a/.", "/a/.", "has a '.' in it");
	refuses_path("\"/a b", "/a b", "begins with a quote that does not end");
	refuses_path("'/a\"", "/a\"", "begins with a quote that does not end");
	expect_paths(pool_of("replica", "Paths=/... /.a /..b /a. /a../c\n", ""),
	             "3 /...\n3 /.a\n3 /..b\n3 /a.\n3 /a../c\n");
}
END_TEST

START_TEST(test_a_long_path_is_shown_in_part)
{
	refuses_path("usr/lib/x86_64-linux-gnu/a-directory-with-a-long-name/and-another-one/file",
	             "usr/lib/x86_64-linux-gnu/a-directory-with-a-long-name/and-another-one/fi…",
	             "is not absolute");
}
END_TEST

START_TEST(test_a_pool_of_files_without_any_path_is_refused)
{
	ck_assert_ptr_null(pool_of("replica", "",
	                           "refused " FILE_
	                           ": Paths= is missing in [Replica]; accepted: " PATHS "\n"));
	ck_assert_ptr_null(pool_of("replica", "[Replica]\nPaths=/a\nPaths=\n",
	                           "refused " FILE_
	                           ": Paths= is missing in [Replica]; accepted: " PATHS "\n"));
	ck_assert_ptr_null(pool_of("replica", "[Replica]\nPaths=a\n",
	                           "warning " FILE_ ":4: 'a' in Paths= is not absolute; it is "
	                           "ignored; accepted: " PATHS "\n"
	                           "refused " FILE_ ": Paths= in [Replica] names nothing; "
	                           "accepted: " PATHS "\n"));
}
END_TEST

START_TEST(test_what_drives_a_terminal_does_not_get_into_a_path)
{
	ck_assert_ptr_null(pool_of("replica", "Paths=/a\nPaths=/\x1b[31m\n",
	                           "refused " FILE_
	                           ":4: this line holds control characters or bytes that "
	                           "are not UTF-8\n"));
	expect_paths(pool_of("replica", "Paths=/\xc3\xa4\n", ""), "3 /\xc3\xa4\n");
}
END_TEST

/* Paths=/a /a … with @nr of them over two lines. */
static const struct pool_config *pool_of_paths(size_t nr, const char *notes)
{
	scoped(freep) char *text = NULL;
	size_t text_bytes;
	FILE *out = open_memstream(&text, &text_bytes);

	for (size_t i = 0; i < nr; i++)
		fprintf(out, "%s/a", i == 0 ? "Paths=" : i == 200 ? "\nPaths=" : " ");
	fputc('\n', out);
	fclose(out);
	return pool_of("replica", text, notes);
}

START_TEST(test_a_pool_has_so_many_paths_and_no_more)
{
	ck_assert_uint_eq(pool_of_paths(256, "")->nr_paths, 256);
	ck_assert_ptr_null(pool_of_paths(257, "refused " FILE_ ":4: Paths= has more than 256 "
	                                      "paths; accepted: at most so many, each of which "
	                                      "may stand for several files by *, ? and []\n"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config-paths");
	TCase *paths = tcase_create("paths");

	tcase_add_checked_fixture(paths, tree_setup, tree_teardown);
	tcase_add_test(paths, test_a_pool_of_blocks_needs_its_kind_only);
	tcase_add_test(paths, test_every_key_of_a_pool_of_blocks_is_read);
	tcase_add_test(paths, test_a_zone_that_is_none_is_refused);
	tcase_add_test(paths, test_amounts_without_pages_of_their_own_are_not_in_pages);
	tcase_add_test(paths, test_a_minimum_above_the_size_is_refused_here_too);
	tcase_add_test(paths, test_what_has_no_effect_is_a_warning_and_not_judged);
	tcase_add_test(paths, test_paths_of_a_pool_add_up_and_have_their_lines);
	tcase_add_test(paths, test_a_drop_in_adds_paths_of_its_own);
	tcase_add_test(paths, test_quotes_keep_blanks_together);
	tcase_add_test(paths, test_a_path_that_may_lead_anywhere_is_left_out);
	tcase_add_test(paths, test_a_long_path_is_shown_in_part);
	tcase_add_test(paths, test_a_pool_of_files_without_any_path_is_refused);
	tcase_add_test(paths, test_what_drives_a_terminal_does_not_get_into_a_path);
	tcase_add_test(paths, test_a_pool_has_so_many_paths_and_no_more);
	suite_add_tcase(suite, paths);
	return suite_main(suite);
}
