/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "idset.h"
#include "scoped.h"

#define WORD_BITS 64U

void idset_clear(struct idset *set)
{
	free(set->words);
	*set = (struct idset){ 0 };
}

/* Make room for ids below @nr_words * 64. */
static int idset_reserve(struct idset *set, size_t nr_words)
{
	uint64_t *words;

	if (nr_words <= set->nr_words)
		return 0;
	words = reallocarray(set->words, nr_words, sizeof(*words));
	if (!words)
		return -ENOMEM;
	memset(words + set->nr_words, 0, (nr_words - set->nr_words) * sizeof(*words));
	set->words = words;
	set->nr_words = nr_words;
	return 0;
}

int idset_add(struct idset *set, unsigned id)
{
	int r;

	if (id >= IDSET_MAX)
		return -ERANGE;
	r = idset_reserve(set, id / WORD_BITS + 1);
	if (r < 0)
		return r;
	set->words[id / WORD_BITS] |= UINT64_C(1) << id % WORD_BITS;
	return 0;
}

bool idset_has(const struct idset *set, unsigned id)
{
	return id / WORD_BITS < set->nr_words &&
	       (set->words[id / WORD_BITS] >> id % WORD_BITS & 1) != 0;
}

bool idset_is_empty(const struct idset *set)
{
	return idset_next(set, 0) < 0;
}

size_t idset_nr(const struct idset *set)
{
	size_t nr = 0;

	for (size_t i = 0; i < set->nr_words; i++)
		nr += (size_t) __builtin_popcountll(set->words[i]);
	return nr;
}

int idset_next(const struct idset *set, unsigned from)
{
	uint64_t word;
	size_t i = from / WORD_BITS;

	if (i >= set->nr_words)
		return -1;
	word = set->words[i] & (UINT64_MAX << from % WORD_BITS);
	while (word == 0) {
		if (++i >= set->nr_words)
			return -1;
		word = set->words[i];
	}
	return (int) (i * WORD_BITS) + __builtin_ctzll(word);
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t\r\n");
}

/* Take a decimal number off *text. Return: 0; -EINVAL no digit; -ERANGE it is above IDSET_MAX. */
static int take_number(const char **text, unsigned *ret)
{
	const char *at = *text;
	unsigned value = 0;

	if (*at < '0' || *at > '9')
		return -EINVAL;
	for (; *at >= '0' && *at <= '9'; at++) {
		value = value * 10 + (unsigned) (*at - '0');
		if (value > IDSET_MAX)
			return -ERANGE;
	}
	*text = at;
	*ret = value;
	return 0;
}

/* "5", "2-3" or "0-6:2/4": of each group of 4 ids the first 2. */
struct range {
	unsigned first, last;
	unsigned used, group;
};

static int take_range(const char **text, struct range *ret)
{
	struct range range = { .used = 1, .group = 1 };
	const char *at = *text;
	int r;

	r = take_number(&at, &range.first);
	if (r < 0)
		return r;
	range.last = range.first;
	if (*at == '-') {
		at++;
		r = take_number(&at, &range.last);
		if (r < 0)
			return r;
		if (*at == ':') {
			at++;
			r = take_number(&at, &range.used);
			if (r < 0)
				return r;
			if (*at++ != '/')
				return -EINVAL;
			r = take_number(&at, &range.group);
			if (r < 0)
				return r;
		}
	}
	if (range.last < range.first || range.used == 0 || range.used > range.group)
		return -EINVAL;
	*text = at;
	*ret = range;
	return 0;
}

static int add_range(struct idset *set, const struct range *range)
{
	for (unsigned id = range->first; id <= range->last; id++) {
		int r;

		if ((id - range->first) % range->group >= range->used)
			continue;
		r = idset_add(set, id);
		if (r < 0)
			return r;
	}
	return 0;
}

int idset_parse(const char *text, struct idset *set)
{
	scoped(idset_clear) struct idset parsed = { 0 };

	text = skip_blanks(text);
	while (*text) {
		struct range range;
		int r;

		r = take_range(&text, &range);
		if (r < 0)
			return r;
		r = add_range(&parsed, &range);
		if (r < 0)
			return r;
		text = skip_blanks(text);
		if (*text == '\0')
			break;
		if (*text++ != ',')
			return -EINVAL;
		text = skip_blanks(text);
		if (*text == '\0')
			return -EINVAL;
	}
	idset_clear(set);
	*set = parsed;
	parsed = (struct idset){ 0 };
	return 0;
}

char *idset_text(const struct idset *set)
{
	char *text = NULL;
	size_t text_bytes;
	FILE *stream = open_memstream(&text, &text_bytes);
	const char *separator = "";
	bool is_complete;

	if (!stream)
		return NULL;
	for (int first = idset_next(set, 0); first >= 0;) {
		int last = first;

		while (idset_has(set, (unsigned) last + 1))
			last++;
		(void) fprintf(stream, "%s%d", separator, first);
		if (last > first)
			(void) fprintf(stream, "-%d", last);
		separator = ",";
		first = idset_next(set, (unsigned) last + 1);
	}
	is_complete = !ferror(stream);
	if (fclose(stream) != 0 || !is_complete) {
		free(text);
		return NULL;
	}
	return text;
}

int idset_intersect(const struct idset *a, const struct idset *b, struct idset *ret)
{
	scoped(idset_clear) struct idset both = { 0 };
	size_t nr_words = a->nr_words < b->nr_words ? a->nr_words : b->nr_words;
	int r;

	r = idset_reserve(&both, nr_words);
	if (r < 0)
		return r;
	for (size_t i = 0; i < nr_words; i++)
		both.words[i] = a->words[i] & b->words[i];
	idset_clear(ret);
	*ret = both;
	both = (struct idset){ 0 };
	return 0;
}

int idset_copy(const struct idset *set, struct idset *ret)
{
	return idset_intersect(set, set, ret);
}
