/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * options.h - the a{sv} at the end of every method
 *
 * Layer: bus. Threads: main. No method knows an option yet. An unknown one is refused, not ignored:
 * a client that asks for something must not believe that it got it.
 */
#pragma once

#include <systemd/sd-bus.h>

/*
 * Read the options of @call, which stands right before them. Return: 0 there are none; negative
 * with @ret_error filled in (InvalidArgs, naming the option).
 */
int options_read_none(sd_bus_message *call, sd_bus_error *ret_error);
