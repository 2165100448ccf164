/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a pool file may say, and what is said about what it may not. */
#include <string.h>

#include "config-tree.h"
#include "suite.h"

#define FILE_ "pools.d/guests.pool"
#define SIZES "bytes as 64G, a part of the node as 75%, or pages as 4096p"

/* A pool of @lines after "Kind=region" and "Size=64G" (lines 2 and 3), with exactly these notes. */
static const struct pool_config *pool_with(const char *lines, const char *notes)
{
	scoped(freep) char *text = NULL;
	const struct config *config;

	ck_assert_int_gt(asprintf(&text, "[Pool]\nKind=region\nSize=64G\n%s", lines), 0);
	config = tree_pool(text);
	tree_expect_notes(notes);
	return config_pool(config, "guests");
}

static void refused_with(const char *lines, const char *notes)
{
	ck_assert_ptr_null(pool_with(lines, notes));
}

START_TEST(test_a_pool_needs_its_kind_and_its_size_only)
{
	const struct config *config = tree_pool("[Pool]\nKind=hugetlb\nSize=16G\n");
	const struct pool_config *pool = config_pool(config, "guests");
	struct amount amount;

	tree_expect_notes("");
	ck_assert_ptr_nonnull(pool);
	ck_assert_str_eq(pool->name, "guests");
	ck_assert_str_eq(pool->source, tree_path(FILE_));
	ck_assert_int_eq(pool->kind, POOL_HUGETLB);
	ck_assert_int_eq(pool->nodes, POOL_NODES_ALL);
	ck_assert_int_eq(pool->page, POOL_PAGE_HUGE);
	ck_assert(pool->is_required);
	ck_assert_int_eq(pool->early, POOL_EARLY_AUTO);
	ck_assert(!pool->minimum.is_set);
	ck_assert(!pool->may_shrink);
	ck_assert(!pool->is_locked);
	ck_assert_uint_eq(pool->region_bytes, 0);
	ck_assert_ptr_null(pool->users);
	ck_assert_ptr_null(pool->groups);
	ck_assert(node_amount_get(&pool->size, 7, &amount));
	ck_assert_int_eq(amount.unit, AMOUNT_BYTES);
	ck_assert_uint_eq(amount.value, 16 * GIB);
}
END_TEST

START_TEST(test_every_key_is_read)
{
	const struct pool_config *pool = pool_with("Nodes=0,2-3\n"
	                                           "PageSize=thp\n"
	                                           "Minimum=4096p\n"
	                                           "Required=no\n"
	                                           "Early=2G\n"
	                                           "[Region]\n"
	                                           "RegionSize=16G\n"
	                                           "Lock=on\n"
	                                           "Users=alice 1000\n"
	                                           "Groups=kvm\n",
	                                           "");

	ck_assert_ptr_nonnull(pool);
	ck_assert_int_eq(pool->kind, POOL_REGION);
	ck_assert_int_eq(pool->nodes, POOL_NODES_LIST);
	ck_assert_uint_eq(idset_nr(&pool->node_list), 3);
	ck_assert(idset_has(&pool->node_list, 3));
	ck_assert_int_eq(pool->page, POOL_PAGE_THP);
	ck_assert_int_eq(pool->minimum.amount.unit, AMOUNT_PAGES);
	ck_assert_uint_eq(pool->minimum.amount.value, 4096);
	ck_assert(!pool->is_required);
	ck_assert_int_eq(pool->early, POOL_EARLY_AMOUNT);
	ck_assert_int_eq(pool->early_amount.unit, AMOUNT_BYTES);
	ck_assert_uint_eq(pool->early_amount.value, 2 * GIB);
	ck_assert_uint_eq(pool->region_bytes, 16 * GIB);
	ck_assert(pool->is_locked);
	ck_assert_str_eq(pool->users[0], "alice");
	ck_assert_str_eq(pool->users[1], "1000");
	ck_assert_ptr_null(pool->users[2]);
	ck_assert_str_eq(pool->groups[0], "kvm");
	ck_assert_ptr_null(pool->groups[1]);
}
END_TEST

