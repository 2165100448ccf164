/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

#include "../../daemon/base/size.h"
#include "kernel-model-inside.h"

void *model_or_abort(void *memory)
{
	if (!memory)
		ck_abort_msg("out of memory");
	return memory;
}

void model_lock_end(pthread_mutex_t **lock)
{
	(void) pthread_mutex_unlock(*lock);
}

pthread_mutex_t *model_lock_begin(struct kernel_model *model)
{
	(void) pthread_mutex_lock(&model->lock);
	return &model->lock;
}

struct node *model_find_node(struct kernel_model *model, unsigned node_id)
{
	for (size_t i = 0; i < model->nr_nodes; i++)
		if (model->nodes[i]->node_id == node_id)
			return model->nodes[i];
	return NULL;
}

int model_find_page_size(const struct kernel_model *model, uint64_t page_bytes)
{
	for (size_t i = 0; i < model->nr_page_sizes; i++)
		if (model->page_sizes[i] == page_bytes)
			return (int) i;
	return -1;
}

struct file *model_find_file(struct kernel_model *model, const char *path)
{
	for (struct file *file = model->files; file; file = file->next)
		if (strcmp(file->path, path) == 0)
			return file;
	return NULL;
}

struct file *model_file_at(struct kernel_model *model, const char *path)
{
	struct file *file = model_find_file(model, path);

	if (file)
		return file;
	file = model_or_abort(calloc(1, sizeof(*file)));
	file->path = model_or_abort(strdup(path));
	file->next = model->files;
	model->files = file;
	return file;
}

/* Return: what of @path lies below @dir ("" for @dir itself), or NULL. */
const char *model_below(const char *path, const char *dir)
{
	size_t nr_chars = strlen(dir);

	if (strncmp(path, dir, nr_chars) != 0)
		return NULL;
	path += nr_chars;
	return *path == '/' ? path + 1 : *path ? NULL : path;
}

static struct node *node_or_abort(struct kernel_model *model, unsigned node_id)
{
	struct node *node = model_find_node(model, node_id);

	if (!node)
		ck_abort_msg("the model has no node %u", node_id);
	return node;
}

static struct pool *pool_or_abort(struct kernel_model *model, unsigned node_id, uint64_t page_bytes)
{
	struct node *node = node_or_abort(model, node_id);
	int i = model_find_page_size(model, page_bytes);

	if (i < 0)
		ck_abort_msg("the model has no pages of %" PRIu64 " bytes", page_bytes);
	return &node->pools[i];
}

struct kernel_model *kernel_model_new(void)
{
	struct kernel_model *model = model_or_abort(calloc(1, sizeof(*model)));

	model->kernel.ops = &model_ops;
	ck_assert_int_eq(pthread_mutex_init(&model->lock, NULL), 0);
	return model;
}

struct kernel_model *kernel_model_free(struct kernel_model *model)
{
	if (!model)
		return NULL;
	for (size_t i = 0; i < model->nr_nodes; i++) {
		free(model->nodes[i]->cpulist);
		free(model->nodes[i]);
	}
	while (model->files) {
		struct file *file = model->files;

		model->files = file->next;
		free(file->path);
		free(file->text);
		free(file);
	}
	model_free_blocks(model);
	(void) pthread_mutex_destroy(&model->lock);
	free(model);
	return NULL;
}

struct kernel *kernel_model_kernel(struct kernel_model *model)
{
	return &model->kernel;
}

void kernel_model_add_node(struct kernel_model *model, unsigned node_id, const char *cpulist,
                           uint64_t memory_bytes)
{
	struct node *node = model_or_abort(calloc(1, sizeof(*node)));
	size_t at;

	*node = (struct node){
		.node_id = node_id,
		.cpulist = model_or_abort(strdup(cpulist)),
		.memory_bytes = memory_bytes,
		.free_bytes = memory_bytes,
	};
	for (size_t i = 0; i < PAGE_SIZES_MAX; i++) {
		node->pools[i].contiguous_pages = UINT64_MAX;
		node->pools[i].write_limit_pages = UINT64_MAX;
	}

	LOCKED(model);

	ck_assert_msg(!model_find_node(model, node_id), "the model has a node %u already", node_id);
	ck_assert_uint_lt(model->nr_nodes, NODES_MAX);
	for (at = model->nr_nodes; at > 0 && model->nodes[at - 1]->node_id > node_id; at--)
		model->nodes[at] = model->nodes[at - 1];
	model->nodes[at] = node;
	model->nr_nodes++;
}

void kernel_model_add_page_size(struct kernel_model *model, uint64_t page_bytes)
{
	LOCKED(model);

	ck_assert_uint_lt(model->nr_page_sizes, PAGE_SIZES_MAX);
	model->page_sizes[model->nr_page_sizes++] = page_bytes;
}

