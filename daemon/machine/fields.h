/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fields.h - values out of the kernel's texts of many lines
 *
 * Layer: machine. Threads: any; no state. Knows "MemTotal:  123 kB" (proc(5)), the same behind
 * "Node 0 " (nodeN/meminfo) and "inactive_file 4096" (memory.stat).
 */
#pragma once

#include <stdint.h>

/* Return: where the value of @name begins in @text, borrowed; NULL: no line has that name. */
const char *field_find(const char *text, const char *name);

/* Its value up to the end of the line. The caller frees. Return: NULL when missing or -ENOMEM. */
char *field_text(const char *text, const char *name);

/* A number of bytes, or of kB where "kB" follows. Return: 0 and *ret; -ENOENT; -EINVAL. */
int field_bytes(const char *text, const char *name, uint64_t *ret);

/* The same; 0 where there is no such line. */
uint64_t field_bytes_or_0(const char *text, const char *name);
