/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "../base/size.h"
#include "fields.h"
#include "hugepages.h"
#include "probe.h"

#define HUGE_DIR "/sys/kernel/mm/hugepages"
#define THP_DIR  "/sys/kernel/mm/transparent_hugepage"

/* Nothing outside this is a base page; it also unmasks an auxv of another word size. */
#define PAGE_BYTES_MIN (4 * KIB)
#define PAGE_BYTES_MAX (1 * MIB)

static bool is_base_page(uint64_t bytes)
{
	return bytes >= PAGE_BYTES_MIN && bytes <= PAGE_BYTES_MAX && (bytes & (bytes - 1)) == 0;
}

/* AT_PAGESZ, getauxval(3), of the process that was recorded. */
static uint64_t auxv_page_bytes(struct probe *probe)
{
	Elf64_auxv_t entry;
	int nr_bytes = probe->kernel->ops->read(probe->kernel, "/proc/self/auxv", probe->text,
	                                        sizeof(probe->text));

	for (int at = 0; at + (int) sizeof(entry) <= nr_bytes; at += (int) sizeof(entry)) {
		memcpy(&entry, probe->text + at, sizeof(entry));
		if (entry.a_type == AT_PAGESZ)
			return entry.a_un.a_val;
	}
	return 0;
}

/* A tree says it by its auxv, or by a mapping of the recorded process; else it is ours. */
static uint64_t base_page_bytes(struct probe *probe)
{
	if (!probe->kernel->is_live) {
		uint64_t bytes = auxv_page_bytes(probe);

		if (!is_base_page(bytes) && probe_text(probe, "/proc/self/smaps"))
			bytes = field_bytes_or_0(probe->text, "KernelPageSize");
		if (is_base_page(bytes))
			return bytes;
	}
	return (uint64_t) sysconf(_SC_PAGESIZE);
}

/* Keep the sizes ascending; more than fit is more than any kernel has. */
static void add_page_size(struct machine *machine, uint64_t bytes)
{
	size_t at = machine->nr_page_sizes;

	if (at == MACHINE_PAGE_SIZES_MAX || machine_page_size_index(machine, bytes) >= 0)
		return;
	for (; at > 0 && machine->page_sizes[at - 1] > bytes; at--)
		machine->page_sizes[at] = machine->page_sizes[at - 1];
	machine->page_sizes[at] = bytes;
	machine->nr_page_sizes++;
}

static int note_page_size(const char *name, void *arg)
{
	uint64_t page_kib;
	int nr_chars = 0;

	if (sscanf(name, "hugepages-%" SCNu64 "kB%n", &page_kib, &nr_chars) == 1 && nr_chars > 0 &&
	    name[nr_chars] == '\0' && page_kib > 0 && page_kib <= UINT64_MAX / KIB)
		add_page_size(arg, page_kib * KIB);
	return 0;
}

static void read_page_sizes(struct probe *probe)
{
	const struct kernel_ops *ops = probe->kernel->ops;
	struct machine *machine = probe->machine;
	char path[64];

	if (ops->list(probe->kernel, HUGE_DIR, note_page_size, machine) == 0)
		return;
	/* A recorded tree that has the nodes only. */
	for (size_t i = 0; i < machine->nr_nodes; i++) {
		(void) snprintf(path, sizeof(path), NODE_DIR "/node%u/hugepages",
		                machine->nodes[i].node_id);
		(void) ops->list(probe->kernel, path, note_page_size, machine);
	}
}

/* The pool of the only node of a kernel without NUMA is the pool of the machine. */
static bool read_global_pool(struct probe *probe, uint64_t page_bytes, struct hugepages_count *ret)
{
	return kernel_read_u64(probe->kernel, &ret->nr_pages,
	                       HUGE_DIR "/hugepages-%" PRIu64 "kB/nr_hugepages",
	                       page_bytes / KIB) == 0 &&
	       kernel_read_u64(probe->kernel, &ret->free_pages,
	                       HUGE_DIR "/hugepages-%" PRIu64 "kB/free_hugepages",
	                       page_bytes / KIB) == 0 &&
	       kernel_read_u64(probe->kernel, &ret->surplus_pages,
	                       HUGE_DIR "/hugepages-%" PRIu64 "kB/surplus_hugepages",
	                       page_bytes / KIB) == 0;
}

