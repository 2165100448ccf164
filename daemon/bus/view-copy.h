/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * view-copy.h - views that own their texts and lists
 *
 * Layer: bus. Threads: main. A view from the manager borrows; what the bus keeps is made here. The
 * arguments are views behind void pointers so that the faces can name them in one table.
 *
 * Copies: Return: 0 and *ret, to be emptied by the matching clear; -ENOMEM. A missing text becomes
 * "".
 */
#pragma once

#include <stdbool.h>

#include "view.h"

int manager_view_copy(const void *view, void *ret);
void manager_view_clear(void *view);

int node_view_copy(const void *view, void *ret);
void node_view_clear(void *view);

int pool_view_copy(const void *view, void *ret);
void pool_view_clear(void *view);

/* Whether the shares of two pool views differ in anything. */
bool pool_view_shares_differ(const void *a, const void *b);
