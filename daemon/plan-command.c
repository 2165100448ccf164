/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scoped.h"
#include "machine/machine.h"
#include "plan-command.h"
#include "plan/plan-print.h"
#include "plan/plan.h"

enum { PLAN_FAILED = 1, PLAN_REFUSED = 2 };

static int complain(const char *what, int error)
{
	(void) fprintf(stderr, "nodeinitd: %s: %s\n", what, strerror(-error));
	return PLAN_REFUSED;
}

int plan_command(const struct options *options)
{
	scoped(kernel_closep) struct kernel *kernel = NULL;
	scoped(machine_freep) struct machine *machine = NULL;
	scoped(config_freep) struct config *config = NULL;
	scoped(plan_freep) struct plan *plan = NULL;
	int r;

	r = kernel_open(options->root, &kernel);
	if (r < 0)
		return complain(options->root ? options->root : "/sys", r);
	r = machine_probe(kernel, &machine);
	if (r == -ENOENT) {
		(void) fprintf(stderr, "nodeinitd: %s: neither nodes nor memory are shown there\n",
		               options->root ? options->root : "/sys");
		return PLAN_REFUSED;
	}
	if (r == -E2BIG) {
		(void) fprintf(stderr, "nodeinitd: %s: more than %d nodes\n",
		               options->root ? options->root : "/sys", MACHINE_NODES_MAX);
		return PLAN_REFUSED;
	}
	if (r < 0)
		return complain(options->root ? options->root : "/sys", r);
	r = config_load(options->config_directory, "", &config);
	if (r < 0)
		return complain(
			options->config_directory ? options->config_directory : "configuration", r);
	r = plan_make(machine, config, &plan);
	if (r < 0)
		return complain("plan", r);

	r = options->is_json ? plan_print_json(plan, stdout) : plan_print_text(plan, stdout);
	if (r == 0 && fflush(stdout) != 0)
		r = -errno;
	if (r < 0) {
		(void) complain("standard output", r);
		return PLAN_FAILED;
	}
	return plan_exit_code(plan);
}
