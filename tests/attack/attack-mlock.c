/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A page is locked into memory, and only its mapping is kept. */
#include <sys/mman.h>

#include "../../daemon/base/scoped.h"
#include "attack.h"

static enum armed arm(struct hold *hold)
{
	must(mlock(hold->address, hold->pages->page_bytes) == 0);
	hold->kept = take(hold->address);
	must(munmap(hold->kept + hold->pages->page_bytes, hold->bytes - hold->pages->page_bytes) ==
	     0);
	return ARMED;
}

static unsigned strike(struct hold *hold)
{
	return attack_bytes(hold->kept, hold->pages->page_bytes);
}

int main(int argc, char **argv)
{
	static const struct attack attack = {
		.name = "mlock", .arm = arm, .strike = strike, .let_go = attack_let_go
	};

	return attack_main(&attack, argc, argv);
}
