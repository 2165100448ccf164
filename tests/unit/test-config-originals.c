/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which files the paths of a pool name, and what is said of those that are not copied. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "../../daemon/config/original-walk.h"
#include "originals-find.h"
#include "suite.h"

#define ACL_VERSION POSIX_ACL_XATTR_VERSION

START_TEST(test_a_path_names_its_file)
{
	static const struct timespec times[] = { { 1, 2 }, { 3, 4 } };
	struct stat status;

	tree_file("opt/bin/program", "text");
	ck_assert_int_eq(utimensat(AT_FDCWD, tree_path("opt/bin/program"), times, 0), 0);
	find("/opt/bin/program");
	expect("file:1 /opt/bin/program\n");
	ck_assert_int_eq(stat(tree_path("opt/bin/program"), &status), 0);
	ck_assert_uint_eq(found.files[0].identity.bytes, 4);
	ck_assert_uint_eq(found.files[0].identity.inode, status.st_ino);
	ck_assert_uint_eq(found.files[0].identity.device, status.st_dev);
	ck_assert_int_eq(found.files[0].identity.modified.tv_sec, 3);
	ck_assert_int_eq(found.files[0].identity.modified.tv_nsec, 4);
	ck_assert_int_eq(found.files[0].identity.changed.tv_sec, status.st_ctim.tv_sec);
	ck_assert_int_eq(found.files[0].identity.changed.tv_nsec, status.st_ctim.tv_nsec);
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
	find("/lib/x\\*y\n/lib/lib\\a.so");
	expect("file:2 /lib/liba.so\nfile:1 /lib/x*y\n");
	find("/lib/.*\n/lib/deep/.?");
	expect("file:1 /lib/.libc.so\nfile:2 /lib/deep/.? no-such-file\n");
	find("/lib/*[x-z");
	expect("file:1 /lib/*[x-z no-such-file\n");
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
	find("/l*/none/x\n/l*/liba.so/x");
	expect("file:2 /l*/liba.so/x no-such-file\nfile:1 /l*/none/x no-such-file\n");
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
	find("/d/directory\n/d/fifo\n/d/file");
	expect("file:1 /d/directory directory\nfile:2 /d/fifo not-a-file\nfile:3 /d/file\n");
}
END_TEST

START_TEST(test_a_device_is_not_copied_and_the_links_of_processes_lead_nowhere)
{
	static const struct original_pattern patterns[] = {
		{ (char *) "/dev/null", (char *) "file:1" },
		{ (char *) "/proc/self/cwd/x", (char *) "file:2" },
	};

	ck_assert_int_eq(originals_find("", patterns, 2, &found), 0);
	expect("file:1 /dev/null not-a-file\nfile:2 /proc/self/cwd/x symlink\n");
}
END_TEST

/* What original_walk() is told to do with what it finds. */
static int count_match(void *user, const struct original_place *place, const char *name)
{
	(void) place, (void) name;
	++*(unsigned *) user;
	return 0;
}

START_TEST(test_the_names_that_are_looked_at_come_to_an_end)
{
	static const struct original_walk_ops ops = { .match = count_match };
	struct original_tree tree;
	unsigned nr_matches = 0;
	size_t nr_names_left = 5;

	tree_file("a/1", "");
	tree_file("a/2", "");
	tree_file("b/1", "");
	ck_assert_int_eq(original_tree_open(tree_root(), &tree), 0);
	ck_assert_int_eq(original_walk(&tree, "/*/*", &nr_names_left, &ops, &nr_matches), 0);
	ck_assert_uint_eq(nr_matches, 3);
	ck_assert_uint_eq(nr_names_left, 0);
	nr_names_left = 3;
	ck_assert_int_eq(original_walk(&tree, "/*/*", &nr_names_left, &ops, &nr_matches), -E2BIG);
	ck_assert_int_eq(original_walk(&tree, "/a/1", &nr_names_left, &ops, &nr_matches), 0);
	original_tree_close(&tree);
}
END_TEST

