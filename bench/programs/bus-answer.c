/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bus-answer - how long the daemon takes to answer while it works
 *
 *     bus-answer ADDRESS SECONDS
 *
 * Asks in turn for one property, for all of an interface, and for the list of pools, until the
 * daemon is ready, at most SECONDS. Prints for each answer "Get USEC", "GetAll USEC", "ListPools
 * USEC".
 */
#include <stdbool.h>

#include "bus-client.h"

#define ANSWERS_MAX (1 << 20)

enum { ASK_GET, ASK_GET_ALL, ASK_LIST_POOLS, NR_ASKS };
static const char *const asks[NR_ASKS] = { "Get", "GetAll", "ListPools" };
static double usec[ANSWERS_MAX]; /* printed in the end: output takes time */

static bool get_ready(sd_bus *bus)
{
	uint64_t ready_usec;

	must(sd_bus_get_property_trivial(bus, DAEMON, ROOT, DAEMON ".Manager", "ReadyMonotonic",
	                                 NULL, 't', &ready_usec),
	     "Get");
	return ready_usec > 0;
}

static void call(sd_bus *bus, unsigned ask)
{
	sd_bus_message *reply;
	int r;

	if (ask == ASK_GET_ALL)
		r = sd_bus_call_method(bus, DAEMON, ROOT, "org.freedesktop.DBus.Properties",
		                       "GetAll", NULL, &reply, "s", DAEMON ".Manager");
	else
		r = sd_bus_call_method(bus, DAEMON, ROOT, DAEMON ".Manager", "ListPools", NULL,
		                       &reply, "a{sv}", 0);
	must(r, asks[ask]);
	(void) sd_bus_message_unref(reply);
}

int main(int argc, char **argv)
{
	uint64_t end_nsec;
	bool is_ready = false;
	unsigned nr = 0;
	sd_bus *bus;

	if (argc != 3) {
		fputs("usage: bus-answer ADDRESS SECONDS\n", stderr);
		return 2;
	}
	bus = bus_open(argv[1]);
	end_nsec = now_nsec() + (uint64_t) (strtod(argv[2], NULL) * 1e9);
	while (!is_ready && nr < ANSWERS_MAX && now_nsec() < end_nsec) {
		unsigned ask = nr % NR_ASKS;
		uint64_t begun_nsec = now_nsec();

		if (ask == ASK_GET)
			is_ready = get_ready(bus);
		else
			call(bus, ask);
		usec[nr++] = (double) (now_nsec() - begun_nsec) / 1e3;
	}
	for (unsigned i = 0; i < nr; i++)
		printf("%s %.3f\n", asks[i % NR_ASKS], usec[i]);
	(void) sd_bus_flush_close_unref(bus);
	return 0;
}
