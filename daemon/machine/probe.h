/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * probe.h - the steps of machine_probe(), in their order
 *
 * Layer: machine, inside only. Threads: as machine_probe(). Each step fills in its fields of
 * probe->machine; what the kernel does not show is left as the fields of machine.h say.
 * Return of all: 0; -errno of machine_probe().
 */
#pragma once

#include "machine.h"

struct probe {
	struct kernel *kernel;
	struct machine *machine;
	const struct block_record *record; /* NULL: none */
	char text[KERNEL_TEXT_MAX];        /* scratch for whole files */
};

/* nodes.c: nodes, their CPUs, distances and meminfo; possible_nodes, online_cpus */
int probe_nodes(struct probe *probe);

/* limits.c: allowed_cpus, allowed_nodes, is_allowed; has_swap */
int probe_allowed(struct probe *probe);

/* nodes.c: usable_cpus, helper_node_id. Wants the allowed CPUs. */
int probe_usable(struct probe *probe);

/* page-sizes.c: page_bytes, page_sizes, huge_page_bytes, thp; the nodes' huge pages */
int probe_page_sizes(struct probe *probe);

/* blocks.c: block_bytes, section_bytes; the nodes' blocks, memory, span and candidates. Wants
 * page_bytes. */
int probe_blocks(struct probe *probe);

/* device-memory.c: the nodes' memory for devices. Wants nodes and page sizes. */
int probe_device_memory(struct probe *probe);

/* limits.c: cgroup_*; may_grow_hugepages. Wants nodes and page sizes. */
int probe_limits(struct probe *probe);

/* limits.c: whether this process has CAP_SYS_ADMIN; true on a recorded tree. */
bool probe_may_mount(struct probe *probe);

/*
 * Read a file into probe->text. Return: false when it cannot be read, and probe->text is "".
 */
bool probe_text(struct probe *probe, const char *path);

/* machine.c: whether the kernel shows nodes at all. */
bool kernel_has_numa(struct kernel *kernel);

/* nodes.c: what could be taken, out of a node's meminfo or /proc/meminfo. */
uint64_t meminfo_available_bytes(const char *text);

#define NODE_DIR "/sys/devices/system/node"
