/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "base/log.h"
#include "journal.h"

static void send_to_journal(enum log_level level, const char *message, const char *const *fields,
                            size_t nr_fields)
{
	struct iovec parts[LOG_FIELDS_MAX + 3];
	char priority[16], text[2048];
	size_t nr = 0;

	(void) snprintf(priority, sizeof(priority), "PRIORITY=%d", (int) level);
	(void) snprintf(text, sizeof(text), "MESSAGE=%s", message);
	parts[nr++] = (struct iovec){ text, strlen(text) };
	parts[nr++] = (struct iovec){ priority, strlen(priority) };
	parts[nr++] = (struct iovec){ (char *) "SYSLOG_IDENTIFIER=nodeinitd",
		                      strlen("SYSLOG_IDENTIFIER=nodeinitd") };
	for (size_t i = 0; i < nr_fields && i < LOG_FIELDS_MAX; i++)
		parts[nr++] = (struct iovec){ (char *) fields[i], strlen(fields[i]) };
	(void) sd_journal_sendv(parts, (int) nr);
}

void journal_start(void)
{
	if (strcmp(log_target(), "journal") == 0)
		log_set_sink(send_to_journal);
}
