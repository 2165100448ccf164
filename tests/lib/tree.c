/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "tree.h"

#define PATH_BYTES 1024
#define NODES_DIR  "/sys/devices/system/node"
#define BLOCKS_DIR "/sys/devices/system/memory"
#define CGROUP     "/system.slice/nodeinitd.service"

/* 131 072 blocks with files of their own take minutes; blocks in the same state share them. */
#define ONLINE_BLOCK "/online-block"

static void make_parents(const char *path)
{
	char parent[PATH_BYTES];

	snprintf(parent, sizeof(parent), "%s", path);
	*strrchr(parent, '/') = '\0';
	if (mkdir(parent, 0755) == 0 || errno == EEXIST)
		return;
	ck_assert_msg(errno == ENOENT, "cannot make %s: %s", parent, strerror(errno));
	make_parents(parent);
	make_parents(path);
}

static void write_path(const char *path, const char *text)
{
	scoped(file_closep) FILE *file = fopen(path, "we");

	if (!file) {
		make_parents(path);
		file = fopen(path, "we");
	}
	ck_assert_msg(file && fputs(text, file) >= 0, "cannot write %s", path);
}

void tree_write(struct tree *tree, const char *text, const char *format, ...)
{
	char path[PATH_BYTES];
	int length = snprintf(path, sizeof(path), "%s", tree->root);
	va_list args;

	va_start(args, format);
	vsnprintf(path + length, sizeof(path) - (size_t) length, format, args);
	va_end(args);
	write_path(path, text);
}

void tree_remove(struct tree *tree, const char *format, ...)
{
	char path[PATH_BYTES];
	int length = snprintf(path, sizeof(path), "%s", tree->root);
	va_list args;

	va_start(args, format);
	vsnprintf(path + length, sizeof(path) - (size_t) length, format, args);
	va_end(args);
	ck_assert_msg(unlink(path) == 0, "cannot remove %s: %s", path, strerror(errno));
}

/* Collect "0,8,252-255" of the nodes that @wanted takes. The caller frees. */
static char *node_list(const struct tree_machine *machine, bool (*wanted)(const struct tree_node *))
{
	char *text = NULL;
	size_t text_length;
	FILE *file = open_memstream(&text, &text_length);
	const char *comma = "";

	for (size_t i = 0; i < machine->nr_nodes; i++) {
		size_t first = i;

		if (!wanted(&machine->nodes[i]))
			continue;
		while (i + 1 < machine->nr_nodes && wanted(&machine->nodes[i + 1]) &&
		       machine->nodes[i + 1].node_id == machine->nodes[i].node_id + 1)
			i++;
		fprintf(file, "%s%u", comma, machine->nodes[first].node_id);
		if (i > first)
			fprintf(file, "-%u", machine->nodes[i].node_id);
		comma = ",";
	}
	fputs("\n", file);
	fclose(file);
	return text;
}

static bool any_node(const struct tree_node *node)
{
	(void) node;
	return true;
}

static bool has_cpus(const struct tree_node *node)
{
	return node->nr_cpus > 0;
}

static bool has_memory(const struct tree_node *node)
{
	return node->memory_bytes > 0;
}

static void write_node_lists(struct tree *tree)
{
	static const struct {
		const char *name;
		bool (*wanted)(const struct tree_node *);
	} lists[] = { { "online", any_node },
		      { "possible", any_node },
		      { "has_cpu", has_cpus },
		      { "has_memory", has_memory },
		      { "has_normal_memory", has_memory } };

	for (size_t i = 0; i < ELEMENTS(lists); i++) {
		scoped(freep) char *text = node_list(&tree->machine, lists[i].wanted);

		tree_write(tree, text, NODES_DIR "/%s", lists[i].name);
	}
}

static void cpu_range(unsigned first, unsigned nr_cpus, char *text, size_t text_bytes)
{
	if (nr_cpus == 0)
		snprintf(text, text_bytes, "\n");
	else if (nr_cpus == 1)
		snprintf(text, text_bytes, "%u\n", first);
	else
		snprintf(text, text_bytes, "%u-%u\n", first, first + nr_cpus - 1);
}

static unsigned count_cpus(const struct tree_machine *machine)
{
	const struct tree_node *last = &machine->nodes[machine->nr_nodes - 1];

	return last->first_cpu + last->nr_cpus;
}