START_TEST(test_words_for_nodes_and_early_are_read)
{
	ck_assert_int_eq(pool_with("Nodes=cpu\n", "")->nodes, POOL_NODES_CPU);
	ck_assert_int_eq(pool_with("Nodes=all\n", "")->nodes, POOL_NODES_ALL);
	ck_assert_int_eq(pool_with("Early=all\n", "")->early, POOL_EARLY_ALL);
	ck_assert_int_eq(pool_with("Early=none\n", "")->early, POOL_EARLY_NONE);
	ck_assert_int_eq(pool_with("Early=auto\n", "")->early, POOL_EARLY_AUTO);
	ck_assert_int_eq(pool_with("PageSize=base\n", "")->page, POOL_PAGE_BASE);
	ck_assert_int_eq(pool_with("PageSize=huge\n", "")->page, POOL_PAGE_HUGE);
	ck_assert_uint_eq(pool_with("PageSize=512M\n", "")->page_bytes, 512 * MIB);
}
END_TEST

START_TEST(test_a_bare_number_is_refused_with_both_readings)
{
	refused_with("Size=8192\n",
	             "refused " FILE_ ":4: Size=8192 has no unit and two readings: write 8192M "
	             "for megabytes or 8192p for pages\n");
	refused_with("Minimum@2=64\n",
	             "refused " FILE_ ":4: Minimum@2=64 has no unit and two readings: write 64M "
	             "for megabytes or 64p for pages\n");
	refused_with("PageSize=2048\n",
	             "refused " FILE_ ":4: PageSize=2048 has no unit and two readings: write "
	             "2048M for megabytes or 2048B for bytes\n");
	refused_with("[Region]\nRegionSize=16\n",
	             "refused " FILE_ ":5: RegionSize=16 has no unit and two readings: write "
	             "16M for megabytes or 16B for bytes\n");
}
END_TEST

START_TEST(test_a_bad_value_is_refused_with_what_is_accepted)
{
	refused_with("Size=lots\n",
	             "refused " FILE_ ":4: Size=lots is not accepted; accepted: " SIZES "\n");
	refused_with("Size=101%\n",
	             "refused " FILE_ ":4: Size=101% is out of range; accepted: " SIZES "\n");
	refused_with("Minimum=-1G\n",
	             "refused " FILE_ ":4: Minimum=-1G is not accepted; accepted: " SIZES "\n");
	refused_with("Nodes=first\n", "refused " FILE_ ":4: Nodes=first is not accepted; accepted: "
	                              "all, cpu, or node ids as 0,2-3\n");
	ck_assert(idset_has(&pool_with("Nodes=0-1023\n", "")->node_list, 1023));
	refused_with("Nodes=0-1024\n", "refused " FILE_ ":4: Nodes=0-1024 is out of range; "
	                               "accepted: all, cpu, or node ids as 0,2-3\n");
	refused_with("Nodes=70000\n", "refused " FILE_ ":4: Nodes=70000 is out of range; "
	                              "accepted: all, cpu, or node ids as 0,2-3\n");
	refused_with("Required=maybe\n",
	             "refused " FILE_ ":4: Required=maybe is not accepted; accepted: yes, no\n");
	refused_with("Early=25%\n", "refused " FILE_ ":4: Early=25% is not accepted; accepted: "
	                            "auto, none, all, or bytes as 2G\n");
	refused_with("[Region]\nRegionSize=0\n",
	             "refused " FILE_ ":5: RegionSize=0 is out of range; accepted: bytes above 0 "
	             "as 16G\n");
	refused_with("[Region]\nRegionSize=10%\n",
	             "refused " FILE_ ":5: RegionSize=10% is not accepted; accepted: bytes above "
	             "0 as 16G\n");
	refused_with("[Region]\nUsers=alice bob:x\n",
	             "refused " FILE_ ":5: Users=alice bob:x is not accepted; accepted: names or "
	             "ids of users, with blanks between\n");
	refused_with("[Region]\nLock=2\n",
	             "refused " FILE_ ":5: Lock=2 is not accepted; accepted: yes, no\n");
}
END_TEST

