/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A daemon that runs out of descriptors, at each of them, while it leases. */
#include <check.h>
#include <string.h>
#include <sys/resource.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "../../dbus/names.h"
#include "hostile-scene.h"
#include "suite.h"

static struct rlimit plenty;

/* From now on it may open @nr more, until it closes some. */
static void limit_fds(unsigned nr)
{
	struct rlimit limit = { 0 };
	bool is_open[NR_FDS_MAX];

	ck_assert_int_eq(prlimit(d.pid, RLIMIT_NOFILE, NULL, &plenty), 0);
	limit.rlim_max = plenty.rlim_max;
	(void) look_at_fds(is_open);
	for (unsigned nr_free = 0; limit.rlim_cur < NR_FDS_MAX; limit.rlim_cur++) {
		nr_free += !is_open[limit.rlim_cur];
		if (nr_free > nr)
			break;
	}
	ck_assert_int_eq(prlimit(d.pid, RLIMIT_NOFILE, &limit, NULL), 0);
}

static void unlimit_fds(void)
{
	ck_assert_int_eq(prlimit(d.pid, RLIMIT_NOFILE, &plenty, NULL), 0);
}

#define NR_SHORT 8

START_TEST(test_a_lease_that_wants_more_descriptors_than_there_are_is_refused_and_none_is_lost)
{
	unsigned nr_granted = 0, nr_refused = 0;

	for (unsigned more = 0; more < NR_SHORT; more++) {
		sd_bus_error error = SD_BUS_ERROR_NULL;
		struct daemon_lease lease;

		limit_fds(more);
		if (daemon_lease(&d, POOL, 0, NULL, &lease, &error) == 0) {
			nr_granted++;
			daemon_lease_close(&lease);
		} else {
			nr_refused++;
			ck_assert_msg(strcmp(error.name, SD_BUS_ERROR_LIMITS_EXCEEDED) == 0,
			              "with %u more: %s: %s", more, error.name, error.message);
			sd_bus_error_free(&error);
		}
		unlimit_fds();
		expect_as_at_start();
	}
	ck_assert_uint_gt(nr_granted, 0);
	ck_assert_uint_gt(nr_refused, 0);
}
END_TEST

START_TEST(test_a_region_that_cannot_be_made_anew_for_want_of_descriptors_comes_with_them)
{
	for (unsigned more = 0; more < 4; more++) {
		struct daemon_lease leases[3];

		for (unsigned i = 0; i < ELEMENTS(leases); i++)
			scene_lease(&d, POOL, 0, NULL, &leases[i]);
		limit_fds(more);
		for (unsigned i = 0; i < ELEMENTS(leases); i++)
			daemon_lease_close(&leases[i]);
		wait_no_leases();
		unlimit_fds();
		expect_as_at_start();
	}
	/* the store has each of them, and nothing of what was before */
	daemon_store_wait(&d, "region-*", total_bytes / REGION_BYTES);
	ck_assert_uint_eq(daemon_store_nr(&d, "lifetime-*"), 0);
	ck_assert_uint_eq(daemon_store_nr(&d, "*"), total_bytes / REGION_BYTES + 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("scarce descriptors");
	TCase *all = tcase_create("all");

	bus_fixture_require();
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_set_timeout(all, 120);
	tcase_add_test(
		all,
		test_a_lease_that_wants_more_descriptors_than_there_are_is_refused_and_none_is_lost);
	tcase_add_test(
		all,
		test_a_region_that_cannot_be_made_anew_for_want_of_descriptors_comes_with_them);
	suite_add_tcase(suite, all);
	return suite_main(suite);
}
