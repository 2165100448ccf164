/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * boot-log.h - how long the kernel took, at boot, for its own deferred initialisation of each node
 *
 * One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-journal.h>

#include "model.h"

/*
 * What the kernel says when a node's struct pages are all there: "node 3 deferred pages initialised
 * in 96ms"; before Linux 5.8 "node 3 initialised, 524288 pages in 96ms" (deferred_init_memmap() in
 * mm/mm_init.c, formerly mm/page_alloc.c). Either spelling of "initialised" is taken. Return: 0 and
 * both; -ENOMSG: it is another message.
 */
int boot_log_parse(const char *message, uint32_t *ret_node_id, uint64_t *ret_usec);

/*
 * Fill in boot_usec of @model's nodes where @client asks the daemon of this host, and the journal
 * may be read and still has the kernel's messages of this boot. Else, and for nodes of which
 * nothing is said (all of their memory was initialised before), it stays unknown: no failure.
 */
void boot_log_join(const struct client *client, struct model *model);
