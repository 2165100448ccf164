/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>

#include "suite.h"

int suite_main(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int nr_failed;

	srunner_run_all(runner, CK_ENV);
	nr_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return nr_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

_Noreturn void suite_skip(const char *why)
{
	printf("skipped: %s\n", why);
	exit(77);
}
