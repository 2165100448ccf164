/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an operator would want to be told, in sentences: notes of the configuration come first. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notice.h"

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

static int notice_zone(struct draft *draft, const struct plan_pool *pool, const char *size,
                       const char *nodes)
{
	static const char *const words[] = {
		[POOL_ZONE_AUTO] = "none that",
		[POOL_ZONE_KERNEL] = "no kernel zone as",
		[POOL_ZONE_MOVABLE] = "no Movable zone as",
	};
	enum pool_zone zone = draft->config->pools[pool - draft->plan->pools].zone;

	return draft_say(draft->plan,
	                 "pool %s: %s refused on %s: the valid_zones of these memory blocks have "
	                 "%s Zone= asks for",
	                 pool->name, size, nodes, words[zone]);
}

static int notice_refusal(struct draft *draft, const struct plan_pool *pool,
                          enum plan_refusal refusal, const struct notice_group *group)
{
	scoped(freep) char *nodes = NULL;
	char size[SIZE_TEXT_MAX];
	int r = notice_group_nodes(group, &nodes);

	if (r <= 0)
		return r;
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
		return draft_say(draft->plan,
		                 "pool %s: %s refused on %s: more than the memory blocks that are "
		                 "offline there and in no other pool",
		                 pool->name, size, nodes);
	case PLAN_UNSUPPORTED_ZONE:
		return notice_zone(draft, pool, size, nodes);
	case PLAN_EXCEEDS_SIZE:
		return draft_say(draft->plan,
		                 "pool %s: %s refused on %s: the files are more than Size= allows",
		                 pool->name, size, nodes);
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
	for (int refusal = PLAN_NO_SUCH_NODE; refusal <= PLAN_EXCEEDS_SIZE; refusal++) {
		scoped(notice_group_clear) struct notice_group group = { .bytes = 0 };
		int r = 0;

		for (const struct draft_share *share = first; share < end && r == 0; share++)
			if ((int) share->share.refusal == refusal)
				r = notice_group_add(&group, share, share->share.refused_bytes);
		if (r == 0 && !idset_is_empty(&group.nodes))
			r = notice_refusal(draft, pool, (enum plan_refusal) refusal, &group);
		if (r < 0)
			return r;
	}
	return 0;
}

static const char *unit_text(enum pool_kind kind)
{
	if (kind == POOL_REGION)
		return "region";
	return kind == POOL_BLOCK ? "memory block" : "page";
}

/* A share that was asked for and is nothing once it is rounded down. */
static int notice_rounding(struct draft *draft, const struct plan_pool *pool,
                           const struct draft_share *first, const struct draft_share *end)
{
	scoped(notice_group_clear) struct notice_group group = { .bytes = 0 };
	scoped(freep) char *nodes = NULL;
	char unit[SIZE_TEXT_MAX];
	int r;

	for (; first < end; first++)
		if (first->asked_bytes && !first->share.declared_bytes) {
			r = notice_group_add(&group, first, 0);
			if (r < 0)
				return r;
		}
	r = notice_group_nodes(&group, &nodes);
	if (r <= 0)
		return r;
	return draft_say(
		draft->plan,
		"pool %s: nothing on %s: Size= is less than one %s there; it would need %s",
		pool->name, nodes, unit_text(pool->kind), size_text(group.unit_bytes, unit));
}

static int notice_minimum(struct draft *draft, const struct plan_pool *pool,
                          const struct draft_share *first, const struct draft_share *end)
{
	scoped(notice_group_clear) struct notice_group group = { .bytes = 0 };
	scoped(freep) char *nodes = NULL;
	int r;
	uint64_t granted_bytes = 0;
	char granted[SIZE_TEXT_MAX], minimum[SIZE_TEXT_MAX];

	if (pool->can_reach_minimum)
		return 0;
	for (; first < end; first++)
		if (first->granted_bytes < first->share.minimum_bytes) {
			r = notice_group_add(&group, first, first->share.minimum_bytes);
			if (r < 0)
				return r;
			granted_bytes += first->granted_bytes;
		}
	r = notice_group_nodes(&group, &nodes);
	if (r <= 0)
		return r; /* it comes to nothing, which is said already */
	return draft_say(draft->plan,
	                 "pool %s: will fail: Minimum= is %s on %s, and %s can be had there",
	                 pool->name, size_text(group.bytes, minimum), nodes,
	                 size_text(granted_bytes, granted));
}

static int notice_swap(struct draft *draft, const struct plan_pool *pool)
{
	if (!draft->machine->has_swap || !(pool->early_bytes + pool->deferred_bytes))
		return 0;
	if (pool->kind == POOL_REPLICA)
		return draft_say(
			draft->plan,
			"pool %s: swap is on, and copies of files can be swapped out; there "
			"is no Lock= for them",
			pool->name);
	if (pool->is_locked || pool->kind != POOL_REGION || pool->page == PLAN_PAGE_HUGETLB)
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

	r = draft_notice_paths(draft, pool, &draft->config->pools[i].originals);
	if (r < 0)
		return r;
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

int draft_notice(struct draft *draft)
{
	int r = 0;

	for (size_t i = 0; i < draft->config->nr_notes && r == 0; i++)
		r = draft_say(draft->plan, "%s", draft->config->notes[i].text);
	for (size_t i = 0; i < draft->plan->nr_pools && r == 0; i++)
		r = notice_pool(draft, i);
	if (r == 0)
		r = draft_notice_nodes(draft);
	if (r == 0)
		r = draft_notice_pages(draft);
	return r;
}
