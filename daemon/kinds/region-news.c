/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is told of regions that come and go. Each memory has a note of its own, which waits in line
 * once, whatever has changed since; so there are no more of them than pieces of memory, and telling
 * that something is gone cannot fail for want of memory.
 */
#include <errno.h>
#include <fcntl.h>

#include "region-share.h"

int region_note_new(const struct share *share, uint64_t bytes, struct region_note **ret)
{
	struct region_note *note;

	if (!share->context->last_region_id) {
		*ret = NULL;
		return 0;
	}
	note = calloc(1, sizeof(*note));
	if (!note)
		return -ENOMEM;
	note->bytes = bytes;
	note->fd = -1;
	*ret = note;
	return 0;
}

struct region_note *region_note_free(struct region_note *note)
{
	if (!note)
		return NULL;
	note->fd = fd_close(note->fd);
	free(note);
	return NULL;
}

/* With the lock. */
static void note_queue(struct region_share *regions, struct region_note *note)
{
	if (note->is_queued)
		return;
	note->is_queued = true;
	TAILQ_INSERT_TAIL(&regions->news, note, link);
}

void region_note_made(struct region_share *regions, struct region_note *note, int fd)
{
	if (!note)
		return;
	note->id = atomic_fetch_add_explicit(regions->share.context->last_region_id, 1,
	                                     memory_order_relaxed) +
	           1;
	/* Here and not when it is told: by then the worker may be about to close it. */
	note->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	region_share_lock(regions);
	note_queue(regions, note);
	region_share_unlock(regions);
}

void region_note_ready(struct region_share *regions, struct region_note *note)
{
	if (!note)
		return;
	note->is_ready = true;
	note_queue(regions, note);
}

void region_note_gone(struct region_share *regions, struct region_note *note)
{
	if (!note)
		return;
	region_share_lock(regions);
	note->is_gone = true;
	note_queue(regions, note);
	region_share_unlock(regions);
}

/* The next thing to tell of it. Return: false, nothing any more. */
static bool note_next(struct region_note *note, struct region_news *ret)
{
	*ret = (struct region_news){ .id = note->id, .bytes = note->bytes, .fd = -1 };
	/* What came and went unseen never was. */
	if (!note->is_made_told && note->is_gone)
		return false;
	if (!note->is_made_told) {
		note->is_made_told = true;
		ret->change = REGION_WAS_MADE;
		ret->fd = take_fd(note->fd);
		return true;
	}
	if (note->is_gone) {
		ret->change = REGION_IS_GONE;
		return true;
	}
	if (note->is_ready && !note->is_ready_told) {
		note->is_ready_told = true;
		ret->change = REGION_BECAME_READY;
		return true;
	}
	return false;
}

bool region_next_news(struct share *share, struct region_news *ret)
{
	struct region_share *regions = (struct region_share *) share;
	struct region_note *note;
	struct region_news news;
	bool is_news = false;

	region_share_lock(regions);
	while (!is_news && (note = TAILQ_FIRST(&regions->news))) {
		is_news = note_next(note, &news);
		if (is_news && news.change != REGION_IS_GONE)
			break;
		TAILQ_REMOVE(&regions->news, note, link);
		note->is_queued = false;
		if (note->is_gone)
			region_note_free(note);
	}
	region_share_unlock(regions);
	if (is_news)
		*ret = news;
	return is_news;
}

void region_news_clear(struct region_share *regions)
{
	struct region_note *note;

	while ((note = TAILQ_FIRST(&regions->news))) {
		TAILQ_REMOVE(&regions->news, note, link);
		region_note_free(note);
	}
}
