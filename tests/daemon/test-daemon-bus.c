/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "../../dbus/names.h"
#include "daemon-fixture.h"
#include "suite.h"

#define OBJECTS_MAX 64
#define SIGNALS_MAX 512

static struct daemon_fixture d;

static void setup(void)
{
	daemon_fixture_start(&d);
}

static void teardown(void)
{
	daemon_fixture_stop(&d);
}

/* What one object said in its PropertiesChanged. */
struct object_record {
	char path[128];
	uint64_t at_usec[SIGNALS_MAX];
	unsigned nr_signals;
	uint64_t done_bytes;
	bool has_run_backwards;
	char state[32];
};

struct record {
	struct object_record objects[OBJECTS_MAX];
	unsigned nr_objects;
};

static struct object_record *record_object(struct record *record, const char *path)
{
	for (unsigned i = 0; i < record->nr_objects; i++)
		if (strcmp(record->objects[i].path, path) == 0)
			return &record->objects[i];
	ck_assert_uint_lt(record->nr_objects, OBJECTS_MAX);
	(void) snprintf(record->objects[record->nr_objects].path, 128, "%s", path);
	return &record->objects[record->nr_objects++];
}

static int on_changed(sd_bus_message *m, void *userdata, sd_bus_error *ret_error)
{
	struct object_record *object = record_object(userdata, sd_bus_message_get_path(m));
	const char *name, *state;
	uint64_t bytes;

	(void) ret_error;
	ck_assert_uint_lt(object->nr_signals, SIGNALS_MAX);
	object->at_usec[object->nr_signals++] = clock_monotonic_usec();
	ck_assert_int_ge(sd_bus_message_skip(m, "s"), 0);
	ck_assert_int_ge(sd_bus_message_enter_container(m, 'a', "{sv}"), 0);
	while (sd_bus_message_enter_container(m, 'e', "sv") > 0) {
		ck_assert_int_ge(sd_bus_message_read(m, "s", &name), 0);
		if (strcmp(name, "BytesDone") == 0) {
			ck_assert_int_ge(sd_bus_message_read(m, "v", "t", &bytes), 0);
			object->has_run_backwards |= bytes < object->done_bytes;
			object->done_bytes = bytes;
		} else if (strcmp(name, "State") == 0) {
			ck_assert_int_ge(sd_bus_message_read(m, "v", "s", &state), 0);
			(void) snprintf(object->state, sizeof(object->state), "%s", state);
		} else {
			ck_assert_int_ge(sd_bus_message_skip(m, "v"), 0);
		}
		ck_assert_int_ge(sd_bus_message_exit_container(m), 0);
	}
	return 0;
}

/* Signals are 250 ms apart where they are sent; on the way one may be late by some. */
static unsigned most_in_one_second(const struct object_record *object)
{
	unsigned most = 0;

	for (unsigned first = 0; first < object->nr_signals; first++) {
		unsigned nr = 0;

		for (unsigned i = first; i < object->nr_signals; i++)
			nr += object->at_usec[i] - object->at_usec[first] < 900000;
		most = nr > most ? nr : most;
	}
	return most;
}

static bool have_all_said(const struct record *record, const char *state)
{
	for (unsigned i = 0; i < record->nr_objects; i++)
		if (strcmp(record->objects[i].state, state) != 0)
			return false;
	return true;
}

/*
 * Take in signals until the manager and each object that has said anything have said @state: each
 * has its own last signal, in no order.
 */
static void record_until(sd_bus *bus, struct record *record, const char *state)
{
	uint64_t end_usec = clock_monotonic_usec() + DAEMON_LIMIT_MSEC * UINT64_C(1000);

	(void) record_object(record, NODEINIT_PATH);
	while (!have_all_said(record, state)) {
		int r = sd_bus_process(bus, NULL);

		ck_assert_int_ge(r, 0);
		ck_assert_uint_lt(clock_monotonic_usec(), end_usec);
		if (r == 0)
			ck_assert_int_ge(sd_bus_wait(bus, 1000000), 0);
	}
}

