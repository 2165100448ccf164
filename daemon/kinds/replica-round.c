/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A round: the files that are to be made, one behind the other, are a stream that is cut into
 * chunks. What is the matter with one file does not hold up the others; only a node without memory
 * ends the round.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "../base/size.h"
#include "../machine/machine.h"
#include "replica-share.h"

/* Of the same file, before it is tried later or not at all. */
#define AT_ONCE_MAX 3

#define INSTANT_STEP_FILES 64
#define BUFFER_BYTES       (2 * MIB) /* a huge page is filled by one write where it can be */

static bool is_link(const struct replica_file *file)
{
	return file->link_target || file->is_linked;
}

static void uncount(struct replica_share *share, struct replica_file *file)
{
	for (unsigned i = 0; i < NR_STAGES; i++) {
		(void) atomic_fetch_sub_explicit(&share->done_bytes[i], file->counted_bytes[i],
		                                 memory_order_relaxed);
		file->counted_bytes[i] = 0;
	}
}

void replica_file_reset(struct replica_share *share, struct replica_file *file,
                        enum replica_state state)
{
	(void) pthread_mutex_lock(&file->lock);
	assert(file->nr_users == 0);
	file->original_fd = fd_close(file->original_fd);
	file->copy_fd = fd_close(file->copy_fd);
	/* What is only looked at once more is in service until it turns out not to be. */
	if (state != REPLICA_CHECKING)
		uncount(share, file);
	file->state = state;
	file->bytes_left = file->bytes;
	(void) pthread_mutex_unlock(&file->lock);
}

/* The last word about a file: the original itself in its place, or nothing where that is gone. */
static void give_up(struct replica_share *share, struct replica_file *file,
                    enum share_reason reason, int error)
{
	replica_file_reset(share, file, REPLICA_GIVEN_UP);
	if (reason == REASON_GONE)
		replica_node_withdraw(share->node, file->path, &share->share, false);
	else if (replica_node_put_link(share->node, file->path, &share->share, file->path) < 0)
		/* Better none than one that is not what it should be. */
		replica_node_withdraw(share->node, file->path, &share->share, false);
	(void) pthread_mutex_lock(&file->lock);
	file->reason = reason;
	file->error = reason == REASON_FAILED || reason == REASON_UNSUPPORTED ? error : 0;
	(void) pthread_mutex_unlock(&file->lock);
}

static void place_link(struct replica_share *share, struct replica_file *file)
{
	const char *target = file->link_target ? file->link_target : file->path;
	int r = replica_node_put_link(share->node, file->path, &share->share, target);

	(void) pthread_mutex_lock(&file->lock);
	file->state = r < 0 ? REPLICA_GIVEN_UP : REPLICA_READY;
	if (r == 0)
		file->reason = REASON_NONE;
	else if (r == -ENOENT)
		file->reason = REASON_NO_MOUNT;
	else
		file->reason = r == -EROFS || r == -EACCES ? REASON_NOT_PERMITTED : REASON_FAILED;
	file->error = file->reason == REASON_FAILED ? r : 0;
	(void) pthread_mutex_unlock(&file->lock);
}

/* Nothing can be copied here; links may do. */
static void give_up_all(struct replica_share *share)
{
	for (size_t i = 0; i < share->nr_files; i++)
		if (share->files[i].state == REPLICA_NEW && !is_link(&share->files[i]))
			give_up(share, &share->files[i], REASON_NO_MOUNT, 0);
}

int replica_place_instant(struct replica_share *share, size_t nr_max)
{
	static const struct replica_buffers none = { 0 };

	if (!replica_node_look(share->node))
		give_up_all(share);
	for (; share->nr_instant < share->nr_files; share->nr_instant++) {
		struct replica_file *file = &share->files[share->nr_instant];

		if (file->state != REPLICA_NEW || file->bytes > 0)
			continue;
		if (nr_max-- == 0)
			return 1;
		if (is_link(file))
			place_link(share, file);
		else if (replica_copy_piece(share, file, 0, 0, &none) < 0)
			replica_file_fail(file, REASON_NO_MEMORY, -ENOMEM);
	}
	return 0;
}

static bool is_of_stage(const struct replica_file *file, enum stage stage)
{
	if (file->bytes == 0)
		return true;
	return stage == STAGE_EARLY ? file->early_bytes > 0 : file->early_bytes < file->bytes;
}

