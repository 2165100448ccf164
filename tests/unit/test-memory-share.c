/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory that somebody else has, too: who counts as having it, what is given back, what is taken
 * over. The same for each kind of page that this machine gives us.
 */
#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "memory-kernel.h"
#include "suite.h"

#define BYTES (8 * MIB)

static enum plan_page page;

static void run_here(void (*run)(void))
{
	if (page == PLAN_PAGE_HUGETLB)
		with_pool(run);
	else
		in_child(run);
}

static uint64_t resident_bytes(int fd)
{
	struct stat st;

	MUST(fstat(fd, &st) == 0);
	return (uint64_t) st.st_blocks * 512;
}

/* What the service manager's store does. */
static int duplicate(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	MUST(copy >= 0);
	return copy;
}

static int open_path(int fd, int flags)
{
	char path[40];

	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_CLOEXEC);
}

static struct memory made(void)
{
	struct memory memory = memory_of_page(page, BYTES);

	MUST(memory_system.make(&memory) == 0);
	return memory;
}

static struct memory finished(void)
{
	struct memory memory = made();

	MUST(memory_system.populate(&memory, 0, BYTES) == 0);
	MUST(memory_system.verify(&memory) == 0);
	MUST(memory_system.finish(&memory) == 0);
	return memory;
}

/* As an earlier process left it: @fd is all that there is. */
static struct memory left(int fd)
{
	struct memory memory = memory_of_page(page, BYTES);

	memory.fd = fd;
	return memory;
}

static void run_own(void)
{
	struct memory memory = finished();
	int store;

	MUST(memory_system.is_in_use(&memory) == 0);
	store = duplicate(memory.fd);
	MUST(memory_system.is_in_use(&memory) == 0);
	(void) close(store);
	memory_system.destroy(&memory);
	/* Mapped by ourselves is not somebody else, either. */
	memory = made();
	MUST(memory.mapping && memory_system.is_in_use(&memory) == 0);
	memory_system.destroy(&memory);
}

START_TEST(test_what_nobody_else_has_is_not_in_use_and_a_duplicate_is_nobody)
{
	run_here(run_own);
}
END_TEST

static void run_open(void)
{
	struct memory memory = finished();
	int lessee = memory_system.open_again(&memory), copy;

	MUST(lessee >= 0 && fcntl(lessee, F_GETFD) & FD_CLOEXEC);
	MUST((fcntl(lessee, F_GETFL) & O_ACCMODE) == O_RDWR);
	MUST(memory_system.is_in_use(&memory) == 1);
	copy = duplicate(lessee);
	(void) close(lessee);
	MUST(memory_system.is_in_use(&memory) == 1);
	(void) close(copy);
	MUST(memory_system.is_in_use(&memory) == 0);
	lessee = open_path(memory.fd, O_RDONLY);
	MUST(lessee >= 0 && memory_system.is_in_use(&memory) == 1);
	(void) close(lessee);
	MUST(memory_system.is_in_use(&memory) == 0);
	memory_system.destroy(&memory);
}

START_TEST(test_whoever_has_it_open_has_it_and_so_has_a_copy_of_that)
{
	run_here(run_open);
}
END_TEST

static void run_mapped(void)
{
	struct memory memory = finished();
	int lessee = memory_system.open_again(&memory);
	void *address = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, lessee, 0);

	MUST(address != MAP_FAILED);
	(void) close(lessee);
	MUST(memory_system.is_in_use(&memory) == 1);
	MUST(munmap(address, BYTES) == 0);
	MUST(memory_system.is_in_use(&memory) == 0);
	memory_system.destroy(&memory);
}

START_TEST(test_a_mapping_that_is_left_is_enough_to_have_it)
{
	run_here(run_mapped);
}
END_TEST

static void run_process(void)
{
	struct memory memory = finished();
	int lessee = memory_system.open_again(&memory), end[2];
	char byte;
	pid_t pid;

	MUST(pipe2(end, O_CLOEXEC) == 0);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		(void) close(end[1]);
		_exit(read(end[0], &byte, 1) == 0 ? 0 : 1);
	}
	(void) close(lessee);
	MUST(memory_system.is_in_use(&memory) == 1);
	(void) close(end[1]);
	MUST(waitpid(pid, NULL, 0) == pid);
	MUST(memory_system.is_in_use(&memory) == 0);
	(void) close(end[0]);
	memory_system.destroy(&memory);
}

START_TEST(test_a_child_of_the_lessee_has_it_until_it_ends)
{
	run_here(run_process);
}
END_TEST

