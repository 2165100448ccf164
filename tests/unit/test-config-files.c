/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Places, masks, drop-ins, and files that are no files. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "config-tree.h"
#include "suite.h"

#define SIZED(amount) "[Pool]\nKind=region\nSize=" amount "\n"

static uint64_t size_of(const struct config *config, const char *name)
{
	const struct pool_config *pool = config_pool(config, name);

	ck_assert_ptr_nonnull(pool);
	return pool->size.amount.value;
}

START_TEST(test_of_files_with_one_name_the_first_place_wins)
{
	const struct config *config;

	tree_file("usr/lib/nodeinit/pools.d/a.pool", SIZED("1G"));
	tree_file("usr/local/lib/nodeinit/pools.d/a.pool", SIZED("2G"));
	tree_file("usr/lib/nodeinit/pools.d/b.pool", SIZED("1G"));
	tree_file("usr/local/lib/nodeinit/pools.d/b.pool", SIZED("2G"));
	tree_file("run/nodeinit/pools.d/b.pool", SIZED("3G"));
	tree_file("usr/local/lib/nodeinit/pools.d/c.pool", SIZED("2G"));
	tree_file("run/nodeinit/pools.d/c.pool", SIZED("3G"));
	tree_file("etc/nodeinit/pools.d/c.pool", SIZED("4G"));
	tree_file("usr/lib/nodeinit/pools.d/d.pool", SIZED("1G"));
	config = tree_search();
	tree_expect_notes("");
	ck_assert_uint_eq(config->nr_pools, 4);
	ck_assert_uint_eq(size_of(config, "a"), 2 * GIB);
	ck_assert_uint_eq(size_of(config, "b"), 3 * GIB);
	ck_assert_uint_eq(size_of(config, "c"), 4 * GIB);
	ck_assert_uint_eq(size_of(config, "d"), GIB);
	ck_assert_str_eq(config_pool(config, "b")->source,
	                 tree_path("run/nodeinit/pools.d/b.pool"));
}
END_TEST

START_TEST(test_an_empty_file_or_a_link_to_dev_null_masks)
{
	const struct config *config;

	tree_file("usr/lib/nodeinit/pools.d/a.pool", SIZED("1G"));
	tree_file("etc/nodeinit/pools.d/a.pool", "");
	tree_file("usr/lib/nodeinit/pools.d/b.pool", SIZED("1G"));
	tree_link("run/nodeinit/pools.d/b.pool", "/dev/null");
	tree_file("usr/lib/nodeinit/pools.d/b.pool.d/x.conf", "\n[Pool\n");
	tree_file("usr/lib/nodeinit/pools.d/c.pool", SIZED("1G"));
	config = tree_search();
	tree_expect_notes("");
	ck_assert_uint_eq(config->nr_pools, 1);
	ck_assert_str_eq(config->pools[0].name, "c");
	ck_assert(!config_is_pool_refused(config, "a"));
	ck_assert(!config_is_pool_refused(config, "b"));
}
END_TEST

START_TEST(test_an_empty_file_in_the_given_directory_declares_nothing)
{
	tree_file("pools.d/a.pool", "");
	ck_assert_uint_eq(tree_load()->nr_pools, 0);
	tree_expect_notes("");
}
END_TEST

START_TEST(test_a_mask_in_a_later_place_hides_nothing)
{
	tree_file("etc/nodeinit/pools.d/a.pool", SIZED("1G"));
	tree_file("usr/lib/nodeinit/pools.d/a.pool", "");
	ck_assert_uint_eq(tree_search()->nr_pools, 1);
}
END_TEST

START_TEST(test_a_given_directory_replaces_the_search_path)
{
	struct config *config = NULL;

	tree_file("etc/nodeinit/pools.d/a.pool", SIZED("1G"));
	tree_file("mine/pools.d/b.pool", SIZED("1G"));
	ck_assert_int_eq(config_load(tree_path("mine"), tree_path(""), &config), 0);
	ck_assert_uint_eq(config->nr_pools, 1);
	ck_assert_str_eq(config->pools[0].name, "b");
	ck_assert_ptr_null(config_free(config));
}
END_TEST

