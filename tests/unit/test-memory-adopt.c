/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory that an earlier process left: taken over finished, half filled, lent, or not at all. The
 * same for each kind of page that this machine gives us.
 */
#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "memory-kernel.h"
#include "suite.h"

static void run_adopt_finished(void)
{
	struct memory memory = memory_finished(), next;
	int lessee;

	next = memory_left(duplicate(memory.fd));
	memory_system.release(&memory);
	MUST(memory_system.adopt(&next, MEMORY_IS_FINISHED) == 0);
	MUST(!next.mapping && resident_bytes(next.fd) == BYTES_HERE);
	MUST(memory_system.is_in_use(&next) == 0);
	lessee = memory_system.open_again(&next);
	MUST(lessee >= 0 && memory_system.is_in_use(&next) == 1);
	/* A lessee may take pages out of what is his; then it is no longer whole. */
	MUST(fallocate(lessee, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 2 * MIB) == 0);
	memory = memory_left(duplicate(next.fd));
	memory_system.release(&next);
	MUST(memory_system.adopt(&memory, MEMORY_IS_FINISHED) == -ENODATA);
	MUST(!memory.mapping && fcntl(memory.fd, F_GETFD) >= 0);
	MUST(memory_system.adopt(&memory, MEMORY_IS_LENT) == 0);
	MUST(memory_system.is_in_use(&memory) == 1);
	(void) close(lessee);
	MUST(memory_system.is_in_use(&memory) == 0);
	memory_system.destroy(&memory);
}

START_TEST(test_what_is_finished_is_taken_over_as_it_is_and_what_is_lent_in_any_state)
{
	run_here(run_adopt_finished);
}
END_TEST

static void fill_the_rest(struct memory *memory)
{
	for (uint64_t at = 0; at < BYTES_HERE; at += 4 * MIB)
		MUST(memory_system.populate(memory, at, 4 * MIB) == 0);
	MUST(memory_system.verify(memory) == 0);
	MUST(memory_system.finish(memory) == 0);
	MUST(resident_bytes(memory->fd) == BYTES_HERE);
}

/* The pattern stands for pages that must not be written again. */
static void run_resume(void)
{
	static const uint64_t marked[] = { 2 * MIB, 6 * MIB + 5 };
	struct memory memory = memory_made(), next;
	char *address, byte = 'x';

	MUST(memory_system.populate(&memory, 2 * MIB, 2 * MIB) == 0);
	MUST(memory_system.populate(&memory, 6 * MIB, 2 * MIB) == 0);
	for (unsigned i = 0; i < ELEMENTS(marked); i++)
		((char *) memory.address)[marked[i]] = 'x';
	next = memory_left(duplicate(memory.fd));
	memory_system.release(&memory);
	MUST(memory_system.adopt(&next, MEMORY_IS_FILLING) == 0);
	MUST(next.address && (uintptr_t) next.address % next.page_bytes == 0);
	MUST(resident_bytes(next.fd) == 4 * MIB);
	MUST(memory_system.verify(&next) == -ENODATA);
	fill_the_rest(&next);
	address = mmap(NULL, BYTES_HERE, PROT_READ, MAP_SHARED, next.fd, 0);
	MUST(address != MAP_FAILED);
	for (uint64_t at = 0; at < BYTES_HERE; at++) {
		byte = at == marked[0] || at == marked[1] ? 'x' : 0;
		MUST(address[at] == byte);
	}
	MUST(munmap(address, BYTES_HERE) == 0);
	memory_system.destroy(&next);
}

START_TEST(test_what_is_half_filled_is_filled_where_pages_are_missing_only)
{
	run_here(run_resume);
}
END_TEST

static void run_resume_without_populate(void)
{
	deny(SYS_madvise, 22, EINVAL);
	deny(SYS_madvise, 23, EINVAL);
	MUST(memory_system_open() == 0 && !memory_system_has_populate());
	run_resume();
}

START_TEST(test_without_populate_it_is_filled_where_pages_are_missing_only_too)
{
	run_here(run_resume_without_populate);
}
END_TEST

/* Ended between the seal and the note that it is finished. */
static void run_sealed(void)
{
	struct memory memory = memory_finished(), next = memory_left(duplicate(memory.fd));

	memory_system.release(&memory);
	MUST(memory_system.adopt(&next, MEMORY_IS_FILLING) == 0);
	fill_the_rest(&next);
	memory_system.destroy(&next);
}

START_TEST(test_what_was_finished_and_not_said_to_be_is_finished_again)
{
	run_here(run_sealed);
}
END_TEST

static void refuse(int fd, enum memory_adopted adopted, int error)
{
	struct memory memory = memory_left(fd);

	MUST(memory_system.adopt(&memory, adopted) == error);
	MUST(!memory.mapping && !memory.address && memory.fd == fd);
	/* It is still the caller's. */
	MUST(close(fd) == 0);
}

/* A file of a tmpfs may be one of ours where the pages are transparent huge ones, only. */
static void refuse_tmpfs(void)
{
	int fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0 || page_here == PLAN_PAGE_THP) {
		(void) fd_close(fd);
		return;
	}
	MUST(ftruncate(fd, BYTES_HERE) == 0);
	refuse(fd, MEMORY_IS_FILLING, -EMEDIUMTYPE);
}

/* Where the machine has them: a file of them needs none to be there. */
static void refuse_gigantic(void)
{
	int fd =
		memfd_create("gigantic", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB | 30U << 26);

	if (fd >= 0)
		refuse(fd, MEMORY_IS_FILLING, -EMEDIUMTYPE);
}

