/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a lease ends, what becomes of its region, and what does not end it. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "../../dbus/names.h"
#include "lease-scene.h"
#include "suite.h"

#define REGION_BYTES (4 * MIB)

static struct daemon_fixture d;
static uint64_t total_bytes;

static void setup(void)
{
	daemon_fixture_start(&d);
}

static void teardown(void)
{
	daemon_fixture_stop(&d);
}

static void start_small(void)
{
	scene_write_pool(&d, "small", "32M", "4M", NULL);
	total_bytes = scene_start(&d, "small");
}

static void wait_small(const char *property, uint64_t bytes)
{
	scene_wait_pool_bytes(&d, "small", property, bytes);
}

START_TEST(test_a_lease_ends_with_the_last_copy_of_its_lifetime)
{
	struct daemon_lease lease;
	int copy_fd;

	start_small();
	scene_lease(&d, "small", 0, NULL, &lease);
	wait_small("BytesLeased", REGION_BYTES);
	copy_fd = fcntl(lease.lifetime_fd, F_DUPFD_CLOEXEC, 0);
	ck_assert_int_ge(copy_fd, 0);
	daemon_lease_close(&lease);
	/* a later lease that comes and goes shows that ends are looked at */
	scene_lease(&d, "small", 0, NULL, &lease);
	daemon_lease_close(&lease);
	scene_wait_lease_state(&d, lease.id, "");
	wait_small("BytesLeased", REGION_BYTES);
	(void) fd_close(copy_fd);
	wait_small("BytesLeased", 0);
}
END_TEST

static void expect_draining_until_unmapped(struct daemon_lease *lease, unsigned char *memory)
{
	struct daemon_lease other;

	scene_wait_lease_state(&d, lease->id, "draining");
	wait_small("BytesDraining", REGION_BYTES);
	wait_small("BytesLeased", 0);
	wait_small("BytesDone", total_bytes - REGION_BYTES);
	memory[0] = 1; /* still ours */

	ck_assert_int_eq(munmap(memory, REGION_BYTES), 0);
	scene_wait_lease_state(&d, lease->id, "");
	wait_small("BytesDraining", 0);
	wait_small("BytesDone", total_bytes);
	/* every region that there is now: none is the old one, all are zero */
	for (uint64_t i = 0; i < total_bytes / REGION_BYTES; i++) {
		scene_lease(&d, "small", 0, NULL, &other);
		ck_assert_str_ne(other.id, lease->id);
		scene_expect_zero(&other);
		daemon_lease_close(&other);
	}
}

START_TEST(test_an_ended_lease_drains_until_nobody_has_it_mapped)
{
	struct daemon_lease lease;
	unsigned char *memory;

	start_small();
	scene_lease(&d, "small", 0, NULL, &lease);
	scene_write_pattern(&lease, 1);
	memory = scene_map(&lease);
	daemon_lease_close(&lease);
	expect_draining_until_unmapped(&lease, memory);
}
END_TEST

START_TEST(test_a_released_lease_drains_until_nobody_has_it_mapped)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	struct daemon_lease lease;
	unsigned char *memory;

	start_small();
	scene_lease(&d, "small", 0, NULL, &lease);
	scene_write_pattern(&lease, 1);
	memory = scene_map(&lease);
	ck_assert_int_eq(daemon_release(&d, lease.id, NULL), 0);
	scene_wait_lease_state(&d, lease.id, "draining");
	ck_assert_int_lt(daemon_release(&d, lease.id, &error), 0);
	ck_assert_ptr_nonnull(strstr(error.message, "ended already"));
	sd_bus_error_free(&error);
	scene_expect_pattern(&lease, 1); /* revoked on paper; the memory stays */
	daemon_lease_close(&lease);
	expect_draining_until_unmapped(&lease, memory);

	ck_assert_int_lt(daemon_release(&d, lease.id, &error), 0);
	ck_assert_str_eq(error.name, NODEINIT_ERROR_NO_SUCH_LEASE);
	sd_bus_error_free(&error);
}
END_TEST

/* What Reload makes of the pool is up to @text; the lessee does not notice. */
static void reload_under_a_lease(struct daemon_lease *lease)
{
	scene_reload(&d);
	ck_assert_str_eq(scene_lease_state(&d, lease->id), "leased");
	scene_expect_pattern(lease, 5);
}

static void lease_with_pattern(struct daemon_lease *lease)
{
	scene_lease(&d, "small", 0, NULL, lease);
	scene_write_pattern(lease, 5);
	wait_small("BytesLeased", REGION_BYTES);
}

/* It ends, drains while it is mapped, and is gone. */
static void end_lease(struct daemon_lease *lease)
{
	unsigned char *memory;

	scene_expect_pattern(lease, 5);
	memory = scene_map(lease);
	daemon_lease_close(lease);
	scene_wait_lease_state(&d, lease->id, "draining");
	ck_assert_int_eq(munmap(memory, lease->bytes), 0);
	scene_wait_lease_state(&d, lease->id, "");
}

