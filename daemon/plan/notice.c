/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an operator would want to be told, in sentences: notes of the configuration come first. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draft.h"

/* MemTotal below this part of the blocks: page structs are initialised at first use. */
#define SHOWN_PERCENT 90

int draft_say(struct plan *plan, const char *format, ...)
{
	char **longer;
	char *text;
	va_list args;
	int r;

	va_start(args, format);
	r = vasprintf(&text, format, args);
	va_end(args);
	if (r < 0)
		return -ENOMEM;
	longer = reallocarray(plan->warnings, plan->nr_warnings + 1, sizeof(*longer));
	if (!longer) {
		free(text);
		return -ENOMEM;
	}
	plan->warnings = longer;
	plan->warnings[plan->nr_warnings++] = text;
	return 0;
}

/* Which shares of a pool a sentence is about, and what it says of them. */
struct group {
	struct idset nodes;
	uint64_t bytes;
	uint64_t unit_bytes; /* the largest */
};

static void group_clear(struct group *group)
{
	idset_clear(&group->nodes);
}

static int group_add(struct group *group, const struct draft_share *share, uint64_t bytes)
{
	group->bytes = bytes_add(group->bytes, bytes);
	group->unit_bytes = bytes_max(group->unit_bytes, share->share.unit_bytes);
	return idset_add(&group->nodes, share->share.node_id);
}

/* "node 3", "nodes 0-3". The caller frees. */
static char *group_nodes(const struct group *group)
{
	scoped(freep) char *list = idset_text(&group->nodes);
	char *text;

	if (!list ||
	    asprintf(&text, "node%s %s", idset_nr(&group->nodes) == 1 ? "" : "s", list) < 0)
		return NULL;
	return text;
}

