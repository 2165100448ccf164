/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "../../daemon/base/size.h"
#include "../../daemon/machine/machine.h"
#include "kernel-model.h"
#include "suite.h"

static struct kernel_model *model;
static struct machine *machine;

static void model_setup(void)
{
	model = kernel_model_new();
}

static void model_teardown(void)
{
	machine = machine_free(machine);
	model = kernel_model_free(model);
}

static void probe(void)
{
	machine = machine_free(machine);
	ck_assert_int_eq(machine_probe(kernel_model_kernel(model), &machine), 0);
}

static const struct machine_node *node_0(void)
{
	ck_assert_ptr_nonnull(machine_node(machine, 0));
	return machine_node(machine, 0);
}

START_TEST(test_a_machine_of_64k_pages_has_its_own_huge_sizes)
{
	kernel_model_add_node(model, 0, "0", 64 * GIB);
	kernel_model_add_page_size(model, 512 * MIB);
	kernel_model_add_page_size(model, 16 * GIB);
	kernel_model_add_page_size(model, 2 * MIB);
	kernel_model_set_file(model, "/proc/self/smaps",
	                      "KernelPageSize:       64 kB\nMMUPageSize:          64 kB\n");
	kernel_model_set_pages(model, 0, 16 * GIB,
	                       (struct hugepages_count){ .nr_pages = 2, .free_pages = 1 });
	probe();
	ck_assert_uint_eq(machine->page_bytes, 64 * KIB);
	ck_assert_uint_eq(machine->nr_page_sizes, 3);
	ck_assert_uint_eq(machine->page_sizes[0], 2 * MIB);
	ck_assert_uint_eq(machine->page_sizes[1], 512 * MIB);
	ck_assert_uint_eq(machine->page_sizes[2], 16 * GIB);
	ck_assert_uint_eq(machine->huge_page_bytes, 512 * MIB);
	ck_assert_int_eq(machine_page_size_index(machine, 16 * GIB), 2);
	ck_assert_int_eq(machine_page_size_index(machine, GIB), -ENOENT);
	ck_assert_uint_eq(node_0()->hugepages[2].page_bytes, 16 * GIB);
	ck_assert_uint_eq(node_0()->hugepages[2].nr_pages, 2);
	ck_assert_uint_eq(node_0()->hugepages[2].free_pages, 1);
	ck_assert_uint_eq(node_0()->hugepages[0].nr_pages, 0);
}
END_TEST

START_TEST(test_the_default_huge_page_falls_back_on_what_is_listed)
{
	kernel_model_add_node(model, 0, "0", GIB);
	kernel_model_add_page_size(model, GIB);
	kernel_model_add_page_size(model, 64 * KIB);
	kernel_model_add_page_size(model, 2 * MIB);
	kernel_model_set_file(model, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
	                      "2097152\n");
	probe();
	ck_assert_uint_eq(machine->huge_page_bytes, GIB);
	kernel_model_set_file(model, "/proc/meminfo", "MemTotal: 1048576 kB\n");
	probe();
	ck_assert_uint_eq(machine->huge_page_bytes, 2 * MIB);
	kernel_model_hide(model, "/sys/kernel/mm/transparent_hugepage");
	probe();
	ck_assert_uint_eq(machine->huge_page_bytes, 64 * KIB);
	/* The nodes list them, too. */
	kernel_model_hide(model, "/sys/kernel/mm/hugepages");
	probe();
	ck_assert_uint_eq(machine->nr_page_sizes, 3);
	kernel_model_hide(model, "/sys/devices/system/node/node0/hugepages");
	probe();
	ck_assert_uint_eq(machine->nr_page_sizes, 0);
	ck_assert_uint_eq(machine->huge_page_bytes, 0);
}
END_TEST

static void expect_thp(const char *shmem_enabled, enum machine_thp expected)
{
	kernel_model_set_file(model, "/sys/kernel/mm/transparent_hugepage/shmem_enabled", "%s\n",
	                      shmem_enabled);
	probe();
	ck_assert_msg(machine->thp == expected, "%s gives %d", shmem_enabled, (int) machine->thp);
}

START_TEST(test_pools_of_the_machine_are_not_taken_for_those_of_a_node)
{
	kernel_model_add_node(model, 0, "0", GIB);
	kernel_model_add_page_size(model, 2 * MIB);
	kernel_model_set_pages(model, 0, 2 * MIB,
	                       (struct hugepages_count){ .nr_pages = 9, .free_pages = 9 });
	probe();
	ck_assert_uint_eq(node_0()->hugepages[0].nr_pages, 9);
	kernel_model_hide(model, "/sys/devices/system/node/node0/hugepages");
	probe();
	ck_assert_uint_eq(machine->nr_page_sizes, 1);
	ck_assert_uint_eq(node_0()->hugepages[0].nr_pages, 0);
}
END_TEST

