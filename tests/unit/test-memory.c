/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How the real memory is made, filled and verified, for each kind of page that we are given here.
 */
#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../../daemon/kinds/memory-map.h"
#include "memory-kernel.h"
#include "suite.h"

static uint64_t base_bytes;

static void deny_populate(void)
{
	deny(SYS_madvise, 22, EINVAL);
	deny(SYS_madvise, 23, EINVAL);
	ck_assert_int_eq(memory_system_open(), 0);
	ck_assert(!memory_system_has_populate());
}

static void assert_zeroed(const struct memory *memory)
{
	static char text[64 * 1024], zeroes[64 * 1024];

	for (uint64_t at = 0; at < memory->bytes; at += sizeof(text)) {
		ck_assert_int_eq(pread(memory->fd, text, sizeof(text), (off_t) at), sizeof(text));
		ck_assert_int_eq(memcmp(text, zeroes, sizeof(text)), 0);
	}
}

static void assert_filled(struct memory *memory, uint64_t chunk_bytes)
{
	for (uint64_t at = 0; at < memory->bytes; at += chunk_bytes)
		ck_assert_int_eq(memory_system.populate(memory, at,
		                                        bytes_min(chunk_bytes, memory->bytes - at)),
		                 0);
	ck_assert_int_eq(memory_system.verify(memory), 0);
}

