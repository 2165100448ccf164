/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fake-regions.h - a scripted stock of regions behind kinds/region.h, and the memory they are
 *
 * Threads: main. The test plays the worker: nothing is made, filled or destroyed but by the calls
 * here. A program that links this has these functions of region.h and not the real ones.
 *
 * Memory outlives its share, as it does when the process ends while a descriptor is in the service
 * manager's store. It is a memfd of one byte, known by its inode, so that one that is mistaken for
 * another shows. Functions that name memory which there never was end the test.
 */
#pragma once

#include <check.h>

#include "../../daemon/kinds/kind.h"
#include "../../daemon/kinds/region.h"

/* As ck_assert(), which tells the parent process each time: this one when it fails. */
#define must(condition)                                 \
	do {                                            \
		if (!(condition))                       \
			ck_abort_msg("%s", #condition); \
	} while (0)

/* No memory, no failure, nothing counted, ids from 1. Before each test and each process's life. */
void fake_regions_reset(void);

/* Shares get this kernel (NULL: none). */
void fake_regions_set_kernel(struct kernel *kernel);

/* The number that the next region gets is above @id. */
void fake_regions_set_last_id(uint64_t id);

/* A share that is cut into @nr_regions; none of them exists. The caller owns it. */
struct share *fake_share_new(unsigned node_id, enum plan_page page, uint64_t page_bytes,
                             uint64_t region_bytes, size_t nr_regions);

/* Destroys the memory that it has, but not after region_keep_memory(). NULL is fine. Return: NULL.
 */
struct share *fake_share_free(struct share *share);

/* The worker's steps. Return: the id; 0: there was nothing to do. */
uint64_t fake_share_make(struct share *share);    /* memory for one that has none: filling */
uint64_t fake_share_fill(struct share *share);    /* a filling one becomes ready */
uint64_t fake_share_destroy(struct share *share); /* a spent one is gone, its place is free */
uint64_t fake_share_shrink(struct share *share);  /* a ready one is gone, its place too */

/* make, then fill, until all are ready. */
void fake_share_fill_all(struct share *share);

/* --- the memory --- */

extern const struct memory_ops fake_memory;

/* How often somebody else has it open or mapped. */
void fake_memory_use(uint64_t id, int more);

/* From now on is_in_use answers -@error (EOPNOTSUPP, EIO); 0: no more. */
void fake_memory_fail_probe(int error);

/* From now on discard answers -@error; 0: no more. */
void fake_memory_fail_discard(int error);

struct fake_memory_state {
	bool exists;   /* its pages were not given back */
	bool was_lent; /* somebody has had a descriptor of it */
	uint64_t discarded_bytes;
	unsigned nr_probes;
};

void fake_memory_look(uint64_t id, struct fake_memory_state *ret);

/* Memory that exists. */
size_t fake_memory_nr(void);

/* --- failures and the end of the process --- */

/* The next @nr_times that a lent region is opened again: -@error. */
void fake_regions_fail_open(int error, unsigned nr_times);

/* There is no descriptor left for a duplicate: news of a region that was made come without. */
void fake_regions_mute_fd(bool is_mute);

/* The next @nr_times that a region is adopted: -@error. */
void fake_regions_fail_adopt(int error, unsigned nr_times);

/*
 * The process ends at step @nr from now, before it has an effect (0: the next one): from then on,
 * nothing that would outlive it has. UINT_MAX: it does not end. The fakes count what they do to
 * memory; others say fake_step() before each thing they do. Return: whether it still lives.
 */
void fake_end_after(unsigned nr);
bool fake_step(void);
bool fake_has_ended(void);
