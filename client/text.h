/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * text.h - numbers and foreign strings as the terminal may show them
 *
 * No state. What is printed for people has at most one decimal; what scripts read is --json or -b.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_MAX 32

/* "1.5 TiB", rounded down, or all digits with @is_exact. Return: @buffer, TEXT_MAX bytes. */
const char *text_size(uint64_t bytes, bool is_exact, char *buffer);

/* "3.4 s", "2 min 10 s", "1 h 5 min". Return: @buffer, TEXT_MAX bytes. */
const char *text_span(uint64_t usec, char *buffer);

/*
 * The time left as on a clock, "0:42" or "1:02:03", for @left_bytes at @rate_bytes a second; "-"
 * when nothing is left or nothing moves. Return: @buffer, TEXT_MAX bytes.
 */
const char *text_time_left(uint64_t left_bytes, uint64_t rate_bytes, char *buffer);

/* Percent done, rounded down: 100 means all of it. Of nothing: 100. */
unsigned text_percent(uint64_t done_bytes, uint64_t total_bytes);

/*
 * A copy of @foreign in which nothing can drive a terminal: C0 and C1 controls, DEL and the marks
 * that change the direction of writing become \xNN or \uNNNN. The caller frees. Return: NULL
 * when out of memory.
 */
char *text_escape(const char *foreign);

/*
 * A time span as in systemd.time(7): "90", "500ms", "2min 30s", "infinity" (UINT64_MAX). Return: 0
 * and *ret_usec; -EINVAL; -ERANGE.
 */
int text_parse_span(const char *text, uint64_t *ret_usec);

/*
 * Bytes as in nodeinit.pool(5): "64G", "1.5T", "2 MiB"; only 0 needs no unit. Return: 0 and
 * *ret_bytes; -EINVAL; -ERANGE; -EDOM: a number without a unit, which has two readings.
 */
int text_parse_bytes(const char *text, uint64_t *ret_bytes);

/* A node as "3" or "node3". Return: 0 and *ret_id; -EINVAL. */
int text_parse_node(const char *text, uint32_t *ret_id);

/*
 * The one of @nr_words words that somebody who typed @typed may have meant, at most two slips
 * away or the only one that begins like it. Return: borrowed, NULL for none.
 */
const char *text_meant(const char *typed, const char *const *words, size_t nr_words);
