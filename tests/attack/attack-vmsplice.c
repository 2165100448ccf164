/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two pages are put into a pipe, one lent, one as a gift: the kernel tells nobody of that. */
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "attack.h"

#define PIECE_BYTES 4096

static enum armed arm(struct hold *hold)
{
	uint64_t step_bytes = (uint64_t) sysconf(_SC_PAGESIZE);
	struct iovec lent = { .iov_base = hold->address, .iov_len = PIECE_BYTES };
	struct iovec gift = { .iov_base = hold->address + step_bytes, .iov_len = step_bytes };

	must(pipe2(hold->fds, O_CLOEXEC | O_NONBLOCK) == 0);
	must(vmsplice(hold->fds[1], &lent, 1, 0) == PIECE_BYTES);
	must(vmsplice(hold->fds[1], &gift, 1, SPLICE_F_GIFT) == (ssize_t) step_bytes);
	return ARMED;
}

static unsigned strike(struct hold *hold)
{
	uint64_t words[PIECE_BYTES / sizeof(uint64_t)];
	unsigned found = 0;
	ssize_t bytes;

	while ((bytes = read(hold->fds[0], words, sizeof(words))) > 0)
		if (pattern_has(words, (uint64_t) bytes, PATTERN_VICTIM))
			found |= SAW_CANARY;
		else if (!pattern_has(words, (uint64_t) bytes, PATTERN_ATTACKER))
			found |= LOST_BYTES;
	return found;
}

int main(int argc, char **argv)
{
	static const struct attack attack = { .name = "vmsplice",
		                              .arm = arm,
		                              .strike = strike,
		                              .let_go = attack_let_go,
		                              .is_hidden = true,
		                              .has_pages = true };

	return attack_main(&attack, argc, argv);
}
