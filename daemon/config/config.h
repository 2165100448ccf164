/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * config.h - what the operator declared: nodeinitd.conf and the pool files
 *
 * Layer: config. Threads: main; a loaded configuration is not changed any more.
 *
 *     nodeinitd.conf, nodeinitd.conf.d/NAME.conf        [Daemon]
 *     pools.d/NAME.pool, pools.d/NAME.pool.d/NAME.conf  [Pool] and the section of its kind
 *
 * Searched in /etc, /run, /usr/local/lib, /usr/lib (each + "/nodeinit"); of files with the same
 * name the first place wins; an empty file or a link to /dev/null masks. Drop-ins of all places
 * apply in order of their file name. As in systemd.syntax(7): later assignments replace earlier
 * ones (those of the lists Users= and Groups= add up), an empty one goes back to the default. What
 * is replaced is not judged.
 *
 * What is wrong in a file is a *note* with "file:line: " in front. An unknown key is a warning.
 * A bad value refuses the pool it stands in; in nodeinitd.conf the setting keeps its default, and
 * the file counts as refused. All other files go on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/idset.h"
#include "../base/scoped.h"
#include "../base/size.h"
#include "originals.h"

#define CONFIG_POOLS_MAX      256
#define CONFIG_NODE_IDS_MAX   1024 /* no Linux has more nodes: CONFIG_NODES_SHIFT is at most 10 */
#define CONFIG_FILE_BYTES_MAX (1024 * 1024)
#define CONFIG_LINE_BYTES_MAX 4096

enum pool_kind { POOL_BLOCK, POOL_HUGETLB, POOL_REGION, POOL_REPLICA }; /* in run order on a node */

/* "block", "hugetlb", "region", "replica". Static. */
const char *pool_kind_text(enum pool_kind kind);

enum pool_nodes {
	POOL_NODES_ALL, /* every node with memory */
	POOL_NODES_CPU, /* every node with memory and CPUs */
	POOL_NODES_LIST,
};

enum pool_page {
	POOL_PAGE_BASE, /* the base page */
	POOL_PAGE_THP,  /* transparent huge pages */
	POOL_PAGE_HUGE, /* the default huge page size */
	POOL_PAGE_SIZE, /* page_bytes names a huge page size (or the base page) */
};

/* An amount for all nodes and some for single nodes (Size=, Size@3=). */
struct node_amount {
	bool is_set; /* for all nodes */
	struct amount amount;
	struct node_amount_override {
		unsigned node_id;
		struct amount amount;
	} * overrides; /* ascending node_id */
	size_t nr_overrides;
};

/* The amount for @node_id: its override, or the common one. Return: false when there is none. */
bool node_amount_get(const struct node_amount *amount, unsigned node_id, struct amount *ret);

enum pool_zone {
	POOL_ZONE_AUTO, /* the kernel's choice */
	POOL_ZONE_KERNEL,
	POOL_ZONE_MOVABLE,
};

enum pool_early { POOL_EARLY_AUTO, POOL_EARLY_NONE, POOL_EARLY_ALL, POOL_EARLY_AMOUNT };

struct pool_config {
	char *name;   /* NAME of NAME.pool: letters, digits, "-", "_", ".", at most 63 characters */
	char *source; /* path of the pool file */
	enum pool_kind kind;

	enum pool_nodes nodes;
	struct idset node_list; /* POOL_NODES_LIST */

	enum pool_page page;
	uint64_t page_bytes; /* POOL_PAGE_SIZE */

	/*
	 * Kind block: of the node's offline memory, unset: 100 %. Kind replica: at most so much,
	 * unset: all that Paths= names; minimum unset: 0, as a link to the original takes the place
	 * of what is missing.
	 */
	struct node_amount size;
	struct node_amount minimum; /* unset: as size */
	bool is_required;           /* default yes */

	enum pool_early early;
	struct amount early_amount; /* POOL_EARLY_AMOUNT */

