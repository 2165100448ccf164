/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "actor.h"
#include "naive.h"

#define LIMIT_MSEC 20000

/* What the lessee has cut off or sealed is left alone: nobody told this one of such things. */
static void zero_in_place(const struct naive *naive)
{
	struct stat st;
	uint64_t bytes;
	void *address;

	must(fstat(naive->memory_fd, &st) == 0);
	bytes = bytes_min((uint64_t) st.st_size, naive->bytes);
	if (bytes == 0)
		return;
	address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, naive->memory_fd, 0);
	if (address == MAP_FAILED)
		return;
	memset(address, 0, bytes);
	(void) munmap(address, bytes);
}

void naive_start(struct naive *naive, const struct pages *pages, uint64_t bytes)
{
	naive->bytes = bytes;
	naive->lifetime_fd = -1;
	naive->memory_fd = pages_file(pages, bytes);
	zero_in_place(naive);
}

void naive_lease(struct naive *naive, int *ret_memory_fd, int *ret_lifetime_fd)
{
	int ends[2];

	must(naive->lifetime_fd < 0);
	must(pipe2(ends, O_CLOEXEC) == 0);
	naive->lifetime_fd = ends[0];
	*ret_lifetime_fd = ends[1];
	*ret_memory_fd = fcntl(naive->memory_fd, F_DUPFD_CLOEXEC, 0);
	must(*ret_memory_fd >= 0);
}

void naive_take_back(struct naive *naive)
{
	struct pollfd lifetime = { .fd = naive->lifetime_fd };

	must(poll(&lifetime, 1, LIMIT_MSEC) == 1 && lifetime.revents & POLLHUP);
	naive->lifetime_fd = fd_close(naive->lifetime_fd);
	zero_in_place(naive);
}

void naive_stop(struct naive *naive)
{
	naive->lifetime_fd = fd_close(naive->lifetime_fd);
	naive->memory_fd = fd_close(naive->memory_fd);
}
