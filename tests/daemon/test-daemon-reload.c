/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "../../dbus/names.h"
#include "daemon-fixture.h"
#include "suite.h"

#define POOL_PATH(name) NODEINIT_POOL_PREFIX "/" name

static struct daemon_fixture d;
static unsigned nr_nodes;

static void setup(void)
{
	daemon_fixture_start(&d);
}

static void teardown(void)
{
	daemon_fixture_stop(&d);
}

static void write_pool(const char *name, const char *size)
{
	char text[256];

	(void) snprintf(text, sizeof(text),
	                "[Pool]\nKind=region\nPageSize=base\nSize=%s\nEarly=8M\n[Region]\n"
	                "RegionSize=8M\n",
	                size);
	daemon_write_pool(&d, name, text);
}

static uint64_t pool_bytes(const char *path, const char *property)
{
	return daemon_get_u64(&d, path, NODEINIT_POOL_INTERFACE, property);
}

/* Start with one pool of 16 MiB a node, ready; learn how many nodes there are. */
static void start_with_pool(void)
{
	write_pool("first", "16M");
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	daemon_wait_state(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ready");
	nr_nodes = (unsigned) (pool_bytes(POOL_PATH("first"), "BytesTotal") / (16 * MIB));
	ck_assert_uint_ge(nr_nodes, 1);
}

static uint64_t generation(void)
{
	return daemon_get_u64(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Generation");
}

static int reload(sd_bus_error *ret_error)
{
	return daemon_call(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Reload", ret_error);
}

START_TEST(test_a_reload_without_a_change_changes_nothing)
{
	uint64_t before;

	start_with_pool();
	before = generation();
	ck_assert_int_ge(reload(NULL), 0);
	ck_assert_uint_eq(generation(), before);
	ck_assert(daemon_get_bool(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Ready"));
	ck_assert(daemon_was_notified(&d, "RELOADING=1"));
}
END_TEST

START_TEST(test_a_reload_adds_a_pool_and_counts_a_generation)
{
	uint64_t before;

	start_with_pool();
	before = generation();
	write_pool("second", "8M");
	ck_assert_int_ge(reload(NULL), 0);
	daemon_wait_state(&d, POOL_PATH("second"), NODEINIT_POOL_INTERFACE, "ready");
	daemon_wait_state(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ready");
	ck_assert_uint_eq(generation(), before + 1);
	ck_assert_uint_eq(pool_bytes(POOL_PATH("second"), "BytesDone"), nr_nodes * 8 * MIB);
	ck_assert_uint_eq(pool_bytes(POOL_PATH("first"), "BytesDone"), nr_nodes * 16 * MIB);
}
END_TEST

START_TEST(test_sighup_is_a_reload)
{
	start_with_pool();
	write_pool("second", "8M");
	ck_assert_int_eq(kill(d.pid, SIGHUP), 0);
	daemon_wait_notified(&d, "RELOADING=1");
	daemon_wait_state(&d, POOL_PATH("second"), NODEINIT_POOL_INTERFACE, "ready");
}
END_TEST

START_TEST(test_a_reload_grows_a_pool_without_touching_what_is_there)
{
	start_with_pool();
	write_pool("first", "40M");
	ck_assert_int_ge(reload(NULL), 0);
	daemon_wait_state(&d, POOL_PATH("first"), NODEINIT_POOL_INTERFACE, "ready");
	ck_assert_uint_eq(pool_bytes(POOL_PATH("first"), "BytesTotal"), nr_nodes * 40 * MIB);
	ck_assert_uint_eq(pool_bytes(POOL_PATH("first"), "BytesDone"), nr_nodes * 40 * MIB);
}
END_TEST

START_TEST(test_a_reload_shrinks_a_pool_and_gives_the_memory_back)
{
	start_with_pool();
	write_pool("first", "8M");
	ck_assert_int_ge(reload(NULL), 0);
	daemon_wait_state(&d, POOL_PATH("first"), NODEINIT_POOL_INTERFACE, "ready");
	daemon_wait_u64(&d, POOL_PATH("first"), NODEINIT_POOL_INTERFACE, "BytesDone",
	                nr_nodes * 8 * MIB);
	ck_assert_uint_eq(pool_bytes(POOL_PATH("first"), "BytesShort"), 0);

	/* and grows again behind what is left */
	write_pool("first", "24M");
	ck_assert_int_ge(reload(NULL), 0);
	daemon_wait_u64(&d, POOL_PATH("first"), NODEINIT_POOL_INTERFACE, "BytesDone",
	                nr_nodes * 24 * MIB);
}
END_TEST

START_TEST(test_a_reload_withdraws_a_pool_that_is_gone)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	uint64_t bytes;

	start_with_pool();
	write_pool("second", "8M");
	ck_assert_int_ge(reload(NULL), 0);
	daemon_wait_state(&d, POOL_PATH("second"), NODEINIT_POOL_INTERFACE, "ready");
	daemon_remove_pool(&d, "second");
	ck_assert_int_ge(reload(NULL), 0);
	ck_assert_int_lt(sd_bus_get_property_trivial(d.client, NODEINIT_BUS_NAME,
	                                             POOL_PATH("second"), NODEINIT_POOL_INTERFACE,
	                                             "BytesDone", &error, 't', &bytes),
	                 0);
	ck_assert(sd_bus_error_has_name(&error, SD_BUS_ERROR_UNKNOWN_OBJECT));
	sd_bus_error_free(&error);
	ck_assert_uint_eq(pool_bytes(POOL_PATH("first"), "BytesDone"), nr_nodes * 16 * MIB);
	ck_assert(daemon_get_bool(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Ready"));
}
END_TEST

START_TEST(test_a_broken_file_keeps_the_old_pool_and_says_so)
{
	scoped(freep) char *log = NULL;
	sd_bus_error error = SD_BUS_ERROR_NULL;

	start_with_pool();
	write_pool("first", "8192");
	write_pool("second", "8M");
	ck_assert_int_lt(reload(&error), 0);
	ck_assert_str_eq(error.name, NODEINIT_ERROR_CONFIG_INVALID);
	ck_assert_ptr_nonnull(strstr(error.message, "first.pool:4: "));
	sd_bus_error_free(&error);

	ck_assert_uint_eq(pool_bytes(POOL_PATH("first"), "BytesDone"), nr_nodes * 16 * MIB);
	daemon_wait_state(&d, POOL_PATH("second"), NODEINIT_POOL_INTERFACE, "ready");
	ck_assert(daemon_get_bool(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Ready"));
	log = daemon_log(&d);
	ck_assert_ptr_nonnull(strstr(log, "first.pool:4: "));
	ck_assert_ptr_nonnull(strstr(log, "pool first goes on as it was before"));
}
END_TEST

START_TEST(test_a_broken_file_at_the_start_is_said_and_is_never_called_ready)
{
	scoped(freep) char *state = NULL, *log = NULL;

	write_pool("broken", "8192");
	write_pool("good", "8M");
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	daemon_wait_state(&d, POOL_PATH("good"), NODEINIT_POOL_INTERFACE, "ready");
	state = daemon_get_text(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "State");
	ck_assert_str_eq(state, "failed");
	ck_assert(!daemon_get_bool(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Ready"));
	log = daemon_log(&d);
	ck_assert_ptr_nonnull(strstr(log, "broken.pool:4: "));

	/* mended, and it is */
	write_pool("broken", "8M");
	ck_assert_int_ge(reload(NULL), 0);
	daemon_wait_state(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ready");
	ck_assert(daemon_get_bool(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Ready"));
}
END_TEST

START_TEST(test_a_retry_of_a_complete_pool_says_that_nothing_is_missing)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;

	start_with_pool();
	ck_assert_int_lt(
		daemon_call(&d, POOL_PATH("first"), NODEINIT_POOL_INTERFACE, "Retry", &error), 0);
	ck_assert_ptr_nonnull(strstr(error.message, "pool first is complete"));
	sd_bus_error_free(&error);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon-reload");
	TCase *tc = tcase_create("reload");

	bus_fixture_require();
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_a_reload_without_a_change_changes_nothing);
	tcase_add_test(tc, test_a_reload_adds_a_pool_and_counts_a_generation);
	tcase_add_test(tc, test_sighup_is_a_reload);
	tcase_add_test(tc, test_a_reload_grows_a_pool_without_touching_what_is_there);
	tcase_add_test(tc, test_a_reload_shrinks_a_pool_and_gives_the_memory_back);
	tcase_add_test(tc, test_a_reload_withdraws_a_pool_that_is_gone);
	tcase_add_test(tc, test_a_broken_file_keeps_the_old_pool_and_says_so);
	tcase_add_test(tc, test_a_broken_file_at_the_start_is_said_and_is_never_called_ready);
	tcase_add_test(tc, test_a_retry_of_a_complete_pool_says_that_nothing_is_missing);
	suite_add_tcase(suite, tc);
	return suite_main(suite);
}
