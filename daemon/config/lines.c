/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lines.h"

#include <string.h>

#include "text.h"

#define STRINGIFY_(number) #number
#define STRINGIFY(number)  STRINGIFY_(number)

static const char byte_order_mark[] = "\xEF\xBB\xBF";

/* A part of the file's text. */
struct span {
	const char *text;
	size_t text_bytes;
};

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

static bool is_comment_sign(char byte)
{
	return byte == '#' || byte == ';';
}

void lines_init(const char *text, size_t text_bytes, struct lines *ret)
{
	size_t mark_bytes = strlen(byte_order_mark);

	*ret = (struct lines){ .text = text, .text_bytes = text_bytes };
	if (text_bytes >= mark_bytes && !memcmp(text, byte_order_mark, mark_bytes))
		ret->offset_bytes = mark_bytes;
}

/* The next physical line, without its end. Return: false at the end of the file. */
static bool next_span(struct lines *lines, struct span *ret)
{
	const char *start = lines->text + lines->offset_bytes;
	size_t left_bytes = lines->text_bytes - lines->offset_bytes;
	const char *end;

	if (lines->is_over || !left_bytes)
		return false;
	end = memchr(start, '\n', left_bytes);
	lines->offset_bytes += end ? (size_t) (end - start) + 1 : left_bytes;
	lines->nr_read++;
	*ret = (struct span){ start, end ? (size_t) (end - start) : left_bytes };
	if (ret->text_bytes && ret->text[ret->text_bytes - 1] == '\r')
		ret->text_bytes--;
	return true;
}

static struct span skip_blanks(struct span span)
{
	while (span.text_bytes && is_blank(*span.text)) {
		span.text++;
		span.text_bytes--;
	}
	return span;
}

/* Up to the blank in front of a comment; nothing is left of a line of comment. */
static struct span cut_comment(struct span span)
{
	if (span.text_bytes && is_comment_sign(*span.text))
		return (struct span){ span.text, 0 };
	for (size_t i = 1; i < span.text_bytes; i++)
		if (is_comment_sign(span.text[i]) && is_blank(span.text[i - 1]))
			return (struct span){ span.text, i - 1 };
	return span;
}

static const char *fault_of(struct span span)
{
	if (memchr(span.text, '\0', span.text_bytes))
		return "holds a NUL byte; the rest of the file is not read";
	if (span.text_bytes > CONFIG_LINE_BYTES_MAX)
		return "is longer than " STRINGIFY(CONFIG_LINE_BYTES_MAX) " bytes, the most a "
									  "line may have";
	if (!text_is_plain(span.text, cut_comment(span).text_bytes))
		return "holds control characters or bytes that are not UTF-8";
	return NULL;
}

static void append(struct line *line, struct span span)
{
	if (line->text_bytes + span.text_bytes > CONFIG_LINE_BYTES_MAX) {
		line->fault = "is longer than " STRINGIFY(
			CONFIG_LINE_BYTES_MAX) " bytes with the "
					       "lines that continue it, the most a line may have";
		return;
	}
	memcpy(line->text + line->text_bytes, span.text, span.text_bytes);
	line->text_bytes += span.text_bytes;
}

/* Add a physical line. Return: true when it ends in a backslash, so that the next one belongs to
 * it. */
static bool add_span(struct line *line, struct span span)
{
	static const struct span blank = { " ", 1 };
	struct span kept = cut_comment(span);
	bool is_continued = kept.text_bytes == span.text_bytes && kept.text_bytes &&
	                    kept.text[kept.text_bytes - 1] == '\\';

	kept.text_bytes -= is_continued;
	append(line, kept);
	if (is_continued && line->text_bytes)
		append(line, blank);
	return is_continued;
}

static void trim_end(struct line *line)
{
	while (line->text_bytes && is_blank(line->text[line->text_bytes - 1]))
		line->text_bytes--;
	line->text[line->text_bytes] = '\0';
}

/* One line with all that continue it; blank when it was a comment. Return: false at the end. */
static bool join(struct lines *lines, struct line *line)
{
	bool is_continued = false;
	struct span span;

	line->number = lines->nr_read + 1;
	line->fault = NULL;
	line->text_bytes = 0;
	do {
		const char *fault;

		if (!next_span(lines, &span))
			return line->number <= lines->nr_read;
		span = skip_blanks(span);
		fault = fault_of(span);
		if (fault) {
			line->fault = line->fault ? line->fault : fault;
			lines->is_over = memchr(span.text, '\0', span.text_bytes);
		}
		if (span.text_bytes && is_comment_sign(*span.text))
			continue;
		is_continued =
			fault ? span.text[span.text_bytes - 1] == '\\' : add_span(line, span);
	} while (is_continued);
	return true;
}

bool lines_next(struct lines *lines, struct line *ret)
{
	while (join(lines, ret)) {
		trim_end(ret);
		if (ret->text_bytes || ret->fault)
			return true;
	}
	return false;
}
