/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "../base/size.h"
#include "fields.h"
#include "probe.h"

/* As the kernel says where the firmware has no table (include/linux/topology.h). */
#define LOCAL_DISTANCE  10
#define REMOTE_DISTANCE 20

static int note_node(const char *name, void *arg)
{
	struct idset *ids = arg;
	unsigned node_id;
	char end;

	/* "node12" is one, "node12x" and "online" are not. */
	if (sscanf(name, "node%u%c", &node_id, &end) != 1)
		return 0;
	return idset_add(ids, node_id) == -ENOMEM ? -ENOMEM : 0;
}

/* The online nodes; the directories where the kernel or the recording has no list of them. */
static int read_node_ids(struct probe *probe, struct idset *ids)
{
	int r;

	if (probe_text(probe, NODE_DIR "/online")) {
		r = idset_parse(probe->text, ids);
		if (r == -ENOMEM || (r == 0 && !idset_is_empty(ids)))
			return r;
	}
	r = probe->kernel->ops->list(probe->kernel, NODE_DIR, note_node, ids);
	return r == -ENOMEM ? r : 0;
}

static int make_nodes(struct machine *machine, const struct idset *ids)
{
	size_t nr_nodes = idset_nr(ids), i = 0;

	if (nr_nodes > MACHINE_NODES_MAX)
		return -E2BIG;
	machine->nodes = calloc(nr_nodes, sizeof(*machine->nodes));
	if (!machine->nodes)
		return -ENOMEM;
	machine->nr_nodes = nr_nodes;
	for (int id = idset_next(ids, 0); id >= 0; id = idset_next(ids, (unsigned) id + 1)) {
		machine->nodes[i].node_id = (unsigned) id;
		machine->nodes[i].helper_node_id = -1;
		machine->nodes[i].distances = calloc(nr_nodes, sizeof(unsigned));
		if (!machine->nodes[i].distances)
			return -ENOMEM;
		i++;
	}
	return 0;
}

/* The columns are those of the online nodes, in order. A short row is filled up. */
static void read_distances(struct probe *probe, struct machine_node *node)
{
	const struct machine *machine = probe->machine;
	const char *at = probe->text;
	char path[PATH_MAX];

	(void) snprintf(path, sizeof(path), NODE_DIR "/node%u/distance", node->node_id);
	(void) probe_text(probe, path);
	for (size_t i = 0; i < machine->nr_nodes; i++) {
		char *end;
		unsigned long distance = strtoul(at, &end, 10);

		if (end == at || distance == 0 || distance > UINT_MAX)
			distance = &machine->nodes[i] == node ? LOCAL_DISTANCE : REMOTE_DISTANCE;
		node->distances[i] = (unsigned) distance;
		at = end;
	}
}

/*
 * Page cache goes away when memory is asked for, shared memory and tmpfs (within FilePages) do
 * not. /proc/meminfo says Cached where a node says FilePages.
 */
uint64_t meminfo_available_bytes(const char *text)
{
	uint64_t cache_bytes;

	if (field_bytes(text, "FilePages", &cache_bytes) < 0)
		cache_bytes = field_bytes_or_0(text, "Cached");
	cache_bytes = bytes_left(cache_bytes, field_bytes_or_0(text, "Shmem"));
	return bytes_add(bytes_add(field_bytes_or_0(text, "MemFree"), cache_bytes),
	                 field_bytes_or_0(text, "SReclaimable"));
}

static void take_meminfo(const char *text, struct machine_node *node)
{
	node->mem_total_bytes = field_bytes_or_0(text, "MemTotal");
	node->available_bytes = meminfo_available_bytes(text);
}

static int read_node(struct probe *probe, struct machine_node *node)
{
	char path[PATH_MAX];

	read_distances(probe, node);
	(void) snprintf(path, sizeof(path), NODE_DIR "/node%u/meminfo", node->node_id);
	(void) probe_text(probe, path);
	take_meminfo(probe->text, node);
	(void) snprintf(path, sizeof(path), NODE_DIR "/node%u/cpulist", node->node_id);
	(void) probe_text(probe, path);
	return idset_parse(probe->text, &node->cpus) == -ENOMEM ? -ENOMEM : 0;
}

