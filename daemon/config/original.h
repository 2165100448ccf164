/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * original.h - what one file is that Paths= names
 *
 * Layer: config. Threads: any; no state. Nothing is opened but by path (O_PATH), so that no FIFO
 * waits and no device notices.
 */
#pragma once

#include "original-tree.h"
#include "originals.h"

/*
 * Look at @name in @place: fill in identity, refusal, error and, of a link, link_target (its text)
 * and ORIGINAL_SYMLINK, until somebody knows where it leads. Return: 0; -ENOENT it is not there
 * (any more); -ENOMEM.
 */
int original_look(const struct original_place *place, const char *name, struct original *original);

/* The word for an error of a path that could not be gone along. */
enum original_refusal original_refusal_of_error(int error);
