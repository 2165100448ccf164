/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How long DPDK takes to make its memory: eal-start ARGUMENT...
 *
 * The arguments are those of rte_eal_init. The library is looked up at run time, whichever version
 * of it is there, so that nothing of DPDK is needed to build this. Prints the seconds of the call;
 * exit 77 where there is no such library.
 */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <time.h>

static void *library(void)
{
	static const char *patterns[] = { "/usr/lib/*/librte_eal.so*", "/usr/lib*/librte_eal.so*",
		                          "/usr/local/lib*/librte_eal.so*" };
	void *handle = dlopen("librte_eal.so", RTLD_NOW | RTLD_GLOBAL);
	glob_t found;

	for (size_t i = 0; !handle && i < sizeof(patterns) / sizeof(*patterns); i++)
		if (glob(patterns[i], 0, NULL, &found) == 0) {
			handle = dlopen(found.gl_pathv[0], RTLD_NOW | RTLD_GLOBAL);
			globfree(&found);
		}
	return handle;
}

int main(int argc, char **argv)
{
	struct timespec begun, ended;
	int (*init)(int, char **);
	void *eal = library();

	*(void **) &init = eal ? dlsym(eal, "rte_eal_init") : NULL;
	if (!init) {
		fprintf(stderr, "there is no librte_eal here (package librte-eal23)\n");
		return 77;
	}
	(void) clock_gettime(CLOCK_MONOTONIC, &begun);
	if (init(argc, argv) < 0)
		return 1;
	(void) clock_gettime(CLOCK_MONOTONIC, &ended);
	printf("\n%.6f\n", (double) (ended.tv_sec - begun.tv_sec) +
	                           (double) (ended.tv_nsec - begun.tv_nsec) / 1e9);
	return 0;
}