START_TEST(test_what_two_paths_name_is_there_once_by_the_first_of_them)
{
	tree_file("lib/liba.so", "a");
	tree_file("lib/libb.so", "b");
	tree_link("lib64", "lib");
	find("/lib64/libb.so\n/lib/*.so\n/lib/liba.so\n/none\n/none");
	expect("file:2 /lib/liba.so\nfile:1 /lib/libb.so\nfile:4 /none no-such-file\n");
}
END_TEST

START_TEST(test_a_directory_that_is_not_open_to_everybody_hides_its_files)
{
	tree_file("d/open/file", "x");
	tree_file("d/group/file", "x");
	tree_file("d/closed/deep/file", "x");
	tree_file("d/without-group/file", "x");
	tree_file("d/owner/file", "x");
	tree_link("d/closed/link", "deep/file");
	ck_assert_int_eq(chmod(tree_path("d/open"), 0711), 0);
	ck_assert_int_eq(chmod(tree_path("d/group"), 0770), 0);
	ck_assert_int_eq(chmod(tree_path("d/closed"), 0700), 0);
	ck_assert_int_eq(chmod(tree_path("d/without-group"), 0705), 0);
	ck_assert_int_eq(chmod(tree_path("d/owner"), 0655), 0);
	tree_link("way", "d/closed/deep");
	find("/d/closed/*/*");
	expect("file:1 /d/closed/deep/file hidden\n");
	find("/d/*/file\n/d/closed/deep/file\n/d/closed/link\n/d/closed/*/*\n/way/file");
	expect("file:2 /d/closed/deep/file hidden\nfile:3 /d/closed/link hidden\n"
	       "file:1 /d/group/file hidden\nfile:1 /d/open/file\nfile:1 /d/owner/file\n"
	       "file:1 /d/without-group/file hidden\n");
}
END_TEST

/* Give the directory @name a list with an entry of @tag for id 4711. Return: false if it cannot. */
static bool set_list(const char *name, unsigned tag, unsigned permissions, unsigned mask)
{
	struct {
		struct posix_acl_xattr_header header;
		struct posix_acl_xattr_entry entries[5];
	} list = { { ACL_VERSION } };
	size_t nr = 0;

	list.entries[nr++] = (struct posix_acl_xattr_entry){ ACL_USER_OBJ, 6, UINT32_MAX };
	if (tag == ACL_USER)
		list.entries[nr++] = (struct posix_acl_xattr_entry){ tag, permissions, 4711 };
	list.entries[nr++] = (struct posix_acl_xattr_entry){ ACL_GROUP_OBJ, 5, UINT32_MAX };
	if (tag == ACL_GROUP)
		list.entries[nr++] = (struct posix_acl_xattr_entry){ tag, permissions, 4711 };
	list.entries[nr++] = (struct posix_acl_xattr_entry){ ACL_MASK, mask, UINT32_MAX };
	list.entries[nr++] = (struct posix_acl_xattr_entry){ ACL_OTHER, 5, UINT32_MAX };
	if (!setxattr(tree_path(name), "system.posix_acl_access", &list,
	              sizeof(list.header) + nr * sizeof(*list.entries), 0))
		return true;
	ck_assert_int_eq(errno, ENOTSUP);
	return false;
}

START_TEST(test_a_list_that_keeps_somebody_out_hides_the_files_too)
{
	tree_file("d/user/file", "x");
	tree_file("d/groups/file", "x");
	tree_file("d/more/file", "x");
	if (!set_list("d/user", ACL_USER, 0, 7)) {
		printf("skipped: the file system of /tmp keeps no access control lists\n");
		return;
	}
	ck_assert(set_list("d/groups", ACL_GROUP, 4, 7));
	ck_assert(set_list("d/more", ACL_USER, 7, 7));
	find("/d/*/file");
	expect("file:1 /d/groups/file hidden\nfile:1 /d/more/file\nfile:1 /d/user/file hidden\n");
}
END_TEST

