/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Touch so many bytes of memory and end: warm BYTES
 *
 * The host of a virtual machine takes back what its guest has not used for a while; the next first
 * touch is then slow. Afterwards the memory is free in the guest, and there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	size_t bytes = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	void *memory;

	if (bytes == 0) {
		fprintf(stderr, "usage: warm BYTES\n");
		return 2;
	}
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		fprintf(stderr, "warm: %s\n", strerror(errno));
		return 1;
	}
	(void) madvise(memory, bytes, MADV_HUGEPAGE);
	memset(memory, 1, bytes);
	return 0;
}
