/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * draft.h - a plan in the making
 *
 * Layer: plan, and nobody else's business. Threads: main.
 *
 * The steps, each of which leaves to the next what it needs:
 *     draft_declare  nodes, pools and shares, with what the configuration asks for   (draft.c)
 *                    those of kind block first, together with which blocks they get  (blocks.c)
 *                    and those of kind replica, with their files                     (copies.c)
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
	uint64_t asked_bytes;   /* Size= before it was rounded down to units; files are not */
	bool is_wanted;         /* Size= is not 0, whatever it comes to here */
	uint64_t granted_bytes; /* declared - refused */
	uint64_t largest_refused_bytes; /* the piece that gave share.refusal its word */
	uint64_t must_early_bytes;      /* kind block: early whatever Early= and the budget say */
};

/* What is still to be had of a node while its shares are gone through. */
struct draft_node {
	uint64_t left_bytes; /* above Reserve= */
	/* Per page size: of the huge pages that the node already has. */
	uint64_t pages_left_bytes[MACHINE_PAGE_SIZES_MAX];
	uint64_t auto_bytes;        /* granted to shares with Early=auto */
	uint64_t budget_left_bytes; /* early budget, less what Early=all and Early=BYTES take */
	/* Per candidate of the machine's node: the pool that has it; NULL: none. Owned. */
	const struct plan_pool **takers;
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
	size_t nr_nodes;
	struct draft_pool *pools; /* as plan.pools */
	/* In grant order: required pools first, then by kind, then by name; a pool's by node. */
	struct draft_share *shares;
	size_t nr_shares;
};

/* Return: 0; -ENOMEM. */
int draft_declare(struct draft *draft);

/*
 * What Minimum= comes to for a share whose declared_bytes stand; @whole_bytes is what percentages
 * are of. Where it is unset, share.minimum_bytes is left as it is.
 */
void draft_set_minimum(struct draft_share *share, uint64_t whole_bytes, uint64_t page_bytes);

/* What a share of kind block asks for. */
void draft_declare_blocks(const struct draft *draft, struct draft_share *share);

/*
 * Give the blocks of each node to its shares of kind block, which are all that is declared so far,
 * in grant order; the rest of them is refused. Fills in coming_bytes of the nodes.
 * Return: 0; -ENOMEM.
 */
int draft_take_blocks(struct draft *draft);

/* What a share of kind replica asks for: its files. Return: 0; -ENOMEM. */
int draft_declare_copies(const struct draft *draft, struct draft_share *share);

/* Make links of the copies that do not fit into @room_bytes. Return: bytes of those that do. */
uint64_t draft_keep_copies(struct plan_share *share, uint64_t room_bytes, uint64_t page_bytes);

void draft_grant(struct draft *draft);
/* Take @bytes from what @share is granted. */
void draft_refuse(struct draft_share *share, uint64_t bytes, enum plan_refusal refusal);
void draft_split(struct draft *draft);

/* Return: 0; -ENOMEM. */
int draft_settle(struct draft *draft);
int draft_notice(struct draft *draft);
int draft_notice_nodes(struct draft *draft);
int draft_notice_pages(struct draft *draft);
int draft_notice_paths(struct draft *draft, const struct plan_pool *pool,
                       const struct originals *originals);

/* Add a sentence to the plan's warnings. Return: 0; -ENOMEM. */
int draft_say(struct plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether pages of @pool, a pool of kind @kind, exist on @machine. */
bool draft_has_pages(const struct machine *machine, const struct plan_pool *pool);

/* Where @share's node is in draft.plan.nodes and draft.nodes. */
static inline struct draft_node *draft_node_of(struct draft *draft, const struct draft_share *share)
{
	return &draft->nodes[share->plan_node - draft->plan->nodes];
}
