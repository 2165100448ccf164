/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../daemon/kinds/replica.h"
#include "../../daemon/manager-state.h"
#include "bus-fixture.h"
#include "manager-scene.h"
#include "suite.h"

static char run_path[128], originals_path[128];

static char *path_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *path_of(const char *format, ...)
{
	static char path[512];
	va_list args;

	va_start(args, format);
	ck_assert_int_lt(vsnprintf(path, sizeof(path), format, args), (int) sizeof(path));
	va_end(args);
	return path;
}

static void make_directory(const char *path)
{
	ck_assert_msg(mkdir(path, 0755) == 0, "%s: %m", path);
	ck_assert_int_eq(chmod(path, 0755), 0);
}

/* As a package manager does: another file is renamed over it. */
static void put_original(const char *name, const char *text)
{
	char new_path[256];
	FILE *file;

	(void) snprintf(new_path, sizeof(new_path), "%s/.new", originals_path);
	file = fopen(new_path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(rename(new_path, path_of("%s/%s", originals_path, name)), 0);
}

/* What the copy on the node has; "" where there is none. */
static const char *copy_text(unsigned node_id, const char *name)
{
	static char text[256];
	FILE *file = fopen(
		path_of("%s/replica/node%u%s/%s", run_path, node_id, originals_path, name), "r");

	text[0] = '\0';
	if (file) {
		text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
		ck_assert_int_eq(fclose(file), 0);
	}
	return text;
}

static void setup_replicas(void)
{
	setup();
	ck_assert_int_eq(chmod(d.directory, 0755), 0);
	(void) snprintf(run_path, sizeof(run_path), "%s/run", d.directory);
	(void) snprintf(originals_path, sizeof(originals_path), "%s/originals", d.directory);
	make_directory(run_path);
	make_directory(originals_path);
	make_directory(path_of("%s/replica", run_path));
	for (unsigned node_id = 0; node_id < 2; node_id++)
		make_directory(path_of("%s/replica/node%u", run_path, node_id));
	run_directory_of_manager = run_path;
	put_original("a", "first");
	put_original("b", "second");
}

static void declare(const char *words)
{
	daemon_write_pool(&d, "files",
	                  path_of("[Pool]\nKind=replica\n[Replica]\nPaths=%s\n", words));
}

static void start_replicas(void)
{
	struct manager_setup manager_setup = {
		.loop = loop,
		.kernel = kernel_model_kernel(model),
		.memory = &memory_model,
		.config_directory = d.directory,
		.bus_address = bus_fixture_address(&d.bus),
		.run_directory = run_directory_of_manager,
	};

	ck_assert_int_eq(manager_new(&manager_setup, &manager), 0);
	/* without the rights for a tmpfs of each node */
	replica_base_allow_directories(manager->context.replica_base);
	ck_assert_int_eq(manager_start(manager), 0);
}

static char *pattern(const char *name)
{
	static char text[256];

	(void) snprintf(text, sizeof(text), "%s/%s", originals_path, name);
	return text;
}

START_TEST(test_each_node_has_a_copy_of_each_file)
{
	declare(pattern("*"));
	start_replicas();
	run_until(is_ready, "ready");
	for (unsigned node_id = 0; node_id < 2; node_id++) {
		ck_assert_str_eq(copy_text(node_id, "a"), "first");
		ck_assert_str_eq(copy_text(node_id, "b"), "second");
	}
	ck_assert_uint_eq(manager->inventory.done_bytes, 4 * manager->machine->page_bytes);

	/* nobody follows the originals any more when the daemon has ended */
	manager_freep(&manager);
	ck_assert_str_eq(copy_text(0, "a"), "");
}
END_TEST

static bool is_a_replaced(void)
{
	return strcmp(copy_text(0, "a"), "third") == 0 && strcmp(copy_text(1, "a"), "third") == 0;
}

START_TEST(test_a_replaced_original_is_copied_again_and_the_others_are_not)
{
	struct stat before, after;

	declare(pattern("*"));
	start_replicas();
	run_until(is_ready, "ready");
	ck_assert_int_eq(stat(path_of("%s/replica/node1%s/b", run_path, originals_path), &before),
	                 0);
	put_original("a", "third");
	run_until(is_a_replaced, "replaced");
	run_until(is_ready, "ready again");
	ck_assert_int_eq(stat(path_of("%s/replica/node1%s/b", run_path, originals_path), &after),
	                 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
}
END_TEST

static bool is_b_withdrawn(void)
{
	return access(path_of("%s/replica/node0%s/b", run_path, originals_path), F_OK) != 0 &&
	       access(path_of("%s/replica/node1%s/b", run_path, originals_path), F_OK) != 0;
}

static bool is_degraded(void)
{
	return strcmp(manager_state_text(manager), "degraded") == 0;
}

static bool is_b_back(void)
{
	return strcmp(copy_text(1, "b"), "again") == 0 && is_ready() && !is_degraded();
}

START_TEST(test_the_copies_of_a_deleted_original_are_withdrawn_and_come_back_with_it)
{
	char words[512];

	(void) snprintf(words, sizeof(words), "%s/a %s/b", originals_path, originals_path);
	declare(words);
	start_replicas();
	run_until(is_ready, "ready");
	ck_assert_int_eq(unlink(pattern("b")), 0);
	run_until(is_b_withdrawn, "withdrawn");
	run_until(is_degraded, "degraded");
	ck_assert_str_eq(copy_text(0, "a"), "first");

	put_original("b", "again");
	run_until(is_b_back, "back");
}
END_TEST

static bool is_c_there(void)
{
	return strcmp(copy_text(0, "c"), "new") == 0;
}

START_TEST(test_a_file_that_comes_to_match_is_copied)
{
	declare(pattern("*"));
	start_replicas();
	run_until(is_ready, "ready");
	put_original("c", "new");
	run_until(is_c_there, "there");
}
END_TEST

static bool is_a_written(void)
{
	return strcmp(copy_text(0, "a"), "written in place") == 0;
}

START_TEST(test_an_original_that_is_written_in_place_is_copied_again)
{
	FILE *file;

	declare(pattern("a"));
	start_replicas();
	run_until(is_ready, "ready");
	file = fopen(pattern("a"), "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs("written in place", file), 0);
	ck_assert_int_eq(fclose(file), 0);
	run_until(is_a_written, "written");
}
END_TEST

START_TEST(test_a_path_that_cannot_be_copied_is_said_and_the_others_go_on)
{
	char words[512];

	(void) snprintf(words, sizeof(words), "%s/a %s /dev/null", originals_path, originals_path);
	declare(words);
	start_replicas();
	run_until(is_degraded, "degraded");
	ck_assert_str_eq(copy_text(1, "a"), "first");
	ck_assert_uint_eq(nr_lines_with("/dev/null"), 1);
	ck_assert_uint_eq(nr_lines_with("files.pool:4: Paths="), 2);
}
END_TEST

START_TEST(test_a_pool_of_which_nothing_can_be_copied_has_failed)
{
	declare("/dev/null");
	start_replicas();
	run_until(is_failed, "failed");
}
END_TEST

static bool has_no_place(void)
{
	return is_settled() && strcmp(managed_share_reason(share_of("files", 1)), "no-mount") == 0;
}

static bool is_copied_to_1(void)
{
	return strcmp(copy_text(1, "a"), "first") == 0 && is_ready();
}

/* The node was there before root had made its place: a Reload follows that. */
START_TEST(test_a_node_whose_place_comes_later_gets_its_copies_then)
{
	ck_assert_int_eq(rmdir(path_of("%s/replica/node1", run_path)), 0);
	declare(pattern("a"));
	start_replicas();
	run_until(has_no_place, "no place");
	ck_assert_str_eq(copy_text(0, "a"), "first");
	make_directory(path_of("%s/replica/node1", run_path));
	ck_assert_int_eq(manager_reload(manager, NULL), 0);
	run_until(is_copied_to_1, "copied");
}
END_TEST

static bool is_linked(void)
{
	char target[256] = "";

	return readlink(path_of("%s/replica/node0%s/a", run_path, originals_path), target,
	                sizeof(target) - 1) > 0 &&
	       strcmp(target, pattern("a")) == 0;
}

START_TEST(test_a_node_without_room_links_to_the_original)
{
	daemon_write_conf(&d, "[Daemon]\nReserve=100%\n");
	declare(pattern("a"));
	start_replicas();
	run_until(is_linked, "linked");
	run_until(is_degraded, "degraded");
	ck_assert_str_eq(managed_share_reason(share_of("files", 0)), "exceeds-reserve");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("manager-replica");
	TCase *tcase = tcase_create("replica");

	bus_fixture_require();
	tcase_add_checked_fixture(tcase, setup_replicas, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_each_node_has_a_copy_of_each_file);
	tcase_add_test(tcase, test_a_replaced_original_is_copied_again_and_the_others_are_not);
	tcase_add_test(tcase,
	               test_the_copies_of_a_deleted_original_are_withdrawn_and_come_back_with_it);
	tcase_add_test(tcase, test_a_file_that_comes_to_match_is_copied);
	tcase_add_test(tcase, test_an_original_that_is_written_in_place_is_copied_again);
	tcase_add_test(tcase, test_a_path_that_cannot_be_copied_is_said_and_the_others_go_on);
	tcase_add_test(tcase, test_a_pool_of_which_nothing_can_be_copied_has_failed);
	tcase_add_test(tcase, test_a_node_whose_place_comes_later_gets_its_copies_then);
	tcase_add_test(tcase, test_a_node_without_room_links_to_the_original);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
