/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A page of the file itself is in a pipe, by splice(2). */
#include <fcntl.h>
#include <unistd.h>

#include "attack.h"

#define PIECE_BYTES 4096

static enum armed arm(struct hold *hold)
{
	off_t offset = 0;

	must(pipe2(hold->fds, O_CLOEXEC | O_NONBLOCK) == 0);
	if (splice(hold->memory_fd, &offset, hold->fds[1], NULL, PIECE_BYTES, 0) != PIECE_BYTES)
		return REFUSED;
	return ARMED;
}

static unsigned strike(struct hold *hold)
{
	uint64_t words[PIECE_BYTES / sizeof(uint64_t)];

	/* A page that was taken out of the file meanwhile may be gone from the pipe, too. */
	if (read(hold->fds[0], words, sizeof(words)) != sizeof(words))
		return 0;
	return pattern_has(words, sizeof(words), PATTERN_VICTIM) ? SAW_CANARY : 0;
}

int main(int argc, char **argv)
{
	static const struct attack attack = {
		.name = "splice",
		.arm = arm,
		.strike = strike,
		.let_go = attack_let_go,
		.is_hidden = true,
		.tame = { [PAGES_HUGETLB] =
		                  "splice(2) out of hugetlbfs copies, or does not work at all" },
	};

	return attack_main(&attack, argc, argv);
}
