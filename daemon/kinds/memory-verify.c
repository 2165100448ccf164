/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether memory is what was asked for: there, on its node, of its page size. Asked of the kernel's
 * page tables, not of the memory.
 */
#include <errno.h>
#include <sys/mman.h>

#include "../base/size.h"
#include "memory-map.h"
#include "memory-system.h"

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

int memory_verify(struct memory *memory)
{
	int r;

	/* Reading pages in would make those that are missing; so that is asked for first. */
	r = memory_file_check_blocks(memory);
	/* MADV_POPULATE_WRITE has left page tables behind, the other calls have not. */
	if (r == 0 &&
	    (!memory_probe.has_populate || (memory->page == PLAN_PAGE_THP && !memory->is_sealable)))
		r = memory_show_pages(memory);
	if (r == 0)
		r = check_node(memory);
	if (r == 0 && memory->page == PLAN_PAGE_THP)
		r = check_huge(memory);
	return r;
}
