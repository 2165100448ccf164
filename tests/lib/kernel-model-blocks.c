/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory blocks of the scripted kernel. A write does what state_store() and device_online() in
 * drivers/base do: one block at a time, EINVAL for what is online already or asks for a zone that
 * the block cannot go to, and for the rest what was scripted.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>

#include "../../daemon/base/size.h"
#include "kernel-model-inside.h"

#define MEMORY_DIR "/sys/devices/system/memory"
#define NODE_DIR   "/sys/devices/system/node"

struct block {
	uint64_t number;
	struct node *node;
	enum model_block_state state;
	unsigned zones;
	unsigned online_zone; /* while it is not offline */
	unsigned nr_failing;
	int failing_error;
	bool has_deed[2]; /* by enum model_moment */
	enum model_deed deeds[2];
	struct block *next;
};

struct block_write {
	uint64_t number;
	char word[32];
};

struct model_blocks {
	uint64_t block_bytes;
	struct block *first;
	struct block_write *writes;
	size_t nr_writes;
};

static struct block *find(const struct kernel_model *model, uint64_t number)
{
	for (struct block *block = model->blocks ? model->blocks->first : NULL; block;
	     block = block->next)
		if (block->number == number)
			return block;
	return NULL;
}

static struct block *block_or_abort(const struct kernel_model *model, uint64_t number)
{
	struct block *block = find(model, number);

	if (!block)
		ck_abort_msg("the model has no block %" PRIu64, number);
	return block;
}

static unsigned default_zone(const struct block *block)
{
	if (!(block->zones & MODEL_ZONE_NORMAL))
		return MODEL_ZONE_MOVABLE;
	return block->zones & MODEL_ZONE_MOVABLE_FIRST ? MODEL_ZONE_MOVABLE : MODEL_ZONE_NORMAL;
}

static void go_online(struct kernel_model *model, struct block *block, unsigned zone)
{
	block->state = MODEL_BLOCK_ONLINE;
	block->online_zone = zone;
	block->node->memory_bytes += model->blocks->block_bytes;
	block->node->free_bytes += model->blocks->block_bytes;
}

static void go_offline(struct kernel_model *model, struct block *block)
{
	if (block->state == MODEL_BLOCK_OFFLINE)
		return;
	block->state = MODEL_BLOCK_OFFLINE;
	block->node->memory_bytes -= model->blocks->block_bytes;
	block->node->free_bytes = bytes_left(block->node->free_bytes, model->blocks->block_bytes);
}

static void unplug(struct kernel_model *model, struct block *block)
{
	struct block **slot = &model->blocks->first;

	go_offline(model, block);
	while (*slot != block)
		slot = &(*slot)->next;
	*slot = block->next;
	free(block);
}

static void do_deed(struct kernel_model *model, struct block *block, enum model_deed deed)
{
	switch (deed) {
	case MODEL_ONLINES_NORMAL:
		if (block->state == MODEL_BLOCK_OFFLINE)
			go_online(model, block, MODEL_ZONE_NORMAL);
		break;
	case MODEL_ONLINES_MOVABLE:
		if (block->state == MODEL_BLOCK_OFFLINE)
			go_online(model, block, MODEL_ZONE_MOVABLE);
		break;
	case MODEL_OFFLINES:
		go_offline(model, block);
		break;
	case MODEL_BEGINS_TO_OFFLINE:
		if (block->state == MODEL_BLOCK_ONLINE)
			block->state = MODEL_BLOCK_GOING;
		break;
	case MODEL_UNPLUGS:
		unplug(model, block);
		break;
	}
}

/* A moment around our write has come; each deed is done once. */
static void reach(struct kernel_model *model, uint64_t number, enum model_moment moment)
{
	struct block *block = find(model, number);

	if (!block || !block->has_deed[moment])
		return;
	block->has_deed[moment] = false;
	do_deed(model, block, block->deeds[moment]);
}

