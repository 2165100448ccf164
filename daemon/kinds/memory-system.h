/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * memory-system.h - the parts that the real memory is put together from
 *
 * Layer: kinds, private to memory.c, memory-file.c, memory-fill.c, memory-verify.c and
 * memory-share.c. Threads: any; memory_probe is written by memory_system_open() only.
 */
#pragma once

#include "memory.h"

/* Values of every architecture; older headers lack them. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

/* What this kernel has. */
struct memory_probe {
	bool has_populate;
	bool has_noexec_seal;
	bool has_shmem_thp; /* a memfd with MADV_HUGEPAGE gets huge pages */
	/* A memfd that was opened once more by way of /proc has a description that is counted. */
	bool has_reopen;
	bool has_use; /* and the kernel says whether that is the only one */
};

extern struct memory_probe memory_probe;

/* --- memory-file.c --- */

/*
 * A file for it, empty: fd and is_sealable are set. Return: 0; -EOPNOTSUPP such pages cannot be had
 * here; -errno.
 */
int memory_file_make(struct memory *memory);

/* Whether fd is such a file, as memory_ops.adopt says; is_sealable is set. */
int memory_file_check(struct memory *memory, enum memory_adopted adopted);

/* Give all its pages back to the kernel, whoever has it open. */
void memory_file_empty(struct memory *memory);

/* Return: 0; -ENODATA less than all of it is there; -errno. */
int memory_file_check_blocks(const struct memory *memory);

/* No more changes of its size. Harmless for one that is sealed. Return: 0; -errno. */
int memory_file_seal(const struct memory *memory);

/* --- memory-fill.c, memory-verify.c, memory-share.c: as memory_ops says --- */

int memory_populate(struct memory *memory, uint64_t offset_bytes, uint64_t bytes);
int memory_discard(struct memory *memory, uint64_t offset_bytes, uint64_t bytes);
int memory_verify(struct memory *memory);
int memory_open_again(const struct memory *memory);
int memory_is_in_use(const struct memory *memory);

/* One more description of @fd, for reading and writing. Return: a descriptor; -errno. */
int memory_reopen(int fd);

/* Have the page tables show all that the file holds. Return: 0; -errno. */
int memory_show_pages(const struct memory *memory);
