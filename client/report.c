/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../dbus/names.h"
#include "report.h"
#include "scoped.h"
#include "text.h"

bool report_is_absence(const sd_bus_error *bus_error)
{
	return sd_bus_error_has_name(bus_error, SD_BUS_ERROR_SERVICE_UNKNOWN) ||
	       sd_bus_error_has_name(bus_error, SD_BUS_ERROR_NAME_HAS_NO_OWNER);
}

static bool is_silence(const sd_bus_error *bus_error, int error)
{
	return sd_bus_error_has_name(bus_error, SD_BUS_ERROR_NO_REPLY) ||
	       sd_bus_error_has_name(bus_error, SD_BUS_ERROR_TIMEOUT) ||
	       sd_bus_error_has_name(bus_error, SD_BUS_ERROR_DISCONNECTED) || error == -ETIMEDOUT ||
	       error == -ECONNRESET || error == -ENOTCONN;
}

static bool is_refusal(const sd_bus_error *bus_error, int error)
{
	return sd_bus_error_has_name(bus_error, SD_BUS_ERROR_ACCESS_DENIED) ||
	       sd_bus_error_has_name(bus_error, SD_BUS_ERROR_AUTH_FAILED) ||
	       sd_bus_error_has_name(bus_error, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED) ||
	       error == -EACCES || error == -EPERM;
}

/* What the daemon advises is a method of D-Bus; who reads this has a verb for it. */
static void print_reworded(const char *said)
{
	static const struct {
		const char *method, *verb;
	} words[] = {
		{ "ListNodes shows", "meminitctl nodes shows" },
		{ "ListPools shows", "meminitctl pools shows" },
		{ "ListLeases shows", "meminitctl leases shows" },
	};
	const char *at;
	size_t i;

	for (i = 0; i < ELEMENTS(words); i++) {
		at = strstr(said, words[i].method);
		if (!at)
			continue;
		fprintf(stderr, "%.*s%s%s\n", (int) (at - said), said, words[i].verb,
		        at + strlen(words[i].method));
		return;
	}
	fprintf(stderr, "%s\n", said);
}

/* What the daemon said, which may be a line for each of several files. */
static void print_said(const char *object_text, const char *message)
{
	scoped(freep) char *copy = strdup(message);
	char *line, *rest;

	for (line = copy ? strtok_r(copy, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest)) {
		scoped(freep) char *said = text_escape(line);

		/* The daemon's sentences mostly begin with the object already. */
		fputs("meminitctl: ", stderr);
		if (!said || strncmp(said, object_text, strlen(object_text)) != 0)
			fprintf(stderr, "%s: ", object_text);
		print_reworded(said ? said : "?");
	}
}

int report_call(const char *object, int error, const sd_bus_error *bus_error)
{
	return report_call_of(object, "root is needed", error, bus_error);
}

int report_call_of(const char *object, const char *who_may, int error,
                   const sd_bus_error *bus_error)
{
	scoped(freep) char *object_text = text_escape(object);
	scoped(freep) char *said = NULL;
	bool is_said;

	said = text_escape(bus_error->message ? bus_error->message : strerror(-error));
	if (!said || !object_text)
		return report_no_memory();

	if (report_is_absence(bus_error)) {
		fprintf(stderr,
		        "meminitctl: nodeinitd is not on the bus (nobody owns " NODEINIT_BUS_NAME
		        "); systemctl start nodeinitd\n");
		return CLIENT_NO_DAEMON;
	}
	if (is_silence(bus_error, error)) {
		fprintf(stderr,
		        "meminitctl: %s: nodeinitd gave no answer (%s); systemctl status "
		        "nodeinitd\n",
		        object_text, said);
		return CLIENT_NO_DAEMON;
	}
	if (is_refusal(bus_error, error)) {
		/* The daemon's own sentences say who may; those of the bus do not. */
		is_said = strstr(said, "root");
		fprintf(stderr, "meminitctl: %s: access denied%s%s: %s\n", object_text,
		        is_said ? "" : ", ", is_said ? "" : who_may, said);
		return CLIENT_FAILED;
	}
	if (error == -EBADMSG && !sd_bus_error_is_set(bus_error)) {
		fprintf(stderr,
		        "meminitctl: %s: what answers as " NODEINIT_BUS_NAME
		        " speaks another language; meminitctl " NODEINIT_VERSION
		        " and nodeinitd must be of one version\n",
		        object_text);
		return CLIENT_FAILED;
	}
	print_said(object_text, bus_error->message ? bus_error->message : strerror(-error));
	if (sd_bus_error_has_name(bus_error, NODEINIT_ERROR_NO_SUCH_POOL) ||
	    sd_bus_error_has_name(bus_error, NODEINIT_ERROR_NO_SUCH_NODE) ||
	    sd_bus_error_has_name(bus_error, NODEINIT_ERROR_NO_SUCH_LEASE))
		return CLIENT_NO_SUCH_OBJECT;
	return CLIENT_FAILED;
}

int report_no_such(const char *sort, const char *name)
{
	scoped(freep) char *text = text_escape(name);

	fprintf(stderr, "meminitctl: no %s '%s'; meminitctl status shows what there is\n", sort,
	        text ? text : "?");
	return CLIENT_NO_SUCH_OBJECT;
}

void report_none(const struct client *client, const char *what)
{
	if (client->has_legend && !client->is_quiet)
		fprintf(stderr, "meminitctl: %s\n", what);
}

int report_no_memory(void)
{
	fprintf(stderr, "meminitctl: out of memory\n");
	return CLIENT_FAILED;
}

int report_flush(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, "meminitctl: standard output takes no more (%s)\n", strerror(errno));
	return CLIENT_FAILED;
}

int report_printed(int r, int status)
{
	return r < 0 ? report_no_memory() : report_flush(status);
}
