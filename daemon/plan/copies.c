/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which files a node has a copy of, and which ones only a link to. */
#include <errno.h>
#include <stdlib.h>

#include "draft.h"

/* A copy takes whole pages; a link lies in its inode. */
static uint64_t copy_bytes(const struct original *original, uint64_t page_bytes)
{
	return original->link_target ? 0 : bytes_round_up(original->identity.bytes, page_bytes);
}

int draft_declare_copies(const struct draft *draft, struct draft_share *share)
{
	const struct originals *originals = &share->config->originals;
	uint64_t page_bytes = draft->machine->page_bytes;
	uint64_t all_bytes = 0;

	share->share.copies =
		calloc(originals->nr - originals->nr_refused + 1, sizeof(*share->share.copies));
	if (!share->share.copies)
		return -ENOMEM;
	for (size_t i = 0; i < originals->nr; i++) {
		const struct original *original = &originals->files[i];

		if (original->refusal != ORIGINAL_ACCEPTED)
			continue;
		share->share.copies[share->share.nr_copies++].original = original;
		all_bytes = bytes_add(all_bytes, copy_bytes(original, page_bytes));
	}
	share->share.unit_bytes = page_bytes;
	/* sparse files can be larger, together, than 64 bits can say */
	share->share.declared_bytes = bytes_round_down(all_bytes, page_bytes);
	draft_set_minimum(share, share->plan_node->memory_bytes, page_bytes);
	return 0;
}

uint64_t draft_keep_copies(struct plan_share *share, uint64_t room_bytes, uint64_t page_bytes)
{
	uint64_t kept_bytes = 0;

	for (size_t i = 0; i < share->nr_copies; i++) {
		struct plan_copy *copy = &share->copies[i];
		uint64_t bytes = copy_bytes(copy->original, page_bytes);

		if (copy->is_linked)
			continue;
		/* A large file that does not fit leaves its place to smaller ones behind it. */
		copy->is_linked = bytes > room_bytes - kept_bytes;
		if (!copy->is_linked)
			kept_bytes += bytes;
	}
	return kept_bytes;
}
