/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * block-files.h - where a tree shows the files of its memory blocks, and what they say
 *
 * Layer: machine, inside only. Threads: any, one at a time per struct block_files. A live kernel
 * shows them below MEMORY_DIR/memoryK. A recorded tree may have them below the directory of the
 * node only, and of a block's files no more than "online".
 */
#pragma once

#include "memory-block.h"

enum block_place { BLOCK_STATE, BLOCK_STATE_OF_NODE, BLOCK_ONLINE, BLOCK_ONLINE_OF_NODE };

struct block_files {
	struct kernel *kernel;
	unsigned node_id;       /* the node whose blocks they are */
	enum block_place place; /* where the block before was found: looked at first */
};

/*
 * One read, 3 µs, where the block is where the one before was. Return: 0 and *ret; -ENOENT it is
 * said nowhere; -EINVAL it is none of the words that there are; -errno.
 */
int block_files_state(struct block_files *files, uint64_t block, enum memory_block_state *ret);

/*
 * Add the zones to the state that was read just now. The two files may be read on both sides of a
 * change: where it cannot be told from the zones, the state is read once more, and it is what
 * ret->state says in the end. Return: 0 and *ret; as block_files_state().
 */
int block_files_zones(struct block_files *files, uint64_t block, enum memory_block_state state,
                      struct memory_block *ret);
