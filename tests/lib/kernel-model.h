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
 * Once kernel_model_set_block_bytes() was called it has memory blocks too: memory/block_size_bytes
 * and memory/memoryK/{state,online,valid_zones}, the same below nodeN/memoryK.
 *
 * Functions that name a node, page size or block which was not added end the test (ck_abort).
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

/* Reads of the file at @path answer -@error (EIO; ENODEV: unplugged while it is open); 0: no more.
 */
void kernel_model_refuse_reads(struct kernel_model *model, const char *path, int error);

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

/* --- kernel-model-blocks.c: memory blocks --- */

enum model_block_state { MODEL_BLOCK_OFFLINE, MODEL_BLOCK_ONLINE, MODEL_BLOCK_GOING };

/* Where a block can go (valid_zones), as flags; 0: "none". */
#define MODEL_ZONE_NORMAL  1u
#define MODEL_ZONE_MOVABLE 2u
#define MODEL_ZONE_MOVABLE_FIRST                                        \
	4u /* "online" alone puts it into Movable, if it can go to both \
	    */

/* What somebody else does to a block. To one that it does not fit (online already) it does nothing.
 */
enum model_deed {
	MODEL_ONLINES_NORMAL, /* whatever its zones */
	MODEL_ONLINES_MOVABLE,
	MODEL_OFFLINES,
	MODEL_BEGINS_TO_OFFLINE, /* "going-offline", until another deed */
	MODEL_UNPLUGS,           /* its files vanish */
};

/* When: between our look and our next write to it, or between that write and our next look. */
enum model_moment { MODEL_BEFORE_WRITE, MODEL_AFTER_WRITE };

void kernel_model_set_block_bytes(struct kernel_model *model, uint64_t block_bytes);

/*
 * Plug in a block of the node, offline. MemTotal and MemFree of the node grow by it when it is
 * brought online, and fall when it is taken offline. May be called at any time (a late dimm).
 */
void kernel_model_add_block(struct kernel_model *model, unsigned node_id, uint64_t number,
                            unsigned zones);

/* Now; not counted as a write. */
void kernel_model_do_block(struct kernel_model *model, uint64_t number, enum model_deed deed);
/* At that moment of our next write to it, once. */
void kernel_model_add_block_rival(struct kernel_model *model, uint64_t number,
                                  enum model_moment moment, enum model_deed deed);
void kernel_model_set_block_zones(struct kernel_model *model, uint64_t number, unsigned zones);

/*
 * The next @nr_writes (UINT_MAX: all) to it bring nothing. @error 0: and report success; else they
 * return -@error (EBUSY, EAGAIN, EINVAL, EHWPOISON, …).
 */
void kernel_model_fail_block(struct kernel_model *model, uint64_t number, unsigned nr_writes,
                             int error);

enum model_block_state kernel_model_block_state(struct kernel_model *model, uint64_t number);
/* The zone that it is in; 0 while it is offline. */
unsigned kernel_model_block_zone(struct kernel_model *model, uint64_t number);

/* Writes to blocks that reached one, in their order; *ret_word is borrowed until the next write. */
unsigned kernel_model_nr_block_writes(struct kernel_model *model);
uint64_t kernel_model_block_write(struct kernel_model *model, size_t i, const char **ret_word);
