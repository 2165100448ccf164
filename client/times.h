/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * times.h - what it took to bring the nodes into service, one after another and side by side
 *
 * Nodes are worked on in parallel. What that saves is the sum of their times against the time that
 * went by.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model.h"

struct times {
	size_t nr_nodes;   /* with a time; 0: the others are 0, too */
	uint64_t sum_usec; /* at most UINT64_MAX */
	uint64_t wall_usec;
};

/*
 * What user space took for @node: from when its worker began until its last share settled. Return:
 * whether it had work and all of it has settled, and then *ret_usec.
 */
bool times_spent_usec(const struct node *node, uint64_t *ret_usec);

/* Of user space; wall_usec is how long any of them was at work. */
void times_of_nodes(const struct model *model, struct times *ret);

/* Of the kernel at boot, which begins with all nodes at once: wall_usec is the longest one. */
void times_of_boot(const struct model *model, struct times *ret);

/*
 * By how many percent @new_usec is less than @old_usec, (old - new) / old, rounded towards 0;
 * negative: it is more. Of 0: 0. At least -1000000.
 */
int times_saved_percent(uint64_t old_usec, uint64_t new_usec);

/*
 * One line for each of both that is known: what it saved that nodes are worked on side by side.
 * "so far, " is in front while other nodes are at work.
 */
void times_print(const struct model *model, FILE *out);
