/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bus-fixture.h - a message bus of our own for one test
 *
 * A dbus-daemon as strict as a system bus (default deny, our shipped policy, its limits) on a
 * socket in a fresh directory that nobody else knows: tests run side by side and never see the
 * machine's buses. The user who runs the test may own our name too, as root may by the policy.
 *
 * Faults are ck_assert()s: call it from tests and checked fixtures. One test, one thread.
 */
#pragma once

#include <limits.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>

/* Embedded by value; all zero before bus_fixture_start(), but for its limits. */
struct bus_fixture {
	char directory[64];     /* of the socket and the configuration; any user may enter */
	char address[PATH_MAX]; /* D-Bus address, for --bus= and DBUS_SYSTEM_BUS_ADDRESS */
	pid_t pid;
	/* More of the configuration, as "<limit ...>", after the limits of a system bus, which it
	 * overrides; NULL: nothing. Borrowed. May be set before bus_fixture_start(). */
	const char *limits;
};

/*
 * For main(), before the first test: leave the program as skipped where there is no dbus-daemon.
 * Reads the shipped policy, so that a test may then become a user who cannot read it.
 */
void bus_fixture_require(void);

/* Make the directory and start the bus; it accepts connections on return. */
void bus_fixture_start(struct bus_fixture *fixture);

/* End the bus and remove the directory. A fixture that was not started is fine. */
void bus_fixture_stop(struct bus_fixture *fixture);

/* End the bus as a crash does, and start another one on the same address. */
void bus_fixture_kill(struct bus_fixture *fixture);
void bus_fixture_revive(struct bus_fixture *fixture);

const char *bus_fixture_address(const struct bus_fixture *fixture);

/* A new connection, which the caller owns: "scoped(sd_bus_flush_close_unrefp) sd_bus *bus". */
sd_bus *bus_fixture_connect(const struct bus_fixture *fixture);
