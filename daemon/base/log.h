/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * log.h - one line per event, with fields
 *
 * Layer: base. Threads: any; a line is written by one call and never mixed with another.
 *
 * Layers below bus/ log at debug only: what the operator reads is written where the decision is
 * made (manager). Where lines go is a sink set by main: standard error by default, the journal
 * when standard error is connected to it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* As in syslog(3); the numbers are the protocol's. */
enum log_level {
	LOG_LEVEL_ERR = 3,     /* something promised is given up */
	LOG_LEVEL_WARNING = 4, /* going on without */
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6, /* a share started or finished */
	LOG_LEVEL_DEBUG = 7,
};

#define LOG_FIELDS_MAX 12

/* One "NAME=value" text a field, as in sd_journal_send(3); borrowed for the call. */
typedef void (*log_sink_fn)(enum log_level level, const char *message, const char *const *fields,
                            size_t nr_fields);

/* NULL: standard error, "<6>message" when $JOURNAL_STREAM says that it leads to the journal. */
void log_set_sink(log_sink_fn sink);

/* Lines above @max are dropped. Default LOG_LEVEL_INFO. */
void log_set_level(enum log_level max);
enum log_level log_level(void);

/* "err" "warning" "notice" "info" "debug". Return: 0 and *ret; -EINVAL. */
int log_level_from_text(const char *text, enum log_level *ret);

/* The word for @level. Static. */
const char *log_level_text(enum log_level level);

/* Return: "journal" or "console", what org.freedesktop.LogControl1 shows as the target. */
const char *log_target(void);

/* Write one line, unless its level is above the limit. A long one is cut, ends in "...". */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The same with @nr_fields journal fields ("NODEINIT_POOL=guests"), of which at most
 * LOG_FIELDS_MAX are kept.
 */
void log_event(enum log_level level, const char *const *fields, size_t nr_fields,
               const char *format, ...) __attribute__((format(printf, 4, 5)));

#define log_error(...)   log_line(LOG_LEVEL_ERR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
