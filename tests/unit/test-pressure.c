/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../daemon/base/size.h"
#include "../../daemon/machine/pressure.h"
#include "kernel-model.h"
#include "suite.h"
#include "tree.h"

#define OWN "/sys/fs/cgroup/nodeinit.slice/nodeinitd.service"

static struct kernel_model *model;
static struct pressure_sample sample;

static void model_setup(void)
{
	model = kernel_model_new();
}

static void model_teardown(void)
{
	model = kernel_model_free(model);
}

static const struct pressure_total *look(enum pressure_kind kind)
{
	pressure_read(kernel_model_kernel(model), &sample);
	return &sample.totals[kind];
}

static void put(const char *path, uint64_t some_usec)
{
	kernel_model_set_file(model, path,
	                      "some avg10=1.00 avg60=2.00 avg300=3.00 total=%llu\n"
	                      "full avg10=0.00 avg60=0.00 avg300=0.00 total=77\n",
	                      (unsigned long long) some_usec);
}

/* CLK_TCK is 100 wherever Linux runs, but it is asked for. */
static uint64_t ticks_usec(uint64_t nr_ticks)
{
	return nr_ticks * UINT64_C(1000000) / (uint64_t) sysconf(_SC_CLK_TCK);
}

START_TEST(test_each_kind_has_its_files)
{
	static const char *const kinds[NR_PRESSURES] = { "cpu", "memory", "io" };
	char path[128];

	kernel_model_set_file(model, "/proc/self/cgroup", "0::/nodeinit.slice/nodeinitd.service\n");
	for (unsigned i = 0; i < NR_PRESSURES; i++) {
		(void) snprintf(path, sizeof(path), "/proc/pressure/%s", kinds[i]);
		put(path, 1000 + i);
		(void) snprintf(path, sizeof(path), OWN "/%s.pressure", kinds[i]);
		put(path, 100 + i);
	}
	for (unsigned i = 0; i < NR_PRESSURES; i++) {
		ck_assert_str_eq(pressure_text(i), kinds[i]);
		ck_assert(look(i)->has_host && look(i)->has_own);
		ck_assert_uint_eq(look(i)->host_usec, 1000 + i);
		ck_assert_uint_eq(look(i)->own_usec, 100 + i);
	}
	ck_assert(!sample.has_busy);
}
END_TEST

START_TEST(test_nothing_can_be_read_and_that_is_a_fact)
{
	memset(&sample, 0xff, sizeof(sample));
	for (unsigned i = 0; i < NR_PRESSURES; i++)
		ck_assert(!look(i)->has_host && !look(i)->has_own);
	ck_assert(!sample.has_busy);
}
END_TEST

START_TEST(test_a_kernel_with_psi_off_answers_with_an_error)
{
	put("/proc/pressure/memory", 5);
	kernel_model_refuse_reads(model, "/proc/pressure/memory", EOPNOTSUPP);
	ck_assert(!look(PRESSURE_MEMORY)->has_host);
	kernel_model_refuse_reads(model, "/proc/pressure/memory", 0);
	ck_assert(look(PRESSURE_MEMORY)->has_host);
}
END_TEST

START_TEST(test_the_own_cgroup_is_found_beside_those_of_version_1)
{
	kernel_model_set_file(model, "/proc/self/cgroup",
	                      "4:memory:/elsewhere\n10:pids:/x\n0::/nodeinit.slice/n.service\n");
	put("/sys/fs/cgroup/unified/nodeinit.slice/n.service/io.pressure", 9);
	ck_assert(look(PRESSURE_IO)->has_own);
	ck_assert_uint_eq(sample.totals[PRESSURE_IO].own_usec, 9);
	ck_assert(!sample.totals[PRESSURE_CPU].has_own);
}
END_TEST

START_TEST(test_a_cgroup_that_is_everybodys_is_not_ours)
{
	static const char *const cgroups[] = {
		"0::/\n",   "0::/../other.slice\n", "0::/..\n", "4:memory:/a\n", "", "0::\n",
		"10::/a\n",
	};

	put("/sys/fs/cgroup/io.pressure", 9);
	put("/sys/fs/cgroup//io.pressure", 9);
	put("/sys/fs/cgroup/../other.slice/io.pressure", 9);
	put("/sys/fs/cgroup/../io.pressure", 9);
	put("/sys/fs/cgroup/a/io.pressure", 9);
	for (size_t i = 0; i < ELEMENTS(cgroups); i++) {
		kernel_model_set_file(model, "/proc/self/cgroup", "%s", cgroups[i]);
		ck_assert_msg(!look(PRESSURE_IO)->has_own, "%s", cgroups[i]);
	}
	kernel_model_set_file(model, "/proc/self/cgroup", "0::/a");
	ck_assert(look(PRESSURE_IO)->has_own);
}
END_TEST

