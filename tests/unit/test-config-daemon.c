/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nodeinitd.conf: defaults, values, and bad values that keep the default. */
#include <string.h>

#include "../../daemon/base/log.h"
#include "config-tree.h"
#include "suite.h"

static const struct daemon_config *daemon_with(const char *lines, const char *notes)
{
	scoped(freep) char *text = NULL;
	const struct config *config;

	ck_assert_int_gt(asprintf(&text, "[Daemon]\n%s", lines), 0);
	tree_file("nodeinitd.conf", text);
	config = tree_load();
	tree_expect_notes(notes);
	return &config->daemon;
}

static void check_defaults(const struct daemon_config *daemon)
{
	ck_assert_int_eq(daemon->reserve.unit, AMOUNT_PERCENT);
	ck_assert_uint_eq(daemon->reserve.value, 500);
	ck_assert(!daemon->is_reserve_set);
	ck_assert_uint_eq(daemon->early_minimum_bytes, 2 * GIB);
	ck_assert_uint_eq(daemon->early_shift, 8);
	ck_assert_int_eq(daemon->threads_unit, THREADS_AUTO);
	ck_assert_uint_eq(daemon->brake_pressure_percent, 20);
	ck_assert_uint_eq(daemon->max_rate_bytes, 0);
	ck_assert_uint_eq(daemon->nr_retries, 4);
	ck_assert_uint_eq(daemon->stall_timeout_usec, 600 * UINT64_C(1000000));
	ck_assert_uint_eq(daemon->settle_timeout_usec, 10 * UINT64_C(1000000));
	ck_assert_uint_eq(daemon->max_leases, 64);
	ck_assert_int_eq(daemon->max_bytes.unit, AMOUNT_PERCENT);
	ck_assert_uint_eq(daemon->max_bytes.value, 10000);
	ck_assert_int_eq(daemon->log_level, LOG_LEVEL_INFO);
}

START_TEST(test_without_a_file_all_is_default_and_nothing_declared)
{
	const struct config *config = tree_load();

	tree_expect_notes("");
	check_defaults(&config->daemon);
	ck_assert_uint_eq(config->nr_pools, 0);
	ck_assert_ptr_null(config_pool(config, "guests"));
	ck_assert(!config_is_pool_refused(config, "guests"));
}
END_TEST

START_TEST(test_every_key_is_read)
{
	const struct daemon_config *daemon = daemon_with("Reserve=4G\n"
	                                                 "EarlyMinimum=512M\n"
	                                                 "EarlyShift=63\n"
	                                                 "Threads=6\n"
	                                                 "BrakePressure=35%\n"
	                                                 "MaxRate=1G\n"
	                                                 "Retry=0\n"
	                                                 "StallTimeout=2min\n"
	                                                 "SettleTimeout=500ms\n"
	                                                 "MaxLeases=8\n"
	                                                 "MaxBytes=50%\n"
	                                                 "LogLevel=debug\n",
	                                                 "");

	ck_assert_int_eq(daemon->reserve.unit, AMOUNT_BYTES);
	ck_assert_uint_eq(daemon->reserve.value, 4 * GIB);
	ck_assert(daemon->is_reserve_set);
	ck_assert_uint_eq(daemon->early_minimum_bytes, 512 * MIB);
	ck_assert_uint_eq(daemon->early_shift, 63);
	ck_assert_int_eq(daemon->threads_unit, THREADS_NUMBER);
	ck_assert_uint_eq(daemon->threads, 6);
	ck_assert_uint_eq(daemon->brake_pressure_percent, 35);
	ck_assert_uint_eq(daemon->max_rate_bytes, GIB);
	ck_assert_uint_eq(daemon->nr_retries, 0);
	ck_assert_uint_eq(daemon->stall_timeout_usec, 120 * UINT64_C(1000000));
	ck_assert_uint_eq(daemon->settle_timeout_usec, 500000);
	ck_assert_uint_eq(daemon->max_leases, 8);
	ck_assert_int_eq(daemon->max_bytes.unit, AMOUNT_PERCENT);
	ck_assert_uint_eq(daemon->max_bytes.value, 5000);
	ck_assert_int_eq(daemon->log_level, LOG_LEVEL_DEBUG);
}
END_TEST