static void run_refused(void)
{
	struct memory memory = memory_finished();
	char name[] = "/tmp/nodeinit-test-XXXXXX";
	int fd;

	for (unsigned i = MEMORY_IS_FILLING; i <= MEMORY_IS_LENT; i++) {
		refuse(open("/dev/zero", O_RDWR | O_CLOEXEC), i, -EMEDIUMTYPE);
		refuse(eventfd(0, EFD_CLOEXEC), i, -EMEDIUMTYPE);
		refuse(open_path(memory.fd, O_RDONLY), i, -EMEDIUMTYPE);
		fd = mkstemp(name);
		MUST(fd >= 0 && unlink(name) == 0 && ftruncate(fd, BYTES_HERE) == 0);
		memcpy(name + sizeof(name) - 7, "XXXXXX", 6);
		refuse(fd, i, -EMEDIUMTYPE);
		fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		MUST(fd >= 0 && ftruncate(fd, BYTES_HERE) == 0);
		MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0);
		refuse(fd, i, -EMEDIUMTYPE);
	}
	refuse_tmpfs();
	refuse_gigantic();
	memory_system.destroy(&memory);
}

START_TEST(test_what_is_no_memory_of_ours_is_not_taken_over)
{
	run_here(run_refused);
}
END_TEST

static void run_other_size(void)
{
	struct memory memory = memory_finished(), other;

	for (int k = -1; k <= 1; k += 2) {
		other = memory_of_page(page_here, BYTES_HERE + (uint64_t) (k * (int64_t) HUGE));
		other.fd = memory.fd;
		MUST(memory_system.adopt(&other, MEMORY_IS_FINISHED) == -EMSGSIZE);
		MUST(memory_system.adopt(&other, MEMORY_IS_FILLING) == -EMSGSIZE);
	}
	/* The pages of another kind of pool. */
	other = memory_of_page(page_here == PLAN_PAGE_HUGETLB ? PLAN_PAGE_BASE : PLAN_PAGE_HUGETLB,
	                       BYTES_HERE);
	other.fd = memory.fd;
	MUST(memory_system.adopt(&other, MEMORY_IS_FINISHED) == -EMEDIUMTYPE);
	memory_system.destroy(&memory);
}

START_TEST(test_memory_of_another_size_or_page_is_not_taken_over)
{
	run_here(run_other_size);
}
END_TEST

static void run_wrong_node(void)
{
	struct memory memory = memory_made(), next, other;

	next = memory_left(duplicate(memory.fd));
	other = memory_left(memory_system.open_again(&memory));
	memory_system.release(&memory);
	deny(SYS_mbind, MPOL_BIND, EIO);
	MUST(memory_system.adopt(&next, MEMORY_IS_FILLING) == -EXDEV);
	MUST(!next.mapping && close(next.fd) == 0);
	/* No mapping is left behind. */
	MUST(memory_system.is_in_use(&other) == 0);
	memory_system.destroy(&other);
}

START_TEST(test_half_filled_memory_with_pages_on_another_node_is_told)
{
	run_here(run_wrong_node);
}
END_TEST

static uint64_t locked_kib(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[256];

	MUST(file);
	while (fgets(line, sizeof(line), file) && sscanf(line, "VmLck: %llu", &kib) != 1)
		;
	(void) fclose(file);
	return kib;
}

static void run_locked(void)
{
	struct memory memory = memory_of_page(page_here, BYTES_HERE), next;

	memory.is_locked = true;
	MUST(memory_system.make(&memory) == 0);
	fill_the_rest(&memory);
	MUST(memory.mapping && memory_system.is_in_use(&memory) == 0);
	next = memory_left(duplicate(memory.fd));
	next.is_locked = true;
	memory_system.release(&memory);
	MUST(locked_kib() == 0);
	MUST(memory_system.adopt(&next, MEMORY_IS_FINISHED) == 0);
	fill_the_rest(&next);
	MUST(next.mapping && locked_kib() == BYTES_HERE / KIB);
	MUST(memory_system.is_in_use(&next) == 0);
	memory_system.destroy(&next);
}

START_TEST(test_what_is_locked_is_locked_again_when_it_is_taken_over)
{
	run_here(run_locked);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("memory-adopt");
	TCase *tcase = tcase_create("page");
	int status;

	/* Others may have the huge page pool for a while. */
	tcase_set_timeout(tcase, 60);
	memory_here_open(argc > 1 ? argv[1] : "base");
	tcase_add_test(tcase,
	               test_what_is_finished_is_taken_over_as_it_is_and_what_is_lent_in_any_state);
	tcase_add_test(tcase, test_what_is_half_filled_is_filled_where_pages_are_missing_only);
	tcase_add_test(tcase, test_without_populate_it_is_filled_where_pages_are_missing_only_too);
	tcase_add_test(tcase, test_what_was_finished_and_not_said_to_be_is_finished_again);
	tcase_add_test(tcase, test_what_is_no_memory_of_ours_is_not_taken_over);
	tcase_add_test(tcase, test_memory_of_another_size_or_page_is_not_taken_over);
	tcase_add_test(tcase, test_half_filled_memory_with_pages_on_another_node_is_told);
	if (page_here != PLAN_PAGE_HUGETLB && may_lock(BYTES_HERE))
		tcase_add_test(tcase, test_what_is_locked_is_locked_again_when_it_is_taken_over);
	else
		printf("left out: locked memory, which %s\n",
		       page_here == PLAN_PAGE_HUGETLB ? "huge pages always are"
		                                      : "RLIMIT_MEMLOCK does not let us have");
	suite_add_tcase(suite, tcase);
	status = suite_main(suite);
	memory_system_close();
	return status;
}
