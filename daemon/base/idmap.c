/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "idmap.h"
#include "scoped.h"

#define FIRST_PLACES 16

void idmap_clear(struct idmap *map)
{
	free(map->ids);
	free(map->values);
	*map = (struct idmap){ 0 };
}

/* Where the search for @id begins. Ids count upwards: the factor (2^64 over the golden ratio)
 * spreads neighbours over the table. */
static size_t home(const struct idmap *map, uint64_t id)
{
	return (size_t) ((id * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (map->nr_places - 1);
}

/* Return: the place that has @id, or the free one where it would be put. */
static size_t find(const struct idmap *map, uint64_t id)
{
	size_t at = home(map, id);

	while (map->ids[at] != 0 && map->ids[at] != id)
		at = (at + 1) & (map->nr_places - 1);
	return at;
}

static int grow(struct idmap *map)
{
	struct idmap larger = { .nr_places = map->nr_places ? 2 * map->nr_places : FIRST_PLACES };

	larger.ids = calloc(larger.nr_places, sizeof(*larger.ids));
	larger.values = calloc(larger.nr_places, sizeof(*larger.values));
	if (!larger.ids || !larger.values) {
		idmap_clear(&larger);
		return -ENOMEM;
	}
	for (size_t i = 0; i < map->nr_places; i++)
		if (map->ids[i] != 0) {
			size_t at = find(&larger, map->ids[i]);

			larger.ids[at] = map->ids[i];
			larger.values[at] = map->values[i];
		}
	larger.nr = map->nr;
	idmap_clear(map);
	*map = larger;
	return 0;
}

int idmap_put(struct idmap *map, uint64_t id, uint64_t value)
{
	size_t at;
	int r;

	assert(id != 0);
	/* At most half full: a search ends after a few places, and always at a free one. */
	if (!idmap_get(map, id, NULL) && 2 * (map->nr + 1) > map->nr_places) {
		r = grow(map);
		if (r < 0)
			return r;
	}
	at = find(map, id);
	if (map->ids[at] == 0)
		map->nr++;
	map->ids[at] = id;
	map->values[at] = value;
	return 0;
}

bool idmap_get(const struct idmap *map, uint64_t id, uint64_t *ret_value)
{
	size_t at;

	if (map->nr_places == 0 || id == 0)
		return false;
	at = find(map, id);
	if (map->ids[at] == 0)
		return false;
	if (ret_value)
		*ret_value = map->values[at];
	return true;
}

void idmap_remove(struct idmap *map, uint64_t id)
{
	size_t hole, at;

	if (!idmap_get(map, id, NULL))
		return;
	hole = at = find(map, id);
	/* What stands behind moves up, unless the search for it begins behind the hole. */
	for (;;) {
		at = (at + 1) & (map->nr_places - 1);
		if (map->ids[at] == 0)
			break;
		if (((at - home(map, map->ids[at])) & (map->nr_places - 1)) <
		    ((at - hole) & (map->nr_places - 1)))
			continue;
		map->ids[hole] = map->ids[at];
		map->values[hole] = map->values[at];
		hole = at;
	}
	map->ids[hole] = 0;
	map->nr--;
}
