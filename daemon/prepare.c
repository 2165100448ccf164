/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/scoped.h"
#include "config/config.h"
#include "machine/machine.h"
#include "machine/memory-block.h"
#include "prepare-mounts.h"
#include "prepare.h"
#include "run-directory.h"

#define SERVICE_NAME "nodeinit" /* of the user and of the group */
#define RECORD       "blocks"   /* machine/block-record.h */

enum { PREPARE_DONE = 0, PREPARE_FAILED = 1, PREPARE_NOTHING = 2 };

static int complain(const char *what, int error)
{
	log_error("%s: %s", what, strerror(-error));
	return PREPARE_NOTHING;
}

/*
 * Whether it has memory does not matter: it may get some, and of a node that is just being added
 * the memory is seen last.
 */
static bool is_wanted(const struct pool_config *pool, const struct machine_node *node)
{
	switch (pool->nodes) {
	case POOL_NODES_ALL:
		return true;
	case POOL_NODES_CPU:
		return !idset_is_empty(&node->cpus);
	case POOL_NODES_LIST:
		return idset_has(&pool->node_list, node->node_id);
	}
	return false;
}

/* Return: 0 and the machine's nodes that pools of @kind name; -ENOMEM. */
static int wanted_nodes(const struct config *config, const struct machine *machine,
                        enum pool_kind kind, struct idset *ret)
{
	for (size_t i = 0; i < config->nr_pools; i++) {
		if (config->pools[i].kind != kind)
			continue;
		for (size_t k = 0; k < machine->nr_nodes; k++) {
			int r = 0;

			if (is_wanted(&config->pools[i], &machine->nodes[k]))
				r = idset_add(ret, machine->nodes[k].node_id);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* Of what failed for many blocks, the first is named. */
struct block_faults {
	uint64_t nr_failed;
	uint64_t first_block;
	int first_error;
};

static void give_block(const struct prepare_setup *setup, uint64_t block,
                       struct block_faults *faults)
{
	const mode_t mode = 0664;
	char path[PATH_MAX];
	struct stat status;

	(void) snprintf(path, sizeof(path), "%s" MEMORY_DIR "/memory%" PRIu64 "/state", setup->root,
	                block);
	if (stat(path, &status) == 0) {
		if (status.st_gid == setup->gid && (status.st_mode & 07777) == mode)
			return;
		/* The kernel's own file system: nobody but the kernel puts anything there. */
		if (chown(path, (uid_t) -1, setup->gid) == 0 && chmod(path, mode) == 0)
			return;
	}
	if (errno == ENOENT) /* unplugged */
		return;
	if (faults->nr_failed++ == 0) {
		faults->first_block = block;
		faults->first_error = -errno;
	}
}

/* Return: how many things failed. */
static unsigned give_blocks(const struct prepare_setup *setup, const struct machine *machine,
                            const struct idset *nodes)
{
	struct block_faults faults = { 0 };

	for (size_t i = 0; i < machine->nr_nodes; i++) {
		const struct machine_node *node = &machine->nodes[i];

		if (!idset_has(nodes, node->node_id))
			continue;
		for (size_t k = 0; k < node->nr_candidates; k++)
			if (!node->candidates[k].is_online)
				give_block(setup, node->candidates[k].block, &faults);
	}
	if (faults.nr_failed == 0)
		return 0;
	log_error("memory%" PRIu64 ", one of %" PRIu64
	          " blocks: its state cannot be given to the group of the service: %s",
	          faults.first_block, faults.nr_failed, strerror(-faults.first_error));
	return 1;
}

static bool has_kind(const struct config *config, enum pool_kind kind)
{
	for (size_t i = 0; i < config->nr_pools; i++)
		if (config->pools[i].kind == kind)
			return true;
	return false;
}

/*
 * For the rule of udev. Whatever lies there by that name is as good as the file, and stays. Return:
 * how many things failed.
 */
static unsigned mark(const struct prepare_setup *setup, int base_fd, const struct config *config)
{
	scoped(fd_closep) int fd = -1;

	if (!has_kind(config, POOL_BLOCK)) {
		if (!config->is_anything_refused)
			(void) unlinkat(base_fd, PREPARE_WANTS_BLOCKS, 0);
		return 0;
	}
	fd = openat(base_fd, PREPARE_WANTS_BLOCKS,
	            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd >= 0 || errno == EEXIST)
		return 0;
	log_error("%s/" PREPARE_WANTS_BLOCKS " cannot be made, late memory will not be brought "
	          "online: %s",
	          setup->base, strerror(errno));
	return 1;
}

/*
 * In a sticky directory the record of blocks can be replaced by its owner only. Root's own is one
 * that root's daemon made, started by hand. Return: how many things failed.
 */
static unsigned give_record(const struct prepare_setup *setup, int base_fd)
{
	scoped(fd_closep) int fd = openat(base_fd, RECORD, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return 0;
	/* a file with another name may be anything of root's */
	if (!S_ISREG(status.st_mode) || status.st_uid != 0 || status.st_nlink != 1 ||
	    fchownat(fd, "", setup->uid, setup->gid, AT_EMPTY_PATH) == 0)
		return 0;
	log_error("%s/" RECORD " cannot be given to the service: %s", setup->base, strerror(errno));
	return 1;
}

/*
 * Root's and sticky: the service's group makes its own things there and moves nobody else's. One
 * that belongs to the service's user, as an earlier version had it, becomes so, and so does one
 * that root made by hand; another user's is left as it is. Return: it, made if need be, and in
 * *ret_nr_failed how many things failed in it; -errno.
 */
static int base_open(const struct prepare_setup *setup, unsigned *ret_nr_failed)
{
	scoped(fd_closep) int fd = -1;
	const mode_t mode = 01775;
	struct stat status;

	*ret_nr_failed = 0;
	if (mkdir(setup->base, 0755) < 0 && errno != EEXIST)
		return -errno;
	fd = open(setup->base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	if (status.st_uid != 0 && status.st_uid != setup->uid)
		return take_fd(fd);
	if ((status.st_uid != 0 || status.st_gid != setup->gid) && fchown(fd, 0, setup->gid) < 0)
		return -errno;
	if ((status.st_mode & 07777) != mode && fchmod(fd, mode) < 0)
		return -errno;
	*ret_nr_failed = give_record(setup, fd);
	return take_fd(fd);
}

int prepare(const struct prepare_setup *setup)
{
	scoped(kernel_closep) struct kernel *kernel = NULL;
	scoped(machine_freep) struct machine *machine = NULL;
	scoped(config_freep) struct config *config = NULL;
	scoped(idset_clear) struct idset for_copies = { 0 }, for_blocks = { 0 };
	scoped(fd_closep) int base_fd = -1;
	struct prepare_mounts mounts;
	unsigned nr_failed;
	int r;

	r = config_load(setup->config_directory, "", &config);
	if (r < 0)
		return complain(setup->config_directory ? setup->config_directory : "configuration",
		                r);
	base_fd = base_open(setup, &nr_failed);
	if (base_fd < 0)
		return complain(setup->base, base_fd);
	/* before the look at the machine: what appears from here on is the rule's */
	nr_failed += mark(setup, base_fd, config);

	r = kernel_open(setup->root, &kernel);
	if (r == 0)
		r = machine_probe(kernel, &machine);
	if (r == 0)
		r = wanted_nodes(config, machine, POOL_REPLICA, &for_copies);
	if (r == 0)
		r = wanted_nodes(config, machine, POOL_BLOCK, &for_blocks);
	if (r < 0)
		return complain("cannot look at this machine", r);

	nr_failed += give_blocks(setup, machine, &for_blocks);
	mounts = (struct prepare_mounts){
		.base_fd = base_fd,
		.base = setup->base,
		.nodes = &for_copies,
		/* a daemon at work would go on writing to what nobody sees any more */
		.may_remove = !config->is_anything_refused && !run_directory_is_held(base_fd),
		.uid = setup->uid,
		.gid = setup->gid,
	};
	nr_failed += prepare_mounts(&mounts);
	return nr_failed ? PREPARE_FAILED : PREPARE_DONE;
}

int prepare_command(const struct options *options)
{
	const struct passwd *user = getpwnam(SERVICE_NAME);
	const struct group *group = getgrnam(SERVICE_NAME);
	const struct prepare_setup setup = {
		.config_directory = options->config_directory,
		.root = "",
		.base = run_directory(),
		.uid = user ? user->pw_uid : 0,
		.gid = group ? group->gr_gid : 0,
	};

	/*
	 * To standard error, also where that is the journal: of a process that has ended by the
	 * time its message is read, the journal does not know the unit.
	 */
	(void) umask(022); /* what it makes is for everybody to look at */
	return prepare(&setup);
}
