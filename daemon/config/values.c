/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "values.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "../base/scoped.h"
#include "../base/size.h"

#define NAMES_MAX      1024
#define NAME_BYTES_MAX 256 /* LOGIN_NAME_MAX of Linux */

int value_bool(const char *text, bool *ret)
{
	static const struct {
		const char *text;
		bool value;
	} words[] = {
		{ "yes", true },    { "y", true },  { "true", true }, { "t", true },
		{ "on", true },     { "1", true },  { "no", false },  { "n", false },
		{ "false", false }, { "f", false }, { "off", false }, { "0", false },
	};

	for (size_t i = 0; i < ELEMENTS(words); i++)
		if (!strcasecmp(text, words[i].text)) {
			*ret = words[i].value;
			return 0;
		}
	return -EINVAL;
}

/* The @text_bytes digits at @text. */
static int count_parse(const char *text, size_t text_bytes, unsigned min, unsigned max,
                       unsigned *ret)
{
	uint64_t count = 0;

	if (!text_bytes || strspn(text, "0123456789") < text_bytes)
		return -EINVAL;
	for (size_t i = 0; i < text_bytes; i++) {
		count = count * 10 + (uint64_t) (text[i] - '0');
		if (count > max)
			return -ERANGE;
	}
	if (count < min)
		return -ERANGE;
	*ret = (unsigned) count;
	return 0;
}

int value_count(const char *text, unsigned min, unsigned max, unsigned *ret)
{
	return count_parse(text, strlen(text), min, max, ret);
}

int value_percent(const char *text, unsigned min, unsigned *ret)
{
	size_t text_bytes = strlen(text);

	if (!text_bytes || text[text_bytes - 1] != '%')
		return -EINVAL;
	return count_parse(text, text_bytes - 1, min, 100, ret);
}

int value_bytes(const char *text, uint64_t *ret_bytes)
{
	struct amount amount;
	int r = amount_parse(text, &amount);

	if (r < 0)
		return r;
	if (amount.unit != AMOUNT_BYTES)
		return -EINVAL;
	*ret_bytes = amount.value;
	return 0;
}

/* What useradd(8) allows and what directories of other systems add to it; a number is an id. */
static bool is_name(const char *text, size_t text_bytes)
{
	static const char inside[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789_.$@-";

	return text_bytes <= NAME_BYTES_MAX && *text != '-' && strspn(text, inside) >= text_bytes;
}

int value_append_names(const char *text, char ***list, size_t *nr_names)
{
	for (;;) {
		size_t word_bytes;
		char **grown;
		char *word;

		text += strspn(text, " \t");
		word_bytes = strcspn(text, " \t");
		if (!word_bytes)
			return 0;
		if (!is_name(text, word_bytes))
			return -EINVAL;
		if (*nr_names >= NAMES_MAX)
			return -ERANGE;
		word = strndup(text, word_bytes);
		if (!word)
			return -ENOMEM;
		grown = reallocarray(*list, *nr_names + 2, sizeof(*grown));
		if (!grown) {
			free(word);
			return -ENOMEM;
		}
		*list = grown;
		grown[(*nr_names)++] = word;
		grown[*nr_names] = NULL;
		text += word_bytes;
	}
}

char **value_free_names(char **list)
{
	for (char **name = list; name && *name; name++)
		free(*name);
	free(list);
	return NULL;
}
