/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The tests of kinds and engine lean on the scripted kernel: what it plays is held here against
 * what the kernel does.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "../../daemon/base/size.h"
#include "kernel-model.h"
#include "suite.h"

#define PAGE (2 * MIB)

static struct kernel_model *model;
static struct kernel *kernel;

/* Nodes 0 and 3 of 1 GiB, 512 pages each. */
static void model_setup(void)
{
	model = kernel_model_new();
	kernel = kernel_model_kernel(model);
	kernel_model_add_node(model, 3, "2-3", GIB);
	kernel_model_add_node(model, 0, "0-1", GIB);
	kernel_model_add_page_size(model, PAGE);
	kernel_model_add_page_size(model, GIB);
}

static void model_teardown(void)
{
	model = kernel_model_free(model);
}

static void expect_pool(unsigned node_id, uint64_t nr_pages, uint64_t free_pages,
                        uint64_t surplus_pages)
{
	struct hugepages_count count;

	ck_assert_int_eq(hugepages_read(kernel, node_id, PAGE, &count), 0);
	ck_assert_uint_eq(count.nr_pages, nr_pages);
	ck_assert_uint_eq(count.free_pages, free_pages);
	ck_assert_uint_eq(count.surplus_pages, surplus_pages);
}

static void expect_text(const char *path, const char *expected)
{
	char text[4096];

	ck_assert_int_ge(kernel_read_text(kernel, text, sizeof(text), "%s", path), 0);
	ck_assert_str_eq(text, expected);
}

START_TEST(test_a_write_takes_pages_from_the_memory_of_its_node)
{
	ck_assert_int_eq(hugepages_write(kernel, 3, PAGE, 100), 0);
	expect_pool(3, 100, 100, 0);
	expect_pool(0, 0, 0, 0);
	ck_assert_uint_eq(kernel_model_free_bytes(model, 3), GIB - 100 * PAGE);
	expect_text("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "100\n");
	ck_assert_int_eq(hugepages_write(kernel, 3, PAGE, 40), 0);
	expect_pool(3, 40, 40, 0);
	ck_assert_uint_eq(kernel_model_free_bytes(model, 3), GIB - 40 * PAGE);
}
END_TEST

START_TEST(test_without_free_memory_a_write_brings_what_there_is_and_succeeds)
{
	kernel_model_set_free_bytes(model, 0, 7 * PAGE + KIB);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 10), 0);
	expect_pool(0, 7, 7, 0);
	ck_assert_uint_eq(kernel_model_free_bytes(model, 0), KIB);
}
END_TEST

START_TEST(test_fragmented_memory_becomes_pages_after_compaction)
{
	kernel_model_fragment(model, 0, PAGE, 5, 3);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 10), 0);
	expect_pool(0, 5, 5, 0);
	ck_assert_int_eq(hugepages_compact(kernel, 0), 0);
	expect_pool(0, 5, 5, 0);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 10), 0);
	expect_pool(0, 8, 8, 0);
	ck_assert_uint_eq(kernel_model_nr_compactions(model, 0), 1);
	ck_assert_uint_eq(kernel_model_nr_compactions(model, 3), 0);
}
END_TEST

START_TEST(test_one_write_can_be_cut_short)
{
	kernel_model_limit_write(model, 0, PAGE, 4);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 10), 0);
	expect_pool(0, 4, 4, 0);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 10), 0);
	expect_pool(0, 8, 8, 0);
}
END_TEST

START_TEST(test_the_first_writes_can_fail)
{
	kernel_model_fail_writes(model, 0, PAGE, 2, 0);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 10), 0);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 10), 0);
	expect_pool(0, 0, 0, 0);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 10), 0);
	expect_pool(0, 10, 10, 0);
	kernel_model_fail_writes(model, 0, PAGE, 1, EINTR);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 20), -EINTR);
	expect_pool(0, 10, 10, 0);
}
END_TEST

START_TEST(test_a_rival_sets_the_pool_after_our_write)
{
	kernel_model_add_rival(model, 0, PAGE, 6, 1);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 10), 0);
	expect_pool(0, 6, 6, 0);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 10), 0);
	expect_pool(0, 10, 10, 0);
	kernel_model_add_rival(model, 0, PAGE, 6, UINT_MAX);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 10), 0);
	expect_pool(0, 6, 6, 0);
	ck_assert_uint_eq(kernel_model_nr_page_writes(model, 0, PAGE), 5);
}
END_TEST

