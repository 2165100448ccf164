/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

void notes_clear(struct notes *notes)
{
	for (size_t i = 0; i < notes->nr; i++) {
		free(notes->entries[i].text);
		free(notes->entries[i].pool);
	}
	free(notes->entries);
	for (size_t i = 0; i < notes->nr_refused; i++)
		free(notes->refused[i]);
	free(notes->refused);
	*notes = (struct notes){ 0 };
}

/* Reload keeps the old version of a refused pool, so a name is never left out of this list. */
static void remember_refused(struct notes *notes)
{
	char **grown;
	char *name;

	notes->is_anything_refused = true;
	if (!notes->pool || notes->is_pool_refused)
		return;
	notes->is_pool_refused = true;
	grown = reallocarray(notes->refused, notes->nr_refused + 1, sizeof(*grown));
	if (grown)
		notes->refused = grown;
	name = grown ? strdup(notes->pool) : NULL;
	if (!name) {
		notes->is_out_of_memory = true;
		return;
	}
	notes->refused[notes->nr_refused++] = name;
}

/* Takes @text, which is shown as it is. */
static void append(struct notes *notes, enum config_severity severity, char *text)
{
	scoped(freep) char *owned = text;
	scoped(freep) char *pool = NULL;
	struct config_note *grown;

	if (notes->pool) {
		pool = strdup(notes->pool);
		if (!pool)
			notes->is_out_of_memory = true;
	}
	grown = reallocarray(notes->entries, notes->nr + 1, sizeof(*grown));
	if (!grown || !owned) {
		notes->entries = grown ? grown : notes->entries;
		notes->is_out_of_memory = true;
		return;
	}
	notes->entries = grown;
	notes->entries[notes->nr++] = (struct config_note){
		.severity = severity,
		.text = take(owned),
		.pool = severity == CONFIG_REFUSED ? take(pool) : NULL,
	};
}

static void note(struct notes *notes, enum config_severity severity, struct position position,
                 const char *format, va_list args) __attribute__((format(printf, 4, 0)));

static void note(struct notes *notes, enum config_severity severity, struct position position,
                 const char *format, va_list args)
{
	scoped(freep) char *sentence = NULL;
	scoped(freep) char *text = NULL;
	int r;

	if (severity == CONFIG_REFUSED)
		remember_refused(notes);
	if (notes->nr >= NOTES_MAX) {
		notes->nr_more++;
		notes->is_more_refused |= severity == CONFIG_REFUSED;
		return;
	}
	if (notes->nr_of_subject >= NOTES_SUBJECT_MAX) {
		notes->nr_more_of_subject++;
		notes->is_more_of_subject_refused |= severity == CONFIG_REFUSED;
		return;
	}
	notes->nr_of_subject++;

	if (vasprintf(&sentence, format, args) < 0) {
		sentence = NULL;
		notes->is_out_of_memory = true;
		return;
	}
	if (position.line)
		r = asprintf(&text, "%s:%u: %s", position.path, position.line, sentence);
	else
		r = asprintf(&text, "%s: %s", position.path, sentence);
	if (r < 0) {
		text = NULL;
		notes->is_out_of_memory = true;
		return;
	}
	append(notes, severity, text_visible(text, NOTE_BYTES_MAX));
}

void notes_warn(struct notes *notes, struct position position, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(notes, CONFIG_WARNING, position, format, args);
	va_end(args);
}

void notes_refuse(struct notes *notes, struct position position, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(notes, CONFIG_REFUSED, position, format, args);
	va_end(args);
}

/* A line that says how many lines are missing is not counted against the limit itself. */
static void append_more(struct notes *notes, bool is_refused, const char *text)
{
	append(notes, is_refused ? CONFIG_REFUSED : CONFIG_WARNING,
	       text_visible(text, NOTE_BYTES_MAX));
}

/* Say how many notes on the subject were left out. */
static void end_subject(struct notes *notes)
{
	scoped(freep) char *text = NULL;

	if (!notes->nr_more_of_subject)
		return;
	if (notes->nr >= NOTES_MAX) {
		notes->nr_more += notes->nr_more_of_subject;
		notes->is_more_refused |= notes->is_more_of_subject_refused;
		return;
	}
	if (asprintf(&text, "%s: %zu more notes", notes->subject_path, notes->nr_more_of_subject) <
	    0) {
		text = NULL;
		notes->is_out_of_memory = true;
		return;
	}
	append_more(notes, notes->is_more_of_subject_refused, text);
}

void notes_begin(struct notes *notes, const char *pool, const char *path)
{
	end_subject(notes);
	notes->pool = pool;
	notes->subject_path = path;
	notes->is_pool_refused = false;
	notes->nr_of_subject = 0;
	notes->nr_more_of_subject = 0;
	notes->is_more_of_subject_refused = false;
}

void notes_finish(struct notes *notes)
{
	char text[64];

	notes_begin(notes, NULL, NULL);
	if (!notes->nr_more)
		return;
	snprintf(text, sizeof(text), "%zu more notes on the configuration", notes->nr_more);
	append_more(notes, notes->is_more_refused, text);
	notes->nr_more = 0;
}
