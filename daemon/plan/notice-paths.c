/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which Paths= of a pool of kind replica have no copies, and why. */
#include <errno.h>
#include <string.h>

#include "../config/text.h"
#include "draft.h"

/* A pattern may match a whole directory that nobody may read: the first ones say it. */
#define PATHS_MAX            20
#define PATH_SHOWN_BYTES_MAX 400

/* The path may hold whatever a file name can hold. */
static int say_path(struct plan *plan, const struct original *original)
{
	scoped(freep) char *position = text_visible(original->position, PATH_SHOWN_BYTES_MAX);
	scoped(freep) char *path = text_visible(original->path, PATH_SHOWN_BYTES_MAX);
	bool is_failed = original->refusal == ORIGINAL_FAILED;

	if (!position || !path)
		return -ENOMEM;
	return draft_say(plan, "%s: Paths=%s %s%s%s", position, path,
	                 original_refusal_sentence(original->refusal), is_failed ? ": " : "",
	                 is_failed ? strerror(-original->error) : "");
}

int draft_notice_paths(struct draft *draft, const struct plan_pool *pool,
                       const struct originals *originals)
{
	size_t nr_said = 0;

	for (size_t i = 0; i < originals->nr && nr_said < PATHS_MAX; i++) {
		int r;

		if (originals->files[i].refusal == ORIGINAL_ACCEPTED)
			continue;
		r = say_path(draft->plan, &originals->files[i]);
		if (r < 0)
			return r;
		nr_said++;
	}
	if (originals->nr_refused == nr_said)
		return 0;
	return draft_say(draft->plan, "pool %s: %zu more of its Paths= are refused", pool->name,
	                 originals->nr_refused - nr_said);
}
