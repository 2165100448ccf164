/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The real memory: made or taken over, and ended. How it is filled is in memory-fill.c, what it
 * lives in in memory-file.c.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <numaif.h>
#include <string.h>
#include <sys/mman.h>

#include "../base/size.h"
#include "../machine/machine.h"
#include "memory-system.h"
#include "thp-mount.h"

struct memory_probe memory_probe;

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

/* Whether a description that was opened counts, and who asks is told that it is the only one. */
static void probe_use(void)
{
	scoped(fd_closep) int fd = memfd_create("nodeinit-probe", MFD_CLOEXEC);
	struct memory memory = { .fd = -1 };

	memory_probe.has_reopen = memory_probe.has_use = false;
	if (fd < 0)
		return;
	memory.fd = memory_reopen(fd);
	memory_probe.has_reopen = memory_probe.has_use = memory.fd >= 0;
	if (memory.fd >= 0)
		memory_probe.has_use = memory_is_in_use(&memory) == 0;
	(void) fd_close(memory.fd);
}

int memory_system_open(void)
{
	long page_bytes = sysconf(_SC_PAGESIZE);
	int fd;

	if (page_bytes <= 0)
		return -EINVAL;
	memory_probe.has_populate = probe_populate((size_t) page_bytes);
	memory_probe.has_shmem_thp = probe_shmem_thp();
	fd = memfd_create("nodeinit-probe", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	memory_probe.has_noexec_seal = fd >= 0;
	(void) fd_close(fd);
	probe_use();
	return 0;
}

void memory_system_close(void)
{
	thp_mount_close();
}

bool memory_system_has_populate(void)
{
	return memory_probe.has_populate;
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
		switch (errno) {
		case ENOSYS:
			return memory->node_id == 0 ? 0 : -ENOSYS;
		case EIO: /* pages that are there already are elsewhere */
			return -EXDEV;
		default:
			return -errno;
		}
	return 0;
}

/* Mapped, bound, locked as wanted, before any touch. */
static int set_up(struct memory *memory)
{
	int r;

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
	if (memory_keeps_mapping(memory) &&
	    mlock2(memory->address, memory->bytes, MLOCK_ONFAULT) < 0)
		return errno == ENOMEM ? -EPERM : -errno;
	return 0;
}

static int unmap(struct memory *memory)
{
	if (memory->mapping && munmap(memory->mapping, memory->mapping_bytes) < 0)
		return -errno;
	memory->mapping = memory->address = NULL;
	memory->mapping_bytes = 0;
	return 0;
}

static void system_release(struct memory *memory)
{
	(void) unmap(memory);
	memory->fd = fd_close(memory->fd);
}

static void system_destroy(struct memory *memory)
{
	(void) unmap(memory);
	if (memory->fd >= 0)
		memory_file_empty(memory);
	memory->fd = fd_close(memory->fd);
}

static int system_make(struct memory *memory)
{
	int r;

	assert(memory->bytes > 0 && memory->bytes % memory->page_bytes == 0);
	r = memory_file_make(memory);
	if (r < 0)
		return r;
	r = ftruncate(memory->fd, (off_t) memory->bytes) < 0 ? -errno : set_up(memory);
	if (r < 0)
		system_release(memory);
	return r;
}

/* A lock ends with the mapping: locked memory has to be mapped, and its pages read in, again. */
static int system_adopt(struct memory *memory, enum memory_adopted adopted)
{
	struct memory taken = *memory;
	int r;

	assert(memory->bytes > 0 && memory->bytes % memory->page_bytes == 0);
	r = memory_file_check(&taken, adopted);
	if (r == 0 && (adopted == MEMORY_IS_FILLING ||
	               (adopted == MEMORY_IS_FINISHED && memory_keeps_mapping(memory))))
		r = set_up(&taken);
	if (r < 0) {
		(void) unmap(&taken);
		return r;
	}
	*memory = taken;
	return 0;
}

/* Pages can be moved when the memory below them is taken offline, long after it was finished. */
static int system_verify(struct memory *memory)
{
	int r;

	if (memory->address)
		return memory_verify(memory);
	/* Reading pages in would make those that are missing; so that is asked for first. */
	r = memory_file_check_blocks(memory);
	if (r == 0)
		r = map(memory);
	if (r == 0)
		r = memory_show_pages(memory);
	if (r == 0)
		r = memory_verify(memory);
	(void) unmap(memory);
	return r;
}

static int system_finish(struct memory *memory)
{
	int r;

	if (!memory_keeps_mapping(memory)) {
		r = unmap(memory);
		if (r < 0)
			return r;
	}
	return memory_file_seal(memory);
}

const struct memory_ops memory_system = {
	.make = system_make,
	.populate = memory_populate,
	.verify = system_verify,
	.finish = system_finish,
	.destroy = system_destroy,
	.release = system_release,
	.adopt = system_adopt,
	.open_again = memory_open_again,
	.is_in_use = memory_is_in_use,
	.discard = memory_discard,
};
