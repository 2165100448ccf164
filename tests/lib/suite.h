/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * suite.h - the end of every test program
 */
#pragma once

#include <check.h>

/* Run @suite as CK_FORK, CK_RUN_CASE and friends say. Return: the exit status for main(). */
int suite_main(Suite *suite);

/* Leave a test program that cannot run here: says why, exits with 77 (skipped). */
_Noreturn void suite_skip(const char *why);
