/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * region.h - the stock of finished regions of a share of kind region
 *
 * Layer: kinds. Threads: main, while the share exists; may run at the same time as the engine
 * works on the share, except share_shrink, which takes regions out of the stock.
 */
#pragma once

#include "kind.h"

/* Regions that are resident, verified, finished. */
size_t region_nr_ready(const struct share *share);

/*
 * Ready region @i, in the order in which they became ready. Return: its descriptor, borrowed from
 * the share, and *ret_bytes; -ENOENT there are not as many.
 */
int region_fd(const struct share *share, size_t i, uint64_t *ret_bytes);
