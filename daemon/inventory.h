/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * inventory.h - the pools, shares and nodes that the manager looks after, and what they add up to
 *
 * Layer: top. Threads: main. Holds what was planned and, since the last look, what has become of
 * it. Decides nothing: the manager does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/scoped.h"
#include "engine/brake.h"
#include "engine/rate.h"
#include "engine/worker.h"
#include "kinds/kind.h"
#include "plan/plan.h"

/*
 * A share grows by further pieces (Reload), each a share of its own for the engine. Freed in the
 * order run, then share.
 */
struct piece {
	struct share *share; /* owned */
	struct run *run;     /* owned by the node's worker */
	uint64_t want_bytes[NR_STAGES];
};

/* A pool's part on one node, as planned (first block) and as last seen (second). */
struct managed_share {
	unsigned node_id;
	uint64_t unit_bytes;
	uint64_t declared_bytes;
	uint64_t early_bytes;
	uint64_t refused_bytes;
	uint64_t minimum_bytes;
	enum plan_refusal refusal;
	bool is_unmet;   /* see struct plan_share */
	bool is_awaited; /* what is refused may come by itself until inventory.settle_usec */
	struct piece *pieces;
	size_t nr_pieces;
	uint64_t began_usec;  /* monotonic; of the work at hand, for the log */
	uint64_t began_bytes; /* in service by then */
	uint64_t keep_bytes;  /* to be given back down to this, once idle; UINT64_MAX: nothing */

	enum share_state state;
	uint64_t done_bytes; /* in service: ready or leased */
	uint64_t early_done_bytes;
	uint64_t missing_bytes;     /* of what is declared, once settled */
	uint64_t leased_bytes;      /* of done_bytes; these three are the manager's to write */
	uint64_t draining_bytes;    /* the lease is over, somebody may still have the memory */
	uint64_t returning_bytes;   /* the same, of what its pieces have only: comes back to it */
	struct share_status detail; /* of the piece that is short, else of the last one */
	struct stage_status stages[NR_STAGES];
	bool is_in_backoff;
	uint64_t refill_usec; /* monotonic: what a refill fell short of is tried again then;
	                         UINT64_MAX: never */
	uint64_t refill_wait_usec;
	uint64_t settled_missing_bytes; /* missing_bytes after work that was no refill */
	bool is_recheck_due; /* memory has left: once it is idle, it has to see what it still has */
	bool is_walk_due;    /* kind block: once it is idle, the machine is to be looked at again */
	bool has_new_work;   /* since the completion was armed last; it may be done before the next
	                        look */
	bool is_giving_back; /* pieces are being shrunk; what is kept stays in service */
	bool is_only_awaiting; /* nothing is to be done but wait for memory that may come */
	bool is_wanted;        /* a call of Lease waits for what its workers bring */
	bool is_refilling;     /* regions of ended leases are built anew; the state stays */
	bool is_stalled;       /* given up by the manager: no counter moved */
	bool is_early_counted; /* its early part is among those the completion waits for */
	bool is_required_counted;
	enum share_state logged_state;
	bool is_short_logged;
	unsigned logged_poisoned;
	unsigned logged_raced;
};

struct managed_pool {
	char *name;
	enum pool_kind kind;
	enum plan_page page;
	uint64_t page_bytes;
	uint64_t region_bytes; /* kind region; 0 for others. Of the first node where it differs */
	bool is_required;
	bool is_locked;
	bool is_empty; /* see struct plan_pool; so are the next two */
	size_t nr_refused_paths;
	enum original_refusal path_refusal;
	struct managed_share *shares; /* by node_id */
	size_t nr_shares;

	enum share_state state;
	uint64_t declared_bytes, done_bytes, short_bytes, leased_bytes, draining_bytes;
};

struct managed_node {
	unsigned node_id;
	char *cpus_text;
	int helper_node_id;
	uint64_t memory_bytes, spanned_bytes, early_budget_bytes;
	/* As of the last plan; refused: offline, and in a share all the same. */
	uint64_t nr_blocks, nr_online_blocks, nr_refused_blocks;
	struct worker *worker; /* owned; NULL until the node has work */
	struct rate rate;
	struct brake brake;
	bool is_brake_said;       /* that it is on; in the log */
	uint64_t brake_said_usec; /* monotonic; 0: never */
	bool is_start_failed;     /* the last attempt to start its threads; said in the log */
	bool is_helper_reported;  /* that it works on other nodes' CPUs */
	bool is_gone;             /* the last plan had no such node */
	bool has_new_work;        /* that was not there before; its end is to be told */
	bool is_walked;           /* its blocks are being looked at, which had all settled before */
	uint64_t began_usec;      /* monotonic: when that work was given to it */
	uint64_t began_bytes;     /* in service by then */

