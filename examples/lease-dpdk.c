/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Packet buffers in leased memory: a DPDK heap of what "meminitctl lease" hands over.
 *     cc lease-dpdk.c -o lease-dpdk $(pkg-config --cflags --libs libdpdk)
 *     meminitctl lease packets 64M -- ./lease-dpdk --iova-mode=va */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#define MEMORY_FD 3
#define HEAP      "leased"

/* Return: the heap's socket id, for every call of DPDK that takes one; < 0: errno is in rte_errno.
 */
static int make_heap(char **ret_memory, size_t *ret_bytes)
{
	struct statfs fs;
	struct stat file;
	size_t page_bytes, nr_pages;
	rte_iova_t *addresses;
	char *memory;
	int r;

	if (fstat(MEMORY_FD, &file) < 0 || fstatfs(MEMORY_FD, &fs) < 0)
		return -1;
	page_bytes = (size_t) fs.f_bsize; /* of hugetlb pages the huge page, else the base page */
	nr_pages = (size_t) file.st_size / page_bytes;
	memory = mmap(NULL, file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, MEMORY_FD, 0);
	addresses = calloc(nr_pages, sizeof(*addresses));
	if (memory == MAP_FAILED || !addresses)
		return -1;
	for (size_t i = 0; i < nr_pages; i++)
		addresses[i] = (rte_iova_t) (uintptr_t) (memory + i * page_bytes);
	r = rte_malloc_heap_create(HEAP);
	if (r == 0)
		r = rte_malloc_heap_memory_add(HEAP, memory, file.st_size, addresses, nr_pages,
		                               page_bytes);
	free(addresses);
	*ret_memory = memory;
	*ret_bytes = file.st_size;
	return r < 0 ? r : rte_malloc_heap_get_socket(HEAP);
}

int main(int argc, char **argv)
{
	struct rte_mempool *pool;
	struct rte_mbuf *packet;
	char *memory, *data;
	size_t bytes;
	int socket;

	if (rte_eal_init(argc, argv) < 0)
		return 1;
	socket = make_heap(&memory, &bytes);
	pool = socket < 0 ? NULL
	                  : rte_pktmbuf_pool_create("packets", 4095, 0, 0,
	                                            RTE_MBUF_DEFAULT_BUF_SIZE, socket);
	packet = pool ? rte_pktmbuf_alloc(pool) : NULL;
	if (!packet) {
		fprintf(stderr, "no packets in leased memory: %s\n", rte_strerror(rte_errno));
		return 1;
	}
	data = rte_pktmbuf_mtod(packet, char *);
	printf("a packet at %zu of %zu leased bytes, socket %d\n", (size_t) (data - memory), bytes,
	       socket);
	return data >= memory && data < memory + bytes ? 0 : 1;
}
