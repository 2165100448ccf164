/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "tree.h"

#define LINE_BYTES 1024

/* "4K", "2M", "16G", "66" in units of @plain_bytes. Leaves *text behind what was read. */
static uint64_t read_amount(const char **text, uint64_t plain_bytes)
{
	char *end;
	uint64_t value = strtoull(*text, &end, 10);

	ck_assert_msg(end != *text, "machines.txt: a number was expected at \"%s\"", *text);
	*text = end + 1;
	switch (*end) {
	case 'K':
		return value * KIB;
	case 'M':
		return value * MIB;
	case 'G':
		return value * GIB;
	default:
		*text = end;
		return value * plain_bytes;
	}
}

static uint64_t read_one(const char *text, uint64_t plain_bytes)
{
	return read_amount(&text, plain_bytes);
}

/* If @word is "@key=value": the value, else NULL. */
static const char *value_of(const char *word, const char *key)
{
	size_t key_length = strlen(key);

	return strncmp(word, key, key_length) || word[key_length] != '=' ? NULL
	                                                                 : word + key_length + 1;
}

static void read_machine_word(struct tree_machine *machine, const char *word)
{
	const char *value;

	if ((value = value_of(word, "page")))
		machine->page_bytes = read_one(value, 1);
	else if ((value = value_of(word, "block")))
		machine->block_bytes = read_one(value, 1);
	else if ((value = value_of(word, "first-block")))
		machine->first_block = read_one(value, 1);
	else if ((value = value_of(word, "allowed-cpus")))
		snprintf(machine->allowed_cpus, sizeof(machine->allowed_cpus), "%s", value);
	else if ((value = value_of(word, "allowed-nodes")))
		snprintf(machine->allowed_nodes, sizeof(machine->allowed_nodes), "%s", value);
	else if ((value = value_of(word, "huge")))
		for (;; value++) {
			ck_assert_uint_lt(machine->nr_huge_sizes, TREE_PAGE_SIZES_MAX);
			machine->huge_bytes[machine->nr_huge_sizes++] = read_amount(&value, 1);
			if (*value != ',')
				break;
		}
	else
		ck_abort_msg("machines.txt: unknown word \"%s\"", word);
}

/* One line "node …", which may stand for several nodes that are alike. */
struct node_line {
	unsigned first_id;
	unsigned last_id;
	struct tree_node alike;
	char distances[LINE_BYTES];
};

static void read_node_word(struct node_line *line, const char *word)
{
	struct tree_node *node = &line->alike;
	const char *value;

	if ((value = value_of(word, "cpus")))
		node->nr_cpus = (unsigned) read_one(value, 1);
	else if ((value = value_of(word, "memory")))
		node->memory_bytes = read_one(value, GIB);
	else if ((value = value_of(word, "shown")))
		node->shown_bytes = read_one(value, GIB);
	else if ((value = value_of(word, "span")))
		node->spanned_bytes = read_one(value, GIB);
	else if ((value = value_of(word, "early")))
		node->early_bytes = read_one(value, GIB);
	else if ((value = value_of(word, "distances")))
		snprintf(line->distances, sizeof(line->distances), "%s", value);
	else
		ck_abort_msg("machines.txt: unknown word \"%s\"", word);
}

static void read_node_ids(struct node_line *line, const char *word)
{
	int nr_read = sscanf(word, "%u-%u", &line->first_id, &line->last_id);

	ck_assert_msg(nr_read >= 1, "machines.txt: node id \"%s\"", word);
	if (nr_read == 1)
		line->last_id = line->first_id;
}

/* The distances stay text until the number of nodes is known; their place is borrowed for that. */
static void add_nodes(struct tree_machine *machine, const struct node_line *line)
{
	for (unsigned id = line->first_id; id <= line->last_id; id++) {
		struct tree_node *node = &machine->nodes[machine->nr_nodes++];
		const struct tree_node *before = node - 1;

		ck_assert_uint_le(machine->nr_nodes, TREE_NODES_MAX);
		*node = line->alike;
		node->node_id = id;
		/* What the firmware and the kernel's image take is not in MemTotal. */
		if (!node->shown_bytes)
			node->shown_bytes = node->memory_bytes - node->memory_bytes / 64;
		node->first_block = machine->first_block;
		if (machine->nr_nodes > 1) {
			node->first_cpu = before->first_cpu + before->nr_cpus;
			node->first_block =
				before->first_block + before->spanned_bytes / machine->block_bytes;
		}
		node->distances = (unsigned *) strdup(line->distances);
	}
}

