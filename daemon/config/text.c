/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Words longer than this are not compared: no key and no section is. */
#define NEAREST_BYTES_MAX 32

static bool is_tail(unsigned char byte)
{
	return (byte & 0xC0) == 0x80;
}

size_t utf8_bytes(const char *text, size_t left_bytes)
{
	const unsigned char *bytes = (const unsigned char *) text;

	if (bytes[0] < 0x80)
		return 1;
	if (bytes[0] < 0xC2 || bytes[0] > 0xF4 || left_bytes < 2 || !is_tail(bytes[1]))
		return 0;
	if (bytes[0] < 0xE0)
		return 2;
	if (left_bytes < 3 || !is_tail(bytes[2]))
		return 0;
	if (bytes[0] < 0xF0) {
		bool is_overlong = bytes[0] == 0xE0 && bytes[1] < 0xA0;
		bool is_surrogate = bytes[0] == 0xED && bytes[1] > 0x9F;

		return is_overlong || is_surrogate ? 0 : 3;
	}
	if (left_bytes < 4 || !is_tail(bytes[3]))
		return 0;
	if ((bytes[0] == 0xF0 && bytes[1] < 0x90) || (bytes[0] == 0xF4 && bytes[1] > 0x8F))
		return 0;
	return 4;
}

/* C1 controls (U+0080 to U+009F) drive a terminal as well as C0 do. */
static bool is_control(const char *text, size_t character_bytes)
{
	const unsigned char *bytes = (const unsigned char *) text;

	if (character_bytes == 1)
		return bytes[0] < 0x20 || bytes[0] == 0x7F;
	return character_bytes == 2 && bytes[0] == 0xC2 && bytes[1] < 0xA0;
}

bool text_is_plain(const char *text, size_t text_bytes)
{
	for (size_t i = 0; i < text_bytes;) {
		size_t character_bytes = utf8_bytes(text + i, text_bytes - i);

		if (!character_bytes || (is_control(text + i, character_bytes) && text[i] != '\t'))
			return false;
		i += character_bytes;
	}
	return true;
}

char *text_visible(const char *text, size_t max_bytes)
{
	size_t text_bytes = strlen(text);
	size_t used_bytes = 0;
	char *visible = malloc(max_bytes + sizeof("…"));

	if (!visible)
		return NULL;
	for (size_t i = 0; i < text_bytes;) {
		size_t character_bytes = utf8_bytes(text + i, text_bytes - i);
		bool is_shown = character_bytes && !is_control(text + i, character_bytes);
		size_t step_bytes = is_shown ? character_bytes : 1;
		size_t added_bytes = is_shown ? character_bytes : strlen("\\xNN");

		if (used_bytes + added_bytes > max_bytes) {
			used_bytes += (size_t) sprintf(visible + used_bytes, "…");
			break;
		}
		if (is_shown)
			memcpy(visible + used_bytes, text + i, character_bytes);
		else
			sprintf(visible + used_bytes, "\\x%02x", (unsigned char) text[i]);
		used_bytes += added_bytes;
		i += step_bytes;
	}
	visible[used_bytes] = '\0';
	return visible;
}

struct excerpt excerpt(const char *text)
{
	struct excerpt cut = { 0 };
	size_t kept_bytes = strnlen(text, EXCERPT_BYTES_MAX + 1);

	if (kept_bytes <= EXCERPT_BYTES_MAX) {
		memcpy(cut.text, text, kept_bytes);
		return cut;
	}
	kept_bytes = EXCERPT_BYTES_MAX;
	while (kept_bytes > EXCERPT_BYTES_MAX - 4 && is_tail((unsigned char) text[kept_bytes]))
		kept_bytes--;
	memcpy(cut.text, text, kept_bytes);
	memcpy(cut.text + kept_bytes, "…", sizeof("…"));
	return cut;
}

/* Edits from @a to @b: letters changed, added, left out (Levenshtein), without regard to case. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NEAREST_BYTES_MAX + 1];
	size_t b_bytes = strlen(b);

	for (size_t j = 0; j <= b_bytes; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_bytes; j++) {
			bool is_same = tolower((unsigned char) a[i - 1]) ==
			               tolower((unsigned char) b[j - 1]);
			size_t changed = diagonal + !is_same;
			size_t shorter = row[j - 1] < row[j] ? row[j - 1] : row[j];

			diagonal = row[j];
			row[j] = changed < shorter + 1 ? changed : shorter + 1;
		}
	}
	return row[b_bytes];
}

const char *text_nearest(const char *text, const char *const *words, size_t nr_words)
{
	const char *nearest = NULL;
	size_t nearest_distance = strlen(text) / 3;

	if (strlen(text) > NEAREST_BYTES_MAX)
		return NULL;
	for (size_t i = 0; i < nr_words; i++) {
		size_t edits;

		if (!strcasecmp(text, words[i]))
			return words[i];
		if (strlen(words[i]) > NEAREST_BYTES_MAX)
			continue;
		edits = distance(text, words[i]);
		if (edits < nearest_distance || (edits == nearest_distance && !nearest && edits)) {
			nearest = words[i];
			nearest_distance = edits;
		}
	}
	return nearest;
}