START_TEST(test_a_full_run_shows_at_most_4_changes_a_second_none_backwards_the_last_one_final)
{
	scoped(sd_bus_flush_close_unrefp) sd_bus *bus = bus_fixture_connect(&d.bus);
	static struct record record;

	ck_assert_int_ge(sd_bus_match_signal(bus, NULL, NULL, NULL,
	                                     "org.freedesktop.DBus.Properties", "PropertiesChanged",
	                                     on_changed, &record),
	                 0);
	daemon_write_pool(&d, "run",
	                  "[Pool]\nKind=region\nPageSize=base\nSize=2G\nEarly=64M\n"
	                  "[Region]\nRegionSize=64M\n");
	daemon_launch(&d, NULL);
	/* Not for READY first: what arrives meanwhile would be recorded late, and all at once. */
	record_until(bus, &record, "ready");

	ck_assert_uint_ge(record.nr_objects, 3); /* manager, pool, at least one node */
	for (unsigned i = 0; i < record.nr_objects; i++) {
		const struct object_record *object = &record.objects[i];
		const char *interface = strstr(object->path, "/node/") ? NODEINIT_NODE_INTERFACE
		                        : strstr(object->path, "/pool/")
		                                ? NODEINIT_POOL_INTERFACE
		                                : NODEINIT_MANAGER_INTERFACE;

		ck_assert_msg(most_in_one_second(object) <= 4, "%s: %u in one second", object->path,
		              most_in_one_second(object));
		ck_assert_msg(!object->has_run_backwards, "%s runs backwards", object->path);
		if (object->done_bytes > 0)
			ck_assert_uint_eq(object->done_bytes,
			                  daemon_get_u64(&d, object->path, interface, "BytesDone"));
		ck_assert_str_eq(object->state, "ready");
	}
}
END_TEST

START_TEST(test_the_bus_restarts_and_work_goes_on_and_the_daemon_is_back)
{
	scoped(freep) char *log = NULL;

	daemon_write_pool(&d, "run",
	                  "[Pool]\nKind=region\nPageSize=base\nSize=512M\nEarly=8M\n"
	                  "[Region]\nRegionSize=8M\n");
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	d.client = sd_bus_flush_close_unref(d.client);
	bus_fixture_kill(&d.bus);
	daemon_wait_notified(&d, "STATUS=ready: *"); /* without a bus */
	bus_fixture_revive(&d.bus);

	/* the name appears without anybody asking for it */
	scoped(sd_bus_flush_close_unrefp) sd_bus *bus = bus_fixture_connect(&d.bus);
	uint64_t end_usec = clock_monotonic_usec() + DAEMON_LIMIT_MSEC * UINT64_C(1000);

	while (sd_bus_get_name_creds(bus, NODEINIT_BUS_NAME, 0, NULL) < 0)
		ck_assert_uint_lt(clock_monotonic_usec(), end_usec);
	daemon_wait_state(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ready");
	ck_assert_uint_eq(
		daemon_get_u64(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "BytesDone"),
		daemon_get_u64(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "BytesTotal"));
	log = daemon_log(&d);
	ck_assert_ptr_nonnull(strstr(log, "the bus is lost"));
	ck_assert_int_eq(daemon_end(&d, SIGTERM), 0);
}
END_TEST

START_TEST(test_the_log_level_is_changed_over_the_bus)
{
	scoped(freep) char *level = NULL;

	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	level = daemon_get_text(&d, "/org/freedesktop/LogControl1", "org.freedesktop.LogControl1",
	                        "LogLevel");
	ck_assert_str_eq(level, "info");
	ck_assert_int_ge(
		sd_bus_set_property(d.client, NODEINIT_BUS_NAME, "/org/freedesktop/LogControl1",
	                            "org.freedesktop.LogControl1", "LogLevel", NULL, "s", "debug"),
		0);
	free(take(level));
	level = daemon_get_text(&d, "/org/freedesktop/LogControl1", "org.freedesktop.LogControl1",
	                        "LogLevel");
	ck_assert_str_eq(level, "debug");
}
END_TEST

START_TEST(test_an_object_that_is_not_there_is_named_in_the_error)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;

	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	(void) daemon_get_bool(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Ready");
	ck_assert_int_lt(sd_bus_call_method(d.client, NODEINIT_BUS_NAME, NODEINIT_PATH,
	                                    NODEINIT_MANAGER_INTERFACE, "GetPool", &error, NULL,
	                                    "sa{sv}", "guests", 0),
	                 0);
	ck_assert_str_eq(error.name, NODEINIT_ERROR_NO_SUCH_POOL);
	ck_assert_ptr_nonnull(strstr(error.message, "guests"));
	sd_bus_error_free(&error);
	ck_assert_int_lt(sd_bus_call_method(d.client, NODEINIT_BUS_NAME, NODEINIT_PATH,
	                                    NODEINIT_MANAGER_INTERFACE, "GetNode", &error, NULL,
	                                    "ua{sv}", 4711, 0),
	                 0);
	ck_assert_str_eq(error.name, NODEINIT_ERROR_NO_SUCH_NODE);
	ck_assert_ptr_nonnull(strstr(error.message, "4711"));
	sd_bus_error_free(&error);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon-bus");
	TCase *tc = tcase_create("bus");

	bus_fixture_require();
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(
		tc,
		test_a_full_run_shows_at_most_4_changes_a_second_none_backwards_the_last_one_final);
	tcase_add_test(tc, test_the_bus_restarts_and_work_goes_on_and_the_daemon_is_back);
	tcase_add_test(tc, test_the_log_level_is_changed_over_the_bus);
	tcase_add_test(tc, test_an_object_that_is_not_there_is_named_in_the_error);
	suite_add_tcase(suite, tc);
	return suite_main(suite);
}
