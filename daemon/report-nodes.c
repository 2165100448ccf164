/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the log says of whole nodes: who helps them, when they are done, what became of each block.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "manager-state.h"
#include "messages.h"
#include "pieces.h"

#define FIELD_MAX 128

void report_helpers(struct manager *manager)
{
	char node_field[FIELD_MAX];
	const char *fields[] = { MESSAGE_NODE_HELPED, node_field };

	for (size_t i = 0; i < manager->inventory.nr_nodes; i++) {
		struct managed_node *node = &manager->inventory.nodes[i];

		if (node->helper_node_id < 0 || !node->worker || node->is_helper_reported)
			continue;
		node->is_helper_reported = true;
		(void) snprintf(node_field, sizeof(node_field), "NODEINIT_NODE=%u", node->node_id);
		log_event(LOG_LEVEL_INFO, fields, ELEMENTS(fields),
		          "node %u has no CPU to run on: its worker uses CPUs %s of node %d",
		          node->node_id, node->cpus_text, node->helper_node_id);
	}
}

/* In the words of the kernel (mm/page_alloc.c, deferred_init_memmap), so that one search finds
 * both. */
static void report_node(const struct managed_node *node, uint64_t page_bytes)
{
	uint64_t spent_usec = bytes_left(node->finished_usec, node->started_usec);
	uint64_t nr_pages = bytes_left(node->done_bytes, node->began_bytes) / page_bytes;
	char node_field[FIELD_MAX], pages_field[FIELD_MAX], spent_field[FIELD_MAX];
	const char *fields[] = { MESSAGE_NODE_INITIALISED, node_field, pages_field, spent_field };

	(void) snprintf(node_field, sizeof(node_field), "NODEINIT_NODE=%u", node->node_id);
	(void) snprintf(pages_field, sizeof(pages_field), "NODEINIT_PAGES=%" PRIu64, nr_pages);
	(void) snprintf(spent_field, sizeof(spent_field), "NODEINIT_USEC=%" PRIu64, spent_usec);
	log_event(LOG_LEVEL_INFO, fields, ELEMENTS(fields),
	          "node %u initialised, %" PRIu64 " pages in %" PRIu64 " ms", node->node_id,
	          nr_pages, (spent_usec + 500) / 1000);
}

static void note_stretch(struct managed_node *node)
{
	uint64_t bytes = node->done_bytes - node->began_bytes;

	if (bytes < node->largest_bytes)
		return;
	node->largest_bytes = bytes;
	node->largest_started_usec = node->started_usec;
	node->largest_finished_usec = node->finished_usec;
}

void report_nodes(struct manager *manager)
{
	for (size_t i = 0; i < manager->inventory.nr_nodes; i++) {
		struct managed_node *node = &manager->inventory.nodes[i];

		if (!node->has_new_work || !node->has_shares ||
		    !share_state_is_settled(node->state) || node->finished_usec == 0)
			continue;
		node->has_new_work = false;
		/* what only went, or came to nothing, brought no page */
		if (node->done_bytes <= node->began_bytes)
			continue;
		note_stretch(node);
		report_node(node, manager->machine->page_bytes);
	}
}

/* What is missing of the node's block shares, by name. */
static const struct managed_share *first_missing(const struct manager *manager, unsigned node_id)
{
	for (size_t i = 0; i < manager->inventory.nr_pools; i++) {
		struct managed_pool *pool = &manager->inventory.pools[i];
		const struct managed_share *share = managed_pool_share(pool, node_id);

		if (pool->kind == POOL_BLOCK && share && share->detail.nr_missing > 0)
			return share;
	}
	return NULL;
}

static void report_blocks(const struct manager *manager, const struct managed_node *node)
{
	const struct managed_share *missing = first_missing(manager, node->node_id);
	uint64_t nr_offline = bytes_left(node->nr_blocks, node->nr_online_blocks);
	char why[SHARE_MISSING_MAX + 64] = "";
	char node_field[FIELD_MAX];
	const char *fields[] = { MESSAGE_BLOCKS_WALKED, node_field };

	(void) snprintf(node_field, sizeof(node_field), "NODEINIT_NODE=%u", node->node_id);
	if (missing)
		(void) snprintf(why, sizeof(why), " (%s: %s)", missing->detail.missing,
		                share_reason_text(missing->detail.reason));
	log_event(LOG_LEVEL_INFO, fields, ELEMENTS(fields),
	          "node %u: of %" PRIu64 " memory blocks %" PRIu64 " are online, %" PRIu64
	          " refused%s, %" PRIu64 " left offline",
	          node->node_id, node->nr_blocks, node->nr_online_blocks, node->nr_refused_blocks,
	          why, bytes_left(nr_offline, node->nr_refused_blocks));
}

/* What has new work by now is told of when that is done. */
static bool has_new_blocks(struct manager *manager, unsigned node_id)
{
	for (size_t i = 0; i < manager->inventory.nr_pools; i++) {
		struct managed_pool *pool = &manager->inventory.pools[i];
		const struct managed_share *share = managed_pool_share(pool, node_id);

		if (pool->kind == POOL_BLOCK && share && share->is_walk_due)
			return true;
	}
	return false;
}

void report_walk(struct manager *manager)
{
	for (size_t i = 0; i < manager->inventory.nr_nodes; i++) {
		struct managed_node *node = &manager->inventory.nodes[i];

		if (node->is_walked && !has_new_blocks(manager, node->node_id))
			report_blocks(manager, node);
		node->is_walked = false;
	}
}