START_TEST(test_base_pages_are_filled_verified_sealed_and_unmapped)
{
	struct memory memory = memory_of(PLAN_PAGE_BASE, base_bytes, 6 * MIB);

	ck_assert_int_eq(memory_system.make(&memory), 0);
	assert_filled(&memory, MIB + base_bytes);
	ck_assert_int_eq(memory_system.finish(&memory), 0);
	ck_assert_ptr_null(memory.mapping);
	ck_assert_int_eq(fcntl(memory.fd, F_GET_SEALS) &
	                         (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
	                 F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	ck_assert_int_eq(ftruncate(memory.fd, 0), -1);
	ck_assert(fcntl(memory.fd, F_GETFD) & FD_CLOEXEC);
	assert_zeroed(&memory);
	memory_system.destroy(&memory);
	ck_assert_int_eq(memory.fd, -1);
}
END_TEST

START_TEST(test_the_mapping_is_aligned_with_a_guard_on_either_side)
{
	struct memory memory = memory_of(PLAN_PAGE_BASE, HUGE, 4 * MIB);
	char *start;

	/* mincore(2) says ENOMEM for what is not mapped; a guard is mapped and cannot be accessed.
	 */
	ck_assert_int_eq(memory_system.make(&memory), 0);
	start = memory.address;
	ck_assert_uint_eq((uintptr_t) start % HUGE, 0);
	ck_assert(start >= (char *) memory.mapping + base_bytes);
	ck_assert(start + memory.bytes + base_bytes <=
	          (char *) memory.mapping + memory.mapping_bytes);
	ck_assert_int_eq(madvise(start - base_bytes, base_bytes, 22), -1);
	ck_assert_int_eq(madvise(start + memory.bytes, base_bytes, 22), -1);
	memory_system.destroy(&memory);
}
END_TEST

START_TEST(test_memory_that_is_not_all_there_is_not_verified)
{
	struct memory memory = memory_of(PLAN_PAGE_BASE, base_bytes, 4 * MIB);

	ck_assert_int_eq(memory_system.make(&memory), 0);
	ck_assert_int_eq(memory_system.populate(&memory, 0, 4 * MIB - base_bytes), 0);
	ck_assert_int_eq(memory_system.verify(&memory), -ENODATA);
	ck_assert_int_eq(memory_system.populate(&memory, 4 * MIB - base_bytes, base_bytes), 0);
	ck_assert_int_eq(memory_system.verify(&memory), 0);
	memory_system.destroy(&memory);
}
END_TEST

START_TEST(test_finished_memory_can_be_looked_at_again)
{
	struct memory memory = memory_of(PLAN_PAGE_BASE, base_bytes, 4 * MIB);

	ck_assert_int_eq(memory_system.make(&memory), 0);
	ck_assert_int_eq(memory_system.populate(&memory, 0, memory.bytes), 0);
	ck_assert_int_eq(memory_system.finish(&memory), 0);
	ck_assert_int_eq(memory_system.verify(&memory), 0);
	ck_assert_ptr_null(memory.mapping);
	memory.node_id = 1;
	ck_assert_int_eq(memory_system.verify(&memory), -EXDEV);
	ck_assert_ptr_null(memory.address);
	memory.node_id = 0;
	ck_assert_int_eq(memory_system.discard(&memory, base_bytes, base_bytes), 0);
	ck_assert_int_eq(memory_system.verify(&memory), -ENODATA);
	/* Looking has not filled the hole. */
	ck_assert_int_eq(memory_system.verify(&memory), -ENODATA);
	memory_system.destroy(&memory);
}
END_TEST

START_TEST(test_pages_on_another_node_than_asked_for_are_told)
{
	struct memory memory = memory_of(PLAN_PAGE_BASE, base_bytes, 2 * MIB);

	ck_assert_int_eq(memory_system.make(&memory), 0);
	ck_assert_int_eq(memory_system.populate(&memory, 0, memory.bytes), 0);
	/* They are on node 0; now somebody claims to have asked for node 1. */
	memory.node_id = 1;
	ck_assert_int_eq(memory_system.verify(&memory), -EXDEV);
	memory_system.destroy(&memory);
}
END_TEST

START_TEST(test_a_node_that_does_not_exist_is_refused_before_any_touch)
{
	const unsigned ids[] = { 1023, 1024, 70000 };

	for (size_t i = 0; i < ELEMENTS(ids); i++) {
		struct memory memory = memory_of(PLAN_PAGE_BASE, base_bytes, MIB);

		memory.node_id = ids[i];
		ck_assert_int_eq(memory_system.make(&memory), -EINVAL);
		ck_assert_int_eq(memory.fd, -1);
		ck_assert_ptr_null(memory.mapping);
	}
}
END_TEST

START_TEST(test_transparent_huge_pages_are_huge)
{
	struct memory memory = memory_of(PLAN_PAGE_THP, HUGE, 8 * MIB);
	uint64_t huge_bytes;

	ck_assert_int_eq(memory_system.make(&memory), 0);
	assert_filled(&memory, 4 * MIB);
	ck_assert_int_eq(memory_map_read_huge(memory.address, memory.bytes, &huge_bytes), 0);
	ck_assert_uint_eq(huge_bytes, 8 * MIB);
	ck_assert_int_eq(memory_system.finish(&memory), 0);
	assert_zeroed(&memory);
	memory_system.destroy(&memory);
}
END_TEST

START_TEST(test_small_pages_where_huge_ones_were_asked_for_are_told)
{
	struct memory memory = memory_of(PLAN_PAGE_THP, HUGE, 4 * MIB);
	struct memory small = memory_of(PLAN_PAGE_BASE, base_bytes, 4 * MIB);

	ck_assert_int_eq(memory_system.make(&memory), 0);
	ck_assert_int_eq(memory_system.populate(&memory, 0, memory.bytes), 0);
	/* The same size of ordinary pages in the place of the file. */
	ck_assert_int_eq(memory_system.make(&small), 0);
	ck_assert_int_eq(memory_system.populate(&small, 0, small.bytes), 0);
	ck_assert_ptr_ne(mmap(memory.address, memory.bytes, PROT_READ | PROT_WRITE,
	                      MAP_SHARED | MAP_FIXED, small.fd, 0),
	                 MAP_FAILED);
	ck_assert_int_eq(memory_system.verify(&memory), -EMEDIUMTYPE);
	memory_system.destroy(&memory);
	memory_system.destroy(&small);
}
END_TEST

START_TEST(test_locked_memory_stays_mapped_and_locked)
{
	struct memory memory = memory_of(PLAN_PAGE_BASE, base_bytes, 4 * MIB);
	char line[256];
	unsigned long long kib = 0;
	FILE *file;

	memory.is_locked = true;
	ck_assert_int_eq(memory_system.make(&memory), 0);
	assert_filled(&memory, MIB);
	ck_assert_int_eq(memory_system.finish(&memory), 0);
	ck_assert_ptr_nonnull(memory.address);
	file = fopen("/proc/self/status", "re");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file) && sscanf(line, "VmLck: %llu", &kib) != 1)
		;
	(void) fclose(file);
	ck_assert_uint_eq(kib, 4 * KIB);
	memory_system.destroy(&memory);
}
END_TEST

