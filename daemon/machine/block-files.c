/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../base/scoped.h"
#include "block-files.h"
#include "probe.h"

#define ANY_ZONE (MACHINE_ZONE_KERNEL | MACHINE_ZONE_MOVABLE)

/* A block whose state changes more often than this while it is looked at is left as it was seen. */
#define LOOKS_MAX 4

static const struct {
	const char *file;
	bool is_of_node;
} places[] = {
	[BLOCK_STATE] = { "state", false },
	[BLOCK_STATE_OF_NODE] = { "state", true },
	[BLOCK_ONLINE] = { "online", false },
	[BLOCK_ONLINE_OF_NODE] = { "online", true },
};

static int read_file(const struct block_files *files, uint64_t block, bool is_of_node,
                     const char *file, char *text, size_t text_bytes)
{
	char path[128];

	if (is_of_node)
		(void) snprintf(path, sizeof(path), NODE_DIR "/node%u/memory%" PRIu64 "/%s",
		                files->node_id, block, file);
	else
		(void) snprintf(path, sizeof(path), MEMORY_DIR "/memory%" PRIu64 "/%s", block,
		                file);
	return files->kernel->ops->read(files->kernel, path, text, text_bytes);
}

static int read_place(const struct block_files *files, uint64_t block, enum block_place place,
                      char *text, size_t text_bytes)
{
	return read_file(files, block, places[place].is_of_node, places[place].file, text,
	                 text_bytes);
}

static bool is_word(const char *text, size_t nr_chars, const char *word)
{
	return strlen(word) == nr_chars && strncmp(text, word, nr_chars) == 0;
}

static int state_parse(const char *text, enum memory_block_state *ret)
{
	static const struct {
		const char *word;
		enum memory_block_state state;
	} words[] = {
		{ "online", MEMORY_BLOCK_ONLINE },       { "1", MEMORY_BLOCK_ONLINE },
		{ "offline", MEMORY_BLOCK_OFFLINE },     { "0", MEMORY_BLOCK_OFFLINE },
		{ "going-offline", MEMORY_BLOCK_GOING },
	};
	size_t nr_chars = strcspn(text, " \t\n");

	for (size_t i = 0; i < ELEMENTS(words); i++)
		if (is_word(text, nr_chars, words[i].word)) {
			*ret = words[i].state;
			return 0;
		}
	return -EINVAL;
}

/* All blocks of a tree tell it in the same place: the others are searched for the first only. */
int block_files_state(struct block_files *files, uint64_t block, enum memory_block_state *ret)
{
	char text[32];
	int r;

	r = read_place(files, block, files->place, text, sizeof(text));
	for (size_t i = 0; r < 0 && i < ELEMENTS(places); i++) {
		if (i == files->place || read_place(files, block, i, text, sizeof(text)) < 0)
			continue;
		files->place = i;
		r = 0;
	}
	return r < 0 ? r : state_parse(text, ret);
}

/* "Normal Movable": the first is the one that "online" takes. */
static void zones_parse(const char *text, enum memory_block_state state, struct memory_block *ret)
{
	bool is_first = true;

	ret->zones = 0;
	ret->is_movable_by_default = false;
	for (;;) {
		size_t nr_chars;
		bool is_movable;

		text += strspn(text, " \t\n");
		nr_chars = strcspn(text, " \t\n");
		if (nr_chars == 0)
			return;
		is_movable = is_word(text, nr_chars, "Movable");
		if (is_movable)
			ret->zones |= MACHINE_ZONE_MOVABLE;
		else if (!is_word(text, nr_chars, "none"))
			ret->zones |= MACHINE_ZONE_KERNEL;
		if (is_first && is_movable && state != MEMORY_BLOCK_ONLINE)
			ret->is_movable_by_default = true;
		is_first = false;
		text += nr_chars;
	}
}

/*
 * Kernels before 4.10 have no such file, and let a block go anywhere.
 * Return: 1 and the zones of *ret as the kernel says; 0 and any, for it does not; -errno.
 */
static int read_zones(const struct block_files *files, uint64_t block,
                      enum memory_block_state state, struct memory_block *ret)
{
	bool is_of_node = places[files->place].is_of_node;
	char text[128];
	int r;

	r = read_file(files, block, is_of_node, "valid_zones", text, sizeof(text));
	if (r == -ENOENT)
		r = read_file(files, block, !is_of_node, "valid_zones", text, sizeof(text));
	if (r == -ENOENT) {
		ret->zones = state == MEMORY_BLOCK_ONLINE ? 0 : ANY_ZONE;
		ret->is_movable_by_default = false;
		return 0;
	}
	if (r < 0)
		return r;
	zones_parse(text, state, ret);
	return 1;
}

int block_files_zones(struct block_files *files, uint64_t block, enum memory_block_state state,
                      struct memory_block *ret)
{
	struct memory_block found = { 0 };

	for (unsigned i = 0; i < LOOKS_MAX; i++) {
		int r;

		found.state = state;
		r = read_zones(files, block, state, &found);
		if (r < 0)
			return r;
		/* More than one zone is said of offline blocks only. */
		if (r == 1 && state == MEMORY_BLOCK_OFFLINE && found.zones == ANY_ZONE)
			break;
		r = block_files_state(files, block, &state);
		if (r < 0)
			return r;
		if (state == found.state)
			break;
	}
	*ret = found;
	return 0;
}