/* It does not count, may be opened later, and finds nothing then. */
static void run_hidden(void)
{
	struct memory memory = finished();
	int hidden = open_path(memory.fd, O_PATH), again;
	char *address;

	MUST(hidden >= 0 && memory_system.is_in_use(&memory) == 0);
	address = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd, 0);
	MUST(address != MAP_FAILED);
	memset(address, 'x', BYTES);
	MUST(munmap(address, BYTES) == 0);
	memory_system.destroy(&memory);
	again = open_path(hidden, O_RDWR);
	MUST(again >= 0 && resident_bytes(again) == 0);
	(void) close(again);
	(void) close(hidden);
}

START_TEST(test_what_is_destroyed_is_empty_for_whoever_comes_back_to_it)
{
	run_here(run_hidden);
}
END_TEST

static void run_ends(void)
{
	struct memory memory = finished();
	int copy = duplicate(memory.fd);

	memory_system.destroy(&memory);
	MUST(memory.fd == -1 && resident_bytes(copy) == 0);
	(void) close(copy);

	memory = made();
	MUST(memory_system.populate(&memory, 0, BYTES / 2) == 0);
	copy = duplicate(memory.fd);
	memory_system.destroy(&memory);
	MUST(memory.fd == -1 && !memory.mapping && resident_bytes(copy) == 0);
	(void) close(copy);

	memory = made();
	MUST(memory_system.populate(&memory, 0, BYTES / 2) == 0);
	copy = duplicate(memory.fd);
	memory_system.release(&memory);
	MUST(memory.fd == -1 && !memory.mapping && resident_bytes(copy) == BYTES / 2);
	(void) close(copy);
	memory_system.release(&memory);
}

START_TEST(test_destroying_gives_all_pages_back_and_releasing_gives_none)
{
	run_here(run_ends);
}
END_TEST

static void run_discard(void)
{
	struct memory memory = finished();

	MUST(memory_system.discard(&memory, 2 * MIB, 4 * MIB) == 0);
	MUST(resident_bytes(memory.fd) == BYTES - 4 * MIB);
	MUST(memory_system.discard(&memory, 0, BYTES) == 0);
	MUST(resident_bytes(memory.fd) == 0);
	memory_system.destroy(&memory);
}

START_TEST(test_a_part_is_given_back_by_itself)
{
	run_here(run_discard);
}
END_TEST

static void run_adopt_finished(void)
{
	struct memory memory = finished(), next;
	int lessee;

	next = left(duplicate(memory.fd));
	memory_system.release(&memory);
	MUST(memory_system.adopt(&next, MEMORY_IS_FINISHED) == 0);
	MUST(!next.mapping && resident_bytes(next.fd) == BYTES);
	MUST(memory_system.is_in_use(&next) == 0);
	lessee = memory_system.open_again(&next);
	MUST(lessee >= 0 && memory_system.is_in_use(&next) == 1);
	/* A lessee may take pages out of what is his; then it is no longer whole. */
	MUST(fallocate(lessee, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 2 * MIB) == 0);
	memory = left(duplicate(next.fd));
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
	for (uint64_t at = 0; at < BYTES; at += 4 * MIB)
		MUST(memory_system.populate(memory, at, 4 * MIB) == 0);
	MUST(memory_system.verify(memory) == 0);
	MUST(memory_system.finish(memory) == 0);
	MUST(resident_bytes(memory->fd) == BYTES);
}

/* The pattern stands for pages that must not be written again. */
static void run_resume(void)
{
	static const uint64_t marked[] = { 2 * MIB, 6 * MIB + 5 };
	struct memory memory = made(), next;
	char *address, byte = 'x';

	MUST(memory_system.populate(&memory, 2 * MIB, 2 * MIB) == 0);
	MUST(memory_system.populate(&memory, 6 * MIB, 2 * MIB) == 0);
	for (unsigned i = 0; i < ELEMENTS(marked); i++)
		((char *) memory.address)[marked[i]] = 'x';
	next = left(duplicate(memory.fd));
	memory_system.release(&memory);
	MUST(memory_system.adopt(&next, MEMORY_IS_FILLING) == 0);
	MUST(next.address && (uintptr_t) next.address % next.page_bytes == 0);
	MUST(resident_bytes(next.fd) == 4 * MIB);
	MUST(memory_system.verify(&next) == -ENODATA);
	fill_the_rest(&next);
	address = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, next.fd, 0);
	MUST(address != MAP_FAILED);
	for (uint64_t at = 0; at < BYTES; at++) {
		byte = at == marked[0] || at == marked[1] ? 'x' : 0;
		MUST(address[at] == byte);
	}
	MUST(munmap(address, BYTES) == 0);
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
	struct memory memory = finished(), next = left(duplicate(memory.fd));

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
	struct memory memory = left(fd);

	MUST(memory_system.adopt(&memory, adopted) == error);
	MUST(!memory.mapping && !memory.address && memory.fd == fd);
	/* It is still the caller's. */
	MUST(close(fd) == 0);
}