START_TEST(test_surplus_pages_of_another_node_make_a_write_overshoot)
{
	struct hugepages_count surplus = { .nr_pages = 300, .surplus_pages = 300 };

	/* 100 were asked for, 400 came. */
	kernel_model_set_pages(model, 3, PAGE, surplus);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 100), 0);
	expect_pool(0, 400, 400, 0);
	expect_pool(3, 300, 0, 300);
}
END_TEST

START_TEST(test_surplus_pages_of_the_node_itself_become_persistent)
{
	struct hugepages_count surplus = { .nr_pages = 30, .surplus_pages = 30 };

	kernel_model_set_pages(model, 0, PAGE, surplus);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 100), 0);
	expect_pool(0, 100, 70, 0);
}
END_TEST

START_TEST(test_pages_in_use_outlive_a_lower_target_as_surplus)
{
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 10), 0);
	ck_assert_int_eq(kernel_model_use_pages(model, 0, PAGE, 6), 0);
	expect_pool(0, 10, 4, 0);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 2), 0);
	expect_pool(0, 6, 0, 4);
	ck_assert_int_eq(kernel_model_use_pages(model, 0, PAGE, 1), -ENOMEM);
	ck_assert_int_eq(kernel_model_use_pages(model, 0, PAGE, -7), -ENOMEM);
	ck_assert_int_eq(kernel_model_use_pages(model, 0, PAGE, -6), 0);
	expect_pool(0, 6, 6, 4);
}
END_TEST

START_TEST(test_refused_writes_change_nothing_and_are_counted)
{
	static const char path[] =
		"/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";

	kernel_model_refuse(model, "/sys/devices/system/node/node0", EROFS);
	ck_assert_int_eq(kernel->ops->may_write(kernel, path), -EROFS);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 10), -EROFS);
	ck_assert_int_eq(hugepages_compact(kernel, 0), -EROFS);
	expect_pool(0, 0, 0, 0);
	ck_assert_int_eq(hugepages_write(kernel, 3, PAGE, 10), 0);
	ck_assert_uint_eq(kernel_model_nr_page_writes(model, 0, PAGE), 1);
	ck_assert_uint_eq(kernel_model_nr_writes(model, path), 1);
	ck_assert_uint_eq(kernel_model_nr_writes(model, NULL), 3);
	kernel_model_refuse(model, "/sys/devices/system/node/node0", 0);
	ck_assert_int_eq(kernel->ops->may_write(kernel, path), 0);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 10), 0);
}
END_TEST

START_TEST(test_what_cannot_be_written_says_so)
{
	ck_assert_int_eq(kernel->ops->write(kernel, "/proc/meminfo", "1"), -EACCES);
	ck_assert_int_eq(kernel->ops->write(kernel, "/proc/sys/vm/nr_hugepages", "1"), -ENOENT);
	ck_assert_int_eq(hugepages_write(kernel, 1, PAGE, 1), -ENOENT);
	ck_assert_int_eq(hugepages_write(kernel, 0, 64 * KIB, 1), -ENOENT);
	ck_assert_int_eq(
		kernel->ops->write(
			kernel,
			"/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
			"many"),
		-EINVAL);
}
END_TEST

START_TEST(test_topology_files_are_those_of_the_kernel)
{
	expect_text("/sys/devices/system/node/online", "0,3\n");
	expect_text("/sys/devices/system/node/node3/cpulist", "2-3\n");
	expect_text("/sys/devices/system/node/node3/distance", "20 10\n");
	expect_text("/sys/devices/system/cpu/online", "0-1,2-3\n");
	expect_text("/sys/devices/system/node/node3/meminfo",
	            "Node 3 MemTotal:       1048576 kB\nNode 3 MemFree:        1048576 kB\n");
	expect_text("/proc/meminfo", "MemTotal:       2097152 kB\nMemFree:        2097152 kB\n"
	                             "MemAvailable:   2097152 kB\nHugepagesize:   2048 kB\n");
}
END_TEST

