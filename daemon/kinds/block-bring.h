/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * block-bring.h - one memory block: what has become of it, and how it is brought online
 *
 * Layer: kinds, private to the files block*.c. Threads: any; nothing is kept between calls.
 */
#pragma once

#include "../machine/memory-block.h"
#include "kind.h"

/* What a look at a block says, seen from what is asked for. */
enum block_look {
	BLOCK_IS_RIGHT,      /* online, in a zone that is right, or that the kernel does not tell */
	BLOCK_IS_MISMATCHED, /* online in another zone */
	BLOCK_IS_OFFLINE,
	BLOCK_IS_GOING, /* being taken offline: it may yet stay */
	BLOCK_IS_GONE,
	BLOCK_IS_UNREADABLE,
};

/* *ret_zones are those it can go into (offline), *ret_error the -errno of BLOCK_IS_UNREADABLE; both
 * are written in every case. */
enum block_look block_look(struct kernel *kernel, const struct plan_block *wanted,
                           unsigned *ret_zones, int *ret_error);

/* What came of an attempt. */
struct block_outcome {
	bool is_done;             /* it was read back online, in a zone that is right */
	bool is_ours;             /* it is done, by our write */
	bool was_offline;         /* when it was looked at first */
	bool may_retry;           /* time can help */
	enum share_reason reason; /* REASON_NONE when it is done */
	int error;                /* behind REASON_FAILED, REASON_UNSUPPORTED; else 0 */
};

/*
 * Bring it online unless it is, and read back. One write at most, none where valid_zones says that
 * it is of no use. Blocks as memory_block_online() does.
 */
struct block_outcome block_bring(struct kernel *kernel, const struct plan_block *wanted);