static void run_refused(void)
{
	struct memory memory = finished();
	char name[] = "/tmp/nodeinit-test-XXXXXX";
	int fd;

	for (unsigned i = MEMORY_IS_FILLING; i <= MEMORY_IS_LENT; i++) {
		refuse(open("/dev/zero", O_RDWR | O_CLOEXEC), i, -EMEDIUMTYPE);
		refuse(eventfd(0, EFD_CLOEXEC), i, -EMEDIUMTYPE);
		refuse(open_path(memory.fd, O_RDONLY), i, -EMEDIUMTYPE);
		fd = mkstemp(name);
		MUST(fd >= 0 && unlink(name) == 0 && ftruncate(fd, BYTES) == 0);
		memcpy(name + sizeof(name) - 7, "XXXXXX", 6);
		refuse(fd, i, -EMEDIUMTYPE);
		fd = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		MUST(fd >= 0 && ftruncate(fd, BYTES) == 0);
		MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0);
		refuse(fd, i, -EMEDIUMTYPE);
	}
	memory_system.destroy(&memory);
}

START_TEST(test_what_is_no_memory_of_ours_is_not_taken_over)
{
	run_here(run_refused);
}
END_TEST

static void run_other_size(void)
{
	struct memory memory = finished(), other;

	for (int k = -1; k <= 1; k += 2) {
		other = memory_of_page(page, BYTES + (uint64_t) (k * (int64_t) HUGE));
		other.fd = memory.fd;
		MUST(memory_system.adopt(&other, MEMORY_IS_FINISHED) == -EMSGSIZE);
		MUST(memory_system.adopt(&other, MEMORY_IS_FILLING) == -EMSGSIZE);
	}
	/* The pages of another kind of pool. */
	other = memory_of_page(page == PLAN_PAGE_HUGETLB ? PLAN_PAGE_BASE : PLAN_PAGE_HUGETLB,
	                       BYTES);
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
	struct memory memory = made(), next;

	next = left(duplicate(memory.fd));
	memory_system.release(&memory);
	deny(SYS_mbind, MPOL_BIND, EIO);
	MUST(memory_system.adopt(&next, MEMORY_IS_FILLING) == -EXDEV);
	MUST(!next.mapping && close(next.fd) == 0);
}

START_TEST(test_half_filled_memory_with_pages_on_another_node_is_told)
{
	run_here(run_wrong_node);
}
END_TEST

static const struct denial {
	int error;
	int answer;
} denials[] = {
	{ EAGAIN, 1 },
	{ EINVAL, -EOPNOTSUPP },
	{ ENOSYS, -EOPNOTSUPP },
	/* Somebody may give the file to another user. */
	{ EACCES, -EOPNOTSUPP },
	{ ENOMEM, -ENOMEM },
};

static void run_denied(void)
{
	struct memory memory = finished();

	for (unsigned i = 0; i < ELEMENTS(denials); i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			deny(SYS_fcntl, F_WRLCK, denials[i].error);
			MUST(memory_system.is_in_use(&memory) == denials[i].answer);
			_exit(0);
		}
		MUST(waitpid(pid, &status, 0) == pid && status == 0);
	}
	memory_system.destroy(&memory);
}

START_TEST(test_a_kernel_that_does_not_say_who_has_it_is_not_understood_to_say_so)
{
	run_here(run_denied);
}
END_TEST

static void run_without_proc(void)
{
	struct memory memory;

	deny(SYS_openat, O_RDWR | O_CLOEXEC, ENOENT);
	MUST(memory_system_open() == 0);
	memory = finished();
	MUST(memory_system.is_in_use(&memory) == -EOPNOTSUPP);
	MUST(memory_system.open_again(&memory) == -EOPNOTSUPP);
	memory_system.destroy(&memory);
}

START_TEST(test_without_proc_memory_is_made_and_nobody_can_say_who_has_it)
{
	run_here(run_without_proc);
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
	struct memory memory = memory_of_page(page, BYTES), next;

	memory.is_locked = true;
	MUST(memory_system.make(&memory) == 0);
	fill_the_rest(&memory);
	MUST(memory.mapping && memory_system.is_in_use(&memory) == 0);
	next = left(duplicate(memory.fd));
	next.is_locked = true;
	memory_system.release(&memory);
	MUST(locked_kib() == 0);
	MUST(memory_system.adopt(&next, MEMORY_IS_FINISHED) == 0);
	fill_the_rest(&next);
	MUST(next.mapping && locked_kib() == BYTES / KIB);
	MUST(memory_system.is_in_use(&next) == 0);
	memory_system.destroy(&next);
}

