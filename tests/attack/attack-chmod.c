/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nobody may open the file any more; where the lessee may say so, it is another's besides. */
#include <sys/stat.h>
#include <unistd.h>

#include "attack.h"

#define NOBODY 65534

static enum armed arm(struct hold *hold)
{
	if (fchmod(hold->memory_fd, 0) < 0)
		return REFUSED;
	return fchown(hold->memory_fd, NOBODY, NOBODY) == 0 || geteuid() != 0 ? ARMED : REFUSED;
}

int main(int argc, char **argv)
{
	static const struct attack attack = { .name = "chmod", .arm = arm, .is_hidden = true };

	return attack_main(&attack, argc, argv);
}
