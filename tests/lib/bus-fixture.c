/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../dbus/names.h"
#include "bus-fixture.h"
#include "suite.h"

#define START_LIMIT_MSEC 10000
#define POLICY_MAX       16384

/* The shipped policy, read while we are who started the tests: the tree may be closed to others. */
static char policy[POLICY_MAX];
static size_t policy_length;

/*
 * What a distribution's system.conf says, without activation and without a user to become. The
 * shipped policy comes after it, as from system.d; the last rule is for the user of the test.
 */
static const char bus_config[] =
	"<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\"\n"
	" \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\n"
	"<busconfig>\n"
	"  <type>system</type>\n"
	"  <auth>EXTERNAL</auth>\n"
	"  <listen>%s</listen>\n"
	"  <policy context=\"default\">\n"
	"    <allow user=\"*\"/>\n"
	"    <deny own=\"*\"/>\n"
	"    <deny send_type=\"method_call\"/>\n"
	"    <allow send_type=\"signal\"/>\n"
	"    <allow send_requested_reply=\"true\" send_type=\"method_return\"/>\n"
	"    <allow send_requested_reply=\"true\" send_type=\"error\"/>\n"
	"    <allow receive_type=\"method_call\"/>\n"
	"    <allow receive_type=\"method_return\"/>\n"
	"    <allow receive_type=\"error\"/>\n"
	"    <allow receive_type=\"signal\"/>\n"
	"    <allow send_destination=\"org.freedesktop.DBus\"/>\n"
	"  </policy>\n"
	"  <policy user=\"root\">\n"
	"    <allow own=\"org.freedesktop.PolicyKit1\"/>\n"
	"    <allow send_destination=\"org.freedesktop.PolicyKit1\"/>\n"
	"    <allow own=\"org.freedesktop.systemd1\"/>\n"
	"    <allow send_destination=\"org.freedesktop.systemd1\"/>\n"
	"  </policy>\n"
	"  <limit name=\"max_message_unix_fds\">16</limit>\n"
	"  <limit name=\"max_connections_per_user\">256</limit>\n"
	"  <limit name=\"max_replies_per_connection\">128</limit>\n"
	"  <limit name=\"max_match_rules_per_connection\">512</limit>\n"
	"%s"
	"  <include>%s</include>\n"
	"  <policy user=\"%u\">\n"
	"    <allow own=\"" NODEINIT_BUS_NAME "\"/>\n"
	"  </policy>\n"
	"</busconfig>\n";

void bus_fixture_require(void)
{
	FILE *file;

	if (system("dbus-daemon --version >/dev/null 2>&1") != 0)
		suite_skip("there is no dbus-daemon");

	file = fopen(TEST_BUS_POLICY, "re");
	if (file) {
		policy_length = fread(policy, 1, sizeof(policy), file);
		(void) fclose(file);
	}
	if (policy_length == 0 || policy_length == sizeof(policy)) {
		fprintf(stderr, "%s cannot be read, or is too long\n", TEST_BUS_POLICY);
		exit(1);
	}
}

static void write_config(const struct bus_fixture *fixture, const char *path)
{
	char policy_path[PATH_MAX];
	FILE *file;

	(void) snprintf(policy_path, sizeof(policy_path), "%s/policy.conf", fixture->directory);
	file = fopen(policy_path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_gt(policy_length, 0);
	ck_assert_uint_eq(fwrite(policy, 1, policy_length, file), policy_length);
	ck_assert_int_eq(fclose(file), 0);

	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_gt(fprintf(file, bus_config, fixture->address,
	                         fixture->limits ? fixture->limits : "", policy_path, getuid()),
	                 0);
	ck_assert_int_eq(fclose(file), 0);
}

_Noreturn static void become_bus(const char *config_path, int ready_fd)
{
	char config_arg[PATH_MAX + 32], ready_arg[32];

	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void) fcntl(ready_fd, F_SETFD, 0);
	(void) snprintf(config_arg, sizeof(config_arg), "--config-file=%s", config_path);
	(void) snprintf(ready_arg, sizeof(ready_arg), "--print-address=%d", ready_fd);
	(void) execlp("dbus-daemon", "dbus-daemon", "--nofork", "--nosyslog", config_arg, ready_arg,
	              (char *) NULL);
	_exit(127);
}

void bus_fixture_revive(struct bus_fixture *fixture)
{
	char config_path[PATH_MAX], socket_path[PATH_MAX], line[PATH_MAX];
	struct pollfd ready = { .events = POLLIN };
	int fds[2];

	(void) snprintf(config_path, sizeof(config_path), "%s/bus.conf", fixture->directory);
	(void) snprintf(socket_path, sizeof(socket_path), "%s/bus", fixture->directory);
	(void) unlink(socket_path);
	write_config(fixture, config_path);

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	fixture->pid = fork();
	ck_assert_int_ge(fixture->pid, 0);
	if (fixture->pid == 0)
		become_bus(config_path, fds[1]);

	(void) close(fds[1]);
	ready.fd = fds[0];
	ck_assert_msg(poll(&ready, 1, START_LIMIT_MSEC) == 1, "dbus-daemon did not start");
	ck_assert_msg(read(fds[0], line, sizeof(line)) > 1,
	              "dbus-daemon refused its configuration");
	(void) close(fds[0]);
}

void bus_fixture_start(struct bus_fixture *fixture)
{
	const char *parent = getenv("TMPDIR");

	/* The path of a socket has 107 characters; see unix(7). */
	if (!parent || strlen(parent) > 40)
		parent = "/tmp";
	(void) snprintf(fixture->directory, sizeof(fixture->directory), "%s/nodeinit-bus.XXXXXX",
	                parent);
	ck_assert_ptr_nonnull(mkdtemp(fixture->directory));
	ck_assert_int_eq(chmod(fixture->directory, 0755), 0);
	(void) snprintf(fixture->address, sizeof(fixture->address), "unix:path=%s/bus",
	                fixture->directory);
	bus_fixture_revive(fixture);
}

void bus_fixture_kill(struct bus_fixture *fixture)
{
	if (fixture->pid <= 0)
		return;
	(void) kill(fixture->pid, SIGKILL);
	(void) waitpid(fixture->pid, NULL, 0);
	fixture->pid = 0;
}

void bus_fixture_stop(struct bus_fixture *fixture)
{
	static const char *const files[] = { "bus.conf", "policy.conf", "bus" };
	char path[PATH_MAX];

	bus_fixture_kill(fixture);
	if (fixture->directory[0] == '\0')
		return;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void) snprintf(path, sizeof(path), "%s/%s", fixture->directory, files[i]);
		(void) unlink(path);
	}
	(void) rmdir(fixture->directory);
	fixture->directory[0] = '\0';
}

const char *bus_fixture_address(const struct bus_fixture *fixture)
{
	return fixture->address;
}

sd_bus *bus_fixture_connect(const struct bus_fixture *fixture)
{
	sd_bus *bus = NULL;

	ck_assert_int_ge(sd_bus_new(&bus), 0);
	ck_assert_int_ge(sd_bus_set_address(bus, fixture->address), 0);
	ck_assert_int_ge(sd_bus_set_bus_client(bus, 1), 0);
	ck_assert_int_ge(sd_bus_start(bus), 0);
	return bus;
}
