/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Leave a node's memory in pieces.
 *
 *     fragment NODE LEAVE_MIB EVERY [pin]
 *
 * Takes the memory of NODE in base pages until LEAVE_MIB are free, gives every EVERYth page back,
 * prints a line and holds the rest until its standard input ends. The pages that it holds can be
 * moved by compaction; with "pin" they cannot, like those of a device or a kernel that uses them.
 */
#include <linux/io_uring.h>
#include <linux/mempolicy.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define STEP_BYTES     ((size_t) 4 << 20)
#define NR_BUFFERS_MAX 16384 /* of one ring: io_uring_register(2) */
#define NR_STEPS_MAX   4096

static char *steps[NR_STEPS_MAX];
static size_t nr_steps;

static unsigned long free_kib(unsigned node)
{
	unsigned long kib = 0;
	char path[64], line[128];
	FILE *file;

	(void) snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/meminfo", node);
	file = fopen(path, "re");
	if (!file)
		exit(1);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Node %*u MemFree: %lu kB", &kib) == 1)
			break;
	}
	(void) fclose(file);
	return kib;
}

static void take_step(unsigned node)
{
	unsigned long mask = 1UL << node;
	char *memory = mmap(NULL, STEP_BYTES, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED ||
	    syscall(SYS_mbind, memory, STEP_BYTES, MPOL_BIND, &mask, sizeof(mask) * 8, 0) < 0 ||
	    madvise(memory, STEP_BYTES, MADV_NOHUGEPAGE) < 0 ||
	    madvise(memory, STEP_BYTES, MADV_POPULATE_WRITE) < 0) {
		perror("taking memory");
		exit(1);
	}
	steps[nr_steps++] = memory;
}

static void pin(const struct iovec *buffers, size_t nr)
{
	struct io_uring_params params = { 0 };
	int ring = (int) syscall(SYS_io_uring_setup, 1, &params);

	if (ring < 0 ||
	    syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, buffers, nr) < 0) {
		perror("pinning");
		exit(1);
	}
}

/* What is to be given back must not be pinned: a buffer is what lies between two such pages. */
static void pin_all(size_t every, size_t page_bytes)
{
	static struct iovec buffers[NR_BUFFERS_MAX];
	size_t nr = 0, run_bytes = (every - 1) * page_bytes;

	for (size_t i = 0; i < nr_steps; i++) {
		for (size_t at = 0; at < STEP_BYTES; at += every * page_bytes) {
			buffers[nr++] = (struct iovec){ steps[i] + at, run_bytes };
			if (nr == NR_BUFFERS_MAX) {
				pin(buffers, nr);
				nr = 0;
			}
		}
	}
	if (nr > 0)
		pin(buffers, nr);
}

int main(int argc, char **argv)
{
	size_t page_bytes = (size_t) sysconf(_SC_PAGESIZE), every;
	unsigned long leave_kib;
	unsigned node;

	if (argc < 4)
		return 2;
	node = (unsigned) strtoul(argv[1], NULL, 10);
	leave_kib = strtoul(argv[2], NULL, 10) * 1024;
	every = strtoul(argv[3], NULL, 10);
	if (every < 2 || STEP_BYTES % (every * page_bytes) != 0)
		return 2;

	while (nr_steps < NR_STEPS_MAX && free_kib(node) > leave_kib + STEP_BYTES / 1024)
		take_step(node);
	if (argc > 4)
		pin_all(every, page_bytes);
	for (size_t i = 0; i < nr_steps; i++) {
		for (size_t at = (every - 1) * page_bytes; at < STEP_BYTES;
		     at += every * page_bytes)
			(void) madvise(steps[i] + at, page_bytes, MADV_DONTNEED);
	}
	printf("node %u: %zu MiB in pieces, %lu KiB free\n", node, nr_steps * STEP_BYTES >> 20,
	       free_kib(node));
	(void) fflush(stdout);
	(void) getchar();
	return 0;
}
