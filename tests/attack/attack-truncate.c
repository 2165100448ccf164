/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file is cut off before the next lessee gets it. */
#include <fcntl.h>
#include <unistd.h>

#include "attack.h"

static enum armed arm(struct hold *hold)
{
	hold->fds[0] = fcntl(hold->memory_fd, F_DUPFD_CLOEXEC, 0);
	must(hold->fds[0] >= 0);
	return ftruncate(hold->fds[0], (off_t) hold->pages->page_bytes) == 0 ? ARMED : REFUSED;
}

static unsigned strike(struct hold *hold)
{
	(void) ftruncate(hold->fds[0], 0);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct attack attack = { .name = "truncate",
		                              .arm = arm,
		                              .strike = strike,
		                              .let_go = attack_let_go,
		                              .refused_pages = PAGES_BIT(PAGES_BASE) |
		                                               PAGES_BIT(PAGES_HUGETLB) };

	return attack_main(&attack, argc, argv);
}
