/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "block-files.h"
#include "probe.h"

/* Looking for the node of a block that a recorded tree does not show below MEMORY_DIR. */
struct search {
	struct block_files files;
	uint64_t block;
	struct memory_block found;
};

static int read_block(struct block_files *files, uint64_t block, struct memory_block *ret)
{
	enum memory_block_state state;
	int r = block_files_state(files, block, &state);

	return r < 0 ? r : block_files_zones(files, block, state, ret);
}

static int search_node(const char *name, void *arg)
{
	struct search *search = arg;
	char end;

	if (sscanf(name, "node%u%c", &search->files.node_id, &end) != 1)
		return 0;
	return read_block(&search->files, search->block, &search->found) == 0;
}

int memory_block_read(struct kernel *kernel, uint64_t block, struct memory_block *ret)
{
	struct search search = { .files = { .kernel = kernel }, .block = block };
	int r;

	/* Node 0 is as good as any: a live kernel has no need of it. */
	r = read_block(&search.files, block, ret);
	if (r != -ENOENT || kernel->is_live)
		return r;
	if (kernel->ops->list(kernel, NODE_DIR, search_node, &search) <= 0)
		return -ENOENT;
	*ret = search.found;
	return 0;
}

static void state_path(uint64_t block, char *path, size_t path_bytes)
{
	(void) snprintf(path, path_bytes, MEMORY_DIR "/memory%" PRIu64 "/state", block);
}

int memory_block_online(struct kernel *kernel, uint64_t block, enum memory_block_zone zone)
{
	static const char *const words[] = {
		[MEMORY_BLOCK_ANY] = "online",
		[MEMORY_BLOCK_KERNEL] = "online_kernel",
		[MEMORY_BLOCK_MOVABLE] = "online_movable",
	};
	char path[96];

	state_path(block, path, sizeof(path));
	return kernel->ops->write(kernel, path, words[zone]);
}

int memory_block_may_online(struct kernel *kernel, uint64_t block)
{
	char path[96];

	state_path(block, path, sizeof(path));
	return kernel->ops->may_write(kernel, path);
}

/* Numbers are decimal; "memory_failure" and "meminfo" lie beside the blocks. */
bool memory_block_parse(const char *name, uint64_t *ret_block)
{
	static const char prefix[] = "memory";
	uint64_t block = 0;

	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return false;
	name += strlen(prefix);
	if (*name == '\0' || (name[0] == '0' && name[1] != '\0'))
		return false;
	for (; *name; name++) {
		if (*name < '0' || *name > '9' ||
		    __builtin_mul_overflow(block, UINT64_C(10), &block) ||
		    __builtin_add_overflow(block, (uint64_t) (*name - '0'), &block))
			return false;
	}
	/* The block behind it has a number, too: ends of ranges do not wrap. */
	if (block == UINT64_MAX)
		return false;
	*ret_block = block;
	return true;
}

struct each {
	int (*each)(uint64_t block, void *arg);
	void *arg;
};

static int take_entry(const char *name, void *arg)
{
	const struct each *each = arg;
	uint64_t block;

	return memory_block_parse(name, &block) ? each->each(block, each->arg) : 0;
}

int memory_blocks_each(struct kernel *kernel, unsigned node_id,
                       int (*each)(uint64_t block, void *arg), void *arg)
{
	struct each walk = { .each = each, .arg = arg };
	char path[64];

	(void) snprintf(path, sizeof(path), NODE_DIR "/node%u", node_id);
	return kernel->ops->list(kernel, path, take_entry, &walk);
}
