/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Links among the files of a pool and on the way to them: which are kept, and which are refused. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "originals-find.h"
#include "suite.h"

START_TEST(test_a_link_to_another_file_of_the_pool_stays_a_link)
{
	tree_file("lib/libc.so.6.1", "c");
	tree_link("lib/libc.so.6", "libc.so.6.1");
	tree_link("lib/libc.so", "./libc.so.6");
	tree_link("bin/libc", "../lib/libc.so");
	tree_link("bin/absolute", "/lib/libc.so");
	find("/lib/*\n/bin/*");
	expect("file:2 /bin/absolute -> /lib/libc.so\n"
	       "file:2 /bin/libc -> ../lib/libc.so\n"
	       "file:1 /lib/libc.so -> ./libc.so.6\n"
	       "file:1 /lib/libc.so.6 -> libc.so.6.1\n"
	       "file:1 /lib/libc.so.6.1\n");
}
END_TEST

START_TEST(test_an_absolute_link_may_go_by_way_of_a_linked_directory)
{
	tree_file("usr/lib/liba.so", "a");
	tree_link("lib", "usr/lib");
	tree_link("bin/a", "/lib/liba.so");
	find("/lib/*\n/bin/*");
	expect("file:2 /bin/a -> /lib/liba.so\nfile:1 /usr/lib/liba.so\n");
}
END_TEST

START_TEST(test_a_link_out_of_what_was_named_is_refused)
{
	tree_file("etc/shadow", "secret");
	tree_file("d/file", "x");
	tree_file("d/sub/file", "x");
	tree_link("e/jump", "sub");
	tree_directory("e/sub");
	tree_file("e/file", "x");
	tree_link("d/absolute", "/etc/shadow");
	tree_link("d/relative", "../etc/shadow");
	tree_link("d/dangling", "none");
	tree_link("d/self", "self");
	tree_link("d/ping", "pong");
	tree_link("d/pong", "ping");
	tree_link("d/second", "relative");
	tree_link("d/to-directory", "sub");
	tree_link("d/slash", "file/");
	tree_link("d/dot", "file/.");
	tree_link("d/parent", "..");
	tree_link("d/root", "/");
	tree_link("d/above", "../../d/file");
	tree_link("d/back", "sub/../file");
	tree_link("d/proc", "/proc/self/exe");
	find("/d/*\n/e/file");
	expect("file:1 /d/above symlink\nfile:1 /d/absolute symlink\nfile:1 /d/back symlink\n"
	       "file:1 /d/dangling symlink\nfile:1 /d/dot symlink\nfile:1 /d/file\n"
	       "file:1 /d/parent symlink\nfile:1 /d/ping symlink\nfile:1 /d/pong symlink\n"
	       "file:1 /d/proc symlink\nfile:1 /d/relative symlink\nfile:1 /d/root symlink\n"
	       "file:1 /d/second symlink\nfile:1 /d/self symlink\nfile:1 /d/slash symlink\n"
	       "file:1 /d/sub directory\nfile:1 /d/to-directory symlink\nfile:2 /e/file\n");
}
END_TEST

START_TEST(test_a_link_to_a_refused_file_is_refused)
{
	tree_file("d/setuid", "x");
	ck_assert_int_eq(chmod(tree_path("d/setuid"), 04755), 0);
	tree_link("d/link", "setuid");
	tree_directory("d/directory");
	tree_link("d/other", "directory");
	find("/d/*");
	expect("file:1 /d/directory directory\nfile:1 /d/link symlink\nfile:1 /d/other symlink\n"
	       "file:1 /d/setuid privileged\n");
}
END_TEST

/* "lN" to "l(N+1)" and so on, the last one to the file. */
static void make_chain(unsigned nr_links)
{
	for (unsigned i = 0; i < nr_links; i++) {
		char name[32];
		char target[32];

		snprintf(name, sizeof(name), "chain/l%02u", i);
		snprintf(target, sizeof(target), "l%02u", i + 1);
		tree_link(name, i + 1 < nr_links ? target : "file");
	}
	tree_file("chain/file", "x");
}

START_TEST(test_as_many_links_in_a_row_as_the_kernel_follows)
{
	make_chain(41);
	find("/chain/*");
	ck_assert_uint_eq(found.nr, 42);
	ck_assert_uint_eq(found.nr_refused, 1);
	ck_assert_str_eq(found.files[1].path, "/chain/l00");
	ck_assert_int_eq(found.files[1].refusal, ORIGINAL_SYMLINK);
	ck_assert_ptr_null(found.files[1].link_target);
	ck_assert_int_eq(found.files[2].refusal, ORIGINAL_ACCEPTED);
	ck_assert_int_eq(open(tree_path("chain/l00"), O_RDONLY | O_CLOEXEC), -1);
	ck_assert_int_eq(errno, ELOOP);
}
END_TEST

START_TEST(test_a_link_behind_a_wildcard_is_not_gone_along)
{
	tree_file("etc/secret/key", "secret");
	tree_file("srv/a/key", "x");
	tree_link("srv/b", "../etc/secret");
	tree_link("srv/file-link", "a/key");
	tree_link("srv/dangling", "none");
	find("/srv/*/key");
	expect("file:1 /srv/a/key\nfile:1 /srv/b symlink\n");
	find("/srv/?/k*");
	expect("file:1 /srv/a/key\nfile:1 /srv/b symlink\n");
	find("/s*/b/key");
	expect("file:1 /srv/b symlink\n");
}
END_TEST

START_TEST(test_a_link_to_a_directory_whose_files_are_named_anyway_is_no_fault)
{
	tree_file("opt/v1/bin/x", "1");
	tree_file("opt/v2/bin/x", "2");
	tree_link("opt/current", "v2");
	tree_file("opt/v2-old", "no directory");
	find("/opt/*/bin/x");
	expect("file:1 /opt/v1/bin/x\nfile:1 /opt/v2/bin/x\n");
	find("/opt/[c]*/bin/x\n/opt/v2-old");
	expect("file:1 /opt/current symlink\nfile:2 /opt/v2-old\n");
	ck_assert_int_eq(chmod(tree_path("opt/v2/bin/x"), 04755), 0);
	find("/opt/*/bin/x");
	expect("file:1 /opt/current symlink\nfile:1 /opt/v1/bin/x\n"
	       "file:1 /opt/v2/bin/x privileged\n");
	find("/opt/[cv]*[1t]/bin/x");
	expect("file:1 /opt/current symlink\nfile:1 /opt/v1/bin/x\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config-links");
	TCase *links = tcase_create("links");

	tcase_add_checked_fixture(links, originals_setup, originals_teardown);
	tcase_add_test(links, test_a_link_to_another_file_of_the_pool_stays_a_link);
	tcase_add_test(links, test_an_absolute_link_may_go_by_way_of_a_linked_directory);
	tcase_add_test(links, test_a_link_out_of_what_was_named_is_refused);
	tcase_add_test(links, test_a_link_to_a_refused_file_is_refused);
	tcase_add_test(links, test_as_many_links_in_a_row_as_the_kernel_follows);
	tcase_add_test(links, test_a_link_behind_a_wildcard_is_not_gone_along);
	tcase_add_test(links, test_a_link_to_a_directory_whose_files_are_named_anyway_is_no_fault);
	suite_add_tcase(suite, links);
	return suite_main(suite);
}
