/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * options.h - the a{sv} at the end of every method
 *
 * Layer: bus. Threads: main. An unknown option is refused, not ignored: a client that asks for
 * something must not believe that it got it. For the same reason one that is given twice is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-bus.h>

/* One option that a method knows. */
struct option {
	const char *name;
	char type;      /* 'b' or 'u' */
	void *value;    /* bool or uint32_t, written where the option is given */
	bool *is_given; /* NULL: nobody wants to know */
};

/*
 * Read the options of @call, which stands right before them, into the values of @options; at most
 * 32. Return: 0; negative with @ret_error filled in (InvalidArgs, naming the option), and then
 * some values may be written.
 */
int options_read(sd_bus_message *call, const struct option *options, size_t nr_options,
                 sd_bus_error *ret_error);

/* The same for a method that knows none. */
int options_read_none(sd_bus_message *call, sd_bus_error *ret_error);
