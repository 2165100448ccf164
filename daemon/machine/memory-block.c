/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "memory-block.h"

int memory_block_read(struct kernel *kernel, uint64_t block, struct memory_block *ret)
{
	(void) kernel, (void) block, (void) ret;
	return -ENOENT;
}

int memory_block_online(struct kernel *kernel, uint64_t block, enum memory_block_zone zone)
{
	(void) kernel, (void) block, (void) zone;
	return -ENOENT;
}

bool memory_block_parse(const char *name, uint64_t *ret_block)
{
	(void) name, (void) ret_block;
	return false;
}

int memory_blocks_each(struct kernel *kernel, unsigned node_id,
                       int (*each)(uint64_t block, void *arg), void *arg)
{
	(void) kernel, (void) node_id, (void) each, (void) arg;
	return 0;
}
