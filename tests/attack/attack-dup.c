/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A duplicate of the descriptor is kept. */
#include <fcntl.h>

#include "attack.h"

static enum armed arm(struct hold *hold)
{
	hold->fds[0] = fcntl(hold->memory_fd, F_DUPFD_CLOEXEC, 0);
	must(hold->fds[0] >= 0);
	return ARMED;
}

static unsigned strike(struct hold *hold)
{
	return attack_descriptor(hold, hold->fds[0]);
}

int main(int argc, char **argv)
{
	static const struct attack attack = {
		.name = "dup", .arm = arm, .strike = strike, .let_go = attack_let_go
	};

	return attack_main(&attack, argc, argv);
}
