/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kind replica: copies of files on the node. The share as the main thread has it; what its rounds
 * do is in replica-round.c.
 */
#include <errno.h>
#include <string.h>

#include "../base/size.h"
#include "replica-share.h"

static int share_new(struct share **ret)
{
	struct replica_share *share = calloc(1, sizeof(*share));

	if (!share)
		return -ENOMEM;
	(void) pthread_mutex_init(&share->lock, NULL);
	*ret = &share->share;
	return 0;
}

static int file_init(struct replica_share *share, struct replica_file *file,
                     const struct plan_copy *copy)
{
	const struct original *original = copy->original;

	(void) pthread_mutex_init(&file->lock, NULL);
	file->original_fd = file->copy_fd = -1;
	share->nr_files++;
	file->path = strdup(original->path);
	file->link_target = original->link_target ? strdup(original->link_target) : NULL;
	if (!file->path || (original->link_target && !file->link_target))
		return -ENOMEM;
	file->is_linked = copy->is_linked;
	file->identity = original->identity;
	if (!file->link_target && !file->is_linked)
		file->bytes = bytes_round_up(file->identity.bytes, share->share.page_bytes);
	file->bytes_left = file->bytes;
	return 0;
}

/* From here on the path is this share's. What is in place already stays in service. */
static int file_claim(struct replica_share *share, struct replica_file *file)
{
	bool is_copy = !file->link_target && !file->is_linked;
	int r = replica_claim(share->node, file->path, &share->share,
	                      is_copy ? &file->identity : NULL);

	if (r == 1) {
		file->state = REPLICA_READY;
		replica_count(share, file, 0, file->bytes);
	}
	return r < 0 ? r : 0;
}

static int share_take(struct share *base, const struct plan_share *planned)
{
	struct replica_share *share = (struct replica_share *) base;
	uint64_t early_bytes = base->parts[STAGE_EARLY].want_bytes;
	int r;

	if (base->page_bytes == 0)
		base->page_bytes = (uint64_t) sysconf(_SC_PAGESIZE);
	r = replica_node_get(base->context->replica_base, base->node_id, &share->node);
	if (r < 0)
		return r;
	share->files = calloc(planned->nr_copies + 1, sizeof(*share->files));
	if (!share->files)
		return -ENOMEM;
	for (unsigned i = 0; i < NR_STAGES; i++) {
		share->stages[i].queue =
			calloc(planned->nr_copies + 1, sizeof(*share->stages[i].queue));
		if (!share->stages[i].queue)
			return -ENOMEM;
	}
	for (size_t i = 0; i < planned->nr_copies; i++) {
		struct replica_file *file = &share->files[i];

		r = file_init(share, file, &planned->copies[i]);
		if (r < 0)
			return r;
		file->early_bytes = bytes_min(file->bytes, early_bytes);
		early_bytes -= file->early_bytes;
	}
	/* When nothing can fail any more but this: who had the paths loses them by it. */
	for (size_t i = 0; i < share->nr_files; i++) {
		r = file_claim(share, &share->files[i]);
		if (r < 0)
			return r;
	}
	/* Without a byte to copy the share has no round. */
	if (planned->early_bytes + planned->deferred_bytes == 0)
		(void) replica_place_instant(share, share->nr_files);
	replica_summarise(share);
	return 0;
}

static bool share_is_same(const struct share *base, const struct plan_share *planned)
{
	const struct replica_share *share = (const struct replica_share *) base;

	if (planned->nr_copies != share->nr_files)
		return false;
	for (size_t i = 0; i < share->nr_files; i++) {
		struct replica_file *file = &share->files[i];
		const struct plan_copy *copy = &planned->copies[i];
		const char *target = copy->original->link_target;
		bool is_same;

		if (strcmp(file->path, copy->original->path) != 0 ||
		    file->is_linked != copy->is_linked || !file->link_target != !target ||
		    (target && strcmp(file->link_target, target) != 0))
			return false;
		if (target)
			continue;
		(void) pthread_mutex_lock(&file->lock);
		is_same = original_identity_equals(&file->identity, &copy->original->identity);
		(void) pthread_mutex_unlock(&file->lock);
		if (!is_same)
			return false;
	}
	return true;
}

