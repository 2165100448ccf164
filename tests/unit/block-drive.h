/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* block-drive.h - shares of kind block over a kernel model with memory blocks */
#pragma once

#include "../../daemon/machine/block-record.h"
#include "kinds-drive.h"

#define BLOCK_BYTES (128 * MIB)
#define ZONE_BOTH   (MODEL_ZONE_NORMAL | MODEL_ZONE_MOVABLE)

struct block_drive {
	struct drive drive;
	struct plan_block blocks[1024];
	struct plan_share planned;
	struct share *share; /* after block_drive_make() */
};

/* A drive with a record in memory, and a share without blocks. */
void block_drive_open(struct block_drive *blocks);
void block_drive_close(struct block_drive *blocks);

/* The share is about one more block, which the model has not yet. */
void block_drive_want(struct block_drive *blocks, uint64_t number, enum pool_zone zone);

/* Plug in blocks @first … @first + @nr - 1, offline, of @zones, and want them. */
void block_drive_add(struct block_drive *blocks, uint64_t first, unsigned nr, unsigned zones,
                     enum pool_zone zone);

/* Make the share; its first @nr_early blocks are early. */
void block_drive_make(struct block_drive *blocks, unsigned nr_early);
/* Another share for the same plan, as another process with the same record has it. */
void block_drive_make_again(struct block_drive *blocks);

/* Both parts until they settle, as the engine does at first and for a Retry. */
void block_drive_run(struct block_drive *blocks);

/* What it says. */
struct share_status block_drive_status(const struct block_drive *blocks);
/* … when so many blocks are done and the first of @nr_missing has that reason and number. */
void block_drive_expect(const struct block_drive *blocks, unsigned nr_done, unsigned nr_missing,
                        enum share_reason reason, const char *missing);

/* So many writes reached blocks, in all. */
void block_drive_expect_writes(const struct block_drive *blocks, unsigned nr_writes);

bool block_drive_is_ours(const struct block_drive *blocks, uint64_t number);
bool block_drive_is_given_up(const struct block_drive *blocks, uint64_t number);
