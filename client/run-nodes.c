/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run-nodes.h"

#define NODE_FOLDER    "/sys/devices/system/node/"
#define DISTANCE_LOCAL 10

/* A list of 8192 ids that has no ranges is shorter, and so is a row of distances. */
#define LINE_MAX_BYTES 65536

static void closep(FILE **file)
{
	if (*file)
		(void) fclose(*file);
}

static FILE *open_at(const char *root, const char *path)
{
	char full[PATH_MAX];

	if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int) sizeof(full)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	return fopen(full, "re");
}

/* The first line of a file, without its end. Return: 0 and *ret, the caller's; -errno. */
static int read_line(const char *root, const char *path, char **ret)
{
	scoped(closep) FILE *file = open_at(root, path);
	scoped(freep) char *line = malloc(LINE_MAX_BYTES);

	if (!file)
		return -errno;
	if (!line)
		return -ENOMEM;
	if (!fgets(line, LINE_MAX_BYTES, file))
		*line = '\0';
	line[strcspn(line, "\n")] = '\0';
	*ret = line;
	line = NULL;
	return 0;
}

int run_ids_parse(const char *text, struct run_ids *ret)
{
	struct run_ids ids = { 0 };

	while (*text) {
		unsigned long first, last, id;
		char *end;

		if (*text < '0' || *text > '9')
			return -EINVAL;
		first = last = strtoul(text, &end, 10);
		if (*end == '-') {
			text = end + 1;
			if (*text < '0' || *text > '9')
				return -EINVAL;
			last = strtoul(text, &end, 10);
		}
		if (last < first || (*end && *end != ','))
			return -EINVAL;
		for (id = first; id <= last && id < RUN_IDS_MAX; id++)
			CPU_SET_S(id, sizeof(ids.sets), ids.sets);
		text = *end ? end + 1 : end;
	}
	*ret = ids;
	return 0;
}

static int read_ids(const char *root, const char *path, struct run_ids *ret)
{
	scoped(freep) char *line = NULL;
	int r = read_line(root, path, &line);

	return r < 0 ? r : run_ids_parse(line, ret);
}

/* The nodes whose memory the cpuset allows. A kernel without cpusets allows all. */
static int read_allowed_nodes(const char *root, struct run_ids *ret)
{
	static const char key[] = "Mems_allowed_list:";
	scoped(closep) FILE *file = open_at(root, "/proc/self/status");
	scoped(freep) char *line = NULL;
	size_t line_bytes = 0;

	memset(ret, 0xff, sizeof(*ret));
	while (file && getline(&line, &line_bytes, file) > 0) {
		if (strncmp(line, key, sizeof(key) - 1) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		return run_ids_parse(line + sizeof(key) - 1 + strspn(line + sizeof(key) - 1, " \t"),
		                     ret);
	}
	return 0;
}

static unsigned count(const struct run_ids *ids)
{
	return (unsigned) CPU_COUNT_S(sizeof(ids->sets), ids->sets);
}

static int read_cpus(const char *root, const struct run_ids *allowed, struct run_node *node)
{
	char path[128];
	int r;

	(void) snprintf(path, sizeof(path), NODE_FOLDER "node%" PRIu32 "/cpulist", node->node_id);
	r = read_ids(root, path, &node->cpus);
	if (r < 0)
		return r;
	CPU_AND_S(sizeof(allowed->sets), node->cpus.sets, node->cpus.sets, allowed->sets);
	node->nr_cpus = count(&node->cpus);
	return 0;
}

/* The columns stand for the nodes that are online, in their order. */
static int find_helper(const char *root, const struct run_nodes *nodes, struct run_node *node)
{
	const struct run_node *helper = NULL;
	scoped(freep) char *line = NULL;
	char path[128], *at, *end;
	uint32_t distance, least = UINT32_MAX;
	size_t i;
	int r;

	(void) snprintf(path, sizeof(path), NODE_FOLDER "node%" PRIu32 "/distance", node->node_id);
	r = read_line(root, path, &line);
	if (r < 0)
		return r;
	for (i = 0, at = line; i < nodes->nr_nodes; i++, at = end) {
		distance = (uint32_t) strtoul(at, &end, 10);
		if (end == at)
			return -EINVAL;
		/* Helpers have CPUs of their own: one found before is no source. */
		if (!nodes->nodes[i].nr_cpus || nodes->nodes[i].helper_node_id >= 0 ||
		    distance >= least)
			continue;
		least = distance;
		helper = &nodes->nodes[i];
	}
	if (!helper)
		return 0;
	node->cpus = helper->cpus;
	node->nr_cpus = helper->nr_cpus;
	node->helper_node_id = (int32_t) helper->node_id;
	node->distance = least;
	return 0;
}

static int fill(const char *root, const struct run_ids *allowed_cpus,
                const struct run_ids *online_nodes, struct run_nodes *nodes)
{
	struct run_ids allowed_nodes, with_memory = *online_nodes;
	size_t id, i;
	int r;

	r = read_ids(root, NODE_FOLDER "has_memory", &with_memory);
	if (r < 0 && r != -ENOENT)
		return r;
	r = read_allowed_nodes(root, &allowed_nodes);
	for (id = 0; r >= 0 && id < RUN_IDS_MAX; id++) {
		struct run_node *node = &nodes->nodes[nodes->nr_nodes];

		if (!run_ids_has(online_nodes, id))
			continue;
		node->node_id = (uint32_t) id;
		node->helper_node_id = -1;
		node->distance = DISTANCE_LOCAL;
		node->has_memory = run_ids_has(&with_memory, id);
		node->is_allowed = run_ids_has(&allowed_nodes, id);
		nodes->nr_nodes++;
		r = read_cpus(root, allowed_cpus, node);
	}
	for (i = 0; r >= 0 && i < nodes->nr_nodes; i++)
		if (!nodes->nodes[i].nr_cpus)
			r = find_helper(root, nodes, &nodes->nodes[i]);
	return r;
}

int run_nodes_read(const char *root, const struct run_ids *allowed, struct run_nodes *ret)
{
	scoped(run_nodes_clear) struct run_nodes nodes = { 0 };
	struct run_ids online;
	int r;

	r = read_ids(root, NODE_FOLDER "online", &online);
	if (r < 0)
		return r;
	nodes.nodes = calloc(count(&online) + 1, sizeof(*nodes.nodes));
	if (!nodes.nodes)
		return -ENOMEM;
	r = fill(root, allowed, &online, &nodes);
	if (r < 0)
		return r;
	*ret = nodes;
	nodes = (struct run_nodes){ 0 };
	return 0;
}

void run_nodes_clear(struct run_nodes *nodes)
{
	free(nodes->nodes);
	*nodes = (struct run_nodes){ 0 };
}

struct run_node *run_nodes_find(const struct run_nodes *nodes, uint32_t node_id)
{
	size_t i;

	for (i = 0; i < nodes->nr_nodes; i++)
		if (nodes->nodes[i].node_id == node_id)
			return &nodes->nodes[i];
	return NULL;
}

int run_load_read(const char *root, struct run_load *ret)
{
	scoped(closep) FILE *file = open_at(root, "/proc/stat");
	scoped(freep) char *line = NULL;
	size_t line_bytes = 0, i;

	if (!file)
		return -errno;
	memset(ret, 0, sizeof(*ret));
	while (getline(&line, &line_bytes, file) > 0) {
		/* user nice system idle iowait irq softirq steal: proc(5). Guests are in user. */
		uint64_t ticks[8] = { 0 };
		unsigned cpu;

		if (sscanf(line,
		           "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		           " %" SCNu64 " %" SCNu64 " %" SCNu64,
		           &cpu, &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5],
		           &ticks[6], &ticks[7]) < 5 ||
		    cpu >= RUN_IDS_MAX)
			continue;
		ret->idle_ticks[cpu] = ticks[3] + ticks[4];
		for (i = 0; i < 8; i++)
			ret->total_ticks[cpu] += ticks[i];
	}
	return 0;
}

