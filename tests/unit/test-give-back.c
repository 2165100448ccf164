/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "../../daemon/engine/give-back.h"
#include "suite.h"

#define NR_NODES      4
#define NR_EACH       3
#define LIMIT_SECONDS 20

/* A share whose freeing waits, where told to, until the other nodes are at it as well. */
struct slow_share {
	struct share share;
	unsigned nr;
};

static struct {
	struct slow_share shares[NR_NODES * NR_EACH];
	bool is_meeting; /* the first share of each node waits for those of all others */
	sem_t arrived, leave;
	pthread_t threads[NR_NODES * NR_EACH];
	_Atomic unsigned
		turns[NR_NODES * NR_EACH]; /* 1, 2, … in the order of freeing; 0: not yet */
	_Atomic unsigned nr_freed;
} world;

static void slow_free(struct share *share)
{
	struct slow_share *slow = (struct slow_share *) share;
	struct timespec limit;

	if (world.is_meeting && slow->nr < NR_NODES) {
		(void) clock_gettime(CLOCK_REALTIME, &limit);
		limit.tv_sec += LIMIT_SECONDS;
		(void) sem_post(&world.arrived);
		ck_assert_int_eq(sem_timedwait(&world.leave, &limit), 0);
	}
	world.threads[slow->nr] = pthread_self();
	atomic_store(&world.turns[slow->nr], atomic_fetch_add(&world.nr_freed, 1) + 1);
}

static const struct kind_ops slow_ops = { .name = "slow", .share_free = slow_free };

/* Share i is on node i modulo NR_NODES. */
static struct give_back *fill(void)
{
	struct give_back *all = give_back_new(ELEMENTS(world.shares));

	ck_assert_ptr_nonnull(all);
	for (unsigned i = 0; i < ELEMENTS(world.shares); i++) {
		world.shares[i].share = (struct share){ .ops = &slow_ops, .node_id = i % NR_NODES };
		world.shares[i].nr = i;
		give_back_add(all, &world.shares[i].share);
	}
	return all;
}

static void *let_all_leave(void *arg)
{
	(void) arg;
	for (unsigned i = 0; i < NR_NODES; i++)
		(void) sem_wait(&world.arrived);
	for (unsigned i = 0; i < NR_NODES; i++)
		(void) sem_post(&world.leave);
	return NULL;
}

START_TEST(test_every_share_is_freed_once_and_a_nodes_in_order_on_one_thread)
{
	ck_assert_ptr_null(give_back_free(fill()));
	ck_assert_uint_eq(atomic_load(&world.nr_freed), ELEMENTS(world.shares));
	for (unsigned i = 0; i < ELEMENTS(world.shares); i++) {
		ck_assert_uint_gt(atomic_load(&world.turns[i]), 0);
		if (i < NR_NODES)
			continue;
		ck_assert(pthread_equal(world.threads[i], world.threads[i - NR_NODES]));
		ck_assert_uint_gt(world.turns[i], world.turns[i - NR_NODES]);
	}
}
END_TEST

START_TEST(test_nodes_are_freed_side_by_side)
{
	pthread_t doorkeeper;

	world.is_meeting = true;
	ck_assert_int_eq(sem_init(&world.arrived, 0, 0), 0);
	ck_assert_int_eq(sem_init(&world.leave, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&doorkeeper, NULL, let_all_leave, NULL), 0);
	give_back_free(fill());
	ck_assert_int_eq(pthread_join(doorkeeper, NULL), 0);
	ck_assert_uint_eq(atomic_load(&world.nr_freed), ELEMENTS(world.shares));
}
END_TEST

/* Shares of this many nodes, each on its own, meet: all of those that are freed at once. */
#define NR_AT_ONCE 64
#define NR_MANY    80

static struct {
	struct share shares[NR_MANY];
	pthread_t caller;
	pthread_barrier_t all_at_once;
	_Atomic unsigned nr_begun, nr_called, nr_named;
	unsigned nr_threads; /* when the caller is at it, which has made them */
} crowd;

static unsigned nr_threads_now(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	unsigned nr = 0;

	ck_assert_ptr_nonnull(tasks);
	while ((task = readdir(tasks)))
		nr += task->d_name[0] != '.';
	(void) closedir(tasks);
	return nr;
}

static void crowd_free(struct share *share)
{
	char name[16];

	(void) share;
	if (pthread_equal(pthread_self(), crowd.caller) && crowd.nr_threads == 0)
		crowd.nr_threads = nr_threads_now();
	ck_assert_int_eq(pthread_getname_np(pthread_self(), name, sizeof(name)), 0);
	if (atomic_fetch_add(&crowd.nr_begun, 1) >= NR_AT_ONCE)
		return;
	atomic_fetch_add(&crowd.nr_called, pthread_equal(pthread_self(), crowd.caller) != 0);
	atomic_fetch_add(&crowd.nr_named, strcmp(name, "give-back") == 0);
	(void) pthread_barrier_wait(&crowd.all_at_once);
}

static void *stay_until_told(void *leave)
{
	(void) sem_wait(leave);
	return NULL;
}

START_TEST(test_of_many_nodes_as_many_as_are_said_are_freed_at_once)
{
	static const struct kind_ops ops = { .name = "crowd", .share_free = crowd_free };
	struct give_back *all = give_back_new(NR_MANY);
	unsigned nr_threads_before;
	pthread_t first;
	sem_t leave;

	ck_assert_ptr_nonnull(all);
	/* with the first one a sanitizer makes one of its own, which stays */
	ck_assert_int_eq(sem_init(&leave, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&first, NULL, stay_until_told, &leave), 0);
	nr_threads_before = nr_threads_now();
	crowd.caller = pthread_self();
	ck_assert_int_eq(pthread_barrier_init(&crowd.all_at_once, NULL, NR_AT_ONCE), 0);
	for (unsigned i = 0; i < NR_MANY; i++) {
		crowd.shares[i] = (struct share){ .ops = &ops, .node_id = i };
		give_back_add(all, &crowd.shares[i]);
	}
	give_back_free(all);
	ck_assert_uint_eq(atomic_load(&crowd.nr_begun), NR_MANY);
	ck_assert_uint_eq(crowd.nr_threads - nr_threads_before, NR_AT_ONCE - 1);
	/* the barrier was passed by all of them, and each waited there alone */
	ck_assert_uint_eq(atomic_load(&crowd.nr_called), 1);
	ck_assert_uint_eq(atomic_load(&crowd.nr_named), NR_AT_ONCE - 1);
	(void) pthread_barrier_destroy(&crowd.all_at_once);
	ck_assert_int_eq(sem_post(&leave), 0);
	ck_assert_int_eq(pthread_join(first, NULL), 0);
}
END_TEST

START_TEST(test_nothing_to_free_is_fine)
{
	ck_assert_ptr_null(give_back_free(NULL));
	ck_assert_ptr_null(give_back_free(give_back_new(0)));
	ck_assert_uint_eq(atomic_load(&world.nr_freed), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("give-back");
	TCase *nodes = tcase_create("nodes");

	tcase_set_timeout(nodes, 60);
	tcase_add_test(nodes, test_every_share_is_freed_once_and_a_nodes_in_order_on_one_thread);
	tcase_add_test(nodes, test_nodes_are_freed_side_by_side);
	tcase_add_test(nodes, test_of_many_nodes_as_many_as_are_said_are_freed_at_once);
	tcase_add_test(nodes, test_nothing_to_free_is_fine);
	suite_add_tcase(suite, nodes);
	return suite_main(suite);
}
