/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * manager-scene.h - the manager in this process, on a scripted kernel and a scripted memory
 *
 * Two nodes of 8 GiB, pages of 2 MiB, a bus, a configuration and a notify socket of its own. One
 * test, one thread (and the manager's workers); faults are ck_assert()s.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>

#include "../../daemon/manager-state.h"
#include "daemon-fixture.h"
#include "kernel-model.h"
#include "memory-model.h"

#define HUGE_BYTES (2 * MIB)
#define LIMIT_USEC (UINT64_C(20) * 1000000)

extern struct daemon_fixture d;
extern struct kernel_model *model;
extern struct manager *manager;
extern struct ev_loop *loop;
/* Of the next start(); NULL, as before every test: there is none. */
extern const struct store_ops *store;
/* The same for where the record of memory blocks and the copies of files are. */
extern const char *run_directory_of_manager;

/* A region pool of 1 GiB of base pages a node, of which 128 MiB are early, in regions of 128 MiB.
 */
extern const char region_pool[];

/* Checked fixture of every test. */
void setup(void);
void teardown(void);

/* Make and start the manager with what is configured. */
void start(void);

/* Let the loop turn until @is_so; the test fails when that takes longer than LIMIT_USEC. */
void run_until(bool (*is_so)(void), const char *what);
/* For a timer of one's own: sets the bool that timer->data points to. */
void on_limit(struct ev_loop *on_loop, ev_timer *timer, int events);

/* Call a method of the Manager from another connection while the loop turns. Return: 0; -EIO. */
int bus_call(const char *method);
/* The same for a pool, whose name is one that needs no escapes. */
int bus_call_pool(const char *pool, const char *method);

bool is_ready(void);
bool is_failed(void);
bool is_ready_notified(void);
bool is_settled(void);
bool is_a_chunk_at_the_gate(void);

/* Borrowed; the pool is known. NULL: it has no share there. */
struct managed_share *share_of(const char *pool, unsigned node_id);

/* Lines of the log that contain @text. */
unsigned nr_lines_with(const char *text);