START_TEST(test_a_given_directory_that_is_none_is_an_error)
{
	struct config *config = NULL;

	tree_file("file", "x");
	tree_link("loop", "loop");
	ck_assert_int_eq(config_load(tree_path("missing"), NULL, &config), -ENOENT);
	ck_assert_int_eq(config_load(tree_path("file"), NULL, &config), -ENOTDIR);
	ck_assert_int_eq(config_load(tree_path("loop"), NULL, &config), -ELOOP);
	ck_assert_ptr_null(config);
}
END_TEST

START_TEST(test_dropins_of_all_places_apply_in_order_of_their_names)
{
	const struct config *config;

	tree_file("usr/lib/nodeinit/pools.d/guests.pool", SIZED("1G"));
	tree_file("usr/lib/nodeinit/pools.d/guests.pool.d/30.conf", "[Pool]\nSize=3G\n");
	tree_file("etc/nodeinit/pools.d/guests.pool.d/20.conf", "[Pool]\nSize=2G\nEarly=all\n");
	tree_file("run/nodeinit/pools.d/guests.pool.d/10.conf", "[Pool]\nEarly=none\n");
	config = tree_search();
	tree_expect_notes("");
	ck_assert_uint_eq(size_of(config, "guests"), 3 * GIB);
	ck_assert_int_eq(config_pool(config, "guests")->early, POOL_EARLY_ALL);
}
END_TEST

START_TEST(test_of_dropins_with_one_name_the_first_place_wins)
{
	const struct config *config;

	tree_file("etc/nodeinit/pools.d/guests.pool", SIZED("1G"));
	tree_file("usr/lib/nodeinit/pools.d/guests.pool.d/10.conf", "[Pool]\nSize=7G\n");
	tree_file("etc/nodeinit/pools.d/guests.pool.d/10.conf", "[Pool]\nSize=2G\n");
	tree_file("usr/lib/nodeinit/pools.d/guests.pool.d/20.conf", "[Pool]\nSize=9G\n");
	tree_link("run/nodeinit/pools.d/guests.pool.d/20.conf", "/dev/null");
	config = tree_search();
	tree_expect_notes("");
	ck_assert_uint_eq(size_of(config, "guests"), 2 * GIB);
}
END_TEST

START_TEST(test_a_note_on_a_dropin_names_the_dropin)
{
	tree_file("pools.d/guests.pool", SIZED("1G"));
	tree_file("pools.d/guests.pool.d/10.conf", "# why\n[Pool]\nEarly=soon\nColor=1\n");
	tree_load();
	tree_expect_notes("warning pools.d/guests.pool.d/10.conf:4: unknown key 'Color' in [Pool]; "
	                  "it is ignored\n"
	                  "refused pools.d/guests.pool.d/10.conf:3: Early=soon is not accepted; "
	                  "accepted: auto, none, all, or bytes as 2G\n");
}
END_TEST

START_TEST(test_a_dropin_repairs_a_bad_value)
{
	tree_file("pools.d/guests.pool", SIZED("nonsense"));
	tree_file("pools.d/guests.pool.d/10.conf", "[Pool]\nSize=5G\n");
	ck_assert_uint_eq(size_of(tree_load(), "guests"), 5 * GIB);
	tree_expect_notes("");
}
END_TEST

START_TEST(test_an_unreadable_dropin_refuses_its_pool)
{
	const struct config *config;

	tree_file("pools.d/guests.pool", SIZED("1G"));
	tree_file("pools.d/other.pool", SIZED("1G"));
	tree_link("pools.d/guests.pool.d/10.conf", "nowhere");
	config = tree_load();
	tree_expect_notes("refused pools.d/guests.pool.d/10.conf: cannot be read: No such file or "
	                  "directory\n");
	ck_assert(config_is_pool_refused(config, "guests"));
	ck_assert_ptr_null(config_pool(config, "guests"));
	ck_assert_ptr_nonnull(config_pool(config, "other"));
}
END_TEST