void kernel_model_set_file(struct kernel_model *model, const char *path, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	struct file *file;
	int r;

	va_start(arguments, format);
	r = vasprintf(&text, format, arguments);
	va_end(arguments);
	ck_assert_int_ge(r, 0);

	LOCKED(model);

	file = model_file_at(model, path);
	free(file->text);
	file->text = text;
}

char *kernel_model_file(struct kernel_model *model, const char *path)
{
	const struct file *file;
	LOCKED(model);

	file = model_find_file(model, path);
	return file && file->text ? model_or_abort(strdup(file->text)) : NULL;
}

void kernel_model_hide(struct kernel_model *model, const char *path)
{
	LOCKED(model);

	model_file_at(model, path)->is_hidden = true;
}

void kernel_model_set_free_bytes(struct kernel_model *model, unsigned node_id, uint64_t bytes)
{
	LOCKED(model);

	node_or_abort(model, node_id)->free_bytes = bytes;
}

uint64_t kernel_model_free_bytes(struct kernel_model *model, unsigned node_id)
{
	LOCKED(model);

	return node_or_abort(model, node_id)->free_bytes;
}

void kernel_model_set_pages(struct kernel_model *model, unsigned node_id, uint64_t page_bytes,
                            struct hugepages_count count)
{
	LOCKED(model);

	ck_assert(count.free_pages <= count.nr_pages && count.surplus_pages <= count.nr_pages);
	pool_or_abort(model, node_id, page_bytes)->count = count;
}

struct hugepages_count kernel_model_pages(struct kernel_model *model, unsigned node_id,
                                          uint64_t page_bytes)
{
	LOCKED(model);

	return pool_or_abort(model, node_id, page_bytes)->count;
}

int kernel_model_use_pages(struct kernel_model *model, unsigned node_id, uint64_t page_bytes,
                           int64_t nr_pages)
{
	struct hugepages_count *count;
	LOCKED(model);

	count = &pool_or_abort(model, node_id, page_bytes)->count;
	if (nr_pages > 0 && count->free_pages < (uint64_t) nr_pages)
		return -ENOMEM;
	if (nr_pages < 0 && count->nr_pages - count->free_pages < (uint64_t) -nr_pages)
		return -ENOMEM;
	count->free_pages -= (uint64_t) nr_pages;
	return 0;
}

void kernel_model_fragment(struct kernel_model *model, unsigned node_id, uint64_t page_bytes,
                           uint64_t nr_pages, uint64_t per_compaction)
{
	struct pool *pool;
	LOCKED(model);

	pool = pool_or_abort(model, node_id, page_bytes);
	pool->contiguous_pages = nr_pages;
	pool->per_compaction = per_compaction;
}

void kernel_model_limit_write(struct kernel_model *model, unsigned node_id, uint64_t page_bytes,
                              uint64_t nr_pages)
{
	LOCKED(model);

	pool_or_abort(model, node_id, page_bytes)->write_limit_pages = nr_pages;
}

void kernel_model_fail_writes(struct kernel_model *model, unsigned node_id, uint64_t page_bytes,
                              unsigned nr_writes, int error)
{
	struct pool *pool;
	LOCKED(model);

	pool = pool_or_abort(model, node_id, page_bytes);
	pool->nr_failing = nr_writes;
	pool->failing_error = error;
}

void kernel_model_add_rival(struct kernel_model *model, unsigned node_id, uint64_t page_bytes,
                            uint64_t nr_pages, unsigned nr_times)
{
	struct pool *pool;
	LOCKED(model);

	pool = pool_or_abort(model, node_id, page_bytes);
	pool->rival_pages = nr_pages;
	pool->nr_rival_writes = nr_times;
}

void kernel_model_refuse(struct kernel_model *model, const char *path, int error)
{
	LOCKED(model);

	model_file_at(model, path)->refusal = error;
}

void kernel_model_refuse_reads(struct kernel_model *model, const char *path, int error)
{
	LOCKED(model);

	model_file_at(model, path)->read_error = error;
}

void kernel_model_on_write(struct kernel_model *model, kernel_model_write_fn fn, void *arg)
{
	model->write_fn = fn;
	model->write_arg = arg;
}

unsigned kernel_model_nr_writes(struct kernel_model *model, const char *path)
{
	const struct file *file;
	LOCKED(model);

	if (!path)
		return model->nr_writes;
	file = model_find_file(model, path);
	return file ? file->nr_writes : 0;
}

unsigned kernel_model_nr_page_writes(struct kernel_model *model, unsigned node_id,
                                     uint64_t page_bytes)
{
	char path[128];

	(void) snprintf(path, sizeof(path),
	                "/sys/devices/system/node/node%u/hugepages/hugepages-%" PRIu64
	                "kB/nr_hugepages",
	                node_id, page_bytes / KIB);
	return kernel_model_nr_writes(model, path);
}

unsigned kernel_model_nr_compactions(struct kernel_model *model, unsigned node_id)
{
	char path[128];

	(void) snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/compact", node_id);
	return kernel_model_nr_writes(model, path);
}