START_TEST(test_all_bad_values_are_named_at_once)
{
	refused_with("Required=maybe\nEarly=soon\n",
	             "refused " FILE_ ":4: Required=maybe is not accepted; accepted: yes, no\n"
	             "refused " FILE_ ":5: Early=soon is not accepted; accepted: auto, none, all, "
	             "or bytes as 2G\n");
}
END_TEST

START_TEST(test_a_page_size_is_a_power_of_two)
{
	refused_with("PageSize=3M\n", "refused " FILE_ ":4: PageSize=3M is not accepted; accepted: "
	                              "base, thp, huge, or a power of two as 2M\n");
	refused_with("PageSize=0\n", "refused " FILE_ ":4: PageSize=0 is not accepted; accepted: "
	                             "base, thp, huge, or a power of two as 2M\n");
}
END_TEST

START_TEST(test_hugetlb_is_not_made_of_small_pages)
{
	tree_pool("[Pool]\nKind=hugetlb\nSize=1G\nPageSize=thp\n");
	tree_expect_notes("refused " FILE_ ":4: PageSize=thp is not accepted with Kind=hugetlb; "
	                  "accepted: huge, or a huge page size as 2M\n");
	tree_pool("[Pool]\nKind=hugetlb\nSize=1G\nPageSize=base\n");
	tree_expect_notes("refused " FILE_ ":4: PageSize=base is not accepted with Kind=hugetlb; "
	                  "accepted: huge, or a huge page size as 2M\n");
}
END_TEST

START_TEST(test_a_region_holds_whole_pages)
{
	refused_with("PageSize=1G\n[Region]\nRegionSize=1536M\n",
	             "refused " FILE_ ":6: RegionSize=1536M is not accepted; accepted: a multiple "
	             "of PageSize=1G\n");
	ck_assert_ptr_nonnull(pool_with("PageSize=1G\n[Region]\nRegionSize=2G\n", ""));
}
END_TEST

START_TEST(test_a_missing_kind_is_refused_without_a_line)
{
	tree_pool("[Pool]\nSize=1G\n");
	tree_expect_notes("refused " FILE_ ": Kind= is missing in [Pool]; accepted: block, "
	                  "hugetlb, region, replica\n");
}
END_TEST

START_TEST(test_a_missing_size_is_refused_without_a_line)
{
	tree_pool("[Pool]\nKind=region\n");
	tree_expect_notes("refused " FILE_ ": Size= is missing in [Pool]; accepted: " SIZES "\n");
}
END_TEST

START_TEST(test_sizes_of_single_nodes_are_enough)
{
	const struct config *config = tree_pool("[Pool]\nKind=region\nSize@3=1G\nSize@1=2G\n");
	const struct pool_config *pool = config_pool(config, "guests");
	struct amount amount;

	tree_expect_notes("");
	ck_assert_uint_eq(pool->size.nr_overrides, 2);
	ck_assert_uint_eq(pool->size.overrides[0].node_id, 1);
	ck_assert_uint_eq(pool->size.overrides[1].node_id, 3);
	ck_assert(node_amount_get(&pool->size, 3, &amount));
	ck_assert_uint_eq(amount.value, GIB);
	ck_assert(!node_amount_get(&pool->size, 0, &amount));
}
END_TEST

START_TEST(test_an_unknown_kind_is_refused)
{
	tree_pool("[Pool]\nKind=Region\nSize=1G\n");
	tree_expect_notes("refused " FILE_ ":2: Kind=Region is not accepted; accepted: block, "
	                  "hugetlb, region, replica\n");
	ck_assert_str_eq(pool_kind_text(POOL_REPLICA), "replica");
}
END_TEST

