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

/* How far the earlier process had come with it. */
enum memory_adopted { MEMORY_IS_FILLING, MEMORY_IS_FINISHED, MEMORY_IS_LENT };

/* Whether it stays mapped when it is finished: a lock holds as long as its mapping does. */
static inline bool memory_keeps_mapping(const struct memory *memory)
{
	return memory->is_locked && memory->page != PLAN_PAGE_HUGETLB;
}

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
	 * its kind of page that answers with an errno. Pages that are there are left as they are.
	 * Return: 0; -ENOMEM, -ENOSPC, -EFAULT short of memory; -EHWPOISON; -errno.
	 */
	int (*populate)(struct memory *memory, uint64_t offset_bytes, uint64_t bytes);

	/*
	 * Check what was populated: resident, on its node, of its page size. Of memory that is
	 * finished, too: it is mapped for as long as that takes.
	 * Return: 0; -EXDEV pages on another node; -EMEDIUMTYPE smaller pages than asked for;
	 * -ENODATA pages that are not there; -errno.
	 */
	int (*verify)(struct memory *memory);

	/*
	 * Unmap, give the page tables back, seal where the memory allows it. Locked memory stays
	 * mapped. Return: 0; -errno.
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
	 * @adopted: a finished one has to be all there. One that is filled is mapped and bound as
	 * make does, and what it has already is kept; so is a finished one that is to be locked:
	 * populate, verify and finish lock it again. Of a lent one the kind of file is looked at
	 * only, for its lessee may have taken pages out; it is not locked again. Never blocks for
	 * long: nothing is filled. Return: 0; -EMEDIUMTYPE another kind of file or page; -EMSGSIZE
	 * another size; -ENODATA finished and not all there; -EXDEV on another node; -errno.
	 */
	int (*adopt)(struct memory *memory, enum memory_adopted adopted);

	/*
	 * A file description of its own, for reading and writing, for whoever leases it: what is
	 * done to it does not touch ours, and is_in_use can tell them apart.
	 * Return: a descriptor (close-on-exec), the caller's; -EOPNOTSUPP without /proc; -errno.
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
