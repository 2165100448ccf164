/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bare loop: bring memory into service with nothing around it.
 *
 *     populate PAGE THREADS BYTES FILE_BYTES NODE
 *
 * PAGE 2M, 1G: memfds of huge pages. base: memfds of ordinary pages. Both populated by madvise in
 * chunks of 64 MiB, or a page, which the threads take from one cursor over all files, of FILE_BYTES
 * each. thp: files of a tmpfs with huge=always, one a thread, filled by write(2) of 2 MiB of
 * zeroes. stores: what the memory takes, ordinary stores that bypass the caches into memory that is
 * there.
 *
 * Prints the seconds from the beginning of main, for stores only those of the stores. Exit 77 with
 * a sentence where that kind cannot be had.
 */
#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "kinds/thp-mount.h"

#define MIB         ((uint64_t) 1 << 20)
#define CHUNK_BYTES (64 * MIB)
#define WRITE_BYTES (2 * MIB)
#define THREADS_MAX 1024
/* Stores are too fast to be timed once. */
#define STORE_ROUNDS 4

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#define HUGE_SHIFT 26 /* MFD_HUGE_SHIFT */

struct file {
	char *address;
	int fd;
};

static struct {
	unsigned node_id, nr_threads;
	uint64_t bytes, file_bytes, chunk_bytes;
	struct file *files;
	atomic_uint_fast64_t
		next; /* the cursor, of every thread: bytes of all files, or a file's index */
} work;

/* In .bss: all its pages are the kernel's one page of zeroes, and stay in the first cache. */
static char zeroes[WRITE_BYTES];

static void fail(const char *what)
{
	int status = errno == EPERM || errno == EINVAL || errno == EOPNOTSUPP ? 77 : 1;

	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(status);
}

