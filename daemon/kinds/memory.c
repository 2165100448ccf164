/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The real memory. Nothing here loads from or stores to the memory it makes: a page that cannot be
 * had, or that has hardware poison, would answer with SIGBUS, a system call answers with an errno.
 *
 * That pages are zeroed is not read back: MADV_POPULATE_WRITE and fallocate return pages that the
 * kernel has cleared for a new file, which is the promise it gives to every program, and pwrite
 * wrote the zeroes itself. A load is what raises SIGBUS, and a pread a page would check the copy
 * path, not the memory.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../base/size.h"
#include "../machine/machine.h"
#include "memory-map.h"
#include "memory.h"
#include "thp-mount.h"

/* Values of every architecture; older headers lack them. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif
#ifndef MFD_HUGE_SHIFT
#define MFD_HUGE_SHIFT 26
#endif

/*
 * One madvise(2) holds the process's mmap lock for reading until it ends, and a thread that maps
 * or unmaps waits for it. So a call is kept to a fraction of a millisecond.
 */
#define POPULATE_HUGE_BYTES (4 * MIB)
#define POPULATE_BASE_BYTES MIB

/*
 * What one write(2) of zeroes covers: as long as a huge page, so that one is made for it. Never
 * written and not const: in .bss all its pages are the kernel's one zero page, which stays in the
 * first cache; in .rodata they would be 2 MiB of the program file, and a fifth slower.
 */
#define ZEROES_BYTES (2 * MIB)
static char zeroes[ZEROES_BYTES];

/* Set once by memory_system_open(), then only read. */
static struct {
	bool has_populate;
	bool has_noexec_seal;
	bool has_shmem_thp; /* a memfd with MADV_HUGEPAGE gets huge pages */
} probed;

static bool probe_populate(size_t page_bytes)
{
	void *page =
		mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool has_populate;

	if (page == MAP_FAILED)
		return false;
	has_populate = madvise(page, page_bytes, MADV_POPULATE_WRITE) == 0;
	(void) munmap(page, page_bytes);
	return has_populate;
}

/* The chosen word is in brackets. */
static bool probe_shmem_thp(void)
{
	scoped(file_closep) FILE *file =
		fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re");
	char text[128];

	return file && fgets(text, sizeof(text), file) && !strstr(text, "[never]") &&
	       !strstr(text, "[deny]");
}

