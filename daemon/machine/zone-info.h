/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * zone-info.h - the zones of all nodes, as /proc/zoneinfo has them
 *
 * Layer: machine, inside only. Threads: any; no state. The file has lines for
 * each CPU in each zone: it is a megabyte and more on a large machine, and is
 * read only where that is worth it.
 */
#pragma once

#include "kernel.h"

/* @name: of a line "name number", such as "present" or "cma"; borrowed. */
typedef void (*zone_info_fn)(unsigned node_id, const char *name, uint64_t nr_pages, void *arg);

/*
 * Call @each for every line of a zone of memory (that of devices is none).
 * Nothing is called where the file cannot be read. Return: 0; -ENOENT it cannot
 * be read.
 */
int zone_info_each(struct kernel *kernel, zone_info_fn each, void *arg);
