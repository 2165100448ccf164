/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A descriptor with O_PATH is kept, which counts as nobody's having the file open, and opened in
 * earnest once the memory is somebody else's.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "attack.h"

static enum armed arm(struct hold *hold)
{
	hold->fds[0] = attack_open(hold->memory_fd, O_PATH);
	return ARMED;
}

static unsigned strike(struct hold *hold)
{
	unsigned found = 0;
	struct stat st;

	hold->fds[1] = attack_open(hold->fds[0], O_RDWR);
	must(fstat(hold->fds[1], &st) == 0);
	if (st.st_blocks > 0)
		found |= KEPT_PAGES;
	return found | attack_descriptor(hold, hold->fds[1]);
}

int main(int argc, char **argv)
{
	static const struct attack attack = { .name = "opath",
		                              .arm = arm,
		                              .strike = strike,
		                              .let_go = attack_let_go,
		                              .is_hidden = true };

	return attack_main(&attack, argc, argv);
}
