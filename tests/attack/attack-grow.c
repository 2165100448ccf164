/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file is made longer than the region. */
#include <unistd.h>

#include "attack.h"

static enum armed arm(struct hold *hold)
{
	return ftruncate(hold->memory_fd, (off_t) (2 * hold->bytes)) == 0 ? ARMED : REFUSED;
}

int main(int argc, char **argv)
{
	static const struct attack attack = { .name = "grow",
		                              .arm = arm,
		                              .is_hidden = true,
		                              .refused_pages = PAGES_BIT(PAGES_BASE) |
		                                               PAGES_BIT(PAGES_HUGETLB) };

	return attack_main(&attack, argc, argv);
}