	bool may_shrink; /* Shrink=yes, hugetlb: lower to max(target, in use). Default no */
	bool is_locked;  /* Lock=yes, region of base or thp pages: never swapped. Default no */

	uint64_t region_bytes; /* RegionSize=; 0: 1 GiB, or the whole share where that is smaller */
	char **users;          /* Users=, NULL terminated, or NULL */
	char **groups;

	enum pool_zone zone; /* Zone=, kind block */

	/* Paths=, kind replica: at least one; and what they name, once config_find_originals() has
	 * looked. */
	struct original_pattern *paths;
	size_t nr_paths;
	struct originals originals;
};

struct daemon_config {
	struct amount reserve;        /* Reserve=, bytes or % of each node; default 5 % */
	bool is_reserve_set;          /* unset: at least 256 MiB */
	uint64_t early_minimum_bytes; /* EarlyMinimum=2G */
	unsigned early_shift;         /* EarlyShift=8, 0..63 */

	/* Threads=auto | N | %: crew members of one node, the worker included. */
	enum { THREADS_AUTO, THREADS_NUMBER, THREADS_PERCENT } threads_unit;
	unsigned threads; /* number, or percent of the worker's CPUs */

	unsigned brake_pressure_percent; /* BrakePressure=, 0: never; default 20 */
	uint64_t max_rate_bytes;         /* MaxRate=, per node and second; 0: no limit */
	unsigned nr_retries; /* Retry=, attempts after a step that brought nothing; default 4 */
	uint64_t stall_timeout_usec;  /* StallTimeout=, default 10 min, UINT64_MAX: never */
	uint64_t settle_timeout_usec; /* SettleTimeout=, default 10 s */
	unsigned max_leases;          /* MaxLeases= per uid, default 64 */
	struct amount max_bytes;      /* MaxBytes= per uid, bytes or % of all; default 100 % */
	int log_level;                /* enum log_level; default info */
};

enum config_severity {
	CONFIG_WARNING, /* goes on: an unknown key, a name that fits no pool */
	CONFIG_REFUSED, /* this file (its pool, or its setting) is not used */
};

struct config_note {
	enum config_severity severity;
	char *text; /* "file:line: sentence"; "file: sentence" where no line is to blame */
	char *pool; /* the pool refused, or NULL */
};

struct config {
	struct daemon_config daemon;
	struct pool_config *pools; /* by name */
	size_t nr_pools;
	struct config_note *notes;
	size_t nr_notes;          /* bounded; the last one says how many more there were */
	bool is_anything_refused; /* any note is CONFIG_REFUSED */
	bool is_daemon_refused;   /* one of nodeinitd.conf or its drop-ins is */
	bool is_pools_unread;     /* a pools.d could not be read: what it declares is not known */
	char **refused_pools;     /* names, ascending; complete even where notes were left out */
	size_t nr_refused_pools;
};

/* The defaults, with nothing declared. */
void daemon_config_init(struct daemon_config *ret);

/*
 * Load from @directory (holding nodeinitd.conf and pools.d/), or from the search path when it is
 * NULL. @search_root is put in front of each place of the search path ("" in the daemon; a test's
 * own directory in tests).
 *
 * Return: 0 and *ret (bad files are notes); -ENOENT, -ENOTDIR, -EACCES, -ELOOP: @directory was
 * given and cannot be read; -ENOMEM. Reads regular files only and does not wait for any.
 */
int config_load(const char *directory, const char *search_root, struct config **ret);

/*
 * Look (again) which files the pools of kind replica name, below @root ("" for this machine).
 * What was found before is replaced. Return: 0; -ENOMEM, and what is left is what was there.
 */
int config_find_originals(struct config *config, const char *root);

/* NULL is fine. Return: NULL. */
struct config *config_free(struct config *config);
DEFINE_SCOPED(struct config *, config_free)

/* Return: the pool, or NULL. Borrowed. */
const struct pool_config *config_pool(const struct config *config, const char *name);

/* Return: true when a file of that pool was refused (so an old version of it should be kept). */
bool config_is_pool_refused(const struct config *config, const char *name);
