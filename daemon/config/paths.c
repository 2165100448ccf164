/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "paths.h"

#include <errno.h>
#include <string.h>

#include "text.h"

/* Why a path is not accepted: a sentence without its subject, or NULL. Static. */
static const char *fault_of(const char *path)
{
	if (*path != '/')
		return "is not absolute";
	do {
		size_t name_bytes = strcspn(++path, "/");

		if (!name_bytes)
			return "has an empty name in it, or at its end";
		if (name_bytes == 1 && *path == '.')
			return "has a '.' in it";
		if (name_bytes == 2 && !strncmp(path, "..", 2))
			return "has a '..' in it";
		path += name_bytes;
	} while (*path);
	return NULL;
}

/*
 * Copy the next word of *@text, without its quotes, and leave *@text behind it. A quote that does
 * not end takes the rest. Return: 1 and *ret_word, *ret_is_open; 0 at the end; -ENOMEM.
 */
static int next_word(const char **text, char **ret_word, bool *ret_is_open)
{
	const char *from = *text + strspn(*text, " \t");
	char quote = '\0';
	char *word;
	size_t word_bytes = 0;

	if (!*from)
		return 0;
	word = malloc(strlen(from) + 1);
	if (!word)
		return -ENOMEM;
	for (; *from && (quote || (*from != ' ' && *from != '\t')); from++) {
		if (quote ? *from == quote : *from == '"' || *from == '\'')
			quote = quote ? '\0' : *from;
		else
			word[word_bytes++] = *from;
	}
	word[word_bytes] = '\0';
	*text = from;
	*ret_word = word;
	*ret_is_open = quote;
	return 1;
}

/* Takes @word. */
static int add_word(struct pool_config *pool, struct position position, char *word)
{
	scoped(freep) char *owned = word;
	scoped(freep) char *place = NULL;
	struct original_pattern *grown;

	if (asprintf(&place, "%s:%u", position.path, position.line) < 0) {
		place = NULL;
		return -ENOMEM;
	}
	grown = reallocarray(pool->paths, pool->nr_paths + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	pool->paths = grown;
	grown[pool->nr_paths++] = (struct original_pattern){
		.text = take(owned),
		.position = take(place),
	};
	return 0;
}

/* Return: 0; -ERANGE there are too many; -ENOMEM. */
static int read_words(struct notes *notes, const struct setting *item, struct pool_config *pool)
{
	const char *text = item->value;

	for (;;) {
		scoped(freep) char *word = NULL;
		const char *fault;
		bool is_open;
		int r = next_word(&text, &word, &is_open);

		if (r <= 0)
			return r;
		fault = is_open ? "begins with a quote that does not end" : fault_of(word);
		if (fault) {
			notes_warn(notes, item->position,
			           "'%s' in Paths= %s; it is ignored; accepted: " PATHS_ACCEPTED,
			           excerpt(word).text, fault);
			continue;
		}
		if (pool->nr_paths >= PATHS_MAX)
			return -ERANGE;
		r = add_word(pool, item->position, take(word));
		if (r < 0)
			return r;
	}
}

int paths_read(struct notes *notes, const struct setting *list, struct pool_config *pool)
{
	for (const struct setting *item = list; item; item = item->next) {
		int r = read_words(notes, item, pool);

		if (r == -ERANGE) {
			notes_refuse(notes, item->position,
			             "Paths= has more than %d paths; accepted: at most so many, "
			             "each of which may stand for several files by *, ? and []",
			             PATHS_MAX);
			return 0;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

void paths_clear(struct pool_config *pool)
{
	for (size_t i = 0; i < pool->nr_paths; i++) {
		free(pool->paths[i].text);
		free(pool->paths[i].position);
	}
	free(pool->paths);
	pool->paths = NULL;
	pool->nr_paths = 0;
}
