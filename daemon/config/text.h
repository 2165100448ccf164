/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * text.h - text from a file that is going to be shown to a person
 *
 * Layer: config. Threads: any; no state.
 *
 * What stands in a file may hold terminal escapes, line ends and bytes that are no text. None of
 * it reaches a log line or a terminal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The bytes of the UTF-8 sequence that @text (of @left_bytes, above 0) begins with, 1 to 4.
 * Return: 0 when it begins with none; overlong forms, surrogates and what lies above U+10FFFF
 * are none (RFC 3629, section 4).
 */
size_t utf8_bytes(const char *text, size_t left_bytes);

/* Whether @text is UTF-8 without control characters (C0 except tab, DEL, C1). */
bool text_is_plain(const char *text, size_t text_bytes);

/*
 * @text with every control character and every byte that is no UTF-8 as "\xNN", and cut after
 * @max_bytes (at least 8) with "…". Return: the caller frees; NULL when out of memory.
 */
char *text_visible(const char *text, size_t max_bytes);

/* A copy of at most a line's half, to be named inside a sentence; made by excerpt() only. */
#define EXCERPT_BYTES_MAX 72
struct excerpt {
	char text[EXCERPT_BYTES_MAX + sizeof("…")];
};

/* @text cut between two characters; by value, so that excerpt(value).text is an argument. */
struct excerpt excerpt(const char *text);

/*
 * Of @nr_words words the one that @text was most likely meant to be: equal but for the case, or
 * a third of it mistyped. Return: one of @words, or NULL when none is near.
 */
const char *text_nearest(const char *text, const char *const *words, size_t nr_words);
