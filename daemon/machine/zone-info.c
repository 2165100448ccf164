/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/size.h"
#include "zone-info.h"

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
 * The next line of @rest, as much of it as matters here, which is what string
 * functions then see: some of them look for the end of all that they are given.
 * Return: false at the end.
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

/* "        present  32768": cut behind the name. Return: the number's place, or
 * NULL. */
static const char *split(char *line, const char **ret_name)
{
	char *name = line + strspn(line, " ");
	char *blank = name + strcspn(name, " ");

	if (*blank == '\0')
		return NULL;
	*blank = '\0';
	*ret_name = name;
	return blank + 1 + strspn(blank + 1, " ");
}

/* "Node 2, zone   Normal", and below it its lines. */
int zone_info_each(struct kernel *kernel, zone_info_fn each, void *arg)
{
	scoped(freep) char *zones = read_zones(kernel);
	const char *rest = zones, *end = zones ? zones + strlen(zones) : NULL;
	bool is_memory = false;
	unsigned node_id = 0;
	char line[128];

	if (!zones)
		return -ENOENT;
	while (next_line(&rest, end, line, sizeof(line))) {
		const char *name, *number;
		char zone[32];

		if (sscanf(line, "Node %u, zone %31s", &node_id, zone) == 2) {
			is_memory = strcmp(zone, "Device") != 0;
			continue;
		}
		number = split(line, &name);
		if (is_memory && number && *number >= '0' && *number <= '9')
			each(node_id, name, strtoull(number, NULL, 10), arg);
	}
	return 0;
}
