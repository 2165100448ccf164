/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * machine.h - what this machine is: nodes, CPUs, distances, memory, page sizes, limits
 *
 * Layer: machine. Threads: main; a probed machine is not changed any more and may then be read by
 * any thread. Everything is read through kernel.h, so a recorded tree gives the same answers as
 * the machine it was taken from.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/idset.h"
#include "../base/scoped.h"
#include "kernel.h"

struct block_record;

#define MACHINE_NODES_MAX      1024 /* MAX_NUMNODES ends here (CONFIG_NODES_SHIFT = 10) */
#define MACHINE_PAGE_SIZES_MAX 16   /* HUGE_MAX_HSTATE is at most 5 today */

/* Kinds of zones that a memory block can be in, as flags. */
#define MACHINE_ZONE_KERNEL  1u /* Normal, DMA32, …: for everything, and not to be unplugged */
#define MACHINE_ZONE_MOVABLE 2u /* for what can be moved away again */

/*
 * A memory block that pools of kind block are about: it is offline, or is on record to have been
 * (block-record.h), whoever brought it online since; and is not left to somebody else.
 */
struct machine_block {
	uint64_t block; /* its number: K of memoryK */
	bool is_online;
	/*
	 * Offline: where it can go, by valid_zones; 0: nowhere. A kernel that does not say (before
	 * 4.10) lets it go anywhere. Online: where it is; 0: the kernel does not say.
	 */
	unsigned zones;
	bool is_movable_by_default; /* offline: "online" alone puts it into Movable */
	bool is_given_up; /* was tried and refused (block-record.h): nothing to count on */
};

/* What one node has of one huge page size. */
struct machine_hugepages {
	uint64_t page_bytes;
	uint64_t nr_pages; /* nr_hugepages of the node, surplus included */
	uint64_t free_pages;
	uint64_t surplus_pages;
};

struct machine_node {
	unsigned node_id; /* as in sysfs; ids may have gaps */

	struct idset cpus;        /* the node's online CPUs */
	struct idset usable_cpus; /* those that this process may run on */
	/*
	 * Where the node's worker runs when usable_cpus is empty: the nearest node with usable
	 * CPUs, by distance, then by id. -1 when the node needs no help, or none can give it.
	 */
	int helper_node_id;

	/* One distance per node of machine.nodes, in the same order (that of the online nodes). */
	unsigned *distances;

	bool is_allowed; /* Mems_allowed contains it */

	/* nr_hugepages cannot be written: a node that came just now, before udev's rule for it */
	bool is_growing_refused;

	/*
	 * What the node has: its online memory blocks; MemTotal where the kernel shows no blocks. A
	 * kernel that initialises page structs lazily shows a MemTotal far below its blocks.
	 */
	uint64_t memory_bytes;
	uint64_t mem_total_bytes; /* MemTotal of the node's meminfo, initialised so far */
	uint64_t available_bytes; /* free, and page cache and slab that can be given back */
	/*
	 * Of memory_bytes, what is set aside for devices (CMA). It is lent to whoever can be moved,
	 * such as our pages; once a device wants it, they are, and to another node if this one has
	 * no room. 0 where it is not for devices but for huge pages (hugetlb_cma=).
	 */
	uint64_t device_bytes;
	/* Last block end - first block start, holes included; memory_bytes without blocks. */
	uint64_t spanned_bytes;
	uint64_t nr_blocks;        /* memory blocks linked from the node */
	uint64_t nr_online_blocks; /* of these, online */
	/* Of all blocks, those that pools of kind block are about; ascending. */
	struct machine_block *candidates;
	size_t nr_candidates;

	/* In the order of machine.page_sizes. */
	struct machine_hugepages hugepages[MACHINE_PAGE_SIZES_MAX];
};

/* Whether shared memory of this process can have transparent huge pages. */
enum machine_thp {
	MACHINE_THP_NONE,  /* no THP in this kernel, or neither a mount nor the knob allows it */
	MACHINE_THP_MEMFD, /* shmem_enabled is neither never nor deny: a memfd will do */
	MACHINE_THP_MOUNT, /* we may mount a tmpfs of our own with huge=always */
};

struct machine {
	uint64_t page_bytes;    /* base page */
	uint64_t block_bytes;   /* memory block; 0 where the kernel shows none */
	uint64_t section_bytes; /* the early budget is rounded up to it: block_bytes, or 128 MiB */
	uint64_t huge_page_bytes; /* the default huge page size (Hugepagesize); 0: none */
	uint64_t thp_bytes;       /* hpage_pmd_size; 0: none */
	enum machine_thp thp;

	uint64_t page_sizes[MACHINE_PAGE_SIZES_MAX]; /* huge page sizes, ascending */
	size_t nr_page_sizes;

	struct machine_node *nodes; /* by ascending node_id: the order of distance columns */
	size_t nr_nodes;

	struct idset online_cpus;
	struct idset allowed_cpus;  /* Cpus_allowed_list of this process */
	struct idset allowed_nodes; /* Mems_allowed_list of this process */

	/*
	 * Ids that a node may come to have while the machine runs (node/possible). Empty where the
	 * kernel does not say.
	 */
	struct idset possible_nodes;

	bool has_swap;           /* any swap area is on */
	bool may_grow_hugepages; /* nr_hugepages can be written, of one node at least */

	/*
	 * The tightest memory limit above this process, for memory that is charged to a cgroup
	 * (base and transparent huge pages; hugetlb pages are not). room_bytes: limit - what is
	 * charged and cannot be given back. UINT64_MAX: no limit. path names the level, "" without
	 * one.
	 */
	uint64_t cgroup_limit_bytes;
	uint64_t cgroup_room_bytes;
	char cgroup_path[256];
};

/*
 * Look at the machine behind @kernel. What the kernel does not show falls back as said at the
 * fields; only a machine without any node or memory information is an error. Takes about 3 µs a
 * memory block; of a thousand blocks and more those are free whose node is online as a whole, and
 * that are not on record.
 *
 * Return: 0 and *ret, which the caller owns; -ENOENT neither nodes nor memory are shown; -ENOMEM;
 * -E2BIG more than MACHINE_NODES_MAX nodes.
 */
int machine_probe(struct kernel *kernel, struct machine **ret);

/* The same, with the blocks of @record (NULL: none) among the candidates where they exist. */
int machine_probe_with(struct kernel *kernel, const struct block_record *record,
                       struct machine **ret);

/* NULL is fine. Return: NULL. */
struct machine *machine_free(struct machine *machine);
DEFINE_SCOPED(struct machine *, machine_free)

/* Return: the node, or NULL when there is none with that id. Borrowed. */
const struct machine_node *machine_node(const struct machine *machine, unsigned node_id);

/* Return: index into page_sizes and machine_node.hugepages; -ENOENT the kernel lacks that size. */
int machine_page_size_index(const struct machine *machine, uint64_t page_bytes);

/*
 * CPUs on which the worker of @node runs: its usable ones, those of its helper, or every allowed
 * CPU when there is neither. Borrowed from @machine.
 */
const struct idset *machine_worker_cpus(const struct machine *machine,
                                        const struct machine_node *node);

/*
 * Read again what changes while we work: free memory of one node. Return: 0 and bytes that could
 * be taken (MemFree + page cache and slab that can be given back); -errno of the read.
 */
int machine_read_available(struct kernel *kernel, unsigned node_id, uint64_t *ret_bytes);
