/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lifetime is brought back: its pipe is kept by descriptors that are no writing end, and opened
 * for writing once the lease is over; so is the memory.
 */
#include <fcntl.h>
#include <unistd.h>

#include "attack.h"

/* They stay open to the end: they are no lease any more. */
static int reader = -1, writer = -1;

static enum armed arm(struct hold *hold)
{
	reader = attack_open(hold->lifetime_fd, O_RDONLY | O_NONBLOCK);
	hold->fds[0] = attack_open(hold->memory_fd, O_RDWR);
	hold->fds[1] = attack_open(hold->lifetime_fd, O_PATH);
	return ARMED;
}

static unsigned strike(struct hold *hold)
{
	writer = attack_open(hold->fds[1], O_WRONLY | O_NONBLOCK);
	must(write(writer, "back", 4) == 4);
	return attack_descriptor(hold, hold->fds[0]);
}

int main(int argc, char **argv)
{
	static const struct attack attack = {
		.name = "lifetime", .arm = arm, .strike = strike, .let_go = attack_let_go
	};

	return attack_main(&attack, argc, argv);
}
