/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory that is set aside for devices (CMA), by node. /proc/zoneinfo alone says where it is; that
 * has lines for each CPU in each zone, so it is read only where there is such memory.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/size.h"
#include "fields.h"
#include "probe.h"

#define ZONES_TEXT_MAX (64 * MIB) /* a thousand CPUs on a hundred nodes, and some */

/* Return: the whole file, which the caller frees; NULL: it cannot be read. */
static char *read_zones(struct kernel *kernel)
{
	for (size_t text_bytes = MIB; text_bytes <= ZONES_TEXT_MAX; text_bytes *= 2) {
		scoped(freep) char *text = malloc(text_bytes);
		int r;

		if (!text)
			return NULL;
		r = kernel->ops->read(kernel, "/proc/zoneinfo", text, text_bytes);
		if (r >= 0)
			return take(text);
		if (r != -E2BIG)
			return NULL;
	}
	return NULL;
}

/*
 * The next line of @rest, as much of it as matters here, which is what string functions then see:
 * some of them look for the end of all that they are given. Return: false at the end.
 */
static bool next_line(const char **rest, const char *end, char *ret_line, size_t line_bytes)
{
	size_t bytes = (size_t) (end - *rest);
	const char *line_end = memchr(*rest, '\n', bytes);

	if (bytes == 0)
		return false;
	if (line_end)
		bytes = (size_t) (line_end - *rest);
	(void) snprintf(ret_line, line_bytes, "%.*s", (int) bytes_min(bytes, line_bytes - 1),
	                *rest);
	*rest = line_end ? line_end + 1 : end;
	return true;
}

/* "Node 2, zone   Normal" and, below it, "        cma      32768" in pages. */
static void take_zones(const char *text, struct machine *machine)
{
	const char *end = text + strlen(text);
	struct machine_node *node = NULL;
	char line[128];

	while (next_line(&text, end, line, sizeof(line))) {
		const char *word = line + strspn(line, " ");
		const struct machine_node *found;

		if (strncmp(line, "Node ", strlen("Node ")) == 0) {
			found = machine_node(machine,
			                     (unsigned) strtoul(line + strlen("Node "), NULL, 10));
			node = found ? &machine->nodes[found - machine->nodes] : NULL;
		} else if (node && strncmp(word, "cma ", strlen("cma ")) == 0) {
			uint64_t nr_pages = strtoull(word + strlen("cma "), NULL, 10);

			node->device_bytes = bytes_add(node->device_bytes,
			                               bytes_mul(nr_pages, machine->page_bytes));
		}
	}
}

int probe_device_memory(struct probe *probe)
{
	scoped(freep) char *zones = NULL;

	(void) probe_text(probe, "/proc/meminfo");
	if (field_bytes_or_0(probe->text, "CmaTotal") == 0)
		return 0;
	/* It is then for huge pages, which are what pools are made of, and no device's. */
	(void) probe_text(probe, "/proc/cmdline");
	if (strstr(probe->text, "hugetlb_cma="))
		return 0;
	zones = read_zones(probe->kernel);
	if (zones)
		take_zones(zones, probe->machine);
	return 0;
}