START_TEST(test_destroying_nothing_is_harmless)
{
	struct memory memory = { .fd = -1 };

	memory_system.destroy(&memory);
	ck_assert_int_eq(memory.fd, -1);
}
END_TEST

START_TEST(test_a_huge_page_size_that_does_not_exist_is_unsupported)
{
	struct memory memory = memory_of(PLAN_PAGE_HUGETLB, 64 * TIB, 64 * TIB);

	ck_assert_int_eq(memory_system.make(&memory), -EOPNOTSUPP);
}
END_TEST

static void run_hugetlb(void)
{
	struct memory memory = memory_of(PLAN_PAGE_HUGETLB, HUGE, POOL_PAGES * HUGE);
	struct memory_map map;

	MUST(memory_system.make(&memory) == 0);
	MUST(memory_system.populate(&memory, 0, 10 * MIB) == 0);
	MUST(memory_system.verify(&memory) == -ENODATA);
	MUST(memory_system.populate(&memory, 10 * MIB, memory.bytes - 10 * MIB) == 0);
	MUST(memory_system.verify(&memory) == 0);
	MUST(memory_map_read(memory.address, 0, &map) == 0);
	MUST(map.node_bytes == memory.bytes && map.kernel_page_bytes == HUGE);
	MUST(memory_system.finish(&memory) == 0);
	MUST(memory.mapping == NULL);
	MUST(fcntl(memory.fd, F_GET_SEALS) & F_SEAL_SEAL);
	memory_system.destroy(&memory);
}

START_TEST(test_huge_pages_are_filled_verified_and_sealed)
{
	with_pool(run_hugetlb);
}
END_TEST

/* Case 21: mmap succeeds, the pages are not there, a touch would be SIGBUS. */
static void run_short(void)
{
	/* Others may have left pages in the pool; all of it, and one is taken. */
	uint64_t bytes = pool_free_bytes();
	struct memory memory = memory_of(PLAN_PAGE_HUGETLB, HUGE, bytes);
	struct memory thief = memory_of(PLAN_PAGE_HUGETLB, HUGE, HUGE);
	int r;

	MUST(memory_system.make(&memory) == 0);
	/* Without a reservation mmap lets any size through; the pages are missing all the same. */
	MUST(munmap(memory.address, memory.bytes) == 0);
	memory_system.destroy(&memory);
	memory = memory_of(PLAN_PAGE_HUGETLB, HUGE, bytes);
	memory.fd = memfd_create("short", MFD_HUGETLB | MFD_CLOEXEC);
	MUST(memory.fd >= 0 && ftruncate(memory.fd, (off_t) memory.bytes) == 0);
	memory.mapping_bytes = memory.bytes;
	memory.mapping = memory.address = mmap(NULL, memory.bytes, PROT_READ | PROT_WRITE,
	                                       MAP_SHARED | MAP_NORESERVE, memory.fd, 0);
	MUST(memory.mapping != MAP_FAILED);
	MUST(memory_system.make(&thief) == 0);
	MUST(memory_system.populate(&thief, 0, HUGE) == 0);
	r = memory_system.populate(&memory, 0, memory.bytes);
	MUST(r == -EFAULT || r == -ENOMEM || r == -ENOSPC);
	memory_system.destroy(&memory);
	/* With one, make itself says that there are not enough. */
	memory = memory_of(PLAN_PAGE_HUGETLB, HUGE, bytes * 1024);
	MUST(memory_system.make(&memory) == -ENOMEM);
	MUST(memory.fd == -1);
	memory_system.destroy(&thief);
}

