/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * options.h - nodeinitd's command line
 *
 * Layer: top. Threads: main.
 */
#pragma once

#include <stdbool.h>

struct options {
	const char *config_directory; /* --config; NULL: the search path */
	const char *bus_address;      /* --bus: system, session or an address */
	const char *root;             /* --root, with --plan; NULL: this machine */
	bool is_plan;
	bool is_prepare;
	bool is_json;
};

enum options_verdict { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_BAD };

/*
 * Read the command line. --help and --version print to standard output and are OPTIONS_DONE; what
 * is wrong is said on standard error and is OPTIONS_BAD. The texts are borrowed from @argv.
 */
enum options_verdict options_parse(int argc, char **argv, struct options *ret);