START_TEST(test_a_lease_outlives_its_pool)
{
	struct daemon_lease lease, other;
	unsigned char *memory;

	start_small();
	lease_with_pattern(&lease);
	daemon_remove_pool(&d, "small");
	reload_under_a_lease(&lease);
	scene_refused(&d, "small", 0, NULL, SD_BUS_ERROR_UNKNOWN_OBJECT, "small");

	/* the pool comes back, as a new one that has all it is to have */
	scene_write_pool(&d, "small", "32M", "4M", NULL);
	reload_under_a_lease(&lease);
	wait_small("BytesDone", total_bytes);
	scene_lease(&d, "small", 0, NULL, &other);
	scene_expect_zero(&other);
	scene_expect_pattern(&lease, 5);
	daemon_lease_close(&other);
	scene_wait_lease_state(&d, other.id, "");
	wait_small("BytesDone", total_bytes);

	/* what drains now was never the new pool's */
	memory = scene_map(&lease);
	daemon_lease_close(&lease);
	scene_wait_lease_state(&d, lease.id, "draining");
	wait_small("BytesDraining", REGION_BYTES);
	wait_small("BytesDone", total_bytes);
	ck_assert_int_eq(munmap(memory, lease.bytes), 0);
	scene_wait_lease_state(&d, lease.id, "");
	wait_small("BytesDraining", 0);
	wait_small("BytesDone", total_bytes);
	/* no region more, none less */
	daemon_store_wait(&d, "region-*", total_bytes / REGION_BYTES);
}
END_TEST

START_TEST(test_a_lease_of_a_removed_pool_drains_and_is_gone)
{
	struct daemon_lease lease;

	start_small();
	lease_with_pattern(&lease);
	daemon_remove_pool(&d, "small");
	reload_under_a_lease(&lease);
	daemon_store_wait(&d, "region-*", 1);
	end_lease(&lease);
	daemon_store_wait(&d, "*", 1);
}
END_TEST

START_TEST(test_a_lease_outlives_a_pool_that_shrinks)
{
	struct daemon_lease lease;

	start_small();
	lease_with_pattern(&lease);
	scene_write_pool(&d, "small", "0", "4M", NULL);
	reload_under_a_lease(&lease);
	daemon_store_wait(&d, "region-*", 1);
	end_lease(&lease);
	daemon_store_wait(&d, "region-*", 0);

	scene_write_pool(&d, "small", "32M", "4M", NULL);
	scene_reload(&d);
	wait_small("BytesDone", total_bytes);
	daemon_store_wait(&d, "region-*", total_bytes / REGION_BYTES);
}
END_TEST

