/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "book-faults.h"
#include "fake-regions.h"

struct book_faults book_faults;

ssize_t __real_pwrite64(int fd, const void *bytes, size_t nr_bytes, off_t offset);
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t nr_bytes, off_t offset);
int __real_pipe2(int ends[2], int flags);
int __wrap_pipe2(int ends[2], int flags);
int __real_epoll_ctl(int epoll_fd, int what, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll_fd, int what, int fd, struct epoll_event *event);
void *__real_calloc(size_t nr, size_t nr_bytes);
void *__wrap_calloc(size_t nr, size_t nr_bytes);
void *__real_reallocarray(void *memory, size_t nr, size_t nr_bytes);
void *__wrap_reallocarray(void *memory, size_t nr, size_t nr_bytes);

ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t nr_bytes, off_t offset)
{
	if (book_faults.write_error) {
		if (book_faults.nr_writes_before == 0) {
			errno = book_faults.write_error;
			return -1;
		}
		book_faults.nr_writes_before--;
	}
	return fake_step() ? __real_pwrite64(fd, bytes, nr_bytes, offset) : (ssize_t) nr_bytes;
}

int __wrap_pipe2(int ends[2], int flags)
{
	errno = book_faults.pipe_error;
	return errno ? -1 : __real_pipe2(ends, flags);
}

int __wrap_epoll_ctl(int epoll_fd, int what, int fd, struct epoll_event *event)
{
	errno = book_faults.watch_error;
	return errno && what == EPOLL_CTL_ADD ? -1 : __real_epoll_ctl(epoll_fd, what, fd, event);
}

static bool has_memory(void)
{
	if (!book_faults.has_no_memory)
		return true;
	if (book_faults.nr_memory_before > 0) {
		book_faults.nr_memory_before--;
		return true;
	}
	if (book_faults.nr_memory_failures > 0 && --book_faults.nr_memory_failures == 0)
		book_faults.has_no_memory = false;
	return false;
}

void *__wrap_calloc(size_t nr, size_t nr_bytes)
{
	return has_memory() ? __real_calloc(nr, nr_bytes) : NULL;
}

void *__wrap_reallocarray(void *memory, size_t nr, size_t nr_bytes)
{
	return has_memory() ? __real_reallocarray(memory, nr, nr_bytes) : NULL;
}
