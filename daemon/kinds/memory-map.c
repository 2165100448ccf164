/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "../base/scoped.h"
#include "../base/size.h"
#include "memory-map.h"

/* As in linux/fs.h since 6.7; older headers lack it. */
struct scan_range {
	uint64_t start;
	uint64_t end;
	uint64_t categories;
};

struct scan_arg {
	uint64_t struct_bytes;
	uint64_t flags;
	uint64_t start;
	uint64_t end;
	uint64_t walk_end;
	uint64_t vec;
	uint64_t nr_ranges;
	uint64_t max_pages;
	uint64_t category_inverted;
	uint64_t category_mask;
	uint64_t category_anyof_mask;
	uint64_t return_mask;
};

#define SCAN_IOCTL      _IOWR('f', 16, struct scan_arg)
#define SCAN_IS_PRESENT (1 << 3)
#define SCAN_IS_HUGE    (1 << 6)
#define SCAN_RANGES     64

/* "7f12…-7f13… rw-s" of smaps, "7f12… bind:0" of numa_maps. */
static bool is_line_of(const char *line, const void *address)
{
	char *end;

	return strtoull(line, &end, 16) == (uintptr_t) address && (*end == ' ' || *end == '-') &&
	       end != line;
}

/* Skip to the line that begins with @address. Return: 0; -ENOENT. */
static int find_line(FILE *file, const void *address, char **line, size_t *line_bytes)
{
	while (getline(line, line_bytes, file) > 0)
		if (is_line_of(*line, address))
			return 0;
	return ferror(file) ? -EIO : -ENOENT;
}

int memory_map_read(const void *address, unsigned node_id, struct memory_map *ret)
{
	scoped(file_closep) FILE *file = fopen("/proc/self/numa_maps", "re");
	scoped(freep) char *line = NULL;
	struct memory_map map = { 0 };
	uint64_t node_pages = 0, other_pages = 0;
	size_t line_bytes = 0;
	char *save = NULL;
	int r;

	if (!file)
		return errno == ENOENT ? -EOPNOTSUPP : -errno;
	r = find_line(file, address, &line, &line_bytes);
	if (r < 0)
		return r;
	for (char *word = strtok_r(line, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
		unsigned long long kib, pages;
		unsigned id;

		if (sscanf(word, "N%u=%llu", &id, &pages) == 2) {
			if (id == node_id)
				node_pages += pages;
			else
				other_pages += pages;
		} else if (sscanf(word, "kernelpagesize_kB=%llu", &kib) == 1) {
			map.kernel_page_bytes = kib * KIB;
		}
	}
	/* A mapping without pages has no size either: nothing is there to be counted. */
	map.node_bytes = bytes_mul(node_pages, map.kernel_page_bytes);
	map.other_bytes = bytes_mul(other_pages, map.kernel_page_bytes);
	*ret = map;
	return 0;
}

/* Return: 0 and *ret_bytes; -ENOTTY, -EINVAL this kernel cannot; -errno. */
static int scan_huge(const void *address, uint64_t bytes, uint64_t *ret_bytes)
{
	scoped(fd_closep) int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	struct scan_range ranges[SCAN_RANGES];
	struct scan_arg arg = {
		.struct_bytes = sizeof(arg),
		.start = (uintptr_t) address,
		.end = (uintptr_t) address + bytes,
		.vec = (uintptr_t) ranges,
		.nr_ranges = SCAN_RANGES,
		.category_mask = SCAN_IS_PRESENT | SCAN_IS_HUGE,
		.return_mask = SCAN_IS_HUGE,
	};
	uint64_t huge_bytes = 0;

	if (fd < 0)
		return -errno;
	while (arg.start < arg.end) {
		int nr = ioctl(fd, SCAN_IOCTL, &arg);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0)
			return -errno;
		for (int i = 0; i < nr; i++)
			huge_bytes += ranges[i].end - ranges[i].start;
		if (arg.walk_end <= arg.start)
			return -EIO;
		arg.start = arg.walk_end;
	}
	*ret_bytes = huge_bytes;
	return 0;
}

static int smaps_huge(const void *address, uint64_t *ret_bytes)
{
	scoped(file_closep) FILE *file = fopen("/proc/self/smaps", "re");
	scoped(freep) char *line = NULL;
	uint64_t huge_bytes = 0;
	size_t line_bytes = 0;
	int r;

	if (!file)
		return -errno;
	r = find_line(file, address, &line, &line_bytes);
	if (r < 0)
		return r;
	/* Field names have a colon; the next mapping's line has none before its first blank. */
	while (getline(&line, &line_bytes, file) > 0) {
		unsigned long long kib;
		size_t name_bytes = strcspn(line, " ");

		if (name_bytes == 0 || line[name_bytes - 1] != ':')
			break;
		if (sscanf(line, "ShmemPmdMapped: %llu", &kib) == 1)
			huge_bytes = kib * KIB;
	}
	*ret_bytes = huge_bytes;
	return 0;
}

int memory_map_read_huge(const void *address, uint64_t bytes, uint64_t *ret_bytes)
{
	int r = scan_huge(address, bytes, ret_bytes);

	return r == -ENOTTY || r == -EINVAL || r == -ENOENT ? smaps_huge(address, ret_bytes) : r;
}
