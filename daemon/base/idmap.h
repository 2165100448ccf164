/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idmap.h - numbers by number: where the thing with this id is
 *
 * Layer: base. Threads: any, one at a time per map. A table with open addressing; the ids that it
 * is for are given by ourselves, so nobody can choose ones that collide.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Embedded by value. All zero is the empty map. Frees with idmap_clear(). */
struct idmap {
	uint64_t *ids; /* 0: nothing there */
	uint64_t *values;
	size_t nr_places; /* 0 or a power of two */
	size_t nr;
};

/* Make it the empty map, and free what it had. */
void idmap_clear(struct idmap *map);

/* From now on @id (above 0) leads to @value. Return: 0; -ENOMEM a new id, and nothing changed. */
int idmap_put(struct idmap *map, uint64_t id, uint64_t value);

/* Return: whether @id is in it; then *ret_value, unless that is NULL. */
bool idmap_get(const struct idmap *map, uint64_t id, uint64_t *ret_value);

/* Harmless for an id that is not in it. */
void idmap_remove(struct idmap *map, uint64_t id);
