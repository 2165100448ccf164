/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * memory-map.h - what the kernel says about the pages of one of our mappings
 *
 * Layer: kinds. Threads: any. Reads /proc/self; faults nothing in, so only pages that the page
 * tables show count.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_map {
	uint64_t node_bytes;        /* resident on the node asked about */
	uint64_t other_bytes;       /* resident elsewhere */
	uint64_t kernel_page_bytes; /* of the mapping; for tmpfs the base page whatever it holds */
};

/*
 * Look at the whole mapping that begins at @address: /proc/self/numa_maps counts every page of it
 * in one walk (about 5 ns for each, against 65 ns by move_pages(2)).
 *
 * Return: 0 and *ret; -EOPNOTSUPP this kernel has no NUMA; -ENOENT no mapping begins there; -errno.
 */
int memory_map_read(const void *address, unsigned node_id, struct memory_map *ret);

/*
 * How many bytes of it are mapped by transparent huge pages. Asks PAGEMAP_SCAN (Linux 6.7), which
 * answers per huge page; before that smaps, which takes 4 ms a GiB as it counts small pages.
 *
 * Return: 0 and *ret_bytes; -ENOENT; -errno.
 */
int memory_map_read_huge(const void *address, uint64_t bytes, uint64_t *ret_bytes);