/* A Retry is as good as the first round: also for what was given up. */
static void begin_anew(struct replica_share *share, enum stage of_stage)
{
	struct replica_stage *stage = &share->stages[of_stage];

	if (!stage->was_settled)
		return;
	stage->was_settled = false;
	for (size_t i = 0; i < share->nr_files; i++) {
		struct replica_file *file = &share->files[i];

		if (file->state != REPLICA_GIVEN_UP || !is_of_stage(file, of_stage))
			continue;
		file->nr_changed = file->nr_elsewhere = 0;
		replica_file_reset(share, file, REPLICA_NEW);
	}
	share->nr_instant = 0;
}

static void queue_file(struct part *part, struct replica_file *file)
{
	struct replica_share *share = (struct replica_share *) part->share;
	struct replica_stage *stage = &share->stages[part->stage];
	bool is_begun = file->bytes_left < file->bytes;
	uint64_t start_bytes = 0, end_bytes = file->bytes;

	if (file->state != REPLICA_NEW && file->state != REPLICA_CHECKING &&
	    file->state != REPLICA_COPYING)
		return;
	if (part->stage == STAGE_EARLY)
		end_bytes = file->early_bytes;
	else if (is_begun)
		start_bytes = file->early_bytes;
	else if (file->early_bytes == file->bytes)
		return; /* the early part has given it up */
	if (start_bytes == end_bytes || (part->stage == STAGE_EARLY && is_begun))
		return;
	stage->queue[stage->nr_queued++] = (struct replica_entry){
		.file = file,
		.stream_bytes = stage->queued_bytes,
		.offset_bytes = start_bytes,
		.bytes = end_bytes - start_bytes,
	};
	stage->queued_bytes += end_bytes - start_bytes;
}

int replica_prepare(struct part *part)
{
	struct replica_share *share = (struct replica_share *) part->share;
	struct replica_stage *stage = &share->stages[part->stage];

	part->nr_chunks = 0;
	stage->nr_queued = 0;
	stage->queued_bytes = 0;
	if (part->want_bytes == 0)
		return 0;
	begin_anew(share, part->stage);
	if (replica_place_instant(share, INSTANT_STEP_FILES) == 1)
		return 1;
	for (size_t i = 0; i < share->nr_files; i++)
		queue_file(part, &share->files[i]);
	part->chunk_bytes = bytes_max(
		bytes_round_down(part->share->context->chunk_bytes, part->share->page_bytes),
		part->share->page_bytes);
	part->nr_chunks =
		bytes_round_up(stage->queued_bytes, part->chunk_bytes) / part->chunk_bytes;
	return 0;
}

/* The first one is told. */
static int stop(struct replica_share *share, struct replica_stage *stage, enum share_reason reason,
                int error)
{
	(void) pthread_mutex_lock(&share->lock);
	if (stage->stop_reason == REASON_NONE)
		stage->stop_reason = reason;
	(void) pthread_mutex_unlock(&share->lock);
	return error;
}

/*
 * A node that is full has no error for us: the kernel would look for a process to kill, as the
 * mount may have pages of this node only. So what is under way has to fit above the reserve.
 */
static bool has_room(struct replica_share *share, uint64_t flying_bytes)
{
	uint64_t available_bytes;

	if (machine_read_available(share->share.context->kernel, share->share.node_id,
	                           &available_bytes) < 0)
		return true; /* the kernel does not say */
	return available_bytes >= bytes_add(share->share.reserve_bytes, flying_bytes);
}

