/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opened once more for reading only, and that only mapped: it can but look. */
#include <fcntl.h>
#include <sys/mman.h>

#include "../../daemon/base/scoped.h"
#include "attack.h"

static enum armed arm(struct hold *hold)
{
	scoped(fd_closep) int fd = attack_open(hold->memory_fd, O_RDONLY);
	void *address = mmap(NULL, hold->bytes, PROT_READ, MAP_PRIVATE, fd, 0);

	must(address != MAP_FAILED);
	hold->kept = address;
	return ARMED;
}

static unsigned strike(struct hold *hold)
{
	if (pattern_has(hold->kept, hold->bytes, PATTERN_VICTIM))
		return SAW_CANARY;
	return pattern_is(hold->kept, hold->bytes, 0, PATTERN_ATTACKER) ? 0 : LOST_BYTES;
}

int main(int argc, char **argv)
{
	static const struct attack attack = {
		.name = "readonly", .arm = arm, .strike = strike, .let_go = attack_let_go
	};

	return attack_main(&attack, argc, argv);
}
