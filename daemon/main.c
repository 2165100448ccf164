/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ev.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/scoped.h"
#include "journal.h"
#include "kinds/memory.h"
#include "manager.h"
#include "options.h"
#include "plan-command.h"

enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

static void on_terminate(struct ev_loop *loop, ev_signal *signal, int events)
{
	(void) signal, (void) events;
	ev_break(loop, EVBREAK_ALL);
}

static void on_hangup(struct ev_loop *loop, ev_signal *signal, int events)
{
	(void) loop, (void) events;
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
	scoped(kernel_closep) struct kernel *kernel = NULL;
	scoped(manager_freep) struct manager *manager = NULL;
	struct manager_setup setup;
	ev_signal terminate, interrupt, hangup;
	int r;

	if (!loop) {
		log_error("no event loop can be made: neither epoll nor poll works here");
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
		.bus_address = options->bus_address,
	};
	if (manager_new(&setup, &manager) < 0)
		return STATUS_FAILED;

	ev_signal_init(&terminate, on_terminate, SIGTERM);
	ev_signal_init(&interrupt, on_terminate, SIGINT);
	ev_signal_init(&hangup, on_hangup, SIGHUP);
	hangup.data = manager;
	ev_signal_start(loop, &terminate);
	ev_signal_start(loop, &interrupt);
	ev_signal_start(loop, &hangup);

	if (manager_start(manager) < 0)
		return STATUS_FAILED;
	ev_run(loop, 0);

	log_info("stopping");
	return manager_has_failed(manager) ? STATUS_FAILED : STATUS_OK;
}

int main(int argc, char **argv)
{
	struct options options;
	int status;

	switch (options_parse(argc, argv, &options)) {
	case OPTIONS_DONE:
		return STATUS_OK;
	case OPTIONS_BAD:
		return STATUS_USAGE;
	case OPTIONS_RUN:
		break;
	}
	if (options.is_plan)
		return plan_command(&options);

	/* whoever reads standard error may go away; the memory stays */
	(void) signal(SIGPIPE, SIG_IGN);
	journal_start();
	raise_descriptor_limit();
	status = run(&options);
	memory_system_close();
	return status;
}
