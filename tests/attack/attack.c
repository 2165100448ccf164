/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "attack.h"
#include "lessee.h"

static sigjmp_buf out_of_strike;

static void on_bus_error(int signal)
{
	(void) signal;
	siglongjmp(out_of_strike, 1);
}

unsigned attack_bytes(void *address, uint64_t bytes)
{
	unsigned found = 0;

	if (pattern_has(address, bytes, PATTERN_VICTIM))
		found |= SAW_CANARY;
	else if (!pattern_is(address, bytes, 0, PATTERN_ATTACKER))
		found |= LOST_BYTES;
	pattern_write(address, bytes, 0, PATTERN_ATTACKER);
	return found;
}

unsigned attack_descriptor(const struct hold *hold, int fd)
{
	void *address = mmap(NULL, hold->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	unsigned found;

	if (address == MAP_FAILED)
		return 0;
	found = attack_bytes(address, hold->bytes);
	(void) munmap(address, hold->bytes);
	return found;
}

int attack_open(int fd, int flags)
{
	char path[32];
	int opened;

	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opened = open(path, flags | O_CLOEXEC);
	must(opened >= 0);
	return opened;
}

void attack_let_go(struct hold *hold)
{
	for (size_t i = 0; i < ELEMENTS(hold->fds); i++)
		hold->fds[i] = fd_close(hold->fds[i]);
	if (hold->kept)
		(void) munmap(take(hold->kept), hold->bytes);
}

/* The lease begins, and it ends, as far as anybody can tell. */
static enum armed live(struct lessee *lessee)
{
	struct hold *hold = &lessee->hold;
	enum armed armed;

	hold->address =
		mmap(NULL, hold->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, hold->memory_fd, 0);
	must(hold->address != MAP_FAILED);
	pattern_write(hold->address, hold->bytes, 0, PATTERN_ATTACKER);
	armed = lessee->attack->arm(hold);
	if (hold->address)
		(void) munmap(take(hold->address), hold->bytes);
	hold->memory_fd = fd_close(hold->memory_fd);
	hold->lifetime_fd = fd_close(hold->lifetime_fd);
	return armed;
}

static unsigned strike(struct lessee *lessee)
{
	if (!lessee->attack->strike)
		return 0;
	if (sigsetjmp(out_of_strike, 1))
		return WAS_SIGNALLED;
	(void) signal(SIGBUS, on_bus_error);
	return lessee->attack->strike(&lessee->hold);
}

static int obey(void *arg, char order)
{
	struct lessee *lessee = arg;

	switch (order) {
	case LESSEE_LIVE:
		return (int) live(lessee);
	case LESSEE_STRIKE:
		return (int) strike(lessee);
	default:
		if (lessee->attack->let_go)
			lessee->attack->let_go(&lessee->hold);
		return 0;
	}
}

void lessee_start(struct actor *actor, const struct attack *attack, const struct pages *pages,
                  uint64_t bytes, int memory_fd, int lifetime_fd)
{
	struct lessee lessee = { .attack = attack,
		                 .hold = { .pages = pages,
		                           .bytes = bytes,
		                           .memory_fd = memory_fd,
		                           .lifetime_fd = lifetime_fd,
		                           .fds = { -1, -1 } } };

	actor_start(actor, obey, &lessee);
	(void) close(memory_fd);
	(void) close(lifetime_fd);
}