static double now_seconds(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static struct file file_new(unsigned flags)
{
	struct bitmask *nodes = numa_allocate_nodemask();
	struct file file = { .fd = memfd_create("bench", MFD_CLOEXEC | flags) };

	if (file.fd < 0 || ftruncate(file.fd, (off_t) work.file_bytes) < 0)
		fail("a memfd");
	file.address = mmap(NULL, work.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
	if (file.address == MAP_FAILED)
		fail("mmap");
	numa_bitmask_setbit(nodes, work.node_id);
	if (numa_available() >= 0 &&
	    mbind(file.address, work.file_bytes, MPOL_BIND, nodes->maskp, nodes->size + 1, 0) < 0)
		fail("mbind");
	numa_bitmask_free(nodes);
	return file;
}

static void *populate_chunks(void *unused)
{
	uint64_t at_bytes;

	while ((at_bytes = atomic_fetch_add(&work.next, work.chunk_bytes)) < work.bytes) {
		char *address =
			work.files[at_bytes / work.file_bytes].address + at_bytes % work.file_bytes;

		while (madvise(address, work.chunk_bytes, MADV_POPULATE_WRITE) < 0)
			if (errno != EINTR && errno != EAGAIN)
				fail("populate");
	}
	return unused;
}

static void *write_file(void *unused)
{
	int fd = work.files[atomic_fetch_add(&work.next, 1)].fd;

	for (uint64_t at_bytes = 0; at_bytes < work.file_bytes; at_bytes += WRITE_BYTES)
		if (pwrite(fd, zeroes, WRITE_BYTES, (off_t) at_bytes) != (ssize_t) WRITE_BYTES)
			fail("pwrite");
	return unused;
}

static void *store_chunks(void *unused)
{
#ifdef __SSE2__
	const __m128i zero = _mm_setzero_si128();
	uint64_t at_bytes;

	while ((at_bytes = atomic_fetch_add(&work.next, work.chunk_bytes)) <
	       STORE_ROUNDS * work.bytes) {
		__m128i *to = (__m128i *) (void *) (work.files[0].address + at_bytes % work.bytes);

		for (uint64_t i = 0; i < work.chunk_bytes / sizeof(zero); i++)
			_mm_stream_si128(to + i, zero);
		_mm_sfence();
	}
#endif
	return unused;
}

static void run(void *(*function)(void *) )
{
	pthread_t threads[THREADS_MAX];

	for (unsigned i = 1; i < work.nr_threads; i++)
		if (pthread_create(&threads[i], NULL, function, NULL) != 0)
			fail("a thread");
	(void) function(NULL);
	for (unsigned i = 1; i < work.nr_threads; i++)
		(void) pthread_join(threads[i], NULL);
}

static void populate(unsigned flags, uint64_t page_bytes)
{
	uint64_t nr_files = work.bytes / work.file_bytes;

	work.chunk_bytes = page_bytes > CHUNK_BYTES ? page_bytes : CHUNK_BYTES;
	if (work.file_bytes % work.chunk_bytes != 0)
		work.chunk_bytes = page_bytes;
	work.files = calloc(nr_files, sizeof(*work.files));
	if (!work.files)
		fail("files");
	for (uint64_t i = 0; i < nr_files; i++)
		work.files[i] = file_new(flags);
	run(populate_chunks);
}

/*
 * Whether the files are made of huge pages, as was asked for: where memory is fragmented they are
 * not, and the time is that of other work.
 */
static void check_huge(void)
{
	char *address = mmap(NULL, work.file_bytes + WRITE_BYTES, PROT_NONE,
	                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned long kib, huge_kib = 0;
	char line[256];
	FILE *smaps;

	if (address == MAP_FAILED)
		fail("mmap");
	address += -(uintptr_t) address % WRITE_BYTES;
	for (unsigned i = 0; i < work.nr_threads; i++) {
		if (mmap(address, work.file_bytes, PROT_READ, MAP_SHARED | MAP_FIXED,
		         work.files[i].fd, 0) == MAP_FAILED)
			fail("mmap");
		for (uint64_t at_bytes = 0; at_bytes < work.file_bytes; at_bytes += WRITE_BYTES)
			(void) *(volatile char *) (address + at_bytes);
		smaps = fopen("/proc/self/smaps", "re");
		if (!smaps)
			fail("smaps");
		while (fgets(line, sizeof(line), smaps))
			if (sscanf(line, "ShmemPmdMapped: %lu", &kib) == 1)
				huge_kib += kib;
		(void) fclose(smaps);
	}
	if (huge_kib < work.nr_threads * (work.file_bytes >> 10)) {
		fprintf(stderr, "memory is too fragmented: %lu MiB came as huge pages\n",
		        huge_kib >> 10);
		exit(77);
	}
}

static void populate_thp(void)
{
	work.file_bytes = work.bytes / work.nr_threads / WRITE_BYTES * WRITE_BYTES;
	work.files = calloc(work.nr_threads, sizeof(*work.files));
	if (!work.files)
		fail("files");
	for (unsigned i = 0; i < work.nr_threads; i++) {
		int fd = thp_mount_file(work.node_id);

		if (fd < 0) {
			errno = -fd;
			fail("a tmpfs of huge pages");
		}
		if (ftruncate(fd, (off_t) work.file_bytes) < 0)
			fail("ftruncate");
		work.files[i].fd = fd;
	}
	run(write_file);
}

/* Return: seconds for as many bytes as are there. */
static double store(void)
{
	static struct file file;
	double begun_seconds;

#ifndef __SSE2__
	fprintf(stderr, "no such stores on this architecture\n");
	exit(77);
#endif
	file.address = mmap(NULL, work.bytes + WRITE_BYTES, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (file.address == MAP_FAILED)
		fail("mmap");
	file.address += -(uintptr_t) file.address % WRITE_BYTES;
	(void) madvise(file.address, work.bytes, MADV_HUGEPAGE);
	memset(file.address, 1, work.bytes);
	work.files = &file;
	work.chunk_bytes = WRITE_BYTES;
	begun_seconds = now_seconds();
	run(store_chunks);
	return (now_seconds() - begun_seconds) / STORE_ROUNDS;
}

int main(int argc, char **argv)
{
	double begun_seconds = now_seconds(), seconds = 0;
	uint64_t page_bytes = argc == 6 && strcmp(argv[1], "1G") == 0 ? 1024 * MIB : 2 * MIB;
	unsigned shift = page_bytes == 2 * MIB ? 21 : 30;

	if (argc != 6) {
		fprintf(stderr, "usage: populate PAGE THREADS BYTES FILE_BYTES NODE\n");
		return 2;
	}
	work.nr_threads = (unsigned) strtoul(argv[2], NULL, 10);
	work.bytes = strtoull(argv[3], NULL, 10);
	work.file_bytes = strtoull(argv[4], NULL, 10);
	work.node_id = (unsigned) strtoul(argv[5], NULL, 10);
	if (work.nr_threads == 0 || work.nr_threads > THREADS_MAX || work.bytes == 0 ||
	    work.file_bytes == 0 || work.bytes % work.file_bytes != 0 ||
	    work.file_bytes % page_bytes != 0) {
		fprintf(stderr, "populate: bytes have to be whole files of whole pages\n");
		return 2;
	}
	if (numa_available() >= 0)
		(void) numa_run_on_node((int) work.node_id);

	if (strcmp(argv[1], "stores") == 0)
		seconds = store();
	else if (strcmp(argv[1], "thp") == 0)
		populate_thp();
	else if (strcmp(argv[1], "base") == 0)
		populate(0, 2 * MIB);
	else
		populate(MFD_HUGETLB | shift << HUGE_SHIFT, page_bytes);
	if (seconds <= 0)
		seconds = now_seconds() - begun_seconds;
	if (strcmp(argv[1], "thp") == 0)
		check_huge();
	printf("%.6f\n", seconds);
	return 0;
}
