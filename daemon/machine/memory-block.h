/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * memory-block.h - one memory block as the kernel's attribute files show it
 *
 * Layer: machine. Threads: any. Source: Documentation/admin-guide/mm/memory-hotplug.rst,
 * drivers/base/memory.c.
 */
#pragma once

#include "machine.h"

#define MEMORY_DIR "/sys/devices/system/memory"

enum memory_block_state {
	MEMORY_BLOCK_OFFLINE,
	MEMORY_BLOCK_ONLINE,
	MEMORY_BLOCK_GOING, /* being taken offline at this moment */
};

/* What is asked for when a block is brought online. */
enum memory_block_zone {
	MEMORY_BLOCK_ANY,     /* "online": the kernel's choice, the first of valid_zones */
	MEMORY_BLOCK_KERNEL,  /* "online_kernel" */
	MEMORY_BLOCK_MOVABLE, /* "online_movable" */
};

struct memory_block {
	enum memory_block_state state;
	unsigned zones;             /* as in struct machine_block */
	bool is_movable_by_default; /* as in struct machine_block */
};

/* Return: 0 and *ret; -ENOENT there is no such block (any more); -errno. */
int memory_block_read(struct kernel *kernel, uint64_t block, struct memory_block *ret);

/*
 * Bring it online. Blocks for as long as the kernel initialises its page structs and puts its pages
 * into the zone: 128 MiB take milliseconds. Success of the call is not yet a fact: read back.
 * Return: 0; -EINVAL the kernel refuses for good (also when it is online already); -EBUSY, -EAGAIN
 * not now; -EACCES, -EPERM, -EROFS not permitted; -ENOENT unplugged; -EHWPOISON; -errno.
 */
int memory_block_online(struct kernel *kernel, uint64_t block, enum memory_block_zone zone);

/*
 * Whether a write to it would be let through: udev's rule has given it to the service's group.
 * Return: 0; -EACCES, -EROFS, -ENOENT, …
 */
int memory_block_may_online(struct kernel *kernel, uint64_t block);

/* Whether @name is that of a block ("memory12"). Return: true and its number. */
bool memory_block_parse(const char *name, uint64_t *ret_block);

/* Call @each for every block of the node, in no order; a value other than 0 ends it and is
 * returned. Return: 0; -ENOENT no such node; -errno. */
int memory_blocks_each(struct kernel *kernel, unsigned node_id,
                       int (*each)(uint64_t block, void *arg), void *arg);