START_TEST(test_a_dropin_directory_that_is_none_refuses_its_pool)
{
	tree_file("pools.d/guests.pool", SIZED("1G"));
	tree_file("pools.d/guests.pool.d", "x");
	ck_assert(config_is_pool_refused(tree_load(), "guests"));
	tree_expect_notes("refused pools.d/guests.pool.d: cannot be read: Not a directory\n");
}
END_TEST

START_TEST(test_dropins_without_a_pool_are_a_warning)
{
	tree_file("pools.d/guest.pool.d/10.conf", "[Pool]\nSize=5G\n");
	tree_file("pools.d/guests.pool", SIZED("1G"));
	tree_load();
	tree_expect_notes("warning pools.d/guest.pool.d: is ignored: there is no guest.pool for "
	                  "these drop-ins\n");
}
END_TEST

START_TEST(test_dropins_of_one_place_go_with_the_pool_of_another)
{
	tree_file("etc/nodeinit/pools.d/guests.pool.d/10.conf", "[Pool]\nSize=5G\n");
	tree_file("usr/lib/nodeinit/pools.d/guests.pool", SIZED("1G"));
	ck_assert_uint_eq(size_of(tree_search(), "guests"), 5 * GIB);
	tree_expect_notes("");
}
END_TEST

START_TEST(test_other_files_are_a_warning_and_backups_are_silent)
{
	tree_file("pools.d/guests.conf", SIZED("1G"));
	tree_file("pools.d/guests.pool.dpkg-new", SIZED("1G"));
	tree_file("pools.d/guests.pool~", SIZED("1G"));
	tree_file("pools.d/.guests.pool", SIZED("1G"));
	tree_load();
	tree_expect_notes("warning pools.d/guests.conf: is ignored: a pool is a file NAME.pool\n"
	                  "warning pools.d/guests.pool.dpkg-new: is ignored: a pool is a file "
	                  "NAME.pool\n");
}
END_TEST

START_TEST(test_a_name_of_other_characters_or_too_long_is_a_warning)
{
	char name[96] = "pools.d/";

	tree_file("pools.d/my guests.pool", SIZED("1G"));
	tree_file("pools.d/a\x1b[31m\n.pool", SIZED("1G"));
	memset(name + strlen("pools.d/"), 'n', 63);
	strcpy(name + strlen("pools.d/") + 63, ".pool");
	tree_file(name, SIZED("1G"));
	strcpy(name + strlen("pools.d/") + 63, "n.pool");
	tree_file(name, SIZED("1G"));
	ck_assert_uint_eq(tree_load()->nr_pools, 1);
	tree_expect_notes(
		"warning pools.d/a\\x1b[31m\\x0a.pool: is ignored: the name of a pool is made of "
		"letters, digits, '-', '_' and '.', at most 63 of them\n"
		"warning pools.d/my guests.pool: is ignored: the name of a pool is made of "
		"letters, digits, '-', '_' and '.', at most 63 of them\n"
		"warning pools.d/nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
		".pool: is ignored: the name of a pool is made of letters, digits, '-', '_' and "
		"'.', at most 63 of them\n");
}
END_TEST

START_TEST(test_names_that_differ_by_case_are_a_warning)
{
	tree_file("pools.d/Guests.pool", SIZED("1G"));
	tree_file("pools.d/guests.pool", SIZED("1G"));
	ck_assert_uint_eq(tree_load()->nr_pools, 2);
	tree_expect_notes("warning pools.d/guests.pool: differs only by upper and lower case from "
	                  "pools.d/Guests.pool\n");
}
END_TEST

