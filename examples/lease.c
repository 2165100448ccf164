/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lease a region of a pool, use it, give it back. The bus is the system bus.
 *     cc lease.c -o lease $(pkg-config --cflags --libs libsystemd) && ./lease guests */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <systemd/sd-bus.h>

int main(int argc, char **argv)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus_message *reply = NULL;
	sd_bus *bus = NULL;
	char *path = NULL, *memory;
	const char *id;
	int memory_fd, lifetime_fd, r;
	uint32_t node_id;
	uint64_t bytes;

	if (argc != 2) {
		fprintf(stderr, "usage: %s POOL\n", argv[0]);
		return 2;
	}
	r = sd_bus_open_system(&bus);
	if (r >= 0)
		r = sd_bus_path_encode("/org/nodeinit1/pool", argv[1], &path);
	if (r >= 0) /* at least 1 MiB; where none is ready, wait for one */
		r = sd_bus_call_method(bus, "org.nodeinit1", path, "org.nodeinit1.Pool", "Lease",
		                       &error, &reply, "ta{sv}", UINT64_C(1) << 20, 1, "wait", "b",
		                       1);
	if (r >= 0) /* both descriptors belong to the message, and live as long as it does */
		r = sd_bus_message_read(reply, "hhsut", &memory_fd, &lifetime_fd, &id, &node_id,
		                        &bytes);
	if (sd_bus_error_has_name(&error, SD_BUS_ERROR_UNKNOWN_OBJECT)) {
		fprintf(stderr, "no pool %s; meminitctl pools shows all\n", argv[1]);
		return 1;
	}
	if (r < 0) {
		fprintf(stderr, "no lease: %s\n", error.message ? error.message : strerror(-r));
		return 1;
	}
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
	if (memory == MAP_FAILED) {
		fprintf(stderr, "no memory: %s\n", strerror(errno));
		return 1;
	}
	printf("lease %s: %" PRIu64 " bytes on node %" PRIu32 ", the first is %d\n", id, bytes,
	       node_id, memory[0]);
	memset(memory, 1, bytes);
	return 0; /* the end of the process is the end of the lease */
}