/* "2 MiB, 512 MiB (huge), 16 GiB", or "none". The caller frees. */
static char *page_size_list(const struct machine *machine)
{
	char *text = NULL;
	size_t text_bytes;
	FILE *file = open_memstream(&text, &text_bytes);

	if (!file)
		return NULL;
	if (machine->nr_page_sizes == 0)
		fputs("none", file);
	for (size_t i = 0; i < machine->nr_page_sizes; i++) {
		char size[SIZE_TEXT_MAX];

		fprintf(file, "%s%s%s", i ? ", " : "", size_text(machine->page_sizes[i], size),
		        machine->page_sizes[i] == machine->huge_page_bytes ? " (huge)" : "");
	}
	if (fclose(file) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static int notice_unsupported(struct draft *draft, const struct plan_pool *pool)
{
	scoped(freep) char *sizes = page_size_list(draft->machine);
	char base[SIZE_TEXT_MAX];
	char size[SIZE_TEXT_MAX] = "the default huge size";

	if (!sizes)
		return -ENOMEM;
	size_text(draft->machine->page_bytes, base);
	if (pool->page == PLAN_PAGE_THP)
		snprintf(size, sizeof(size), "thp");
	else if (pool->page_bytes)
		size_text(pool->page_bytes, size);
	return draft_say(
		draft->plan,
		"pool %s: no pages of %s for kind %s here; base pages are %s, huge page sizes: %s",
		pool->name, size, pool_kind_text(pool->kind), base, sizes);
}

static int notice_cgroup(struct draft *draft, const struct plan_pool *pool, uint64_t bytes)
{
	const struct machine *machine = draft->machine;
	char refused[SIZE_TEXT_MAX], limit[SIZE_TEXT_MAX], room[SIZE_TEXT_MAX], own[SIZE_TEXT_MAX];

	return draft_say(
		draft->plan,
		"pool %s: %s refused: cgroup %s is limited to %s and has room for %s, of which "
		"%s are kept for the daemon",
		pool->name, size_text(bytes, refused), machine->cgroup_path,
		size_text(machine->cgroup_limit_bytes, limit),
		size_text(machine->cgroup_room_bytes, room),
		size_text(DRAFT_CGROUP_HEADROOM_BYTES, own));
}

static int notice_cpuset(struct draft *draft, const struct plan_pool *pool, const char *nodes)
{
	scoped(freep) char *allowed = idset_text(&draft->machine->allowed_nodes);

	if (!allowed)
		return -ENOMEM;
	return draft_say(draft->plan,
	                 "pool %s: %s outside the cpuset, which allows memory of %s only",
	                 pool->name, nodes, allowed);
}

static int notice_refusal(struct draft *draft, const struct plan_pool *pool,
                          enum plan_refusal refusal, const struct group *group)
{
	scoped(freep) char *nodes = group_nodes(group);
	char size[SIZE_TEXT_MAX];

	if (!nodes)
		return -ENOMEM;
	size_text(group->bytes, size);
	switch (refusal) {
	case PLAN_ACCEPTED:
		break;
	case PLAN_NO_SUCH_NODE:
		return draft_say(draft->plan, "pool %s: this machine has no %s", pool->name, nodes);
	case PLAN_MEMORYLESS_NODE:
		return draft_say(draft->plan, "pool %s: no memory on %s", pool->name, nodes);
	case PLAN_UNSUPPORTED_SIZE:
		return notice_unsupported(draft, pool);
	case PLAN_OUTSIDE_CPUSET:
		return notice_cpuset(draft, pool, nodes);
	case PLAN_NOT_PERMITTED:
		return draft_say(
			draft->plan,
			"pool %s: %s refused on %s: the kernel lets this process add no huge "
			"pages (nr_hugepages), and there are too few; the service may, and so may "
			"root",
			pool->name, size, nodes);
	case PLAN_CGROUP_LIMIT:
		return notice_cgroup(draft, pool, group->bytes);
	case PLAN_NO_OFFLINE_MEMORY:
	case PLAN_UNSUPPORTED_ZONE:
		break;
	case PLAN_EXCEEDS_RESERVE:
		return draft_say(
			draft->plan,
			"pool %s: %s refused on %s: Reserve= keeps it for the rest of the system",
			pool->name, size, nodes);
	}
	return 0;
}

static int notice_refusals(struct draft *draft, const struct plan_pool *pool,
                           const struct draft_share *first, const struct draft_share *end)
{
	for (int refusal = PLAN_NO_SUCH_NODE; refusal <= PLAN_EXCEEDS_RESERVE; refusal++) {
		scoped(group_clear) struct group group = { .bytes = 0 };
		int r = 0;

		for (const struct draft_share *share = first; share < end && r == 0; share++)
			if ((int) share->share.refusal == refusal)
				r = group_add(&group, share, share->share.refused_bytes);
		if (r == 0 && !idset_is_empty(&group.nodes))
			r = notice_refusal(draft, pool, (enum plan_refusal) refusal, &group);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A share that was asked for and is nothing once it is rounded down. */
static int notice_rounding(struct draft *draft, const struct plan_pool *pool,
                           const struct draft_share *first, const struct draft_share *end)
{
	scoped(group_clear) struct group group = { .bytes = 0 };
	scoped(freep) char *nodes = NULL;
	char unit[SIZE_TEXT_MAX];

	for (; first < end; first++)
		if (first->asked_bytes && !first->share.declared_bytes) {
			int r = group_add(&group, first, 0);

			if (r < 0)
				return r;
		}
	if (idset_is_empty(&group.nodes))
		return 0;
	nodes = group_nodes(&group);
	if (!nodes)
		return -ENOMEM;
	return draft_say(
		draft->plan,
		"pool %s: nothing on %s: Size= is less than one %s there; it would need %s",
		pool->name, nodes, pool->kind == POOL_REGION ? "region" : "page",
		size_text(group.unit_bytes, unit));
}

static int notice_minimum(struct draft *draft, const struct plan_pool *pool,
                          const struct draft_share *first, const struct draft_share *end)
{
	scoped(group_clear) struct group group = { .bytes = 0 };
	scoped(freep) char *nodes = NULL;
	uint64_t granted_bytes = 0;
	char granted[SIZE_TEXT_MAX], minimum[SIZE_TEXT_MAX];

	if (pool->can_reach_minimum)
		return 0;
	for (; first < end; first++)
		if (first->granted_bytes < first->share.minimum_bytes) {
			int r = group_add(&group, first, first->share.minimum_bytes);

			if (r < 0)
				return r;
			granted_bytes += first->granted_bytes;
		}
	if (idset_is_empty(&group.nodes))
		return 0; /* it comes to nothing, which is said already */
	nodes = group_nodes(&group);
	if (!nodes)
		return -ENOMEM;
	return draft_say(draft->plan,
	                 "pool %s: will fail: Minimum= is %s on %s, and %s can be had there",
	                 pool->name, size_text(group.bytes, minimum), nodes,
	                 size_text(granted_bytes, granted));
}

static int notice_swap(struct draft *draft, const struct plan_pool *pool)
{
	if (!draft->machine->has_swap || pool->is_locked || pool->kind != POOL_REGION ||
	    pool->page == PLAN_PAGE_HUGETLB || !(pool->early_bytes + pool->deferred_bytes))
		return 0;
	return draft_say(
		draft->plan,
		"pool %s: swap is on, and %s pages can be swapped out; Lock=yes keeps them in "
		"memory",
		pool->name, pool->page == PLAN_PAGE_THP ? "thp" : "base");
}

static int notice_pool(struct draft *draft, size_t i)
{
	const struct plan_pool *pool = &draft->plan->pools[i];
	const struct draft_share *first = &draft->shares[draft->pools[i].first];
	const struct draft_share *end = first + draft->pools[i].nr_shares;
	int r;

	if (first == end)
		return draft_say(draft->plan, "pool %s: its Nodes= and Size= name no node",
		                 pool->name);
	r = notice_rounding(draft, pool, first, end);
	if (r == 0)
		r = notice_refusals(draft, pool, first, end);
	if (r == 0)
		r = notice_minimum(draft, pool, first, end);
	if (r == 0)
		r = notice_swap(draft, pool);
	return r;
}

static int notice_lazy_nodes(struct draft *draft)
{
	scoped(group_clear) struct group group = { .bytes = 0 };
	scoped(freep) char *nodes = NULL;
	uint64_t shown_bytes = 0;
	char memory[SIZE_TEXT_MAX], shown[SIZE_TEXT_MAX];

	for (size_t i = 0; i < draft->plan->nr_nodes; i++) {
		const struct plan_node *node = &draft->plan->nodes[i];
		int r;

		if (node->mem_total_bytes >= node->memory_bytes / 100 * SHOWN_PERCENT)
			continue;
		r = idset_add(&group.nodes, node->node_id);
		if (r < 0)
			return r;
		group.bytes += node->memory_bytes;
		shown_bytes += node->mem_total_bytes;
	}
	if (idset_is_empty(&group.nodes))
		return 0;
	nodes = group_nodes(&group);
	if (!nodes)
		return -ENOMEM;
	return draft_say(
		draft->plan,
		"%s: memory blocks of %s, MemTotal so far %s: a kernel that initialises page "
		"structs lazily shows the rest when it is used; percentages and budgets are of "
		"the blocks",
		nodes, size_text(group.bytes, memory), size_text(shown_bytes, shown));
}

static int notice_devices(struct draft *draft)
{
	scoped(group_clear) struct group group = { .bytes = 0 };
	scoped(freep) char *nodes = NULL;
	char size[SIZE_TEXT_MAX];

	for (size_t i = 0; i < draft->machine->nr_nodes; i++) {
		const struct machine_node *node = &draft->machine->nodes[i];
		int r;

		if (node->device_bytes == 0)
			continue;
		r = idset_add(&group.nodes, node->node_id);
		if (r < 0)
			return r;
		group.bytes = bytes_add(group.bytes, node->device_bytes);
	}
	if (idset_is_empty(&group.nodes))
		return 0;
	nodes = group_nodes(&group);
	if (!nodes)
		return -ENOMEM;
	return draft_say(draft->plan,
	                 "%s: %s set aside for devices (CMA) are left beside Reserve=; pages that "
	                 "are lent there would go to another node once a device wants it",
	                 nodes, size_text(group.bytes, size));
}

int draft_notice(struct draft *draft)
{
	int r = 0;

	for (size_t i = 0; i < draft->config->nr_notes && r == 0; i++)
		r = draft_say(draft->plan, "%s", draft->config->notes[i].text);
	for (size_t i = 0; i < draft->plan->nr_pools && r == 0; i++)
		r = notice_pool(draft, i);
	if (r == 0)
		r = notice_lazy_nodes(draft);
	if (r == 0)
		r = notice_devices(draft);
	if (r == 0)
		r = draft_notice_pages(draft);
	return r;
}
