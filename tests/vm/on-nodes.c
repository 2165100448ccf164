/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the pages of another process's regions are, asked from outside of it.
 *
 *     on-nodes PID
 *
 * Opens each region that PID holds, maps it and asks the kernel, by move_pages(2), for the node of
 * every page. Prints a line for each region: its bytes, its bytes that are resident, and
 * "NODE:PAGES" for each node that has pages of it. A hole would be filled by the look at it, so
 * residence is read before.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NR_NODES_MAX    64
#define NR_PAGES_A_LOOK 1024
#define SECTOR_BYTES    512 /* of st_blocks */

static int count_pages(char *memory, size_t bytes, size_t page_bytes, size_t *nr_on_node)
{
	void *pages[NR_PAGES_A_LOOK];
	int nodes[NR_PAGES_A_LOOK];
	size_t at = 0, nr;

	while (at < bytes) {
		for (nr = 0; nr < NR_PAGES_A_LOOK && at < bytes; nr++, at += page_bytes) {
			pages[nr] = memory + at;
			(void) *(volatile char *) pages[nr];
		}
		if (syscall(SYS_move_pages, 0, nr, pages, NULL, nodes, 0) < 0)
			return -1;
		for (size_t i = 0; i < nr; i++) {
			if (nodes[i] < 0 || nodes[i] >= NR_NODES_MAX)
				return -1;
			nr_on_node[nodes[i]]++;
		}
	}
	return 0;
}

static int look_at_region(const char *path)
{
	size_t nr_on_node[NR_NODES_MAX] = { 0 }, page_bytes;
	struct stat status;
	char *memory;
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;

	if (fd < 0 || fstat(fd, &status) < 0)
		return -1;
	/* Of hugetlb, the block is the page; of tmpfs it is one page or a huge one of many. */
	page_bytes = (size_t) sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, (size_t) status.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -1;
	r = count_pages(memory, (size_t) status.st_size, page_bytes, nr_on_node);
	(void) munmap(memory, (size_t) status.st_size);
	(void) close(fd);
	if (r < 0)
		return -1;

	printf("%lld %lld", (long long) status.st_size,
	       (long long) status.st_blocks * SECTOR_BYTES);
	for (unsigned i = 0; i < NR_NODES_MAX; i++) {
		if (nr_on_node[i] > 0)
			printf(" %u:%zu", i, nr_on_node[i]);
	}
	printf("\n");
	return 0;
}

/*
 * A region is a memfd, or a file of a tmpfs that is mounted nowhere: its path is that of a root.
 * There are other memfds with other names.
 */
static bool is_region(const char *path)
{
	char target[256];
	ssize_t length = readlink(path, target, sizeof(target) - 1);

	if (length < 0)
		return false;
	target[length] = '\0';
	return strcmp(target, "/memfd:nodeinit (deleted)") == 0 ||
	       (strncmp(target, "/#", 2) == 0 && strstr(target, " (deleted)"));
}

int main(int argc, char **argv)
{
	char folder[64], path[512];
	struct dirent *entry;
	DIR *fds;

	if (argc != 2)
		return 2;
	(void) snprintf(folder, sizeof(folder), "/proc/%s/fd", argv[1]);
	fds = opendir(folder);
	if (!fds) {
		perror(folder);
		return 1;
	}
	while ((entry = readdir(fds))) {
		(void) snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (is_region(path) && look_at_region(path) < 0) {
			perror(path);
			return 1;
		}
	}
	(void) closedir(fds);
	return 0;
}
