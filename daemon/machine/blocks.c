/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>

#include "../base/size.h"
#include "block-files.h"
#include "block-record.h"
#include "probe.h"

/* Where the kernel shows no blocks: the section of most architectures (SECTION_SIZE_BITS = 27). */
#define USUAL_SECTION_BYTES (128 * MIB)

/* One node's directory while it is walked. */
struct walk {
	struct block_files files;
	const struct block_record *record; /* NULL: none */
	struct machine_node *node;
	uint64_t first_block;
	uint64_t end_block;
	size_t nr_rooms; /* candidates that there is memory for */
};

static int add_candidate(struct walk *walk, const struct machine_block *candidate)
{
	struct machine_node *node = walk->node;

	if (node->nr_candidates == walk->nr_rooms) {
		size_t nr_rooms = walk->nr_rooms ? 2 * walk->nr_rooms : 64;
		struct machine_block *candidates =
			reallocarray(node->candidates, nr_rooms, sizeof(*candidates));

		if (!candidates)
			return -ENOMEM;
		node->candidates = candidates;
		walk->nr_rooms = nr_rooms;
	}
	node->candidates[node->nr_candidates++] = *candidate;
	return 0;
}

/* @state: what was read of the block just now; it may have changed since. */
static int judge_candidate(struct walk *walk, uint64_t block, enum memory_block_state *state)
{
	struct block_record_entry entry = { 0 };
	struct memory_block found;
	bool is_on_record;

	is_on_record = walk->record && block_record_find(walk->record, block, &entry);
	if (entry.is_left)
		return 0;
	if (!is_on_record && *state != MEMORY_BLOCK_OFFLINE)
		return 0;
	/* Unplugged by now: nothing is left of it but what was counted. */
	if (block_files_zones(&walk->files, block, *state, &found) < 0)
		return 0;
	*state = found.state;
	if (!is_on_record && *state != MEMORY_BLOCK_OFFLINE)
		return 0;
	return add_candidate(walk, &(struct machine_block){
					   .block = block,
					   .is_online = *state == MEMORY_BLOCK_ONLINE,
					   .zones = found.zones,
					   .is_movable_by_default = found.is_movable_by_default,
					   .is_given_up = entry.is_given_up,
				   });
}

/*
 * One file a block that is online and not on record, about 3 µs each: there are 131 072 of them on
 * a large machine. A block that does not tell its state is online, as on kernels without hotplug.
 */
static int take_block(uint64_t block, void *arg)
{
	struct walk *walk = arg;
	struct machine_node *node = walk->node;
	enum memory_block_state state;
	int r;

	if (node->nr_blocks == 0 || block < walk->first_block)
		walk->first_block = block;
	if (node->nr_blocks == 0 || block >= walk->end_block)
		walk->end_block = block + 1;
	node->nr_blocks++;
	r = block_files_state(&walk->files, block, &state);
	if (r == -EINVAL) /* a word that is not known is not that for "online" */
		return 0;
	if (r == 0) {
		r = judge_candidate(walk, block, &state);
		if (r < 0)
			return r;
	} else {
		state = MEMORY_BLOCK_ONLINE;
	}
	if (state == MEMORY_BLOCK_ONLINE)
		node->nr_online_blocks++;
	return 0;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct machine_block *one = a, *other = b;

	return (one->block > other->block) - (one->block < other->block);
}

static int read_blocks(struct probe *probe, struct machine_node *node)
{
	struct walk walk = {
		.files = { .kernel = probe->kernel, .node_id = node->node_id },
		.record = probe->record,
		.node = node,
	};
	uint64_t block_bytes = probe->machine->block_bytes;

	if (block_bytes &&
	    memory_blocks_each(probe->kernel, node->node_id, take_block, &walk) == -ENOMEM)
		return -ENOMEM;
	if (node->nr_blocks == 0) {
		node->memory_bytes = node->mem_total_bytes;
		node->spanned_bytes = node->mem_total_bytes;
		return 0;
	}
	if (node->nr_candidates)
		qsort(node->candidates, node->nr_candidates, sizeof(*node->candidates),
		      compare_blocks);
	node->memory_bytes = bytes_mul(node->nr_online_blocks, block_bytes);
	node->spanned_bytes = bytes_mul(walk.end_block - walk.first_block, block_bytes);
	return 0;
}

int probe_blocks(struct probe *probe)
{
	struct machine *machine = probe->machine;

	/* Hexadecimal, without 0x. */
	if (probe_text(probe, MEMORY_DIR "/block_size_bytes"))
		machine->block_bytes = strtoull(probe->text, NULL, 16);
	machine->section_bytes = machine->block_bytes ? machine->block_bytes : USUAL_SECTION_BYTES;
	for (size_t i = 0; i < machine->nr_nodes; i++) {
		int r = read_blocks(probe, &machine->nodes[i]);

		if (r < 0)
			return r;
	}
	return 0;
}
