/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>

#include "../../daemon/base/size.h"
#include "kernel-model-inside.h"

#define NODE_DIR "/sys/devices/system/node"
#define HUGE_DIR "/sys/kernel/mm/hugepages"

static bool is_hidden(const struct kernel_model *model, const char *path)
{
	for (const struct file *file = model->files; file; file = file->next)
		if (file->is_hidden && model_below(path, file->path))
			return true;
	return false;
}

static int refusal(const struct kernel_model *model, const char *path)
{
	for (const struct file *file = model->files; file; file = file->next)
		if (file->refusal && model_below(path, file->path))
			return file->refusal;
	return 0;
}

/* What @path is about. */
struct place {
	struct node *node; /* NULL: of the whole machine */
	int size_index;    /* -1: not of a page size */
	const char *name;  /* the rest: "meminfo", "nr_hugepages", … */
};

static bool find_place(struct kernel_model *model, const char *path, struct place *ret)
{
	struct place place = { .size_index = -1 };
	const char *rest = model_below(path, NODE_DIR);
	unsigned node_id;
	uint64_t page_kib;
	int nr_chars = 0;

	if (rest) {
		if (sscanf(rest, "node%u/%n", &node_id, &nr_chars) == 1 && nr_chars > 0) {
			place.node = model_find_node(model, node_id);
			if (!place.node)
				return false;
			rest += nr_chars;
		}
		place.name = rest;
		rest = model_below(rest, "hugepages");
	} else {
		place.name = path;
		rest = model_below(path, HUGE_DIR);
	}
	nr_chars = 0;
	if (rest && sscanf(rest, "hugepages-%" SCNu64 "kB/%n", &page_kib, &nr_chars) == 1 &&
	    nr_chars > 0) {
		place.size_index = model_find_page_size(model, page_kib * KIB);
		if (place.size_index < 0)
			return false;
		place.name = rest + nr_chars;
	}
	*ret = place;
	return true;
}

static struct hugepages_count pool_sum(const struct kernel_model *model, const struct place *place)
{
	struct hugepages_count sum = { 0 };

	for (size_t i = 0; i < model->nr_nodes; i++) {
		const struct pool *pool = &model->nodes[i]->pools[place->size_index];

		if (place->node && place->node != model->nodes[i])
			continue;
		sum.nr_pages += pool->count.nr_pages;
		sum.free_pages += pool->count.free_pages;
		sum.surplus_pages += pool->count.surplus_pages;
	}
	return sum;
}

static int print_pool(const struct kernel_model *model, const struct place *place, FILE *out)
{
	struct hugepages_count sum = pool_sum(model, place);

	if (strcmp(place->name, "nr_hugepages") == 0)
		(void) fprintf(out, "%" PRIu64 "\n", sum.nr_pages);
	else if (strcmp(place->name, "free_hugepages") == 0)
		(void) fprintf(out, "%" PRIu64 "\n", sum.free_pages);
	else if (strcmp(place->name, "surplus_hugepages") == 0)
		(void) fprintf(out, "%" PRIu64 "\n", sum.surplus_pages);
	else
		return -ENOENT;
	return 0;
}

static int print_node(const struct kernel_model *model, const struct node *node, const char *name,
                      FILE *out)
{
	if (strcmp(name, "cpulist") == 0) {
		(void) fprintf(out, "%s\n", node->cpulist);
	} else if (strcmp(name, "distance") == 0) {
		for (size_t i = 0; i < model->nr_nodes; i++)
			(void) fprintf(out, "%s%d", i ? " " : "",
			               model->nodes[i] == node ? 10 : 20);
		(void) fprintf(out, "\n");
	} else if (strcmp(name, "meminfo") == 0) {
		(void) fprintf(out,
		               "Node %u MemTotal:       %" PRIu64 " kB\n"
		               "Node %u MemFree:        %" PRIu64 " kB\n",
		               node->node_id, node->memory_bytes / KIB, node->node_id,
		               node->free_bytes / KIB);
	} else {
		return -ENOENT;
	}
	return 0;
}

