/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "actor.h"
#include "uring.h"

static int setup(struct io_uring_params *params)
{
	memset(params, 0, sizeof(*params));
	return (int) syscall(SYS_io_uring_setup, 1, params);
}

const char *uring_why_not(void)
{
	struct io_uring_params params;
	int fd = setup(&params);

	if (fd < 0)
		return errno == EPERM ? "io_uring is switched off (kernel.io_uring_disabled, or a "
		                        "seccomp filter)"
		                      : "this kernel has no io_uring";
	(void) close(fd);
	return NULL;
}

static size_t submissions_bytes(const struct uring *uring)
{
	return uring->params.sq_off.array + uring->params.sq_entries * sizeof(unsigned);
}

static size_t completions_bytes(const struct uring *uring)
{
	return uring->params.cq_off.cqes + uring->params.cq_entries * sizeof(struct io_uring_cqe);
}

static void *map(const struct uring *uring, size_t bytes, off_t what)
{
	void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
	                     uring->fd, what);

	must(address != MAP_FAILED);
	return address;
}

void uring_open(struct uring *uring)
{
	uring->fd = setup(&uring->params);
	must(uring->fd >= 0);
	uring->submissions = map(uring, submissions_bytes(uring), IORING_OFF_SQ_RING);
	uring->completions = map(uring, completions_bytes(uring), IORING_OFF_CQ_RING);
	uring->entry = map(uring, sizeof(*uring->entry), IORING_OFF_SQES);
}

void uring_close(struct uring *uring)
{
	/* What is registered would otherwise be let go some time later. */
	(void) syscall(SYS_io_uring_register, uring->fd, IORING_UNREGISTER_BUFFERS, NULL, 0);
	(void) syscall(SYS_io_uring_register, uring->fd, IORING_UNREGISTER_FILES, NULL, 0);
	(void) munmap(uring->submissions, submissions_bytes(uring));
	(void) munmap(uring->completions, completions_bytes(uring));
	(void) munmap(uring->entry, sizeof(*uring->entry));
	uring->fd = fd_close(uring->fd);
}

static int enroll(struct uring *uring, unsigned what, const void *argument)
{
	return syscall(SYS_io_uring_register, uring->fd, what, argument, 1) < 0 ? -errno : 0;
}

int uring_register_buffer(struct uring *uring, void *address, uint64_t bytes)
{
	struct iovec buffer = { .iov_base = address, .iov_len = bytes };

	return enroll(uring, IORING_REGISTER_BUFFERS, &buffer);
}

int uring_register_file(struct uring *uring, int fd)
{
	return enroll(uring, IORING_REGISTER_FILES, &fd);
}

static _Atomic unsigned *counter(void *ring, unsigned offset_bytes)
{
	return (_Atomic unsigned *) ((char *) ring + offset_bytes);
}

int uring_do(struct uring *uring, const struct io_uring_sqe *entry)
{
	const struct io_uring_params *params = &uring->params;
	const struct io_uring_cqe *completions =
		(struct io_uring_cqe *) ((char *) uring->completions + params->cq_off.cqes);
	_Atomic unsigned *tail = counter(uring->submissions, params->sq_off.tail);
	_Atomic unsigned *head = counter(uring->completions, params->cq_off.head);
	unsigned at = atomic_load(head);
	int result;

	/* The one entry is number 0, which is what the array says from the start. */
	*uring->entry = *entry;
	(void) atomic_fetch_add(tail, 1);
	must(syscall(SYS_io_uring_enter, uring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	must(atomic_load(counter(uring->completions, params->cq_off.tail)) != at);
	result = completions[at & (params->cq_entries - 1)].res;
	atomic_store(head, at + 1);
	return result;
}
