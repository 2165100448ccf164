/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "plan-world.h"

void world_init(struct world *world)
{
	memset(world, 0, sizeof(*world));
	world->machine.page_bytes = 4 * KIB;
	world->machine.block_bytes = 128 * MIB;
	world->machine.section_bytes = 128 * MIB;
	world->machine.huge_page_bytes = 2 * MIB;
	world->machine.thp_bytes = 2 * MIB;
	world->machine.thp = MACHINE_THP_MOUNT;
	world->machine.page_sizes[0] = 2 * MIB;
	world->machine.page_sizes[1] = GIB;
	world->machine.nr_page_sizes = 2;
	world->machine.nodes = world->nodes;
	world->machine.may_grow_hugepages = true;
	world->machine.cgroup_limit_bytes = UINT64_MAX;
	world->machine.cgroup_room_bytes = UINT64_MAX;
	world->config.daemon.reserve = (struct amount){ AMOUNT_PERCENT, 500 };
	world->config.daemon.early_minimum_bytes = 2 * GIB;
	world->config.daemon.early_shift = 8;
	world->config.pools = world->pools;
}

void world_clear(struct world *world)
{
	for (size_t i = 0; i < world->machine.nr_nodes; i++) {
		idset_clear(&world->nodes[i].cpus);
		idset_clear(&world->nodes[i].usable_cpus);
		free(world->nodes[i].candidates);
	}
	for (size_t i = 0; i < world->config.nr_pools; i++) {
		free(world->pools[i].name);
		free(world->pools[i].source);
		free(world->pools[i].size.overrides);
		idset_clear(&world->pools[i].node_list);
		for (size_t j = 0; j < world->pools[i].originals.nr; j++) {
			free(world->pools[i].originals.files[j].path);
			free(world->pools[i].originals.files[j].link_target);
		}
		free(world->pools[i].originals.files);
	}
	idset_clear(&world->machine.online_cpus);
	idset_clear(&world->machine.allowed_cpus);
	idset_clear(&world->machine.allowed_nodes);
	world->plan = plan_free(world->plan);
}

struct machine_node *world_add_node(struct world *world, unsigned node_id, uint64_t memory_bytes)
{
	struct machine_node *node = &world->nodes[world->machine.nr_nodes];

	ck_assert_uint_lt(world->machine.nr_nodes, WORLD_NODES_MAX);
	for (unsigned i = 0; i < 2; i++) {
		unsigned cpu = (unsigned) world->machine.nr_nodes * 2 + i;

		ck_assert_int_eq(idset_add(&node->cpus, cpu), 0);
		ck_assert_int_eq(idset_add(&node->usable_cpus, cpu), 0);
		ck_assert_int_eq(idset_add(&world->machine.online_cpus, cpu), 0);
		ck_assert_int_eq(idset_add(&world->machine.allowed_cpus, cpu), 0);
	}
	ck_assert_int_eq(idset_add(&world->machine.allowed_nodes, node_id), 0);
	node->node_id = node_id;
	node->helper_node_id = -1;
	node->is_allowed = true;
	node->memory_bytes = memory_bytes;
	node->mem_total_bytes = memory_bytes;
	node->available_bytes = memory_bytes;
	node->spanned_bytes = memory_bytes;
	node->hugepages[0].page_bytes = world->machine.page_sizes[0];
	node->hugepages[1].page_bytes = world->machine.page_sizes[1];
	world->machine.nr_nodes++;
	return node;
}

static struct machine_node *find_node(struct world *world, unsigned node_id)
{
	for (size_t i = 0; i < world->machine.nr_nodes; i++)
		if (world->nodes[i].node_id == node_id)
			return &world->nodes[i];
	ck_abort_msg("no node %u in the world", node_id);
}

/* Every node has numbers of its own, so that a block of another one is seen. */
struct machine_block *world_add_blocks(struct world *world, unsigned node_id, size_t nr)
{
	struct machine_node *node = find_node(world, node_id);
	size_t nr_before = node->nr_candidates;

	node->candidates =
		reallocarray(node->candidates, nr_before + nr, sizeof(*node->candidates));
	ck_assert_ptr_nonnull(node->candidates);
	for (size_t i = nr_before; i < nr_before + nr; i++)
		node->candidates[i] = (struct machine_block){
			.block = 10000 * (uint64_t) node_id + i,
			.zones = MACHINE_ZONE_KERNEL | MACHINE_ZONE_MOVABLE,
		};
	node->nr_candidates = nr_before + nr;
	node->nr_blocks += nr;
	node->spanned_bytes += nr * world->machine.block_bytes;
	return &node->candidates[nr_before];
}