START_TEST(test_thp_takes_a_mount_or_the_knob)
{
	kernel_model_add_node(model, 0, "0", GIB);
	expect_thp("always within_size advise [never] deny force", MACHINE_THP_NONE);
	ck_assert_uint_eq(machine->thp_bytes, 0);
	kernel_model_set_file(model, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
	                      "2097152\n");
	expect_thp("always within_size advise [never] deny force", MACHINE_THP_MOUNT);
	ck_assert_uint_eq(machine->thp_bytes, 2 * MIB);
	expect_thp("always within_size advise never [deny] force", MACHINE_THP_NONE);

	/* On this machine a mount takes CAP_SYS_ADMIN, bit 21. */
	kernel_model_kernel(model)->is_live = true;
	kernel_model_set_file(model, "/proc/self/status", "CapEff:\t0000000000200000\n");
	expect_thp("always within_size advise [never] deny force", MACHINE_THP_MOUNT);
	kernel_model_set_file(model, "/proc/self/status", "CapEff:\tffffffffffdfffff\n");
	expect_thp("always within_size advise [never] deny force", MACHINE_THP_NONE);
	expect_thp("always within_size [advise] never deny force", MACHINE_THP_MEMFD);
	expect_thp("always [within_size] advise never deny force", MACHINE_THP_MEMFD);
	expect_thp("[always] within_size advise never deny force", MACHINE_THP_MEMFD);
	expect_thp("always within_size advise never deny [force]", MACHINE_THP_MEMFD);
}
END_TEST

START_TEST(test_the_right_to_grow_pools_is_asked_of_every_node)
{
	kernel_model_add_node(model, 0, "0", GIB);
	kernel_model_add_node(model, 1, "1", GIB);
	kernel_model_add_page_size(model, 2 * MIB);
	kernel_model_refuse(model, "/sys/devices/system/node/node1", EROFS);
	probe();
	ck_assert(machine->may_grow_hugepages);
	kernel_model_kernel(model)->is_live = true;
	/* one that was plugged in a moment ago takes nothing from the others */
	probe();
	ck_assert(machine->may_grow_hugepages);
	ck_assert(!machine->nodes[0].is_growing_refused);
	ck_assert(machine->nodes[1].is_growing_refused);
	kernel_model_refuse(model, "/sys/devices/system/node/node0", EACCES);
	probe();
	ck_assert(!machine->may_grow_hugepages);
	kernel_model_refuse(model, "/sys/devices/system/node/node0", 0);
	kernel_model_refuse(model, "/sys/devices/system/node/node1", 0);
	probe();
	ck_assert(machine->may_grow_hugepages);
	ck_assert(!machine->nodes[1].is_growing_refused);
	ck_assert_uint_eq(kernel_model_nr_writes(model, NULL), 0);
	kernel_model_hide(model, "/sys/devices/system/node/node0/hugepages");
	kernel_model_hide(model, "/sys/devices/system/node/node1/hugepages");
	probe();
	ck_assert(!machine->may_grow_hugepages);
}
END_TEST

static void expect_no_limit(void)
{
	probe();
	ck_assert_uint_eq(machine->cgroup_limit_bytes, UINT64_MAX);
	ck_assert_uint_eq(machine->cgroup_room_bytes, UINT64_MAX);
	ck_assert_str_eq(machine->cgroup_path, "");
}

static void expect_limit(const char *path, uint64_t limit_bytes, uint64_t room_bytes)
{
	probe();
	ck_assert_str_eq(machine->cgroup_path, path);
	ck_assert_uint_eq(machine->cgroup_limit_bytes, limit_bytes);
	ck_assert_uint_eq(machine->cgroup_room_bytes, room_bytes);
}

START_TEST(test_the_level_with_the_least_room_limits_us)
{
	kernel_model_add_node(model, 0, "0", GIB);
	expect_no_limit();
	kernel_model_set_file(model, "/proc/self/cgroup", "0::/a.slice/b.service\n");
	expect_no_limit();
	kernel_model_set_file(model, "/sys/fs/cgroup/a.slice/b.service/memory.max", "max\n");
	expect_no_limit();
	kernel_model_set_file(model, "/sys/fs/cgroup/a.slice/b.service/memory.max", "5000\n");
	expect_limit("/a.slice/b.service", 5000, 5000);
	/* A larger number above, but less left of it. */
	kernel_model_set_file(model, "/sys/fs/cgroup/a.slice/memory.max", "9000\n");
	kernel_model_set_file(model, "/sys/fs/cgroup/a.slice/memory.current", "8000\n");
	expect_limit("/a.slice", 9000, 1000);
	/* Page cache and slab of the level go when memory is needed. */
	kernel_model_set_file(model, "/sys/fs/cgroup/a.slice/memory.stat",
	                      "anon 1000\nfile 6000\nslab_reclaimable 500\ninactive_file 2000\n"
	                      "active_file 700\nworkingset_refault_file 99\n");
	expect_limit("/a.slice", 9000, 4200);
	kernel_model_set_file(model, "/sys/fs/cgroup/a.slice/b.service/memory.high", "300\n");
	expect_limit("/a.slice/b.service", 300, 300);
	kernel_model_set_file(model, "/sys/fs/cgroup/a.slice/b.service/memory.current", "400\n");
	expect_limit("/a.slice/b.service", 300, 0);
	/* As a container shows its own limit. */
	kernel_model_set_file(model, "/proc/self/cgroup", "0::/\n");
	kernel_model_set_file(model, "/sys/fs/cgroup/memory.max", "7000\n");
	expect_limit("/", 7000, 7000);
}
END_TEST