START_TEST(test_damaged_pressure_is_none)
{
	static const char *const texts[] = {
		"",
		"\n",
		"some",
		"some \n",
		"some avg10=0.00\nfull avg10=0.00 total=5\n",
		"full avg10=0.00 total=5\n",
		"some avg10=0.00 total=\n",
		"some avg10=0.00 total=-5\n",
		"some avg10=0.00 total=5x\n",
		"some avg10=0.00 total=99999999999999999999\n",
		"some avg10=0.00 mytotal=5\n",
		"awesome total=5\n",
	};

	for (size_t i = 0; i < ELEMENTS(texts); i++) {
		kernel_model_set_file(model, "/proc/pressure/memory", "%s", texts[i]);
		ck_assert_msg(!look(PRESSURE_MEMORY)->has_host, "%zu: %s", i, texts[i]);
	}
	kernel_model_set_file(model, "/proc/pressure/memory", "full total=3\nsome total=4");
	ck_assert(look(PRESSURE_MEMORY)->has_host);
	ck_assert_uint_eq(sample.totals[PRESSURE_MEMORY].host_usec, 4);
	kernel_model_set_file(model, "/proc/pressure/memory",
	                      "some total=18446744073709551615 new=1\n");
	ck_assert_uint_eq(look(PRESSURE_MEMORY)->host_usec, UINT64_MAX);
}
END_TEST

START_TEST(test_busy_is_neither_idle_nor_waiting_nor_stolen)
{
	kernel_model_set_file(model, "/proc/stat",
	                      "cpu  1 20 300 4000 50000 600000 7000000 80000000 1 20\n"
	                      "cpu0 1 20 300 4000 50000 600000 7000000 80000000 1 20\n");
	(void) look(PRESSURE_CPU);
	ck_assert(sample.has_busy);
	ck_assert_uint_eq(sample.busy_usec, ticks_usec(7600321));
}
END_TEST

START_TEST(test_damaged_busy_time_is_none)
{
	static const char *const texts[] = {
		"",
		"cpu",
		"cpu \n",
		"cpu0 1 2 3 4 5 6 7\n",
		"cpu 1 2 3 4 5 6\n",
		"cpu 1 2 3 4 5 6 x\n",
		"cpu 1 2 -3 4 5 6 7\n",
		"intr 1 2 3 4 5 6 7\n",
	};

	for (size_t i = 0; i < ELEMENTS(texts); i++) {
		kernel_model_set_file(model, "/proc/stat", "%s", texts[i]);
		(void) look(PRESSURE_CPU);
		ck_assert_msg(!sample.has_busy, "%zu: %s", i, texts[i]);
	}
	kernel_model_set_file(model, "/proc/stat", "cpu 1 1 1 1 1 1 18446744073709551615\n");
	(void) look(PRESSURE_CPU);
	ck_assert(sample.has_busy);
	ck_assert_uint_eq(sample.busy_usec, UINT64_MAX);
}
END_TEST

START_TEST(test_a_large_machine_has_a_stat_of_many_pages)
{
	struct tree *tree = tree_new("uma-4g");
	size_t nr_bytes = 700 * 1024, at;
	char *text = malloc(nr_bytes + 1);
	struct kernel *kernel;

	ck_assert_ptr_nonnull(text);
	at = (size_t) sprintf(text, "cpu  5 0 0 0 0 0 0 0 0 0\nintr");
	while (at + 2 < nr_bytes) {
		text[at++] = ' ';
		text[at++] = '0';
	}
	text[at] = '\0';
	tree_write(tree, text, "/proc/stat");
	tree_write(tree, "some avg10=0.00 avg60=0.00 avg300=0.00 total=31\n",
	           "/sys/fs/cgroup/system.slice/nodeinitd.service/memory.pressure");
	free(text);
	ck_assert_int_eq(kernel_open(tree->root, &kernel), 0);
	pressure_read(kernel, &sample);
	kernel_close(kernel);
	tree_free(tree);
	ck_assert(sample.has_busy);
	ck_assert_uint_eq(sample.busy_usec, ticks_usec(5));
	ck_assert(sample.totals[PRESSURE_MEMORY].has_own);
	ck_assert_uint_eq(sample.totals[PRESSURE_MEMORY].own_usec, 31);
	ck_assert(!sample.totals[PRESSURE_MEMORY].has_host);
}
END_TEST