START_TEST(test_other_forms_of_values_are_read)
{
	const struct daemon_config *daemon = daemon_with("Threads=50%\nBrakePressure=0\n"
	                                                 "MaxRate=infinity\nStallTimeout=infinity\n"
	                                                 "SettleTimeout=0\n",
	                                                 "");

	ck_assert_int_eq(daemon->threads_unit, THREADS_PERCENT);
	ck_assert_uint_eq(daemon->threads, 50);
	ck_assert_uint_eq(daemon->brake_pressure_percent, 0);
	ck_assert_uint_eq(daemon->max_rate_bytes, 0);
	ck_assert_uint_eq(daemon->stall_timeout_usec, UINT64_MAX);
	ck_assert_uint_eq(daemon->settle_timeout_usec, 0);
	ck_assert_int_eq(daemon_with("Threads=auto\n", "")->threads_unit, THREADS_AUTO);
}
END_TEST

START_TEST(test_counts_need_no_unit_and_amounts_do)
{
	daemon_with("EarlyShift=9\nThreads=2\nRetry=3\nMaxLeases=5\n", "");
	check_defaults(daemon_with("Reserve=2048\n",
	                           "refused nodeinitd.conf:2: Reserve=2048 has no unit and two "
	                           "readings: write 2048M for megabytes or 2048B for bytes\n"));
	check_defaults(daemon_with("MaxRate=100\n",
	                           "refused nodeinitd.conf:2: MaxRate=100 has no unit and two "
	                           "readings: write 100M for megabytes or 100B for bytes\n"));
}
END_TEST

/* Each: the line, and what is said of it. */
static const char *const bad_values[][2] = {
	{ "Reserve=5p", "not accepted; accepted: bytes as 4G, or a part of each node as 5%" },
	{ "Reserve=120%", "out of range; accepted: bytes as 4G, or a part of each node as 5%" },
	{ "EarlyMinimum=5%", "not accepted; accepted: bytes as 2G" },
	{ "EarlyShift=64", "out of range; accepted: a number from 0 to 63" },
	{ "EarlyShift=-1", "not accepted; accepted: a number from 0 to 63" },
	{ "Threads=0", "out of range; accepted: auto, a number from 1 to 1024, or 1% to 100%" },
	{ "Threads=1025", "out of range; accepted: auto, a number from 1 to 1024, or 1% to 100%" },
	{ "Threads=0%", "out of range; accepted: auto, a number from 1 to 1024, or 1% to 100%" },
	{ "Threads=many", "not accepted; accepted: auto, a number from 1 to 1024, or 1% to 100%" },
	{ "BrakePressure=101%", "out of range; accepted: 0% (never) to 100%" },
	{ "BrakePressure=12.5%", "not accepted; accepted: 0% (never) to 100%" },
	{ "MaxRate=10%", "not accepted; accepted: bytes a second as 2G, 0 or infinity for no "
	                 "limit" },
	{ "Retry=101", "out of range; accepted: a number from 0 to 100" },
	{ "Retry=99999999999999999999", "out of range; accepted: a number from 0 to 100" },
	{ "StallTimeout=0", "out of range; accepted: a time above 0 as 10min, or infinity" },
	{ "StallTimeout=soon", "not accepted; accepted: a time above 0 as 10min, or infinity" },
	{ "SettleTimeout=1fortnight", "not accepted; accepted: a time as 10s, or infinity" },
	{ "MaxLeases=1000001", "out of range; accepted: a number from 0 to 1000000" },
	{ "MaxBytes=7p", "not accepted; accepted: bytes as 64G, or a part of all as 50%" },
	{ "LogLevel=loud", "not accepted; accepted: err, warning, notice, info, debug" },
};

START_TEST(test_a_bad_value_keeps_the_default_and_says_what_is_accepted)
{
	const char *line = bad_values[_i][0];
	scoped(freep) char *text = NULL;
	scoped(freep) char *note = NULL;

	ck_assert_int_gt(asprintf(&text, "\n%s\n", line), 0);
	ck_assert_int_gt(
		asprintf(&note, "refused nodeinitd.conf:3: %s is %s\n", line, bad_values[_i][1]),
		0);
	check_defaults(daemon_with(text, note));
}
END_TEST

START_TEST(test_a_bad_value_leaves_the_other_settings_alone)
{
	const struct daemon_config *daemon =
		daemon_with("Retry=often\nMaxLeases=8\n",
	                    "refused nodeinitd.conf:2: Retry=often is not accepted; accepted: a "
	                    "number from 0 to 100\n");

	ck_assert_uint_eq(daemon->nr_retries, 4);
	ck_assert_uint_eq(daemon->max_leases, 8);
}
END_TEST

START_TEST(test_a_bad_value_of_the_daemon_refuses_no_pool)
{
	const struct config *config;

	tree_file("nodeinitd.conf", "[Daemon]\nRetry=often\n");
	config = tree_pool("[Pool]\nKind=region\nSize=1G\n");
	ck_assert_ptr_nonnull(config_pool(config, "guests"));
	ck_assert(config->is_anything_refused);
	ck_assert_ptr_null(config->notes[0].pool);
	ck_assert_uint_eq(config->nr_refused_pools, 0);
}
END_TEST

