/* SPDX-License-Identifier: LGPL-2.1-or-later */
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
	}
	for (size_t i = 0; i < world->config.nr_pools; i++) {
		free(world->pools[i].name);
		free(world->pools[i].source);
		free(world->pools[i].size.overrides);
		idset_clear(&world->pools[i].node_list);
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

static void check_node(const struct plan_node *node)
{
	uint64_t declared_bytes = 0, early_bytes = 0, deferred_bytes = 0, refused_bytes = 0;

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
	}
	ck_assert_uint_eq(node->declared_bytes, declared_bytes);
	ck_assert_uint_eq(node->early_bytes, early_bytes);
	ck_assert_uint_eq(node->deferred_bytes, deferred_bytes);
	ck_assert_uint_eq(node->refused_bytes, refused_bytes);
	ck_assert_uint_le(early_bytes + deferred_bytes, node->memory_bytes);
	ck_assert_uint_eq(node->early_bytes + node->deferred_bytes + node->reserved_bytes +
	                          node->unclaimed_bytes,
	                  node->memory_bytes);
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
