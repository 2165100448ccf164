/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * apply.h - bring what is managed in line with a new plan
 *
 * Layer: top. Threads: main. The first plan is applied to an empty inventory; a Reload to what is
 * there: what is the same stays untouched, what grew gets a further piece, what shrank gives back
 * what is ours and unused, what is gone is emptied and freed.
 */
#pragma once

#include "inventory.h"

struct apply_setup {
	const struct plan *plan;
	const struct machine *machine;
	const struct daemon_config *config;
	const struct kind_context *context; /* borrowed for as long as the inventory lives */
	uint64_t backoff_usec;
	bool is_paused; /* new workers begin paused */
	worker_bell_fn bell;
	void *arg;
	/* Called when a share was made, before its worker has it. */
	void (*share_comes)(struct share *share, struct managed_share *managed, const char *pool,
	                    void *arg);
	/* Called when a share leaves, whatever has become of it. */
	void (*share_goes)(struct managed_share *share, void *arg);
	/* Called before a pool or a node leaves the inventory. */
	void (*pool_leaves)(const char *name, void *arg);
	void (*node_leaves)(unsigned node_id, void *arg);
};

/*
 * Return: 0; -ENOMEM, -EAGAIN no thread could be made: what could be applied is, and a further
 * call with the same plan goes on.
 */
int apply_plan(struct inventory *inventory, const struct apply_setup *setup);

/*
 * Forget nodes that the last plan did not have, as soon as nothing of theirs is at work or on its
 * way out; @node_leaves is called for each.
 */
void apply_drop_nodes(struct inventory *inventory, void (*node_leaves)(unsigned node_id, void *arg),
                      void *arg);
