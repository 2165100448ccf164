/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan: become `nodeinitd --plan`; the plan is made in one place, and needs no bus. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report.h"
#include "scoped.h"
#include "text.h"

#ifndef NODEINITD_PATH
#define NODEINITD_PATH "/usr/sbin/nodeinitd"
#endif

/* The daemon beside this very program, for a build tree and an unpacked archive. */
static int path_beside(char *ret_path, size_t path_bytes)
{
	ssize_t got_bytes = readlink("/proc/self/exe", ret_path, path_bytes - 1);
	char *slash;

	if (got_bytes < 0)
		return -errno;
	ret_path[got_bytes] = '\0';
	slash = strrchr(ret_path, '/');
	if (!slash || (size_t) (slash - ret_path) + sizeof("/nodeinitd") > path_bytes)
		return -ENAMETOOLONG;
	strcpy(slash, "/nodeinitd");
	return 0;
}

static int cannot_run(const char *path, int error)
{
	scoped(freep) char *text = text_escape(path);

	fprintf(stderr,
	        "meminitctl: plan: %s cannot be run (%s); set NODEINITD= to where nodeinitd is\n",
	        text ? text : "?", strerror(error));
	return CLIENT_FAILED;
}

int verb_plan(const struct client *client, char **operands)
{
	const char *chosen = secure_getenv("NODEINITD");
	const char *argv[8] = { "nodeinitd", "--plan" };
	char beside[PATH_MAX];
	size_t nr_words = 2;

	(void) operands;
	if (client->host || client->machine) {
		fprintf(stderr, "meminitctl: plan reads the machine it runs on; run it there, or "
		                "give --root= a copy of its /sys and /proc\n");
		return CLIENT_USAGE;
	}
	if (client->root) {
		argv[nr_words++] = "--root";
		argv[nr_words++] = client->root;
	}
	if (client->config) {
		argv[nr_words++] = "--config";
		argv[nr_words++] = client->config;
	}
	if (client->is_json)
		argv[nr_words++] = "--json";

	if (chosen && *chosen) {
		(void) execv(chosen, (char **) argv);
		return cannot_run(chosen, errno);
	}
	(void) execv(NODEINITD_PATH, (char **) argv);
	if (errno != ENOENT)
		return cannot_run(NODEINITD_PATH, errno);
	if (path_beside(beside, sizeof(beside)) == 0)
		(void) execv(beside, (char **) argv);
	(void) execvp("nodeinitd", (char **) argv);
	return cannot_run("nodeinitd", errno);
}