static int share_recheck(struct share *base)
{
	struct replica_share *share = (struct replica_share *) base;
	int r = 0;

	if (!share->node->is_bound)
		return 0;
	for (size_t i = 0; i < share->nr_files; i++) {
		struct replica_file *file = &share->files[i];

		if (file->state != REPLICA_READY || file->bytes == 0)
			continue;
		replica_file_reset(share, file, REPLICA_CHECKING);
		r = 1;
	}
	return r;
}

/* A long path ends with what tells the file. */
static void name_missing(struct share_status *summary, const char *path)
{
	size_t path_bytes = strlen(path) + 1;

	if (path_bytes > sizeof(summary->missing))
		path += path_bytes - sizeof(summary->missing);
	(void) snprintf(summary->missing, sizeof(summary->missing), "%s", path);
}

void replica_summarise(struct replica_share *share)
{
	struct share_status summary = { 0 };
	const struct replica_file *first = NULL;

	for (size_t i = 0; i < share->nr_files; i++) {
		const struct replica_file *file = &share->files[i];
		bool is_short = file->reason != REASON_NONE;

		if (!is_short && !file->is_linked)
			continue;
		summary.nr_missing++;
		/* What the plan has refused is told of only where nothing else is missing. */
		if (!first || (is_short && first->reason == REASON_NONE))
			first = file;
	}
	if (first) {
		name_missing(&summary, first->path);
		/* of what the plan has linked, the plan knows why */
		summary.reason = first->reason;
		summary.error = first->error;
	}
	(void) pthread_mutex_lock(&share->lock);
	summary.nr_attempts = share->summary.nr_attempts;
	share->summary = summary;
	(void) pthread_mutex_unlock(&share->lock);
}

static void share_read(const struct share *base, struct share_status *ret)
{
	struct replica_share *share = (struct replica_share *) base;

	(void) pthread_mutex_lock(&share->lock);
	*ret = share->summary;
	(void) pthread_mutex_unlock(&share->lock);
	ret->early_done_bytes =
		atomic_load_explicit(&share->done_bytes[STAGE_EARLY], memory_order_relaxed);
	ret->done_bytes =
		ret->early_done_bytes +
		atomic_load_explicit(&share->done_bytes[STAGE_DEFERRED], memory_order_relaxed);
}

/* Lists are replaced as a whole: all of it goes, or nothing. */
static int share_shrink(struct share *base, uint64_t keep_bytes)
{
	struct replica_share *share = (struct replica_share *) base;

	if (keep_bytes > 0)
		return 0;
	for (size_t i = 0; i < share->nr_files; i++) {
		replica_node_withdraw(share->node, share->files[i].path, base, false);
		replica_file_reset(share, &share->files[i], REPLICA_NEW);
	}
	for (unsigned i = 0; i < NR_STAGES; i++)
		base->parts[i].want_bytes = 0;
	return 0;
}

static void share_free(struct share *base)
{
	struct replica_share *share = (struct replica_share *) base;

	for (size_t i = 0; i < share->nr_files; i++) {
		struct replica_file *file = &share->files[i];

		if (file->path)
			replica_node_withdraw(share->node, file->path, base, true);
		(void) fd_close(file->original_fd);
		(void) fd_close(file->copy_fd);
		(void) pthread_mutex_destroy(&file->lock);
		free(file->path);
		free(file->link_target);
	}
	for (unsigned i = 0; i < NR_STAGES; i++)
		free(share->stages[i].queue);
	free(share->files);
	(void) pthread_mutex_destroy(&share->lock);
	free(share);
}

const struct kind_ops replica_ops = {
	.name = "replica",
	.share_new = share_new,
	.share_take = share_take,
	.share_is_same = share_is_same,
	.share_recheck = share_recheck,
	.prepare = replica_prepare,
	.run_chunk = replica_run_chunk,
	.finish = replica_finish,
	.share_read = share_read,
	.share_shrink = share_shrink,
	.share_free = share_free,
};
