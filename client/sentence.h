/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sentence.h - what the model says, in words
 *
 * Everything returned is safe for a terminal and freed by the caller; NULL when out of memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model.h"

/*
 * How far the host is, or the pools called @names (ends with NULL; empty or NULL: the host):
 * "deferred, 42 %, 1.2 TiB of 4 TiB, 12 GiB/s, 3:12 left". No line break.
 */
char *sentence_progress(const struct model *model, char *const *names);

/*
 * What is missing of @pool, one line per node that did not reach its part, ends with a line break:
 * "pool guests, node 1: failed, 1.2 GiB of 4 GiB missing (fragmented)". Reasons of memory blocks
 * and of copies of files are explained behind their word.
 */
char *sentence_missing(const struct pool *pool);

/*
 * A pool of copies is less than ready though no node lacks anything: some of its Paths= came to
 * nothing. REASON has the sort of one of them; which they are, the plan and the daemon's log say.
 */
bool sentence_has_refused_paths(const struct pool *pool);
#define SENTENCE_REFUSED_PATHS \
	"some or all of its Paths= are refused; nodeinitd --plan says which and why"

/* For model_has_refused(). Static. */
#define SENTENCE_REFUSED \
	"a declared pool is refused for its file; systemctl status nodeinitd says which and why"

/*
 * Why not all of @pool is in service: why shares are short, each reason once, with its nodes, and
 * what is built anew: "fragmented on 0,2-3; refilling 1.8 GiB", in bytes with @is_exact.
 */
char *sentence_reasons(const struct pool *pool, bool is_exact);