static void write_distances(struct tree *tree, const struct tree_node *node)
{
	char text[TREE_NODES_MAX * 4 + 1];
	size_t length = 0;

	for (size_t i = 0; i < tree->machine.nr_nodes; i++)
		length += (size_t) snprintf(text + length, sizeof(text) - length, "%s%u",
		                            i ? " " : "", node->distances[i]);
	snprintf(text + length, sizeof(text) - length, "\n");
	tree_write(tree, text, NODES_DIR "/node%u/distance", node->node_id);
}

static void write_node_meminfo(struct tree *tree, const struct tree_node *node)
{
	static const struct {
		const char *key;
		bool is_all; /* else zero */
	} lines[] = { { "MemTotal", true },        { "MemFree", true },
		      { "MemUsed", false },        { "Active(file)", false },
		      { "Inactive(file)", false }, { "FilePages", false },
		      { "Shmem", false },          { "KReclaimable", false },
		      { "SReclaimable", false } };
	char text[1024];
	size_t length = 0;

	for (size_t i = 0; i < ELEMENTS(lines); i++)
		length += (size_t) snprintf(
			text + length, sizeof(text) - length, "Node %u %s: %15" PRIu64 " kB\n",
			node->node_id, lines[i].key, lines[i].is_all ? node->shown_bytes / KIB : 0);
	tree_write(tree, text, NODES_DIR "/node%u/meminfo", node->node_id);
}

static void write_hugepages(struct tree *tree, const char *directory, uint64_t page_bytes,
                            uint64_t nr_pages)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 "\n", nr_pages);
	tree_write(tree, text, "%s/hugepages/hugepages-%" PRIu64 "kB/nr_hugepages", directory,
	           page_bytes / KIB);
	tree_write(tree, text, "%s/hugepages/hugepages-%" PRIu64 "kB/free_hugepages", directory,
	           page_bytes / KIB);
	tree_write(tree, "0\n", "%s/hugepages/hugepages-%" PRIu64 "kB/surplus_hugepages", directory,
	           page_bytes / KIB);
}

void tree_set_hugepages(struct tree *tree, unsigned node_id, uint64_t page_bytes, uint64_t nr_pages)
{
	char directory[64];

	snprintf(directory, sizeof(directory), NODES_DIR "/node%u", node_id);
	write_hugepages(tree, directory, page_bytes, nr_pages);
}

static int open_directory(const struct tree *tree, const char *directory)
{
	char path[PATH_BYTES];
	int fd;

	snprintf(path, sizeof(path), "%s%s", tree->root, directory);
	fd = open(path, O_DIRECTORY | O_PATH | O_CLOEXEC);
	ck_assert_msg(fd >= 0, "cannot open %s: %s", path, strerror(errno));
	return fd;
}

/* A hole lies in the middle of the node: half of its blocks are before it. */
static void link_blocks(struct tree *tree, const struct tree_node *node)
{
	uint64_t nr_blocks = node->memory_bytes / tree->machine.block_bytes;
	uint64_t nr_hole = node->spanned_bytes / tree->machine.block_bytes - nr_blocks;
	char node_directory[64];
	scoped(fd_closep) int memory_fd = open_directory(tree, BLOCKS_DIR);
	scoped(fd_closep) int node_fd = -1;
	char name[32];
	char target[64];

	snprintf(node_directory, sizeof(node_directory), NODES_DIR "/node%u", node->node_id);
	node_fd = open_directory(tree, node_directory);
	for (uint64_t i = 0; i < nr_blocks; i++) {
		uint64_t block = node->first_block + i + (i < nr_blocks / 2 ? 0 : nr_hole);

		snprintf(name, sizeof(name), "memory%" PRIu64, block);
		snprintf(target, sizeof(target), "../../memory/%s", name);
		ck_assert_int_eq(symlinkat("../../../.." ONLINE_BLOCK, memory_fd, name), 0);
		ck_assert_int_eq(symlinkat(target, node_fd, name), 0);
	}
}

/* A block that shares its files with others gets a directory of its own. */
static void own_block(struct tree *tree, uint64_t block)
{
	char path[PATH_BYTES];
	struct stat status;

	snprintf(path, sizeof(path), "%s" BLOCKS_DIR "/memory%" PRIu64, tree->root, block);
	ck_assert_msg(lstat(path, &status) == 0, "there is no block %" PRIu64, block);
	if (S_ISDIR(status.st_mode))
		return;
	ck_assert_msg(unlink(path) == 0, "cannot remove %s: %s", path, strerror(errno));
	tree_write(tree, "online\n", BLOCKS_DIR "/memory%" PRIu64 "/state", block);
	tree_write(tree, "Normal\n", BLOCKS_DIR "/memory%" PRIu64 "/valid_zones", block);
}

