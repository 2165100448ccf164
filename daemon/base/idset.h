/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idset.h - sets of node or CPU ids, in the kernel's list format ("0,2-3,8-15")
 *
 * Layer: base. Threads: any, one at a time per set. Source of the format: cpuset(7), "List format".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No kernel has more: CONFIG_NR_CPUS ends at 8192, MAX_NUMNODES at 1024. Larger ids: -ERANGE. */
#define IDSET_MAX 65536

/* Embedded by value. All zero is the empty set. Frees with idset_clear(). */
struct idset {
	uint64_t *words;
	size_t nr_words;
};

/* Make it the empty set, and free what it had. */
void idset_clear(struct idset *set);

/* Return: 0; -ERANGE @id is IDSET_MAX or more; -ENOMEM. */
int idset_add(struct idset *set, unsigned id);

bool idset_has(const struct idset *set, unsigned id);
bool idset_is_empty(const struct idset *set);

/* How many ids are in it. */
size_t idset_nr(const struct idset *set);

/*
 * The smallest id at or above @from, or -1. A loop over all:
 *     for (int id = idset_next(set, 0); id >= 0; id = idset_next(set, (unsigned) id + 1))
 */
int idset_next(const struct idset *set, unsigned from);

/*
 * Read "0,2-3" (an empty or blank text is the empty set; a trailing newline is fine; also the
 * stride form "0-6:2/4"). Replaces *set. Return: 0; -EINVAL not a list; -ERANGE an id too large;
 * -ENOMEM. On error *set is unchanged.
 */
int idset_parse(const char *text, struct idset *set);

/* Print as "0,2-3"; "" for the empty set. The caller frees. Return: NULL when out of memory. */
char *idset_text(const struct idset *set);

/* *ret = a ∩ b, or a copy of a. Replaces *ret. Return: 0; -ENOMEM. */
int idset_intersect(const struct idset *a, const struct idset *b, struct idset *ret);
int idset_copy(const struct idset *set, struct idset *ret);
