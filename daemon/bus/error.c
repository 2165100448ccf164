/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	  "What is asked for is not ready yet; ask again, or wait for the State to settle." },
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
	{ EMFILE, SD_BUS_ERROR_LIMITS_EXCEEDED,
	  "The daemon has as many files open as it may; try again when leases have ended." },
	{ ENFILE, SD_BUS_ERROR_LIMITS_EXCEEDED,
	  "This host has as many files open as it may; try again later." },
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

/* How many bytes the character has that @text begins with; 0: it begins with none (RFC 3629). */
static size_t utf8_bytes(const unsigned char *text)
{
	/* The smallest number that needs so many bytes: one that needs fewer is not written so. */
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t character;
	size_t nr_bytes;

	if (text[0] < 0x80)
		return 1;
	if (text[0] < 0xc0 || text[0] >= 0xf8)
		return 0;
	nr_bytes = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	character = text[0] & (0xffU >> (nr_bytes + 1));
	for (size_t i = 1; i < nr_bytes; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (text[i] & 0x3f);
	}
	if (character < smallest[nr_bytes] || character > 0x10ffff ||
	    (character >= 0xd800 && character < 0xe000))
		return 0;
	return nr_bytes;
}

/*
 * Sentences quote names of files and what clients wrote, cut to a length. sd-bus sends text as it
 * is, and a bus closes the connection of who sends what is no text.
 */
static void mend_text(char *text)
{
	while (*text) {
		size_t nr_bytes = utf8_bytes((const unsigned char *) text);

		if (nr_bytes == 0)
			*text = '?';
		text += nr_bytes ? nr_bytes : 1;
	}
}

int bus_error_set(sd_bus_error *ret_error, int error, const char *sentence)
{
	const struct known_error *known = find_known(error);
	scoped(freep) char *text = sentence ? strdup(sentence) : NULL;

	if (text) {
		mend_text(text);
		return sd_bus_error_set(ret_error, bus_error_name(error), text);
	}
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
