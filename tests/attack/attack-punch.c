/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Holes are punched: into its own memory, and then into what is the next lessee's. */
#include <fcntl.h>

#include "attack.h"

static int punch(int fd, uint64_t bytes)
{
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t) bytes);
}

static enum armed arm(struct hold *hold)
{
	hold->fds[0] = fcntl(hold->memory_fd, F_DUPFD_CLOEXEC, 0);
	must(hold->fds[0] >= 0);
	must(punch(hold->fds[0], hold->pages->page_bytes) == 0);
	return ARMED;
}

static unsigned strike(struct hold *hold)
{
	must(punch(hold->fds[0], hold->bytes) == 0);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct attack attack = {
		.name = "punch", .arm = arm, .strike = strike, .let_go = attack_let_go
	};

	return attack_main(&attack, argc, argv);
}
