/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <string.h>

#include "../base/size.h"
#include "fields.h"
#include "probe.h"

#define STATUS_FILE "/proc/self/status"

/* "No limit" in cgroup v1 is PAGE_COUNTER_MAX, a little below 2^63. */
#define NO_LIMIT_BYTES (UINT64_C(1) << 62)

/* A list of the process's status. Return: 1 and *ret; 0 it is not shown; -ENOMEM. */
static int read_allowed(struct probe *probe, const char *name, struct idset *ret)
{
	scoped(freep) char *list = NULL;
	int r;

	if (!probe_text(probe, STATUS_FILE) || !field_find(probe->text, name))
		return 0;
	list = field_text(probe->text, name);
	if (!list)
		return -ENOMEM;
	r = idset_parse(list, ret);
	return r == 0 ? 1 : r == -ENOMEM ? r : 0;
}

int probe_allowed(struct probe *probe)
{
	struct machine *machine = probe->machine;
	const char *second_line;
	int r;

	r = read_allowed(probe, "Cpus_allowed_list", &machine->allowed_cpus);
	if (r == 0)
		r = idset_copy(&machine->online_cpus, &machine->allowed_cpus);
	if (r < 0)
		return r;
	r = read_allowed(probe, "Mems_allowed_list", &machine->allowed_nodes);
	for (size_t i = 0; r == 0 && i < machine->nr_nodes; i++)
		r = idset_add(&machine->allowed_nodes, machine->nodes[i].node_id);
	if (r < 0)
		return r;
	for (size_t i = 0; i < machine->nr_nodes; i++)
		machine->nodes[i].is_allowed =
			idset_has(&machine->allowed_nodes, machine->nodes[i].node_id);

	/* The first line is a heading. */
	(void) probe_text(probe, "/proc/swaps");
	second_line = strchr(probe->text, '\n');
	machine->has_swap = second_line && second_line[1] != '\0';
	return 0;
}

bool probe_may_mount(struct probe *probe)
{
	const char *effective;

	if (!probe->kernel->is_live)
		return true;
	if (!probe_text(probe, STATUS_FILE))
		return false;
	effective = field_find(probe->text, "CapEff");
	return effective && (strtoull(effective, NULL, 16) >> CAP_SYS_ADMIN & 1) != 0;
}

/* Return: whether any of the node's files can be written; *ret_is_refused: one of them cannot. */
static bool may_grow_on(struct probe *probe, unsigned node_id, bool *ret_is_refused)
{
	const struct machine *machine = probe->machine;
	bool is_any = false;
	char path[PATH_MAX];

	*ret_is_refused = false;
	for (size_t k = 0; k < machine->nr_page_sizes; k++) {
		int r;

		(void) snprintf(path, sizeof(path),
		                NODE_DIR "/node%u/hugepages/hugepages-%" PRIu64 "kB/nr_hugepages",
		                node_id, machine->page_sizes[k] / KIB);
		r = probe->kernel->ops->may_write(probe->kernel, path);
		*ret_is_refused |= r < 0 && r != -ENOENT;
		is_any |= r == 0;
	}
	return is_any;
}

static bool may_grow_hugepages(struct probe *probe)
{
	struct machine *machine = probe->machine;
	bool is_any = false;

	/* Who recorded a tree asks what would be done with the rights to do it. */
	if (!probe->kernel->is_live)
		return true;
	for (size_t i = 0; i < machine->nr_nodes; i++)
		is_any |= may_grow_on(probe, machine->nodes[i].node_id,
		                      &machine->nodes[i].is_growing_refused);
	return is_any;
}

/* Where a cgroup hierarchy is mounted and how its files are called. */
struct hierarchy {
	const char *mount;
	const char *limits[2]; /* hard, soft: past the soft one the kernel stalls who allocates */
	const char *usage;
	const char *cache[3]; /* fields of memory.stat that are given back on demand */
};

static const struct hierarchy version_2 = {
	.mount = "/sys/fs/cgroup",
	.limits = { "memory.max", "memory.high" },
	.usage = "memory.current",
	.cache = { "inactive_file", "active_file", "slab_reclaimable" },
};

/* Version 2 beside version 1 ("hybrid"). */
static const struct hierarchy version_2_unified = {
	.mount = "/sys/fs/cgroup/unified",
	.limits = { "memory.max", "memory.high" },
	.usage = "memory.current",
	.cache = { "inactive_file", "active_file", "slab_reclaimable" },
};

static const struct hierarchy version_1 = {
	.mount = "/sys/fs/cgroup/memory",
	.limits = { "memory.limit_in_bytes" },
	.usage = "memory.usage_in_bytes",
	.cache = { "total_inactive_file", "total_active_file" },
};

