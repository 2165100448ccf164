/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "run-directory.h"

#define RUN_DIRECTORY "/run/nodeinit"

const char *run_directory(void)
{
	static char first[PATH_MAX];
	const char *all = secure_getenv("RUNTIME_DIRECTORY");
	size_t nr_bytes = all ? strcspn(all, ":") : 0;

	if (nr_bytes == 0 || nr_bytes >= sizeof(first) || all[0] != '/')
		return RUN_DIRECTORY;
	memcpy(first, all, nr_bytes);
	first[nr_bytes] = '\0';
	return first;
}
