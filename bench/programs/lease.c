/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lease - how long the lease of a ready region takes
 *
 *     lease ADDRESS POOL NR
 *
 * Leases a region and gives it back, NR times; each time it is waited for until all regions of the
 * pool are ready again, and nothing is at work. Prints for each "LEASE_USEC PING_USEC": the second
 * is a call that the daemon answers with nothing, on the same bus right before.
 */
#include <inttypes.h>
#include <unistd.h>

#include "bus-client.h"

#define LIMIT_NSEC UINT64_C(60000000000)
#define LOOK_NSEC  1000000

static uint64_t read_number(sd_bus *bus, const char *path, const char *name)
{
	uint64_t value;

	must(sd_bus_get_property_trivial(bus, DAEMON, path, DAEMON ".Pool", name, NULL, 't',
	                                 &value),
	     name);
	return value;
}

static void look_again(void)
{
	(void) nanosleep(&(struct timespec){ .tv_nsec = LOOK_NSEC }, NULL);
}

/* There is no signal for it soon enough: changes are told four times a second at most. */
static void wait_whole(sd_bus *bus, const char *path)
{
	uint64_t end_nsec = now_nsec() + LIMIT_NSEC;

	while (read_number(bus, path, "BytesDone") < read_number(bus, path, "BytesTotal") ||
	       read_number(bus, path, "BytesLeased") > 0 ||
	       read_number(bus, path, "BytesDraining") > 0) {
		if (now_nsec() > end_nsec)
			must(-ETIMEDOUT, "the pool is not whole again");
		look_again();
	}
}

static uint64_t ping(sd_bus *bus)
{
	uint64_t begun_nsec = now_nsec();

	must(sd_bus_call_method(bus, DAEMON, ROOT, "org.freedesktop.DBus.Peer", "Ping", NULL, NULL,
	                        ""),
	     "Ping");
	return now_nsec() - begun_nsec;
}

/*
 * Closing both descriptors with the reply ends the lease. What the properties say may be older than
 * the lease before: who is refused looks again. Return: ns of the call that was granted.
 */
static uint64_t lease(sd_bus *bus, const char *path)
{
	uint64_t end_nsec = now_nsec() + LIMIT_NSEC;

	for (;;) {
		sd_bus_error error = SD_BUS_ERROR_NULL;
		sd_bus_message *reply = NULL;
		uint64_t begun_nsec = now_nsec(), nsec;
		int r = sd_bus_call_method(bus, DAEMON, path, DAEMON ".Pool", "Lease", &error,
		                           &reply, "ta{sv}", UINT64_C(0), 0);

		nsec = now_nsec() - begun_nsec;
		(void) sd_bus_message_unref(reply);
		if (r >= 0)
			return nsec;
		if (now_nsec() > end_nsec ||
		    (!sd_bus_error_has_name(&error, DAEMON ".Error.NotReady") &&
		     !sd_bus_error_has_name(&error, DAEMON ".Error.Shortfall")))
			must(r, error.message ? error.message : "Lease");
		sd_bus_error_free(&error);
		look_again();
	}
}

int main(int argc, char **argv)
{
	sd_bus *bus;
	char *path;

	if (argc != 4) {
		fputs("usage: lease ADDRESS POOL NR\n", stderr);
		return 2;
	}
	bus = bus_open(argv[1]);
	path = pool_path(argv[2]);
	for (unsigned long i = strtoul(argv[3], NULL, 10); i > 0; i--) {
		uint64_t ping_nsec;

		wait_whole(bus, path);
		ping_nsec = ping(bus);
		printf("%.3f %.3f\n", (double) lease(bus, path) / 1e3, (double) ping_nsec / 1e3);
	}
	free(path);
	(void) sd_bus_flush_close_unref(bus);
	return 0;
}
