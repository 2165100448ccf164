/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <getopt.h>
#include <stdio.h>

#include "options.h"

static const char help_text[] =
	"Usage: nodeinitd [OPTION]...\n"
	"Bring the memory of every NUMA node into service, one worker a node.\n"
	"\n"
	"  --config DIR   read DIR/nodeinitd.conf and DIR/pools.d instead of the search path\n"
	"  --bus BUS      system (default), session, or a D-Bus address\n"
	"  --plan         print what would be done, and do nothing\n"
	"  --prepare      as root: make mounts and rights that the service needs, and end\n"
	"  --root DIR     with --plan: plan for the sysfs and procfs recorded below DIR\n"
	"  --json         with --plan: as JSON, sizes in bytes\n"
	"  --version      print the version\n"
	"  --help         print this text\n"
	"\n"
	"Exit status: 0 done; 1 failed, or with --plan a required pool cannot reach its minimum;\n"
	"2 wrong usage, or with --plan a file was refused, or with --prepare nothing was done.\n"
	"See nodeinitd(8), nodeinitd.conf(5), nodeinit.pool(5).\n";

static enum options_verdict bad(const char *what)
{
	(void) fprintf(stderr, "nodeinitd: %s; see nodeinitd --help\n", what);
	return OPTIONS_BAD;
}

enum options_verdict options_parse(int argc, char **argv, struct options *ret)
{
	enum { CONFIG = 1, BUS, PLAN, PREPARE, ROOT, JSON, VERSION, HELP };
	static const struct option known[] = {
		{ "config", required_argument, NULL, CONFIG },
		{ "bus", required_argument, NULL, BUS },
		{ "plan", no_argument, NULL, PLAN },
		{ "prepare", no_argument, NULL, PREPARE },
		{ "root", required_argument, NULL, ROOT },
		{ "json", no_argument, NULL, JSON },
		{ "version", no_argument, NULL, VERSION },
		{ "help", no_argument, NULL, HELP },
		{ 0 },
	};
	struct options options = { .bus_address = "system" };
	int option;

	while ((option = getopt_long(argc, argv, "h", known, NULL)) >= 0) {
		switch (option) {
		case CONFIG:
			options.config_directory = optarg;
			break;
		case BUS:
			options.bus_address = optarg;
			break;
		case PLAN:
			options.is_plan = true;
			break;
		case PREPARE:
			options.is_prepare = true;
			break;
		case ROOT:
			options.root = optarg;
			break;
		case JSON:
			options.is_json = true;
			break;
		case VERSION:
			(void) printf("nodeinitd %s\n", NODEINIT_VERSION);
			return OPTIONS_DONE;
		case HELP:
		case 'h':
			(void) fputs(help_text, stdout);
			return OPTIONS_DONE;
		default: /* getopt_long() has said what is wrong */
			(void) fprintf(stderr, "nodeinitd: see nodeinitd --help\n");
			return OPTIONS_BAD;
		}
	}
	if (optind < argc)
		return bad("it takes no arguments besides options");
	if (options.is_plan && options.is_prepare)
		return bad("--plan and --prepare exclude each other");
	if (options.root && !*options.root)
		return bad("--root needs a directory");
	if (options.root && !options.is_plan)
		return bad("--root only makes sense with --plan");
	if (options.is_json && !options.is_plan)
		return bad("--json only makes sense with --plan");
	*ret = options;
	return OPTIONS_RUN;
}