START_TEST(test_limits_of_cgroup_version_1_count)
{
	kernel_model_add_node(model, 0, "0", GIB);
	kernel_model_set_file(model, "/proc/self/cgroup",
	                      "4:cpuset,swapmemory,memoryless:/wrong\n3:cpuset:/"
	                      "wrong\n2:hugetlb,memory,pids:/x/y\n"
	                      "1:name=systemd:/wrong\n0::/wrong\n");
	kernel_model_set_file(model, "/sys/fs/cgroup/memory/wrong/memory.limit_in_bytes", "1\n");
	kernel_model_set_file(model, "/sys/fs/cgroup/memory/x/y/memory.limit_in_bytes",
	                      "9223372036854771712\n");
	expect_no_limit();
	kernel_model_set_file(model, "/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "6000\n");
	kernel_model_set_file(model, "/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "5000\n");
	kernel_model_set_file(model, "/sys/fs/cgroup/memory/x/memory.stat",
	                      "inactive_file 1\ntotal_inactive_file 200\ntotal_active_file 30\n");
	expect_limit("/x", 6000, 1230);
}
END_TEST

START_TEST(test_a_hybrid_hierarchy_has_its_limits_beside)
{
	kernel_model_add_node(model, 0, "0", GIB);
	kernel_model_set_file(model, "/proc/self/cgroup", "0::/x\n");
	kernel_model_set_file(model, "/sys/fs/cgroup/unified/x/memory.max", "4096\n");
	expect_limit("/x", 4096, 4096);
}
END_TEST

START_TEST(test_levels_outside_our_namespace_are_passed_over)
{
	char path[600];

	kernel_model_add_node(model, 0, "0", GIB);
	kernel_model_set_file(model, "/proc/self/cgroup", "0::/../../other\n");
	kernel_model_set_file(model, "/sys/fs/cgroup/memory.max", "4096\n");
	/* Whatever lies there is not a level of ours. */
	kernel_model_set_file(model, "/sys/fs/cgroup/../memory.max", "1\n");
	expect_limit("/", 4096, 4096);
	/* A path longer than there is room for is shown by its end. */
	memset(path, 'd', sizeof(path));
	(void) snprintf(path + 300, sizeof(path) - 300, "/end");
	kernel_model_set_file(model, "/proc/self/cgroup", "0::/%s\n", path);
	(void) memmove(path + strlen("/sys/fs/cgroup/"), path, strlen(path) + 1);
	(void) memcpy(path, "/sys/fs/cgroup/", strlen("/sys/fs/cgroup/"));
	(void) strcat(path, "/memory.max");
	kernel_model_set_file(model, path, "12\n");
	probe();
	ck_assert_uint_eq(machine->cgroup_limit_bytes, 12);
	ck_assert_uint_eq(strlen(machine->cgroup_path), sizeof(machine->cgroup_path) - 1);
	ck_assert_str_eq(machine->cgroup_path + strlen(machine->cgroup_path) - 4, "/end");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("limits");
	TCase *tcase = tcase_create("pages and limits");

	tcase_add_checked_fixture(tcase, model_setup, model_teardown);
	tcase_add_test(tcase, test_a_machine_of_64k_pages_has_its_own_huge_sizes);
	tcase_add_test(tcase, test_the_default_huge_page_falls_back_on_what_is_listed);
	tcase_add_test(tcase, test_pools_of_the_machine_are_not_taken_for_those_of_a_node);
	tcase_add_test(tcase, test_thp_takes_a_mount_or_the_knob);
	tcase_add_test(tcase, test_the_right_to_grow_pools_is_asked_of_every_node);
	tcase_add_test(tcase, test_the_level_with_the_least_room_limits_us);
	tcase_add_test(tcase, test_limits_of_cgroup_version_1_count);
	tcase_add_test(tcase, test_a_hybrid_hierarchy_has_its_limits_beside);
	tcase_add_test(tcase, test_levels_outside_our_namespace_are_passed_over);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
