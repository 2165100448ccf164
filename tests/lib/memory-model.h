/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * memory-model.h - a scripted memory behind kinds/memory.h: takes no memory, and runs short, has
 * poison, puts pages on the wrong node or blocks when it is told to
 *
 * Threads: any; one mutex inside. There is one model a process, as memory_ops carry no argument.
 * Each piece of memory is numbered in the order in which it is made or adopted, from 0; its
 * descriptor is a real one (of /dev/null, or what was adopted), so that leaks show.
 */
#pragma once

#include <stdint.h>

#include "../../daemon/kinds/memory.h"

extern const struct memory_ops memory_model;

/* Everything is granted, at once; counters at 0; no gate. Before each test. */
void memory_model_reset(void);

/*
 * From now on at most @bytes are resident at the same time, over all pieces; what exceeds them
 * answers -@error (ENOMEM, ENOSPC, EFAULT). UINT64_MAX: no limit.
 */
void memory_model_limit(uint64_t bytes, int error);

/* The next @nr_times that piece @index (UINT_MAX: any) has the byte at @offset_bytes populated:
 * -@error (EHWPOISON). */
void memory_model_fail_populate(unsigned index, uint64_t offset_bytes, int error,
                                unsigned nr_times);

/* The next @nr_times of make: -@error (EOPNOTSUPP, EINVAL, ENOMEM). */
void memory_model_fail_make(int error, unsigned nr_times);

/* The next @nr_times of verify: -@error (EXDEV, EMEDIUMTYPE, ENODATA). */
void memory_model_fail_verify(int error, unsigned nr_times);

/* The next @nr_times of adopt: -@error (ENODATA, EMSGSIZE, EMEDIUMTYPE). */
void memory_model_fail_adopt(int error, unsigned nr_times);

/* The next @nr_times of open_again: -@error (EMFILE). */
void memory_model_fail_open(int error, unsigned nr_times);

/* How much a piece has that is adopted half filled; 0 after memory_model_reset(). */
void memory_model_set_adopted_bytes(uint64_t bytes);

/*
 * What is_in_use says of piece @index (UINT_MAX: of all that there are) from now on: 1, 0, -errno.
 * Of a new piece nobody else has anything.
 */
void memory_model_set_in_use(unsigned index, int answer);

/* Call @fn at the end of the next destroy, for what another thread may do meanwhile. Once. */
void memory_model_on_destroy(void (*fn)(void *arg), void *arg);

/*
 * A gate before each populate: it blocks until it is let through. memory_model_gate_open() lets
 * @nr chunks pass (UINT_MAX: all, the gate is gone); memory_model_gate_wait() returns true as
 * soon as @nr chunks stand at it at the same time, false after @limit_usec.
 */
void memory_model_gate_close(void);
void memory_model_gate_open(unsigned nr);
bool memory_model_gate_wait(unsigned nr, uint64_t limit_usec);

struct memory_model_counts {
	unsigned nr_made; /* adopted ones included */
	unsigned nr_adopted;
	unsigned nr_alive;            /* made and neither destroyed nor released */
	unsigned nr_destroyed;        /* given back to the kernel */
	unsigned nr_destroyed_in_use; /* of these, while is_in_use would have said 1 */
	unsigned nr_released;         /* left to whoever else has them; still resident */
	unsigned nr_discarded;        /* calls */
	unsigned nr_asked;            /* calls of is_in_use */
	unsigned nr_populated;        /* calls that succeeded */
	unsigned nr_verified;
	unsigned nr_finished;
	unsigned nr_mapped; /* made and neither finished (unless locked) nor at an end */
	unsigned max_mapped;
	uint64_t resident_bytes;
	unsigned max_writers; /* populates of one piece at the same time, at most */
};

void memory_model_counts(struct memory_model_counts *ret);