START_TEST(test_a_pool_that_runs_dry_answers_with_an_errno_and_no_signal)
{
	with_pool(run_short);
}
END_TEST

/* Case 22 */
START_TEST(test_without_populate_base_pages_are_filled_by_another_call)
{
	struct memory memory = memory_of(PLAN_PAGE_BASE, base_bytes, 6 * MIB);

	deny_populate();
	ck_assert_int_eq(memory_system.make(&memory), 0);
	ck_assert_int_eq(memory_system.populate(&memory, 0, 3 * MIB), 0);
	ck_assert_int_eq(memory_system.verify(&memory), -ENODATA);
	assert_filled(&memory, MIB + base_bytes);
	ck_assert_int_eq(memory_system.finish(&memory), 0);
	assert_zeroed(&memory);
	memory_system.destroy(&memory);
}
END_TEST

START_TEST(test_without_populate_thp_is_filled_and_verified)
{
	struct memory memory = memory_of(PLAN_PAGE_THP, HUGE, 4 * MIB);

	deny_populate();
	ck_assert_int_eq(memory_system.make(&memory), 0);
	assert_filled(&memory, HUGE);
	memory_system.destroy(&memory);
}
END_TEST

static void run_hugetlb_without_populate(void)
{
	deny_populate();
	run_hugetlb();
}

START_TEST(test_without_populate_huge_pages_are_filled_by_another_call)
{
	with_pool(run_hugetlb_without_populate);
}
END_TEST

static const int final_errors[] = { ENOMEM, EFAULT, EHWPOISON };

START_TEST(test_an_error_of_populate_is_returned_and_takes_no_other_call)
{
	struct memory memory = memory_of(PLAN_PAGE_BASE, base_bytes, 2 * MIB);
	struct stat st;

	ck_assert_int_eq(memory_system.make(&memory), 0);
	deny(SYS_madvise, 23, final_errors[_i]);
	ck_assert_int_eq(memory_system.populate(&memory, 0, memory.bytes), -final_errors[_i]);
	ck_assert_int_eq(fstat(memory.fd, &st), 0);
	ck_assert_int_eq(st.st_blocks, 0);
	memory_system.destroy(&memory);
}
END_TEST

START_TEST(test_without_the_right_to_mount_thp_is_a_memfd_or_unsupported)
{
	struct memory memory = memory_of(PLAN_PAGE_THP, HUGE, HUGE);
	char text[128] = "[never]";
	FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re");
	int r;

	if (file) {
		ck_assert_ptr_nonnull(fgets(text, sizeof(text), file));
		(void) fclose(file);
	}
	deny(430, ANY_VALUE, EPERM);
	r = memory_system.make(&memory);
	if (strstr(text, "[never]") || strstr(text, "[deny]")) {
		ck_assert_int_eq(r, -EOPNOTSUPP);
		ck_assert_int_eq(memory.fd, -1);
		return;
	}
	ck_assert_int_eq(r, 0);
	ck_assert(memory.is_sealable);
	assert_filled(&memory, HUGE);
	memory_system.destroy(&memory);
}
END_TEST

START_TEST(test_a_kernel_without_numa_has_its_one_node)
{
	struct memory memory = memory_of(PLAN_PAGE_BASE, base_bytes, 2 * MIB);

	deny(SYS_mbind, MPOL_BIND, ENOSYS);
	ck_assert_int_eq(memory_system.make(&memory), 0);
	assert_filled(&memory, MIB);
	memory_system.destroy(&memory);
	memory.node_id = 1;
	ck_assert_int_eq(memory_system.make(&memory), -ENOSYS);
}
END_TEST

START_TEST(test_the_fallback_for_huge_page_maps_says_the_same)
{
	struct memory memory = memory_of(PLAN_PAGE_THP, HUGE, 4 * MIB);
	uint64_t huge_bytes;

	ck_assert_int_eq(memory_system.make(&memory), 0);
	assert_filled(&memory, HUGE);
	deny(SYS_ioctl, ANY_VALUE, ENOTTY);
	ck_assert_int_eq(memory_map_read_huge(memory.address, memory.bytes, &huge_bytes), 0);
	ck_assert_uint_eq(huge_bytes, memory.bytes);
	memory_system.destroy(&memory);
}
END_TEST

