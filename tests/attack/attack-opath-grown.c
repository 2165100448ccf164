/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The file is made longer and filled there, where the landlord does not look, and kept by a
 * descriptor with O_PATH, which does not count: memory that is in nobody's books.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attack.h"

static enum armed arm(struct hold *hold)
{
	if (ftruncate(hold->memory_fd, (off_t) (2 * hold->bytes)) < 0)
		return REFUSED;
	must(fallocate(hold->memory_fd, 0, (off_t) hold->bytes, (off_t) hold->bytes) == 0);
	hold->fds[0] = attack_open(hold->memory_fd, O_PATH);
	return ARMED;
}

static unsigned strike(struct hold *hold)
{
	struct stat st;

	if (hold->fds[0] < 0)
		return 0;
	hold->fds[1] = attack_open(hold->fds[0], O_RDWR);
	must(fstat(hold->fds[1], &st) == 0);
	return st.st_blocks > 0 ? KEPT_PAGES : 0;
}

int main(int argc, char **argv)
{
	static const struct attack attack = { .name = "opath-grown",
		                              .arm = arm,
		                              .strike = strike,
		                              .let_go = attack_let_go,
		                              .is_hidden = true,
		                              .refused_pages = PAGES_BIT(PAGES_BASE) |
		                                               PAGES_BIT(PAGES_HUGETLB) };

	return attack_main(&attack, argc, argv);
}
