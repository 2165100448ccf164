/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/scoped.h"
#include "fdstore.h"
#include "journal.h"
#include "kinds/memory.h"
#include "manager.h"
#include "options.h"
#include "plan-command.h"
#include "prepare.h"
#include "run-directory.h"
#include "service-socket.h"

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

static void on_terminate(struct ev_loop *loop, ev_signal *signal, int events)
{
	struct manager *manager = signal->data;

	(void) events;
	if (manager)
		manager_end(manager);
	else
		ev_break(loop, EVBREAK_ALL);
}

static void on_hangup(struct ev_loop *loop, ev_signal *signal, int events)
{
	(void) loop, (void) events;
	if (signal->data)
		(void) manager_reload(signal->data, NULL);
}

static void loop_destroyp(struct ev_loop **loop)
{
	if (*loop)
		ev_loop_destroy(*loop);
	*loop = NULL;
}

/* One descriptor a region: a large host has thousands of them. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		log_debug("RLIMIT_NOFILE stays as it is");
}

static int run(const struct options *options)
{
	scoped(loop_destroyp) struct ev_loop *loop = ev_default_loop(EVFLAG_AUTO);
	scoped(fd_closep) int held_fd = run_directory_hold(run_directory());
	scoped(kernel_closep) struct kernel *kernel = NULL;
	scoped(fdstore_clear) struct fdstore inherited = { 0 };
	scoped(manager_freep) struct manager *manager = NULL;
	struct manager_setup setup;
	ev_signal terminate, interrupt, hangup;
	int r;

	if (held_fd < 0 && held_fd != -ENOENT)
		log_warning(
			"%s: cannot be held, so that --prepare may unmount what is empty there: %s",
			run_directory(), strerror(-held_fd));
	if (!loop) {
		log_error("no event loop can be made: neither epoll nor poll works here");
		return STATUS_FAILED;
	}
	/* first, so that none of them ends us half-way; they are looked at once the loop runs */
	ev_signal_init(&terminate, on_terminate, SIGTERM);
	ev_signal_init(&interrupt, on_terminate, SIGINT);
	ev_signal_init(&hangup, on_hangup, SIGHUP);
	terminate.data = interrupt.data = hangup.data = NULL;
	ev_signal_start(loop, &terminate);
	ev_signal_start(loop, &interrupt);
	ev_signal_start(loop, &hangup);

	r = fdstore_inherit(&inherited);
	if (r < 0) {
		log_error("what the service manager kept cannot be taken over: %s", strerror(-r));
		return STATUS_FAILED;
	}
	r = kernel_open("", &kernel);
	if (r == 0)
		r = memory_system_open();
	if (r < 0) {
		log_error("cannot look at this machine: %s", strerror(-r));
		return STATUS_FAILED;
	}
	if (!memory_system_has_populate())
		log_info("this kernel lacks MADV_POPULATE_WRITE (before 5.14): memory is filled by "
		         "slower calls");

	setup = (struct manager_setup){
		.loop = loop,
		.kernel = kernel,
		.memory = &memory_system,
		.config_directory = options->config_directory,
		.run_directory = run_directory(),
		.bus_address = options->bus_address,
		.store = fdstore_ops(),
		.inherited_fds = inherited.fds,
		.inherited_names = (const char *const *) inherited.names,
		.nr_inherited = inherited.nr,
	};
	if (manager_new(&setup, &manager) < 0)
		return STATUS_FAILED;

	terminate.data = interrupt.data = hangup.data = manager;
	if (manager_start(manager) < 0)
		return STATUS_FAILED;
	ev_run(loop, 0);

	log_info("stopping");
	return manager_has_failed(manager) ? STATUS_FAILED : STATUS_OK;
}

/* Whoever closed a standard descriptor must not find a region's memory in its place. */
static void open_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR); /* not close-on-exec: nothing is executed */
	while (fd >= 0 && fd <= STDERR_FILENO);
	(void) fd_close(fd);
}

int main(int argc, char **argv)
{
	struct options options;
	int status;

	open_standard_descriptors();
	switch (options_parse(argc, argv, &options)) {
	case OPTIONS_DONE:
		return fflush(stdout) == 0 ? STATUS_OK : STATUS_FAILED;
	case OPTIONS_BAD:
		return STATUS_USAGE;
	case OPTIONS_RUN:
		break;
	}
	if (options.is_plan)
		return plan_command(&options);
	if (options.is_prepare)
		return prepare_command(&options);

	/* whoever reads standard error may go away; the memory stays */
	(void) signal(SIGPIPE, SIG_IGN);
	/* so may who opens a region's file while we ask whether anybody has it: fcntl(2),
	 * F_SETLEASE */
	(void) signal(SIGIO, SIG_IGN);
	journal_start();
	raise_descriptor_limit();
	service_socket_open();
	status = run(&options);
	memory_system_close();
	service_socket_close();
	return status;
}
