/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * plan-print.h - a plan for people and as JSON
 *
 * Layer: plan. Threads: main. Both write to @out and return 0, or -EIO when it takes no more, or
 * -ENOMEM.
 */
#pragma once

#include <stdio.h>

#include "plan.h"

/* A table per node and pool, refusals in words, then the account; @out may be a terminal. */
int plan_print_text(const struct plan *plan, FILE *out);

/* The document that nodeinitd(8) describes under --json; sizes in bytes. */
int plan_print_json(const struct plan *plan, FILE *out);