/* Two CPUs and their domains, as version 15 has it; later ones differ in the domains only. */
#define SCHEDSTAT                                                   \
	"timestamp 4295000000\n"                                    \
	"cpu0 1 0 3 4 5 6 7000000 8000000 9\n"                      \
	"domain0 00000000,00000003 1 2 3 4 5 6 7 8 9 10 11 12 13\n" \
	"cpu1 0 0 0 0 0 0 0 30000000 0\n"                           \
	"domain0 00000000,00000003 1 2 3 4 5 6 7 8 9 10 11 12 13\n"

static void put_own_threads(void)
{
	kernel_model_set_file(model, "/proc/self/task/71/schedstat", "5000000 600 7\n");
	kernel_model_set_file(model, "/proc/self/task/72/schedstat", "5000000 80 7\n");
}

/* Loop test: versions. */
START_TEST(test_waits_are_those_of_all_cpus_and_of_our_threads)
{
	kernel_model_set_file(model, "/proc/schedstat", "version %d\n" SCHEDSTAT, _i);
	put_own_threads();
	(void) look(PRESSURE_CPU);
	ck_assert_int_eq(sample.waits.is_known, _i >= 15 && _i <= 17);
	if (!sample.waits.is_known)
		return;
	ck_assert_uint_eq(sample.waits.host_nsec, 38000000);
	ck_assert_uint_eq(sample.waits.nr_cpus, 2);
	ck_assert_uint_eq(sample.waits.own_nsec, 680);
	ck_assert_uint_eq(sample.waits.nr_own_threads, 2);
	ck_assert_uint_eq(sample.waits.own_threads[0] + sample.waits.own_threads[1], 71 + 72);
	ck_assert_uint_eq(sample.waits.own_threads[0] ^ sample.waits.own_threads[1], 71 ^ 72);
}
END_TEST

/* Loop test: how many threads too many. */
START_TEST(test_waits_of_more_threads_than_are_worth_it_are_not_known)
{
	char path[64];

	kernel_model_set_file(model, "/proc/schedstat", "version 15\n" SCHEDSTAT);
	for (int i = 0; i < PRESSURE_OWN_THREADS_MAX + _i; i++) {
		(void) snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", 71 + i);
		kernel_model_set_file(model, path, "5000000 10 7\n");
	}
	(void) look(PRESSURE_CPU);
	ck_assert_int_eq(sample.waits.is_known, _i == 0);
	ck_assert_uint_eq(sample.waits.own_nsec, _i == 0 ? 10 * PRESSURE_OWN_THREADS_MAX : 0);
}
END_TEST

/* A door in front of another that counts what goes through it. */
struct counting_kernel {
	struct kernel kernel;
	struct kernel *inner;
	unsigned nr_stats, nr_schedstats, nr_own;
};

static int count_read(struct kernel *kernel, const char *path, char *buffer, size_t buffer_bytes)
{
	struct counting_kernel *counting = (struct counting_kernel *) kernel;

	counting->nr_stats += strcmp(path, "/proc/stat") == 0;
	counting->nr_schedstats += strcmp(path, "/proc/schedstat") == 0;
	counting->nr_own += strncmp(path, "/proc/self/task/", strlen("/proc/self/task/")) == 0;
	return counting->inner->ops->read(counting->inner, path, buffer, buffer_bytes);
}

static int count_list(struct kernel *kernel, const char *path, kernel_entry_fn entry, void *arg)
{
	struct counting_kernel *counting = (struct counting_kernel *) kernel;

	return counting->inner->ops->list(counting->inner, path, entry, arg);
}

static struct counting_kernel counting_kernel(void)
{
	static const struct kernel_ops ops = { .read = count_read, .list = count_list };

	return (struct counting_kernel){ .kernel.ops = &ops, .inner = kernel_model_kernel(model) };
}

START_TEST(test_of_more_threads_no_more_files_are_read)
{
	struct counting_kernel counting = counting_kernel();
	char path[64];

	kernel_model_set_file(model, "/proc/schedstat", "version 15\n" SCHEDSTAT);
	for (int i = 0; i < 3 * PRESSURE_OWN_THREADS_MAX; i++) {
		(void) snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", 71 + i);
		kernel_model_set_file(model, path, "5000000 10 7\n");
	}
	pressure_read(&counting.kernel, &sample);
	ck_assert(!sample.waits.is_known);
	ck_assert_uint_eq(counting.nr_own, PRESSURE_OWN_THREADS_MAX);
}
END_TEST

