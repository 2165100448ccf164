/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "reader.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <ini.h>

#include "lines.h"
#include "text.h"

/* libinih keeps 50 bytes of a section's name. A longer one is unknown before and after the cut. */
#define SECTION_BYTES_MAX 40

struct reader {
	const struct conf_file *file;
	struct notes *notes;
	const struct reader_ops *ops;
	void *user;

	struct lines lines;
	struct line line;
	bool is_in_section;
	bool is_unanswered; /* an assignment was served and the handler was not called yet */

	/* What is still to be served of the line's value; at its end NULL. */
	const char *rest;
	size_t key_bytes;
	bool is_parted_by_blank; /* from the piece that is being served */

	/* The pieces that came back. */
	size_t value_bytes;
	char value[CONFIG_LINE_BYTES_MAX + 1];
};

static struct position position_of(const struct reader *reader)
{
	return (struct position){ reader->file->path, reader->line.number };
}

static void refuse_line(struct reader *reader)
{
	notes_refuse(reader->notes, position_of(reader),
	             "'%s' is neither Key=value nor a [Section]", excerpt(reader->line.text).text);
}

/* Return: what is served for a section's line, or NULL when it is none. */
static char *serve_section(struct reader *reader, char *buffer, size_t buffer_bytes)
{
	char *name = reader->line.text + 1;
	char *end = reader->line.text + reader->line.text_bytes - 1;

	if (*end != ']' || strchr(name, ']') != end || end == name) {
		refuse_line(reader);
		return NULL;
	}
	*end = '\0';
	reader->is_in_section = true;
	reader->ops->section(reader->user, name, position_of(reader));
	snprintf(buffer, buffer_bytes, "[%.*s]\n", SECTION_BYTES_MAX, name);
	return buffer;
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

/* The next piece of the value, with the key in front; libinih drops blanks at both ends of it. */
static char *serve_piece(struct reader *reader, char *buffer, size_t buffer_bytes)
{
	size_t room_bytes = buffer_bytes - reader->key_bytes - strlen("=\n") - 1;
	const char *piece = reader->rest;
	size_t piece_bytes = strnlen(piece, room_bytes);

	reader->rest = piece[piece_bytes] ? piece + piece_bytes : NULL;
	if (reader->rest)
		reader->is_parted_by_blank = is_blank(*reader->rest) || is_blank(reader->rest[-1]);
	snprintf(buffer, buffer_bytes, "%.*s=%.*s\n", (int) reader->key_bytes, reader->line.text,
	         (int) piece_bytes, piece);
	reader->is_unanswered = true;
	return buffer;
}

/* Return: what is served for the line, or NULL when it is no assignment that can be served. */
static char *serve_assignment(struct reader *reader, char *buffer, size_t buffer_bytes)
{
	char *key = reader->line.text;
	size_t key_bytes = strcspn(key, "=:");
	char *value = key + key_bytes + 1;

	/* libinih would take "Key: value", too, and systemd.syntax(7) has no such thing. */
	if (key[key_bytes] != '=' || !key_bytes) {
		refuse_line(reader);
		return NULL;
	}
	if (!reader->is_in_section) {
		notes_refuse(reader->notes, position_of(reader),
		             "'%s' stands in front of any [Section]", excerpt(key).text);
		return NULL;
	}
	while (is_blank(key[key_bytes - 1]))
		key_bytes--;
	if (key_bytes > KEY_BYTES_MAX || key_bytes + strlen("=x\n") + 1 > buffer_bytes) {
		notes_warn(reader->notes, position_of(reader), "unknown key '%s'; it is ignored",
		           excerpt(key).text);
		return NULL;
	}
	while (is_blank(*value))
		value++;
	reader->rest = value;
	reader->key_bytes = key_bytes;
	reader->is_parted_by_blank = false;
	reader->value_bytes = 0;
	return serve_piece(reader, buffer, buffer_bytes);
}

/* As fgets(): the ini_reader of libinih. */
static char *serve(char *buffer, int buffer_bytes, void *stream)
{
	struct reader *reader = stream;
	char *served = NULL;

	if (reader->is_unanswered) {
		refuse_line(reader);
		reader->is_unanswered = false;
		reader->rest = NULL;
	}
	if (reader->rest)
		return serve_piece(reader, buffer, (size_t) buffer_bytes);

	while (!served && lines_next(&reader->lines, &reader->line)) {
		if (reader->line.fault)
			notes_refuse(reader->notes, position_of(reader), "this line %s",
			             reader->line.fault);
		else if (*reader->line.text == '[')
			served = serve_section(reader, buffer, (size_t) buffer_bytes);
		else
			served = serve_assignment(reader, buffer, (size_t) buffer_bytes);
	}
	return served;
}

static void append_value(struct reader *reader, const char *piece)
{
	size_t piece_bytes = strlen(piece);

	/* The pieces are those of one line, with one blank for one or more between them. */
	assert(reader->value_bytes + piece_bytes < CONFIG_LINE_BYTES_MAX);
	memcpy(reader->value + reader->value_bytes, piece, piece_bytes);
	reader->value_bytes += piece_bytes;
	if (reader->rest && reader->is_parted_by_blank)
		reader->value[reader->value_bytes++] = ' ';
	reader->value[reader->value_bytes] = '\0';
}

/* The ini_handler of libinih. Return: non-zero, as it wants it for "understood". */
static int handle(void *user, const char *section, const char *key, const char *value)
{
	struct reader *reader = user;

	reader->is_unanswered = false;
	append_value(reader, value ? value : "");
	if (!reader->rest)
		reader->ops->assignment(reader->user, section, key, reader->value,
		                        position_of(reader));
	return 1;
}

int reader_run(const struct conf_file *file, struct notes *notes, const struct reader_ops *ops,
               void *user)
{
	struct reader reader = {
		.file = file,
		.notes = notes,
		.ops = ops,
		.user = user,
	};

	lines_init(file->text, file->text_bytes, &reader.lines);

	/* Lines it did not understand are noted by serve(); below 0 is its own lack of memory. */
	return ini_parse_stream(serve, &reader, handle, &reader) < 0 ? -ENOMEM : 0;
}
