/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * run-nodes.h - the nodes that a command can run on, and which of them has most to give
 *
 * One thread; no state. @root is put in front of /sys and /proc: "" for this machine.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scoped.h"

/* More CPUs or nodes no kernel is built for; what is beyond is passed over. */
#define RUN_IDS_MAX ((size_t) 8 * CPU_SETSIZE)

/* Ids of CPUs or nodes; for CPU_ISSET_S(3) and its like, which take the bytes of it. */
struct run_ids {
	cpu_set_t sets[RUN_IDS_MAX / CPU_SETSIZE];
};

struct run_node {
	uint32_t node_id;
	bool has_memory;
	bool is_allowed;          /* by the cpuset: memory of it can be had */
	struct run_ids cpus;      /* its own of those allowed; when there are none, its helper's */
	unsigned nr_cpus;         /* 0: nobody can run near it */
	int32_t helper_node_id;   /* whose CPUs these are; -1: its own */
	uint32_t distance;        /* to those, as of sysfs: 10 is none */
	uint64_t free_bytes;      /* run_nodes_weigh(): free, or file cache that can be dropped */
	uint64_t idle_cpus_milli; /* run_nodes_weigh(): thousandths of a CPU */
};

struct run_nodes {
	struct run_node *nodes; /* by id */
	size_t nr_nodes;
};

/* What each CPU has done since boot, in ticks. */
struct run_load {
	uint64_t idle_ticks[RUN_IDS_MAX];
	uint64_t total_ticks[RUN_IDS_MAX];
};

/* Take the ids of "0-3,8" (cpuset(7)) into *ret. Return: 0; -EINVAL: it is no list. */
int run_ids_parse(const char *text, struct run_ids *ret);

static inline bool run_ids_has(const struct run_ids *ids, size_t id)
{
	return id < RUN_IDS_MAX && CPU_ISSET_S(id, sizeof(ids->sets), ids->sets);
}

/*
 * Read what nodes there are, and the CPUs of each that are among @allowed. A node without any gets
 * those of the nearest one that has some, then the one with the lower id, as nodeinitd(8) does.
 * Return: 0; -ENOENT: this kernel shows no nodes; -EINVAL, -errno: it shows something odd; -ENOMEM.
 */
int run_nodes_read(const char *root, const struct run_ids *allowed, struct run_nodes *ret);
void run_nodes_clear(struct run_nodes *nodes);

/* Return: borrowed; NULL for none. */
struct run_node *run_nodes_find(const struct run_nodes *nodes, uint32_t node_id);

/* Return: 0; -errno. CPUs that are not listed have 0 of all. */
int run_load_read(const char *root, struct run_load *ret);

/* Fill in what is free: memory now, CPUs between @before and @after. */
void run_nodes_weigh(const char *root, struct run_nodes *nodes, const struct run_load *before,
                     const struct run_load *after);

/*
 * The node with most to give: free bytes times idle CPUs, less by as much as these are further away
 * than its own would be; of equals the one with more memory, then the lower id. Only nodes that a
 * command can be bound to. Return: borrowed; NULL for none.
 */
const struct run_node *run_nodes_choose(const struct run_nodes *nodes);
