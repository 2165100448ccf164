/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One memory block. The kernel, udev and people write to the same file, so neither a look nor the
 * answer to our own write is a fact: only what is read back afterwards counts.
 */
#include <errno.h>

#include "block-bring.h"

static bool is_zone_right(enum pool_zone wanted, unsigned zones)
{
	switch (wanted) {
	case POOL_ZONE_KERNEL:
		return zones & MACHINE_ZONE_KERNEL;
	case POOL_ZONE_MOVABLE:
		return zones & MACHINE_ZONE_MOVABLE;
	default:
		return zones != 0;
	}
}

static enum memory_block_zone zone_to_ask_for(enum pool_zone wanted)
{
	switch (wanted) {
	case POOL_ZONE_KERNEL:
		return MEMORY_BLOCK_KERNEL;
	case POOL_ZONE_MOVABLE:
		return MEMORY_BLOCK_MOVABLE;
	default:
		return MEMORY_BLOCK_ANY;
	}
}

enum block_look block_look(struct kernel *kernel, const struct plan_block *wanted,
                           unsigned *ret_zones, int *ret_error)
{
	struct memory_block found = { 0 };
	int r;

	r = memory_block_read(kernel, wanted->block, &found);
	*ret_zones = found.zones;
	*ret_error = r;
	if (r == -ENOENT || r == -ENODEV)
		return BLOCK_IS_GONE;
	if (r < 0)
		return BLOCK_IS_UNREADABLE;
	switch (found.state) {
	case MEMORY_BLOCK_OFFLINE:
		return BLOCK_IS_OFFLINE;
	case MEMORY_BLOCK_GOING:
		return BLOCK_IS_GOING;
	default:
		/* Where the kernel does not say in which zone it is, nothing speaks against it. */
		return found.zones == 0 || is_zone_right(wanted->zone, found.zones)
		               ? BLOCK_IS_RIGHT
		               : BLOCK_IS_MISMATCHED;
	}
}

static struct block_outcome missing(enum share_reason reason, bool may_retry)
{
	return (struct block_outcome){ .reason = reason, .may_retry = may_retry };
}

static struct block_outcome failed(enum share_reason reason, int error)
{
	return (struct block_outcome){ .reason = reason, .error = error };
}

/* A word for what read or write answered while the block is still offline. */
static struct block_outcome refused(int error)
{
	switch (error) {
	case 0: /* success that brought nothing, or somebody has taken it offline since */
	case -EBUSY:
	case -EAGAIN:
	case -EINTR:
		return missing(REASON_BUSY, true);
	case -ENOMEM:
		return missing(REASON_NO_MEMORY, true);
	case -EINVAL:
		return missing(REASON_REFUSED, false);
	case -EACCES:
	case -EPERM:
	case -EROFS:
		return missing(REASON_NOT_PERMITTED, false);
	case -ENOENT:
	case -ENODEV:
		return missing(REASON_GONE, false);
	case -EHWPOISON:
		return missing(REASON_POISONED, false);
	case -EOPNOTSUPP:
		return failed(REASON_UNSUPPORTED, error);
	default:
		return failed(REASON_FAILED, error);
	}
}

/* What a look says once there is nothing more to be done; @error: what the write answered. */
static struct block_outcome outcome(enum block_look look, int look_error, int error)
{
	switch (look) {
	case BLOCK_IS_RIGHT:
		return (struct block_outcome){ .is_done = true };
	case BLOCK_IS_MISMATCHED:
		return missing(REASON_ZONE_MISMATCH, false);
	case BLOCK_IS_GOING:
		return missing(REASON_BUSY, true);
	case BLOCK_IS_GONE:
		return missing(REASON_GONE, false);
	case BLOCK_IS_UNREADABLE:
		/* A word that this version does not know. */
		return look_error == -EINVAL ? failed(REASON_FAILED, look_error)
		                             : refused(look_error);
	default:
		return refused(error);
	}
}

struct block_outcome block_bring(struct kernel *kernel, const struct plan_block *wanted)
{
	struct block_outcome found;
	int look_error, error;
	enum block_look look;
	unsigned zones;

	look = block_look(kernel, wanted, &zones, &look_error);
	if (look != BLOCK_IS_OFFLINE)
		return outcome(look, look_error, 0);
	if (is_zone_right(wanted->zone, zones)) {
		error = memory_block_online(kernel, wanted->block, zone_to_ask_for(wanted->zone));
		look = block_look(kernel, wanted, &zones, &look_error);
		found = outcome(look, look_error, error);
		/* To a block that is online already, the kernel says EINVAL. */
		found.is_ours = found.is_done && error == 0;
	} else {
		found = missing(REASON_UNSUPPORTED_ZONE, false);
	}
	found.was_offline = true;
	return found;
}
