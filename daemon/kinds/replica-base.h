/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * replica-base.h - the trees of all nodes
 *
 * Layer: kinds, private to replica-base.c and replica-clean.c. Threads: nodes are added under the
 * lock; the rest is not changed once there are shares.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct replica_node;

struct replica_base {
	char *directory;
	bool allows_directories;
	pthread_mutex_t lock;
	struct replica_node *nodes; /* those that were asked for; they stay */
};