int memory_system_open(void)
{
	long page_bytes = sysconf(_SC_PAGESIZE);
	int fd;

	if (page_bytes <= 0)
		return -EINVAL;
	probed.has_populate = probe_populate((size_t) page_bytes);
	probed.has_shmem_thp = probe_shmem_thp();
	fd = memfd_create("nodeinit-probe", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	probed.has_noexec_seal = fd >= 0;
	(void) fd_close(fd);
	return 0;
}

void memory_system_close(void)
{
	thp_mount_close();
}

bool memory_system_has_populate(void)
{
	return probed.has_populate;
}

static int make_memfd(unsigned flags)
{
	int fd;

	flags |= MFD_CLOEXEC | MFD_ALLOW_SEALING;
	if (probed.has_noexec_seal)
		flags |= MFD_NOEXEC_SEAL;
	fd = memfd_create("nodeinit", flags);
	return fd < 0 ? -errno : fd;
}

static int make_hugetlb(uint64_t page_bytes)
{
	unsigned shift = (unsigned) __builtin_ctzll(page_bytes);
	int fd = make_memfd(MFD_HUGETLB | shift << MFD_HUGE_SHIFT);

	/* No such size, or no huge page pools at all in this kernel. */
	return fd == -ENODEV || fd == -ENOSYS || fd == -EINVAL ? -EOPNOTSUPP : fd;
}

/* Return: a descriptor; -EOPNOTSUPP. *ret_is_memfd says which of the two it is. */
static int make_thp(unsigned node_id, bool *ret_is_memfd)
{
	int fd = thp_mount_file(node_id);

	*ret_is_memfd = false;
	if (fd != -EPERM && fd != -EOPNOTSUPP)
		return fd;
	if (!probed.has_shmem_thp)
		return -EOPNOTSUPP;
	*ret_is_memfd = true;
	return make_memfd(0);
}

/* Map it aligned to its page, with a page that faults before and behind it. */
static int map(struct memory *memory)
{
	uint64_t base_bytes = (uint64_t) sysconf(_SC_PAGESIZE);
	size_t mapping_bytes;
	uintptr_t start;
	void *mapping;

	if (__builtin_add_overflow(memory->bytes, memory->page_bytes + 2 * base_bytes,
	                           &mapping_bytes))
		return -ENOMEM;
	mapping = mmap(NULL, mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	               -1, 0);
	if (mapping == MAP_FAILED)
		return -errno;
	memory->mapping = mapping;
	memory->mapping_bytes = mapping_bytes;
	start = bytes_round_up((uintptr_t) mapping + base_bytes, memory->page_bytes);
	if (mmap((void *) start, memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
	         memory->fd, 0) == MAP_FAILED)
		return -errno;
	memory->address = (void *) start;
	return 0;
}

/* The policy belongs to the file: it holds for write(2) and for whoever maps it, too. */
static int bind_strictly(const struct memory *memory)
{
	unsigned long mask[MACHINE_NODES_MAX / (8 * sizeof(unsigned long))] = { 0 };
	unsigned bits = 8 * sizeof(mask[0]);

	if (memory->node_id >= MACHINE_NODES_MAX)
		return -EINVAL;
	mask[memory->node_id / bits] = 1UL << memory->node_id % bits;
	/* The kernel takes one bit less than it is told. */
	if (mbind(memory->address, memory->bytes, MPOL_BIND, mask, MACHINE_NODES_MAX + 1,
	          MPOL_MF_STRICT) < 0)
		return errno == ENOSYS && memory->node_id == 0 ? 0 : -errno;
	return 0;
}

static int make_file(struct memory *memory, bool *ret_is_memfd)
{
	*ret_is_memfd = true;
	switch (memory->page) {
	case PLAN_PAGE_HUGETLB:
		return make_hugetlb(memory->page_bytes);
	case PLAN_PAGE_THP:
		return make_thp(memory->node_id, ret_is_memfd);
	default:
		return make_memfd(0);
	}
}

static int set_up(struct memory *memory)
{
	int r;

	if (ftruncate(memory->fd, (off_t) memory->bytes) < 0)
		return -errno;
	r = map(memory);
	if (r < 0)
		return r;
	r = bind_strictly(memory);
	if (r < 0)
		return r;
	/* A core dump of the daemon is not the place for a machine's memory. */
	if (madvise(memory->address, memory->bytes, MADV_DONTDUMP) < 0)
		return -errno;
	if (memory->page == PLAN_PAGE_THP && memory->is_sealable &&
	    madvise(memory->address, memory->bytes, MADV_HUGEPAGE) < 0)
		return -EOPNOTSUPP;
	/* ENOMEM here is RLIMIT_MEMLOCK, a matter of rights: no memory was asked for yet. */
	if (memory->is_locked && memory->page != PLAN_PAGE_HUGETLB &&
	    mlock2(memory->address, memory->bytes, MLOCK_ONFAULT) < 0)
		return errno == ENOMEM ? -EPERM : -errno;
	return 0;
}

static void system_destroy(struct memory *memory)
{
	if (memory->mapping)
		(void) munmap(memory->mapping, memory->mapping_bytes);
	memory->mapping = memory->address = NULL;
	memory->mapping_bytes = 0;
	memory->fd = fd_close(memory->fd);
}

static int system_make(struct memory *memory)
{
	bool is_memfd;
	int r;

	assert(memory->bytes > 0 && memory->bytes % memory->page_bytes == 0);
	r = make_file(memory, &is_memfd);
	if (r < 0)
		return r;
	memory->fd = r;
	memory->is_sealable = is_memfd;
	r = set_up(memory);
	if (r < 0)
		system_destroy(memory);
	return r;
}

static int populate_by_madvise(const struct memory *memory, uint64_t offset_bytes, uint64_t bytes,
                               int advice)
{
	uint64_t step_bytes = memory->page == PLAN_PAGE_BASE
	                              ? POPULATE_BASE_BYTES
	                              : bytes_max(POPULATE_HUGE_BYTES, memory->page_bytes);
	char *at = (char *) memory->address + offset_bytes;

	while (bytes > 0) {
		uint64_t now_bytes = bytes_min(bytes, step_bytes);

		if (madvise(at, now_bytes, advice) < 0) {
			if (errno == EINTR || errno == EAGAIN)
				continue;
			return -errno;
		}
		at += now_bytes;
		bytes -= now_bytes;
	}
	return 0;
}

static int populate_by_pwrite(const struct memory *memory, uint64_t offset_bytes, uint64_t bytes)
{
	while (bytes > 0) {
		uint64_t now_bytes = bytes_min(bytes, ZEROES_BYTES - offset_bytes % ZEROES_BYTES);
		ssize_t written = pwrite(memory->fd, zeroes, now_bytes, (off_t) offset_bytes);

		if (written < 0) {
			if (errno == EINTR || errno == EAGAIN)
				continue;
			/* mm/shmem.c: a page with hardware poison answers a write with EIO. */
			return errno == EIO ? -EHWPOISON : -errno;
		}
		if (written == 0)
			return -ENOSPC;
		offset_bytes += (uint64_t) written;
		bytes -= (uint64_t) written;
	}
	return 0;
}

/* On hugetlbfs it clears the pages, on tmpfs it would not. */
static int populate_by_fallocate(const struct memory *memory, uint64_t offset_bytes, uint64_t bytes)
{
	while (fallocate(memory->fd, 0, (off_t) offset_bytes, (off_t) bytes) < 0)
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	return 0;
}

/*
 * Which call fills it is decided once, by kind of page and by what the kernel has, never by an
 * error of another call.
 *
 *     hugetlb          populate (scales with threads), else fallocate
 *     tmpfs of ours    pwrite, which copies zeroes and skips the kernel's own clearing
 *     memfd, thp       populate: pwrite has no mapping whose advice could say huge
 *     base             populate: pwrite is a fifth faster, but leaves no page tables to verify
 *                      by, and with those made it is not; and populate scales in one file
 */
static int system_populate(struct memory *memory, uint64_t offset_bytes, uint64_t bytes)
{
	assert(offset_bytes <= memory->bytes && bytes <= memory->bytes - offset_bytes);
	if (memory->page == PLAN_PAGE_THP && !memory->is_sealable)
		return populate_by_pwrite(memory, offset_bytes, bytes);
	if (probed.has_populate)
		return populate_by_madvise(memory, offset_bytes, bytes, MADV_POPULATE_WRITE);
	return memory->page == PLAN_PAGE_HUGETLB
	               ? populate_by_fallocate(memory, offset_bytes, bytes)
	               : populate_by_pwrite(memory, offset_bytes, bytes);
}

/*
 * Have the page tables show what the file holds. Without MADV_POPULATE_READ a second mapping in
 * the same place does: MAP_POPULATE reads the pages in and, unlike a load, fails in silence.
 */
static int show_pages(const struct memory *memory)
{
	if (probed.has_populate)
		return populate_by_madvise(memory, 0, memory->bytes, MADV_POPULATE_READ);
	if (mmap(memory->address, memory->bytes, PROT_READ | PROT_WRITE,
	         MAP_SHARED | MAP_FIXED | MAP_POPULATE, memory->fd, 0) == MAP_FAILED)
		return -errno;
	if (memory->is_locked && mlock2(memory->address, memory->bytes, 0) < 0)
		return -errno;
	return madvise(memory->address, memory->bytes, MADV_DONTDUMP) < 0 ? -errno : 0;
}

/* Reading pages in would make those that are missing; so what is missing is asked for first. */
static int check_blocks(const struct memory *memory)
{
	struct stat st;

	if (fstat(memory->fd, &st) < 0)
		return -errno;
	return (uint64_t) st.st_blocks * 512 < memory->bytes ? -ENODATA : 0;
}

/* Without NUMA there is one node; whether the pages are there is said by mincore(2). */
static int check_resident(const struct memory *memory)
{
	uint64_t base_bytes = (uint64_t) sysconf(_SC_PAGESIZE);
	unsigned char vector[4096];

	if (memory->node_id != 0)
		return -EXDEV;
	for (uint64_t done_bytes = 0; done_bytes < memory->bytes;) {
		uint64_t now_bytes =
			bytes_min(memory->bytes - done_bytes, sizeof(vector) * base_bytes);

		if (mincore((char *) memory->address + done_bytes, now_bytes, vector) < 0)
			return -errno;
		for (uint64_t i = 0; i < now_bytes / base_bytes; i++)
			if (!(vector[i] & 1))
				return -ENODATA;
		done_bytes += now_bytes;
	}
	return 0;
}

static int check_node(const struct memory *memory)
{
	struct memory_map map;
	int r;

	r = memory_map_read(memory->address, memory->node_id, &map);
	if (r == -EOPNOTSUPP)
		return check_resident(memory);
	if (r < 0)
		return r;
	if (map.other_bytes > 0)
		return -EXDEV;
	if (map.node_bytes < memory->bytes)
		return -ENODATA;
	return memory->page == PLAN_PAGE_HUGETLB && map.kernel_page_bytes < memory->page_bytes
	               ? -EMEDIUMTYPE
	               : 0;
}

static int check_huge(const struct memory *memory)
{
	uint64_t huge_bytes;
	int r;

	r = memory_map_read_huge(memory->address, memory->bytes, &huge_bytes);
	if (r < 0)
		return r;
	return huge_bytes < memory->bytes ? -EMEDIUMTYPE : 0;
}

static int system_verify(struct memory *memory)
{
	int r;

	r = check_blocks(memory);
	/* MADV_POPULATE_WRITE has left page tables behind, the other calls have not. */
	if (r == 0 &&
	    (!probed.has_populate || (memory->page == PLAN_PAGE_THP && !memory->is_sealable)))
		r = show_pages(memory);
	if (r == 0)
		r = check_node(memory);
	if (r == 0 && memory->page == PLAN_PAGE_THP)
		r = check_huge(memory);
	return r;
}

static int system_finish(struct memory *memory)
{
	/* mlock(2) holds as long as the mapping does: a locked region stays mapped. */
	if (!memory->is_locked || memory->page == PLAN_PAGE_HUGETLB) {
		if (memory->mapping && munmap(memory->mapping, memory->mapping_bytes) < 0)
			return -errno;
		memory->mapping = memory->address = NULL;
		memory->mapping_bytes = 0;
	}
	if (memory->is_sealable &&
	    fcntl(memory->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	return 0;
}

const struct memory_ops memory_system = {
	.make = system_make,
	.populate = system_populate,
	.verify = system_verify,
	.finish = system_finish,
	.destroy = system_destroy,
};
