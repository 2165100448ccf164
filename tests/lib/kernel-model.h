/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * kernel-model.h - a scripted kernel behind machine/kernel.h
 *
 * Threads: any; one mutex inside. It keeps NUMA nodes with their huge page pools in memory and
 * does with a write to nodeN/hugepages/…/nr_hugepages what set_max_huge_pages() in mm/hugetlb.c
 * does, the arithmetic over surplus pages of other nodes included. On top of that it can be told
 * to run short, to be fragmented, to let a second writer in, to refuse, and it counts what it is
 * asked to do. Everything else (/proc/self/cgroup, /proc/swaps, …) is a text file that the test
 * puts there. A text file put at a path of the model takes precedence over it.
 *
 * Files of the model: /proc/meminfo, /sys/devices/system/cpu/online, /sys/devices/system/node/
 * online and nodeN/{cpulist,distance,meminfo,compact}, nodeN/hugepages/hugepages-*kB/ and
 * /sys/kernel/mm/hugepages/hugepages-*kB/ {nr,free,surplus}_hugepages.
 *
 * Functions that name a node or page size which was not added end the test (ck_abort).
 */
#pragma once

#include <stdint.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/machine/hugepages.h"
#include "../../daemon/machine/kernel.h"

struct kernel_model;

/* A kernel without nodes, page sizes and files. Never NULL (out of memory ends the test). */
struct kernel_model *kernel_model_new(void);
struct kernel_model *kernel_model_free(struct kernel_model *model);
DEFINE_SCOPED(struct kernel_model *, kernel_model_free)

/* The door to it. Borrowed; valid until kernel_model_free(). is_live is false. */
struct kernel *kernel_model_kernel(struct kernel_model *model);

/*
 * Add a node with @memory_bytes, all of it free. @cpulist as in sysfs, "" for none. Nodes may be
 * added in any order; distances are 10 to itself and 20 to others.
 */
void kernel_model_add_node(struct kernel_model *model, unsigned node_id, const char *cpulist,
                           uint64_t memory_bytes);

/* Every node, also one that is added later, has pools of @page_bytes. The first is the default. */
void kernel_model_add_page_size(struct kernel_model *model, uint64_t page_bytes);

/* Put a text file at @path, or replace it. */
void kernel_model_set_file(struct kernel_model *model, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A copy of the text file at @path, to be freed by the caller; NULL when there is none. */
char *kernel_model_file(struct kernel_model *model, const char *path);

/* From now on nothing is at @path nor below it, as on a kernel that lacks the attribute. */
void kernel_model_hide(struct kernel_model *model, const char *path);

/* MemFree of the node. Huge pages that are added take from it, those that go give back. */
void kernel_model_set_free_bytes(struct kernel_model *model, unsigned node_id, uint64_t bytes);
uint64_t kernel_model_free_bytes(struct kernel_model *model, unsigned node_id);

/* Set the pool as it is, MemFree untouched. @count.surplus_pages are within nr_pages. */
void kernel_model_set_pages(struct kernel_model *model, unsigned node_id, uint64_t page_bytes,
                            struct hugepages_count count);
struct hugepages_count kernel_model_pages(struct kernel_model *model, unsigned node_id,
                                          uint64_t page_bytes);

/*
 * Somebody maps @nr_pages of the node's free huge pages (negative: gives them back).
 * Return: 0; -ENOMEM there are not as many free (or in use).
 */
int kernel_model_use_pages(struct kernel_model *model, unsigned node_id, uint64_t page_bytes,
                           int64_t nr_pages);

/*
 * Behaviour of one node and page size. A write succeeds whatever comes of it, as the kernel does,
 * unless it is told to refuse. What is not said is unlimited.
 */

/*
 * Fragmented: of the free bytes only @nr_pages can still become pages; each of the next
 * compactions of the node makes @per_compaction more. They are in addition to MemFree, not
 * instead: without free bytes nothing comes.
 */
void kernel_model_fragment(struct kernel_model *model, unsigned node_id, uint64_t page_bytes,
                           uint64_t nr_pages, uint64_t per_compaction);

/* One write adds at most @nr_pages, as when a signal or the allocator cuts it short. */
void kernel_model_limit_write(struct kernel_model *model, unsigned node_id, uint64_t page_bytes,
                              uint64_t nr_pages);

/*
 * The next @nr_writes bring nothing. @error 0: and report success; else they return -@error, such
 * as EINTR.
 */
void kernel_model_fail_writes(struct kernel_model *model, unsigned node_id, uint64_t page_bytes,
                              unsigned nr_writes, int error);

/*
 * A second writer: right after each of our next @nr_times writes (UINT_MAX: always) the node's
 * pool is set to @nr_pages by the rules of the kernel. Its writes are not counted.
 */
void kernel_model_add_rival(struct kernel_model *model, unsigned node_id, uint64_t page_bytes,
                            uint64_t nr_pages, unsigned nr_times);

/* All writes below @path, and may_write, answer -@error (EACCES, EROFS, EINVAL); 0: no more. */
void kernel_model_refuse(struct kernel_model *model, const char *path, int error);

/*
 * Called before each write is carried out, on the writer's thread, without the lock: to block it,
 * or to change the model. NULL: none. Set it before other threads write.
 */
typedef void (*kernel_model_write_fn)(struct kernel_model *model, const char *path,
                                      const char *text, void *arg);
void kernel_model_on_write(struct kernel_model *model, kernel_model_write_fn fn, void *arg);

/* Writes that were tried at @path exactly, refused ones included. NULL: anywhere. */
unsigned kernel_model_nr_writes(struct kernel_model *model, const char *path);
/* The same for nr_hugepages of the node. */
unsigned kernel_model_nr_page_writes(struct kernel_model *model, unsigned node_id,
                                     uint64_t page_bytes);
unsigned kernel_model_nr_compactions(struct kernel_model *model, unsigned node_id);
