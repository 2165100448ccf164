/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "actor.h"
#include "pages.h"
#include "suite.h"

#define HUGE       (2 * MIB)
#define POOL_FILE  "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages"
#define FREE_FILE  "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages"
#define LOCK_FILE  "/run/lock/nodeinit-hugepages.lock"
#define POOL_PAGES 12

#define GIVE_BACK_USEC UINT64_C(5000000)

static struct {
	int lock;
	uint64_t pages_before;
} pool = { .lock = -1 };

static uint64_t pool_read(const char *path)
{
	scoped(file_closep) FILE *file = fopen(path, "re");
	unsigned long long nr_pages = 0;

	return file && fscanf(file, "%llu", &nr_pages) == 1 ? nr_pages : 0;
}

static void pool_write(uint64_t nr_pages)
{
	FILE *file = fopen(POOL_FILE, "we");

	if (!file)
		return;
	(void) fprintf(file, "%llu", (unsigned long long) nr_pages);
	(void) fclose(file);
}

/* A page that was pinned is free some time after its last user has ended: there is no event. */
void pages_give_back(void)
{
	uint64_t end_usec = clock_monotonic_usec() + GIVE_BACK_USEC;

	if (pool.lock < 0)
		return;
	do {
		pool_write(pool.pages_before);
		(void) sched_yield();
	} while (pool_read(POOL_FILE) != pool.pages_before && clock_monotonic_usec() < end_usec);
	if (pool_read(POOL_FILE) != pool.pages_before)
		(void) fprintf(stderr, "the huge page pool is left at %llu pages, it was %llu\n",
		               (unsigned long long) pool_read(POOL_FILE),
		               (unsigned long long) pool.pages_before);
	/* For the copies that children have, too. */
	(void) flock(pool.lock, LOCK_UN);
	pool.lock = fd_close(pool.lock);
}

bool pages_leave(uint64_t nr_pages)
{
	pool_write(pool.pages_before + nr_pages);
	return pool_read(FREE_FILE) == nr_pages;
}

/* Taken for the whole program; a daemon that is left over by a failed test does not inherit it. */
static void require_pool(void)
{
	if (access(POOL_FILE, W_OK) < 0)
		suite_skip("no right to change the huge page pool of node 0");
	pool.lock = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (pool.lock < 0 || flock(pool.lock, LOCK_EX) < 0)
		suite_skip("the lock of the huge page pool cannot be had");
	pool.pages_before = pool_read(POOL_FILE);
	pool_write(pool.pages_before + POOL_PAGES);
	if (pool_read(POOL_FILE) != pool.pages_before + POOL_PAGES) {
		pages_give_back();
		suite_skip("node 0 has no room for a few huge pages");
	}
}

/* fsopen(2) and its kin as numbers: glibc has wrappers since 2.36 only. */
static int thp_file(void)
{
	scoped(fd_closep) int fs = (int) syscall(430, "tmpfs", 1);
	scoped(fd_closep) int mount = -1;

	if (fs < 0 || syscall(431, fs, 1, "huge", "always", 0) < 0 ||
	    syscall(431, fs, 6, NULL, NULL, 0) < 0)
		return -errno;
	mount = (int) syscall(432, fs, 1, 0);
	return mount < 0 ? -errno : openat(mount, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static void require_thp(void)
{
	int fd = thp_file();

	if (fd < 0)
		suite_skip("no right to mount a tmpfs, or none of huge pages");
	(void) close(fd);
}

const struct pages *pages_require(const char *name)
{
	static struct pages all[] = {
		{ PAGES_BASE, "base", "base", 0 },
		{ PAGES_THP, "thp", "thp", HUGE },
		{ PAGES_HUGETLB, "hugetlb", "2M", HUGE },
	};

	all[PAGES_BASE].page_bytes = (uint64_t) sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < ELEMENTS(all); i++) {
		if (strcmp(name, all[i].name) != 0)
			continue;
		if (all[i].kind == PAGES_HUGETLB)
			require_pool();
		if (all[i].kind == PAGES_THP)
			require_thp();
		return &all[i];
	}
	suite_skip("there are pages base, thp and hugetlb");
}

int pages_file(const struct pages *pages, uint64_t bytes)
{
	int fd = -1;

	switch (pages->kind) {
	case PAGES_BASE:
		fd = memfd_create("attacked", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		break;
	case PAGES_HUGETLB:
		fd = memfd_create("attacked",
		                  MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB | 21 << 26);
		break;
	case PAGES_THP:
		fd = thp_file();
		break;
	}
	must(fd >= 0);
	must(ftruncate(fd, (off_t) bytes) == 0);
	return fd;
}
