/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * manager.h - owns everything and decides readiness
 *
 * Layer: top. Threads: main. Loads the configuration, plans, starts the workers, looks at them
 * when the bell rings, tells the bus, the service manager and the log, and answers what clients
 * ask for.
 */
#pragma once

#include <ev.h>

#include "base/scoped.h"
#include "kinds/memory.h"
#include "lease/store.h"
#include "machine/kernel.h"

struct manager;

struct manager_setup {
	struct ev_loop *loop;            /* borrowed */
	struct kernel *kernel;           /* borrowed */
	const struct memory_ops *memory; /* borrowed, static */
	const char *config_directory;    /* NULL: the search path; borrowed */
	const char *bus_address;         /* system, session, or an address; borrowed */
	/* Where the record of memory blocks and the copies of files are; NULL: nowhere; borrowed */
	const char *run_directory;
	/*
	 * Descriptors that outlive the process: how to keep them (NULL: nowhere), and what an
	 * earlier process left. The names are borrowed, the descriptors are the manager's.
	 */
	const struct store_ops *store;
	const int *inherited_fds;
	const char *const *inherited_names;
	size_t nr_inherited;
};

/*
 * Load, probe, plan. Starts nothing. Bad files are said in the log and go on.
 * Return: 0 and *ret, which the caller owns; -errno, said in the log.
 */
int manager_new(const struct manager_setup *setup, struct manager **ret);

/* Connect to the bus and start the workers. Return: 0; -errno, said in the log. */
int manager_start(struct manager *manager);

/*
 * Read the configuration again and apply what changed. What is refused keeps its former version.
 * Return: 0; -EBADMSG something was refused (the rest is applied), and *ret_sentence says what
 * (the caller frees; may be NULL); -errno nothing was applied.
 */
int manager_reload(struct manager *manager, char **ret_sentence);

/*
 * Leave the loop, once it is known whether the service is to be started again: then its memory is
 * left in the store, and not given back by manager_free(). Takes a second at most; called again, it
 * does not wait for that.
 */
void manager_end(struct manager *manager);

/* Whether it ended the loop because it cannot go on (the name is taken). */
bool manager_has_failed(const struct manager *manager);

/*
 * End all work (at most one chunk), say so, give everything back but what is leased. Where
 * the service is to be started again, ready regions are left to the next process, too. NULL is
 * fine.
 */
struct manager *manager_free(struct manager *manager);
DEFINE_SCOPED(struct manager *, manager_free)
