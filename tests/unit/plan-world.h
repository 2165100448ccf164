/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * plan-world.h - machines and configurations made by hand, to plan for
 *
 * For tests of the plan: what a case is about is set in the structs themselves, everything else
 * has the values of a common server. Functions end the running test where something goes wrong.
 */
#pragma once

#include "../../daemon/plan/plan.h"

#define WORLD_NODES_MAX 64
#define WORLD_POOLS_MAX 16

/*
 * 4K pages, huge pages of 2M (default) and 1G, thp by a mount, sections of 128M, no swap, no
 * cgroup limit, huge pages may be added; Reserve= unset, EarlyMinimum=2G, EarlyShift=8.
 */
struct world {
	struct machine machine;
	struct config config;
	struct machine_node nodes[WORLD_NODES_MAX];
	struct pool_config pools[WORLD_POOLS_MAX];
	struct plan *plan;
};

void world_init(struct world *world);
void world_clear(struct world *world);

/* Nodes must be added by ascending id. Each has two CPUs, and spans what it has. */
struct machine_node *world_add_node(struct world *world, unsigned node_id, uint64_t memory_bytes);

/*
 * The next @nr blocks behind those the node has; offline, for any zone. They are beyond its memory
 * and within its span. Return: the first of them, until the next ones are added.
 */
struct machine_block *world_add_blocks(struct world *world, unsigned node_id, size_t nr);

/* What brought them online: the node has them by now, in @zones. */
void world_set_online(struct world *world, unsigned node_id, struct machine_block *blocks,
                      size_t nr, unsigned zones);

/* "48-50,56", and an "@" in front of the first block that is deferred: "48,@56". Static. */
const char *world_blocks_text(const struct world *world, unsigned node_id, const char *pool);

/* A file of a pool of kind replica; must be added by path. Return: it, until the next is added. */
struct original *world_add_file(struct pool_config *pool, const char *path, uint64_t bytes);
struct original *world_add_refused(struct pool_config *pool, const char *path,
                                   enum original_refusal refusal);

/* One letter for each file: "c" a copy, "l" a link for want of room. Static. */
const char *world_copies_text(const struct world *world, unsigned node_id, const char *pool);

/* Pools must be added by name. Required, of base pages, on all nodes, Early=auto. */
struct pool_config *world_add_pool(struct world *world, const char *name, enum pool_kind kind,
                                   const char *size);

/* "64G" as the files have it. */
struct amount world_amount(const char *text);
void world_set_size_on(struct pool_config *pool, unsigned node_id, const char *size);
void world_set_minimum(struct pool_config *pool, const char *minimum);
void world_set_node_list(struct pool_config *pool, const char *list);
void world_set_page(struct pool_config *pool, enum pool_page page, uint64_t page_bytes);

/* Make the plan anew, and hold it against both identities. */
void world_plan(struct world *world);

/* The same for a machine that was probed; the world gives the configuration. */
void world_plan_on(struct world *world, const struct machine *machine);

/* Assert that no byte is left out: per share, node, pool and in all. */
void world_check_account(const struct plan *plan);

const struct plan_share *world_share(const struct world *world, unsigned node_id, const char *pool);

/* Whether a warning contains @fragment. */
bool world_is_warned(const struct world *world, const char *fragment);

/* Assert what became of one share. */
void world_expect(const struct world *world, unsigned node_id, const char *pool,
                  uint64_t granted_bytes, uint64_t refused_bytes, enum plan_refusal refusal);
