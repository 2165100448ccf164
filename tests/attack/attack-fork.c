/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A child that was forked meanwhile has the mapping, the lessee has nothing. */
#include "../../daemon/base/scoped.h"
#include "attack.h"

enum child_order { CHILD_CLOSE = 'c', CHILD_STRIKE = 's' };

/* The child has all the lessee has; the lifetime would give it away. */
static int obey(void *arg, char order)
{
	struct hold *hold = arg;

	if (order == CHILD_STRIKE)
		return (int) attack_bytes(hold->address, hold->bytes);
	hold->memory_fd = fd_close(hold->memory_fd);
	hold->lifetime_fd = fd_close(hold->lifetime_fd);
	return 0;
}

static enum armed arm(struct hold *hold)
{
	actor_start(&hold->helper, obey, hold);
	must(actor_ask(&hold->helper, CHILD_CLOSE) == 0);
	return ARMED;
}

static unsigned strike(struct hold *hold)
{
	int found = actor_ask(&hold->helper, CHILD_STRIKE);

	must(found >= 0);
	return (unsigned) found;
}

static void let_go(struct hold *hold)
{
	actor_end(&hold->helper);
}

int main(int argc, char **argv)
{
	static const struct attack attack = {
		.name = "fork", .arm = arm, .strike = strike, .let_go = let_go
	};

	return attack_main(&attack, argc, argv);
}
