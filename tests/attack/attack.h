/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * attack.h - what a former lessee does with what it kept
 *
 * A row of the suite is a program: it fills in struct attack and calls attack_main(). That has two
 * tests. In the first the landlord is naive (naive.h), and the attack must do harm, or it is no
 * test of anything. In the second it is the daemon, and nobody may be harmed.
 *
 *     lessee: writes its pattern, arm(), ends its lease by closing all it can
 *     next lessees: move in, write their canary
 *     former lessee: strike()
 *     next lessees: look at their canary
 *     former lessee: let_go()
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "actor.h"
#include "pages.h"
#include "pattern.h"

/* The former lessee. What arm() takes away (sets to -1 or NULL) survives the end of the lease. */
struct hold {
	const struct pages *pages;
	uint64_t bytes;
	int memory_fd;
	int lifetime_fd;
	char *address; /* mapping of all of it, full of PATTERN_ATTACKER */

	/* For arm() to put things into. */
	int fds[2];
	char *kept;
	struct actor helper;
};

/* What came of arm(): it did what it wanted, or the kernel did not let it. */
enum armed { ARMED, REFUSED };

/* What strike() found, as bits. */
enum {
	SAW_CANARY = 1,   /* bytes of the next lessee */
	LOST_BYTES = 2,   /* its own ones are gone, though it holds them */
	KEPT_PAGES = 4,   /* memory that the landlord thinks it has given back */
	WAS_SIGNALLED = 8 /* SIGBUS: nothing is there any more */
};

#define PAGES_BIT(kind) (1U << (kind))

struct attack {
	const char *name;
	enum armed (*arm)(struct hold *hold);
	unsigned (*strike)(struct hold *hold); /* NULL: the harm is done already */
	void (*let_go)(struct hold *hold);     /* NULL: it has nothing */

	/* Why it cannot run on this machine, or NULL. */
	const char *(*why_not)(void);
	/*
	 * Nothing shows that it holds something: the landlord thinks that the memory is free. Of
	 * others the kernel knows as long as they have not let go.
	 */
	bool is_hidden;
	/* It holds pages themselves, and not the file: nobody else gets them, in whatever file. */
	bool has_pages;
	/* Comes and goes: whether it shows is a matter of the moment. */
	bool is_erratic;
	/* Pages for which the daemon's regions must refuse arm(). */
	unsigned refused_pages;
	/* Why the naive landlord's lessees come to no harm, by kind of page; else NULL. */
	const char *tame[3];
};

int attack_main(const struct attack *attack, int argc, char **argv);

/* For strike(): what is to be seen in @address, and then write over it. */
unsigned attack_bytes(void *address, uint64_t bytes);

/* The same, by a new mapping of a descriptor. */
unsigned attack_descriptor(const struct hold *hold, int fd);

/* Another open file description of what @fd has, with @flags of open(2). Ends by must(). */
int attack_open(int fd, int flags);

/* For let_go(): close the fds and unmap what is kept. */
void attack_let_go(struct hold *hold);
