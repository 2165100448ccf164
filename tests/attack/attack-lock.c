/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file is locked, by flock(2) and by a lock of the open file description. */
#include <fcntl.h>
#include <sys/file.h>

#include "attack.h"

static enum armed arm(struct hold *hold)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	hold->fds[0] = attack_open(hold->memory_fd, O_RDWR);
	must(flock(hold->fds[0], LOCK_EX) == 0);
	must(fcntl(hold->fds[0], F_OFD_SETLK, &whole) == 0);
	return ARMED;
}

int main(int argc, char **argv)
{
	static const struct attack attack = { .name = "lock", .arm = arm, .let_go = attack_let_go };

	return attack_main(&attack, argc, argv);
}