static int carry_out(struct kernel_model *model, struct block *block, const char *word)
{
	unsigned zone;

	if (strcmp(word, "online") == 0)
		zone = default_zone(block);
	else if (strcmp(word, "online_kernel") == 0)
		zone = MODEL_ZONE_NORMAL;
	else if (strcmp(word, "online_movable") == 0)
		zone = MODEL_ZONE_MOVABLE;
	else
		return -EINVAL;
	if (block->state != MODEL_BLOCK_OFFLINE)
		return -EINVAL;
	if (block->nr_failing > 0) {
		if (block->nr_failing != UINT_MAX)
			block->nr_failing--;
		return -block->failing_error;
	}
	if (!(block->zones & zone))
		return -EINVAL;
	go_online(model, block, zone);
	return 0;
}

static void note_write(struct model_blocks *blocks, uint64_t number, const char *word)
{
	struct block_write *write;

	blocks->writes = model_or_abort(
		reallocarray(blocks->writes, blocks->nr_writes + 1, sizeof(*blocks->writes)));
	write = &blocks->writes[blocks->nr_writes++];
	write->number = number;
	(void) snprintf(write->word, sizeof(write->word), "%s", word);
}

/* memoryK/FILE below memory/ or nodeN/. Return: the block and *ret_file; NULL: none such. */
static struct block *find_place(const struct kernel_model *model, const char *path,
                                const char **ret_file)
{
	const char *rest = model_below(path, MEMORY_DIR);
	unsigned node_id = UINT_MAX;
	struct block *block;
	uint64_t number;
	int nr_chars = 0;

	if (!rest) {
		rest = model_below(path, NODE_DIR);
		if (!rest || sscanf(rest, "node%u/%n", &node_id, &nr_chars) != 1 || nr_chars == 0)
			return NULL;
		rest += nr_chars;
		nr_chars = 0;
	}
	if (sscanf(rest, "memory%" SCNu64 "/%n", &number, &nr_chars) != 1 || nr_chars == 0)
		return NULL;
	block = find(model, number);
	if (!block || (node_id != UINT_MAX && block->node->node_id != node_id))
		return NULL;
	*ret_file = rest + nr_chars;
	return block;
}

int model_write_block(struct kernel_model *model, const char *path, const char *text)
{
	const char *file;
	struct block *block = find_place(model, path, &file);
	uint64_t number;
	char word[32];
	int r;

	if (!block || strcmp(file, "state") != 0)
		return -EACCES;
	number = block->number;
	(void) snprintf(word, sizeof(word), "%.*s", (int) strcspn(text, "\n"), text);
	note_write(model->blocks, number, word);
	reach(model, number, MODEL_BEFORE_WRITE);
	block = find(model, number);
	r = block ? carry_out(model, block, word) : -ENODEV;
	reach(model, number, MODEL_AFTER_WRITE);
	return r;
}

static void print_zones(const struct block *block, FILE *out)
{
	static const char *const names[] = {
		[0] = "none",
		[MODEL_ZONE_NORMAL] = "Normal",
		[MODEL_ZONE_MOVABLE] = "Movable",
	};
	const unsigned both = MODEL_ZONE_NORMAL | MODEL_ZONE_MOVABLE;

	if (block->state != MODEL_BLOCK_OFFLINE)
		(void) fprintf(out, "%s\n", names[block->online_zone & both]);
	else if ((block->zones & both) != both)
		(void) fprintf(out, "%s\n", names[block->zones & both]);
	else if (default_zone(block) == MODEL_ZONE_MOVABLE)
		(void) fprintf(out, "Movable Normal\n");
	else
		(void) fprintf(out, "Normal Movable\n");
}

int model_print_block(const struct kernel_model *model, const char *path, FILE *out)
{
	static const char *const states[] = {
		[MODEL_BLOCK_OFFLINE] = "offline",
		[MODEL_BLOCK_ONLINE] = "online",
		[MODEL_BLOCK_GOING] = "going-offline",
	};
	const struct block *block;
	const char *file;

	if (model->blocks && strcmp(path, MEMORY_DIR "/block_size_bytes") == 0) {
		(void) fprintf(out, "%" PRIx64 "\n", model->blocks->block_bytes);
		return 0;
	}
	block = find_place(model, path, &file);
	if (!block)
		return -ENOENT;
	if (strcmp(file, "state") == 0)
		(void) fprintf(out, "%s\n", states[block->state]);
	else if (strcmp(file, "online") == 0)
		(void) fprintf(out, "%d\n", block->state == MODEL_BLOCK_ONLINE);
	else if (strcmp(file, "valid_zones") == 0)
		print_zones(block, out);
	else
		return -ENOENT;
	return 0;
}

