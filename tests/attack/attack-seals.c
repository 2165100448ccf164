/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file is sealed against writing, for good. */
#include <fcntl.h>
#include <sys/mman.h>

#include "../../daemon/base/scoped.h"
#include "attack.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static enum armed arm(struct hold *hold)
{
	static const int seals[] = { F_SEAL_WRITE, F_SEAL_FUTURE_WRITE, F_SEAL_SEAL };
	enum armed armed = REFUSED;

	/* Nothing is sealed against writing that somebody has mapped for it. */
	(void) munmap(take(hold->address), hold->bytes);
	for (size_t i = 0; i < ELEMENTS(seals); i++)
		if (fcntl(hold->memory_fd, F_ADD_SEALS, seals[i]) == 0)
			armed = ARMED;
	return armed;
}

int main(int argc, char **argv)
{
	static const struct attack attack = {
		.name = "seals",
		.arm = arm,
		.is_hidden = true,
		.refused_pages =
			PAGES_BIT(PAGES_BASE) | PAGES_BIT(PAGES_THP) | PAGES_BIT(PAGES_HUGETLB),
		.tame = { [PAGES_THP] = "a file of a mounted tmpfs takes no seals" },
	};

	return attack_main(&attack, argc, argv);
}
