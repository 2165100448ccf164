/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * hugepages.h - a node's huge page pool, as the kernel's attribute files show it
 *
 * Layer: machine. Threads: any. The global /proc/sys/vm/nr_hugepages is never touched: a write
 * there spreads pages as it likes. Source: Documentation/admin-guide/mm/hugetlbpage.rst.
 */
#pragma once

#include <stdint.h>

#include "kernel.h"

struct hugepages_count {
	uint64_t nr_pages; /* in the pool, surplus included */
	uint64_t free_pages;
	uint64_t surplus_pages;
};

/* Return: 0 and *ret; -ENOENT no such node or size; -errno. */
int hugepages_read(struct kernel *kernel, unsigned node_id, uint64_t page_bytes,
                   struct hugepages_count *ret);

/*
 * Ask for @nr_pages in all (an absolute target). Success says nothing of how many came: read
 * back. Blocks for as long as the kernel takes: 2M pages 1.7 µs, 1G pages up to 100 ms each.
 * Return: 0; -EACCES, -EROFS not permitted; -EINVAL (gigantic pages unsupported); -errno.
 */
int hugepages_write(struct kernel *kernel, unsigned node_id, uint64_t page_bytes,
                    uint64_t nr_pages);

/*
 * Have the node's memory compacted now; blocks until it is. Return: 0; -ENOENT no such node, or a
 * kernel that does not compact; -EACCES, -EROFS not permitted; -errno.
 */
int hugepages_compact(struct kernel *kernel, unsigned node_id);