START_TEST(test_a_task_whose_name_is_no_number_is_damaged)
{
	kernel_model_set_file(model, "/proc/schedstat", "version 15\n" SCHEDSTAT);
	kernel_model_set_file(model, "/proc/self/task/7x/schedstat", "5000000 10 7\n");
	(void) look(PRESSURE_CPU);
	ck_assert(!sample.waits.is_known);
}
END_TEST

START_TEST(test_a_thread_that_ends_meanwhile_is_not_counted)
{
	kernel_model_set_file(model, "/proc/schedstat", "version 15\n" SCHEDSTAT);
	put_own_threads();
	kernel_model_set_file(model, "/proc/self/task/73/stat", "73 (init-node0.3)\n");
	for (int error = 0; error <= ESRCH; error += ESRCH) {
		kernel_model_refuse_reads(model, "/proc/self/task/72/schedstat", error);
		(void) look(PRESSURE_CPU);
		ck_assert(sample.waits.is_known);
		ck_assert_uint_eq(sample.waits.nr_own_threads, error ? 1 : 2);
		ck_assert_uint_eq(sample.waits.own_nsec, error ? 600 : 680);
	}
}
END_TEST

START_TEST(test_waits_are_not_known_where_ours_are_not)
{
	kernel_model_set_file(model, "/proc/schedstat", "version 15\n" SCHEDSTAT);
	/* no /proc/self/task, then nothing of a thread in it, then one that may not be read */
	(void) look(PRESSURE_CPU);
	ck_assert(!sample.waits.is_known);
	kernel_model_set_file(model, "/proc/self/task/71/stat", "71 (nodeinitd)\n");
	(void) look(PRESSURE_CPU);
	ck_assert(!sample.waits.is_known);
	put_own_threads();
	(void) look(PRESSURE_CPU);
	ck_assert(sample.waits.is_known);
	kernel_model_refuse_reads(model, "/proc/self/task/71/schedstat", EACCES);
	(void) look(PRESSURE_CPU);
	ck_assert(!sample.waits.is_known);
	ck_assert_uint_eq(sample.waits.host_nsec, 0);
}
END_TEST

START_TEST(test_damaged_waits_are_not_known)
{
	static const char *const texts[] = {
		"",
		"version",
		"version \ncpu0 1 2 3 4 5 6 7 8 9\n",
		"version x\ncpu0 1 2 3 4 5 6 7 8 9\n",
		"version 15.1\ncpu0 1 2 3 4 5 6 7 8 9\n",
		"version 150\ncpu0 1 2 3 4 5 6 7 8 9\n",
		"cpu0 1 2 3 4 5 6 7 8 9\n",
		"timestamp 1\nversion 15\ncpu0 1 2 3 4 5 6 7 8 9\n",
		"version 15\n",
		"version 15",
		"version 15\ntimestamp 1\n",
		"version 15\ndomain0 3 1 2 3 4 5 6 7 8 9\n",
		"version 15\ncpu 1 2 3 4 5 6 7 8 9\n",
		"version 15\ncpu0\n",
		"version 15\ncpu0 1 2 3 4 5 6 7 8\n",
		"version 15\ncpu0 1 2 3 4 5 6 7 8 9 10\n",
		"version 15\ncpu0 1 2 3 4 5 6 7 -8 9\n",
		"version 15\ncpu0 1 2 3 4 5 6 7 8x 9\n",
		"version 15\ncpu0 1 2 3 4 5 6 7 99999999999999999999 9\n",
		"version 15\ncpu0 1 2 3 4 5 6 7 8 9\ncpu1 1 2 3 4 5 6 7\n",
		"version 15\ncpu0 1 2 3 4 5 6 7\ncpu1 1 2 3 4 5 6 7 8 9\n",
	};
	static const char *const own_texts[] = { "",          "\n",       "5\n",      "5 6\n",
		                                 "5 6 7 8\n", "5 -6 7\n", "5 6 7x\n", "x 6 7\n" };

	put_own_threads();
	for (size_t i = 0; i < ELEMENTS(texts); i++) {
		kernel_model_set_file(model, "/proc/schedstat", "%s", texts[i]);
		(void) look(PRESSURE_CPU);
		ck_assert_msg(!sample.waits.is_known, "%zu: %s", i, texts[i]);
	}
	kernel_model_set_file(model, "/proc/schedstat", "version 15\ncpu0 1 2 3 4 5 6 7 8 9");
	(void) look(PRESSURE_CPU);
	ck_assert(sample.waits.is_known);
	for (size_t i = 0; i < ELEMENTS(own_texts); i++) {
		kernel_model_set_file(model, "/proc/self/task/71/schedstat", "%s", own_texts[i]);
		(void) look(PRESSURE_CPU);
		ck_assert_msg(!sample.waits.is_known, "%zu: %s", i, own_texts[i]);
	}
	/* counters at their end stay there */
	put_own_threads();
	kernel_model_set_file(model, "/proc/schedstat",
	                      "version 15\ncpu0 1 2 3 4 5 6 7 18446744073709551615 9\n"
	                      "cpu1 1 2 3 4 5 6 7 8 9\n");
	(void) look(PRESSURE_CPU);
	ck_assert(sample.waits.is_known);
	ck_assert_uint_eq(sample.waits.host_nsec, UINT64_MAX);
}
END_TEST

