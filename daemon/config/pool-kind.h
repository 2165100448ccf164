/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pool-kind.h - the kinds of pool a file may ask for
 *
 * Layer: config. Threads: any; no state.
 */
#pragma once

#include "config.h"

/* The section of its own settings. Static. */
const char *pool_kind_section(enum pool_kind kind);

/* Whether its memory is made of pages of a size that the operator chooses. */
bool pool_kind_has_pages(enum pool_kind kind);

/* Return: 0 and *ret; -EINVAL no such kind. */
int pool_kind_parse(const char *text, enum pool_kind *ret);

/* Those that pool_kind_parse() takes, for sentences. Static. */
const char *pool_kinds_text(void);