void world_set_online(struct world *world, unsigned node_id, struct machine_block *blocks,
                      size_t nr, unsigned zones)
{
	struct machine_node *node = find_node(world, node_id);

	for (size_t i = 0; i < nr; i++) {
		blocks[i].is_online = true;
		blocks[i].zones = zones;
	}
	node->nr_online_blocks += nr;
	node->memory_bytes += nr * world->machine.block_bytes;
	node->mem_total_bytes += nr * world->machine.block_bytes;
}

struct original *world_add_file(struct pool_config *pool, const char *path, uint64_t bytes)
{
	struct originals *originals = &pool->originals;
	struct original *file;

	originals->files =
		reallocarray(originals->files, originals->nr + 1, sizeof(*originals->files));
	ck_assert_ptr_nonnull(originals->files);
	file = &originals->files[originals->nr++];
	*file = (struct original){
		.path = strdup(path),
		.position = "/etc/nodeinit/pools.d/a.pool:7",
		.identity.bytes = bytes,
	};
	ck_assert_ptr_nonnull(file->path);
	return file;
}

struct original *world_add_refused(struct pool_config *pool, const char *path,
                                   enum original_refusal refusal)
{
	struct original *file = world_add_file(pool, path, 77777);

	file->refusal = refusal;
	pool->originals.nr_refused++;
	return file;
}

struct amount world_amount(const char *text)
{
	struct amount amount;

	ck_assert_msg(amount_parse(text, &amount) == 0, "\"%s\" is no amount", text);
	return amount;
}

struct pool_config *world_add_pool(struct world *world, const char *name, enum pool_kind kind,
                                   const char *size)
{
	struct pool_config *pool = &world->pools[world->config.nr_pools++];

	ck_assert_uint_le(world->config.nr_pools, WORLD_POOLS_MAX);
	pool->name = strdup(name);
	ck_assert_int_ge(asprintf(&pool->source, "/etc/nodeinit/pools.d/%s.pool", name), 0);
	pool->kind = kind;
	pool->is_required = true;
	pool->size.is_set = size != NULL;
	if (size)
		pool->size.amount = world_amount(size);
	return pool;
}

void world_set_size_on(struct pool_config *pool, unsigned node_id, const char *size)
{
	size_t i = pool->size.nr_overrides++;

	pool->size.overrides = reallocarray(pool->size.overrides, pool->size.nr_overrides,
	                                    sizeof(*pool->size.overrides));
	ck_assert_ptr_nonnull(pool->size.overrides);
	pool->size.overrides[i].node_id = node_id;
	pool->size.overrides[i].amount = world_amount(size);
}

void world_set_minimum(struct pool_config *pool, const char *minimum)
{
	pool->minimum.is_set = true;
	pool->minimum.amount = world_amount(minimum);
}

void world_set_node_list(struct pool_config *pool, const char *list)
{
	pool->nodes = POOL_NODES_LIST;
	ck_assert_int_eq(idset_parse(list, &pool->node_list), 0);
}

void world_set_page(struct pool_config *pool, enum pool_page page, uint64_t page_bytes)
{
	pool->page = page;
	pool->page_bytes = page_bytes;
}

/* Every granted byte is a block of the list. */
static void check_blocks(const struct plan_share *share)
{
	ck_assert_uint_eq(share->nr_blocks * share->unit_bytes,
	                  share->early_bytes + share->deferred_bytes);
	ck_assert_uint_eq(share->nr_copies, 0);
}

/* Every granted byte is one of a copy, and every refused one is a link's. */
static void check_copies(const struct plan_share *share)
{
	uint64_t copied_bytes = 0, linked_bytes = 0;

	if (share->pool->kind != POOL_REPLICA) {
		ck_assert_ptr_null(share->copies);
		return;
	}
	for (size_t i = 0; i < share->nr_copies; i++) {
		const struct plan_copy *copy = &share->copies[i];
		uint64_t bytes = bytes_round_up(copy->original->identity.bytes, share->unit_bytes);

		ck_assert_int_eq(copy->original->refusal, ORIGINAL_ACCEPTED);
		if (copy->is_linked)
			linked_bytes += copy->original->link_target ? 0 : bytes;
		else
			copied_bytes += copy->original->link_target ? 0 : bytes;
	}
	ck_assert_uint_eq(share->early_bytes + share->deferred_bytes, copied_bytes);
	ck_assert_uint_eq(share->refused_bytes, linked_bytes);
	ck_assert_uint_eq(share->nr_blocks, 0);
}