void tree_set_block_state(struct tree *tree, uint64_t block, const char *state)
{
	char path[PATH_BYTES], text[64];

	own_block(tree, block);
	snprintf(text, sizeof(text), "%s\n", state);
	tree_write(tree, text, BLOCKS_DIR "/memory%" PRIu64 "/state", block);
	/* It says that all is online; what is present else is not kept up. */
	snprintf(path, sizeof(path), "%s/proc/zoneinfo", tree->root);
	ck_assert(unlink(path) == 0 || errno == ENOENT);
	tree_set_block_zones(tree, block,
	                     strcmp(state, "online") == 0 ? "Normal" : "Normal Movable");
}

void tree_set_block_zones(struct tree *tree, uint64_t block, const char *zones)
{
	char text[64];

	own_block(tree, block);
	snprintf(text, sizeof(text), "%s\n", zones);
	tree_write(tree, text, BLOCKS_DIR "/memory%" PRIu64 "/valid_zones", block);
}

static void write_node(struct tree *tree, const struct tree_node *node)
{
	char text[64];

	cpu_range(node->first_cpu, node->nr_cpus, text, sizeof(text));
	tree_write(tree, text, NODES_DIR "/node%u/cpulist", node->node_id);
	tree_write(tree, "", NODES_DIR "/node%u/compact", node->node_id);
	write_distances(tree, node);
	write_node_meminfo(tree, node);
	for (size_t i = 0; i < tree->machine.nr_huge_sizes; i++)
		tree_set_hugepages(tree, node->node_id, tree->machine.huge_bytes[i], 0);
	link_blocks(tree, node);
}

