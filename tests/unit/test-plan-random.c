/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What must hold for any machine and any configuration, on 10 000 of them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan-world.h"
#include "suite.h"

#define NR_WORLDS    10000
#define DEFAULT_SEED UINT64_C(20240229)

static uint64_t state;

/* splitmix64; reproducible everywhere, unlike rand(3). */
static uint64_t next(void)
{
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t below(uint64_t end)
{
	return next() % end;
}

static bool one_in(uint64_t n)
{
	return below(n) == 0;
}

static void random_page_sizes(struct machine *machine)
{
	static const uint64_t bases[] = { 4 * KIB, 16 * KIB, 64 * KIB };
	static const uint64_t sizes[][3] = {
		{ 2 * MIB, GIB, 0 },
		{ 2 * MIB, 512 * MIB, 16 * GIB },
		{ 16 * MIB, 16 * GIB, 0 },
		{ 0, 0, 0 },
	};
	const uint64_t *chosen = sizes[below(ELEMENTS(sizes))];

	machine->page_bytes = bases[below(ELEMENTS(bases))];
	machine->nr_page_sizes = 0;
	for (size_t i = 0; i < 3 && chosen[i]; i++)
		machine->page_sizes[machine->nr_page_sizes++] = chosen[i];
	machine->huge_page_bytes =
		machine->nr_page_sizes ? chosen[below(machine->nr_page_sizes)] : 0;
	machine->thp_bytes = one_in(5) ? 0 : 2 * MIB;
	machine->thp = (enum machine_thp) below(3);
}

static void random_blocks(struct world *world, unsigned node_id)
{
	size_t nr = 1 + below(one_in(4) ? 1000 : 24);
	struct machine_block *blocks = world_add_blocks(world, node_id, nr);

	for (size_t i = 0; i < nr; i++) {
		blocks[i].zones = one_in(3) ? (unsigned) below(4) : 3;
		blocks[i].is_given_up = one_in(20);
		if (one_in(3))
			world_set_online(world, node_id, &blocks[i], 1, (unsigned) below(4));
	}
}

static void random_machine(struct world *world)
{
	struct machine *machine = &world->machine;
	unsigned node_id = (unsigned) below(3);
	uint64_t nr_nodes = 1 + below(8);

	random_page_sizes(machine);
	machine->block_bytes = (128 * MIB) << below(5);
	machine->section_bytes = machine->block_bytes;
	machine->has_swap = one_in(2);
	machine->may_grow_hugepages = !one_in(3);
	if (one_in(3)) {
		machine->cgroup_limit_bytes = below(TIB);
		machine->cgroup_room_bytes = below(machine->cgroup_limit_bytes + 1);
	}
	while (nr_nodes--) {
		uint64_t nr_blocks = one_in(6) ? 0 : below(one_in(3) ? 4096 : 64);
		struct machine_node *node =
			world_add_node(world, node_id, nr_blocks * machine->block_bytes);

		node->spanned_bytes += below(64) * machine->block_bytes;
		node->mem_total_bytes -= node->mem_total_bytes / (1 + below(100));
		node->is_allowed = !one_in(6);
		if (one_in(5))
			idset_clear(&node->cpus);
		for (size_t i = 0; i < machine->nr_page_sizes; i++)
			node->hugepages[i].nr_pages = below(2048);
		if (one_in(2))
			random_blocks(world, node_id);
		node_id += 1 + (unsigned) below(one_in(4) ? 50 : 1);
	}
}

static struct amount random_amount(void)
{
	switch (below(4)) {
	case 0:
		return (struct amount){ AMOUNT_PERCENT, below(10001) };
	case 1:
		return (struct amount){ AMOUNT_PAGES, below(1 << 20) };
	case 2:
		return (struct amount){ AMOUNT_BYTES, below(2 * GIB) };
	default:
		return (struct amount){ AMOUNT_BYTES, below(4 * TIB) };
	}
}

static void random_files(struct pool_config *pool)
{
	for (uint64_t i = below(12); i > 0; i--) {
		struct original *file;

		if (one_in(4))
			(void) world_add_refused(pool, "/srv/refused",
			                         (enum original_refusal)(1 + below(9)));
		file = world_add_file(pool, "/srv/file", below(one_in(3) ? 64 * GIB : MIB));
		if (one_in(6))
			file->link_target = strdup("target");
	}
}

static void random_pool(struct world *world, char letter)
{
	const char name[] = { letter, '\0' };
	struct pool_config *pool = world_add_pool(world, name, (enum pool_kind) below(4), NULL);

	pool->size.is_set = !one_in(5);
	pool->size.amount = random_amount();
	while (one_in(3)) {
		world_set_size_on(pool, (unsigned) pool->size.nr_overrides * 2, "1G");
		pool->size.overrides[pool->size.nr_overrides - 1].amount = random_amount();
	}
	pool->minimum.is_set = one_in(2);
	pool->minimum.amount = random_amount();
	pool->nodes = (enum pool_nodes) below(3);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(idset_add(&pool->node_list, (unsigned) below(12)), 0);
	pool->page = (enum pool_page) below(4);
	pool->page_bytes = one_in(2) ? GIB : world->machine.page_sizes[0];
	if (pool->page == POOL_PAGE_SIZE && !pool->page_bytes)
		pool->page_bytes = 2 * MIB;
	pool->region_bytes = one_in(2) ? 0 : 1 + below(8 * GIB);
	pool->zone = (enum pool_zone) below(3);
	if (pool->kind == POOL_REPLICA)
		random_files(pool);
	pool->is_required = one_in(2);
	pool->is_locked = one_in(2);
	pool->early = (enum pool_early) below(4);
	pool->early_amount = random_amount();
}

static void random_config(struct world *world)
{
	uint64_t nr_pools = below(6);

	world->config.daemon.is_reserve_set = one_in(2);
	if (world->config.daemon.is_reserve_set)
		world->config.daemon.reserve = random_amount();
	world->config.daemon.early_minimum_bytes = below(8 * GIB);
	world->config.daemon.early_shift = (unsigned) below(64);
	for (uint64_t i = 0; i < nr_pools; i++)
		random_pool(world, (char) ('a' + i));
}

static bool is_charged(const struct plan_pool *pool)
{
	return pool->kind == POOL_REPLICA ||
	       (pool->kind == POOL_REGION && pool->page != PLAN_PAGE_HUGETLB);
}

/* No more than the limits allow, and nothing where nothing can be had. */
static void check_limits(const struct world *world)
{
	const struct machine *machine = &world->machine;
	uint64_t charged_bytes = 0;

	for (size_t i = 0; i < world->plan->nr_nodes; i++) {
		const struct plan_node *planned = &world->plan->nodes[i];
		const struct machine_node *node = machine_node(machine, planned->node_id);

		for (size_t j = 0; j < planned->nr_shares; j++) {
			const struct plan_share *share = &planned->shares[j];
			uint64_t granted_bytes = share->early_bytes + share->deferred_bytes;

			if (!granted_bytes)
				continue;
			ck_assert_ptr_nonnull(node);
			/* All of its blocks may have been given up. */
			if (share->pool->kind == POOL_BLOCK)
				continue;
			ck_assert_uint_gt(planned->memory_bytes, 0);
			ck_assert(node->is_allowed || !node->memory_bytes);
			ck_assert_uint_eq(share->unit_bytes % share->pool->page_bytes, 0);
			if (is_charged(share->pool))
				charged_bytes += granted_bytes;
		}
	}
	if (charged_bytes && machine->cgroup_room_bytes != UINT64_MAX)
		ck_assert_uint_le(charged_bytes + 64 * MIB, machine->cgroup_room_bytes);
}

static const struct machine_block *find_block(const struct machine_node *node, uint64_t block)
{
	for (size_t i = 0; i < node->nr_candidates; i++)
		if (node->candidates[i].block == block)
			return &node->candidates[i];
	ck_abort_msg("block %" PRIu64 " is none of node %u", block, node->node_id);
}

static bool is_kernel_only(const struct machine_block *block)
{
	return !block->is_online && block->zones == MACHINE_ZONE_KERNEL;
}

/* Kernel ones first and early, each sort ascending; what goes in is what Zone= asks for. */
static void check_list(const struct world *world, const struct plan_share *share,
                       const struct machine_node *node, struct idset *taken)
{
	const struct pool_config *config = &world->pools[share->pool - world->plan->pools];
	uint64_t nr_early = share->early_bytes / share->unit_bytes;

	for (size_t i = 0; i < share->nr_blocks; i++) {
		const struct machine_block *block = find_block(node, share->blocks[i].block);
		unsigned index = (unsigned) (block - node->candidates);

		ck_assert(!idset_has(taken, index));
		ck_assert_int_eq(idset_add(taken, index), 0);
		ck_assert_int_eq(share->blocks[i].zone, config->zone);
		ck_assert(!is_kernel_only(block) || i < nr_early);
		if (!block->is_online)
			ck_assert_uint_ne(block->zones & (config->zone == POOL_ZONE_AUTO     ? 3u
			                                  : config->zone == POOL_ZONE_KERNEL ? 1u
			                                                                     : 2u),
			                  0);
		if (i == 0)
			continue;
		block = find_block(node, share->blocks[i - 1].block);
		if (is_kernel_only(block) ==
		    is_kernel_only(find_block(node, share->blocks[i].block)))
			ck_assert_uint_lt(block->block, share->blocks[i].block);
		else
			ck_assert(is_kernel_only(block));
	}
}

/* No block is in two shares, and what is coming is what the shares bring. */
static void check_blocks(const struct world *world, const struct plan_node *planned)
{
	const struct machine_node *node = machine_node(&world->machine, planned->node_id);
	scoped(idset_clear) struct idset taken = { .words = NULL };
	uint64_t coming_bytes = 0, offline_bytes = 0;

	for (size_t i = 0; i < planned->nr_shares; i++)
		if (planned->shares[i].nr_blocks > 0)
			check_list(world, &planned->shares[i], node, &taken);
	for (unsigned i = 0; node && i < node->nr_candidates; i++) {
		if (node->candidates[i].is_online)
			continue;
		offline_bytes += world->machine.block_bytes;
		if (idset_has(&taken, i) && !node->candidates[i].is_given_up)
			coming_bytes += world->machine.block_bytes;
	}
	ck_assert_uint_eq(planned->coming_bytes, coming_bytes);
	ck_assert_uint_eq(planned->offline_bytes, offline_bytes);
	ck_assert_uint_eq(planned->memory_bytes, (node ? node->memory_bytes : 0) + coming_bytes);
}

/* What is early whatever the budget says: blocks for a kernel zone only. */
static uint64_t must_bytes(const struct world *world, const struct plan_share *share)
{
	const struct machine_node *node = machine_node(&world->machine, share->node_id);
	uint64_t bytes = 0;

	for (size_t i = 0; i < share->nr_blocks; i++)
		if (is_kernel_only(find_block(node, share->blocks[i].block)))
			bytes += share->unit_bytes;
	return bytes;
}

/* The budget is used up to what rounding to units costs, as long as there is something for it. */
static void check_budget(const struct world *world, const struct plan_node *node)
{
	uint64_t auto_bytes = 0, early_bytes = 0, units_bytes = 0;
	uint64_t budget_bytes = node->early_budget_bytes;

	for (size_t i = 0; i < node->nr_shares; i++) {
		const struct plan_share *share = &node->shares[i];
		const struct pool_config *config = &world->pools[share->pool - world->plan->pools];

		if (config->early == POOL_EARLY_AUTO) {
			uint64_t fixed_bytes = must_bytes(world, share);

			budget_bytes = bytes_left(budget_bytes, fixed_bytes);
			auto_bytes += share->early_bytes + share->deferred_bytes - fixed_bytes;
			early_bytes += share->early_bytes - fixed_bytes;
			units_bytes += share->unit_bytes;
		} else {
			budget_bytes = bytes_left(budget_bytes, share->early_bytes);
		}
	}
	ck_assert_uint_ge(early_bytes, bytes_min(budget_bytes, auto_bytes));
	ck_assert_uint_le(early_bytes, budget_bytes + units_bytes);
}

START_TEST(test_the_account_is_exact_on_10000_random_machines_and_configurations)
{
	const char *text = getenv("NODEINIT_TEST_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : DEFAULT_SEED;
	uint64_t granted_bytes = 0, coming_bytes = 0;
	unsigned nr_refused[PLAN_EXCEEDS_SIZE + 1] = { 0 };

	printf("NODEINIT_TEST_SEED=%" PRIu64 "\n", seed);
	(void) fflush(stdout);
	for (unsigned i = 0; i < NR_WORLDS; i++) {
		static struct world world;

		state = seed + i;
		world_init(&world);
		random_machine(&world);
		random_config(&world);
		world_plan(&world);
		check_limits(&world);
		for (size_t j = 0; j < world.plan->nr_nodes; j++) {
			check_budget(&world, &world.plan->nodes[j]);
			check_blocks(&world, &world.plan->nodes[j]);
			coming_bytes += world.plan->nodes[j].coming_bytes;
		}
		for (size_t j = 0; j < world.plan->nr_pools; j++)
			nr_refused[world.plan->pools[j].refusal]++;
		granted_bytes = bytes_add(granted_bytes, world.plan->early_bytes);
		world_clear(&world);
	}
	/* A generator that never gets anywhere would make all of this true. */
	ck_assert_uint_gt(granted_bytes, 100 * TIB);
	ck_assert_uint_gt(coming_bytes, 100 * TIB);
	for (size_t i = 0; i < ELEMENTS(nr_refused); i++)
		ck_assert_msg(nr_refused[i] > 50, "\"%s\" came only %u times",
		              plan_refusal_text((enum plan_refusal) i), nr_refused[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan-random");
	TCase *cases = tcase_create("random");

	tcase_set_timeout(cases, 240);
	tcase_add_test(cases,
	               test_the_account_is_exact_on_10000_random_machines_and_configurations);
	suite_add_tcase(suite, cases);
	return suite_main(suite);
}
