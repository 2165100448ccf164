/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "log.h"
#include "scoped.h"

/*
 * Below PIPE_BUF, so that a line is never torn on a pipe, and long enough for a sentence with a
 * path. What exceeds it ends in "...".
 */
#define MESSAGE_MAX 2048

/* Shared by all threads: the level and the sink. Each is one word, read once for each line. */
static _Atomic int level_max = LOG_LEVEL_INFO;
static _Atomic(log_sink_fn) sink_set;

static const struct {
	enum log_level level;
	const char *text;
} level_names[] = {
	{ LOG_LEVEL_ERR, "err" },       { LOG_LEVEL_WARNING, "warning" },
	{ LOG_LEVEL_NOTICE, "notice" }, { LOG_LEVEL_INFO, "info" },
	{ LOG_LEVEL_DEBUG, "debug" },
};

int log_level_from_text(const char *text, enum log_level *ret)
{
	for (size_t i = 0; i < ELEMENTS(level_names); i++)
		if (strcmp(level_names[i].text, text) == 0) {
			*ret = level_names[i].level;
			return 0;
		}
	return -EINVAL;
}

const char *log_level_text(enum log_level level)
{
	for (size_t i = 0; i < ELEMENTS(level_names); i++)
		if (level_names[i].level == level)
			return level_names[i].text;
	return "debug";
}

void log_set_level(enum log_level max)
{
	atomic_store_explicit(&level_max, (int) max, memory_order_relaxed);
}

enum log_level log_level(void)
{
	return (enum log_level) atomic_load_explicit(&level_max, memory_order_relaxed);
}

void log_set_sink(log_sink_fn sink)
{
	atomic_store_explicit(&sink_set, sink, memory_order_release);
}

/*
 * systemd.exec(5), $JOURNAL_STREAM: "device:inode" of the stream that leads to the journal. It is
 * inherited by whatever standard error is redirected to later, hence the comparison.
 */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat status;
	char end;

	return stream && sscanf(stream, "%llu:%llu%c", &device, &inode, &end) == 2 &&
	       fstat(STDERR_FILENO, &status) == 0 && status.st_dev == (dev_t) device &&
	       status.st_ino == (ino_t) inode;
}

const char *log_target(void)
{
	return is_journal() ? "journal" : "console";
}

/* The fields go to sinks that have a place for them; a stream of lines has none. */
static void stderr_sink(enum log_level level, const char *message, const char *const *fields,
                        size_t nr_fields)
{
	char line[MESSAGE_MAX + 8];
	int line_bytes;
	ssize_t written;

	(void) fields;
	(void) nr_fields;
	if (is_journal())
		line_bytes = snprintf(line, sizeof(line), "<%d>%s\n", (int) level, message);
	else
		line_bytes = snprintf(line, sizeof(line), "%s\n", message);
	do
		written = write(STDERR_FILENO, line, (size_t) line_bytes);
	while (written < 0 && errno == EINTR);
}

/* One event stays one line, whatever a file name or a peer put into it. */
static void blank_controls(char *message)
{
	for (; *message; message++)
		if ((unsigned char) *message < 0x20 || *message == 0x7f)
			*message = ' ';
}

/* Mark a message that did not fit, without leaving half a UTF-8 character before the mark. */
static void mark_cut(char *message)
{
	size_t end = MESSAGE_MAX - sizeof("...");

	while (end > 0 && ((unsigned char) message[end] & 0xc0) == 0x80)
		end--;
	strcpy(message + end, "...");
}

__attribute__((format(printf, 4, 0))) static void log_va(enum log_level level,
                                                         const char *const *fields,
                                                         size_t nr_fields, const char *format,
                                                         va_list arguments)
{
	log_sink_fn sink = atomic_load_explicit(&sink_set, memory_order_acquire);
	char message[MESSAGE_MAX];
	int saved_errno = errno;
	int message_bytes;

	if (level > log_level())
		return;
	message_bytes = vsnprintf(message, sizeof(message), format, arguments);
	if (message_bytes < 0)
		message[0] = '\0';
	else if ((size_t) message_bytes >= sizeof(message))
		mark_cut(message);
	blank_controls(message);
	if (nr_fields > LOG_FIELDS_MAX)
		nr_fields = LOG_FIELDS_MAX;
	(sink ? sink : stderr_sink)(level, message, fields, nr_fields);
	/* A line between a failed call and the look at its errno changes nothing. */
	errno = saved_errno;
}

void log_line(enum log_level level, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_va(level, NULL, 0, format, arguments);
	va_end(arguments);
}

void log_event(enum log_level level, const char *const *fields, size_t nr_fields,
               const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_va(level, fields, nr_fields, format, arguments);
	va_end(arguments);
}