START_TEST(test_a_lease_outlives_another_size_of_regions)
{
	struct daemon_lease lease, other;

	start_small();
	lease_with_pattern(&lease);
	scene_write_pool(&d, "small", "32M", "8M", NULL);
	reload_under_a_lease(&lease);
	daemon_wait_state(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ready");
	wait_small("BytesDone", total_bytes);
	scene_lease(&d, "small", 0, NULL, &other);
	ck_assert_uint_eq(other.bytes, 2 * REGION_BYTES);
	daemon_lease_close(&other);
	scene_wait_lease_state(&d, other.id, "");
	end_lease(&lease);
	wait_small("BytesDone", total_bytes);
	daemon_store_wait(&d, "region-*", total_bytes / (2 * REGION_BYTES));
}
END_TEST

START_TEST(test_leases_do_not_end_with_the_bus)
{
	struct daemon_lease lease, other;

	start_small();
	lease_with_pattern(&lease);
	bus_fixture_kill(&d.bus);
	d.client = sd_bus_flush_close_unref(d.client);
	bus_fixture_revive(&d.bus);
	/* the daemon comes back by itself */
	ck_assert_int_ge(sd_bus_call_method(daemon_client(&d), "org.freedesktop.DBus",
	                                    "/org/freedesktop/DBus", "org.freedesktop.DBus.Peer",
	                                    "Ping", NULL, NULL, ""),
	                 0);
	for (int owned = 0; !owned;) {
		sd_bus_message *reply = NULL;

		ck_assert_int_ge(sd_bus_call_method(d.client, "org.freedesktop.DBus",
		                                    "/org/freedesktop/DBus", "org.freedesktop.DBus",
		                                    "NameHasOwner", NULL, &reply, "s",
		                                    NODEINIT_BUS_NAME),
		                 0);
		ck_assert_int_gt(sd_bus_message_read(reply, "b", &owned), 0);
		sd_bus_message_unref(reply);
	}
	ck_assert_str_eq(scene_lease_state(&d, lease.id), "leased");
	scene_expect_pattern(&lease, 5);
	scene_lease(&d, "small", 0, NULL, &other);
	daemon_lease_close(&other);
	scene_wait_lease_state(&d, other.id, "");
	end_lease(&lease);
	wait_small("BytesDone", total_bytes);
}
END_TEST

/* PropertiesChanged of one object. */
struct changes {
	unsigned nr;
	uint64_t first_usec, last_usec;
	uint64_t leased_bytes; /* what was last told */
};

static int on_change(sd_bus_message *signal, void *userdata, sd_bus_error *ret_error)
{
	struct changes *changes = userdata;
	const char *name;

	(void) ret_error;
	changes->last_usec = clock_monotonic_usec();
	if (changes->nr++ == 0)
		changes->first_usec = changes->last_usec;
	ck_assert_int_gt(sd_bus_message_skip(signal, "s"), 0);
	ck_assert_int_gt(sd_bus_message_enter_container(signal, 'a', "{sv}"), 0);
	while (sd_bus_message_enter_container(signal, 'e', "sv") > 0) {
		ck_assert_int_gt(sd_bus_message_read(signal, "s", &name), 0);
		if (strcmp(name, "BytesLeased") == 0)
			ck_assert_int_gt(
				sd_bus_message_read(signal, "v", "t", &changes->leased_bytes), 0);
		else
			ck_assert_int_gt(sd_bus_message_skip(signal, "v"), 0);
		ck_assert_int_ge(sd_bus_message_exit_container(signal), 0);
	}
	return 0;
}

static void expect_few(const struct changes *changes)
{
	/* the first one may be read later than it came, by a machine that has other things to do */
	uint64_t span_usec = changes->last_usec - changes->first_usec + 250000;

	ck_assert_uint_gt(changes->nr, 0);
	ck_assert_msg(changes->nr - 1 <= 4 * span_usec / 1000000, "%u signals in %llu us",
	              changes->nr, (unsigned long long) span_usec);
}

START_TEST(test_500_leases_that_come_and_go_make_few_signals_and_the_last_is_final)
{
	const struct daemon_lease_options waiting = { .may_wait = true };
	struct changes pool = { 0 }, host = { 0 };
	scoped(sd_bus_slot_unrefp) sd_bus_slot *pool_slot = NULL, *host_slot = NULL;
	struct daemon_lease kept, lease;

	start_small();
	ck_assert_int_ge(sd_bus_match_signal(d.client, &pool_slot, NODEINIT_BUS_NAME,
	                                     POOL_PATH("small"), "org.freedesktop.DBus.Properties",
	                                     "PropertiesChanged", on_change, &pool),
	                 0);
	ck_assert_int_ge(sd_bus_match_signal(d.client, &host_slot, NODEINIT_BUS_NAME, NODEINIT_PATH,
	                                     "org.freedesktop.DBus.Properties", "PropertiesChanged",
	                                     on_change, &host),
	                 0);
	scene_lease(&d, "small", 0, NULL, &kept);
	for (unsigned i = 0; i < 500; i++) {
		scene_lease(&d, "small", 0, &waiting, &lease);
		daemon_lease_close(&lease);
		while (sd_bus_process(d.client, NULL) > 0)
			;
	}
	scene_wait_lease_state(&d, lease.id, "");
	wait_small("BytesDone", total_bytes);
	wait_small("BytesLeased", REGION_BYTES);
	wait_small("BytesDraining", 0);
	ck_assert_uint_eq(pool.leased_bytes, REGION_BYTES);
	daemon_lease_close(&kept);
	wait_small("BytesLeased", 0);
	wait_small("BytesDone", total_bytes);
	while (pool.leased_bytes > 0) {
		ck_assert_int_ge(sd_bus_wait(d.client, DAEMON_LIMIT_MSEC * UINT64_C(1000)), 1);
		while (sd_bus_process(d.client, NULL) > 0)
			;
	}
	expect_few(&pool);
	expect_few(&host);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon-lease-end");
	TCase *tc = tcase_create("end");

	bus_fixture_require();
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_a_lease_ends_with_the_last_copy_of_its_lifetime);
	tcase_add_test(tc, test_an_ended_lease_drains_until_nobody_has_it_mapped);
	tcase_add_test(tc, test_a_released_lease_drains_until_nobody_has_it_mapped);
	tcase_add_test(tc, test_a_lease_outlives_its_pool);
	tcase_add_test(tc, test_a_lease_of_a_removed_pool_drains_and_is_gone);
	tcase_add_test(tc, test_a_lease_outlives_a_pool_that_shrinks);
	tcase_add_test(tc, test_a_lease_outlives_another_size_of_regions);
	tcase_add_test(tc, test_leases_do_not_end_with_the_bus);
	tcase_add_test(tc, test_500_leases_that_come_and_go_make_few_signals_and_the_last_is_final);
	suite_add_tcase(suite, tc);
	return suite_main(suite);
}
