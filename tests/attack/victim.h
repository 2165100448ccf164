/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * victim.h - the next lessee: uses its memory as a consumer does, and notices what is wrong with it
 */
#pragma once

#include "actor.h"
#include "pages.h"

enum victim_order {
	VICTIM_MOVE_IN = 'm', /* open it by /proc, lock it, map it, look at it, write the canary */
	VICTIM_LOOK = 'l',    /* whether the canary is there still, all of it */
};

/* Answers. */
enum victim_complaint {
	VICTIM_IS_CONTENT,
	VICTIM_WRONG_SIZE,
	VICTIM_NOT_RESIDENT,
	VICTIM_CANNOT_OPEN,
	VICTIM_CANNOT_LOCK,
	VICTIM_CANNOT_MAP,
	VICTIM_NOT_ZERO,    /* bytes that it never wrote */
	VICTIM_CANARY_GONE, /* what it wrote is not there any more */
};

/* A sentence about an answer of actor_ask(). Static. */
const char *victim_text(int answer);

/* Start one with these descriptors, which are its from now on: closed here. */
void victim_start(struct actor *actor, uint64_t bytes, int memory_fd, int lifetime_fd);