START_TEST(test_an_unknown_key_is_a_warning_with_the_key_meant)
{
	ck_assert_ptr_nonnull(pool_with("Minimun=1G\n",
	                                "warning " FILE_ ":4: unknown key 'Minimun' in [Pool], did "
	                                "you mean Minimum=? It is ignored\n"));
	ck_assert_ptr_nonnull(pool_with("pagesize=2M\n",
	                                "warning " FILE_ ":4: unknown key 'pagesize' in [Pool], "
	                                "did you mean PageSize=? It is ignored\n"));
	ck_assert_ptr_nonnull(pool_with("Colour=red\n", "warning " FILE_ ":4: unknown key "
	                                                "'Colour' in [Pool]; it is ignored\n"));
}
END_TEST

START_TEST(test_a_key_in_the_wrong_section_is_a_warning_with_the_right_one)
{
	const struct pool_config *pool =
		pool_with("RegionSize=2G\n[Region]\nMinimum=1G\n",
	                  "warning " FILE_ ":4: RegionSize= does not belong into [Pool] but into "
	                  "[Region]; it is ignored\n"
	                  "warning " FILE_ ":6: Minimum= does not belong into [Region] but into "
	                  "[Pool]; it is ignored\n");

	ck_assert_uint_eq(pool->region_bytes, 0);
	ck_assert(!pool->minimum.is_set);
}
END_TEST

START_TEST(test_an_unknown_section_is_a_warning_with_the_section_meant)
{
	ck_assert_ptr_nonnull(pool_with("[region]\nRegionSize=nonsense\n",
	                                "warning " FILE_ ":4: unknown section [region], did you "
	                                "mean [Region]? It is ignored\n"));
	ck_assert_ptr_nonnull(pool_with("[Pools]\nSize=nonsense\n",
	                                "warning " FILE_ ":4: unknown section [Pools], did you "
	                                "mean [Pool]? It is ignored\n"));
}
END_TEST

START_TEST(test_sections_and_keys_of_others_are_left_alone)
{
	ck_assert_ptr_nonnull(pool_with("X-Ticket=4711\n[X-Puppet]\nOwner=infra\n", ""));
}
END_TEST

START_TEST(test_a_section_of_another_kind_is_a_warning_and_not_judged)
{
	const struct config *config = tree_pool("[Pool]\nKind=hugetlb\nSize=1G\n[Region]\n"
	                                        "RegionSize=nonsense\nUsers=alice\n[Hugetlb]\n"
	                                        "Shrink=yes\n[Region]\nLock=yes\n");
	const struct pool_config *pool = config_pool(config, "guests");

	tree_expect_notes("warning " FILE_ ":4: [Region] has no effect in a pool with "
	                  "Kind=hugetlb\n");
	ck_assert_ptr_nonnull(pool);
	ck_assert(pool->may_shrink);
	ck_assert_uint_eq(pool->region_bytes, 0);
	ck_assert_ptr_null(pool->users);
}
END_TEST

START_TEST(test_shrink_and_lock_may_stand_in_the_pool_section)
{
	const struct config *config = tree_pool("[Pool]\nKind=hugetlb\nSize=1G\nShrink=yes\n");

	tree_expect_notes("");
	ck_assert(config_pool(config, "guests")->may_shrink);
	ck_assert(pool_with("PageSize=base\nLock=yes\n", "")->is_locked);
	pool_with("Shrink=yes\n",
	          "warning " FILE_ ":4: Shrink= has no effect in a pool with Kind=region\n");
	tree_pool("[Pool]\nKind=hugetlb\nSize=1G\nLock=yes\n");
	tree_expect_notes("warning " FILE_ ":4: Lock= has no effect in a pool with "
	                  "Kind=hugetlb\n");
}
END_TEST

START_TEST(test_locking_huge_pages_is_a_warning)
{
	pool_with("Lock=yes\n", "warning " FILE_ ":4: Lock=yes has no effect on huge pages, which "
	                        "are never swapped\n");
	pool_with("Lock=no\n", "");
}
END_TEST

