/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/base/scoped.h"
#include "../../dbus/names.h"
#include "daemon-fixture.h"

static void write_file(const char *path, const char *text)
{
	scoped(file_closep) FILE *file = fopen(path, "we");

	ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
	ck_assert_int_ge(fputs(text, file), 0);
}

/* The unit has a LimitNOFILE= by which daemon and service manager can hold many regions. */
static void raise_nofile(void)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

void daemon_fixture_start(struct daemon_fixture *fixture)
{
	char path[128];

	(void) snprintf(fixture->directory, sizeof(fixture->directory),
	                "/tmp/nodeinit-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(fixture->directory));
	(void) snprintf(path, sizeof(path), "%s/pools.d", fixture->directory);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	(void) snprintf(fixture->log_path, sizeof(fixture->log_path), "%s/log", fixture->directory);
	raise_nofile();
	(void) snprintf(path, sizeof(path), "%s/notify", fixture->directory);
	notify_socket_open(&fixture->notify, path);
	bus_fixture_start(&fixture->bus);
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
	(void) st, (void) flag, (void) walk;
	return remove(path);
}

void daemon_fixture_stop(struct daemon_fixture *fixture)
{
	if (fixture->pid > 0) {
		(void) kill(fixture->pid, SIGKILL);
		(void) waitpid(fixture->pid, NULL, 0);
		fixture->pid = 0;
	}
	fixture->client = sd_bus_flush_close_unref(fixture->client);
	notify_socket_close(&fixture->notify);
	bus_fixture_stop(&fixture->bus);
	if (fixture->directory[0])
		(void) nftw(fixture->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	memset(fixture, 0, sizeof(*fixture));
}

void daemon_write_pool(struct daemon_fixture *fixture, const char *name, const char *text)
{
	char path[256];

	(void) snprintf(path, sizeof(path), "%s/pools.d/%s.pool", fixture->directory, name);
	write_file(path, text);
}

void daemon_remove_pool(struct daemon_fixture *fixture, const char *name)
{
	char path[256];

	(void) snprintf(path, sizeof(path), "%s/pools.d/%s.pool", fixture->directory, name);
	ck_assert_int_eq(unlink(path), 0);
}

void daemon_write_conf(struct daemon_fixture *fixture, const char *text)
{
	char path[256];

	(void) snprintf(path, sizeof(path), "%s/nodeinitd.conf", fixture->directory);
	write_file(path, text);
}

static _Noreturn void exec_daemon(struct daemon_fixture *fixture, const char *const *environment)
{
	const char *binary = getenv("NODEINITD");
	char notify[128];
	int log_fd;

	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	log_fd = open(fixture->log_path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (log_fd < 0 || dup2(log_fd, STDERR_FILENO) < 0)
		_exit(126);
	/* nothing of ours, so that a test may count what it has; hand_over() clears the mark again
	 */
	(void) close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
	(void) snprintf(notify, sizeof(notify), "%s/notify", fixture->directory);
	(void) setenv("NOTIFY_SOCKET", notify, 1);
	if (fixture->notify.store.nr > 0 && fd_store_hand_over(&fixture->notify.store) < 0)
		_exit(125);
	for (; environment && *environment; environment++)
		(void) putenv((char *) *environment);
	(void) execl(binary, binary, "--config", fixture->directory, "--bus",
	             bus_fixture_address(&fixture->bus), (char *) NULL);
	_exit(127);
}

void daemon_launch(struct daemon_fixture *fixture, const char *const *environment)
{
	ck_assert_msg(getenv("NODEINITD") != NULL, "NODEINITD names no binary");
	ck_assert_int_eq(fixture->pid, 0);
	/* the store as a whole, with all that was sent by the process before */
	notify_socket_lock(&fixture->notify);
	fixture->pid = fork();
	if (fixture->pid == 0)
		exec_daemon(fixture, environment);
	notify_socket_unlock(&fixture->notify);
	ck_assert_int_ge(fixture->pid, 0);
}

static bool has_line(const char *text, const char *line)
{
	size_t line_bytes = strlen(line);
	bool is_prefix = line_bytes > 0 && line[line_bytes - 1] == '*';

	if (is_prefix)
		line_bytes--;
	for (const char *at = text; at && *at; at = strchr(at, '\n') + 1)
		if (strncmp(at, line, line_bytes) == 0 && (is_prefix || at[line_bytes] == '\n'))
			return true;
	return false;
}

bool daemon_was_notified(struct daemon_fixture *fixture, const char *line)
{
	bool is_there;

	notify_socket_lock(&fixture->notify);
	is_there = has_line(fixture->notify.text, line);
	notify_socket_unlock(&fixture->notify);
	return is_there;
}

void daemon_wait_notified(struct daemon_fixture *fixture, const char *line)
{
	uint64_t end_usec = clock_monotonic_usec() + DAEMON_LIMIT_MSEC * UINT64_C(1000);
	bool is_there, is_in_time = true;

	notify_socket_lock(&fixture->notify);
	while (!(is_there = has_line(fixture->notify.text, line)) && is_in_time)
		is_in_time = notify_socket_wait(&fixture->notify, end_usec);
	if (!is_there) {
		char *log = daemon_log(fixture);

		ck_abort_msg("no notify line '%s'; had:\n%slog:\n%s", line,
		             fixture->notify.text ? fixture->notify.text : "", log);
	}
	notify_socket_unlock(&fixture->notify);
}

void daemon_forget_notified(struct daemon_fixture *fixture)
{
	notify_socket_lock(&fixture->notify);
	free(fixture->notify.text);
	fixture->notify.text = NULL;
	fixture->notify.text_bytes = 0;
	notify_socket_unlock(&fixture->notify);
}

int daemon_wait_end(struct daemon_fixture *fixture)
{
	scoped(fd_closep) int pid_fd = (int) syscall(SYS_pidfd_open, fixture->pid, 0);
	struct pollfd poll_fd = { .fd = pid_fd, .events = POLLIN };
	int status;

	ck_assert_int_ge(pid_fd, 0);
	ck_assert_msg(poll(&poll_fd, 1, DAEMON_LIMIT_MSEC) == 1, "the daemon does not end");
	ck_assert_int_eq(waitpid(fixture->pid, &status, 0), fixture->pid);
	fixture->pid = 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int daemon_end(struct daemon_fixture *fixture, int signal)
{
	ck_assert_int_eq(kill(fixture->pid, signal), 0);
	return daemon_wait_end(fixture);
}

char *daemon_log(struct daemon_fixture *fixture)
{
	scoped(file_closep) FILE *file = fopen(fixture->log_path, "re");
	char *text = NULL;
	size_t bytes = 0;

	if (!file || getdelim(&text, &bytes, '\0', file) < 0) {
		free(text);
		text = strdup("");
	}
	ck_assert_ptr_nonnull(text);
	return text;
}

sd_bus *daemon_client(struct daemon_fixture *fixture)
{
	if (!fixture->client)
		fixture->client = bus_fixture_connect(&fixture->bus);
	return fixture->client;
}

static void get_property(struct daemon_fixture *fixture, const char *path, const char *interface,
                         const char *property, char type, void *ret)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r;

	r = sd_bus_get_property_trivial(daemon_client(fixture), NODEINIT_BUS_NAME, path, interface,
	                                property, &error, type, ret);
	ck_assert_msg(r >= 0, "%s %s.%s: %s", path, interface, property, error.message);
}

char *daemon_get_text(struct daemon_fixture *fixture, const char *path, const char *interface,
                      const char *property)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	char *text = NULL;
	int r;

	r = sd_bus_get_property_string(daemon_client(fixture), NODEINIT_BUS_NAME, path, interface,
	                               property, &error, &text);
	ck_assert_msg(r >= 0, "%s %s.%s: %s", path, interface, property, error.message);
	return text;
}

uint64_t daemon_get_u64(struct daemon_fixture *fixture, const char *path, const char *interface,
                        const char *property)
{
	uint64_t value = 0;

	get_property(fixture, path, interface, property, 't', &value);
	return value;
}

bool daemon_get_bool(struct daemon_fixture *fixture, const char *path, const char *interface,
                     const char *property)
{
	int value = 0;

	get_property(fixture, path, interface, property, 'b', &value);
	return value;
}

static int on_changed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	(void) m, (void) ret_error;
	*(bool *) userdata = true;
	return 0;
}

/* Something about an object that a test waits for. */
struct awaited {
	const char *path;
	const char *interface;
	const char *property;
	const char *text; /* NULL: the number */
	uint64_t value;
	bool is_exact;
};

static bool is_reached(struct daemon_fixture *fixture, const struct awaited *awaited, char *ret_now,
                       size_t now_bytes)
{
	uint64_t value;

	if (awaited->text) {
		scoped(freep) char *text = daemon_get_text(fixture, awaited->path,
		                                           awaited->interface, awaited->property);

		(void) snprintf(ret_now, now_bytes, "%s", text);
		return strcmp(text, awaited->text) == 0;
	}
	value = daemon_get_u64(fixture, awaited->path, awaited->interface, awaited->property);
	(void) snprintf(ret_now, now_bytes, "%" PRIu64, value);
	return awaited->is_exact ? value == awaited->value : value > awaited->value;
}

/* Look once, then again after each PropertiesChanged of the object. */
static void wait_for(struct daemon_fixture *fixture, const struct awaited *awaited)
{
	scoped(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
	uint64_t end_usec = clock_monotonic_usec() + DAEMON_LIMIT_MSEC * UINT64_C(1000);
	sd_bus *bus = daemon_client(fixture);
	bool has_changed = true;
	char now[64] = "";

	ck_assert_int_ge(sd_bus_match_signal(bus, &slot, NODEINIT_BUS_NAME, awaited->path,
	                                     "org.freedesktop.DBus.Properties", "PropertiesChanged",
	                                     on_changed, &has_changed),
	                 0);
	for (;;) {
		uint64_t now_usec = clock_monotonic_usec();
		int r;

		if (has_changed) {
			has_changed = false;
			if (is_reached(fixture, awaited, now, sizeof(now)))
				return;
		}
		ck_assert_msg(now_usec < end_usec, "%s: %s stays %s", awaited->path,
		              awaited->property, now);
		r = sd_bus_process(bus, NULL);
		ck_assert_int_ge(r, 0);
		if (r == 0 && !has_changed)
			ck_assert_int_ge(sd_bus_wait(bus, end_usec - now_usec), 0);
	}
}

void daemon_wait_state(struct daemon_fixture *fixture, const char *path, const char *interface,
                       const char *state)
{
	wait_for(fixture, &(struct awaited){ path, interface, "State", .text = state });
}

void daemon_wait_above(struct daemon_fixture *fixture, const char *path, const char *interface,
                       const char *property, uint64_t value)
{
	wait_for(fixture, &(struct awaited){ path, interface, property, .value = value });
}

void daemon_wait_u64(struct daemon_fixture *fixture, const char *path, const char *interface,
                     const char *property, uint64_t value)
{
	wait_for(fixture,
	         &(struct awaited){ path, interface, property, .value = value, .is_exact = true });
}

int daemon_call(struct daemon_fixture *fixture, const char *path, const char *interface,
                const char *method, sd_bus_error *ret_error)
{
	return sd_bus_call_method(daemon_client(fixture), NODEINIT_BUS_NAME, path, interface,
	                          method, ret_error, NULL, "a{sv}", 0);
}

uint64_t daemon_proc_status(struct daemon_fixture *fixture, const char *key)
{
	char path[64], line[256];
	size_t key_bytes = strlen(key);
	uint64_t value = UINT64_MAX;

	(void) snprintf(path, sizeof(path), "/proc/%d/status", (int) fixture->pid);
	scoped(file_closep) FILE *file = fopen(path, "re");

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, key, key_bytes) == 0 && line[key_bytes] == ':')
			value = strtoull(line + key_bytes + 1, NULL, 10);
	ck_assert_uint_ne(value, UINT64_MAX);
	return value;
}
