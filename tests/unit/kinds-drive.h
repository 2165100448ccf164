/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * kinds-drive.h - shares of one node over a kernel model, and a loop that drives their parts in
 * place of the engine
 */
#pragma once

#include <check.h>

#include "../../daemon/base/size.h"
#include "../../daemon/kinds/kind.h"
#include "../../daemon/kinds/region.h"
#include "kernel-model.h"
#include "memory-model.h"

#define DRIVE_SHARES_MAX 8
#define DRIVE_NODE       1 /* never node 0: nothing may depend on it */
#define HUGE             (2 * MIB)

struct drive {
	struct kernel_model *model;
	struct kind_context context;
	_Atomic uint64_t last_region_id;
	struct plan_pool pools[DRIVE_SHARES_MAX];
	struct plan_share planned[DRIVE_SHARES_MAX];
	struct plan_node node;
	struct share **shares; /* after drive_make() */
};

/*
 * Two nodes, 1 and 3, of 16 GiB each, pages of 2M and 1G, the memory model, 4 attempts, no reserve,
 * chunks of 64 MiB. Ends with drive_close().
 */
void drive_open(struct drive *drive);
void drive_close(struct drive *drive);

/* Add a share, before drive_make(). @region_bytes: 0 for hugetlb. */
struct plan_pool *drive_add(struct drive *drive, enum pool_kind kind, enum plan_page page,
                            uint64_t page_bytes, uint64_t early_bytes, uint64_t deferred_bytes,
                            uint64_t region_bytes);
void drive_make(struct drive *drive);

/* Drive one part until it settles; back-offs take no time. Return: rounds it took. */
unsigned drive_part(struct part *part);
/* One round: prepare, all chunks, finish. Return: what finish returned. */
int drive_round(struct part *part, bool is_cancelled);
/* All early parts, then all deferred ones. */
void drive_all(struct drive *drive);

struct share_status drive_status(const struct share *share);
uint64_t drive_pages(struct drive *drive, unsigned node_id, uint64_t page_bytes);

struct region_counts drive_regions(struct share *share);
/* Lend any region; there is one. Return: its id. */
uint64_t drive_lend(struct share *share);

/* A share of kind region that is filled: of @page, base or huge, in regions of @region_bytes. */
struct share *drive_full_share(struct drive *drive, uint64_t region_bytes, enum plan_page page,
                               uint64_t early_bytes, uint64_t deferred_bytes);

/* Both parts, as run_refill() queues them; those that want nothing are not queued. */
void drive_refill(struct share *share);

/* What the scripted memory has counted so far. */
struct memory_model_counts drive_counts(void);
