/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "memory-kernel.h"
#include "suite.h"

#define POOL_PATH "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/"
#define POOL_FILE POOL_PATH "nr_hugepages"
#define LOCK_FILE "/run/lock/nodeinit-hugepages.lock"

uint64_t kernel_base_bytes(void)
{
	return (uint64_t) sysconf(_SC_PAGESIZE);
}

struct memory memory_of(enum plan_page page, uint64_t page_bytes, uint64_t bytes)
{
	return (struct memory){
		.fd = -1, .page = page, .page_bytes = page_bytes, .bytes = bytes, .node_id = 0
	};
}

struct memory memory_of_page(enum plan_page page, uint64_t bytes)
{
	return memory_of(page, page == PLAN_PAGE_BASE ? kernel_base_bytes() : HUGE, bytes);
}

bool have_thp(void)
{
	struct memory memory = memory_of(PLAN_PAGE_THP, HUGE, HUGE);
	int r = memory_system.make(&memory);

	memory_system.destroy(&memory);
	return r != -EOPNOTSUPP;
}

bool have_pool(void)
{
	int lock = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	bool has_lock = lock >= 0;

	(void) fd_close(lock);
	return has_lock && access(POOL_FILE, W_OK) == 0;
}

/* Tried on memory of our own: rights and limits are what mlock(2) makes of them. */
bool may_lock(uint64_t bytes)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool is_locked = memory != MAP_FAILED && mlock2(memory, bytes, MLOCK_ONFAULT) == 0;

	if (memory != MAP_FAILED)
		(void) munmap(memory, bytes);
	return is_locked;
}

void deny(unsigned nr, uint32_t value, int error)
{
	const unsigned low = __BYTE_ORDER == __BIG_ENDIAN ? 4 : 0;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]) + low),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, value == ANY_VALUE ? 0 : 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t) error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ELEMENTS(filter), .filter = filter };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static uint64_t pool_read(const char *path)
{
	FILE *file = fopen(path, "re");
	unsigned long long nr = 0;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%llu", &nr), 1);
	(void) fclose(file);
	return nr;
}

uint64_t pool_free_bytes(void)
{
	return pool_read(POOL_PATH "free_hugepages") * HUGE;
}

static bool pool_write(uint64_t nr)
{
	FILE *file = fopen(POOL_FILE, "we");

	if (!file)
		return false;
	(void) fprintf(file, "%llu", (unsigned long long) nr);
	return fclose(file) == 0;
}

/* Return: the child's wait status. */
static int run_child(void (*run)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		run();
		_exit(0);
	}
	(void) waitpid(pid, &status, 0);
	return status;
}

void in_child(void (*run)(void))
{
	int status = run_child(run);

	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x", status);
}

void with_pool(void (*run)(void))
{
	int lock = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600), status = -1;
	uint64_t before;

	ck_assert_int_ge(lock, 0);
	ck_assert_int_eq(flock(lock, LOCK_EX), 0);
	before = pool_read(POOL_FILE);
	if (pool_write(before + POOL_PAGES) && pool_read(POOL_FILE) == before + POOL_PAGES)
		status = run_child(run);
	(void) pool_write(before);
	ck_assert_uint_eq(pool_read(POOL_FILE), before);
	(void) flock(lock, LOCK_UN);
	(void) close(lock);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x", status);
}

void must(bool is_true, const char *file, int line, const char *what)
{
	if (is_true)
		return;
	(void) fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", file, line, what, errno);
	_exit(1);
}

enum plan_page page_here;

void memory_here_open(const char *page)
{
	if (memory_system_open() < 0)
		suite_skip("the kernel cannot be probed");
	page_here = strcmp(page, "thp") == 0       ? PLAN_PAGE_THP
	            : strcmp(page, "hugetlb") == 0 ? PLAN_PAGE_HUGETLB
	                                           : PLAN_PAGE_BASE;
	if (page_here == PLAN_PAGE_THP && !have_thp())
		suite_skip("no right to mount a tmpfs, and shmem_enabled is never");
	if (page_here == PLAN_PAGE_HUGETLB && !have_pool())
		suite_skip("no right to change the huge page pool of node 0");
}

void run_here(void (*run)(void))
{
	if (page_here == PLAN_PAGE_HUGETLB)
		with_pool(run);
	else
		in_child(run);
}

uint64_t resident_bytes(int fd)
{
	struct stat st;

	MUST(fstat(fd, &st) == 0);
	return (uint64_t) st.st_blocks * 512;
}

int duplicate(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	MUST(copy >= 0);
	return copy;
}

int open_path(int fd, int flags)
{
	char path[40];

	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_CLOEXEC);
}

struct memory memory_made(void)
{
	struct memory memory = memory_of_page(page_here, BYTES_HERE);

	MUST(memory_system.make(&memory) == 0);
	return memory;
}

struct memory memory_finished(void)
{
	struct memory memory = memory_made();

	MUST(memory_system.populate(&memory, 0, BYTES_HERE) == 0);
	MUST(memory_system.verify(&memory) == 0);
	MUST(memory_system.finish(&memory) == 0);
	return memory;
}

struct memory memory_left(int fd)
{
	struct memory memory = memory_of_page(page_here, BYTES_HERE);

	memory.fd = fd;
	return memory;
}
