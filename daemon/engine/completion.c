/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "completion.h"

void completion_arm(struct completion *completion, unsigned nr_required, unsigned nr_early)
{
	completion->generation++;
	completion->nr_required_left = nr_required;
	completion->nr_early_left = nr_early;
	completion->has_fired = false;
}

void completion_add(struct completion *completion, unsigned nr_required, unsigned nr_early)
{
	if (nr_required == 0 && nr_early == 0)
		return;

	if (completion->has_fired) {
		completion->generation++;
		completion->has_fired = false;
	}
	completion->nr_required_left += nr_required;
	completion->nr_early_left += nr_early;
}

void completion_settle_required(struct completion *completion)
{
	assert(completion->nr_required_left > 0);
	completion->nr_required_left--;
}

void completion_settle_early(struct completion *completion)
{
	assert(completion->nr_early_left > 0);
	completion->nr_early_left--;
}

bool completion_take_full(struct completion *completion)
{
	if (completion->has_fired || completion->nr_required_left > 0)
		return false;
	completion->has_fired = true;
	return true;
}

bool completion_take_early(struct completion *completion)
{
	if (completion->has_early_fired || completion->nr_early_left > 0)
		return false;
	completion->has_early_fired = true;
	return true;
}