	bool has_shares;
	enum share_state state;
	uint64_t declared_bytes, done_bytes, short_bytes;
	struct worker_status worker_status;
	const char *current_pool;             /* borrowed; "" for none */
	uint64_t started_usec, finished_usec; /* of the last stretch of work, from began_usec on */
	/* Of the stretches that have ended, the one that brought most. */
	uint64_t largest_bytes, largest_started_usec, largest_finished_usec;
	uint64_t moved_usec; /* monotonic: when a counter moved last, or was held back */
};

/* A piece that is on its way out: cancelled, then emptied, then freed. */
struct leaving {
	struct worker *worker; /* borrowed */
	struct piece piece;
	bool is_emptied;
	bool is_lent; /* what is left of it is with lessees: nothing to do until they return it */
};

#define REFILL_FIRST_USEC (15 * UINT64_C(1000000))
#define REFILL_LAST_USEC  (600 * UINT64_C(1000000))

struct inventory {
	struct managed_pool *pools; /* by name */
	size_t nr_pools;
	struct managed_node *nodes; /* by node_id */
	size_t nr_nodes;
	struct leaving *leaving;
	size_t nr_leaving;
	/*
	 * What a refill falls short of is tried again after this time, then twice of it, up to
	 * REFILL_LAST_USEC: each attempt may compact a node.
	 */
	uint64_t refill_wait_usec;
	uint64_t right_usec;  /* monotonic: until then udev may give us what was just plugged in */
	uint64_t settle_usec; /* monotonic: late memory is awaited until then; UINT64_MAX: for ever
	                       */
	/* Called before a share is freed; NULL: nobody wants to know. */
	void (*share_leaves)(struct share *share, void *arg);
	void *arg;

	/* Over the required pools, or idle. */
	bool is_idle;
	enum share_state state;
	uint64_t declared_bytes, done_bytes, short_bytes; /* over all pools */
	uint64_t moves;
	uint64_t refill_usec; /* the first of its shares' */
	bool is_awaiting;     /* some share waits for memory to come, and has nothing else to do */
};

/* Bytes known to be missing: what is refused from the start, and the rest once it has settled. */
uint64_t managed_share_short_bytes(const struct managed_share *share);

/* The word for it: the reason of what fell short, else of what was refused, else "". */
const char *managed_share_reason(const struct managed_share *share);

/* There is work again: the completion has to know, and the log counts from here. */
void managed_share_begin(struct managed_share *share);

/* The same for its node, which has to tell when all of it is over. */
void managed_node_begin(struct managed_node *node);

struct managed_pool *inventory_pool(struct inventory *inventory, const char *name);
struct managed_node *inventory_node(struct inventory *inventory, unsigned node_id);
struct managed_share *managed_pool_share(struct managed_pool *pool, unsigned node_id);

/* Whether regions of a piece are with lessees, or came back and are to be destroyed. */
enum piece_lent { PIECE_LENT_NONE, PIECE_LENT_OUT, PIECE_LENT_RETURNED };
enum piece_lent piece_lent(const struct piece *piece);

/* Drop its run, which is idle or gone, and free its share. */
void piece_free(struct inventory *inventory, struct piece *piece);

/*
 * Look at every run and add up: pieces to shares, shares to pools, nodes and the host. @now_usec
 * is monotonic time.
 */
void inventory_look(struct inventory *inventory, uint64_t now_usec);

/* Free pieces that are on their way out as far as they are idle. Return: true while any is left. */
bool inventory_clear_leaving(struct inventory *inventory);

/* Whether any share is at work, waits for its turn, or is on its way out. */
bool inventory_is_busy(const struct inventory *inventory);

/* Stop all workers (at most one chunk), then free shares, pools and nodes. */
void inventory_clear(struct inventory *inventory);
