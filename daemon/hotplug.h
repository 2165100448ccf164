/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * hotplug.h - what the manager does when memory or a file is not what it was: memory blocks and
 * nodes that come and go, blocks that others took online or offline, originals that were replaced
 *
 * Layer: top. Threads: main. Whatever has happened, the answer is the same: look at the machine
 * again, make a new plan, apply it. What is as it was stays untouched.
 */
#pragma once

#include "machine/machine.h"
#include "plan/plan.h"

struct manager;

/*
 * Open the record of memory blocks and the place of replicas in the run directory; without one
 * nothing outlives the process, and there are no replicas. Return: 0; -ENOMEM.
 */
int hotplug_open(struct manager *manager);
void hotplug_close(struct manager *manager);

/* From now on listen to the kernel's events, where there are any. After the first plan. */
void hotplug_start(struct manager *manager);

/* As uevents_fn; public for tests, which have no kernel to send one. */
void hotplug_event(const char *subsystem, const char *action, const char *name, void *arg);

/* Late memory and nodes are awaited from now on for SettleTimeout=. */
void hotplug_await(struct manager *manager);

/* A new plan is about to be applied: its blocks go on record. */
void hotplug_note_plan(struct manager *manager, const struct plan *plan);

/* It has been applied: what it copies is watched. */
void hotplug_watch(struct manager *manager);

/*
 * After a look at the workers: has pools see what they still have when memory has left, and looks
 * at the machine again when the block shares of a node have settled, so that nothing is decided on
 * what was only hoped for. Return: true when anything was changed: look again.
 */
bool hotplug_look(struct manager *manager);
