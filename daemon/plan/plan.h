/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * plan.h - (machine, configuration) -> what each node's worker will do, with a word for every
 * byte that it will not
 *
 * Layer: plan. Threads: main; pure: no file, no clock, no system call. A made plan is not changed.
 *
 * Two identities hold for every node and in total:
 *     early + deferred + refused = declared                 (all shares)
 *     memory = early + deferred + reserved + unclaimed      (all shares but those of kind block)
 *
 * Shares of kind block add memory and take none: they are planned first, and what they are going to
 * bring counts as the node's memory for all that follows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/idset.h"
#include "../base/scoped.h"
#include "../config/config.h"
#include "../machine/machine.h"

/* Why bytes are refused. plan_refusal_text() gives the word that files, bus and people see. */
enum plan_refusal {
	PLAN_ACCEPTED = 0,
	PLAN_NO_SUCH_NODE,
	PLAN_MEMORYLESS_NODE,
	PLAN_UNSUPPORTED_SIZE,
	PLAN_OUTSIDE_CPUSET,
	PLAN_NOT_PERMITTED,
	PLAN_CGROUP_LIMIT,
	PLAN_EXCEEDS_RESERVE,
	PLAN_NO_OFFLINE_MEMORY, /* kind block: Size= is more than the node has offline */
	PLAN_UNSUPPORTED_ZONE,  /* kind block: these blocks cannot go into the zone of Zone= */
	PLAN_EXCEEDS_SIZE,      /* kind replica: the files are more than Size= allows */
};

/* "" for PLAN_ACCEPTED, "no-such-node", "memoryless-node", … Static. */
const char *plan_refusal_text(enum plan_refusal refusal);

enum plan_page { PLAN_PAGE_BASE, PLAN_PAGE_THP, PLAN_PAGE_HUGETLB };

/* A memory block that a share brings online. */
struct plan_block {
	uint64_t block;
	enum pool_zone zone; /* what is asked for; POOL_ZONE_AUTO: any is right */
};

/* A file that a share has a copy of on its node, or a link to. */
struct plan_copy {
	const struct original *original; /* borrowed from the configuration */
	bool is_linked; /* the node has no room for it (share.refusal): a link instead of a copy */
};

struct plan_share {
	const struct plan_pool *pool; /* borrowed from plan.pools */
	unsigned node_id;

	/*
	 * Kind block: the blocks of the early part, then those of the deferred one, each in the
	 * order in which they are brought online; among them such as are online by now (in whatever
	 * zone), and such as were given up. Those that are offline and can only go into a kernel
	 * zone come first and are early; all others follow, ascending. Which blocks these are does
	 * not change as they come online, but their order may: what only a kernel zone could take
	 * is one like the others then. The share's own; NULL with 0 for other kinds.
	 */
	struct plan_block *blocks;
	size_t nr_blocks;

	/*
	 * Kind replica: all files, in the order of their paths; refused originals are not among
	 * them. A copy takes its size, rounded up to whole pages, and one of a link takes none; the
	 * early part is the first bytes of all copies one behind the other, those that are linked
	 * left out. A share that is refused as a whole has all of them linked. The share's own;
	 * NULL with 0 for other kinds.
	 */
	struct plan_copy *copies;
	size_t nr_copies;

	/* The page, the region, or the memory block: all amounts below are multiples of it. */
	uint64_t unit_bytes;
	/*
	 * Size=, rounded down. Kind block: percentages are of all candidates of the node. Kind
	 * replica: what all copies take together, whatever Size= allows.
	 */
	uint64_t declared_bytes;
	uint64_t early_bytes;
	uint64_t deferred_bytes;
	uint64_t refused_bytes;
	uint64_t minimum_bytes;    /* done below this: failed */
	enum plan_refusal refusal; /* of refused_bytes */
	/*
	 * Refused where not even a number of bytes can be said: % of a node that is not there. It
	 * declares 0 bytes and fails all the same. Never for kind replica, which has links.
	 */
	bool is_unmet;
};