/* Free pages, and those of the page cache and of slabs that the kernel gives back when asked. */
static uint64_t read_free_bytes(const char *root, uint32_t node_id)
{
	static const char *const keys[] = { "MemFree:", "Active(file):", "Inactive(file):",
		                            "SReclaimable:" };
	scoped(freep) char *line = NULL;
	scoped(closep) FILE *file = NULL;
	size_t line_bytes = 0, i;
	uint64_t free_bytes = 0;
	char path[128];

	(void) snprintf(path, sizeof(path), NODE_FOLDER "node%" PRIu32 "/meminfo", node_id);
	file = open_at(root, path);
	while (file && getline(&line, &line_bytes, file) > 0) {
		uint64_t kibibytes;
		char key[32];

		if (sscanf(line, "Node %*u %31s %" SCNu64 " kB", key, &kibibytes) != 2)
			continue;
		for (i = 0; i < ELEMENTS(keys); i++)
			if (strcmp(key, keys[i]) == 0)
				free_bytes += kibibytes * 1024;
	}
	return free_bytes;
}

static uint64_t idle_cpus_milli(const struct run_ids *cpus, const struct run_load *before,
                                const struct run_load *after)
{
	uint64_t milli = 0;
	size_t cpu;

	for (cpu = 0; cpu < RUN_IDS_MAX; cpu++) {
		uint64_t total_ticks = after->total_ticks[cpu] - before->total_ticks[cpu];
		uint64_t idle_ticks = after->idle_ticks[cpu] - before->idle_ticks[cpu];

		if (!run_ids_has(cpus, cpu))
			continue;
		/* Idle time may step back a little: proc(5). Where no tick is seen, none was used.
		 */
		if (after->idle_ticks[cpu] < before->idle_ticks[cpu])
			idle_ticks = 0;
		if (after->total_ticks[cpu] <= before->total_ticks[cpu] || idle_ticks > total_ticks)
			milli += 1000;
		else
			milli += idle_ticks * 1000 / total_ticks;
	}
	return milli;
}

void run_nodes_weigh(const char *root, struct run_nodes *nodes, const struct run_load *before,
                     const struct run_load *after)
{
	size_t i;

	for (i = 0; i < nodes->nr_nodes; i++) {
		struct run_node *node = &nodes->nodes[i];

		node->free_bytes = read_free_bytes(root, node->node_id);
		node->idle_cpus_milli = idle_cpus_milli(&node->cpus, before, after);
	}
}

/* Mebibytes times thousandths of CPUs: 8192 CPUs and an exbibyte are below 2^64. */
static uint64_t worth(const struct run_node *node)
{
	uint64_t distance = node->distance > DISTANCE_LOCAL ? node->distance : DISTANCE_LOCAL;

	return (node->free_bytes >> 20) * node->idle_cpus_milli / distance;
}

const struct run_node *run_nodes_choose(const struct run_nodes *nodes)
{
	const struct run_node *best = NULL;
	size_t i;

	for (i = 0; i < nodes->nr_nodes; i++) {
		const struct run_node *node = &nodes->nodes[i];

		if (!node->has_memory || !node->is_allowed || !node->nr_cpus)
			continue;
		if (!best || worth(node) > worth(best) ||
		    (worth(node) == worth(best) && node->free_bytes > best->free_bytes))
			best = node;
	}
	return best;
}
