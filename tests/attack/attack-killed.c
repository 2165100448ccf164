/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lessee dies by SIGKILL in the middle of its lease, with everything open and mapped; an
 * accomplice has a pipe with a page of it.
 */
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "attack.h"

#define PIECE_BYTES 4096

/* In the process that is killed. */
static int obey(void *arg, char order)
{
	struct hold *hold = arg;
	struct iovec piece = { .iov_base = hold->address, .iov_len = PIECE_BYTES };

	(void) order;
	must(vmsplice(hold->fds[1], &piece, 1, 0) == PIECE_BYTES);
	return 0;
}

static enum armed arm(struct hold *hold)
{
	must(pipe2(hold->fds, O_CLOEXEC | O_NONBLOCK) == 0);
	actor_start(&hold->helper, obey, hold);
	must(actor_ask(&hold->helper, 'v') == 0);
	/* From here on the lease is the other's alone. */
	hold->memory_fd = fd_close(hold->memory_fd);
	hold->lifetime_fd = fd_close(hold->lifetime_fd);
	actor_kill(&hold->helper);
	return ARMED;
}

static unsigned strike(struct hold *hold)
{
	uint64_t words[PIECE_BYTES / sizeof(uint64_t)];

	must(read(hold->fds[0], words, sizeof(words)) == sizeof(words));
	if (pattern_has(words, sizeof(words), PATTERN_VICTIM))
		return SAW_CANARY;
	return pattern_is(words, sizeof(words), 0, PATTERN_ATTACKER) ? 0 : LOST_BYTES;
}

int main(int argc, char **argv)
{
	static const struct attack attack = { .name = "killed",
		                              .arm = arm,
		                              .strike = strike,
		                              .let_go = attack_let_go,
		                              .is_hidden = true,
		                              .has_pages = true };

	return attack_main(&attack, argc, argv);
}
