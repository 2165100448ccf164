/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "cursor.h"
#include "give-back.h"

/* With the calling one. A thread for each of more nodes is no gain beyond the memory's bandwidth.
 */
#define THREADS_MAX 64

struct item {
	struct share *share;
	size_t nr_before; /* keeps the order of those of a node */
	unsigned node_id;
};

/* Constant while threads run, but for the cursor; a share is touched by who has taken its node. */
struct give_back {
	struct cursor nodes;
	size_t nr_items;
	size_t *firsts; /* of each node the first item, and behind the last node the end */
	struct item items[];
};

struct give_back *give_back_new(size_t nr)
{
	struct give_back *all = calloc(1, sizeof(*all) + nr * sizeof(all->items[0]));

	if (!all)
		return NULL;
	all->firsts = calloc(nr + 1, sizeof(*all->firsts));
	if (!all->firsts) {
		free(all);
		return NULL;
	}
	return all;
}

void give_back_add(struct give_back *all, struct share *share)
{
	all->items[all->nr_items] = (struct item){ share, all->nr_items, share->node_id };
	all->nr_items++;
}

static int compare_items(const void *a, const void *b)
{
	const struct item *left = a, *right = b;

	if (left->node_id != right->node_id)
		return left->node_id < right->node_id ? -1 : 1;
	return left->nr_before < right->nr_before ? -1 : 1;
}

static uint64_t find_nodes(struct give_back *all)
{
	uint64_t nr_nodes = 0;

	qsort(all->items, all->nr_items, sizeof(all->items[0]), compare_items);
	for (size_t i = 0; i < all->nr_items; i++)
		if (i == 0 || all->items[i].node_id != all->items[i - 1].node_id)
			all->firsts[nr_nodes++] = i;
	all->firsts[nr_nodes] = all->nr_items;
	return nr_nodes;
}

static void *free_nodes(void *arg)
{
	struct give_back *all = arg;
	uint64_t node;

	while (cursor_take(&all->nodes, &node))
		for (size_t i = all->firsts[node]; i < all->firsts[node + 1]; i++)
			all->items[i].share->ops->share_free(all->items[i].share);
	return NULL;
}

static void *run_thread(void *arg)
{
	(void) pthread_setname_np(pthread_self(), "give-back");
	return free_nodes(arg);
}

struct give_back *give_back_free(struct give_back *all)
{
	pthread_t threads[THREADS_MAX - 1];
	unsigned nr_threads = 0;
	sigset_t signals, before;
	uint64_t nr_nodes;

	if (!all)
		return NULL;
	nr_nodes = find_nodes(all);
	cursor_set(&all->nodes, nr_nodes);
	/* A pending signal ends a resize of the huge page pool early, which still reports success.
	 */
	(void) sigfillset(&signals);
	(void) pthread_sigmask(SIG_SETMASK, &signals, &before);
	/* The calling thread is one of them. */
	while (nr_threads < THREADS_MAX - 1 && nr_threads + 1 < nr_nodes &&
	       pthread_create(&threads[nr_threads], NULL, run_thread, all) == 0)
		nr_threads++;
	(void) free_nodes(all);
	for (unsigned i = 0; i < nr_threads; i++)
		(void) pthread_join(threads[i], NULL);
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	free(all->firsts);
	free(all);
	return NULL;
}