START_TEST(test_what_a_copy_would_lose_is_refused)
{
	static const struct {
		uint32_t magic_etc;
		uint32_t permitted[4];
	} capabilities = { VFS_CAP_REVISION_2, { 1U << 10 } };
	bool is_privileged = true;

	tree_file("d/plain", "x");
	tree_file("d/suid", "x");
	tree_file("d/sgid", "x");
	tree_file("d/with", "x");
	ck_assert_int_eq(chmod(tree_path("d/suid"), 04755), 0);
	ck_assert_int_eq(chmod(tree_path("d/sgid"), 02755), 0);
	if (setxattr(tree_path("d/with"), "security.capability", &capabilities,
	             sizeof(capabilities), 0) < 0)
		is_privileged = false;
	ck_assert(is_privileged || geteuid() != 0 || errno == ENOTSUP || errno == EPERM);
	find("/d/*");
	expect(is_privileged ? "file:1 /d/plain\nfile:1 /d/sgid privileged\n"
	                       "file:1 /d/suid privileged\nfile:1 /d/with privileged\n"
	                     : "file:1 /d/plain\nfile:1 /d/sgid privileged\n"
	                       "file:1 /d/suid privileged\nfile:1 /d/with\n");
}
END_TEST

START_TEST(test_what_the_daemon_may_not_read_is_refused)
{
	tree_file("d/readable", "x");
	tree_file("d/secret", "x");
	tree_file("d/closed/file", "x");
	tree_file("d/unlisted/file", "x");
	ck_assert_int_eq(chmod(tree_path(""), 0755), 0);
	ck_assert_int_eq(chmod(tree_path("d/secret"), 0200), 0);
	ck_assert_int_eq(chmod(tree_path("d/closed"), 0), 0);
	ck_assert_int_eq(chmod(tree_path("d/unlisted"), 0311), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	find("/d/*d*\n/d/secret\n/d/closed/file\n/d/*/file\n/d/unlisted/*\n/d/closed/x/y\n/d/c*d/"
	     "sub/x");
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chmod(tree_path("d/closed"), 0755), 0);
	ck_assert_int_eq(chmod(tree_path("d/unlisted"), 0755), 0);
	expect("file:1 /d/closed directory\nfile:3 /d/closed/file unreadable\n"
	       "file:7 /d/closed/sub unreadable\n"
	       "file:6 /d/closed/x/y unreadable\nfile:1 /d/readable\n"
	       "file:2 /d/secret unreadable\n"
	       "file:1 /d/unlisted directory\nfile:4 /d/unlisted/file\n");
}
END_TEST

