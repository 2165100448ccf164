/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run: choose a node, bind this process to it, and become a command that runs from its copy. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../dbus/names.h"
#include "command.h"
#include "report.h"
#include "run-copies.h"
#include "run-nodes.h"
#include "text.h"

/* Ticks are 1 to 10 ms, so a CPU is told to a tenth; meminitctl(1) promises it. */
#define SAMPLE_NSEC 100000000L

/* The kernel's own limit; it reads one bit less than it is told. */
#define NODES_MAX 1024

/* What is run, and where. */
struct run {
	const struct client *client;
	const char *directory; /* of all copies */
	char *path;            /* as found */
	char *original;        /* without links */
	uint32_t node_id;
};

static int fail(const char *what, int error)
{
	fprintf(stderr, "meminitctl: run: %s (%s)\n", what, strerror(-error));
	return CLIENT_FAILED;
}

static int weigh(struct run_nodes *nodes)
{
	static struct run_load before, after;
	struct timespec left = { .tv_nsec = SAMPLE_NSEC };
	int r = run_load_read("", &before);

	if (r < 0)
		return r;
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
	r = run_load_read("", &after);
	if (r >= 0)
		run_nodes_weigh("", nodes, &before, &after);
	return r;
}

static int choose(struct run_nodes *nodes, const struct run_node **ret)
{
	/* One node needs no scales, and none is one that has no rival. */
	int r = nodes->nr_nodes > 1 ? weigh(nodes) : 0;

	if (r < 0)
		return fail("how busy the CPUs are cannot be read", r);
	*ret = run_nodes_choose(nodes);
	if (*ret)
		return 0;
	fprintf(stderr, "meminitctl: run: no node has both memory and CPUs for this process; see "
	                "cpuset(7)\n");
	return CLIENT_FAILED;
}

static int take_named(const struct run_nodes *nodes, uint32_t node_id, const struct run_node **ret)
{
	const struct run_node *node = run_nodes_find(nodes, node_id);
	const char *lacks;
	char name[TEXT_MAX];

	if (!node) {
		(void) snprintf(name, sizeof(name), "%" PRIu32, node_id);
		return report_no_such("node", name);
	}
	lacks = !node->has_memory   ? "it has no memory"
	        : !node->is_allowed ? "its memory is outside of the cpuset of this process"
	        : !node->nr_cpus    ? "there are no CPUs for this process near it"
	                            : NULL;
	if (!lacks) {
		*ret = node;
		return 0;
	}
	fprintf(stderr, "meminitctl: run: nothing can be bound to node %" PRIu32 ": %s\n", node_id,
	        lacks);
	return CLIENT_FAILED;
}

/* The memory that this process and the command get from now on. */
static int bind_memory(uint32_t node_id)
{
	enum { BITS = CHAR_BIT * sizeof(unsigned long) };
	unsigned long nodes[NODES_MAX / BITS] = { 0 };

	if (node_id >= NODES_MAX)
		return -EINVAL;
	nodes[node_id / BITS] = 1UL << node_id % BITS;
	/* This node, and not the first one of another cpuset into which it may be moved. */
	return syscall(SYS_set_mempolicy, MPOL_BIND | MPOL_F_STATIC_NODES, nodes,
	               (unsigned long) NODES_MAX + 1) < 0
	               ? -errno
	               : 0;
}

static int bind_here(const struct run_node *node)
{
	char what[96];
	int r = 0;

	if (sched_setaffinity(0, sizeof(node->cpus.sets), node->cpus.sets) < 0)
		r = -errno;
	(void) snprintf(what, sizeof(what), "the CPUs of node %" PRIu32 " are not to be had",
	                node->helper_node_id >= 0 ? (uint32_t) node->helper_node_id
	                                          : node->node_id);
	if (r < 0)
		return fail(what, r);
	r = bind_memory(node->node_id);
	(void) snprintf(what, sizeof(what), "memory cannot be bound to node %" PRIu32,
	                node->node_id);
	return r < 0 ? fail(what, r) : 0;
}

