/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view-copy.h"

/* Replace a borrowed text by one of our own. On failure it becomes NULL, which clear accepts. */
static int own_text(const char **text)
{
	*text = strdup(*text ? *text : "");
	return *text ? 0 : -ENOMEM;
}

/* Every text is tried, so that after a failure each is either ours or NULL. */
static int own_texts(const char **const *texts, size_t nr_texts)
{
	int result = 0;

	for (size_t i = 0; i < nr_texts; i++) {
		int r = own_text(texts[i]);

		if (r < 0)
			result = r;
	}
	return result;
}

static void drop_text(const char **text)
{
	free((char *) *text);
	*text = NULL;
}

void manager_view_clear(void *view)
{
	struct manager_view *manager = view;

	drop_text(&manager->version);
	drop_text(&manager->state);
}

int manager_view_copy(const void *view, void *ret)
{
	struct manager_view copy = *(const struct manager_view *) view;
	const char **const texts[] = { &copy.version, &copy.state };

	if (own_texts(texts, 2) < 0) {
		manager_view_clear(&copy);
		return -ENOMEM;
	}
	*(struct manager_view *) ret = copy;
	return 0;
}

void node_view_clear(void *view)
{
	struct node_view *node = view;

	drop_text(&node->cpus);
	drop_text(&node->state);
	drop_text(&node->current_pool);
}

int node_view_copy(const void *view, void *ret)
{
	struct node_view copy = *(const struct node_view *) view;
	const char **const texts[] = { &copy.cpus, &copy.state, &copy.current_pool };

	if (own_texts(texts, 3) < 0) {
		node_view_clear(&copy);
		return -ENOMEM;
	}
	*(struct node_view *) ret = copy;
	return 0;
}

static struct share_view *shares_free(struct share_view *shares, size_t nr_shares)
{
	for (size_t i = 0; shares && i < nr_shares; i++) {
		drop_text(&shares[i].state);
		drop_text(&shares[i].reason);
	}
	free(shares);
	return NULL;
}

static struct share_view *shares_copy(const struct share_view *shares, size_t nr_shares)
{
	struct share_view *copy = calloc(nr_shares ? nr_shares : 1, sizeof(*copy));
	int r = 0;

	if (!copy)
		return NULL;
	for (size_t i = 0; i < nr_shares && r == 0; i++) {
		const char **const texts[] = { &copy[i].state, &copy[i].reason };

		copy[i] = shares[i];
		r = own_texts(texts, 2);
	}
	return r < 0 ? shares_free(copy, nr_shares) : copy;
}

void pool_view_clear(void *view)
{
	struct pool_view *pool = view;

	drop_text(&pool->name);
	drop_text(&pool->kind);
	drop_text(&pool->state);
	pool->shares = shares_free((struct share_view *) pool->shares, pool->nr_shares);
	pool->nr_shares = 0;
}

int pool_view_copy(const void *view, void *ret)
{
	struct pool_view copy = *(const struct pool_view *) view;
	const char **const texts[] = { &copy.name, &copy.kind, &copy.state };
	int r;

	r = own_texts(texts, 3);
	copy.shares = shares_copy(copy.shares, copy.nr_shares);
	if (r < 0 || !copy.shares) {
		pool_view_clear(&copy);
		return -ENOMEM;
	}
	*(struct pool_view *) ret = copy;
	return 0;
}

static bool share_differs(const struct share_view *a, const struct share_view *b)
{
	return a->node_id != b->node_id || a->total_bytes != b->total_bytes ||
	       a->early_bytes != b->early_bytes || a->done_bytes != b->done_bytes ||
	       a->short_bytes != b->short_bytes || strcmp(a->state, b->state) != 0 ||
	       strcmp(a->reason, b->reason) != 0;
}

bool pool_view_shares_differ(const void *a, const void *b)
{
	const struct pool_view *left = a, *right = b;

	if (left->nr_shares != right->nr_shares)
		return true;
	for (size_t i = 0; i < left->nr_shares; i++) {
		if (share_differs(&left->shares[i], &right->shares[i]))
			return true;
	}
	return false;
}