static void check_node(const struct plan_node *node)
{
	uint64_t declared_bytes = 0, early_bytes = 0, deferred_bytes = 0, refused_bytes = 0;
	uint64_t taken_bytes = 0;

	for (size_t i = 0; i < node->nr_shares; i++) {
		const struct plan_share *share = &node->shares[i];

		ck_assert_uint_eq(share->early_bytes + share->deferred_bytes + share->refused_bytes,
		                  share->declared_bytes);
		ck_assert_uint_eq(share->declared_bytes % share->unit_bytes, 0);
		ck_assert_uint_eq(share->early_bytes % share->unit_bytes, 0);
		ck_assert_uint_eq(share->deferred_bytes % share->unit_bytes, 0);
		ck_assert_uint_eq(share->minimum_bytes % share->unit_bytes, 0);
		ck_assert_uint_eq(share->node_id, node->node_id);
		if (share->refused_bytes)
			ck_assert_int_ne(share->refusal, PLAN_ACCEPTED);
		declared_bytes += share->declared_bytes;
		early_bytes += share->early_bytes;
		deferred_bytes += share->deferred_bytes;
		refused_bytes += share->refused_bytes;
		if (share->pool->kind == POOL_BLOCK)
			check_blocks(share);
		else
			taken_bytes += share->early_bytes + share->deferred_bytes;
		check_copies(share);
	}
	ck_assert_uint_eq(node->declared_bytes, declared_bytes);
	ck_assert_uint_eq(node->early_bytes, early_bytes);
	ck_assert_uint_eq(node->deferred_bytes, deferred_bytes);
	ck_assert_uint_eq(node->refused_bytes, refused_bytes);
	ck_assert_uint_le(taken_bytes, node->memory_bytes);
	ck_assert_uint_eq(taken_bytes + node->reserved_bytes + node->unclaimed_bytes,
	                  node->memory_bytes);
	ck_assert_uint_le(node->coming_bytes, node->memory_bytes);
	ck_assert_uint_le(node->coming_bytes, node->offline_bytes);
}

static void check_pool(const struct plan *plan, const struct plan_pool *pool)
{
	uint64_t declared_bytes = 0, early_bytes = 0, deferred_bytes = 0, refused_bytes = 0;
	uint64_t minimum_bytes = 0;
	bool can_reach_minimum = true;

	for (size_t i = 0; i < plan->nr_nodes; i++)
		for (size_t j = 0; j < plan->nodes[i].nr_shares; j++) {
			const struct plan_share *share = &plan->nodes[i].shares[j];

			if (share->pool != pool)
				continue;
			declared_bytes += share->declared_bytes;
			early_bytes += share->early_bytes;
			deferred_bytes += share->deferred_bytes;
			refused_bytes += share->refused_bytes;
			minimum_bytes += share->minimum_bytes;
			if (share->early_bytes + share->deferred_bytes < share->minimum_bytes ||
			    share->is_unmet)
				can_reach_minimum = false;
			ck_assert(!share->is_unmet ||
			          (share->refusal != PLAN_ACCEPTED && share->declared_bytes == 0));
		}
	ck_assert_uint_eq(pool->declared_bytes, declared_bytes);
	ck_assert_uint_eq(pool->early_bytes, early_bytes);
	ck_assert_uint_eq(pool->deferred_bytes, deferred_bytes);
	ck_assert_uint_eq(pool->refused_bytes, refused_bytes);
	ck_assert_uint_eq(pool->minimum_bytes, minimum_bytes);
	ck_assert(!pool->is_empty || declared_bytes == 0);
	ck_assert_int_eq(pool->can_reach_minimum, can_reach_minimum && !pool->is_empty);
	ck_assert(pool->refused_bytes == 0 || pool->refusal != PLAN_ACCEPTED);
}

