/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * values.h - single values, from text
 *
 * Layer: config. Threads: any; no state. Amounts and time spans are read by base/size.h.
 *
 * Return of all: 0 and *ret; -EINVAL not such a value; -ERANGE one that is out of range; -EDOM an
 * amount without unit; -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As systemd: 1 yes y true t on, 0 no n false f off; in any case. */
int value_bool(const char *text, bool *ret);

/* A count: digits only, from @min to @max. */
int value_count(const char *text, unsigned min, unsigned max, unsigned *ret);

/* "20%": a whole number from @min to 100. */
int value_percent(const char *text, unsigned min, unsigned *ret);

/* An amount in bytes. */
int value_bytes(const char *text, uint64_t *ret_bytes);

/* Append the words of @text to *list, which is NULL or ends in NULL, *@nr_names of them. */
int value_append_names(const char *text, char ***list, size_t *nr_names);

/* NULL is fine. Return: NULL. */
char **value_free_names(char **list);
