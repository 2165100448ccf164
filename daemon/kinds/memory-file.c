/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files that memory lives in: a memfd, of huge pages or not, or an unnamed file on a tmpfs of
 * ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "memory-system.h"
#include "thp-mount.h"

/* Of every architecture; older headers lack it. */
#ifndef MFD_HUGE_SHIFT
#define MFD_HUGE_SHIFT 26
#endif

#define BLOCK_BYTES 512 /* of st_blocks */
#define SIZE_SEALS  (F_SEAL_SHRINK | F_SEAL_GROW)

/* Only a description that was opened is kept; see memory-share.c. */
static int make_memfd(unsigned flags)
{
	scoped(fd_closep) int fd = -1;

	flags |= MFD_CLOEXEC | MFD_ALLOW_SEALING;
	if (memory_probe.has_noexec_seal)
		flags |= MFD_NOEXEC_SEAL;
	fd = memfd_create("nodeinit", flags);
	if (fd < 0)
		return -errno;
	return memory_probe.has_reopen ? memory_reopen(fd) : take_fd(fd);
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
	if (!memory_probe.has_shmem_thp)
		return -EOPNOTSUPP;
	*ret_is_memfd = true;
	return make_memfd(0);
}

int memory_file_make(struct memory *memory)
{
	bool is_memfd = true;
	int fd;

	switch (memory->page) {
	case PLAN_PAGE_HUGETLB:
		fd = make_hugetlb(memory->page_bytes);
		break;
	case PLAN_PAGE_THP:
		fd = make_thp(memory->node_id, &is_memfd);
		break;
	default:
		fd = make_memfd(0);
		break;
	}
	if (fd < 0)
		return fd;
	memory->fd = fd;
	memory->is_sealable = is_memfd;
	return 0;
}

/* Return: 0; -EMEDIUMTYPE another file system or page. */
static int check_kind(const struct memory *memory)
{
	struct statfs fs;

	if (fstatfs(memory->fd, &fs) < 0)
		return -errno;
	if (memory->page == PLAN_PAGE_HUGETLB)
		return (unsigned long) fs.f_type == HUGETLBFS_MAGIC &&
		                       (uint64_t) fs.f_bsize == memory->page_bytes
		               ? 0
		               : -EMEDIUMTYPE;
	return (unsigned long) fs.f_type == TMPFS_MAGIC ? 0 : -EMEDIUMTYPE;
}

int memory_file_check(struct memory *memory, enum memory_adopted adopted)
{
	struct stat st;
	int seals, r;

	if (fstat(memory->fd, &st) < 0)
		return -errno;
	r = check_kind(memory);
	if (r < 0)
		return r;
	if ((fcntl(memory->fd, F_GETFL) & O_ACCMODE) != O_RDWR)
		return -EMEDIUMTYPE;
	/* What is no file of one of the two kinds has no seals to get. */
	seals = fcntl(memory->fd, F_GET_SEALS);
	if (seals < 0 || seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))
		return -EMEDIUMTYPE;
	/* What is no memfd has one seal from the beginning: that there will be none. */
	memory->is_sealable = !(seals & F_SEAL_SEAL) || (seals & SIZE_SEALS) == SIZE_SEALS;
	if (!memory->is_sealable && memory->page != PLAN_PAGE_THP)
		return -EMEDIUMTYPE;
	/* Whoever leases a file of a tmpfs may have changed its size; that is his own loss. */
	if ((uint64_t) st.st_size != memory->bytes &&
	    (memory->is_sealable || adopted != MEMORY_IS_LENT))
		return -EMSGSIZE;
	return adopted == MEMORY_IS_FINISHED ? memory_file_check_blocks(memory) : 0;
}

int memory_file_check_blocks(const struct memory *memory)
{
	struct stat st;

	if (fstat(memory->fd, &st) < 0)
		return -errno;
	return (uint64_t) st.st_blocks * BLOCK_BYTES < memory->bytes ? -ENODATA : 0;
}

int memory_file_seal(const struct memory *memory)
{
	int seals;

	if (!memory->is_sealable)
		return 0;
	seals = fcntl(memory->fd, F_GET_SEALS);
	if (seals < 0)
		return -errno;
	/* The process before us was ended between here and the note that it had done so. */
	if (seals & F_SEAL_SEAL)
		return 0;
	return fcntl(memory->fd, F_ADD_SEALS, SIZE_SEALS | F_SEAL_SEAL) < 0 ? -errno : 0;
}

void memory_file_empty(struct memory *memory)
{
	int r;

	/* What has no seal may have become larger than it was. Sealed, it has its size. */
	do
		r = ftruncate(memory->fd, 0);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		(void) memory_discard(memory, 0, memory->bytes);
}
