/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * draft.h - a plan in the making
 *
 * Layer: plan, and nobody else's business. Threads: main.
 *
 * The steps, each of which leaves to the next what it needs:
 *     draft_declare  nodes, pools and shares, with what the configuration asks for   (draft.c)
 *     draft_grant    what can be had of it; the rest is refused with a word          (grant.c)
 *     draft_split    early and deferred of what was granted                          (budget.c)
 *     draft_settle   shares into their nodes in run order, and all sums              (plan.c)
 *     draft_notice   sentences about what an operator would want to know             (notice.c)
 */
#pragma once

#include "plan.h"

/* What is kept of the cgroup's room for the daemon itself: stacks, page tables, messages. */
#define DRAFT_CGROUP_HEADROOM_BYTES (64 * MIB)

struct draft_share {
	struct plan_share share;
	const struct pool_config *config; /* borrowed */
	const struct machine_node *node;  /* borrowed; NULL where the machine has no such node */
	struct plan_node *plan_node;      /* borrowed from draft.plan */
	uint64_t asked_bytes;             /* Size= before it was rounded down to units */
	bool is_wanted;                   /* Size= is not 0, whatever it comes to here */
	uint64_t granted_bytes;           /* declared - refused */
	uint64_t largest_refused_bytes;   /* the piece that gave share.refusal its word */
};

/* What is still to be had of a node while its shares are gone through. */
struct draft_node {
	uint64_t left_bytes; /* above Reserve= */
	/* Per page size: of the huge pages that the node already has. */
	uint64_t pages_left_bytes[MACHINE_PAGE_SIZES_MAX];
	uint64_t auto_bytes;        /* granted to shares with Early=auto */
	uint64_t budget_left_bytes; /* early budget, less what Early=all and Early=BYTES take */
};

/* Where a pool's shares are in draft.shares. */
struct draft_pool {
	size_t first;
	size_t nr_shares;
};

struct draft {
	const struct machine *machine; /* borrowed */
	const struct config *config;   /* borrowed */
	struct plan *plan;             /* owned until plan_make() hands it on */
	struct draft_node *nodes;      /* as plan.nodes */
	struct draft_pool *pools;      /* as plan.pools */
	/* In grant order: required pools first, then by kind, then by name; a pool's by node. */
	struct draft_share *shares;
	size_t nr_shares;
};

/* Return: 0; -ENOMEM. */
int draft_declare(struct draft *draft);
void draft_grant(struct draft *draft);
void draft_split(struct draft *draft);

/* Return: 0; -ENOMEM. */
int draft_settle(struct draft *draft);
int draft_notice(struct draft *draft);
int draft_notice_pages(struct draft *draft);

/* Add a sentence to the plan's warnings. Return: 0; -ENOMEM. */
int draft_say(struct plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether pages of @pool, a pool of kind @kind, exist on @machine. */
bool draft_has_pages(const struct machine *machine, const struct plan_pool *pool);

/* Where @share's node is in draft.plan.nodes and draft.nodes. */
static inline struct draft_node *draft_node_of(struct draft *draft, const struct draft_share *share)
{
	return &draft->nodes[share->plan_node - draft->plan->nodes];
}
