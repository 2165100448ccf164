/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * view.h - what the bus shows: copies, made by the manager on the main thread
 *
 * Layer: bus. Threads: main. Get and PropertiesChanged read the same copy, so they cannot
 * disagree. Texts are copied when a view is handed over. The contract, member by member, is in
 * dbus/org.nodeinit1.*.xml.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct manager_view {
	const char *version;
	const char *state; /* idle, or a share state (state.h) */
	bool is_ready;
	bool is_paused;
	uint64_t generation;
	uint64_t total_bytes;
	uint64_t done_bytes;
	uint64_t short_bytes;
	uint64_t started_monotonic_usec, early_monotonic_usec,
		ready_monotonic_usec; /* 0: not yet */
	uint64_t started_realtime_usec, early_realtime_usec, ready_realtime_usec;
};

struct node_view {
	unsigned node_id;
	const char *cpus;   /* list format, where its worker runs */
	int helper_node_id; /* -1: none */
	uint64_t memory_bytes;
	uint64_t spanned_bytes;
	uint64_t early_budget_bytes;
	uint64_t total_bytes;
	uint64_t done_bytes;
	uint64_t short_bytes;
	uint64_t rate_bytes; /* B/s now */
	unsigned nr_threads;
	bool is_braked;
	const char *state;        /* idle, or a share state */
	const char *current_pool; /* "" between pools */
	uint64_t started_monotonic_usec, finished_monotonic_usec;
};

struct share_view {
	unsigned node_id;
	const char *state;
	uint64_t total_bytes, early_bytes, done_bytes, short_bytes;
	const char *reason; /* a refusal or a reason in one word, "" for none */
};

struct pool_view {
	const char *name;
	const char *kind;
	uint64_t page_bytes;
	uint64_t region_bytes; /* what one lease gets; 0: not of this kind */
	bool is_required;
	const char *state;
	uint64_t total_bytes, done_bytes, short_bytes, leased_bytes, draining_bytes;
	const struct share_view *shares; /* by node_id */
	size_t nr_shares;
};

/* One lease, for ListLeases. */
struct lease_view {
	char id[24]; /* decimal */
	const char *pool;
	unsigned node_id;
	uint64_t bytes;
	const char *state; /* leased, draining */
	uid_t uid;
	pid_t pid;
	const char *unit; /* "" for unknown */
	uint64_t since_realtime_usec;
	uint64_t since_monotonic_usec;
};

/* One share and stage, for GetTimeline. Times are monotonic µs, 0: not yet. */
struct timeline_entry {
	unsigned node_id;
	const char *pool;
	const char *stage; /* early, deferred */
	const char *state; /* waiting, running, settled */
	uint64_t started_usec, finished_usec;
	uint64_t bytes;
	unsigned nr_threads;
	uint64_t cpu_usec;
	unsigned nr_attempts;
	unsigned nr_by_other; /* kind block: memory blocks that somebody else brought online */
};
