/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory that somebody else has, too: who counts as having it, and what is given back. The same for
 * each kind of page that this machine gives us.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "memory-kernel.h"
#include "suite.h"

static void run_own(void)
{
	struct memory memory = memory_finished();
	int store;

	MUST(memory_system.is_in_use(&memory) == 0);
	store = duplicate(memory.fd);
	MUST(memory_system.is_in_use(&memory) == 0);
	(void) close(store);
	memory_system.destroy(&memory);
	/* Mapped by ourselves is not somebody else, either. */
	memory = memory_made();
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
	struct memory memory = memory_finished();
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
	struct memory memory = memory_finished();
	int lessee = memory_system.open_again(&memory);
	void *address = mmap(NULL, BYTES_HERE, PROT_READ, MAP_SHARED, lessee, 0);

	MUST(address != MAP_FAILED);
	(void) close(lessee);
	MUST(memory_system.is_in_use(&memory) == 1);
	MUST(munmap(address, BYTES_HERE) == 0);
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
	struct memory memory = memory_finished();
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
	struct memory memory = memory_finished();
	int hidden = open_path(memory.fd, O_PATH), again;
	char *address;

	MUST(hidden >= 0 && memory_system.is_in_use(&memory) == 0);
	address = mmap(NULL, BYTES_HERE, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd, 0);
	MUST(address != MAP_FAILED);
	memset(address, 'x', BYTES_HERE);
	MUST(munmap(address, BYTES_HERE) == 0);
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
	struct memory memory = memory_finished();
	int copy = duplicate(memory.fd);

	memory_system.destroy(&memory);
	MUST(memory.fd == -1 && resident_bytes(copy) == 0);
	(void) close(copy);

	memory = memory_made();
	MUST(memory_system.populate(&memory, 0, BYTES_HERE / 2) == 0);
	copy = duplicate(memory.fd);
	memory_system.destroy(&memory);
	MUST(memory.fd == -1 && !memory.mapping && resident_bytes(copy) == 0);
	(void) close(copy);

	memory = memory_made();
	MUST(memory_system.populate(&memory, 0, BYTES_HERE / 2) == 0);
	copy = duplicate(memory.fd);
	memory_system.release(&memory);
	MUST(memory.fd == -1 && !memory.mapping && resident_bytes(copy) == BYTES_HERE / 2);
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
	struct memory memory = memory_finished();

	MUST(memory_system.discard(&memory, 2 * MIB, 4 * MIB) == 0);
	MUST(resident_bytes(memory.fd) == BYTES_HERE - 4 * MIB);
	MUST(memory_system.discard(&memory, 0, BYTES_HERE) == 0);
	MUST(resident_bytes(memory.fd) == 0);
	memory_system.destroy(&memory);
}

START_TEST(test_a_part_is_given_back_by_itself)
{
	run_here(run_discard);
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
	struct memory memory = memory_finished();

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
	memory = memory_finished();
	MUST(memory_system.is_in_use(&memory) == -EOPNOTSUPP);
	MUST(memory_system.open_again(&memory) == -EOPNOTSUPP);
	memory_system.destroy(&memory);
}

START_TEST(test_without_proc_memory_is_made_and_nobody_can_say_who_has_it)
{
	run_here(run_without_proc);
}
END_TEST

/* A tmpfs file of ours cannot be sealed: who leases it may change its size. */
static void run_resized(void)
{
	struct memory memory = memory_finished(), next;
	int lessee, copy;

	if (memory.is_sealable) {
		memory_system.destroy(&memory);
		return;
	}
	lessee = memory_system.open_again(&memory);
	copy = duplicate(memory.fd);
	MUST(ftruncate(lessee, 2 * BYTES_HERE) == 0);
	MUST(pwrite(lessee, "x", 1, BYTES_HERE + 3 * MIB) == 1);
	next = memory_left(duplicate(memory.fd));
	MUST(memory_system.adopt(&next, MEMORY_IS_FINISHED) == -EMSGSIZE);
	MUST(memory_system.adopt(&next, MEMORY_IS_LENT) == 0);
	memory_system.release(&next);
	MUST(resident_bytes(copy) > BYTES_HERE);
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
	Suite *suite = suite_create("memory-share");
	TCase *tcase = tcase_create("page");
	int status;

	/* Others may have the huge page pool for a while. */
	tcase_set_timeout(tcase, 60);
	memory_here_open(argc > 1 ? argv[1] : "base");
	tcase_add_test(tcase, test_what_nobody_else_has_is_not_in_use_and_a_duplicate_is_nobody);
	tcase_add_test(tcase, test_whoever_has_it_open_has_it_and_so_has_a_copy_of_that);
	tcase_add_test(tcase, test_a_mapping_that_is_left_is_enough_to_have_it);
	tcase_add_test(tcase, test_a_child_of_the_lessee_has_it_until_it_ends);
	tcase_add_test(tcase, test_what_is_destroyed_is_empty_for_whoever_comes_back_to_it);
	tcase_add_test(tcase, test_destroying_gives_all_pages_back_and_releasing_gives_none);
	tcase_add_test(tcase, test_a_part_is_given_back_by_itself);
	tcase_add_test(tcase,
	               test_a_kernel_that_does_not_say_who_has_it_is_not_understood_to_say_so);
	tcase_add_test(tcase, test_without_proc_memory_is_made_and_nobody_can_say_who_has_it);
	if (page_here == PLAN_PAGE_THP)
		tcase_add_test(tcase,
		               test_what_a_lessee_made_larger_is_given_back_to_the_last_page);
	suite_add_tcase(suite, tcase);
	status = suite_main(suite);
	memory_system_close();
	return status;
}
