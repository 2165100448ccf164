/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/machine/hugepages.h"
#include "../../daemon/machine/kernel.h"
#include "../../daemon/machine/machine.h"
#include "suite.h"

/* A recorded tree, new for each test. */
static char root[PATH_MAX / 2];
static struct kernel *kernel;

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void) status;
	(void) type;
	(void) walk;
	return remove(path);
}

static void put_file(const char *path, const void *data, size_t nr_bytes)
{
	char full[PATH_MAX];
	FILE *file;

	(void) snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		ck_assert(mkdir(full, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(full, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(data, 1, nr_bytes, file), nr_bytes);
	ck_assert_int_eq(fclose(file), 0);
}

static void put(const char *path, const char *text)
{
	put_file(path, text, strlen(text));
}

static void tree_setup(void)
{
	const char *parent = getenv("TMPDIR");

	(void) snprintf(root, sizeof(root), "%s/test-kernel.XXXXXX",
	                parent && *parent ? parent : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(root));
	ck_assert_int_eq(kernel_open(root, &kernel), 0);
}

static void tree_teardown(void)
{
	kernel = kernel_close(kernel);
	ck_assert_int_eq(nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

START_TEST(test_a_file_is_read_whole_and_terminated)
{
	char text[16];

	memset(text, 'x', sizeof(text));
	put("/sys/devices/system/node/online", "0,8\n");
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), "/sys/devices/system/%s",
	                                  "node/online"),
	                 4);
	ck_assert_str_eq(text, "0,8\n");
	put("/proc/empty", "");
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), "/proc/empty"), 0);
	ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(test_a_file_of_many_pages_is_read_whole)
{
	static char data[3 * 4096 + 17], text[4 * 4096];

	memset(data, 'd', sizeof(data));
	put_file("/sys/long", data, sizeof(data));
	put_file("/proc/long", data, sizeof(data));
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), "/sys/long"), sizeof(data));
	ck_assert_uint_eq(strlen(text), sizeof(data));
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), "/proc/long"), sizeof(data));
	/* Exactly whole pages: the end shows only when one more byte is asked for. */
	put_file("/sys/pages", data, 2 * 4096);
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), "/sys/pages"), 2 * 4096);
}
END_TEST

START_TEST(test_a_file_that_does_not_fit_is_too_big)
{
	char text[4];

	put("/sys/a", "abc");
	put("/sys/b", "abcd");
	put("/sys/c", "abcde");
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), "/sys/a"), 3);
	ck_assert_str_eq(text, "abc");
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), "/sys/b"), -E2BIG);
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), "/sys/c"), -E2BIG);
}
END_TEST

START_TEST(test_a_fifo_in_a_recorded_tree_is_not_waited_for)
{
	char full[PATH_MAX], text[16];

	put("/proc/meminfo", "");
	(void) snprintf(full, sizeof(full), "%s/proc/fifo", root);
	ck_assert_int_eq(mkfifo(full, 0644), 0);
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), "/proc/fifo"), 0);
	ck_assert_str_eq(text, "");
	ck_assert_int_eq(kernel->ops->write(kernel, "/proc/fifo", "1"), -ENXIO);
}
END_TEST

START_TEST(test_what_is_not_there_is_told_by_errno)
{
	struct kernel *other = NULL;
	char text[4], name[PATH_MAX];
	uint64_t value = 7;

	put("/sys/file", "1\n");
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), "/sys/none"), -ENOENT);
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), "/sys/file/x"), -ENOTDIR);
	ck_assert_int_eq(kernel->ops->may_write(kernel, "/sys/none"), -ENOENT);
	ck_assert_int_eq(kernel->ops->write(kernel, "/sys/none", "1"), -ENOENT);
	/* Cut off, this would be the directory itself. */
	for (size_t i = 0; i < sizeof(name) - 2; i += 2)
		memcpy(name + i, "./", 3);
	ck_assert_int_eq(kernel_read_u64(kernel, &value, "/%s/x", name), -ENAMETOOLONG);
	ck_assert_int_eq(kernel_write_u64(kernel, 1, "/%s/x", name), -ENAMETOOLONG);
	ck_assert_uint_eq(value, 7);
	(void) snprintf(name, sizeof(name), "%s/sys/file", root);
	ck_assert_int_eq(kernel_open(name, &other), -ENOTDIR);
	ck_assert_int_eq(kernel_open("/sys/there/is/no/such", &other), -ENOENT);
	ck_assert_ptr_null(other);
}
END_TEST

static void expect_number(const char *text, int error, uint64_t expected)
{
	uint64_t value = 7;

	put("/sys/number", text);
	ck_assert_msg(kernel_read_u64(kernel, &value, "/sys/%s", "number") == error, "'%s'", text);
	ck_assert_uint_eq(value, error ? 7 : expected);
}

