/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which files the paths of a pool name, and what is said of those that are not copied. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "../../daemon/config/originals.h"
#include "config-tree.h"
#include "suite.h"

static struct originals found;

static void setup(void)
{
	tree_setup();
}

static void teardown(void)
{
	originals_clear(&found);
	tree_teardown();
}

/* The root of the tree without the slash that tree_path() leaves. */
static const char *tree_root(void)
{
	static char root[512];

	snprintf(root, sizeof(root), "%s", tree_path(""));
	root[strlen(root) - 1] = '\0';
	return root;
}

/* Look for @paths, one in each line; the n-th has the position "file:n". */
static void find(const char *paths)
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

/* What was found is this: lines "position path", then " -> target" or " word" where refused. */
static void expect(const char *expected)
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

START_TEST(test_a_path_names_its_file)
{
	struct stat status;

	tree_file("opt/bin/program", "text");
	find("/opt/bin/program");
	expect("file:1 /opt/bin/program\n");
	ck_assert_int_eq(stat(tree_path("opt/bin/program"), &status), 0);
	ck_assert_uint_eq(found.files[0].identity.bytes, 4);
	ck_assert_uint_eq(found.files[0].identity.inode, status.st_ino);
	ck_assert_uint_eq(found.files[0].identity.device, status.st_dev);
}
END_TEST

START_TEST(test_wildcards_stand_for_names_without_a_dot_in_front)
{
	tree_file("lib/liba.so", "a");
	tree_file("lib/libb.so", "b");
	tree_file("lib/libbb.so", "b");
	tree_file("lib/.libc.so", "c");
	tree_file("lib/deep/libd.so", "d");
	tree_file("lib/x*y", "star");
	tree_file("lib/xzy", "no star");
	find("/lib/*.so\n/lib/.*.so");
	expect("file:2 /lib/.libc.so\nfile:1 /lib/liba.so\nfile:1 /lib/libb.so\n"
	       "file:1 /lib/libbb.so\n");
	find("/lib/lib?.so");
	expect("file:1 /lib/liba.so\nfile:1 /lib/libb.so\n");
	find("/lib/lib[!a].so");
	expect("file:1 /lib/libb.so\n");
	find("/*/*/*.so");
	expect("file:1 /lib/deep/libd.so\n");
	find("/*/deep/libd.so");
	expect("file:1 /lib/deep/libd.so\n");
	find("/lib/x\\*y");
	expect("file:1 /lib/x*y\n");
}
END_TEST

START_TEST(test_links_in_front_of_the_first_wildcard_are_followed_below_the_root)
{
	tree_file("usr/lib/liba.so", "a");
	tree_link("lib", "usr/lib");
	tree_link("absolute", "/usr/lib");
	tree_link("usr/up", "../../../../../usr/lib");
	find("/lib/liba.so\n/absolute/*.so\n/usr/up/lib?.so\n/usr/lib/liba.so");
	expect("file:1 /usr/lib/liba.so\n");
}
END_TEST

START_TEST(test_what_is_not_there_is_named_as_it_was_written)
{
	tree_file("lib/liba.so", "a");
	find("/lib/none\n/lib/*.none\n/none/x\n/lib/liba.so/x\n/lib/*/x");
	expect("file:2 /lib/*.none no-such-file\nfile:5 /lib/*/x no-such-file\n"
	       "file:4 /lib/liba.so/x no-such-file\nfile:1 /lib/none no-such-file\n"
	       "file:3 /none/x no-such-file\n");
}
END_TEST

static void make_socket(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	scoped(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", tree_path(name));
	ck_assert_int_eq(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
}

START_TEST(test_only_regular_files_are_copied)
{
	tree_directory("d/directory");
	tree_file("d/file", "x");
	ck_assert_int_eq(mkfifo(tree_path("d/fifo"), 0644), 0);
	make_socket("d/socket");
	find("/d/*");
	expect("file:1 /d/directory directory\nfile:1 /d/fifo not-a-file\nfile:1 /d/file\n"
	       "file:1 /d/socket not-a-file\n");
}
END_TEST

START_TEST(test_a_device_is_not_opened)
{
	static const struct original_pattern pattern = { (char *) "/dev/null", (char *) "file:1" };

	ck_assert_int_eq(originals_find("", &pattern, 1, &found), 0);
	expect("file:1 /dev/null not-a-file\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config-originals");
	TCase *originals = tcase_create("originals");

	tcase_add_checked_fixture(originals, setup, teardown);
	tcase_add_test(originals, test_a_path_names_its_file);
	tcase_add_test(originals, test_wildcards_stand_for_names_without_a_dot_in_front);
	tcase_add_test(originals,
	               test_links_in_front_of_the_first_wildcard_are_followed_below_the_root);
	tcase_add_test(originals, test_what_is_not_there_is_named_as_it_was_written);
	tcase_add_test(originals, test_only_regular_files_are_copied);
	tcase_add_test(originals, test_a_device_is_not_opened);
	suite_add_tcase(suite, originals);
	return suite_main(suite);
}