struct plan_node {
	unsigned node_id;
	bool exists;        /* false: only named by a pool; then all of its shares are refused */
	struct idset cpus;  /* the worker's, helper's included */
	int helper_node_id; /* -1: runs on its own CPUs */
	/*
	 * machine_node.memory_bytes, and what pools of kind block are going to add: all else is
	 * planned for a node that has it.
	 */
	uint64_t memory_bytes;
	/* Of these: blocks of its shares that are offline now and were not given up. */
	uint64_t coming_bytes;
	uint64_t offline_bytes;   /* candidates that are offline now, taken by pools or not */
	uint64_t mem_total_bytes; /* machine_node.mem_total_bytes */
	uint64_t spanned_bytes;
	/*
	 * Once per node. What shares have early on request (Early=all, Early=BYTES) is taken from
	 * it first; those with Early=auto divide what is left in proportion to what they were
	 * granted, each part rounded up to its unit.
	 */
	uint64_t early_budget_bytes;

	uint64_t declared_bytes;
	uint64_t early_bytes;
	uint64_t deferred_bytes;
	uint64_t refused_bytes;
	uint64_t reserved_bytes;
	uint64_t unclaimed_bytes; /* memory - reserved - what shares take, kind block aside */

	struct plan_share *shares; /* in run order: kind, then required first, then pool name */
	size_t nr_shares;
};

struct plan_pool {
	char *name;
	char *source;
	enum pool_kind kind;
	enum plan_page page;
	uint64_t page_bytes; /* bytes of one page: base, hpage_pmd_size for thp, or the huge size */
	uint64_t region_bytes; /* kind region; 0 for others. Of the first node where it differs */
	bool is_required;
	bool may_shrink;
	bool is_locked;
	uint64_t minimum_bytes;
	uint64_t declared_bytes;
	uint64_t early_bytes;
	uint64_t deferred_bytes;
	uint64_t refused_bytes;
	enum plan_refusal refusal; /* of the largest refused share */
	bool can_reach_minimum;    /* on every node; never when is_empty */
	/*
	 * Something was asked for, and it comes to nothing on every node. A pool of kind block
	 * without Size= in bytes asks for nothing where nothing is offline, or was.
	 */
	bool is_empty;
	/*
	 * Kind replica: some of its Paths= are refused, so it is degraded at best; and the first
	 * of them says why. When all are, it is_empty.
	 */
	size_t nr_refused_paths;
	enum original_refusal path_refusal;
};

struct plan {
	struct plan_node *nodes; /* by node_id */
	size_t nr_nodes;
	struct plan_pool *pools; /* by name */
	size_t nr_pools;
	uint64_t declared_bytes;
	uint64_t early_bytes;
	uint64_t deferred_bytes;
	uint64_t refused_bytes;
	/*
	 * Sentences: the configuration's notes ("file:line: …") first, then what the plan noticed
	 * (swap, a node that shows less memory than its blocks, 1G pages at run time).
	 */
	char **warnings;
	size_t nr_warnings;
	bool is_anything_refused_by_file; /* config.is_anything_refused */
};

/*
 * Make the plan. Borrows both for the call. Return: 0 and *ret, which the caller owns; -ENOMEM.
 */
int plan_make(const struct machine *machine, const struct config *config, struct plan **ret);

/* NULL is fine. Return: NULL. */
struct plan *plan_free(struct plan *plan);
DEFINE_SCOPED(struct plan *, plan_free)

/* Return: borrowed from @plan; NULL when it has none such. */
const struct plan_node *plan_node(const struct plan *plan, unsigned node_id);
const struct plan_pool *plan_pool(const struct plan *plan, const char *name);

/* How many of a share's files are a link to the original for want of room. */
size_t plan_share_nr_linked(const struct plan_share *share);

/* What `nodeinitd --plan` exits with: 2 a file was refused, 1 a required pool cannot reach its
 * minimum, else 0. */
int plan_exit_code(const struct plan *plan);

/*
 * Early budget of one node: max(@early_minimum_bytes, @spanned_bytes >> @early_shift), rounded up
 * to a section, at most @memory_bytes. Source: the kernel's deferred struct page initialisation
 * (mm/mm_init.c, defer_init).
 */
uint64_t plan_early_budget(uint64_t spanned_bytes, uint64_t memory_bytes, uint64_t section_bytes,
                           uint64_t early_minimum_bytes, unsigned early_shift);