static void print_meminfo(const struct kernel_model *model, FILE *out)
{
	uint64_t memory_bytes = 0, free_bytes = 0;

	for (size_t i = 0; i < model->nr_nodes; i++) {
		memory_bytes += model->nodes[i]->memory_bytes;
		free_bytes += model->nodes[i]->free_bytes;
	}
	(void) fprintf(out,
	               "MemTotal:       %" PRIu64 " kB\n"
	               "MemFree:        %" PRIu64 " kB\n"
	               "MemAvailable:   %" PRIu64 " kB\n",
	               memory_bytes / KIB, free_bytes / KIB, free_bytes / KIB);
	if (model->nr_page_sizes)
		(void) fprintf(out, "Hugepagesize:   %" PRIu64 " kB\n", model->page_sizes[0] / KIB);
}

static void print_cpus(const struct kernel_model *model, FILE *out)
{
	bool is_first = true;

	for (size_t i = 0; i < model->nr_nodes; i++)
		if (*model->nodes[i]->cpulist) {
			(void) fprintf(out, "%s%s", is_first ? "" : ",", model->nodes[i]->cpulist);
			is_first = false;
		}
	(void) fprintf(out, "\n");
}

static void print_nodes(const struct kernel_model *model, FILE *out)
{
	for (size_t i = 0; i < model->nr_nodes; i++)
		(void) fprintf(out, "%s%u", i ? "," : "", model->nodes[i]->node_id);
	(void) fprintf(out, "\n");
}

static int print_file(struct kernel_model *model, const char *path, FILE *out)
{
	const struct file *file = model_find_file(model, path);
	struct place place;

	if (is_hidden(model, path))
		return -ENOENT;
	if (file && file->read_error)
		return -file->read_error;
	if (file && file->text) {
		(void) fputs(file->text, out);
		return 0;
	}
	if (model_print_block(model, path, out) == 0)
		return 0;
	if (!find_place(model, path, &place))
		return -ENOENT;
	if (place.size_index >= 0)
		return print_pool(model, &place, out);
	if (place.node)
		return print_node(model, place.node, place.name, out);
	if (strcmp(path, "/proc/meminfo") == 0)
		print_meminfo(model, out);
	else if (strcmp(path, "/sys/devices/system/cpu/online") == 0)
		print_cpus(model, out);
	else if (strcmp(path, NODE_DIR "/online") == 0)
		print_nodes(model, out);
	else
		return -ENOENT;
	return 0;
}

static int model_read(struct kernel *kernel, const char *path, char *buffer, size_t buffer_bytes)
{
	struct kernel_model *model = (struct kernel_model *) kernel;
	scoped(freep) char *text = NULL;
	size_t text_bytes = 0;
	FILE *out = model_or_abort(open_memstream(&text, &text_bytes));
	int r;

	{
		LOCKED(model);

		r = print_file(model, path, out);
	}
	(void) fclose(out);
	if (r < 0)
		return r;
	if (text_bytes >= buffer_bytes)
		return -E2BIG;
	memcpy(buffer, text, text_bytes + 1);
	return (int) text_bytes;
}

static int carry_out_write(struct kernel_model *model, const char *path, const char *text)
{
	struct file *file = model_find_file(model, path);
	struct place place;
	uint64_t nr_pages;
	char end;
	int r;

	if (file && file->text) {
		free(file->text);
		file->text = model_or_abort(strdup(text));
		return 0;
	}
	r = model_write_block(model, path, text);
	if (r != -EACCES)
		return r;
	if (!find_place(model, path, &place) || !place.node)
		return -EACCES; /* as read-only files answer; nothing there: seen before */
	if (place.size_index < 0) {
		if (strcmp(place.name, "compact") != 0)
			return -EACCES;
		model_compact(place.node);
		return 0;
	}
	if (strcmp(place.name, "nr_hugepages") != 0)
		return -EACCES;
	if (sscanf(text, "%" SCNu64 " %c", &nr_pages, &end) != 1)
		return -EINVAL;
	return model_write_pages(model, place.node, (size_t) place.size_index, nr_pages);
}

static bool is_there(struct kernel_model *model, const char *path)
{
	scoped(freep) char *text = NULL;
	size_t text_bytes;
	FILE *out = model_or_abort(open_memstream(&text, &text_bytes));
	int r = print_file(model, path, out);
	struct place place;

	(void) fclose(out);
	if (r == 0)
		return true;
	/* Can only be written to. */
	return !is_hidden(model, path) && find_place(model, path, &place) && place.node &&
	       place.size_index < 0 && strcmp(place.name, "compact") == 0;
}

static int model_may_write(struct kernel *kernel, const char *path)
{
	struct kernel_model *model = (struct kernel_model *) kernel;
	LOCKED(model);

	return is_there(model, path) ? -refusal(model, path) : -ENOENT;
}

