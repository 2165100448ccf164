/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* It takes the kernel's lease on the file itself (F_SETLEASE): who opens it has to wait. */
#include <fcntl.h>
#include <signal.h>

#include "attack.h"

static enum armed take_lease(int fd)
{
	return fcntl(fd, F_SETLEASE, F_WRLCK) == 0 || fcntl(fd, F_SETLEASE, F_RDLCK) == 0 ? ARMED
	                                                                                  : REFUSED;
}

static enum armed arm(struct hold *hold)
{
	(void) signal(SIGIO, SIG_IGN);
	hold->fds[0] = attack_open(hold->memory_fd, O_RDWR);
	return take_lease(hold->fds[0]);
}

static unsigned strike(struct hold *hold)
{
	(void) take_lease(hold->fds[0]);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct attack attack = {
		.name = "lease",
		.arm = arm,
		.strike = strike,
		.let_go = attack_let_go,
		.refused_pages =
			PAGES_BIT(PAGES_BASE) | PAGES_BIT(PAGES_THP) | PAGES_BIT(PAGES_HUGETLB),
		.tame = { [PAGES_THP] = "the landlord's own descriptor is in the way" },
	};

	return attack_main(&attack, argc, argv);
}
