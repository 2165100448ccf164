/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory that is set aside for devices (CMA), by node. /proc/zoneinfo alone
 * says where it is; that has lines for each CPU in each zone, so it is read
 * only where there is such memory.
 */
#include <string.h>

#include "../base/size.h"
#include "fields.h"
#include "probe.h"
#include "zone-info.h"

static void take_line(unsigned node_id, const char *name, uint64_t nr_pages, void *arg)
{
	struct machine *machine = arg;
	const struct machine_node *found;
	struct machine_node *node;

	if (strcmp(name, "cma") != 0)
		return;
	found = machine_node(machine, node_id);
	if (!found)
		return;
	node = &machine->nodes[found - machine->nodes];
	node->device_bytes =
		bytes_add(node->device_bytes, bytes_mul(nr_pages, machine->page_bytes));
}

int probe_device_memory(struct probe *probe)
{
	(void) probe_text(probe, "/proc/meminfo");
	if (field_bytes_or_0(probe->text, "CmaTotal") == 0)
		return 0;
	/* It is then for huge pages, which are what pools are made of, and no
	 * device's. */
	(void) probe_text(probe, "/proc/cmdline");
	if (strstr(probe->text, "hugetlb_cma="))
		return 0;
	(void) zone_info_each(probe->kernel, take_line, probe->machine);
	return 0;
}
