/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "originals.h"

#include <errno.h>
#include <string.h>

#include "config.h"
#include "original-link.h"
#include "original-walk.h"
#include "original.h"

/* What is gathered for one pool. */
struct gathering {
	struct original_tree tree;
	struct gathered {
		struct original original;
		const struct original_pattern *pattern; /* the one that named it first */
		char *goal; /* it is on the way to files only: a link to this directory, with a
		               slash */
		bool is_dropped;
	} * files;
	size_t nr;
	size_t nr_room;
	size_t nr_names_left;
	const struct original_pattern *pattern; /* whose turn it is */
	size_t nr_of_pattern;
};

static void original_clear(struct original *original)
{
	free(original->path);
	free(original->link_target);
}

static void gathered_clear(struct gathered *gathered)
{
	original_clear(&gathered->original);
	free(gathered->goal);
}

void originals_clear(struct originals *originals)
{
	for (size_t i = 0; i < originals->nr; i++)
		original_clear(&originals->files[i]);
	free(originals->files);
	*originals = (struct originals){ 0 };
}

static void gathering_clear(struct gathering *gathering)
{
	original_tree_close(&gathering->tree);
	for (size_t i = 0; i < gathering->nr; i++)
		gathered_clear(&gathering->files[i]);
	free(gathering->files);
	*gathering = (struct gathering){ .tree.root_fd = -1 };
}

/* Takes what @gathered has, also when it fails. */
static int add(struct gathering *gathering, struct gathered gathered)
{
	if (gathering->nr == gathering->nr_room) {
		size_t nr_room = gathering->nr_room ? gathering->nr_room * 2 : 64;
		struct gathered *grown = reallocarray(gathering->files, nr_room, sizeof(*grown));

		if (!grown) {
			gathered_clear(&gathered);
			return -ENOMEM;
		}
		gathering->files = grown;
		gathering->nr_room = nr_room;
	}
	gathered.original.position = gathering->pattern->position;
	gathered.pattern = gathering->pattern;
	gathering->files[gathering->nr++] = gathered;
	gathering->nr_of_pattern++;
	return 0;
}

static int add_refused(struct gathering *gathering, const char *path, int error)
{
	struct gathered gathered = {
		.original.path = strdup(path),
		.original.refusal = original_refusal_of_error(error),
	};

	if (!gathered.original.path)
		return -ENOMEM;
	if (gathered.original.refusal == ORIGINAL_FAILED)
		gathered.original.error = error;
	return add(gathering, gathered);
}

static int on_match(void *user, const struct original_place *place, const char *name)
{
	struct gathering *gathering = user;
	struct gathered gathered = { 0 };
	int r;

	if (gathering->nr_of_pattern >= ORIGINALS_MAX)
		return -E2BIG;
	if (asprintf(&gathered.original.path, "%s/%s", place->path, name) < 0)
		return -ENOMEM;
	r = original_look(place, name, &gathered.original);
	if (!r)
		return add(gathering, gathered);
	gathered_clear(&gathered);
	return r == -ENOENT ? 0 : r;
}

static int on_obstacle(void *user, const char *path, int error)
{
	struct gathering *gathering = user;

	if (gathering->nr_of_pattern >= ORIGINALS_MAX)
		return -E2BIG;
	return add_refused(gathering, path, error);
}

