/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The descriptor is a registered file of an io_uring: no process has it in its table. */
#include <string.h>
#include <sys/mman.h>

#include "../../daemon/base/scoped.h"
#include "attack.h"
#include "uring.h"

#define PIECE_BYTES 4096

static struct uring uring;

static enum armed arm(struct hold *hold)
{
	uring_open(&uring);
	must(uring_register_file(&uring, hold->memory_fd) == 0);
	return ARMED;
}

static int carry(unsigned char opcode, void *words)
{
	struct io_uring_sqe entry = { .opcode = opcode,
		                      .flags = IOSQE_FIXED_FILE,
		                      .fd = 0, /* the number in the table of the ring */
		                      .addr = (uintptr_t) words,
		                      .len = PIECE_BYTES };

	return uring_do(&uring, &entry);
}

static unsigned strike(struct hold *hold)
{
	uint64_t words[PIECE_BYTES / sizeof(uint64_t)];
	unsigned found;

	must(carry(IORING_OP_READ, words) == PIECE_BYTES);
	found = attack_bytes(words, sizeof(words));
	/* hugetlbfs has no write(2): there it can but look. */
	must(carry(IORING_OP_WRITE, words) == PIECE_BYTES || hold->pages->kind == PAGES_HUGETLB);
	return found;
}

static void let_go(struct hold *hold)
{
	(void) hold;
	uring_close(&uring);
}

int main(int argc, char **argv)
{
	static const struct attack attack = { .name = "uring-file",
		                              .arm = arm,
		                              .strike = strike,
		                              .let_go = let_go,
		                              .why_not = uring_why_not };

	return attack_main(&attack, argc, argv);
}