/* The entry that byte @stream_bytes of the stream is in. */
static size_t find_entry(const struct replica_stage *stage, uint64_t stream_bytes)
{
	size_t low = 0, high = stage->nr_queued;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (stage->queue[middle].stream_bytes <= stream_bytes)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int copy_stream(struct replica_share *share, const struct replica_stage *stage,
                       uint64_t start_bytes, uint64_t end_bytes,
                       const struct replica_buffers *buffers)
{
	size_t i = find_entry(stage, start_bytes);
	int r = 0;

	while (start_bytes < end_bytes && r == 0) {
		const struct replica_entry *entry = &stage->queue[i++];
		uint64_t skipped_bytes = start_bytes - entry->stream_bytes;
		uint64_t bytes = bytes_min(end_bytes - start_bytes, entry->bytes - skipped_bytes);

		r = replica_copy_piece(share, entry->file, entry->offset_bytes + skipped_bytes,
		                       bytes, buffers);
		start_bytes += bytes;
	}
	return r;
}

int replica_run_chunk(struct part *part, uint64_t index)
{
	struct replica_share *share = (struct replica_share *) part->share;
	struct replica_stage *stage = &share->stages[part->stage];
	uint64_t start_bytes = index * part->chunk_bytes;
	uint64_t bytes = bytes_min(part->chunk_bytes, stage->queued_bytes - start_bytes);
	struct replica_buffers buffers = { .bytes = bytes_min(bytes, BUFFER_BYTES) };
	scoped(freep) char *memory = malloc(2 * buffers.bytes);
	uint64_t flying_bytes;
	int r = 0;

	if (!memory)
		return stop(share, stage, REASON_NO_MEMORY, -ENOMEM);
	buffers.first = memory;
	buffers.second = memory + buffers.bytes;
	flying_bytes =
		atomic_fetch_add_explicit(&share->flying_bytes, bytes, memory_order_relaxed) +
		bytes;
	if (!has_room(share, flying_bytes)) {
		r = stop(share, stage, REASON_EXCEEDS_RESERVE, -ENOSPC);
	} else {
		r = copy_stream(share, stage, start_bytes, start_bytes + bytes, &buffers);
		if (r < 0)
			r = stop(share, stage, REASON_NO_MEMORY, r);
	}
	(void) atomic_fetch_sub_explicit(&share->flying_bytes, bytes, memory_order_relaxed);
	return r;
}

struct outcome {
	bool is_again;             /* something is to be built anew at once */
	enum share_reason waiting; /* of the first file that time may help; REASON_NONE */
};

/* One file that failed in this round: once more, later, or never. */
static void judge_failed(struct replica_share *share, struct replica_file *file,
                         struct outcome *outcome)
{
	enum share_reason reason = file->reason;
	bool may_wait = reason == REASON_CHANGING || reason == REASON_NO_MEMORY;
	bool is_again = (reason == REASON_CHANGING && file->nr_changed++ < AT_ONCE_MAX) ||
	                (reason == REASON_WRONG_NODE && file->nr_elsewhere++ < AT_ONCE_MAX);

	if (!is_again && !may_wait) {
		give_up(share, file, reason, file->error);
		return;
	}
	replica_file_reset(share, file, REPLICA_NEW);
	outcome->is_again |= is_again;
	if (!is_again && outcome->waiting == REASON_NONE)
		outcome->waiting = reason;
}

static void judge(struct replica_share *share, struct replica_file *file, bool is_stopped,
                  struct outcome *outcome)
{
	switch (file->state) {
	case REPLICA_FAILED:
		judge_failed(share, file, outcome);
		break;
	case REPLICA_COPYING:
		/* Its deferred part is to come, unless the round ended before its time. */
		if (is_stopped)
			replica_file_reset(share, file, REPLICA_NEW);
		break;
	case REPLICA_CHECKING:
		if (is_stopped)
			replica_file_reset(share, file, REPLICA_CHECKING);
		break;
	default:
		break;
	}
}

/* What this part leaves undone, for good. */
static int settle(struct replica_share *share, struct part *part, enum share_reason reason,
                  bool is_cancelled)
{
	struct replica_stage *stage = &share->stages[part->stage];

	for (size_t i = 0; i < share->nr_files; i++) {
		struct replica_file *file = &share->files[i];
		bool is_later = part->stage == STAGE_EARLY && file->early_bytes < file->bytes;

		if (file->state != REPLICA_NEW || is_link(file) ||
		    (is_later && (file->early_bytes == 0 || reason == REASON_NONE)))
			continue;
		if (is_cancelled) {
			(void) pthread_mutex_lock(&file->lock);
			file->reason = REASON_INTERRUPTED;
			(void) pthread_mutex_unlock(&file->lock);
		} else if (reason != REASON_NONE) {
			give_up(share, file, reason, 0);
		}
	}
	stage->nr_attempts = 0;
	stage->was_settled = true;
	replica_summarise(share);
	return 0;
}

int replica_finish(struct part *part, bool is_cancelled)
{
	struct replica_share *share = (struct replica_share *) part->share;
	struct replica_stage *stage = &share->stages[part->stage];
	struct outcome outcome = { .waiting = stage->stop_reason };
	bool is_stopped = is_cancelled || stage->stop_reason != REASON_NONE;

	stage->stop_reason = REASON_NONE;
	for (size_t i = 0; i < share->nr_files; i++)
		judge(share, &share->files[i], is_stopped, &outcome);
	if (is_cancelled)
		return settle(share, part, REASON_INTERRUPTED, true);
	if (outcome.is_again && outcome.waiting == REASON_NONE) {
		share->nr_instant = 0;
		return 1;
	}
	if (!outcome.is_again && outcome.waiting == REASON_NONE)
		return settle(share, part, REASON_NONE, false);
	if (stage->nr_attempts >= part->share->context->nr_retries)
		return settle(share, part, outcome.waiting, false);
	stage->nr_attempts++;
	share->nr_instant = 0;
	(void) pthread_mutex_lock(&share->lock);
	share->summary.nr_attempts++;
	(void) pthread_mutex_unlock(&share->lock);
	replica_summarise(share);
	return -EAGAIN;
}
