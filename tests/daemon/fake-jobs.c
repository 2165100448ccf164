/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "fake-jobs.h"

#define MANAGER   "org.freedesktop.systemd1"
#define UNIT_PATH "/org/freedesktop/systemd1/unit/nodeinitd_2eservice"
#define JOB_PATH  "/org/freedesktop/systemd1/job/42"

static int get_unit_by_pid(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	(void) userdata, (void) ret_error;
	return sd_bus_reply_method_return(call, "o", UNIT_PATH);
}

static int get_job(sd_bus *bus, const char *path, const char *interface, const char *property,
                   sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	(void) bus, (void) path, (void) interface, (void) property, (void) ret_error;
	if (userdata)
		return sd_bus_message_append(reply, "(uo)", 42, JOB_PATH);
	return sd_bus_message_append(reply, "(uo)", 0, "/");
}

static int get_job_type(sd_bus *bus, const char *path, const char *interface, const char *property,
                        sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	(void) bus, (void) path, (void) interface, (void) property, (void) ret_error;
	return sd_bus_message_append(reply, "s", userdata);
}

static const sd_bus_vtable manager_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("GetUnitByPID", "u", "o", get_unit_by_pid, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

static const sd_bus_vtable unit_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("Job", "(uo)", get_job, 0, 0),
	SD_BUS_VTABLE_END,
};

static const sd_bus_vtable job_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_PROPERTY("JobType", "s", get_job_type, 0, 0),
	SD_BUS_VTABLE_END,
};

static int serve(sd_bus *bus, const char *job_type, int ready_fd)
{
	int r;

	r = sd_bus_add_object_vtable(bus, NULL, "/org/freedesktop/systemd1", MANAGER ".Manager",
	                             manager_vtable, NULL);
	if (r >= 0)
		r = sd_bus_add_object_vtable(bus, NULL, UNIT_PATH, MANAGER ".Unit", unit_vtable,
		                             (void *) job_type);
	if (r >= 0)
		r = sd_bus_add_object_vtable(bus, NULL, JOB_PATH, MANAGER ".Job", job_vtable,
		                             (void *) job_type);
	if (r >= 0)
		r = sd_bus_request_name(bus, MANAGER, 0);
	if (r >= 0 && write(ready_fd, "", 1) != 1)
		r = -errno;
	while (r >= 0) {
		r = sd_bus_process(bus, NULL);
		if (r == 0)
			r = sd_bus_wait(bus, UINT64_MAX);
	}
	return r;
}

pid_t fake_jobs_start(struct daemon_fixture *fixture, const char *job_type)
{
	char ready;
	int fds[2];
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void) close(fds[0]);
		_exit(serve(bus_fixture_connect(&fixture->bus), job_type, fds[1]) < 0);
	}
	(void) close(fds[1]);
	ck_assert_msg(read(fds[0], &ready, 1) == 1, "the played service manager did not start");
	(void) close(fds[0]);
	return pid;
}

void fake_jobs_end(pid_t pid)
{
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
