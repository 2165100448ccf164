/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * error.h - from errno to a D-Bus error with a sentence
 *
 * Layer: bus. Threads: main. The one place where the two meet. Standard things have the standard
 * names (org.freedesktop.DBus.Error.*), our own have org.nodeinit1.Error.*; both are listed in
 * org.nodeinit1(5).
 */
#pragma once

#include <systemd/sd-bus.h>

/* The D-Bus name of @error (errno or -errno). Static. */
const char *bus_error_name(int error);

/*
 * Fill in @ret_error for @error (-errno). @sentence names the object, the numbers and the remedy;
 * NULL: the general sentence of that error. What in it is not UTF-8 becomes '?'. Return: negative,
 * as sd-bus handlers return it.
 */
int bus_error_set(sd_bus_error *ret_error, int error, const char *sentence);

/* The same with a sentence made by printf(3). */
int bus_error_setf(sd_bus_error *ret_error, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
