/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../dbus/names.h"
#include "../base/scoped.h"
#include "error.h"

struct known_error {
	int number;
	const char *name;
	const char *sentence;
};

static const struct known_error known_errors[] = {
	{ EBADMSG, NODEINIT_ERROR_CONFIG_INVALID,
	  "A configuration file was refused, everything else is applied; "
	  "\"nodeinitd --plan\" shows the file, the line and what is accepted." },
	{ ENOENT, NODEINIT_ERROR_NO_SUCH_POOL, "There is no such pool; ListPools shows all." },
	{ ENXIO, NODEINIT_ERROR_NO_SUCH_NODE, "There is no such node; ListNodes shows all." },
	{ ESRCH, NODEINIT_ERROR_NO_SUCH_LEASE, "There is no such lease; ListLeases shows all." },
	{ EBUSY, NODEINIT_ERROR_NOT_READY,
	  "Work is still going on; wait for the State to settle." },
	{ ENOSPC, NODEINIT_ERROR_SHORTFALL, "There is less memory than asked for." },
	{ EDQUOT, NODEINIT_ERROR_QUOTA_EXCEEDED, "The quota of the calling user is used up." },
	{ ECANCELED, NODEINIT_ERROR_CANCELLED, "The work was cancelled." },
	{ EALREADY, "System.Error.EALREADY",
	  "There is nothing to do: nothing is missing, or it is being worked on." },
	{ EINVAL, SD_BUS_ERROR_INVALID_ARGS, "An argument is not acceptable." },
	{ EACCES, SD_BUS_ERROR_ACCESS_DENIED, "Only root may do this." },
	{ EPERM, SD_BUS_ERROR_ACCESS_DENIED, "Only root may do this." },
	{ ENOMEM, SD_BUS_ERROR_NO_MEMORY, "The daemon is out of memory; try again later." },
	{ ENOBUFS, SD_BUS_ERROR_LIMITS_EXCEEDED,
	  "Too many calls are waiting; try again when some were answered." },
	{ EOPNOTSUPP, SD_BUS_ERROR_NOT_SUPPORTED, "This daemon cannot do that." },
	{ ETIMEDOUT, SD_BUS_ERROR_TIMEOUT, "No answer came in time." },
};

static const struct known_error *find_known(int error)
{
	for (size_t i = 0; i < ELEMENTS(known_errors); i++) {
		if (known_errors[i].number == abs(error))
			return &known_errors[i];
	}
	return NULL;
}

const char *bus_error_name(int error)
{
	const struct known_error *known = find_known(error);

	return known ? known->name : SD_BUS_ERROR_FAILED;
}

int bus_error_set(sd_bus_error *ret_error, int error, const char *sentence)
{
	const struct known_error *known = find_known(error);

	if (sentence)
		return sd_bus_error_set(ret_error, bus_error_name(error), sentence);
	if (known)
		return sd_bus_error_set(ret_error, known->name, known->sentence);
	return sd_bus_error_setf(ret_error, SD_BUS_ERROR_FAILED, "The request failed: %s.",
	                         strerrordesc_np(abs(error)));
}

int bus_error_setf(sd_bus_error *ret_error, int error, const char *format, ...)
{
	scoped(freep) char *sentence = NULL;
	va_list args;
	int r;

	va_start(args, format);
	r = vasprintf(&sentence, format, args);
	va_end(args);
	if (r < 0)
		sentence = NULL; /* vasprintf(3) leaves it undefined */
	return bus_error_set(ret_error, error, sentence);
}
