/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * notice.h - sentences about several nodes at once
 *
 * Layer: plan, and nobody else's business. Threads: main.
 */
#pragma once

#include "draft.h"

/* Which nodes a sentence is about, and what it says of them. Embedded by value; all zero is none.
 */
struct notice_group {
	struct idset nodes;
	uint64_t bytes;      /* of all of them together */
	uint64_t unit_bytes; /* the largest */
};

void notice_group_clear(struct notice_group *group);

/* Return: 0; -ENOMEM. */
int notice_group_add(struct notice_group *group, const struct draft_share *share, uint64_t bytes);
int notice_group_add_node(struct notice_group *group, unsigned node_id, uint64_t bytes);

/* "node 3", "nodes 0-3". Return: 1 and *ret, which the caller frees; 0 there is none; -ENOMEM. */
int notice_group_nodes(const struct notice_group *group, char **ret);
