/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * uevents.h - what the kernel and udev say of memory blocks and NUMA nodes
 *
 * Layer: top. Threads: main. Events come through sd-device(3), once udev's rules have run: files in
 * sysfs have their owners by then. They may get lost when very many come at once: who hears one
 * looks at everything.
 */
#pragma once

#include <ev.h>

#include "base/scoped.h"

struct uevents;

/*
 * @subsystem is "memory" or "node", @action "add", "remove", "online", "offline" or another of the
 * kernel's words, @name "memory32" or "node1".
 */
typedef void (*uevents_fn)(const char *subsystem, const char *action, const char *name, void *arg);

/*
 * Call @fn for each event from now on. Return: 0 and *ret, which the caller owns; -errno: nothing
 * will be heard (no netlink, no udev).
 */
int uevents_open(struct ev_loop *loop, uevents_fn fn, void *arg, struct uevents **ret);

/* Whether anything will be heard; not of NULL, nor when reading them has failed since. */
bool uevents_are_heard(const struct uevents *uevents);

/* NULL is fine. Return: NULL. */
struct uevents *uevents_close(struct uevents *uevents);
DEFINE_SCOPED(struct uevents *, uevents_close)