START_TEST(test_the_kernel_was_probed_once_and_says_what_it_has)
{
	void *page =
		mmap(NULL, base_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_int_eq(memory_system_has_populate(), madvise(page, base_bytes, 23) == 0);
	(void) munmap(page, base_bytes);
}
END_TEST

static void add_base(TCase *tcase)
{
	tcase_add_test(tcase, test_base_pages_are_filled_verified_sealed_and_unmapped);
	tcase_add_test(tcase, test_the_mapping_is_aligned_with_a_guard_on_either_side);
	tcase_add_test(tcase, test_memory_that_is_not_all_there_is_not_verified);
	tcase_add_test(tcase, test_finished_memory_can_be_looked_at_again);
	tcase_add_test(tcase, test_pages_on_another_node_than_asked_for_are_told);
	tcase_add_test(tcase, test_a_node_that_does_not_exist_is_refused_before_any_touch);
	if (may_lock(4 * MIB))
		tcase_add_test(tcase, test_locked_memory_stays_mapped_and_locked);
	else
		printf("left out: locked memory, for RLIMIT_MEMLOCK is too small\n");
	tcase_add_test(tcase, test_destroying_nothing_is_harmless);
	tcase_add_test(tcase, test_a_huge_page_size_that_does_not_exist_is_unsupported);
	tcase_add_test(tcase, test_without_populate_base_pages_are_filled_by_another_call);
	if (memory_system_has_populate())
		tcase_add_loop_test(tcase,
		                    test_an_error_of_populate_is_returned_and_takes_no_other_call,
		                    0, (int) ELEMENTS(final_errors));
	else
		printf("left out: errors of MADV_POPULATE_WRITE, which this kernel lacks\n");
	tcase_add_test(tcase, test_without_the_right_to_mount_thp_is_a_memfd_or_unsupported);
	tcase_add_test(tcase, test_a_kernel_without_numa_has_its_one_node);
	tcase_add_test(tcase, test_the_kernel_was_probed_once_and_says_what_it_has);
}

static void add_thp(TCase *tcase)
{
	if (!have_thp())
		suite_skip("no right to mount a tmpfs, and shmem_enabled is never");
	tcase_add_test(tcase, test_transparent_huge_pages_are_huge);
	tcase_add_test(tcase, test_small_pages_where_huge_ones_were_asked_for_are_told);
	tcase_add_test(tcase, test_without_populate_thp_is_filled_and_verified);
	tcase_add_test(tcase, test_the_fallback_for_huge_page_maps_says_the_same);
}

static void add_hugetlb(TCase *tcase)
{
	if (!have_pool())
		suite_skip("no right to change the huge page pool of node 0");
	tcase_add_test(tcase, test_huge_pages_are_filled_verified_and_sealed);
	tcase_add_test(tcase, test_a_pool_that_runs_dry_answers_with_an_errno_and_no_signal);
	tcase_add_test(tcase, test_without_populate_huge_pages_are_filled_by_another_call);
}

/* One kind of page a run, so that what cannot run here is skipped and not passed. */
int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*add)(TCase *tcase);
	} pages[] = { { "base", add_base }, { "thp", add_thp }, { "hugetlb", add_hugetlb } };
	const char *name = argc > 1 ? argv[1] : "base";
	Suite *suite = suite_create("memory");
	TCase *tcase = tcase_create(name);
	int status;

	/* Others may have the huge page pool for a while. */
	tcase_set_timeout(tcase, 60);
	base_bytes = (uint64_t) sysconf(_SC_PAGESIZE);
	if (memory_system_open() < 0)
		suite_skip("the kernel cannot be probed");
	for (size_t i = 0; i < ELEMENTS(pages); i++)
		if (strcmp(name, pages[i].name) == 0)
			pages[i].add(tcase);
	suite_add_tcase(suite, tcase);
	status = suite_main(suite);
	memory_system_close();
	return status;
}