START_TEST(test_numbers_are_read_strictly)
{
	expect_number("512\n", 0, 512);
	expect_number("0", 0, 0);
	expect_number("18446744073709551615\n", 0, UINT64_MAX);
	expect_number("18446744073709551616\n", -EINVAL, 0);
	expect_number("max\n", -EINVAL, 0);
	expect_number("", -EINVAL, 0);
	expect_number("-1\n", -EINVAL, 0);
	expect_number("12 kB\n", -EINVAL, 0);
	expect_number("1111111111222222222233333333334444444444555555555566666666667777777777",
	              -EINVAL, 0);
}
END_TEST

START_TEST(test_a_write_replaces_a_recorded_file)
{
	char text[16];

	put("/sys/number", "123456\n");
	ck_assert_int_eq(kernel->ops->may_write(kernel, "/sys/number"), 0);
	ck_assert_int_eq(kernel_write_u64(kernel, 8, "/sys/%s", "number"), 0);
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), "/sys/number"), 2);
	ck_assert_str_eq(text, "8\n");
}
END_TEST

START_TEST(test_a_file_without_write_permission_is_told_so)
{
	uid_t euid = geteuid();
	char full[PATH_MAX];
	int asked, written;

	put("/sys/number", "1\n");
	(void) snprintf(full, sizeof(full), "%s/sys/number", root);
	ck_assert_int_eq(chmod(full, 0444), 0);
	ck_assert_int_eq(chmod(root, 0755), 0);
	/* Root may write anything: be somebody else for two calls. */
	if (euid == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	asked = kernel->ops->may_write(kernel, "/sys/number");
	written = kernel_write_u64(kernel, 2, "/sys/number");
	ck_assert_int_eq(seteuid(euid), 0);
	ck_assert_int_eq(asked, -EACCES);
	ck_assert_int_eq(written, -EACCES);
}
END_TEST

static int gather(const char *name, void *arg)
{
	char *names = arg;

	(void) strcat(names, name);
	(void) strcat(names, " ");
	return 0;
}

static int stop(const char *name, void *arg)
{
	(void) name;
	++*(unsigned *) arg;
	return 42;
}

START_TEST(test_a_directory_is_walked_without_itself)
{
	char names[64] = "";
	unsigned nr_calls = 0;

	put("/sys/dir/one", "");
	put("/sys/dir/two/x", "");
	ck_assert_int_eq(kernel->ops->list(kernel, "/sys/dir", gather, names), 0);
	ck_assert(strcmp(names, "one two ") == 0 || strcmp(names, "two one ") == 0);
	ck_assert_int_eq(kernel->ops->list(kernel, "/sys/dir", stop, &nr_calls), 42);
	ck_assert_uint_eq(nr_calls, 1);
	ck_assert_int_eq(kernel->ops->list(kernel, "/sys/none", gather, names), -ENOENT);
	ck_assert_int_eq(kernel->ops->list(kernel, "/sys/dir/one", gather, names), -ENOTDIR);
}
END_TEST

START_TEST(test_links_of_a_recorded_tree_stay_inside)
{
	char full[PATH_MAX], text[32];

	put("/proc/recorded", "recorded\n");
	put("/sys/x", "");
	(void) snprintf(full, sizeof(full), "%s/sys/absolute", root);
	ck_assert_int_eq(symlink("/proc/recorded", full), 0);
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), "/sys/absolute"), 9);
	ck_assert_str_eq(text, "recorded\n");
	/* This exists outside, and nobody recorded it. */
	(void) snprintf(full, sizeof(full), "%s/sys/outside", root);
	ck_assert_int_eq(symlink("/proc/self/status", full), 0);
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), "/sys/outside"), -ENOENT);
}
END_TEST

START_TEST(test_no_root_is_this_machine)
{
	static char text[KERNEL_TEXT_MAX];
	struct kernel *live = NULL;

	ck_assert(!kernel->is_live);
	ck_assert_int_eq(kernel_open("", &live), 0);
	ck_assert(live->is_live);
	ck_assert_int_gt(kernel_read_text(live, text, sizeof(text), "/proc/self/status"), 0);
	ck_assert_ptr_nonnull(strstr(text, "Name:"));
	ck_assert_int_eq(live->ops->list(live, "/", gather, memset(text, 0, 1)), 0);
	live = kernel_close(live);
	ck_assert_int_eq(kernel_open(NULL, &live), 0);
	ck_assert(live->is_live);
	live = kernel_close(live);
	ck_assert_ptr_null(kernel_close(NULL));
}
END_TEST

#define POOL "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/"

