/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* No attack: closes everything, keeps nothing. What harm the others do is theirs, not the test's.
 */
#include "attack.h"

#define NOTHING_IS_DONE "nothing is done to it"

static enum armed arm(struct hold *hold)
{
	(void) hold;
	return ARMED;
}

int main(int argc, char **argv)
{
	static const struct attack attack = {
		.name = "honest",
		.arm = arm,
		.is_hidden = true,
		.tame = { NOTHING_IS_DONE, NOTHING_IS_DONE, NOTHING_IS_DONE },
	};

	return attack_main(&attack, argc, argv);
}
