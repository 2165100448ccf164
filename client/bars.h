/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bars.h - a bar per node, redrawn in place on standard error
 *
 * Needs a terminal that understands "cursor up" and "erase line" and nothing more. What does not
 * fit on the screen is summed up in one line; nodes that work are shown before nodes that wait.
 */
#pragma once

#include "model.h"

/* Embedded by value; all zero has drawn nothing. */
struct bars {
	unsigned nr_lines; /* on the screen, the cursor is below them */
};

/* Draw @model over what was drawn before. */
void bars_draw(struct bars *bars, const struct client *client, const struct model *model);
