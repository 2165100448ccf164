/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * completion.h - "nothing required is undone", once per generation
 *
 * Layer: engine. Threads: main. A pure counter: the manager tells it what is required and what has
 * settled; it tells the manager once when the last one has.
 *
 * Two gates: early (every early part has settled, required or not: READY=1) and full (every
 * required share has settled). Adding work re-arms the full gate and counts a new generation; the
 * early gate opens once in the life of the process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Embedded by value. All zero is "armed with nothing"; generation is 0 until completion_arm(). */
struct completion {
	uint64_t generation;
	unsigned nr_required_left;
	unsigned nr_early_left;
	bool has_fired;
	bool has_early_fired;
};

/*
 * Begin a generation with @nr_required shares and @nr_early parts that are not settled. With none
 * of a sort, the next completion_take_*() fires at once.
 */
void completion_arm(struct completion *completion, unsigned nr_required, unsigned nr_early);

/* More work within the generation that has not fired yet, or a new generation if it has. */
void completion_add(struct completion *completion, unsigned nr_required, unsigned nr_early);

/* One of them has settled; not more often than there are. */
void completion_settle_required(struct completion *completion);
void completion_settle_early(struct completion *completion);

/* Return: true exactly once per generation, when nothing required is left. */
bool completion_take_full(struct completion *completion);

/* Return: true exactly once, when every early part has settled. */
bool completion_take_early(struct completion *completion);