START_TEST(test_a_pool_is_read_and_written_at_its_node_and_size)
{
	struct hugepages_count count = { .nr_pages = 99 };
	char text[16];

	put(POOL "nr_hugepages", "10\n");
	ck_assert_int_eq(hugepages_read(kernel, 1, 2 << 20, &count), -ENOENT);
	ck_assert_uint_eq(count.nr_pages, 99);
	put(POOL "free_hugepages", "4\n");
	ck_assert_int_eq(hugepages_read(kernel, 1, 2 << 20, &count), 0);
	ck_assert_uint_eq(count.nr_pages, 10);
	ck_assert_uint_eq(count.free_pages, 4);
	ck_assert_uint_eq(count.surplus_pages, 0);
	put(POOL "surplus_hugepages", "3\n");
	ck_assert_int_eq(hugepages_read(kernel, 1, 2 << 20, &count), 0);
	ck_assert_uint_eq(count.surplus_pages, 3);
	ck_assert_int_eq(hugepages_read(kernel, 0, 2 << 20, &count), -ENOENT);
	ck_assert_int_eq(hugepages_read(kernel, 1, 1 << 30, &count), -ENOENT);

	ck_assert_int_eq(hugepages_write(kernel, 1, 2 << 20, 12), 0);
	ck_assert_int_eq(kernel_read_text(kernel, text, sizeof(text), POOL "nr_hugepages"), 3);
	ck_assert_str_eq(text, "12\n");
	ck_assert_int_eq(hugepages_write(kernel, 2, 2 << 20, 12), -ENOENT);

	put("/sys/devices/system/node/node1/compact", "");
	ck_assert_int_eq(hugepages_compact(kernel, 1), 0);
	ck_assert_int_gt(kernel_read_text(kernel, text, sizeof(text),
	                                  "/sys/devices/system/node/node1/compact"),
	                 0);
	ck_assert_int_eq(hugepages_compact(kernel, 0), -ENOENT);
}
END_TEST

static void expect_base_page(const uint64_t *auxv, size_t nr_bytes, uint64_t expected)
{
	struct machine *machine = NULL;

	put_file("/proc/self/auxv", auxv, nr_bytes);
	ck_assert_int_eq(machine_probe(kernel, &machine), 0);
	ck_assert_uint_eq(machine->page_bytes, expected);
	machine = machine_free(machine);
}

START_TEST(test_the_base_page_is_that_of_the_recorded_process)
{
	/* AT_HWCAP, AT_PAGESZ, AT_NULL */
	static const uint64_t recorded[] = { 16, 4096, 6, 65536, 0, 0 };
	static const uint64_t nonsense[] = { 6, 12345, 0, 0 };
	uint64_t our_bytes = (uint64_t) sysconf(_SC_PAGESIZE);

	put("/proc/meminfo", "MemTotal: 1024 kB\n");
	expect_base_page(recorded, sizeof(recorded), 65536);
	expect_base_page(nonsense, sizeof(nonsense), our_bytes);
	/* Cut off before the value. */
	expect_base_page(recorded, 3 * sizeof(recorded[0]), our_bytes);
}
END_TEST

START_TEST(test_nodes_of_a_tree_without_lists_are_found_by_their_directories)
{
	struct machine *machine = NULL;

	put("/sys/devices/system/node/node8/cpulist", "4-5\n");
	put("/sys/devices/system/node/node0/cpulist", "0-1\n");
	put("/sys/devices/system/node/node3x/cpulist", "9\n");
	put("/sys/devices/system/node/power/control", "auto\n");
	ck_assert_int_eq(machine_probe(kernel, &machine), 0);
	ck_assert_uint_eq(machine->nr_nodes, 2);
	ck_assert_uint_eq(machine->nodes[0].node_id, 0);
	ck_assert_uint_eq(machine->nodes[1].node_id, 8);
	ck_assert_uint_eq(idset_nr(&machine->online_cpus), 4);
	ck_assert_uint_eq(idset_nr(&machine->nodes[1].usable_cpus), 2);
	machine = machine_free(machine);
}
END_TEST

/* Before Linux 5.6, and below valgrind, no call keeps links inside. */
static bool has_openat2(void)
{
	return syscall(SYS_openat2, -1, NULL, NULL, 0) == 0 || errno != ENOSYS;
}

int main(void)
{
	Suite *suite = suite_create("kernel");
	TCase *tcase = tcase_create("tree");

	tcase_add_checked_fixture(tcase, tree_setup, tree_teardown);
	tcase_add_test(tcase, test_a_file_is_read_whole_and_terminated);
	tcase_add_test(tcase, test_a_file_of_many_pages_is_read_whole);
	tcase_add_test(tcase, test_a_file_that_does_not_fit_is_too_big);
	tcase_add_test(tcase, test_a_fifo_in_a_recorded_tree_is_not_waited_for);
	tcase_add_test(tcase, test_what_is_not_there_is_told_by_errno);
	tcase_add_test(tcase, test_numbers_are_read_strictly);
	tcase_add_test(tcase, test_a_write_replaces_a_recorded_file);
	tcase_add_test(tcase, test_a_file_without_write_permission_is_told_so);
	tcase_add_test(tcase, test_a_directory_is_walked_without_itself);
	if (has_openat2())
		tcase_add_test(tcase, test_links_of_a_recorded_tree_stay_inside);
	else
		puts("skipped: test_links_of_a_recorded_tree_stay_inside needs openat2(2)");
	tcase_add_test(tcase, test_no_root_is_this_machine);
	tcase_add_test(tcase, test_a_pool_is_read_and_written_at_its_node_and_size);
	tcase_add_test(tcase, test_the_base_page_is_that_of_the_recorded_process);
	tcase_add_test(tcase, test_nodes_of_a_tree_without_lists_are_found_by_their_directories);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