START_TEST(test_a_minimum_above_the_size_is_refused)
{
	refused_with("Minimum=65G\n", "refused " FILE_ ":4: Minimum=65G is above Size=64G; "
	                              "accepted: at most as much\n");
	ck_assert_ptr_nonnull(pool_with("Minimum=64G\n", ""));
	refused_with("Size=50%\nMinimum=50.01%\n",
	             "refused " FILE_ ":5: Minimum=50.01% is above Size=50%; accepted: at most as "
	             "much\n");
	ck_assert_ptr_nonnull(pool_with("Minimum=75%\n", ""));
}
END_TEST

START_TEST(test_pages_and_bytes_compare_once_the_page_is_known)
{
	refused_with("PageSize=2M\nMinimum=32769p\n",
	             "refused " FILE_ ":5: Minimum=32769p is above Size=64G; accepted: at most as "
	             "much\n");
	ck_assert_ptr_nonnull(pool_with("PageSize=2M\nMinimum=32768p\n", ""));
	ck_assert_ptr_nonnull(pool_with("PageSize=huge\nMinimum=32769p\n", ""));
	ck_assert_ptr_nonnull(pool_with("PageSize=huge\nSize=1p\nMinimum=64G\n", ""));
}
END_TEST

START_TEST(test_a_minimum_above_the_size_of_one_node_is_refused)
{
	refused_with("Minimum=8G\nSize@1=4G\n",
	             "refused " FILE_ ":4: Minimum=8G is above Size@1=4G; accepted: at most as "
	             "much, or a Minimum@1= besides\n");
	ck_assert_ptr_nonnull(pool_with("Minimum=8G\nSize@1=4G\nMinimum@1=2G\n", ""));
	refused_with("Minimum@2=128G\n", "refused " FILE_ ":4: Minimum@2=128G is above Size=64G; "
	                                 "accepted: at most as much\n");
	refused_with("Size@2=8G\nMinimum@2=9G\n",
	             "refused " FILE_ ":5: Minimum@2=9G is above Size@2=8G; accepted: at most as "
	             "much\n");
	ck_assert_ptr_nonnull(pool_with("Size@2=128G\nMinimum@2=100G\n", ""));
}
END_TEST

START_TEST(test_anything_is_above_nothing_whatever_the_unit)
{
	refused_with("Size@1=0\nMinimum=50%\n",
	             "refused " FILE_ ":5: Minimum=50% is above Size@1=0; accepted: at most as "
	             "much, or a Minimum@1= besides\n");
	ck_assert_ptr_nonnull(pool_with("Size@1=0%\nMinimum@1=0p\n", ""));
}
END_TEST

START_TEST(test_only_amounts_differ_between_nodes)
{
	ck_assert_ptr_nonnull(pool_with("Required@1=no\n",
	                                "warning " FILE_ ":4: Required= is the same on all nodes; "
	                                "'Required@1=' is ignored\n"));
}
END_TEST

START_TEST(test_a_node_override_names_one_node)
{
	static const char *const bad[] = { "Size@",     "Size@one", "Size@1-3",
		                           "Size@1024", "Size@-1",  "Size@1@2" };

	for (size_t i = 0; i < ELEMENTS(bad); i++) {
		scoped(freep) char *line = NULL;
		scoped(freep) char *note = NULL;

		ck_assert_int_gt(asprintf(&line, "%s=1G\n", bad[i]), 0);
		ck_assert_int_gt(asprintf(&note,
		                          "refused " FILE_ ":4: '%s=' names no node; accepted: "
		                          "Size@N= with one node id below 1024\n",
		                          bad[i]),
		                 0);
		refused_with(line, note);
	}
	ck_assert_uint_eq(pool_with("Size@1023=1G\n", "")->size.overrides[0].node_id, 1023);
}
END_TEST