void world_check_account(const struct plan *plan)
{
	uint64_t nodes_bytes[4] = { 0 };
	uint64_t pools_bytes[4] = { 0 };
	const uint64_t plan_bytes[4] = { plan->declared_bytes, plan->early_bytes,
		                         plan->deferred_bytes, plan->refused_bytes };

	for (size_t i = 0; i < plan->nr_nodes; i++) {
		const struct plan_node *node = &plan->nodes[i];

		check_node(node);
		nodes_bytes[0] += node->declared_bytes;
		nodes_bytes[1] += node->early_bytes;
		nodes_bytes[2] += node->deferred_bytes;
		nodes_bytes[3] += node->refused_bytes;
	}
	for (size_t i = 0; i < plan->nr_pools; i++) {
		const struct plan_pool *pool = &plan->pools[i];

		check_pool(plan, pool);
		pools_bytes[0] += pool->declared_bytes;
		pools_bytes[1] += pool->early_bytes;
		pools_bytes[2] += pool->deferred_bytes;
		pools_bytes[3] += pool->refused_bytes;
	}
	for (size_t i = 0; i < ELEMENTS(plan_bytes); i++) {
		ck_assert_uint_eq(nodes_bytes[i], plan_bytes[i]);
		ck_assert_uint_eq(pools_bytes[i], plan_bytes[i]);
	}
	ck_assert_uint_eq(plan->early_bytes + plan->deferred_bytes + plan->refused_bytes,
	                  plan->declared_bytes);
}

void world_plan_on(struct world *world, const struct machine *machine)
{
	world->plan = plan_free(world->plan);
	ck_assert_int_eq(plan_make(machine, &world->config, &world->plan), 0);
	world_check_account(world->plan);
}

void world_plan(struct world *world)
{
	world_plan_on(world, &world->machine);
}

const struct plan_share *world_share(const struct world *world, unsigned node_id, const char *pool)
{
	const struct plan_node *node = plan_node(world->plan, node_id);

	ck_assert_msg(node != NULL, "no node %u in the plan", node_id);
	for (size_t i = 0; i < node->nr_shares; i++)
		if (strcmp(node->shares[i].pool->name, pool) == 0)
			return &node->shares[i];
	return NULL;
}

const char *world_blocks_text(const struct world *world, unsigned node_id, const char *pool)
{
	static char text[4096];
	const struct plan_share *share = world_share(world, node_id, pool);
	size_t nr_early, used = 0;

	ck_assert_ptr_nonnull(share);
	nr_early = share->early_bytes / share->unit_bytes;
	text[0] = '\0';
	for (size_t i = 0; i < share->nr_blocks; i++) {
		size_t first = i;

		while (i + 1 < share->nr_blocks && i + 1 != nr_early &&
		       share->blocks[i + 1].block == share->blocks[i].block + 1)
			i++;
		used += (size_t) snprintf(text + used, sizeof(text) - used, "%s%s%" PRIu64,
		                          first ? "," : "", first == nr_early ? "@" : "",
		                          share->blocks[first].block);
		if (i > first)
			used += (size_t) snprintf(text + used, sizeof(text) - used, "-%" PRIu64,
			                          share->blocks[i].block);
		ck_assert_uint_lt(used, sizeof(text));
	}
	return text;
}

const char *world_copies_text(const struct world *world, unsigned node_id, const char *pool)
{
	static char text[256];
	const struct plan_share *share = world_share(world, node_id, pool);

	ck_assert_ptr_nonnull(share);
	ck_assert_uint_lt(share->nr_copies, sizeof(text));
	for (size_t i = 0; i < share->nr_copies; i++)
		text[i] = share->copies[i].is_linked ? 'l' : 'c';
	text[share->nr_copies] = '\0';
	return text;
}

bool world_is_warned(const struct world *world, const char *fragment)
{
	for (size_t i = 0; i < world->plan->nr_warnings; i++)
		if (strstr(world->plan->warnings[i], fragment))
			return true;
	return false;
}

void world_expect(const struct world *world, unsigned node_id, const char *pool,
                  uint64_t granted_bytes, uint64_t refused_bytes, enum plan_refusal refusal)
{
	const struct plan_share *share = world_share(world, node_id, pool);

	ck_assert_msg(share != NULL, "no share of %s on node %u", pool, node_id);
	ck_assert_uint_eq(share->early_bytes + share->deferred_bytes, granted_bytes);
	ck_assert_uint_eq(share->refused_bytes, refused_bytes);
	ck_assert_str_eq(plan_refusal_text(share->refusal), plan_refusal_text(refusal));
}
