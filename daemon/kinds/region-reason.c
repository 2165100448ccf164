/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How much a node can spare for regions, and a word for what it could not.
 */
#include <errno.h>

#include "../base/size.h"
#include "../machine/hugepages.h"
#include "../machine/machine.h"
#include "region-share.h"

/* Between two looks at the node's free memory: a look costs about 20 µs, a chunk about 2 ms. */
#define CHUNKS_A_LOOK 16

bool region_room_bytes(const struct share *share, uint64_t *ret_bytes)
{
	uint64_t available_bytes;

	if (!share->context->kernel ||
	    machine_read_available(share->context->kernel, share->node_id, &available_bytes) < 0)
		return false;
	*ret_bytes = bytes_left(available_bytes, share->reserve_bytes);
	return true;
}

bool region_is_reserve_touched(const struct part *part, uint64_t index)
{
	uint64_t nr_chunks = bytes_min(part->nr_chunks - index, CHUNKS_A_LOOK), room_bytes;

	/* Pages of a huge page pool are taken from the node when the account grows. */
	if (part->share->account || index % CHUNKS_A_LOOK != 0)
		return false;
	return region_room_bytes(part->share, &room_bytes) &&
	       room_bytes < bytes_min(bytes_mul(nr_chunks, part->chunk_bytes), part->want_bytes);
}

bool region_is_short(int error)
{
	return error == -ENOMEM || error == -ENOSPC || error == -EFAULT || error == -ENODATA;
}

void region_note_race(struct region_share *regions, const struct page_account_result *result)
{
	if (!result->was_raced)
		return;
	region_share_lock(regions);
	regions->nr_raced++;
	regions->raced_from_pages = result->raced_from_pages;
	regions->raced_to_pages = result->raced_to_pages;
	region_share_unlock(regions);
}

/* The memory that is charged to a cgroup can run short while the node has plenty. */
static bool is_cgroup_short(const struct share *share, uint64_t missing_bytes)
{
	scoped(machine_freep) struct machine *machine = NULL;

	return share->page != PLAN_PAGE_HUGETLB && share->context->kernel &&
	       machine_probe(share->context->kernel, &machine) == 0 &&
	       machine->cgroup_room_bytes < missing_bytes;
}

static enum share_reason short_reason(const struct part *part, uint64_t missing_bytes)
{
	const struct share *share = part->share;
	uint64_t available_bytes;

	if (is_cgroup_short(share, missing_bytes))
		return REASON_CGROUP_LIMIT;
	/* A base page cannot be fragmented. */
	if (share->page != PLAN_PAGE_BASE && share->context->kernel &&
	    machine_read_available(share->context->kernel, share->node_id, &available_bytes) == 0 &&
	    missing_bytes <= available_bytes)
		return REASON_FRAGMENTED;
	return REASON_NO_MEMORY;
}

/* Small pages came because no huge ones were left: compaction may make some, once. */
static void compact_once(struct share *share)
{
	struct region_share *regions = (struct region_share *) share;

	if (regions->is_compacted || !share->context->kernel)
		return;
	regions->is_compacted = true;
	(void) hugepages_compact(share->context->kernel, share->node_id);
}

enum share_reason region_reason(struct part *part, int error, uint64_t missing_bytes,
                                bool *ret_may_retry)
{
	struct region_share *regions = (struct region_share *) part->share;
	enum share_reason limit_reason = regions->stages[part->stage].limit_reason;

	*ret_may_retry = false;
	if ((error == 0 || region_is_short(error)) && limit_reason != REASON_NONE) {
		*ret_may_retry = limit_reason == REASON_FRAGMENTED ||
		                 limit_reason == REASON_NO_MEMORY ||
		                 limit_reason == REASON_EXCEEDS_RESERVE;
		return limit_reason;
	}
	if (error == 0 || region_is_short(error)) {
		*ret_may_retry = true;
		return short_reason(part, missing_bytes);
	}
	switch (error) {
	case -EXDEV:
		return REASON_WRONG_NODE;
	case -EMEDIUMTYPE:
		compact_once(part->share);
		*ret_may_retry = true;
		return REASON_NOT_HUGE;
	case -EOPNOTSUPP:
		return REASON_UNSUPPORTED;
	case -EMFILE:
	case -ENFILE:
		/* Descriptors come back, as memory does. */
		*ret_may_retry = true;
		return REASON_FAILED;
	case -EPERM:
	case -EACCES:
		return REASON_NOT_PERMITTED;
	case -EINVAL:
		/* mbind(2) refuses a node outside the cpuset as one that does not exist. */
		return part->share->context->is_cpuset_restricted ? REASON_NOT_PERMITTED
		                                                  : REASON_FAILED;
	default:
		return REASON_FAILED;
	}
}
