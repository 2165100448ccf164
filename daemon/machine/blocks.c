/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "../base/size.h"
#include "probe.h"

#define MEMORY_DIR "/sys/devices/system/memory"

/* Where the kernel shows no blocks: the section of most architectures (SECTION_SIZE_BITS = 27). */
#define USUAL_SECTION_BYTES (128 * MIB)

/* Files that tell whether a block is online, and what they say when it is not. */
enum place { BY_STATE, BY_STATE_OF_NODE, BY_ONLINE, BY_ONLINE_OF_NODE, NR_PLACES };

/* One node's directory while it is walked. */
struct walk {
	struct kernel *kernel;
	struct machine_node *node;
	uint64_t first_block;
	uint64_t end_block;
	enum place place; /* where the block before was found: try there first */
};

/* Block numbers are decimal; "memory_failure" and "meminfo" lie beside them. */
static bool is_block(const char *name, uint64_t *ret_block)
{
	static const char prefix[] = "memory";
	uint64_t block = 0;

	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return false;
	name += strlen(prefix);
	if (*name == '\0')
		return false;
	for (; *name; name++) {
		if (*name < '0' || *name > '9' ||
		    __builtin_mul_overflow(block, UINT64_C(10), &block) ||
		    __builtin_add_overflow(block, (uint64_t) (*name - '0'), &block))
			return false;
	}
	*ret_block = block;
	return true;
}

static int read_place(const struct walk *walk, const char *name, enum place place, char *text,
                      size_t text_bytes)
{
	const char *file = place == BY_STATE || place == BY_STATE_OF_NODE ? "state" : "online";
	char path[320];
	int nr_chars;

	if (place == BY_STATE || place == BY_ONLINE)
		nr_chars = snprintf(path, sizeof(path), MEMORY_DIR "/%s/%s", name, file);
	else
		nr_chars = snprintf(path, sizeof(path), NODE_DIR "/node%u/%s/%s",
		                    walk->node->node_id, name, file);
	if (nr_chars < 0 || (size_t) nr_chars >= sizeof(path))
		return -ENAMETOOLONG;
	return walk->kernel->ops->read(walk->kernel, path, text, text_bytes);
}

/*
 * One file a block, about 3 µs each: there are 131 072 of them on a large machine, and all of a
 * tree tell it in the same place. A block that tells it nowhere is online, as on kernels without
 * hotplug.
 */
static bool is_online(struct walk *walk, const char *name)
{
	char text[32];

	if (read_place(walk, name, walk->place, text, sizeof(text)) < 0) {
		enum place place = 0;

		while (place < NR_PLACES && (place == walk->place ||
		                             read_place(walk, name, place, text, sizeof(text)) < 0))
			place++;
		if (place == NR_PLACES)
			return true;
		walk->place = place;
	}
	/* "online" and "1"; not "offline", "going-offline" (still in use, but about to go), "0". */
	return strncmp(text, "online", strlen("online")) == 0 || text[0] == '1';
}

static int take_block(const char *name, void *arg)
{
	struct walk *walk = arg;
	struct machine_node *node = walk->node;
	uint64_t block;

	if (!is_block(name, &block))
		return 0;
	if (node->nr_blocks == 0 || block < walk->first_block)
		walk->first_block = block;
	if (node->nr_blocks == 0 || block >= walk->end_block)
		walk->end_block = block + 1;
	node->nr_blocks++;
	if (is_online(walk, name))
		node->nr_online_blocks++;
	return 0;
}

static void read_blocks(struct probe *probe, struct machine_node *node)
{
	struct walk walk = { .kernel = probe->kernel, .node = node, .place = BY_STATE };
	uint64_t block_bytes = probe->machine->block_bytes;
	char path[64];

	if (block_bytes) {
		(void) snprintf(path, sizeof(path), NODE_DIR "/node%u", node->node_id);
		(void) probe->kernel->ops->list(probe->kernel, path, take_block, &walk);
	}
	if (node->nr_blocks == 0) {
		node->memory_bytes = node->mem_total_bytes;
		node->spanned_bytes = node->mem_total_bytes;
		return;
	}
	node->memory_bytes = bytes_mul(node->nr_online_blocks, block_bytes);
	node->spanned_bytes = bytes_mul(walk.end_block - walk.first_block, block_bytes);
}

int probe_blocks(struct probe *probe)
{
	struct machine *machine = probe->machine;

	/* Hexadecimal, without 0x. */
	if (probe_text(probe, MEMORY_DIR "/block_size_bytes"))
		machine->block_bytes = strtoull(probe->text, NULL, 16);
	machine->section_bytes = machine->block_bytes ? machine->block_bytes : USUAL_SECTION_BYTES;
	for (size_t i = 0; i < machine->nr_nodes; i++)
		read_blocks(probe, &machine->nodes[i]);
	return 0;
}
