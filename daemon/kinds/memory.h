/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * memory.h - the system calls that make, bind, fill and check memory; none of them can raise a
 * signal
 *
 * Layer: kinds. Threads: any. Behind an ops table so that tests can play a kernel that runs short,
 * has a poisoned page, puts pages on the wrong node or lacks MADV_POPULATE_WRITE (before 5.14).
 * The real one, memory_system, is probed once by memory_system_open().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/scoped.h"
#include "../plan/plan.h"

/* One piece of memory while it is being made: a memfd or an unnamed file on a tmpfs of our own. */
struct memory {
	int fd; /* -1: none */
	enum plan_page page;
	uint64_t page_bytes; /* size of the pages asked for */
	uint64_t bytes;
	unsigned node_id;
	void *address; /* mapping, aligned to the page with a guard around it, or NULL */
	void *mapping; /* what to unmap: address and guards */
	size_t mapping_bytes;
	bool is_sealable;
	bool is_locked;
};

struct memory_ops {
	/*
	 * Make @memory->bytes of @memory->page on @memory->node_id: create, size, map, bind
	 * strictly, before any touch. The fields page, page_bytes, bytes, node_id, is_locked are
	 * given. Return: 0; -EOPNOTSUPP such pages cannot be had here; -ENOMEM, -ENOSPC short of
	 * memory; -EINVAL no such node; -errno.
	 */
	int (*make)(struct memory *memory);

	/*
	 * Make resident and zeroed what lies in [@offset_bytes, + @bytes), by the fastest call for
	 * its kind of page that answers with an errno.
	 * Return: 0; -ENOMEM, -ENOSPC, -EFAULT short of memory; -EHWPOISON; -errno.
	 */
	int (*populate)(struct memory *memory, uint64_t offset_bytes, uint64_t bytes);

	/*
	 * Check what was populated: resident, on its node, of its page size.
	 * Return: 0; -EXDEV pages on another node; -EMEDIUMTYPE smaller pages than asked for;
	 * -ENODATA pages that are not there; -errno.
	 */
	int (*verify)(struct memory *memory);

	/*
	 * Unmap, give the page tables back, seal where the memory allows it. Locked memory stays
	 * mapped, as a lock holds no longer than the mapping. Return: 0; -errno.
	 */
	int (*finish)(struct memory *memory);

	/*
	 * Give its pages back to the kernel, whoever else has the file open, then unmap and close.
	 * May block for as long as freeing takes. Safe on a zeroed struct with fd -1.
	 */
	void (*destroy)(struct memory *memory);

	/* Unmap and close only: the pages stay with whoever else has the file. fd -1 is fine. */
	void (*release)(struct memory *memory);

	/*
	 * Take over a file that an earlier process made (page, page_bytes, bytes, node_id,
	 * is_locked and fd are given, the rest is zero; the descriptor is the caller's until
	 * success).
	 * @is_finished: nothing of it may be missing. Otherwise it is mapped and bound as make
	 * does, and what it has already is kept. Never blocks for long: nothing is filled. Return:
	 * 0; -EMEDIUMTYPE another kind of file or page; -EMSGSIZE another size; -ENODATA finished
	 * and not all there; -errno.
	 */
	int (*adopt)(struct memory *memory, bool is_finished);

	/*
	 * A file description of its own, for reading and writing, for whoever leases it: what is
	 * done to it does not touch ours, and is_in_use can tell them apart.
	 * Return: a descriptor (close-on-exec), the caller's; -errno.
	 */
	int (*open_again)(const struct memory *memory);

	/*
	 * Whether anybody but us has it open or mapped (a lease for writing is granted by
	 * fcntl(2) F_SETLEASE only when nobody has). Pages alone, held by vmsplice(2) or a
	 * registered buffer, do not show. SIGIO must be ignored: who opens the file in between
	 * raises it. Return: 1 somebody has; 0 nobody; -EOPNOTSUPP this kernel does not say;
	 * -errno.
	 */
	int (*is_in_use)(const struct memory *memory);

	/*
	 * Give back the pages of a part only, so that a large file can go in steps that do not
	 * block. Return: 0; -errno.
	 */
	int (*discard)(struct memory *memory, uint64_t offset_bytes, uint64_t bytes);
};

extern const struct memory_ops memory_system;

/*
 * Probe once what this kernel has (MADV_POPULATE_WRITE, the fallback, a tmpfs of our own). Main
 * thread, before any other use. Return: 0; -errno.
 */
int memory_system_open(void);
void memory_system_close(void);

/* Whether MADV_POPULATE_WRITE was found by the probe; for the one line that says so. */
bool memory_system_has_populate(void);