START_TEST(test_a_large_machine_has_a_schedstat_of_many_pages)
{
	struct counting_kernel counting;
	unsigned nr_cpus = 2048;
	size_t nr_bytes = 64 + (size_t) nr_cpus * 256, at;
	char *text = malloc(nr_bytes);

	ck_assert_ptr_nonnull(text);
	at = (size_t) sprintf(text, "version 17\ntimestamp 1\n");
	for (unsigned i = 0; i < nr_cpus; i++)
		at += (size_t) snprintf(text + at, nr_bytes - at,
		                        "cpu%u 0 0 0 0 0 0 0 1000 0\ndomain0 MC %0*d\n", i, 200, 7);
	kernel_model_set_file(model, "/proc/schedstat", "%s", text);
	free(text);
	put_own_threads();
	kernel_model_set_file(model, "/proc/stat", "cpu 1 1 1 1 1 1 1\nintr %0*d\n", 512 * 1024, 0);
	counting = counting_kernel();
	pressure_read(&counting.kernel, &sample);
	/* the kernel makes the text anew for each */
	ck_assert_uint_eq(counting.nr_stats, 1);
	ck_assert_uint_eq(counting.nr_schedstats, 1);
	ck_assert(sample.has_busy);
	ck_assert(sample.waits.is_known);
	ck_assert_uint_eq(sample.waits.nr_cpus, 2048);
	ck_assert_uint_eq(sample.waits.host_nsec, 2048 * 1000);
}
END_TEST

START_TEST(test_a_recorded_tree_without_schedstat_knows_of_no_waits)
{
	struct tree *tree = tree_new("uma-4g");
	struct kernel *kernel;

	tree_write(tree, "5000000 600 7\n", "/proc/self/task/71/schedstat");
	ck_assert_int_eq(kernel_open(tree->root, &kernel), 0);
	pressure_read(kernel, &sample);
	ck_assert(!sample.waits.is_known);
	tree_write(tree, "version 16\n" SCHEDSTAT, "/proc/schedstat");
	pressure_read(kernel, &sample);
	ck_assert(sample.waits.is_known);
	ck_assert_uint_eq(sample.waits.host_nsec, 38000000);
	ck_assert_uint_eq(sample.waits.own_nsec, 600);
	kernel_close(kernel);
	tree_free(tree);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pressure");
	TCase *files = tcase_create("files");

	tcase_add_checked_fixture(files, model_setup, model_teardown);
	tcase_add_test(files, test_each_kind_has_its_files);
	tcase_add_test(files, test_nothing_can_be_read_and_that_is_a_fact);
	tcase_add_test(files, test_a_kernel_with_psi_off_answers_with_an_error);
	tcase_add_test(files, test_the_own_cgroup_is_found_beside_those_of_version_1);
	tcase_add_test(files, test_a_cgroup_that_is_everybodys_is_not_ours);
	tcase_add_test(files, test_damaged_pressure_is_none);
	tcase_add_test(files, test_busy_is_neither_idle_nor_waiting_nor_stolen);
	tcase_add_test(files, test_damaged_busy_time_is_none);
	tcase_add_test(files, test_a_large_machine_has_a_stat_of_many_pages);
	tcase_add_loop_test(files, test_waits_are_those_of_all_cpus_and_of_our_threads, 13, 20);
	tcase_add_loop_test(files, test_waits_of_more_threads_than_are_worth_it_are_not_known, 0,
	                    3);
	tcase_add_test(files, test_of_more_threads_no_more_files_are_read);
	tcase_add_test(files, test_a_task_whose_name_is_no_number_is_damaged);
	tcase_add_test(files, test_a_thread_that_ends_meanwhile_is_not_counted);
	tcase_add_test(files, test_waits_are_not_known_where_ours_are_not);
	tcase_add_test(files, test_damaged_waits_are_not_known);
	tcase_add_test(files, test_a_large_machine_has_a_schedstat_of_many_pages);
	tcase_add_test(files, test_a_recorded_tree_without_schedstat_knows_of_no_waits);
	suite_add_tcase(suite, files);
	return suite_main(suite);
}
