/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * replica-world.h - originals and the trees of their copies in a directory, shares of one node over
 * them, and loops that drive their parts in place of the engine
 *
 * For tests only: every function ends the running test where something goes wrong. Names are below
 * the directory of the originals.
 */
#pragma once

#include <check.h>
#include <limits.h>
#include <sys/stat.h>

#include "../../daemon/base/size.h"
#include "../../daemon/kinds/kind.h"
#include "../../daemon/kinds/replica.h"
#include "kernel-model.h"

#define REPLICA_FILES_MAX 16384
#define REPLICA_PAGE      UINT64_C(4096)

/* What stands behind the door to the kernel: it is asked for free memory before each chunk. */
struct replica_door {
	struct kernel kernel;
	struct kernel *inner;
	void (*on_chunk)(unsigned nr, void *arg); /* @nr: 1 for the first; NULL: nothing */
	void *arg;
	_Atomic unsigned nr_chunks;
};

struct replica_world {
	char directory[64];
	char originals[80];
	char copies[80]; /* the base */
	unsigned node_id;
	struct kernel_model *model;
	struct replica_door door;
	struct kind_context context;
	struct replica_base *base;
	uint64_t reserve_bytes;

	/* What the next share is to have. */
	struct original files[REPLICA_FILES_MAX];
	struct plan_copy copies_planned[REPLICA_FILES_MAX];
	size_t nr_files;
	struct plan_pool pool;
	struct plan_share planned;
};

/* Node 1 with 1 GiB free, plain directories, chunks of 64 KiB, 2 attempts, no reserve. */
void replica_world_open(struct replica_world *world);
void replica_world_close(struct replica_world *world);

/* The paths of an original and of its copy. In one of four buffers, the next one each time. */
const char *replica_original(const struct replica_world *world, const char *name);
const char *replica_copy(const struct replica_world *world, const char *name);

/* The directories that @path is in, open to everybody. */
void replica_make_directories(const char *path);

/* Write an original, with its directories: bytes that @seed tells. */
void replica_write(const struct replica_world *world, const char *name, uint64_t bytes,
                   unsigned seed);

/* The next share has it as it is now. Return: its plan. */
struct plan_copy *replica_name(struct replica_world *world, const char *name);
struct plan_copy *replica_name_link(struct replica_world *world, const char *name,
                                    const char *target);
void replica_forget_names(struct replica_world *world);
/* replica_write() and replica_name(). */
struct plan_copy *replica_add(struct replica_world *world, const char *name, uint64_t bytes,
                              unsigned seed);

/* What was named, in the order of paths, as a plan. Borrowed. */
struct plan_share *replica_plan(struct replica_world *world, uint64_t early_bytes);
struct share *replica_make(struct replica_world *world, uint64_t early_bytes);
void replica_free(struct share *share);

/* One round. Return: what finish returned. */
int replica_round(struct part *part, unsigned nr_threads);
/* Until it settles. Return: rounds. */
unsigned replica_drive(struct part *part);
/* Both parts, those that want something. */
void replica_run(struct share *share);
struct share_status replica_status(const struct share *share);

/* The copy is a file of its own with the same bytes. */
bool replica_is_copied(const struct replica_world *world, const char *name);
/* The text of the link there; "" there is none. */
const char *replica_link(const struct replica_world *world, const char *name);
/* Nothing is there. */
bool replica_is_absent(const struct replica_world *world, const char *name);
ino_t replica_inode(const struct replica_world *world, const char *name);
/* That this process has open. */
unsigned replica_nr_descriptors(void);
