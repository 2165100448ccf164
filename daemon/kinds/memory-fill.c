/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which call fills which kind of page, gives it back, and has the page tables show it. Nothing here
 * loads from or stores to the memory: a page that cannot be had, or that has hardware poison, would
 * answer with SIGBUS, a system call answers with an errno. What is there already, filled by an
 * earlier process, none of these calls touches.
 *
 * That pages are zeroed is not read back: MADV_POPULATE_WRITE and fallocate return pages that the
 * kernel has cleared for a new file, which is the promise it gives to every program, and pwrite
 * wrote the zeroes itself. A load is what raises SIGBUS, and a pread a page would check the copy
 * path, not the memory.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "../base/size.h"
#include "memory-system.h"

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

/*
 * Where the next bytes are missing: what an earlier process has filled stays as it is. Without
 * pages, the rest of the file is one hole.
 * Return: 0, *ret_start_bytes and *ret_end_bytes within [@start_bytes, @end_bytes); -errno.
 */
static int find_hole(int fd, uint64_t start_bytes, uint64_t end_bytes, uint64_t *ret_start_bytes,
                     uint64_t *ret_end_bytes)
{
	off_t hole = lseek(fd, (off_t) start_bytes, SEEK_HOLE), data = -1;

	if (hole < 0)
		return -errno;
	if ((uint64_t) hole < end_bytes) {
		data = lseek(fd, hole, SEEK_DATA);
		if (data < 0 && errno != ENXIO)
			return -errno;
	}
	*ret_start_bytes = bytes_min((uint64_t) hole, end_bytes);
	*ret_end_bytes = data < 0 ? end_bytes : bytes_min((uint64_t) data, end_bytes);
	return 0;
}

static int write_zeroes(int fd, uint64_t offset_bytes, uint64_t end_bytes)
{
	while (offset_bytes < end_bytes) {
		uint64_t now_bytes = bytes_min(end_bytes - offset_bytes,
		                               ZEROES_BYTES - offset_bytes % ZEROES_BYTES);
		ssize_t written = pwrite(fd, zeroes, now_bytes, (off_t) offset_bytes);

		if (written < 0) {
			if (errno == EINTR || errno == EAGAIN)
				continue;
			/* mm/shmem.c: a page with hardware poison answers a write with EIO. */
			return errno == EIO ? -EHWPOISON : -errno;
		}
		if (written == 0)
			return -ENOSPC;
		offset_bytes += (uint64_t) written;
	}
	return 0;
}

static int populate_by_pwrite(const struct memory *memory, uint64_t offset_bytes, uint64_t bytes)
{
	uint64_t end_bytes = offset_bytes + bytes, hole_bytes = offset_bytes;
	int r = 0;

	while (r == 0 && offset_bytes < end_bytes) {
		r = find_hole(memory->fd, offset_bytes, end_bytes, &hole_bytes, &offset_bytes);
		if (r == 0)
			r = write_zeroes(memory->fd, hole_bytes, offset_bytes);
	}
	return r;
}

/* On hugetlbfs it clears the pages that are missing; on tmpfs it would clear none. */
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
 *     hugetlb          populate (scales with threads), else fallocate, which knows no policy of a
 *                      mapping: pages that it takes from another node are found by memory_verify()
 *     tmpfs of ours    pwrite, which copies zeroes and skips the kernel's own clearing
 *     memfd, thp       populate: pwrite has no mapping whose advice could say huge
 *     base             populate: pwrite is a fifth faster, but leaves no page tables to verify
 *                      by, and with those made it is not; and populate scales in one file
 */
int memory_populate(struct memory *memory, uint64_t offset_bytes, uint64_t bytes)
{
	assert(offset_bytes <= memory->bytes && bytes <= memory->bytes - offset_bytes);
	if (memory->page == PLAN_PAGE_THP && !memory->is_sealable)
		return populate_by_pwrite(memory, offset_bytes, bytes);
	if (memory_probe.has_populate)
		return populate_by_madvise(memory, offset_bytes, bytes, MADV_POPULATE_WRITE);
	return memory->page == PLAN_PAGE_HUGETLB
	               ? populate_by_fallocate(memory, offset_bytes, bytes)
	               : populate_by_pwrite(memory, offset_bytes, bytes);
}

int memory_discard(struct memory *memory, uint64_t offset_bytes, uint64_t bytes)
{
	while (fallocate(memory->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	                 (off_t) offset_bytes, (off_t) bytes) < 0)
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	return 0;
}

/*
 * Have the page tables show what the file holds. Without MADV_POPULATE_READ a second mapping in
 * the same place does: MAP_POPULATE reads the pages in and, unlike a load, fails in silence.
 */
int memory_show_pages(const struct memory *memory)
{
	if (memory_probe.has_populate)
		return populate_by_madvise(memory, 0, memory->bytes, MADV_POPULATE_READ);
	if (mmap(memory->address, memory->bytes, PROT_READ | PROT_WRITE,
	         MAP_SHARED | MAP_FIXED | MAP_POPULATE, memory->fd, 0) == MAP_FAILED)
		return -errno;
	if (memory->is_locked && mlock2(memory->address, memory->bytes, 0) < 0)
		return -errno;
	return madvise(memory->address, memory->bytes, MADV_DONTDUMP) < 0 ? -errno : 0;
}
