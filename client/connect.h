/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * connect.h - the bus that the options name
 *
 * Blocks until the bus has said hello, so that what is wrong with a host or an address is said as
 * such and not as a failed call.
 */
#pragma once

#include <systemd/sd-bus.h>

#include "client.h"

/* What sd-bus takes by default, said here because it is promised in the manual page. */
#define CONNECT_CALL_USEC UINT64_C(25000000)

/* Return: 0 and *ret, which the caller owns; -errno: nobody to talk to. Says nothing. */
int connect_bus(const struct client *client, sd_bus **ret);

/* Say that connect_bus() failed with @error, and what helps. Return: the exit status. */
int connect_report(const struct client *client, int error);