static int add_all(struct idset *sum, const struct idset *set)
{
	for (int id = idset_next(set, 0); id >= 0; id = idset_next(set, (unsigned) id + 1)) {
		int r = idset_add(sum, (unsigned) id);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Wants the nodes' cpulists: they are all there is where the list of online CPUs is missing. */
static int read_online_cpus(struct probe *probe)
{
	struct machine *machine = probe->machine;
	int r;

	if (probe_text(probe, "/sys/devices/system/cpu/online")) {
		r = idset_parse(probe->text, &machine->online_cpus);
		if (r == -ENOMEM || (r == 0 && !idset_is_empty(&machine->online_cpus)))
			return r;
	}
	for (size_t i = 0; i < machine->nr_nodes; i++) {
		r = add_all(&machine->online_cpus, &machine->nodes[i].cpus);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A kernel without NUMA: one node with everything. */
static int make_only_node(struct probe *probe)
{
	scoped(idset_clear) struct idset ids = { 0 };
	uint64_t total_bytes;
	int r;

	if (!probe_text(probe, "/proc/meminfo") ||
	    field_bytes(probe->text, "MemTotal", &total_bytes) < 0)
		return -ENOENT;
	r = idset_add(&ids, 0);
	if (r < 0)
		return r;
	r = make_nodes(probe->machine, &ids);
	if (r < 0)
		return r;
	take_meminfo(probe->text, &probe->machine->nodes[0]);
	probe->machine->nodes[0].distances[0] = LOCAL_DISTANCE;
	r = read_online_cpus(probe);
	return r < 0 ? r : idset_copy(&probe->machine->online_cpus, &probe->machine->nodes[0].cpus);
}

int probe_nodes(struct probe *probe)
{
	scoped(idset_clear) struct idset ids = { 0 };
	struct machine *machine = probe->machine;
	int r;

	/* A list that cannot be read as one is none. */
	(void) probe_text(probe, NODE_DIR "/possible");
	if (idset_parse(probe->text, &machine->possible_nodes) == -ENOMEM)
		return -ENOMEM;
	r = read_node_ids(probe, &ids);
	if (r < 0)
		return r;
	if (idset_is_empty(&ids))
		return make_only_node(probe);
	r = make_nodes(machine, &ids);
	if (r < 0)
		return r;
	for (size_t i = 0; i < machine->nr_nodes; i++) {
		r = read_node(probe, &machine->nodes[i]);
		if (r < 0)
			return r;
	}
	r = read_online_cpus(probe);
	if (r < 0)
		return r;
	for (size_t i = 0; i < machine->nr_nodes; i++) {
		r = idset_intersect(&machine->nodes[i].cpus, &machine->online_cpus,
		                    &machine->nodes[i].cpus);
		if (r < 0)
			return r;
	}
	return 0;
}

static int nearest_with_cpus(const struct machine *machine, const struct machine_node *node)
{
	unsigned nearest = UINT_MAX;
	int node_id = -1;

	/* Ascending ids: of those at the same distance the first stays. */
	for (size_t i = 0; i < machine->nr_nodes; i++)
		if (!idset_is_empty(&machine->nodes[i].usable_cpus) &&
		    node->distances[i] < nearest) {
			nearest = node->distances[i];
			node_id = (int) machine->nodes[i].node_id;
		}
	return node_id;
}

int probe_usable(struct probe *probe)
{
	struct machine *machine = probe->machine;

	for (size_t i = 0; i < machine->nr_nodes; i++) {
		int r = idset_intersect(&machine->nodes[i].cpus, &machine->allowed_cpus,
		                        &machine->nodes[i].usable_cpus);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < machine->nr_nodes; i++)
		if (idset_is_empty(&machine->nodes[i].usable_cpus))
			machine->nodes[i].helper_node_id =
				nearest_with_cpus(machine, &machine->nodes[i]);
	return 0;
}
