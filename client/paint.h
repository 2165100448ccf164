/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * paint.h - what a state looks like
 */
#pragma once

#include <stdbool.h>

#include "client.h"

/* Fill in what the terminal can do: colours, redrawing, UTF-8; NO_COLOR, TERM=dumb count. */
void paint_probe(struct client *client);

/* A sign of one column for @state: "●", or "*" where UTF-8 is not spoken. Static. */
const char *paint_icon(const struct client *client, const char *state);

/* The colour of @state by its name for libsmartcols, "green"; NULL for none. Static. */
const char *paint_color(const char *state);

/* Escape sequences around @state; "" without @has_color. Static. */
const char *paint_begin(bool has_color, const char *state);
const char *paint_end(bool has_color);
