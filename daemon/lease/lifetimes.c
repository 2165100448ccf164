/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "../base/idmap.h"
#include "lifetimes.h"

struct lifetimes {
	int epoll_fd;
	struct idmap fds; /* lease -> our end */
};

int lifetimes_new(struct lifetimes **ret)
{
	scoped(lifetimes_freep) struct lifetimes *lifetimes = calloc(1, sizeof(*lifetimes));

	if (!lifetimes)
		return -ENOMEM;
	lifetimes->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (lifetimes->epoll_fd < 0)
		return -errno;
	*ret = take(lifetimes);
	return 0;
}

struct lifetimes *lifetimes_free(struct lifetimes *lifetimes)
{
	if (!lifetimes)
		return NULL;
	for (size_t i = 0; i < lifetimes->fds.nr_places; i++)
		if (lifetimes->fds.ids[i] != 0)
			(void) fd_close((int) lifetimes->fds.values[i]);
	idmap_clear(&lifetimes->fds);
	(void) fd_close(lifetimes->epoll_fd);
	free(lifetimes);
	return NULL;
}

int lifetimes_fd(const struct lifetimes *lifetimes)
{
	return lifetimes->epoll_fd;
}

int lifetime_pipe(int *ret_ours, int *ret_theirs)
{
	scoped(fd_closep) int ours = -1;
	scoped(fd_closep) int theirs = -1;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	ours = ends[0];
	theirs = ends[1];
	if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	*ret_ours = take_fd(ours);
	*ret_theirs = take_fd(theirs);
	return 0;
}

bool lifetime_has_ended(int ours)
{
	struct pollfd look = { .fd = ours };
	struct stat st;

	/* What is no pipe would never hang up. */
	if (fstat(ours, &st) < 0 || !S_ISFIFO(st.st_mode))
		return true;
	return poll(&look, 1, 0) > 0;
}

int lifetimes_add(struct lifetimes *lifetimes, uint64_t id, int ours)
{
	/* No events: a hang-up is told all the same, and nothing else is. */
	struct epoll_event event = { .data.u64 = id };
	scoped(fd_closep) int fd = ours;
	int r;

	assert(!idmap_get(&lifetimes->fds, id, NULL));
	r = idmap_put(&lifetimes->fds, id, (uint64_t) fd);
	if (r < 0)
		return r;
	if (epoll_ctl(lifetimes->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
		r = -errno;
		idmap_remove(&lifetimes->fds, id);
		return r;
	}
	(void) take_fd(fd);
	return 0;
}

void lifetimes_remove(struct lifetimes *lifetimes, uint64_t id)
{
	uint64_t fd;

	if (!idmap_get(&lifetimes->fds, id, &fd))
		return;
	/* Closing alone is not enough: the service manager has the same description. */
	(void) epoll_ctl(lifetimes->epoll_fd, EPOLL_CTL_DEL, (int) fd, NULL);
	(void) fd_close((int) fd);
	idmap_remove(&lifetimes->fds, id);
}

int lifetimes_next_ended(struct lifetimes *lifetimes, uint64_t *ret_id)
{
	struct epoll_event event;

	if (epoll_wait(lifetimes->epoll_fd, &event, 1, 0) != 1)
		return 0;
	*ret_id = event.data.u64;
	lifetimes_remove(lifetimes, event.data.u64);
	return 1;
}

size_t lifetimes_nr(const struct lifetimes *lifetimes)
{
	return lifetimes->fds.nr;
}
