/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * manager-state.h - the manager's own state, for the files that make it up: manager.c (life),
 * look.c (what the bell starts), show.c (bus and status line), report.c (log), reload.c, leases.c
 *
 * Layer: top. Threads: main; is_bell_rung and the bell's ev_async_send() are all that other threads
 * touch.
 */
#pragma once

#include <ev.h>
#include <stdatomic.h>

#include "base/log.h"
#include "bus/service.h"
#include "config/config.h"
#include "engine/completion.h"
#include "inventory.h"
#include "leases.h"
#include "machine/machine.h"
#include "manager.h"
#include "notify.h"
#include "originals-watch.h"
#include "uevents.h"

struct manager {
	struct manager_setup setup;
	struct ev_async bell;
	atomic_bool is_bell_rung; /* the next look is on its way, and begins by clearing this */
	ev_timer silence;         /* the service manager does not say whether this is a restart */
	ev_timer look;            /* one shot: the next look at the workers while they work */

	struct config *config;
	struct machine *machine;
	struct kind_context context;
	struct inventory inventory;
	struct completion completion;
	struct brake_host brake_host;
	struct bus_service *bus;
	struct notify notify;
	struct leases leases;

	struct uevents *uevents; /* NULL: none can be heard */
	struct originals_watch *originals;
	ev_timer rescan;       /* one shot: the machine or the originals are looked at again */
	bool has_memory_come;  /* blocks or nodes came, or others had them come online: as below */
	bool has_memory_left;  /* blocks went offline, and shares do not know it yet */
	bool is_record_failed; /* the last attempt to save the record; said in the log */
	bool is_watch_failed;  /* the last attempt to watch all originals; said in the log */

	bool is_started;
	bool is_name_owned;
	bool was_name_owned; /* at least once */
	bool is_paused;
	bool is_ranked_behind; /* all that works is background work, and the session ranks so */
	bool is_rank_due;      /* the kernel was not ready for another rank */
	bool is_rank_failed;   /* said in the log */
	bool has_failed;
	bool is_ending;
	bool keeps_memory;
	bool is_cpuset_restricted; /* some node is outside Mems_allowed */
	char **plan_warnings; /* what the last plan said, so that a Reload says only what is new */
	size_t nr_plan_warnings;
	bool were_pools_read;    /* at least once; until then nobody knows what is declared */
	size_t nr_refused_pools; /* declared in files that cannot be used, with no former version */
	char *refused_text;      /* what is wrong with the first of them */

	uint64_t looked_usec;    /* monotonic: the beginning of the last look */
	uint64_t look_cost_usec; /* how long it took */
	uint64_t sampled_usec;   /* monotonic: the last sample for the rates */
	uint64_t status_usec;
	uint64_t armed_usec; /* monotonic; when the work of this generation began */
	uint64_t started_monotonic_usec, early_monotonic_usec, ready_monotonic_usec;
	uint64_t started_realtime_usec, early_realtime_usec, ready_realtime_usec;
	bool is_ready; /* the completion has fired, and nothing required has failed */
};

/*
 * Looks are at least this far apart, by what the last one cost; the bus sees at most four changes a
 * second all the same.
 */
#define LOOK_PERIOD_MIN_USEC (1 * UINT64_C(1000))
#define LOOK_PERIOD_MAX_USEC (25 * UINT64_C(1000))
#define LOOK_COST_FACTOR     50
#define SAMPLE_PERIOD_USEC   (250 * UINT64_C(1000))
#define BACKOFF_USEC         (250 * UINT64_C(1000))

/*
 * What workers read of the configuration changes only while none works: at Reload, or when the
 * work that went on then is done.
 */
void manager_refresh_context(struct manager *manager);

/* What --config named, or words for the search path. */
const char *config_place(const struct manager *manager);

/* look.c: look at everything now, decide, tell; arms the next look while anything works. */
void manager_look(struct manager *manager);
/* The same, but not sooner than a period after the last one. */
void manager_look_soon(struct manager *manager);
void manager_bell_init(struct manager *manager);
/* Count what the completion has to wait for; shares that are settled do not count. */
void manager_arm(struct manager *manager);
/* A share leaves: the completion does not wait for it any more. */
void manager_disarm(struct manager *manager, struct managed_share *share);

/* "idle", or the worst state of what is required; "failed" where a declared pool was refused. */
const char *manager_state_text(const struct manager *manager);

/* show.c */
void manager_show(struct manager *manager);
void manager_show_status(struct manager *manager);
int manager_timeline(void *arg, struct timeline_entry **ret, size_t *ret_nr);

/* report.c: one line per event. */
void report_share(const struct managed_pool *pool, struct managed_share *share);
void report_completion(const struct manager *manager);
void report_notes(const struct config *config);
/* What the plan says that the last one did not; takes its warnings over. */
void report_plan(struct manager *manager, struct plan *plan, size_t nr_notes);
/* Nodes that work on other nodes' CPUs, once each. */
void report_helpers(struct manager *manager);
/* Nodes whose work is done: one line each, as the kernel has for its own. */
void report_nodes(struct manager *manager);
/* Of nodes whose memory blocks have settled: every block is accounted for. */
void report_walk(struct manager *manager);
/* An event that is not about one share; @message_id is one of messages.h. */
void report_event(enum log_level level, const char *message_id, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Something has become of a lease. */
void report_lease(const char *message_id, const struct lease *lease, const char *sentence);
/* What a pool lacks, for a D-Bus error. The caller frees; NULL when out of memory. */
char *report_pool_sentence(const struct managed_pool *pool);

/* reload.c: its object goes, too. */
void manager_node_leaves(unsigned node_id, void *arg);

/* reload.c: load, probe, plan and apply; at first and at every Reload. */
int manager_apply(struct manager *manager, struct config *config);
