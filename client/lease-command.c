/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command of a lease: it takes the place of this process, so its pid and its end are its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "lease.h"
#include "report.h"
#include "scoped.h"
#include "text.h"

#define MEMORY_PATH "/proc/self/fd/3"

_Static_assert(LEASE_MEMORY_FD == 3, "MEMORY_PATH says it");

/* A copy of @word with the memory's path in the place of each {}. Return: NULL out of memory. */
static char *fill_in(const char *word)
{
	const char *braces;
	size_t nr_places = 0;
	char *copy, *to;

	for (braces = word; (braces = strstr(braces, "{}")); braces += 2)
		nr_places++;
	copy = to = malloc(strlen(word) + nr_places * strlen(MEMORY_PATH) + 1);
	if (!copy)
		return NULL;
	for (; (braces = strstr(word, "{}")); word = braces + 2) {
		to = mempcpy(to, word, (size_t) (braces - word));
		to = mempcpy(to, MEMORY_PATH, strlen(MEMORY_PATH));
	}
	strcpy(to, word);
	return copy;
}

static int set_number(const char *name, uint64_t number)
{
	char text[TEXT_MAX];

	(void) snprintf(text, sizeof(text), "%" PRIu64, number);
	return setenv(name, text, 1) < 0 ? -errno : 0;
}

static int set_environment(const struct lease_grant *grant)
{
	int r = set_number("NODEINIT_FD", LEASE_MEMORY_FD);

	if (r >= 0)
		r = set_number("NODEINIT_LIFETIME_FD", LEASE_LIFETIME_FD);
	if (r >= 0)
		r = set_number("NODEINIT_NODE", grant->node_id);
	if (r >= 0)
		r = set_number("NODEINIT_BYTES", grant->bytes);
	if (r >= 0 && setenv("NODEINIT_LEASE", grant->id, 1) < 0)
		r = -errno;
	return r;
}

/* Both are above the two numbers, so neither takes the place of the other. */
static int place_descriptors(const struct lease_grant *grant)
{
	if (dup2(grant->memory_fd, LEASE_MEMORY_FD) < 0 ||
	    dup2(grant->lifetime_fd, LEASE_LIFETIME_FD) < 0)
		return -errno;
	return 0;
}

int lease_command_run(const struct lease_grant *grant, char **command)
{
	size_t i;
	int r;

	for (i = 1; command[i]; i++) {
		command[i] = fill_in(command[i]);
		if (!command[i])
			return report_no_memory();
	}
	r = set_environment(grant);
	if (r >= 0)
		r = place_descriptors(grant);
	if (r < 0) {
		fprintf(stderr, "meminitctl: lease: the memory cannot be handed on (%s)\n",
		        strerror(-r));
		return CLIENT_FAILED;
	}
	(void) execvp(command[0], command);
	return command_refuse("lease", command[0], errno);
}
