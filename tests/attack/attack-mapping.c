/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The mapping is kept when everything else is closed. */
#include "../../daemon/base/scoped.h"
#include "attack.h"

static enum armed arm(struct hold *hold)
{
	hold->kept = take(hold->address);
	return ARMED;
}

static unsigned strike(struct hold *hold)
{
	return attack_bytes(hold->kept, hold->bytes);
}

int main(int argc, char **argv)
{
	static const struct attack attack = {
		.name = "mapping", .arm = arm, .strike = strike, .let_go = attack_let_go
	};

	return attack_main(&attack, argc, argv);
}
