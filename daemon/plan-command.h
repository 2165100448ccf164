/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * plan-command.h - nodeinitd --plan
 *
 * Layer: top. Threads: main.
 */
#pragma once

#include "options.h"

/* Print the plan to standard output. Return: the exit status, see nodeinitd(8). */
int plan_command(const struct options *options);
