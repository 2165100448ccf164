/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/scoped.h"
#include "machine/block-record.h"
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

/* What the daemon has brought online is on record there, also of a recorded machine. */
static int open_record(const char *root, struct block_record **ret)
{
	scoped(freep) char *path = NULL;

	if (asprintf(&path, "%s/run/nodeinit/blocks", root) < 0) {
		path = NULL; /* it is undefined */
		return -ENOMEM;
	}
	return block_record_open(path, ret, NULL);
}

int plan_command(const struct options *options)
{
	const char *root = options->root ? options->root : "";
	scoped(kernel_closep) struct kernel *kernel = NULL;
	scoped(block_record_freep) struct block_record *record = NULL;
	scoped(machine_freep) struct machine *machine = NULL;
	scoped(config_freep) struct config *config = NULL;
	scoped(plan_freep) struct plan *plan = NULL;
	int r;

	r = kernel_open(options->root, &kernel);
	if (r < 0)
		return complain(options->root ? options->root : "/sys", r);
	r = open_record(root, &record);
	if (r < 0)
		return complain("record of memory blocks", r);
	r = machine_probe_with(kernel, record, &machine);
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
	r = config_find_originals(config, root);
	if (r < 0)
		return complain("originals of replicas", r);
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