/* Choose the node and bind this process to it. Return: 0; the exit status. */
static int go(struct run *run)
{
	scoped(run_nodes_clear) struct run_nodes nodes = { 0 };
	const struct run_node *node = NULL;
	struct run_ids allowed = { 0 };
	int r, status;

	if (sched_getaffinity(0, sizeof(allowed.sets), allowed.sets) < 0)
		return fail("the CPUs of this process cannot be read", -errno);
	r = run_nodes_read("", &allowed, &nodes);
	if (r < 0)
		return fail("the nodes of this machine cannot be read", r);
	status = run->client->has_node ? take_named(&nodes, run->client->node_id, &node)
	                               : choose(&nodes, &node);
	if (status)
		return status;
	run->node_id = node->node_id;
	return bind_here(node);
}

static const char *why_no_copy(int error)
{
	switch (error) {
	case -ENOENT:
		return "none is there";
	case -ELOOP:
		return "linked to the original: meminitctl pools says why";
	case -ESTALE:
		return "it is of another version";
	case -EPERM:
		return "it would lose the rights that the original runs with";
	case -EACCES:
		return "it cannot be read and executed as the original can";
	case -EUSERS:
		return "the directory of copies is neither root's alone nor yours";
	default:
		return strerror(-error);
	}
}

static void say_original(const struct run *run, int error)
{
	scoped(freep) char *text = text_escape(run->original);

	if (!run->client->is_quiet)
		fprintf(stderr,
		        "meminitctl: run: no copy of %s on node %" PRIu32
		        " (%s); running the original there\n",
		        text ? text : "?", run->node_id, why_no_copy(error));
}

static void say_left(const struct run *run, size_t nr_left, int error)
{
	if (!run->client->is_quiet && nr_left)
		fprintf(stderr,
		        "meminitctl: run: %zu other %s of node %" PRIu32
		        " not used: no mount namespace (%s)\n",
		        nr_left, nr_left == 1 ? "copy" : "copies", run->node_id, strerror(-error));
}

/* Is what is called @path the very file that is called @copy? */
static bool is_same_file(const char *path, const char *copy)
{
	struct stat a, b;

	return stat(path, &a) == 0 && stat(copy, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/*
 * Put the node's copies into place and tell what to execute for the command: its own path where the
 * copy lies over it, else the copy's. Return: borrowed from run or *copy.
 */
static const char *take_copies(const struct run *run, char **copy)
{
	int found = run_copies_find(run->directory, run->node_id, run->original, copy), r = 0;
	size_t nr_current = run_copies_count(run->directory, run->node_id), nr_mounted = 0;

	/* Without anything to lay over another the command keeps the namespace that it is in. */
	if (nr_current)
		r = run_copies_mount(run->directory, run->node_id, &nr_mounted);
	if (r < 0)
		say_left(run, nr_current - (found == 0), r);
	if (found < 0) {
		say_original(run, found);
		return run->path;
	}
	return is_same_file(run->original, *copy) ? run->path : *copy;
}

static int become(const struct run *run, char **command)
{
	scoped(freep) char *copy = NULL;
	const char *path = take_copies(run, &copy);
	char node[TEXT_MAX];

	(void) snprintf(node, sizeof(node), "%" PRIu32, run->node_id);
	if (setenv("NODEINIT_NODE", node, 1) < 0)
		return report_no_memory();
	/* With a slash in it nothing is searched for; a script without "#!" is the shell's. */
	(void) execvp(path, command);
	return command_refuse("run", command[0], errno);
}

static const char *copies_directory(void)
{
	const char *chosen = secure_getenv("NODEINIT_REPLICA_DIRECTORY");

	return chosen && *chosen ? chosen : NODEINIT_REPLICA_DIRECTORY;
}

int verb_run(const struct client *client, char **operands)
{
	struct run run = { .client = client, .directory = copies_directory() };
	int r, status;

	if (client->host || client->machine) {
		fprintf(stderr, "meminitctl: run: commands run on this host; run meminitctl run "
		                "on the other one\n");
		return CLIENT_USAGE;
	}
	r = command_find(operands[0], &run.path);
	if (r < 0)
		return command_refuse("run", operands[0], -r);
	run.original = realpath(run.path, NULL);
	status = run.original ? go(&run) : command_refuse("run", operands[0], errno);
	if (!status)
		status = become(&run, operands);
	free(run.original);
	free(run.path);
	return status;
}
