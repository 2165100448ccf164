/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The memory is opened once more by /proc/self/fd, and what was handed out is closed. */
#include <fcntl.h>

#include "attack.h"

static enum armed arm(struct hold *hold)
{
	hold->fds[0] = attack_open(hold->memory_fd, O_RDWR);
	return ARMED;
}

static unsigned strike(struct hold *hold)
{
	return attack_descriptor(hold, hold->fds[0]);
}

int main(int argc, char **argv)
{
	static const struct attack attack = {
		.name = "reopen", .arm = arm, .strike = strike, .let_go = attack_let_go
	};

	return attack_main(&attack, argc, argv);
}
