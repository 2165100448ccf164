/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "scoped.h"
#include "text.h"

static int take_if_it_runs(const char *path, char **ret_path)
{
	struct stat file;

	if (stat(path, &file) < 0)
		return -errno;
	if (!S_ISREG(file.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return -EACCES;
	*ret_path = strdup(path);
	return *ret_path ? 0 : -ENOMEM;
}

/* Where execvp(3) looks: it has a path of its own where there is none in the environment. */
static const char *search_path(char *buffer, size_t buffer_bytes)
{
	const char *place = getenv("PATH");

	if (place)
		return place;
	return confstr(_CS_PATH, buffer, buffer_bytes) ? buffer : "/bin:/usr/bin";
}

int command_find(const char *name, char **ret_path)
{
	char path[PATH_MAX], standard[256];
	const char *place, *end;
	int found = -ENOENT, r;

	if (strchr(name, '/'))
		return take_if_it_runs(name, ret_path);
	if (!*name)
		return -ENOENT;
	for (place = search_path(standard, sizeof(standard)); place;
	     place = *end ? end + 1 : NULL) {
		end = strchrnul(place, ':');
		if (snprintf(path, sizeof(path), "%.*s%s%s", (int) (end - place), place,
		             end > place ? "/" : "", name) >= (int) sizeof(path))
			continue;
		r = take_if_it_runs(path, ret_path);
		if (r == 0 || r == -ENOMEM)
			return r;
		if (r == -EACCES)
			found = r;
	}
	return found;
}

int command_refuse(const char *verb, const char *name, int error)
{
	scoped(freep) char *text = text_escape(name);

	fprintf(stderr, "meminitctl: %s: '%s' cannot be run (%s)\n", verb, text ? text : "?",
	        strerror(error));
	return error == ENOENT ? COMMAND_NOT_FOUND : COMMAND_CANNOT_RUN;
}