START_TEST(test_an_override_of_a_node_left_out_is_a_warning)
{
	ck_assert_ptr_nonnull(pool_with("Nodes=0,2\nSize@1=32G\n",
	                                "warning " FILE_ ":5: Size@1= has no effect: Nodes=0,2 is "
	                                "without node 1\n"));
}
END_TEST

START_TEST(test_every_node_that_linux_can_have_may_have_an_override)
{
	scoped(freep) char *text = NULL;
	size_t text_bytes;
	FILE *out = open_memstream(&text, &text_bytes);

	for (unsigned node_id = 0; node_id < CONFIG_NODE_IDS_MAX; node_id++)
		fprintf(out, "Size@%u=1G\n", node_id);
	fclose(out);
	ck_assert_uint_eq(pool_with(text, "")->size.nr_overrides, CONFIG_NODE_IDS_MAX);
}
END_TEST

START_TEST(test_booleans_are_those_of_systemd)
{
	static const char *const yes[] = { "yes", "true", "1", "on", "y", "t", "YES", "True" };
	static const char *const no[] = { "no", "false", "0", "off", "n", "f", "Off" };
	char line[32];

	for (size_t i = 0; i < ELEMENTS(yes); i++) {
		snprintf(line, sizeof(line), "Required=%s\n", yes[i]);
		ck_assert(pool_with(line, "")->is_required);
	}
	for (size_t i = 0; i < ELEMENTS(no); i++) {
		snprintf(line, sizeof(line), "Required=%s\n", no[i]);
		ck_assert(!pool_with(line, "")->is_required);
	}
}
END_TEST

START_TEST(test_a_later_assignment_wins_and_what_it_replaces_is_not_judged)
{
	const struct pool_config *pool = pool_with("Size=nonsense\nSize=8G\n", "");

	ck_assert_uint_eq(pool->size.amount.value, 8 * GIB);
}
END_TEST

START_TEST(test_an_empty_assignment_goes_back_to_the_default)
{
	const struct pool_config *pool = pool_with("Required=no\nRequired=\nMinimum=1G\nMinimum=\n"
	                                           "Size@1=1G\nSize@1=\n",
	                                           "");

	ck_assert(pool->is_required);
	ck_assert(!pool->minimum.is_set);
	ck_assert_uint_eq(pool->size.nr_overrides, 0);
}
END_TEST

START_TEST(test_a_section_may_come_twice)
{
	const struct pool_config *pool = pool_with("[Region]\nLock=no\n[Pool]\nEarly=all\n", "");

	ck_assert_int_eq(pool->early, POOL_EARLY_ALL);
	ck_assert_uint_eq(pool->size.amount.value, 64 * GIB);
}
END_TEST

START_TEST(test_lists_add_up_and_begin_anew_when_empty)
{
	const struct pool_config *pool = pool_with("[Region]\nUsers=alice\nUsers=bob carol\n"
	                                           "Groups=wheel\nGroups=\nGroups=kvm\n",
	                                           "");

	ck_assert_str_eq(pool->users[0], "alice");
	ck_assert_str_eq(pool->users[1], "bob");
	ck_assert_str_eq(pool->users[2], "carol");
	ck_assert_ptr_null(pool->users[3]);
	ck_assert_str_eq(pool->groups[0], "kvm");
	ck_assert_ptr_null(pool->groups[1]);
}
END_TEST

START_TEST(test_a_bad_name_in_a_list_is_found_in_its_own_line)
{
	refused_with("[Region]\nUsers=alice\nUsers=-rf\n",
	             "refused " FILE_ ":6: Users=-rf is not accepted; accepted: names or ids of "
	             "users, with blanks between\n");
}
END_TEST

START_TEST(test_a_list_has_an_end)
{
	scoped(freep) char *text = NULL;
	size_t text_bytes;
	FILE *out = open_memstream(&text, &text_bytes);

	fputs("[Region]\n", out);
	for (unsigned i = 0; i < 257; i++)
		fputs("Users=a\n", out);
	fclose(out);
	refused_with(text, "refused " FILE_ ":261: more than 256 assignments of one key; put "
	                   "several values into one\n");
}
END_TEST

