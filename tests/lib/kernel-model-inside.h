/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * kernel-model-inside.h - what the files of the scripted kernel share
 *
 * Threads: functions here want the lock held, unless they say otherwise.
 */
#pragma once

#include <check.h>
#include <pthread.h>
#include <string.h>

#include "kernel-model.h"

#define NODES_MAX      1024
#define PAGE_SIZES_MAX 16

/* The pages of one size on one node, and what was scripted for them. */
struct pool {
	struct hugepages_count count;
	uint64_t contiguous_pages; /* that the free bytes could still become; UINT64_MAX: any */
	uint64_t per_compaction;
	uint64_t write_limit_pages;
	unsigned nr_failing;
	int failing_error;
	uint64_t rival_pages;
	unsigned nr_rival_writes;
};

struct node {
	unsigned node_id;
	char *cpulist;
	uint64_t memory_bytes;
	uint64_t free_bytes;
	struct pool pools[PAGE_SIZES_MAX];
};

struct file {
	char *path;
	char *text;     /* NULL: no text file here */
	bool is_hidden; /* nothing here nor below */
	int refusal;    /* errno of writes here or below; 0: none */
	int read_error; /* errno of reads of it; 0: none */
	unsigned nr_writes;
	struct file *next;
};

struct kernel_model {
	struct kernel kernel;          /* first: the ops get its address */
	pthread_mutex_t lock;          /* of everything below but the hook */
	struct node *nodes[NODES_MAX]; /* ascending by id */
	size_t nr_nodes;
	uint64_t page_sizes[PAGE_SIZES_MAX];
	size_t nr_page_sizes;
	struct file *files;
	unsigned nr_writes;
	struct model_blocks *blocks; /* NULL: the kernel shows none */
	kernel_model_write_fn write_fn;
	void *write_arg;
};

/* @memory, or the end of the test when there is none. No lock needed. */
void *model_or_abort(void *memory);

void model_lock_end(pthread_mutex_t **lock);
pthread_mutex_t *model_lock_begin(struct kernel_model *model);

/* Hold the model until the end of the block. */
#define LOCKED(model)                                                          \
	scoped(model_lock_end) __attribute__((unused)) pthread_mutex_t *held = \
		model_lock_begin(model)

/* Return: NULL, -1 when there is none. */
struct node *model_find_node(struct kernel_model *model, unsigned node_id);
int model_find_page_size(const struct kernel_model *model, uint64_t page_bytes);
struct file *model_find_file(struct kernel_model *model, const char *path);

/* What is said about @path; made when nothing was. Never NULL. */
struct file *model_file_at(struct kernel_model *model, const char *path);

/* Return: what of @path lies below @dir ("" for @dir itself), or NULL. */
const char *model_below(const char *path, const char *dir);

/* A write of @nr_pages to the node's nr_hugepages. Return: 0; -errno. */
int model_write_pages(struct kernel_model *model, struct node *node, size_t size_index,
                      uint64_t nr_pages);
void model_compact(struct node *node);

/* The same of a file of memory blocks. Return: 0; -ENOENT, -EACCES none such; -errno. */
int model_print_block(const struct kernel_model *model, const char *path, FILE *out);
int model_write_block(struct kernel_model *model, const char *path, const char *text);

/* Call @fn for each file of memory blocks. */
typedef void (*model_note_fn)(const struct kernel_model *model, const char *path, void *arg);
void model_note_blocks(const struct kernel_model *model, model_note_fn fn, void *arg);

/* No lock needed. */
void model_free_blocks(struct kernel_model *model);

extern const struct kernel_ops model_ops;
