/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * raw-client.h - a client of the bus that does what no library lets a client do
 *
 * Its calls are made byte by byte: Pool.Lease with descriptors that its signature has no room for;
 * and it never reads what it is sent. Faults are ck_assert()s. Blocks until the bus has let it in.
 */
#pragma once

#include <stdint.h>

#include "bus-fixture.h"

/* A connection, after its Hello. Return: the socket; the caller closes it. */
int raw_client_connect(const struct bus_fixture *fixture);

/*
 * Call Lease of the pool at @path with no bytes, no options, and @nr_fds (at most 32) duplicates of
 * @fd. @serial is above 1 and each time another.
 */
void raw_client_lease(int socket_fd, uint32_t serial, const char *path, int fd, unsigned nr_fds);
