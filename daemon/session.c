/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "machine/autogroup.h"
#include "manager-state.h"
#include "session.h"

/* What the work at hand asks for. Between two parts a worker asks for nothing. */
static bool is_to_be_behind(const struct manager *manager)
{
	const struct inventory *inventory = &manager->inventory;
	bool is_any_running = false, is_any_background = false;

	if (manager->is_paused)
		return false;
	for (size_t i = 0; i < inventory->nr_nodes; i++) {
		const struct worker_status *status = &inventory->nodes[i].worker_status;

		is_any_running |= status->is_running;
		if (!status->is_running || !status->current)
			continue;
		if (!status->is_background)
			return false;
		is_any_background = true;
	}
	return is_any_background || (is_any_running && manager->is_ranked_behind);
}

static void rank(struct manager *manager, bool is_behind)
{
	int r;

	manager->is_rank_due = false;
	if (is_behind == manager->is_ranked_behind)
		return;
	r = autogroup_rank(manager->setup.kernel, is_behind);
	manager->is_rank_due = r == -EAGAIN;
	if (r == -EAGAIN)
		return;
	/* Where there is nothing to rank it is not asked again until the work changes. */
	manager->is_ranked_behind = is_behind;
	if (r < 0 && r != -ENOENT && r != -EPERM && !manager->is_rank_failed) {
		log_warning("/proc/self/autogroup: %s; deferred work takes as much of a CPU as any "
		            "other session",
		            strerror(-r));
		manager->is_rank_failed = true;
	}
}

void session_rank(struct manager *manager)
{
	rank(manager, is_to_be_behind(manager));
}

void session_rank_end(struct manager *manager)
{
	rank(manager, false);
}