/* A disk takes a minute for so many. */
static void setup_in_memory(void)
{
	tree_setup_in(access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
}

START_TEST(test_more_files_than_one_pool_can_have_are_cut_off)
{
	scoped(fd_closep) int directory_fd = -1;

	tree_file("many/one", "");
	directory_fd = open(tree_path("many"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(directory_fd, 0);
	for (unsigned i = 0; i < 66000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%05u", i);
		ck_assert_int_eq(mknodat(directory_fd, name, S_IFREG | 0644, 0), 0);
	}
	find("/many/*");
	ck_assert_uint_eq(found.nr, ORIGINALS_MAX + 1);
	ck_assert_uint_eq(found.nr_refused, 1);
	ck_assert_str_eq(found.files[0].path, "/many/*");
	ck_assert_int_eq(found.files[0].refusal, ORIGINAL_TOO_MANY);
	ck_assert_str_eq(found.files[1].path, "/many/00000");
	ck_assert_str_eq(found.files[ORIGINALS_MAX].path, "/many/65535");

	/* Together they are too many as well; what both name counts once. */
	find("/many/[0-3]*\n/many/[0-4]*\n/many/[56]*");
	ck_assert_uint_eq(found.nr, ORIGINALS_MAX + 1);
	ck_assert_str_eq(found.files[ORIGINALS_MAX].path, "/many/[56]*");
	ck_assert_int_eq(found.files[ORIGINALS_MAX].refusal, ORIGINAL_TOO_MANY);
	find("/many/[0-3]*\n/many/[0-4]*");
	ck_assert_uint_eq(found.nr, 50000);
	ck_assert_uint_eq(found.nr_refused, 0);
}
END_TEST

START_TEST(test_a_name_that_no_file_can_have_names_none)
{
	char path[400];
	char expected[450];

	snprintf(path, sizeof(path), "/%0300u/file", 0U);
	snprintf(expected, sizeof(expected), "file:1 %s no-such-file\n", path);
	find(path);
	expect(expected);
	snprintf(path, sizeof(path), "/%0300u", 0U);
	snprintf(expected, sizeof(expected), "file:1 %s no-such-file\n", path);
	find(path);
	expect(expected);
}
END_TEST

START_TEST(test_names_may_hold_anything)
{
	tree_directory("d/red\x1b[31m\n\xc3\xa4\xff");
	tree_file("d/white\nspace\xff", "x");
	find("/d/*");
	ck_assert_uint_eq(found.nr, 2);
	ck_assert_str_eq(found.files[0].path, "/d/red\x1b[31m\n\xc3\xa4\xff");
	ck_assert_int_eq(found.files[0].refusal, ORIGINAL_DIRECTORY);
	ck_assert_str_eq(found.files[1].path, "/d/white\nspace\xff");
	ck_assert_int_eq(found.files[1].refusal, ORIGINAL_ACCEPTED);
	find("/d/red?[[]31m?\xc3\xa4?");
	ck_assert_uint_eq(found.nr, 1);
	ck_assert_int_eq(found.files[0].refusal, ORIGINAL_DIRECTORY);
}
END_TEST

/* CAP_SYS_ADMIN, which the daemon has, reads more of some of them than others do. */
START_TEST(test_files_of_the_kernel_are_refused)
{
	static const char *const paths[] = { "/proc/version", "/sys/kernel/notes" };
	char position[] = "file:1";

	for (size_t i = 0; i < ELEMENTS(paths); i++) {
		struct original_pattern pattern = { (char *) paths[i], position };

		if (access(paths[i], R_OK) < 0)
			continue;
		originals_clear(&found);
		ck_assert_int_eq(originals_find("", &pattern, 1, &found), 0);
		ck_assert_uint_eq(found.nr, 1);
		ck_assert_int_eq(found.files[0].refusal, ORIGINAL_NOT_A_FILE);
	}
}
END_TEST

START_TEST(test_every_refusal_has_a_word_and_a_sentence)
{
	static const struct {
		const char *text;
		const char *sentence;
	} rows[] = {
		[ORIGINAL_NO_SUCH_FILE] = { "no-such-file",
		                            "names no file; accepted: files that are there" },
		[ORIGINAL_DIRECTORY] = { "directory", "is a directory; accepted: regular files" },
		[ORIGINAL_NOT_A_FILE] = { "not-a-file", "is a device, FIFO, socket or made by "
		                                        "the kernel as it is read; accepted: "
		                                        "regular files" },
		[ORIGINAL_UNREADABLE] = { "unreadable", "cannot be read by nodeinitd; accepted: "
		                                        "files that it may read" },
		[ORIGINAL_SYMLINK] = { "symlink",
		                       "is a link that does not lead to another file of the pool; "
		                       "accepted: regular files, and links between them" },
		[ORIGINAL_HIDDEN] = { "hidden",
		                      "is in a directory that not everybody may pass; accepted: "
		                      "files below directories with the mode o+x and g+x" },
		[ORIGINAL_PRIVILEGED] = { "privileged",
		                          "is set-user-id, set-group-id or has capabilities, which "
		                          "a copy would lose; accepted: files without them" },
		[ORIGINAL_TOO_MANY] = { "too-many",
		                        "names more files than one pool can have; accepted: at "
		                        "most 65536 files, out of at most 1048576 names" },
		[ORIGINAL_FAILED] = { "failed", "cannot be looked at" },
	};

	ck_assert_str_eq(original_refusal_text(ORIGINAL_ACCEPTED), "");
	for (enum original_refusal i = ORIGINAL_NO_SUCH_FILE; i <= ORIGINAL_FAILED; i++) {
		ck_assert_str_eq(original_refusal_text(i), rows[i].text);
		ck_assert_str_eq(original_refusal_sentence(i), rows[i].sentence);
	}
}
END_TEST

START_TEST(test_a_changed_file_has_another_identity)
{
	struct original_identity before;

	tree_file("file", "one");
	find("/file");
	before = found.files[0].identity;
	find("/file");
	ck_assert(original_identity_equals(&before, &found.files[0].identity));

	tree_file("other", "one");
	find("/other");
	ck_assert(!original_identity_equals(&before, &found.files[0].identity));
	for (unsigned i = 0; i < 5; i++) {
		struct original_identity after = before;

		after.device += i == 0;
		after.inode += i == 1;
		after.bytes += i == 2;
		after.changed.tv_nsec += i == 3;
		after.modified.tv_sec += i == 4;
		ck_assert(!original_identity_equals(&before, &after));
	}
}
END_TEST

START_TEST(test_a_root_that_is_not_there_has_no_files)
{
	static const struct original_pattern pattern = { (char *) "/x*", (char *) "file:1" };

	ck_assert_int_eq(originals_find("/nonexistent-root", &pattern, 1, &found), 0);
	expect("file:1 /x* no-such-file\n");
}
END_TEST

START_TEST(test_pools_get_what_their_paths_name)
{
	struct config *config;
	char position[600];

	tree_file("a/file", "x");
	tree_file("pools.d/guests.pool", "[Pool]\nKind=replica\nPaths=/a/* /none\n");
	tree_file("pools.d/huge.pool", "[Pool]\nKind=hugetlb\nSize=1G\n");
	ck_assert_int_eq(config_load(tree_root(), NULL, &config), 0);
	ck_assert_uint_eq(config->pools[0].originals.nr, 0);
	ck_assert_int_eq(config_find_originals(config, tree_root()), 0);
	ck_assert_uint_eq(config->pools[0].originals.nr, 2);
	ck_assert_str_eq(config->pools[0].originals.files[0].path, "/a/file");
	snprintf(position, sizeof(position), "%s:3", tree_path("pools.d/guests.pool"));
	ck_assert_str_eq(config->pools[0].originals.files[0].position, position);
	ck_assert_uint_eq(config->pools[0].originals.nr_refused, 1);
	ck_assert_uint_eq(config->pools[1].originals.nr, 0);

	tree_file("a/second", "y");
	ck_assert_int_eq(config_find_originals(config, tree_root()), 0);
	ck_assert_uint_eq(config->pools[0].originals.nr, 3);
	config_free(config);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config-originals");
	TCase *originals = tcase_create("originals");
	TCase *many = tcase_create("many");

	tcase_add_checked_fixture(originals, originals_setup, originals_teardown);
	tcase_add_test(originals, test_a_path_names_its_file);
	tcase_add_test(originals, test_wildcards_stand_for_names_without_a_dot_in_front);
	tcase_add_test(originals,
	               test_links_in_front_of_the_first_wildcard_are_followed_below_the_root);
	tcase_add_test(originals, test_what_is_not_there_is_named_as_it_was_written);
	tcase_add_test(originals, test_only_regular_files_are_copied);
	tcase_add_test(originals,
	               test_a_device_is_not_copied_and_the_links_of_processes_lead_nowhere);
	tcase_add_test(originals, test_the_names_that_are_looked_at_come_to_an_end);
	tcase_add_test(originals, test_what_two_paths_name_is_there_once_by_the_first_of_them);
	tcase_add_test(originals, test_a_directory_that_is_not_open_to_everybody_hides_its_files);
	tcase_add_test(originals, test_a_list_that_keeps_somebody_out_hides_the_files_too);
	tcase_add_test(originals, test_what_a_copy_would_lose_is_refused);
	tcase_add_test(originals, test_what_the_daemon_may_not_read_is_refused);
	tcase_add_test(originals, test_a_name_that_no_file_can_have_names_none);
	tcase_add_test(originals, test_names_may_hold_anything);
	tcase_add_test(originals, test_files_of_the_kernel_are_refused);
	tcase_add_test(originals, test_every_refusal_has_a_word_and_a_sentence);
	tcase_add_test(originals, test_a_changed_file_has_another_identity);
	tcase_add_test(originals, test_a_root_that_is_not_there_has_no_files);
	tcase_add_test(originals, test_pools_get_what_their_paths_name);
	suite_add_tcase(suite, originals);
	tcase_add_checked_fixture(many, setup_in_memory, originals_teardown);
	tcase_set_timeout(many, 100);
	tcase_add_test(many, test_more_files_than_one_pool_can_have_are_cut_off);
	suite_add_tcase(suite, many);
	return suite_main(suite);
}
