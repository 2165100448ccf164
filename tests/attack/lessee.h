/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lessee.h - the first lessee, who carries out an attack
 */
#pragma once

#include "attack.h"

enum lessee_order {
	LESSEE_LIVE = 'l',   /* answers enum armed */
	LESSEE_STRIKE = 's', /* answers what strike() found */
	LESSEE_LET_GO = 'g',
};

struct lessee {
	const struct attack *attack;
	struct hold hold;
};

/* Start it with these descriptors, which are its from now on: closed here. */
void lessee_start(struct actor *actor, const struct attack *attack, const struct pages *pages,
                  uint64_t bytes, int memory_fd, int lifetime_fd);
