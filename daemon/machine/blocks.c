/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/size.h"
#include "block-files.h"
#include "block-record.h"
#include "probe.h"
#include "zone-info.h"

/* Where the kernel shows no blocks: the section of most architectures
 * (SECTION_SIZE_BITS = 27). */
#define USUAL_SECTION_BYTES (128 * MIB)

/* So many blocks that one look at /proc/zoneinfo is worth it (some milliseconds
 * at the most). */
#define MANY_BLOCKS 1024

/* The blocks of one node. */
struct list {
	uint64_t *blocks; /* ascending, once sorted */
	size_t nr;
	size_t nr_rooms;
	uint64_t present_bytes; /* of the memory that is online; 0: not known */
};

/* One node while its blocks are looked at. */
struct walk {
	struct block_files files;
	const struct block_record *record; /* NULL: none */
	struct machine_node *node;
	size_t nr_rooms; /* candidates that there is memory for */
};

static int add_block(uint64_t block, void *arg)
{
	struct list *list = arg;

	if (list->nr == list->nr_rooms) {
		size_t nr_rooms = list->nr_rooms ? 2 * list->nr_rooms : 64;
		uint64_t *blocks = reallocarray(list->blocks, nr_rooms, sizeof(*blocks));

		if (!blocks)
			return -ENOMEM;
		list->blocks = blocks;
		list->nr_rooms = nr_rooms;
	}
	list->blocks[list->nr++] = block;
	return 0;
}

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
 * One file a block that is online and not on record, about 3 µs each: there are
 * 131 072 of them on a large machine. A block that does not tell its state is
 * online, as on kernels without hotplug.
 */
static int look_at_block(struct walk *walk, uint64_t block, enum memory_block_state *ret)
{
	enum memory_block_state state;
	int r;

	r = block_files_state(&walk->files, block, &state);
	/* a word that is not known is not that for "online" */
	if (r == -EINVAL)
		state = MEMORY_BLOCK_GOING;
	else if (r < 0)
		state = MEMORY_BLOCK_ONLINE;
	else
		r = judge_candidate(walk, block, &state);
	*ret = state;
	return r == -ENOMEM ? r : 0;
}

/*
 * A block that is offline has no page that is present in a zone: no more of them can be offline
 * than whole blocks are missing from the node's pages, holes included. All, where that is not
 * known. A block that goes offline after the node's pages were counted uses up the number of one
 * that is not asked then: the uevent of the change has all of it looked at again.
 */
static uint64_t most_offline(const struct list *list, uint64_t block_bytes)
{
	return bytes_left(bytes_mul(list->nr, block_bytes), list->present_bytes) / block_bytes;
}

/*
 * Once as many are found as can be offline, the others are online and are not asked. They are
 * looked at from the last one on: what is plugged in has the highest numbers, and is what is
 * offline.
 */
static int look_at_blocks(struct walk *walk, const struct list *list, uint64_t block_bytes)
{
	uint64_t nr_sought = most_offline(list, block_bytes);

	for (size_t i = list->nr; i-- > 0;) {
		enum memory_block_state state = MEMORY_BLOCK_ONLINE;
		int r = 0;

		if (nr_sought > 0 ||
		    (walk->record && block_record_find(walk->record, list->blocks[i], NULL)))
			r = look_at_block(walk, list->blocks[i], &state);
		if (r < 0)
			return r;
		walk->node->nr_online_blocks += state == MEMORY_BLOCK_ONLINE;
		if (state == MEMORY_BLOCK_OFFLINE && nr_sought > 0)
			nr_sought--;
	}
	return 0;
}

/* Candidates are ascending. */
static void turn_candidates(struct machine_node *node)
{
	for (size_t i = 0, k = node->nr_candidates; i + 1 < k; i++) {
		struct machine_block first = node->candidates[i];

		node->candidates[i] = node->candidates[--k];
		node->candidates[k] = first;
	}
}

static int read_blocks(struct probe *probe, struct machine_node *node, const struct list *list)
{
	struct walk walk = {
		.files = { .kernel = probe->kernel, .node_id = node->node_id },
		.record = probe->record,
		.node = node,
	};
	uint64_t block_bytes = probe->machine->block_bytes;
	int r;

	if (list->nr == 0) {
		node->memory_bytes = node->mem_total_bytes;
		node->spanned_bytes = node->mem_total_bytes;
		return 0;
	}
	r = look_at_blocks(&walk, list, block_bytes);
	if (r < 0)
		return r;
	turn_candidates(node);
	node->nr_blocks = list->nr;
	node->memory_bytes = bytes_mul(node->nr_online_blocks, block_bytes);
	node->spanned_bytes =
		bytes_mul(list->blocks[list->nr - 1] - list->blocks[0] + 1, block_bytes);
	return 0;
}

static int compare_blocks(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/* Return: 0 and *ret_nr blocks in all; -ENOMEM. */
static int list_blocks(struct probe *probe, struct list *lists, size_t *ret_nr)
{
	*ret_nr = 0;
	for (size_t i = 0; i < probe->machine->nr_nodes; i++) {
		if (memory_blocks_each(probe->kernel, probe->machine->nodes[i].node_id, add_block,
		                       &lists[i]) == -ENOMEM)
			return -ENOMEM;
		if (lists[i].nr)
			qsort(lists[i].blocks, lists[i].nr, sizeof(*lists[i].blocks),
			      compare_blocks);
		*ret_nr += lists[i].nr;
	}
	return 0;
}

struct present {
	const struct machine *machine;
	struct list *lists; /* of its nodes */
};

static void take_present(unsigned node_id, const char *name, uint64_t nr_pages, void *arg)
{
	const struct present *present = arg;
	const struct machine_node *node;
	struct list *list;

	if (strcmp(name, "present") != 0)
		return;
	node = machine_node(present->machine, node_id);
	if (!node)
		return;
	list = &present->lists[node - present->machine->nodes];
	list->present_bytes =
		bytes_add(list->present_bytes, bytes_mul(nr_pages, present->machine->page_bytes));
}

static int read_lists(struct probe *probe, struct list *lists)
{
	struct machine *machine = probe->machine;
	size_t nr_blocks = 0;
	int r = 0;

	if (machine->block_bytes)
		r = list_blocks(probe, lists, &nr_blocks);
	if (nr_blocks >= MANY_BLOCKS)
		(void) zone_info_each(probe->kernel, take_present,
		                      &(struct present){ .machine = machine, .lists = lists });
	for (size_t i = 0; i < machine->nr_nodes && r == 0; i++)
		r = read_blocks(probe, &machine->nodes[i], &lists[i]);
	return r;
}

int probe_blocks(struct probe *probe)
{
	struct machine *machine = probe->machine;
	scoped(freep) struct list *lists = calloc(machine->nr_nodes + 1, sizeof(*lists));
	int r;

	if (!lists)
		return -ENOMEM;
	/* Hexadecimal, without 0x. */
	if (probe_text(probe, MEMORY_DIR "/block_size_bytes"))
		machine->block_bytes = strtoull(probe->text, NULL, 16);
	machine->section_bytes = machine->block_bytes ? machine->block_bytes : USUAL_SECTION_BYTES;
	r = read_lists(probe, lists);
	for (size_t i = 0; i < machine->nr_nodes; i++)
		free(lists[i].blocks);
	return r;
}