static int gather(const char *name, void *arg)
{
	char *names = arg;

	(void) strcat(strcat(names, name), " ");
	return 0;
}

START_TEST(test_text_files_take_precedence_and_are_listed)
{
	char names[256] = "";
	scoped(freep) char *text = NULL;

	kernel_model_set_file(model, "/sys/devices/system/node/node0/distance", "%d %d\n", 10, 31);
	kernel_model_set_file(model, "/sys/devices/system/node/node0/memory8/state", "online\n");
	expect_text("/sys/devices/system/node/node0/distance", "10 31\n");
	ck_assert_int_eq(kernel->ops->list(kernel, "/sys/devices/system/node/node0", gather, names),
	                 0);
	ck_assert_str_eq(names, "cpulist distance meminfo compact hugepages memory8 ");
	ck_assert_int_eq(kernel->ops->write(kernel, "/sys/devices/system/node/node0/memory8/state",
	                                    "offline"),
	                 0);
	text = kernel_model_file(model, "/sys/devices/system/node/node0/memory8/state");
	ck_assert_str_eq(text, "offline");
	ck_assert_ptr_null(kernel_model_file(model, "/proc/none"));
	ck_assert_int_eq(kernel->ops->list(kernel, "/proc/none", gather, names), -ENOENT);
}
END_TEST

START_TEST(test_hidden_files_are_gone_for_all_operations)
{
	char names[256] = "", text[64];

	kernel_model_hide(model, "/sys/devices/system/node/node0/hugepages");
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 1), -ENOENT);
	ck_assert_int_eq(kernel->ops->list(kernel, "/sys/devices/system/node/node0", gather, names),
	                 0);
	ck_assert_str_eq(names, "cpulist distance meminfo compact ");
	kernel_model_hide(model, "/sys/devices/system/node/online");
	ck_assert_int_eq(
		kernel_read_text(kernel, text, sizeof(text), "/sys/devices/system/node/online"),
		-ENOENT);
	ck_assert_int_eq(kernel_read_text(kernel, text, 4, "/proc/meminfo"), -E2BIG);
}
END_TEST

static void use_all(struct kernel_model *of, const char *path, const char *text, void *arg)
{
	ck_assert_ptr_nonnull(strstr(path, "nr_hugepages"));
	ck_assert_str_eq(text, "10\n");
	++*(unsigned *) arg;
	kernel_model_set_free_bytes(of, 0, 3 * PAGE);
}

START_TEST(test_a_hook_sees_a_write_before_it_is_carried_out)
{
	unsigned nr_calls = 0;

	kernel_model_on_write(model, use_all, &nr_calls);
	ck_assert_int_eq(hugepages_write(kernel, 0, PAGE, 10), 0);
	ck_assert_uint_eq(nr_calls, 1);
	expect_pool(0, 3, 3, 0);
}
END_TEST

static void *write_and_read(void *arg)
{
	unsigned node_id = *(unsigned *) arg;
	struct hugepages_count count;

	for (uint64_t nr_pages = 1; nr_pages <= 50; nr_pages++)
		if (hugepages_write(kernel, node_id, PAGE, nr_pages) < 0 ||
		    hugepages_read(kernel, node_id, PAGE, &count) < 0 || count.nr_pages != nr_pages)
			return arg;
	return NULL;
}

START_TEST(test_threads_may_use_it_at_the_same_time)
{
	unsigned node_ids[] = { 0, 3 };
	pthread_t threads[ELEMENTS(node_ids)];
	void *wrong;

	for (size_t i = 0; i < ELEMENTS(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, write_and_read, &node_ids[i]),
		                 0);
	for (size_t i = 0; i < ELEMENTS(threads); i++) {
		ck_assert_int_eq(pthread_join(threads[i], &wrong), 0);
		ck_assert_ptr_null(wrong);
	}
	ck_assert_uint_eq(kernel_model_nr_writes(model, NULL), 100);
}
END_TEST

#define BLOCK_40 "/sys/devices/system/memory/memory40/"

