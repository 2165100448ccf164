/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * naive.h - a landlord as one would write it at first: one region, zeroed in place when it comes
 * back, and handed out again
 *
 * It is here to be broken: an attack that does nothing to it proves nothing about the daemon.
 */
#pragma once

#include "pages.h"

struct naive {
	uint64_t bytes;
	int memory_fd;
	int lifetime_fd; /* of the lease; -1: none */
};

void naive_start(struct naive *naive, const struct pages *pages, uint64_t bytes);

/* Lease it: descriptors of the caller. */
void naive_lease(struct naive *naive, int *ret_memory_fd, int *ret_lifetime_fd);

/* Wait until every copy of the lifetime is closed, then make it ready for the next. */
void naive_take_back(struct naive *naive);

void naive_stop(struct naive *naive);