static uint64_t level_limit_bytes(struct probe *probe, const struct hierarchy *hierarchy,
                                  const char *path)
{
	uint64_t limit_bytes = UINT64_MAX;

	for (size_t i = 0; i < ELEMENTS(hierarchy->limits) && hierarchy->limits[i]; i++) {
		uint64_t bytes;

		/* "max" is no number, and the root of a hierarchy has no such file. */
		if (kernel_read_u64(probe->kernel, &bytes, "%s%s/%s", hierarchy->mount, path,
		                    hierarchy->limits[i]) == 0 &&
		    bytes < NO_LIMIT_BYTES)
			limit_bytes = bytes_min(limit_bytes, bytes);
	}
	return limit_bytes;
}

/* What is charged to the level and cannot be given back. */
static uint64_t level_held_bytes(struct probe *probe, const struct hierarchy *hierarchy,
                                 const char *path)
{
	uint64_t usage_bytes, cache_bytes = 0;

	if (kernel_read_u64(probe->kernel, &usage_bytes, "%s%s/%s", hierarchy->mount, path,
	                    hierarchy->usage) < 0)
		return 0;
	if (kernel_read_text(probe->kernel, probe->text, sizeof(probe->text), "%s%s/memory.stat",
	                     hierarchy->mount, path) >= 0)
		for (size_t i = 0; i < ELEMENTS(hierarchy->cache) && hierarchy->cache[i]; i++)
			cache_bytes = bytes_add(cache_bytes,
			                        field_bytes_or_0(probe->text, hierarchy->cache[i]));
	return bytes_left(usage_bytes, cache_bytes);
}

static void look_at_level(struct probe *probe, const struct hierarchy *hierarchy, const char *path)
{
	struct machine *machine = probe->machine;
	uint64_t limit_bytes = level_limit_bytes(probe, hierarchy, path);
	size_t nr_chars = strlen(path);
	uint64_t room_bytes;

	if (limit_bytes == UINT64_MAX)
		return;
	room_bytes = bytes_left(limit_bytes, level_held_bytes(probe, hierarchy, path));
	/* What limits us is where the least room is left, not where the smallest number stands. */
	if (room_bytes >= machine->cgroup_room_bytes)
		return;
	machine->cgroup_limit_bytes = limit_bytes;
	machine->cgroup_room_bytes = room_bytes;
	/* Of a path that is too long the end tells more. */
	if (nr_chars >= sizeof(machine->cgroup_path))
		path += nr_chars - (sizeof(machine->cgroup_path) - 1);
	(void) snprintf(machine->cgroup_path, sizeof(machine->cgroup_path), "%s",
	                *path ? path : "/");
}

/* From the process's own level up to the root. @path is cut on the way. */
static void walk_up(struct probe *probe, const struct hierarchy *hierarchy, char *path)
{
	/* Levels that our namespace does not show begin with "/.."; they cannot be opened. */
	for (;;) {
		char *slash = strrchr(path, '/');

		if (slash && slash[1] == '\0') {
			*slash = '\0';
			continue;
		}
		if (!strstr(path, "/.."))
			look_at_level(probe, hierarchy, path);
		if (!slash)
			return;
		*slash = '\0';
	}
}

static bool has_memory_controller(const char *controllers)
{
	static const char name[] = "memory";
	size_t nr_chars = strlen(name);
	const char *at = controllers;

	while ((at = strstr(at, name)) != NULL) {
		if ((at == controllers || at[-1] == ',') &&
		    (at[nr_chars] == ',' || at[nr_chars] == '\0'))
			return true;
		at += nr_chars;
	}
	return false;
}

/* One line of /proc/self/cgroup, cgroups(7): "hierarchy:controllers:/path" */
static void take_cgroup_line(struct probe *probe, char *line)
{
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!path)
		return;
	*controllers++ = '\0';
	*path++ = '\0';
	if (has_memory_controller(controllers)) {
		walk_up(probe, &version_1, path);
	} else if (*controllers == '\0') {
		char again[PATH_MAX];

		(void) snprintf(again, sizeof(again), "%s", path);
		walk_up(probe, &version_2, again);
		walk_up(probe, &version_2_unified, path);
	}
}

static int read_cgroup_limits(struct probe *probe)
{
	scoped(freep) char *lines = NULL;
	char *rest, *line;

	probe->machine->cgroup_limit_bytes = UINT64_MAX;
	probe->machine->cgroup_room_bytes = UINT64_MAX;
	if (!probe_text(probe, "/proc/self/cgroup"))
		return 0;
	/* A copy: the levels are read into the same scratch. */
	lines = strdup(probe->text);
	if (!lines)
		return -ENOMEM;
	rest = lines;
	while ((line = strsep(&rest, "\n")) != NULL)
		take_cgroup_line(probe, line);
	return 0;
}

int probe_limits(struct probe *probe)
{
	probe->machine->may_grow_hugepages = may_grow_hugepages(probe);
	return read_cgroup_limits(probe);
}