START_TEST(test_an_unknown_key_is_a_warning_with_the_key_meant)
{
	check_defaults(daemon_with("MaxLease=3\n",
	                           "warning nodeinitd.conf:2: unknown key 'MaxLease' in [Daemon], "
	                           "did you mean MaxLeases=? It is ignored\n"));
	check_defaults(daemon_with("[Pool]\nKind=region\n",
	                           "warning nodeinitd.conf:2: unknown section [Pool]; it is "
	                           "ignored\n"));
}
END_TEST

START_TEST(test_dropins_of_the_daemon_are_applied_in_order)
{
	const struct config *config;

	tree_file("nodeinitd.conf", "[Daemon]\nRetry=1\nMaxLeases=1\nThreads=1\n");
	tree_file("nodeinitd.conf.d/20-b.conf", "[Daemon]\nRetry=3\nThreads=\n");
	tree_file("nodeinitd.conf.d/10-a.conf", "[Daemon]\nRetry=2\nMaxLeases=2\n");
	tree_file("nodeinitd.conf.d/README", "[Daemon]\nRetry=99\n");
	config = tree_load();
	tree_expect_notes("");
	ck_assert_uint_eq(config->daemon.nr_retries, 3);
	ck_assert_uint_eq(config->daemon.max_leases, 2);
	ck_assert_int_eq(config->daemon.threads_unit, THREADS_AUTO);
}
END_TEST

START_TEST(test_an_empty_daemon_file_hides_the_later_one_and_keeps_dropins)
{
	const struct config *config;

	tree_file("etc/nodeinit/nodeinitd.conf", "");
	tree_file("usr/lib/nodeinit/nodeinitd.conf", "[Daemon]\nRetry=9\n");
	tree_file("usr/lib/nodeinit/nodeinitd.conf.d/x.conf", "[Daemon]\nMaxLeases=9\n");
	config = tree_search();
	tree_expect_notes("");
	ck_assert_uint_eq(config->daemon.nr_retries, 4);
	ck_assert_uint_eq(config->daemon.max_leases, 9);
}
END_TEST

START_TEST(test_an_unreadable_daemon_file_is_refused_and_defaults_hold)
{
	const struct config *config;

	tree_directory("nodeinitd.conf");
	config = tree_load();
	tree_expect_notes("refused nodeinitd.conf: is a directory, not a file\n");
	check_defaults(&config->daemon);
}
END_TEST

START_TEST(test_a_link_to_nowhere_hides_the_later_file_and_is_refused)
{
	const struct config *config;

	tree_link("etc/nodeinit/nodeinitd.conf", "nowhere");
	tree_file("usr/lib/nodeinit/nodeinitd.conf", "[Daemon]\nRetry=9\n");
	config = tree_search();
	tree_expect_notes("refused etc/nodeinit/nodeinitd.conf: cannot be read: No such file or "
	                  "directory\n");
	check_defaults(&config->daemon);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config-daemon");
	TCase *daemon = tcase_create("daemon");

	tcase_add_checked_fixture(daemon, tree_setup, tree_teardown);
	tcase_add_test(daemon, test_without_a_file_all_is_default_and_nothing_declared);
	tcase_add_test(daemon, test_every_key_is_read);
	tcase_add_test(daemon, test_other_forms_of_values_are_read);
	tcase_add_test(daemon, test_counts_need_no_unit_and_amounts_do);
	tcase_add_loop_test(daemon, test_a_bad_value_keeps_the_default_and_says_what_is_accepted, 0,
	                    ELEMENTS(bad_values));
	tcase_add_test(daemon, test_a_bad_value_leaves_the_other_settings_alone);
	tcase_add_test(daemon, test_a_bad_value_of_the_daemon_refuses_no_pool);
	tcase_add_test(daemon, test_an_unknown_key_is_a_warning_with_the_key_meant);
	tcase_add_test(daemon, test_dropins_of_the_daemon_are_applied_in_order);
	tcase_add_test(daemon, test_an_empty_daemon_file_hides_the_later_one_and_keeps_dropins);
	tcase_add_test(daemon, test_an_unreadable_daemon_file_is_refused_and_defaults_hold);
	tcase_add_test(daemon, test_a_link_to_nowhere_hides_the_later_file_and_is_refused);
	suite_add_tcase(suite, daemon);
	return suite_main(suite);
}
