/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "../../client/boot-log.h"
#include "../lib/suite.h"

static void is_node(const char *message, uint32_t node_id, uint64_t usec)
{
	uint32_t got_id = UINT32_MAX;
	uint64_t got_usec = UINT64_MAX;

	ck_assert_msg(boot_log_parse(message, &got_id, &got_usec) == 0, "%s", message);
	ck_assert_uint_eq(got_id, node_id);
	ck_assert_uint_eq(got_usec, usec);
}

START_TEST(test_what_kernels_have_said_since_4_2_is_understood)
{
	is_node("node 0 deferred pages initialised in 96ms", 0, 96000);
	is_node("node 107 deferred pages initialised in 1ms", 107, 1000);
	is_node("node 3 deferred pages initialized in 0ms", 3, 0);
	is_node("node 12 initialised, 16777216 pages in 1340ms", 12, 1340000);
	is_node("node 1 initialized, 7 pages in 20ms", 1, 20000);
}
END_TEST

START_TEST(test_other_messages_are_not_taken_for_it)
{
	static const char *const others[] = {
		"",
		"node 0 deferred pages initialised in 96",
		"node 0 deferred pages initialised in ms",
		"node 0 deferred pages initialised in 96ms later",
		"node 0 deferred pages initialixed in 96ms",
		"node 0 deferred pages initialised in 96us",
		"node deferred pages initialised in 96ms",
		"node -1 deferred pages initialised in 96ms",
		"node 0 deferred pages initialised in -96ms",
		"node 99999999999999999999 deferred pages initialised in 1ms",
		"node 0 deferred pages initialised in 99999999999999999999ms",
		"node 0 initialised, pages in 96ms",
		"node 0 initialised, 5 pages in 96ms by me",
		"kswapd 0 deferred pages initialised in 96ms",
		"said: node 0 deferred pages initialised in 96ms",
	};
	uint32_t node_id = 77;
	uint64_t usec = 88;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		ck_assert_msg(boot_log_parse(others[i], &node_id, &usec) == -ENOMSG, "%s",
		              others[i]);
	ck_assert_uint_eq(node_id, 77);
	ck_assert_uint_eq(usec, 88);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("boot-log");
	TCase *tcase = tcase_create("boot-log");

	tcase_add_test(tcase, test_what_kernels_have_said_since_4_2_is_understood);
	tcase_add_test(tcase, test_other_messages_are_not_taken_for_it);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
