/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "machine.h"
#include "probe.h"

bool probe_text(struct probe *probe, const char *path)
{
	int r = probe->kernel->ops->read(probe->kernel, path, probe->text, sizeof(probe->text));

	if (r < 0)
		probe->text[0] = '\0';
	return r >= 0;
}

int machine_probe(struct kernel *kernel, struct machine **ret)
{
	return machine_probe_with(kernel, NULL, ret);
}

int machine_probe_with(struct kernel *kernel, const struct block_record *record,
                       struct machine **ret)
{
	static int (*const steps[])(struct probe *) = {
		probe_nodes,  probe_allowed,       probe_usable, probe_page_sizes,
		probe_blocks, probe_device_memory, probe_limits,
	};
	scoped(machine_freep) struct machine *machine = NULL;
	scoped(freep) struct probe *probe = NULL;

	machine = calloc(1, sizeof(*machine));
	probe = calloc(1, sizeof(*probe));
	if (!machine || !probe)
		return -ENOMEM;
	probe->kernel = kernel;
	probe->machine = machine;
	probe->record = record;
	for (size_t i = 0; i < ELEMENTS(steps); i++) {
		int r = steps[i](probe);

		if (r < 0)
			return r;
	}
	*ret = take(machine);
	return 0;
}

struct machine *machine_free(struct machine *machine)
{
	if (!machine)
		return NULL;
	for (size_t i = 0; i < machine->nr_nodes; i++) {
		idset_clear(&machine->nodes[i].cpus);
		idset_clear(&machine->nodes[i].usable_cpus);
		free(machine->nodes[i].distances);
		free(machine->nodes[i].candidates);
	}
	free(machine->nodes);
	idset_clear(&machine->online_cpus);
	idset_clear(&machine->allowed_cpus);
	idset_clear(&machine->allowed_nodes);
	idset_clear(&machine->possible_nodes);
	free(machine);
	return NULL;
}

const struct machine_node *machine_node(const struct machine *machine, unsigned node_id)
{
	size_t first = 0, end = machine->nr_nodes;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (machine->nodes[middle].node_id == node_id)
			return &machine->nodes[middle];
		if (machine->nodes[middle].node_id < node_id)
			first = middle + 1;
		else
			end = middle;
	}
	return NULL;
}

int machine_page_size_index(const struct machine *machine, uint64_t page_bytes)
{
	for (size_t i = 0; i < machine->nr_page_sizes; i++)
		if (machine->page_sizes[i] == page_bytes)
			return (int) i;
	return -ENOENT;
}

const struct idset *machine_worker_cpus(const struct machine *machine,
                                        const struct machine_node *node)
{
	const struct machine_node *helper = NULL;

	if (!idset_is_empty(&node->usable_cpus))
		return &node->usable_cpus;
	if (node->helper_node_id >= 0)
		helper = machine_node(machine, (unsigned) node->helper_node_id);
	return helper ? &helper->usable_cpus : &machine->allowed_cpus;
}

static int found_entry(const char *name, void *arg)
{
	(void) name;
	(void) arg;
	return 1;
}

bool kernel_has_numa(struct kernel *kernel)
{
	return kernel->ops->list(kernel, NODE_DIR, found_entry, NULL) != -ENOENT;
}

int machine_read_available(struct kernel *kernel, unsigned node_id, uint64_t *ret_bytes)
{
	char text[8 * 1024]; /* a node's meminfo has about 40 lines of 40 characters */
	int r;

	r = kernel_read_text(kernel, text, sizeof(text), NODE_DIR "/node%u/meminfo", node_id);
	/* A kernel without NUMA has one node, which is the machine. */
	if (r == -ENOENT && node_id == 0 && !kernel_has_numa(kernel))
		r = kernel_read_text(kernel, text, sizeof(text), "/proc/meminfo");
	if (r < 0)
		return r;
	*ret_bytes = meminfo_available_bytes(text);
	return 0;
}