static int on_detour(void *user, const char *path, const char *goal)
{
	struct gathering *gathering = user;
	int r = on_obstacle(user, path, -ELOOP);

	if (r < 0)
		return r;
	if (asprintf(&gathering->files[gathering->nr - 1].goal, "%s/", goal) < 0) {
		gathering->files[gathering->nr - 1].goal = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int compare_gathered(const void *a, const void *b)
{
	const struct gathered *first = a;
	const struct gathered *second = b;
	int r = strcmp(first->original.path, second->original.path);

	return r ? r : (first->pattern > second->pattern) - (first->pattern < second->pattern);
}

/* Bring in order, each once. */
static void settle(struct gathering *gathering)
{
	size_t nr_kept = 0;

	if (!gathering->nr)
		return;
	qsort(gathering->files, gathering->nr, sizeof(*gathering->files), compare_gathered);
	for (size_t i = 0; i < gathering->nr; i++) {
		struct gathered *file = &gathering->files[i];

		if (nr_kept &&
		    !strcmp(gathering->files[nr_kept - 1].original.path, file->original.path))
			gathered_clear(file);
		else
			gathering->files[nr_kept++] = *file;
	}
	gathering->nr = nr_kept;
}

/* Whether a file whose path begins with @prefix is accepted. All are in order. */
static bool has_file_below(const struct gathering *gathering, const char *prefix)
{
	size_t low = 0;
	size_t high = gathering->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(gathering->files[middle].original.path, prefix) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < gathering->nr; low++) {
		const struct original *file = &gathering->files[low].original;

		if (strncmp(file->path, prefix, strlen(prefix)) != 0)
			return false;
		if (file->refusal == ORIGINAL_ACCEPTED)
			return true;
	}
	return false;
}

/* A link to a directory whose files are named by its own path is nothing to complain of. */
static void drop_detours(struct gathering *gathering)
{
	size_t nr_kept = 0;

	for (size_t i = 0; i < gathering->nr; i++) {
		struct gathered *file = &gathering->files[i];

		/* Marked first: what is looked for has to stay in order until the end. */
		if (file->goal && has_file_below(gathering, file->goal))
			file->is_dropped = true;
	}
	for (size_t i = 0; i < gathering->nr; i++) {
		struct gathered *file = &gathering->files[i];

		if (file->is_dropped)
			gathered_clear(file);
		else
			gathering->files[nr_kept++] = *file;
	}
	gathering->nr = nr_kept;
}

/* Leave out what is beyond the most that there may be. Return: whether there was any. */
static bool cut(struct gathering *gathering)
{
	bool is_more = gathering->nr > ORIGINALS_MAX;

	while (gathering->nr > ORIGINALS_MAX)
		gathered_clear(&gathering->files[--gathering->nr]);
	return is_more;
}

static int gather_pattern(struct gathering *gathering)
{
	static const struct original_walk_ops ops = {
		.match = on_match,
		.obstacle = on_obstacle,
		.detour = on_detour,
	};
	const char *text = gathering->pattern->text;
	int r;

	gathering->nr_of_pattern = 0;
	r = original_walk(&gathering->tree, text, &gathering->nr_names_left, &ops, gathering);
	if (r == -ENOMEM)
		return r;
	if (!r && !gathering->nr_of_pattern)
		r = -ENOENT;
	if (gathering->nr > ORIGINALS_MAX) {
		settle(gathering);
		if (cut(gathering) && !r)
			r = -E2BIG;
	}
	return r < 0 ? add_refused(gathering, text, r) : 0;
}

/* @error: of the root, where it could not be opened; then nothing is there. */
static int gather(struct gathering *gathering, const struct original_pattern *patterns,
                  size_t nr_patterns, int error)
{
	for (size_t i = 0; i < nr_patterns; i++) {
		int r;

		gathering->pattern = &patterns[i];
		r = error < 0 ? add_refused(gathering, patterns[i].text, error)
		              : gather_pattern(gathering);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Hand over what was gathered, in order. */
static int hand_over(struct gathering *gathering, struct originals *ret)
{
	struct originals found = { 0 };

	settle(gathering);
	drop_detours(gathering);
	found.files = calloc(gathering->nr + 1, sizeof(*found.files));
	if (!found.files)
		return -ENOMEM;
	found.nr = gathering->nr;
	for (size_t i = 0; i < found.nr; i++) {
		found.files[i] = gathering->files[i].original;
		free(gathering->files[i].goal);
	}
	gathering->nr = 0;
	*ret = found;
	return 0;
}

int originals_find(const char *root, const struct original_pattern *patterns, size_t nr_patterns,
                   struct originals *ret)
{
	scoped(gathering_clear) struct gathering gathering = {
		.tree.root_fd = -1,
		.nr_names_left = ORIGINAL_NAMES_MAX,
	};
	scoped(originals_clear) struct originals found = { 0 };
	int r;

	r = gather(&gathering, patterns, nr_patterns, original_tree_open(root, &gathering.tree));
	if (!r)
		r = hand_over(&gathering, &found);
	if (!r)
		r = original_links_settle(&gathering.tree, &found);
	if (r < 0)
		return r;
	for (size_t i = 0; i < found.nr; i++)
		found.nr_refused += found.files[i].refusal != ORIGINAL_ACCEPTED;
	*ret = found;
	found = (struct originals){ 0 };
	return 0;
}

int config_find_originals(struct config *config, const char *root)
{
	struct originals *found = calloc(config->nr_pools ? config->nr_pools : 1, sizeof(*found));
	int r = found ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < config->nr_pools; i++)
		if (config->pools[i].kind == POOL_REPLICA)
			r = originals_find(root, config->pools[i].paths, config->pools[i].nr_paths,
			                   &found[i]);
	for (size_t i = 0; found && i < config->nr_pools; i++) {
		struct originals *old = &config->pools[i].originals;

		originals_clear(r < 0 ? &found[i] : old);
		if (!r)
			*old = found[i];
	}
	free(found);
	return r;
}