static void write_memory(struct tree *tree)
{
	const struct tree_machine *machine = &tree->machine;
	char text[64];

	snprintf(text, sizeof(text), "%" PRIx64 "\n", machine->block_bytes);
	tree_write(tree, text, BLOCKS_DIR "/block_size_bytes");
	tree_write(tree, "online\n", ONLINE_BLOCK "/state");
	tree_write(tree, "Normal\n", ONLINE_BLOCK "/valid_zones");
	for (size_t i = 0; i < machine->nr_huge_sizes; i++)
		write_hugepages(tree, "/sys/kernel/mm", machine->huge_bytes[i], 0);
	if (machine->nr_huge_sizes) {
		snprintf(text, sizeof(text), "%" PRIu64 "\n", machine->huge_bytes[0]);
		tree_write(tree, text, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
		tree_write(tree, "always [madvise] never\n",
		           "/sys/kernel/mm/transparent_hugepage/enabled");
		tree_write(tree, "always within_size [advise] never deny force\n",
		           "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
	}
}

void tree_set_swap(struct tree *tree, uint64_t swap_bytes)
{
	char text[256];

	snprintf(text, sizeof(text), "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
	if (swap_bytes)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		         "/dev/vda2                               partition\t%" PRIu64
		         "\t\t0\t\t-2\n",
		         swap_bytes / KIB);
	tree_write(tree, text, "/proc/swaps");
}

void tree_set_cgroup(struct tree *tree, uint64_t limit_bytes, uint64_t current_bytes)
{
	char text[64];

	if (limit_bytes == UINT64_MAX)
		snprintf(text, sizeof(text), "max\n");
	else
		snprintf(text, sizeof(text), "%" PRIu64 "\n", limit_bytes);
	tree_write(tree, text, "/sys/fs/cgroup" CGROUP "/memory.max");
	snprintf(text, sizeof(text), "%" PRIu64 "\n", current_bytes);
	tree_write(tree, text, "/sys/fs/cgroup" CGROUP "/memory.current");
	tree_write(tree, "anon 0\nfile 0\ninactive_file 0\nactive_file 0\nslab_reclaimable 0\n",
	           "/sys/fs/cgroup" CGROUP "/memory.stat");
}

static void write_process(struct tree *tree)
{
	const struct tree_machine *machine = &tree->machine;
	scoped(freep) char *all_nodes = node_list(machine, any_node);
	char all_cpus[64];
	char text[1024];

	cpu_range(0, count_cpus(machine), all_cpus, sizeof(all_cpus));
	all_cpus[strcspn(all_cpus, "\n")] = '\0';
	all_nodes[strcspn(all_nodes, "\n")] = '\0';
	snprintf(text, sizeof(text),
	         "Name:\tnodeinitd\nCpus_allowed_list:\t%s\nMems_allowed_list:\t%s\n",
	         machine->allowed_cpus[0] ? machine->allowed_cpus : all_cpus,
	         machine->allowed_nodes[0] ? machine->allowed_nodes : all_nodes);
	tree_write(tree, text, "/proc/self/status");
	tree_write(tree, "0::" CGROUP "\n", "/proc/self/cgroup");
	snprintf(text, sizeof(text),
	         "55d0c0000000-55d0c0010000 r--p 00000000 fd:00 17 /usr/sbin/nodeinitd\n"
	         "Size: %17s kB\nKernelPageSize: %8" PRIu64 " kB\nMMUPageSize: %11" PRIu64 " kB\n",
	         "64", machine->page_bytes / KIB, machine->page_bytes / KIB);
	tree_write(tree, text, "/proc/self/smaps");
}

/* All blocks are online, and without holes. */
static void write_zones(struct tree *tree)
{
	const struct tree_machine *machine = &tree->machine;
	char *text = NULL;
	size_t text_length;
	FILE *file = open_memstream(&text, &text_length);

	ck_assert_ptr_nonnull(file);
	for (size_t i = 0; i < machine->nr_nodes; i++)
		fprintf(file,
		        "Node %u, zone   Normal\n        present  %" PRIu64
		        "\n        cma      0\n",
		        machine->nodes[i].node_id,
		        machine->nodes[i].memory_bytes / machine->page_bytes);
	fclose(file);
	tree_write(tree, text, "/proc/zoneinfo");
	free(text);
}

static void write_system(struct tree *tree)
{
	const struct tree_machine *machine = &tree->machine;
	uint64_t shown_bytes = 0;
	char text[1024];

	for (size_t i = 0; i < machine->nr_nodes; i++)
		shown_bytes += machine->nodes[i].shown_bytes;
	snprintf(text, sizeof(text),
	         "MemTotal: %15" PRIu64 " kB\nMemFree: %16" PRIu64 " kB\nMemAvailable: %11" PRIu64
	         " kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
	         shown_bytes / KIB, shown_bytes / KIB, shown_bytes / KIB);
	if (machine->nr_huge_sizes)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		         "HugePages_Total: 0\nHugePages_Free: 0\nHugepagesize: %11" PRIu64 " kB\n",
		         machine->huge_bytes[0] / KIB);
	tree_write(tree, text, "/proc/meminfo");
	cpu_range(0, count_cpus(machine), text, sizeof(text));
	tree_write(tree, text, "/sys/devices/system/cpu/online");
	tree_write(tree, text, "/sys/devices/system/cpu/present");
	tree_write(tree, text, "/sys/devices/system/cpu/possible");
	tree_write(tree, "cpuset cpu io memory hugetlb pids\n",
	           "/sys/fs/cgroup/cgroup.controllers");
	write_zones(tree);
	tree_set_swap(tree, 0);
	tree_set_cgroup(tree, UINT64_MAX, 0);
}

struct tree *tree_new_of(const struct tree_machine *machine)
{
	struct tree *tree = calloc(1, sizeof(*tree));
	const char *temporary = getenv("TMPDIR");

	ck_assert_ptr_nonnull(tree);
	tree->machine = *machine;
	snprintf(tree->root, sizeof(tree->root), "%s/nodeinit-tree.XXXXXX",
	         temporary ? temporary : "/tmp");
	ck_assert_msg(mkdtemp(tree->root) != NULL, "cannot make %s: %s", tree->root,
	              strerror(errno));
	write_memory(tree);
	write_node_lists(tree);
	for (size_t i = 0; i < tree->machine.nr_nodes; i++)
		write_node(tree, &tree->machine.nodes[i]);
	write_system(tree);
	write_process(tree);
	return tree;
}

struct tree *tree_new(const char *name)
{
	struct tree_machine machine;

	tree_machine_read(name, &machine);
	return tree_new_of(&machine);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void) status;
	(void) type;
	(void) walk;
	return remove(path);
}

struct tree *tree_free(struct tree *tree)
{
	if (!tree)
		return NULL;
	nftw(tree->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	tree_machine_clear(&tree->machine);
	free(tree);
	return NULL;
}