static int model_write(struct kernel *kernel, const char *path, const char *text)
{
	struct kernel_model *model = (struct kernel_model *) kernel;

	if (model->write_fn)
		model->write_fn(model, path, text, model->write_arg);

	LOCKED(model);

	model->nr_writes++;
	model_file_at(model, path)->nr_writes++;
	if (!is_there(model, path))
		return -ENOENT;
	if (refusal(model, path))
		return -refusal(model, path);
	return carry_out_write(model, path, text);
}

/* The names found in a directory, each once. */
struct listing {
	char **names;
	size_t nr_names;
};

static void listing_clear(struct listing *listing)
{
	for (size_t i = 0; i < listing->nr_names; i++)
		free(listing->names[i]);
	free(listing->names);
}

/* If @path lies below @dir: note its first component there. */
static void note(const struct kernel_model *model, struct listing *listing, const char *dir,
                 const char *path)
{
	const char *rest = model_below(path, dir);
	size_t nr_chars;

	if (!rest || !*rest || is_hidden(model, path))
		return;
	nr_chars = strcspn(rest, "/");
	for (size_t i = 0; i < listing->nr_names; i++)
		if (strlen(listing->names[i]) == nr_chars &&
		    strncmp(listing->names[i], rest, nr_chars) == 0)
			return;
	listing->names = model_or_abort(
		reallocarray(listing->names, listing->nr_names + 1, sizeof(*listing->names)));
	listing->names[listing->nr_names++] = model_or_abort(strndup(rest, nr_chars));
}

/* Note what of a node's files, or of the machine's (NULL), lies in @dir. */
static void note_pools(const struct kernel_model *model, struct listing *listing, const char *dir,
                       const char *parent)
{
	static const char *const names[] = { "nr_hugepages", "free_hugepages",
		                             "surplus_hugepages" };
	char path[PATH_MAX];

	for (size_t i = 0; i < model->nr_page_sizes; i++)
		for (size_t k = 0; k < ELEMENTS(names); k++) {
			(void) snprintf(path, sizeof(path), "%s/hugepages-%" PRIu64 "kB/%s", parent,
			                model->page_sizes[i] / KIB, names[k]);
			note(model, listing, dir, path);
		}
}

struct block_notes {
	struct listing *listing;
	const char *dir;
};

static void note_block(const struct kernel_model *model, const char *path, void *arg)
{
	const struct block_notes *notes = arg;

	note(model, notes->listing, notes->dir, path);
}

static void note_all(const struct kernel_model *model, struct listing *listing, const char *dir)
{
	static const char *const of_machine[] = { "/proc/meminfo", "/sys/devices/system/cpu/online",
		                                  NODE_DIR "/online" };
	static const char *const of_node[] = { "cpulist", "distance", "meminfo", "compact" };
	char path[256];

	for (size_t i = 0; i < ELEMENTS(of_machine); i++)
		note(model, listing, dir, of_machine[i]);
	note_pools(model, listing, dir, HUGE_DIR);
	model_note_blocks(model, note_block, &(struct block_notes){ listing, dir });
	for (size_t i = 0; i < model->nr_nodes; i++) {
		unsigned node_id = model->nodes[i]->node_id;

		for (size_t k = 0; k < ELEMENTS(of_node); k++) {
			(void) snprintf(path, sizeof(path), NODE_DIR "/node%u/%s", node_id,
			                of_node[k]);
			note(model, listing, dir, path);
		}
		(void) snprintf(path, sizeof(path), NODE_DIR "/node%u/hugepages", node_id);
		note_pools(model, listing, dir, path);
	}
	for (const struct file *file = model->files; file; file = file->next)
		if (file->text)
			note(model, listing, dir, file->path);
}

static int model_list(struct kernel *kernel, const char *path, kernel_entry_fn entry, void *arg)
{
	struct kernel_model *model = (struct kernel_model *) kernel;
	scoped(listing_clear) struct listing listing = { 0 };

	{
		LOCKED(model);

		note_all(model, &listing, path);
	}
	if (listing.nr_names == 0)
		return -ENOENT;
	/* Without the lock: @entry may read. */
	for (size_t i = 0; i < listing.nr_names; i++) {
		int r = entry(listing.names[i], arg);

		if (r)
			return r;
	}
	return 0;
}

const struct kernel_ops model_ops = {
	.read = model_read,
	.write = model_write,
	.list = model_list,
	.may_write = model_may_write,
};