START_TEST(test_a_memory_block_adds_to_its_node_when_it_is_brought_online)
{
	uint64_t free_bytes = kernel_model_free_bytes(model, 3);

	kernel_model_set_block_bytes(model, 128 * MIB);
	kernel_model_add_block(model, 3, 40, MODEL_ZONE_NORMAL | MODEL_ZONE_MOVABLE);
	expect_text("/sys/devices/system/memory/block_size_bytes", "8000000\n");
	expect_text(BLOCK_40 "state", "offline\n");
	expect_text("/sys/devices/system/node/node3/memory40/valid_zones", "Normal Movable\n");
	ck_assert_int_eq(kernel->ops->write(kernel, BLOCK_40 "state", "offlined"), -EINVAL);
	ck_assert_int_eq(kernel->ops->write(kernel, BLOCK_40 "valid_zones", "Normal"), -EACCES);
	ck_assert_int_eq(kernel->ops->write(kernel, BLOCK_40 "state", "online_movable\n"), 0);
	expect_text(BLOCK_40 "state", "online\n");
	expect_text(BLOCK_40 "valid_zones", "Movable\n");
	ck_assert_uint_eq(kernel_model_free_bytes(model, 3), free_bytes + 128 * MIB);
	ck_assert_int_eq(kernel->ops->write(kernel, BLOCK_40 "state", "online"), -EINVAL);
	kernel_model_do_block(model, 40, MODEL_OFFLINES);
	ck_assert_uint_eq(kernel_model_free_bytes(model, 3), free_bytes);
	kernel_model_set_block_zones(model, 40, MODEL_ZONE_NORMAL);
	ck_assert_int_eq(kernel->ops->write(kernel, BLOCK_40 "state", "online_movable"), -EINVAL);
	ck_assert_uint_eq(kernel_model_nr_block_writes(model), 4);
}
END_TEST

START_TEST(test_a_memory_block_that_is_unplugged_is_nowhere)
{
	char text[64];

	kernel_model_set_block_bytes(model, 128 * MIB);
	kernel_model_add_block(model, 3, 40, 0);
	expect_text(BLOCK_40 "valid_zones", "none\n");
	ck_assert_int_eq(kernel->ops->may_write(kernel, BLOCK_40 "state"), 0);
	kernel_model_do_block(model, 40, MODEL_UNPLUGS);
	ck_assert_int_eq(kernel->ops->may_write(kernel, BLOCK_40 "state"), -ENOENT);
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), BLOCK_40 "state"), -ENOENT);
	ck_assert_int_eq(kernel->ops->write(kernel, BLOCK_40 "state", "online"), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kernel-model");
	TCase *tcase = tcase_create("model");

	tcase_add_checked_fixture(tcase, model_setup, model_teardown);
	tcase_add_test(tcase, test_a_write_takes_pages_from_the_memory_of_its_node);
	tcase_add_test(tcase, test_without_free_memory_a_write_brings_what_there_is_and_succeeds);
	tcase_add_test(tcase, test_fragmented_memory_becomes_pages_after_compaction);
	tcase_add_test(tcase, test_one_write_can_be_cut_short);
	tcase_add_test(tcase, test_the_first_writes_can_fail);
	tcase_add_test(tcase, test_a_rival_sets_the_pool_after_our_write);
	tcase_add_test(tcase, test_surplus_pages_of_another_node_make_a_write_overshoot);
	tcase_add_test(tcase, test_surplus_pages_of_the_node_itself_become_persistent);
	tcase_add_test(tcase, test_pages_in_use_outlive_a_lower_target_as_surplus);
	tcase_add_test(tcase, test_refused_writes_change_nothing_and_are_counted);
	tcase_add_test(tcase, test_what_cannot_be_written_says_so);
	tcase_add_test(tcase, test_topology_files_are_those_of_the_kernel);
	tcase_add_test(tcase, test_text_files_take_precedence_and_are_listed);
	tcase_add_test(tcase, test_hidden_files_are_gone_for_all_operations);
	tcase_add_test(tcase, test_a_hook_sees_a_write_before_it_is_carried_out);
	tcase_add_test(tcase, test_a_memory_block_adds_to_its_node_when_it_is_brought_online);
	tcase_add_test(tcase, test_a_memory_block_that_is_unplugged_is_nowhere);
	tcase_add_test(tcase, test_threads_may_use_it_at_the_same_time);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