static void read_pools(struct probe *probe)
{
	struct machine *machine = probe->machine;
	bool has_numa = kernel_has_numa(probe->kernel);

	for (size_t i = 0; i < machine->nr_nodes; i++)
		for (size_t k = 0; k < machine->nr_page_sizes; k++) {
			struct machine_node *node = &machine->nodes[i];
			uint64_t page_bytes = machine->page_sizes[k];
			struct hugepages_count count = { 0 };

			if (hugepages_read(probe->kernel, node->node_id, page_bytes, &count) < 0 &&
			    (has_numa || !read_global_pool(probe, page_bytes, &count)))
				count = (struct hugepages_count){ 0 };
			node->hugepages[k] = (struct machine_hugepages){
				.page_bytes = page_bytes,
				.nr_pages = count.nr_pages,
				.free_pages = count.free_pages,
				.surplus_pages = count.surplus_pages,
			};
		}
}

static bool is_listed(const struct machine *machine, uint64_t page_bytes)
{
	return machine_page_size_index(machine, page_bytes) >= 0;
}

/* What the kernel calls the default, as far as it can be had; wants thp_bytes. */
static uint64_t default_huge_page_bytes(struct probe *probe)
{
	const struct machine *machine = probe->machine;
	uint64_t bytes;

	(void) probe_text(probe, "/proc/meminfo");
	bytes = field_bytes_or_0(probe->text, "Hugepagesize");
	if (is_listed(machine, bytes))
		return bytes;
	if (is_listed(machine, machine->thp_bytes))
		return machine->thp_bytes;
	return machine->nr_page_sizes ? machine->page_sizes[0] : 0;
}

/* The chosen word of "always within_size [advise] never". */
static bool is_chosen(const char *text, const char *word)
{
	const char *open = strchr(text, '[');
	size_t nr_chars = strlen(word);

	return open && strncmp(open + 1, word, nr_chars) == 0 && open[1 + nr_chars] == ']';
}

/* Documentation/admin-guide/mm/transhuge.rst, "Hugepages in tmpfs/shmem". */
static enum machine_thp shared_memory_thp(struct probe *probe)
{
	static const char *const suffices[] = { "advise", "within_size", "always", "force" };
	bool is_known;

	if (!probe->machine->thp_bytes)
		return MACHINE_THP_NONE;
	is_known = probe_text(probe, THP_DIR "/shmem_enabled");
	/* "deny" overrules the mount option, too. Without the file there is no such option. */
	if (is_chosen(probe->text, "deny") || (!is_known && probe->kernel->is_live))
		return MACHINE_THP_NONE;
	for (size_t i = 0; i < ELEMENTS(suffices); i++)
		if (is_chosen(probe->text, suffices[i])) {
			return probe_may_mount(probe) ? MACHINE_THP_MOUNT : MACHINE_THP_MEMFD;
		}
	return probe_may_mount(probe) ? MACHINE_THP_MOUNT : MACHINE_THP_NONE;
}

int probe_page_sizes(struct probe *probe)
{
	struct machine *machine = probe->machine;
	uint64_t thp_bytes;

	machine->page_bytes = base_page_bytes(probe);
	read_page_sizes(probe);
	read_pools(probe);
	if (kernel_read_u64(probe->kernel, &thp_bytes, THP_DIR "/hpage_pmd_size") == 0)
		machine->thp_bytes = thp_bytes;
	machine->huge_page_bytes = default_huge_page_bytes(probe);
	machine->thp = shared_memory_thp(probe);
	return 0;
}