START_TEST(test_what_is_locked_is_locked_again_when_it_is_taken_over)
{
	run_here(run_locked);
}
END_TEST

/* A tmpfs file of ours cannot be sealed: who leases it may change its size. */
static void run_resized(void)
{
	struct memory memory = finished(), next;
	int lessee, copy;

	if (memory.is_sealable) {
		memory_system.destroy(&memory);
		return;
	}
	lessee = memory_system.open_again(&memory);
	copy = duplicate(memory.fd);
	MUST(ftruncate(lessee, 2 * BYTES) == 0);
	MUST(pwrite(lessee, "x", 1, BYTES + 3 * MIB) == 1);
	next = left(duplicate(memory.fd));
	MUST(memory_system.adopt(&next, MEMORY_IS_FINISHED) == -EMSGSIZE);
	MUST(memory_system.adopt(&next, MEMORY_IS_LENT) == 0);
	memory_system.release(&next);
	MUST(resident_bytes(copy) > BYTES);
	memory_system.destroy(&memory);
	MUST(resident_bytes(copy) == 0);
	(void) close(copy);
	(void) close(lessee);
}

START_TEST(test_what_a_lessee_made_larger_is_given_back_to_the_last_page)
{
	run_here(run_resized);
}
END_TEST

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "base";
	Suite *suite = suite_create("memory-share");
	TCase *tcase = tcase_create(name);
	int status;

	if (memory_system_open() < 0)
		suite_skip("the kernel cannot be probed");
	page = strcmp(name, "thp") == 0       ? PLAN_PAGE_THP
	       : strcmp(name, "hugetlb") == 0 ? PLAN_PAGE_HUGETLB
	                                      : PLAN_PAGE_BASE;
	if (page == PLAN_PAGE_THP && !have_thp())
		suite_skip("no right to mount a tmpfs, and shmem_enabled is never");
	if (page == PLAN_PAGE_HUGETLB && !have_pool())
		suite_skip("no right to change the huge page pool of node 0");
	tcase_add_test(tcase, test_what_nobody_else_has_is_not_in_use_and_a_duplicate_is_nobody);
	tcase_add_test(tcase, test_whoever_has_it_open_has_it_and_so_has_a_copy_of_that);
	tcase_add_test(tcase, test_a_mapping_that_is_left_is_enough_to_have_it);
	tcase_add_test(tcase, test_a_child_of_the_lessee_has_it_until_it_ends);
	tcase_add_test(tcase, test_what_is_destroyed_is_empty_for_whoever_comes_back_to_it);
	tcase_add_test(tcase, test_destroying_gives_all_pages_back_and_releasing_gives_none);
	tcase_add_test(tcase, test_a_part_is_given_back_by_itself);
	tcase_add_test(tcase,
	               test_what_is_finished_is_taken_over_as_it_is_and_what_is_lent_in_any_state);
	tcase_add_test(tcase, test_what_is_half_filled_is_filled_where_pages_are_missing_only);
	tcase_add_test(tcase, test_without_populate_it_is_filled_where_pages_are_missing_only_too);
	tcase_add_test(tcase, test_what_was_finished_and_not_said_to_be_is_finished_again);
	tcase_add_test(tcase, test_what_is_no_memory_of_ours_is_not_taken_over);
	tcase_add_test(tcase, test_memory_of_another_size_or_page_is_not_taken_over);
	tcase_add_test(tcase, test_half_filled_memory_with_pages_on_another_node_is_told);
	tcase_add_test(tcase,
	               test_a_kernel_that_does_not_say_who_has_it_is_not_understood_to_say_so);
	tcase_add_test(tcase, test_without_proc_memory_is_made_and_nobody_can_say_who_has_it);
	if (page == PLAN_PAGE_THP)
		tcase_add_test(tcase,
		               test_what_a_lessee_made_larger_is_given_back_to_the_last_page);
	if (page != PLAN_PAGE_HUGETLB && may_lock(BYTES))
		tcase_add_test(tcase, test_what_is_locked_is_locked_again_when_it_is_taken_over);
	else
		printf("left out: locked memory, which %s\n",
		       page == PLAN_PAGE_HUGETLB ? "huge pages always are"
		                                 : "RLIMIT_MEMLOCK does not let us have");
	suite_add_tcase(suite, tcase);
	status = suite_main(suite);
	memory_system_close();
	return status;
}