static void fill_distances(struct tree_machine *machine)
{
	for (size_t i = 0; i < machine->nr_nodes; i++) {
		struct tree_node *node = &machine->nodes[i];
		scoped(freep) char *text = (char *) node->distances;
		const char *at = text;
		size_t nr_read = 0;
		unsigned last = 0;

		node->distances = calloc(machine->nr_nodes, sizeof(*node->distances));
		ck_assert_ptr_nonnull(node->distances);
		for (;; at++) {
			last = (unsigned) read_amount(&at, 1);
			if (nr_read < machine->nr_nodes)
				node->distances[nr_read++] = last;
			if (*at != ',')
				break;
		}
		if (*at == '*') {
			unsigned self = node->distances[0];

			for (nr_read = 0; nr_read < machine->nr_nodes; nr_read++)
				node->distances[nr_read] = nr_read == i ? self : last;
		}
		ck_assert_uint_eq(nr_read, machine->nr_nodes);
	}
}

static FILE *open_tables(void)
{
	FILE *file = fopen(TESTS_DATA_DIR "/machines.txt", "re");

	ck_assert_msg(file != NULL, "cannot read %s/machines.txt", TESTS_DATA_DIR);
	return file;
}

/* The next line that is neither blank nor a comment, without its newline. */
static bool next_line(FILE *file, char *line)
{
	while (fgets(line, LINE_BYTES, file)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] && line[0] != '#')
			return true;
	}
	return false;
}

void tree_machine_read(const char *name, struct tree_machine *ret)
{
	scoped(file_closep) FILE *file = open_tables();
	char line[LINE_BYTES];
	bool is_found = false;

	memset(ret, 0, sizeof(*ret));
	while (next_line(file, line)) {
		char *rest = NULL;
		const char *sort = strtok_r(line, " ", &rest);
		const char *word = strtok_r(NULL, " ", &rest);

		if (strcmp(sort, "machine") == 0) {
			if (is_found)
				break;
			is_found = strcmp(word, name) == 0;
			if (!is_found)
				continue;
			snprintf(ret->name, sizeof(ret->name), "%s", name);
			while ((word = strtok_r(NULL, " ", &rest)))
				read_machine_word(ret, word);
		} else if (is_found) {
			struct node_line node = { .first_id = 0 };

			read_node_ids(&node, word);
			while ((word = strtok_r(NULL, " ", &rest)))
				read_node_word(&node, word);
			add_nodes(ret, &node);
		}
	}
	ck_assert_msg(is_found, "machines.txt has no machine \"%s\"", name);
	fill_distances(ret);
}

void tree_machine_alike(unsigned nr_nodes, uint64_t nr_blocks, uint64_t block_bytes,
                        struct tree_machine *ret)
{
	struct node_line line = {
		.last_id = nr_nodes - 1,
		.alike = { .nr_cpus = 16,
		           .memory_bytes = nr_blocks * block_bytes,
		           .spanned_bytes = nr_blocks * block_bytes },
		.distances = "10,20*",
	};

	*ret = (struct tree_machine){
		.name = "alike",
		.page_bytes = 4 * KIB,
		.block_bytes = block_bytes,
		.huge_bytes = { 2 * MIB, GIB },
		.nr_huge_sizes = 2,
	};
	add_nodes(ret, &line);
	fill_distances(ret);
}

void tree_machine_clear(struct tree_machine *machine)
{
	for (size_t i = 0; i < machine->nr_nodes; i++)
		free(machine->nodes[i].distances);
	machine->nr_nodes = 0;
}

void tree_each_machine(void (*each)(const char *name, void *arg), void *arg)
{
	scoped(file_closep) FILE *file = open_tables();
	char line[LINE_BYTES];
	char name[64];

	while (next_line(file, line))
		if (sscanf(line, "machine %63s", name) == 1)
			each(name, arg);
}
