/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Only a descriptor with O_PATH is kept, and by that the file is opened and closed without end,
 * while the landlord finds out whether somebody has it: each time that the kernel is in the middle
 * of saying no, it sends the landlord SIGIO.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "../../daemon/base/scoped.h"
#include "attack.h"

static int open_without_end(void *arg, char order)
{
	const struct hold *hold = arg;

	(void) order;
	while (fd_close(attack_open(hold->fds[0], O_RDWR)) == -1)
		;
	return 0;
}

static enum armed arm(struct hold *hold)
{
	hold->fds[0] = attack_open(hold->memory_fd, O_PATH);
	hold->memory_fd = fd_close(hold->memory_fd);
	hold->lifetime_fd = fd_close(hold->lifetime_fd);
	must(munmap(take(hold->address), hold->bytes) == 0);
	actor_start(&hold->helper, open_without_end, hold);
	actor_tell(&hold->helper, 'o');
	return ARMED;
}

static unsigned strike(struct hold *hold)
{
	/* Whether what it finds there is still its own is a matter of the moment. */
	hold->fds[1] = attack_open(hold->fds[0], O_RDWR);
	return attack_descriptor(hold, hold->fds[1]) & SAW_CANARY;
}

static void let_go(struct hold *hold)
{
	actor_kill(&hold->helper);
	attack_let_go(hold);
}

int main(int argc, char **argv)
{
	static const struct attack attack = { .name = "opening",
		                              .arm = arm,
		                              .strike = strike,
		                              .let_go = let_go,
		                              .is_erratic = true };

	return attack_main(&attack, argc, argv);
}
