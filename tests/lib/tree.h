/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tree.h - the sysfs and procfs files of a machine of tests/data/machines.txt, in a directory
 *
 * For tests only: every function ends the running test where something goes wrong. The directory
 * is below $TMPDIR (or /tmp) and is named by tree->root; give that to kernel_open() or --root.
 *
 * Written are:
 *     /sys/devices/system/node/{online,possible,has_cpu,has_memory,has_normal_memory}
 *     /sys/devices/system/node/nodeN/{cpulist,distance,meminfo,compact}
 *     /sys/devices/system/node/nodeN/memoryK, links to /sys/devices/system/memory/memoryK
 *     /sys/devices/system/node/nodeN/hugepages/hugepages-XkB/{nr,free,surplus}_hugepages
 *     /sys/devices/system/memory/block_size_bytes, memoryK/{state,valid_zones}
 *     /sys/devices/system/cpu/{online,present,possible}
 *     /sys/kernel/mm/hugepages/hugepages-XkB/{nr,free,surplus}_hugepages
 *     /sys/kernel/mm/transparent_hugepage/{enabled,shmem_enabled,hpage_pmd_size}
 *     /proc/{meminfo,swaps,zoneinfo}, /proc/self/{status,cgroup,smaps}
 *     /sys/fs/cgroup/{cgroup.controllers,system.slice/nodeinitd.service/memory.{max,current,stat}}
 *
 * The base page is what /proc/self/smaps gives as KernelPageSize. All memory is free, no swap area
 * is on, the cgroup has no limit, shmem_enabled is "advise".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TREE_NODES_MAX      128
#define TREE_PAGE_SIZES_MAX 4

struct tree_node {
	unsigned node_id;
	unsigned first_cpu;
	unsigned nr_cpus;
	unsigned *distances; /* machine.nr_nodes of them */
	uint64_t memory_bytes;
	uint64_t shown_bytes; /* MemTotal */
	uint64_t spanned_bytes;
	uint64_t early_bytes; /* expected early budget */
	uint64_t first_block; /* number of its lowest block */
};

struct tree_machine {
	char name[64];
	uint64_t page_bytes;
	uint64_t block_bytes;
	uint64_t first_block;
	uint64_t huge_bytes[TREE_PAGE_SIZES_MAX]; /* the default one first */
	size_t nr_huge_sizes;
	char allowed_cpus[64];  /* "": all */
	char allowed_nodes[64]; /* "": all */
	struct tree_node nodes[TREE_NODES_MAX];
	size_t nr_nodes;
};

struct tree {
	char root[256];
	struct tree_machine machine;
};

/* Read one table of machines.txt into *ret; ends with tree_machine_clear(). */
void tree_machine_read(const char *name, struct tree_machine *ret);
void tree_machine_clear(struct tree_machine *machine);

/*
 * A machine that no table has: @nr_nodes alike, from 0 on, with 16 CPUs each and @nr_blocks memory
 * blocks of @block_bytes each, without holes.
 */
void tree_machine_alike(unsigned nr_nodes, uint64_t nr_blocks, uint64_t block_bytes,
                        struct tree_machine *ret);

/* Build the tree of one machine. The caller owns it; tree_free() removes the directory. */
struct tree *tree_new(const char *name);
/* The same for a machine that was read or made; takes over what it owns. */
struct tree *tree_new_of(const struct tree_machine *machine);
struct tree *tree_free(struct tree *tree);

/* Call @each with the name of every table of machines.txt, in order. */
void tree_each_machine(void (*each)(const char *name, void *arg), void *arg);

/* Put @text into the file @format below the root; missing directories are made. */
void tree_write(struct tree *tree, const char *text, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Remove one file or link below the root. */
void tree_remove(struct tree *tree, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Set the "state" of one memory block ("offline"); the others keep theirs. Its valid_zones become
 * "Normal" when it is online, else "Normal Movable". /proc/zoneinfo, which says that all blocks are
 * online, is removed.
 */
void tree_set_block_state(struct tree *tree, uint64_t block, const char *state);

/* Set the "valid_zones" of one memory block ("Movable Normal"); its state stays. */
void tree_set_block_zones(struct tree *tree, uint64_t block, const char *zones);

/* Give one node @nr_pages free huge pages of @page_bytes. */
void tree_set_hugepages(struct tree *tree, unsigned node_id, uint64_t page_bytes,
                        uint64_t nr_pages);

/* Limit the cgroup of the daemon; @current_bytes are charged. UINT64_MAX: no limit. */
void tree_set_cgroup(struct tree *tree, uint64_t limit_bytes, uint64_t current_bytes);

/* Turn a swap area on, or all off with 0. */
void tree_set_swap(struct tree *tree, uint64_t swap_bytes);