void model_note_blocks(const struct kernel_model *model, model_note_fn fn, void *arg)
{
	static const char *const files[] = { "state", "online", "valid_zones" };
	char path[256];

	if (!model->blocks)
		return;
	fn(model, MEMORY_DIR "/block_size_bytes", arg);
	for (const struct block *block = model->blocks->first; block; block = block->next)
		for (size_t i = 0; i < ELEMENTS(files); i++) {
			(void) snprintf(path, sizeof(path), MEMORY_DIR "/memory%" PRIu64 "/%s",
			                block->number, files[i]);
			fn(model, path, arg);
			(void) snprintf(path, sizeof(path), NODE_DIR "/node%u/memory%" PRIu64 "/%s",
			                block->node->node_id, block->number, files[i]);
			fn(model, path, arg);
		}
}

void model_free_blocks(struct kernel_model *model)
{
	struct model_blocks *blocks = model->blocks;

	if (!blocks)
		return;
	while (blocks->first) {
		struct block *block = blocks->first;

		blocks->first = block->next;
		free(block);
	}
	free(blocks->writes);
	free(blocks);
}

void kernel_model_set_block_bytes(struct kernel_model *model, uint64_t block_bytes)
{
	LOCKED(model);

	if (!model->blocks)
		model->blocks = model_or_abort(calloc(1, sizeof(*model->blocks)));
	model->blocks->block_bytes = block_bytes;
}

void kernel_model_add_block(struct kernel_model *model, unsigned node_id, uint64_t number,
                            unsigned zones)
{
	struct block *block = model_or_abort(calloc(1, sizeof(*block)));
	LOCKED(model);

	ck_assert_msg(model->blocks != NULL, "kernel_model_set_block_bytes() comes first");
	ck_assert_msg(!find(model, number), "the model has a block %" PRIu64 " already", number);
	*block = (struct block){
		.number = number,
		.node = model_find_node(model, node_id),
		.zones = zones,
		.next = model->blocks->first,
	};
	ck_assert_msg(block->node != NULL, "the model has no node %u", node_id);
	model->blocks->first = block;
}

void kernel_model_do_block(struct kernel_model *model, uint64_t number, enum model_deed deed)
{
	LOCKED(model);

	do_deed(model, block_or_abort(model, number), deed);
}

void kernel_model_add_block_rival(struct kernel_model *model, uint64_t number,
                                  enum model_moment moment, enum model_deed deed)
{
	struct block *block;
	LOCKED(model);

	block = block_or_abort(model, number);
	block->has_deed[moment] = true;
	block->deeds[moment] = deed;
}

void kernel_model_set_block_zones(struct kernel_model *model, uint64_t number, unsigned zones)
{
	LOCKED(model);

	block_or_abort(model, number)->zones = zones;
}

void kernel_model_fail_block(struct kernel_model *model, uint64_t number, unsigned nr_writes,
                             int error)
{
	struct block *block;
	LOCKED(model);

	block = block_or_abort(model, number);
	block->nr_failing = nr_writes;
	block->failing_error = error;
}

enum model_block_state kernel_model_block_state(struct kernel_model *model, uint64_t number)
{
	LOCKED(model);

	return block_or_abort(model, number)->state;
}

unsigned kernel_model_block_zone(struct kernel_model *model, uint64_t number)
{
	const struct block *block;
	LOCKED(model);

	block = block_or_abort(model, number);
	return block->state == MODEL_BLOCK_OFFLINE ? 0 : block->online_zone;
}

unsigned kernel_model_nr_block_writes(struct kernel_model *model)
{
	LOCKED(model);

	return model->blocks ? (unsigned) model->blocks->nr_writes : 0;
}

uint64_t kernel_model_block_write(struct kernel_model *model, size_t i, const char **ret_word)
{
	const struct block_write *write;
	LOCKED(model);

	ck_assert_uint_lt(i, model->blocks->nr_writes);
	write = &model->blocks->writes[i];
	if (ret_word)
		*ret_word = write->word;
	return write->number;
}