START_TEST(test_pools_are_found_by_name_whatever_sorts_before_a_dot)
{
	const struct config *config;

	tree_file("pools.d/a.pool", SIZED("1G"));
	tree_file("pools.d/a-b.pool", SIZED("2G"));
	tree_file("pools.d/a.b.pool", SIZED("3G"));
	config = tree_load();
	ck_assert_str_eq(config->pools[0].name, "a");
	ck_assert_str_eq(config->pools[1].name, "a-b");
	ck_assert_str_eq(config->pools[2].name, "a.b");
	ck_assert_uint_eq(size_of(config, "a"), GIB);
	ck_assert_uint_eq(size_of(config, "a-b"), 2 * GIB);
	ck_assert_uint_eq(size_of(config, "a.b"), 3 * GIB);
}
END_TEST

/* Whatever stands in the place of a.pool: b.pool goes on, and a is known to be refused. */
static void expect_refused(const char *note)
{
	const struct config *config;

	tree_file("pools.d/b.pool", SIZED("1G"));
	config = tree_load();
	tree_expect_notes(note);
	ck_assert_ptr_nonnull(config_pool(config, "b"));
	ck_assert_ptr_null(config_pool(config, "a"));
	ck_assert(config_is_pool_refused(config, "a"));
	ck_assert(!config_is_pool_refused(config, "b"));
	ck_assert_str_eq(config->notes[0].pool, "a");
}

START_TEST(test_a_directory_in_the_place_of_a_file_is_refused)
{
	tree_directory("pools.d/a.pool");
	expect_refused("refused pools.d/a.pool: is a directory, not a file\n");
}
END_TEST

START_TEST(test_a_link_to_nowhere_is_refused)
{
	tree_link("pools.d/a.pool", "nowhere");
	expect_refused("refused pools.d/a.pool: cannot be read: No such file or directory\n");
}
END_TEST

START_TEST(test_a_loop_of_links_is_refused)
{
	tree_link("pools.d/a.pool", "a.pool");
	expect_refused("refused pools.d/a.pool: cannot be read: Too many levels of symbolic "
	               "links\n");
}
END_TEST

START_TEST(test_a_fifo_is_refused_without_waiting_for_a_writer)
{
	tree_directory("pools.d");
	ck_assert_int_eq(mkfifo(tree_path("pools.d/a.pool"), 0644), 0);
	expect_refused("refused pools.d/a.pool: is a FIFO, not a file\n");
}
END_TEST

START_TEST(test_a_device_is_refused_without_being_opened)
{
	tree_link("pools.d/a.pool", "/dev/zero");
	expect_refused("refused pools.d/a.pool: is a device, not a file\n");
}
END_TEST

