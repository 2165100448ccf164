/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the memory of a copy is. Only copies are mapped, which nobody but us can change, and none
 * of their pages is touched: an original that shrinks, or a page with hardware poison, would be a
 * signal.
 */
#include <errno.h>
#include <numaif.h>
#include <sys/mman.h>

#include "../base/size.h"
#include "memory-map.h"
#include "replica-share.h"

#define BATCH_PAGES 512

/* Return: 0 all of them are on the node; -EXDEV; -ENODATA not all are there; -errno. */
static int check_pages(char *address, uint64_t bytes, uint64_t page_bytes, unsigned node_id)
{
	void *pages[BATCH_PAGES];
	int where[BATCH_PAGES];

	for (uint64_t done_bytes = 0; done_bytes < bytes;) {
		unsigned long nr = 0;

		for (; nr < BATCH_PAGES && done_bytes < bytes; done_bytes += page_bytes)
			pages[nr++] = address + done_bytes;
		if (move_pages(0, nr, pages, NULL, where, 0) < 0)
			return -errno;
		for (unsigned long i = 0; i < nr; i++) {
			if (where[i] < 0)
				return -ENODATA;
			if ((unsigned) where[i] != node_id)
				return -EXDEV;
		}
	}
	return 0;
}

/* The same from a file in /proc, where the call is not permitted. */
static int check_map(const void *address, uint64_t bytes, unsigned node_id)
{
	struct memory_map map;
	int r = memory_map_read(address, node_id, &map);

	if (r < 0)
		return r;
	if (map.other_bytes > 0)
		return -EXDEV;
	return map.node_bytes < bytes ? -ENODATA : 0;
}

int replica_pages_check(int fd, uint64_t offset_bytes, uint64_t bytes, unsigned node_id)
{
	uint64_t page_bytes = (uint64_t) sysconf(_SC_PAGESIZE);
	uint64_t start_bytes = bytes_round_down(offset_bytes, page_bytes);
	uint64_t map_bytes = bytes_round_up(offset_bytes + bytes, page_bytes) - start_bytes;
	void *address;
	int r;

	if (bytes == 0)
		return 0;
	/* Populated without an error: what is not there is seen below. */
	address = mmap(NULL, map_bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd,
	               (off_t) start_bytes);
	if (address == MAP_FAILED)
		return -errno;
	r = check_pages(address, map_bytes, page_bytes, node_id);
	if (r == -EPERM || r == -EACCES)
		r = check_map(address, map_bytes, node_id);
	if (r == -ENOSYS || r == -EOPNOTSUPP) /* without NUMA there is one node */
		r = node_id == 0 ? 0 : -EXDEV;
	(void) munmap(address, map_bytes);
	return r;
}
