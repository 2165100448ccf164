/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * brakes.h - hold back the background work of all nodes: what engine/brake.h decides, and MaxRate=
 *
 * Layer: top. Threads: main. The host is looked at only while background work is at hand.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct managed_node;
struct manager;

/* What the configuration says now, for work at hand, too. */
void brakes_configure(struct manager *manager);

/*
 * A period has passed: look at the host, hold back or let go, say so in the log. @now_usec is
 * monotonic. Reads a few files of procfs and sysfs, none while nothing can be held back.
 */
void brakes_look(struct manager *manager, uint64_t now_usec);

/* Whether background work of the node is at hand and held back by others' needs. */
bool brakes_is_braked(const struct manager *manager, const struct managed_node *node);