START_TEST(test_a_file_without_the_right_to_read_is_refused)
{
	/* Root reads everything; then another user looks at it. */
	tree_file("pools.d/a.pool", SIZED("1G"));
	tree_file("pools.d/b.pool", SIZED("1G"));
	ck_assert_int_eq(chmod(tree_path("pools.d/a.pool"), 0), 0);
	ck_assert_int_eq(chmod(tree_path(""), 0755), 0);
	if (!geteuid())
		ck_assert_int_eq(seteuid(65534), 0);
	tree_load();
	tree_expect_notes("refused pools.d/a.pool: cannot be read: Permission denied\n");
	if (!getuid())
		ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

START_TEST(test_a_broken_file_in_the_first_place_does_not_fall_through)
{
	tree_link("etc/nodeinit/pools.d/a.pool", "nowhere");
	tree_file("usr/lib/nodeinit/pools.d/a.pool", SIZED("1G"));
	ck_assert(config_is_pool_refused(tree_search(), "a"));
}
END_TEST

START_TEST(test_a_place_that_cannot_be_read_is_refused_and_the_others_go_on)
{
	tree_file("etc/nodeinit/pools.d", "x");
	tree_link("run/nodeinit/pools.d", "pools.d");
	tree_file("usr/lib/nodeinit/pools.d/a.pool", SIZED("1G"));
	ck_assert_uint_eq(tree_search()->nr_pools, 1);
	tree_expect_notes("refused etc/nodeinit/pools.d: cannot be read: Not a directory\n"
	                  "refused run/nodeinit/pools.d: cannot be read: Too many levels of "
	                  "symbolic links\n");
}
END_TEST

START_TEST(test_pools_that_could_not_be_read_are_not_taken_for_pools_that_are_gone)
{
	scoped(freep) char *pools = strdup(tree_path("pools.d"));

	tree_file("nodeinitd.conf", "");
	ck_assert(!tree_load()->is_pools_unread);
	tree_file("pools.d/a.pool", SIZED("1G"));
	tree_file("pools.d/a.pool.d", "x");
	ck_assert(!tree_load()->is_pools_unread);
	ck_assert_int_eq(rename(pools, tree_path("kept")), 0);
	tree_link("pools.d", "pools.d");
	ck_assert(tree_load()->is_pools_unread);
	ck_assert(tree_load()->is_anything_refused);
}
END_TEST

START_TEST(test_a_file_above_the_limit_is_refused)
{
	scoped(freep) char *text = malloc(CONFIG_FILE_BYTES_MAX + 1);

	memset(text, '\n', CONFIG_FILE_BYTES_MAX + 1);
	memcpy(text, SIZED("1G"), strlen(SIZED("1G")));
	tree_bytes("pools.d/a.pool", text, CONFIG_FILE_BYTES_MAX + 1);
	expect_refused("refused pools.d/a.pool: is larger than 1048576 bytes, the most a file may "
	               "have\n");
	tree_bytes("pools.d/a.pool", text, CONFIG_FILE_BYTES_MAX);
	ck_assert_uint_eq(tree_load()->nr_pools, 2);
	tree_expect_notes("");
}
END_TEST

START_TEST(test_more_pools_than_the_limit_are_refused_by_name)
{
	const struct config *config;
	char name[32];

	for (int i = 0; i < CONFIG_POOLS_MAX + 2; i++) {
		snprintf(name, sizeof(name), "pools.d/p%03d.pool", i);
		tree_file(name, i == 3 ? "" : SIZED("1G"));
	}
	config = tree_load();
	ck_assert_uint_eq(config->nr_pools, CONFIG_POOLS_MAX);
	tree_expect_notes("refused pools.d/p257.pool: is not used: there are 256 pools without it, "
	                  "the most there may be\n");
	ck_assert(config_is_pool_refused(config, "p257"));
}
END_TEST

START_TEST(test_notes_are_bounded_and_refused_names_are_not_lost)
{
	const struct config *config;
	char name[32];

	for (int i = 0; i < 250; i++) {
		snprintf(name, sizeof(name), "pools.d/p%03d.pool", i);
		tree_file(name, "[Pool]\nKind=nothing\n");
	}
	config = tree_load();
	ck_assert_uint_eq(config->nr_notes, 201);
	ck_assert_str_eq(config->notes[200].text, "50 more notes on the configuration");
	ck_assert_int_eq(config->notes[200].severity, CONFIG_REFUSED);
	ck_assert_uint_eq(config->nr_refused_pools, 250);
	ck_assert(config_is_pool_refused(config, "p249"));
}
END_TEST

START_TEST(test_a_file_of_junk_does_not_crowd_out_the_notes_on_others)
{
	const struct config *config;
	scoped(freep) char *junk = NULL;
	size_t junk_bytes;
	FILE *out = open_memstream(&junk, &junk_bytes);

	for (int i = 0; i < 5000; i++)
		fprintf(out, "junk %d\n", i);
	fclose(out);
	tree_file("pools.d/a.pool", junk);
	tree_file("pools.d/b.pool", "[Pool]\nKind=nothing\n");
	config = tree_load();
	ck_assert_uint_eq(config->nr_notes, 22);
	ck_assert(strstr(config->notes[19].text, "a.pool:20: 'junk 19' is neither"));
	ck_assert(strstr(config->notes[20].text, "a.pool: 4981 more notes"));
	ck_assert_str_eq(config->notes[20].pool, "a");
	ck_assert(strstr(config->notes[21].text, "b.pool:2: Kind=nothing"));
}
END_TEST

START_TEST(test_the_examples_are_read_without_a_note)
{
	static const char *const pools[] = { "cache",  "dpdk",      "expander",
		                             "guests", "hot-files", "small" };
	const struct config *config;

	tree_link("nodeinitd.conf", NODEINIT_SOURCE_ROOT "/examples/nodeinitd.conf");
	for (size_t i = 0; i < ELEMENTS(pools); i++) {
		char name[64];
		char target[512];

		snprintf(name, sizeof(name), "pools.d/%s.pool", pools[i]);
		snprintf(target, sizeof(target), "%s/examples/%s.pool", NODEINIT_SOURCE_ROOT,
		         pools[i]);
		tree_link(name, target);
	}
	config = tree_load();
	tree_expect_notes("");
	ck_assert_uint_eq(config->nr_pools, ELEMENTS(pools));
	ck_assert_int_eq(config_pool(config, "small")->page, POOL_PAGE_BASE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config-files");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, tree_setup, tree_teardown);
	tcase_add_test(files, test_of_files_with_one_name_the_first_place_wins);
	tcase_add_test(files, test_an_empty_file_or_a_link_to_dev_null_masks);
	tcase_add_test(files, test_an_empty_file_in_the_given_directory_declares_nothing);
	tcase_add_test(files, test_a_mask_in_a_later_place_hides_nothing);
	tcase_add_test(files, test_a_given_directory_replaces_the_search_path);
	tcase_add_test(files, test_a_given_directory_that_is_none_is_an_error);
	tcase_add_test(files, test_dropins_of_all_places_apply_in_order_of_their_names);
	tcase_add_test(files, test_of_dropins_with_one_name_the_first_place_wins);
	tcase_add_test(files, test_a_note_on_a_dropin_names_the_dropin);
	tcase_add_test(files, test_a_dropin_repairs_a_bad_value);
	tcase_add_test(files, test_an_unreadable_dropin_refuses_its_pool);
	tcase_add_test(files, test_a_dropin_directory_that_is_none_refuses_its_pool);
	tcase_add_test(files, test_dropins_without_a_pool_are_a_warning);
	tcase_add_test(files, test_dropins_of_one_place_go_with_the_pool_of_another);
	tcase_add_test(files, test_other_files_are_a_warning_and_backups_are_silent);
	tcase_add_test(files, test_a_name_of_other_characters_or_too_long_is_a_warning);
	tcase_add_test(files, test_names_that_differ_by_case_are_a_warning);
	tcase_add_test(files, test_pools_are_found_by_name_whatever_sorts_before_a_dot);
	tcase_add_test(files, test_a_directory_in_the_place_of_a_file_is_refused);
	tcase_add_test(files, test_a_link_to_nowhere_is_refused);
	tcase_add_test(files, test_a_loop_of_links_is_refused);
	tcase_add_test(files, test_a_fifo_is_refused_without_waiting_for_a_writer);
	tcase_add_test(files, test_a_device_is_refused_without_being_opened);
	tcase_add_test(files, test_a_file_without_the_right_to_read_is_refused);
	tcase_add_test(files, test_a_broken_file_in_the_first_place_does_not_fall_through);
	tcase_add_test(files, test_a_place_that_cannot_be_read_is_refused_and_the_others_go_on);
	tcase_add_test(files,
	               test_pools_that_could_not_be_read_are_not_taken_for_pools_that_are_gone);
	tcase_add_test(files, test_a_file_above_the_limit_is_refused);
	tcase_add_test(files, test_more_pools_than_the_limit_are_refused_by_name);
	tcase_add_test(files, test_notes_are_bounded_and_refused_names_are_not_lost);
	tcase_add_test(files, test_a_file_of_junk_does_not_crowd_out_the_notes_on_others);
	tcase_add_test(files, test_the_examples_are_read_without_a_note);
	suite_add_tcase(suite, files);
	return suite_main(suite);
}
