/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * first-region - how long after its start the daemon lends the first region
 *
 *     first-region ADDRESS POOL COMMAND...
 *
 * Runs the daemon's COMMAND, waits until it is on the bus, and asks for a region, waiting for it.
 * Prints "NAME LEASE CALL": ms from just before the fork until the daemon owns its name, until the
 * lease is here, and how long the call of Lease took. Ends the daemon, which ends also when this is
 * killed.
 */
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bus-client.h"

#define LIMIT_NSEC UINT64_C(20000000000)

static bool is_owned;
static pid_t pid;

static int on_owner(sd_bus_message *message, void *arg, sd_bus_error *error)
{
	const char *name, *before, *after;

	(void) arg, (void) error;
	must(sd_bus_message_read(message, "sss", &name, &before, &after), "NameOwnerChanged");
	/* Every connection has a name of its own, too, and the daemon has that first. */
	if (strcmp(name, DAEMON) == 0)
		is_owned = *after != '\0';
	return 0;
}

static void end_daemon(void)
{
	if (pid > 0) {
		(void) kill(pid, SIGTERM);
		(void) waitpid(pid, NULL, 0);
	}
}

static void start(char **command)
{
	pid_t parent_pid = getpid();

	pid = fork();
	if (pid == 0) {
		/* That is for the deaths to come, and not for one that was before. */
		(void) prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent_pid)
			_exit(126);
		(void) execv(command[0], command);
		_exit(126);
	}
	must(pid < 0 ? -errno : 0, "fork");
	(void) atexit(end_daemon);
}

static void wait_owned(sd_bus *bus, uint64_t end_nsec)
{
	while (!is_owned) {
		if (must(sd_bus_process(bus, NULL), "the bus") > 0)
			continue;
		if (now_nsec() > end_nsec)
			must(-ETIMEDOUT, "the daemon is not on the bus");
		must(sd_bus_wait(bus, 100000), "the bus");
	}
}

int main(int argc, char **argv)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	uint64_t begun_nsec, owned_nsec, leased_nsec;
	sd_bus_message *reply = NULL;
	sd_bus *bus;
	char *path;
	int r;

	if (argc < 4) {
		fputs("usage: first-region ADDRESS POOL COMMAND...\n", stderr);
		return 2;
	}
	bus = bus_open(argv[1]);
	path = pool_path(argv[2]);
	must(sd_bus_match_signal(bus, NULL, "org.freedesktop.DBus", NULL, "org.freedesktop.DBus",
	                         "NameOwnerChanged", on_owner, NULL),
	     "NameOwnerChanged");
	begun_nsec = now_nsec();
	start(argv + 3);
	wait_owned(bus, begun_nsec + LIMIT_NSEC);
	owned_nsec = now_nsec();
	r = sd_bus_call_method(bus, DAEMON, path, DAEMON ".Pool", "Lease", &error, &reply, "ta{sv}",
	                       UINT64_C(0), 1, "wait", "b", 1);
	leased_nsec = now_nsec();
	must(r, error.message ? error.message : "Lease");
	printf("%.3f %.3f %.3f\n", (double) (owned_nsec - begun_nsec) / 1e6,
	       (double) (leased_nsec - begun_nsec) / 1e6,
	       (double) (leased_nsec - owned_nsec) / 1e6);
	(void) sd_bus_message_unref(reply);
	free(path);
	(void) sd_bus_flush_close_unref(bus);
	return 0;
}
