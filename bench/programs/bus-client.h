/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bus-client.h - what the bench's clients of the daemon have in common
 *
 * Layer: bench. Threads: one. Whoever includes it links libsystemd.
 */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>

#define DAEMON "org.nodeinit1"
#define ROOT   "/org/nodeinit1"

static inline uint64_t now_nsec(void)
{
	struct timespec now;

	(void) clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * UINT64_C(1000000000) + (uint64_t) now.tv_nsec;
}

/* Ends the program when @r is negative. Return: @r. */
static inline int must(int r, const char *what)
{
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(-r));
		exit(1);
	}
	return r;
}

/* Connected and greeted. The caller owns it. */
static inline sd_bus *bus_open(const char *address)
{
	sd_bus *bus;

	must(sd_bus_new(&bus), "sd-bus");
	must(sd_bus_set_address(bus, address), address);
	must(sd_bus_set_bus_client(bus, 1), address);
	must(sd_bus_start(bus), address);
	must(sd_bus_get_unique_name(bus, &(const char *){ NULL }), address);
	return bus;
}

/* The object of a pool whose name needs no escapes. The caller frees it. */
static inline char *pool_path(const char *name)
{
	char *path;

	must(sd_bus_path_encode(ROOT "/pool", name, &path), name);
	return path;
}
