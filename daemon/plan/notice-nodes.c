/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What an operator wants to be told of the nodes, whatever the pools want of them. */
#include <errno.h>
#include <stdio.h>

#include "notice.h"

/* MemTotal below this part of the blocks: page structs are initialised at first use. */
#define SHOWN_PERCENT 90

void notice_group_clear(struct notice_group *group)
{
	idset_clear(&group->nodes);
}

int notice_group_add_node(struct notice_group *group, unsigned node_id, uint64_t bytes)
{
	group->bytes = bytes_add(group->bytes, bytes);
	return idset_add(&group->nodes, node_id);
}

int notice_group_add(struct notice_group *group, const struct draft_share *share, uint64_t bytes)
{
	group->unit_bytes = bytes_max(group->unit_bytes, share->share.unit_bytes);
	return notice_group_add_node(group, share->share.node_id, bytes);
}

int notice_group_nodes(const struct notice_group *group, char **ret)
{
	scoped(freep) char *list = NULL;

	if (idset_is_empty(&group->nodes))
		return 0;
	list = idset_text(&group->nodes);
	if (!list ||
	    asprintf(ret, "node%s %s", idset_nr(&group->nodes) == 1 ? "" : "s", list) < 0) {
		*ret = NULL;
		return -ENOMEM;
	}
	return 1;
}

static int notice_lazy_nodes(struct draft *draft)
{
	scoped(notice_group_clear) struct notice_group group = { .bytes = 0 };
	scoped(freep) char *nodes = NULL;
	uint64_t shown_bytes = 0;
	char memory[SIZE_TEXT_MAX], shown[SIZE_TEXT_MAX];
	int r;

	for (size_t i = 0; i < draft->plan->nr_nodes; i++) {
		const struct plan_node *node = &draft->plan->nodes[i];
		uint64_t online_bytes;

		/* What is still to come is not shown by either. */
		online_bytes = node->memory_bytes - node->coming_bytes;
		if (node->mem_total_bytes >= online_bytes / 100 * SHOWN_PERCENT)
			continue;
		r = notice_group_add_node(&group, node->node_id, online_bytes);
		if (r < 0)
			return r;
		shown_bytes += node->mem_total_bytes;
	}
	r = notice_group_nodes(&group, &nodes);
	if (r <= 0)
		return r;
	return draft_say(
		draft->plan,
		"%s: memory blocks of %s, MemTotal so far %s: a kernel that initialises page "
		"structs lazily shows the rest when it is used; percentages and budgets are of "
		"the blocks",
		nodes, size_text(group.bytes, memory), size_text(shown_bytes, shown));
}

static int notice_devices(struct draft *draft)
{
	scoped(notice_group_clear) struct notice_group group = { .bytes = 0 };
	scoped(freep) char *nodes = NULL;
	char size[SIZE_TEXT_MAX];
	int r;

	for (size_t i = 0; i < draft->machine->nr_nodes; i++) {
		const struct machine_node *node = &draft->machine->nodes[i];

		if (node->device_bytes == 0)
			continue;
		r = notice_group_add_node(&group, node->node_id, node->device_bytes);
		if (r < 0)
			return r;
	}
	r = notice_group_nodes(&group, &nodes);
	if (r <= 0)
		return r;
	return draft_say(draft->plan,
	                 "%s: %s set aside for devices (CMA) are left beside Reserve=; pages that "
	                 "are lent there would go to another node once a device wants it",
	                 nodes, size_text(group.bytes, size));
}

static bool has_pool_of_blocks(const struct plan *plan)
{
	for (size_t i = 0; i < plan->nr_pools; i++)
		if (plan->pools[i].kind == POOL_BLOCK)
			return true;
	return false;
}

/* Offline now, and in no pool's share. */
static uint64_t idle_bytes(const struct draft *draft, size_t i)
{
	const struct machine_node *node =
		machine_node(draft->machine, draft->plan->nodes[i].node_id);
	uint64_t bytes = 0;

	for (size_t j = 0; node && j < node->nr_candidates; j++)
		if (!node->candidates[j].is_online && !draft->nodes[i].takers[j])
			bytes += draft->machine->block_bytes;
	return bytes;
}

/* Also where no pool is about blocks: memory that is paid for and not used is worth a line. */
static int notice_offline(struct draft *draft)
{
	scoped(notice_group_clear) struct notice_group group = { .bytes = 0 };
	scoped(freep) char *nodes = NULL;
	char size[SIZE_TEXT_MAX];
	int r = 0;

	for (size_t i = 0; i < draft->nr_nodes; i++) {
		uint64_t bytes = idle_bytes(draft, i);

		if (bytes > 0)
			r = notice_group_add_node(&group, draft->plan->nodes[i].node_id, bytes);
		if (r < 0)
			return r;
	}
	r = notice_group_nodes(&group, &nodes);
	if (r <= 0)
		return r;
	return draft_say(draft->plan,
	                 has_pool_of_blocks(draft->plan)
	                         ? "%s: %s offline, no pool of kind block takes them"
	                         : "%s: %s offline; a pool of kind block would bring them online",
	                 nodes, size_text(group.bytes, size));
}

int draft_notice_nodes(struct draft *draft)
{
	int r = notice_lazy_nodes(draft);

	if (r == 0)
		r = notice_devices(draft);
	if (r == 0)
		r = notice_offline(draft);
	return r;
}
