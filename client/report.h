/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * report.h - what went wrong with a call: one sentence with the object and the remedy
 */
#pragma once

#include <systemd/sd-bus.h>

#include "client.h"

/*
 * Say on standard error that the call behind @object ("pool guests", or the verb) failed.
 * @bus_error may be unset; then @error (-errno) is what happened. Return: the exit status.
 */
int report_call(const char *object, int error, const sd_bus_error *bus_error);

/* The same, where others than root may: @who_may is said to those who may not, when the
 * daemon has not. */
int report_call_of(const char *object, const char *who_may, int error,
                   const sd_bus_error *bus_error);

/* The daemon is not there (and may come back), as opposed to: it says no. */
bool report_is_absence(const sd_bus_error *bus_error);

/* Say that there is no @sort ("node", "pool") called @name. Return: the exit status. */
int report_no_such(const char *sort, const char *name);

/* Say in the place of a table that it has no line: @what. */
void report_none(const struct client *client, const char *what);

int report_no_memory(void);

/* Flush standard output. Return: @status, or CLIENT_FAILED when the data could not be written. */
int report_flush(int status);

/* The end of a verb that printed with the result @r (0 or -ENOMEM). Return: @status, or
 * CLIENT_FAILED. */
int report_printed(int r, int status);