START_TEST(test_a_list_of_too_many_names_is_refused)
{
	scoped(freep) char *text = NULL;
	size_t text_bytes;
	FILE *out = open_memstream(&text, &text_bytes);

	fputs("[Region]\nUsers=z", out);
	for (unsigned i = 0; i < 1024; i++)
		fputs(" a", out);
	fclose(out);
	refused_with(text, "refused " FILE_ ":5: Users=z a a a a a a a a a a a a a a a a a a a a a "
	                   "a a a a a a a a a a a a a a … is out of range; accepted: names or "
	                   "ids of users, with blanks between\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config-pool");
	TCase *pool = tcase_create("pool");

	tcase_add_checked_fixture(pool, tree_setup, tree_teardown);
	tcase_add_test(pool, test_a_pool_needs_its_kind_and_its_size_only);
	tcase_add_test(pool, test_every_key_is_read);
	tcase_add_test(pool, test_words_for_nodes_and_early_are_read);
	tcase_add_test(pool, test_a_bare_number_is_refused_with_both_readings);
	tcase_add_test(pool, test_a_bad_value_is_refused_with_what_is_accepted);
	tcase_add_test(pool, test_all_bad_values_are_named_at_once);
	tcase_add_test(pool, test_a_page_size_is_a_power_of_two);
	tcase_add_test(pool, test_hugetlb_is_not_made_of_small_pages);
	tcase_add_test(pool, test_a_region_holds_whole_pages);
	tcase_add_test(pool, test_a_missing_kind_is_refused_without_a_line);
	tcase_add_test(pool, test_a_missing_size_is_refused_without_a_line);
	tcase_add_test(pool, test_sizes_of_single_nodes_are_enough);
	tcase_add_test(pool, test_an_unknown_kind_is_refused);
	tcase_add_test(pool, test_an_unknown_key_is_a_warning_with_the_key_meant);
	tcase_add_test(pool, test_a_key_in_the_wrong_section_is_a_warning_with_the_right_one);
	tcase_add_test(pool, test_an_unknown_section_is_a_warning_with_the_section_meant);
	tcase_add_test(pool, test_sections_and_keys_of_others_are_left_alone);
	tcase_add_test(pool, test_a_section_of_another_kind_is_a_warning_and_not_judged);
	tcase_add_test(pool, test_shrink_and_lock_may_stand_in_the_pool_section);
	tcase_add_test(pool, test_locking_huge_pages_is_a_warning);
	tcase_add_test(pool, test_a_minimum_above_the_size_is_refused);
	tcase_add_test(pool, test_pages_and_bytes_compare_once_the_page_is_known);
	tcase_add_test(pool, test_a_minimum_above_the_size_of_one_node_is_refused);
	tcase_add_test(pool, test_anything_is_above_nothing_whatever_the_unit);
	tcase_add_test(pool, test_only_amounts_differ_between_nodes);
	tcase_add_test(pool, test_a_node_override_names_one_node);
	tcase_add_test(pool, test_an_override_of_a_node_left_out_is_a_warning);
	tcase_add_test(pool, test_every_node_that_linux_can_have_may_have_an_override);
	tcase_add_test(pool, test_booleans_are_those_of_systemd);
	tcase_add_test(pool, test_a_later_assignment_wins_and_what_it_replaces_is_not_judged);
	tcase_add_test(pool, test_an_empty_assignment_goes_back_to_the_default);
	tcase_add_test(pool, test_a_section_may_come_twice);
	tcase_add_test(pool, test_lists_add_up_and_begin_anew_when_empty);
	tcase_add_test(pool, test_a_bad_name_in_a_list_is_found_in_its_own_line);
	tcase_add_test(pool, test_a_list_has_an_end);
	tcase_add_test(pool, test_a_list_of_too_many_names_is_refused);
	suite_add_tcase(suite, pool);
	return suite_main(suite);
}
