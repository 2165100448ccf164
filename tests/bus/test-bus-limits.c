/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What clients cannot do: flood, stall, get past the policy; and the log control. */
#include <signal.h>
#include <stdio.h>

#include "../../daemon/base/log.h"
#include "scene.h"

#define PROPERTIES      "org.freedesktop.DBus.Properties"
#define LOG_PATH        "/org/freedesktop/LogControl1"
#define LOG_INTERFACE   "org.freedesktop.LogControl1"
#define INVALID_ARGS    "org.freedesktop.DBus.Error.InvalidArgs"
#define LIMITS_EXCEEDED "org.freedesktop.DBus.Error.LimitsExceeded"
#define NR_CALLS_OPEN   120 /* a system bus allows 128 */

static struct scene scene;

static void setup(void)
{
	scene_begin(&scene);
}

static void teardown(void)
{
	scene_end(&scene);
}

static void show_pool(const struct pool_view *view)
{
	ck_assert_int_eq(bus_service_show_pool(scene.service, view), 0);
}

static void call_plain(const char *path, const char *interface, const char *member)
{
	sd_bus_message *reply = scene_call(&scene, path, interface, member, "a{sv}", 0);

	ck_assert(!sd_bus_message_is_method_error(reply, NULL));
	sd_bus_message_unref(reply);
}

static int on_flood_reply(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	(void) ret_error;
	if (sd_bus_message_is_method_error(reply, NULL))
		assert_error(reply, LIMITS_EXCEEDED, NULL);
	++*(unsigned *) userdata;
	return 1;
}

START_TEST(test_a_flood_of_calls_is_answered_bounded_and_survived)
{
	unsigned nr_answered = 0;

	for (unsigned i = 0; i < 100; i++)
		ck_assert_int_ge(sd_bus_call_method_async(scene.client, NULL, NODEINIT_BUS_NAME,
		                                          NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE,
		                                          "Pause", on_flood_reply, &nr_answered,
		                                          "a{sv}", 0),
		                 0);
	scene_until(&scene, nr_answered == 100);
	ck_assert_uint_ge(scene.nr_pauses, 1);
	ck_assert_uint_lt(scene.nr_pauses, 100);
	call_plain(NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Resume");
}
END_TEST

struct answers {
	unsigned nr_good, nr_refused;
};

static int on_large_reply(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct answers *answers = userdata;

	(void) ret_error;
	if (sd_bus_message_is_method_error(reply, NULL)) {
		assert_error(reply, LIMITS_EXCEEDED, "answers wait for the bus");
		answers->nr_refused++;
	} else {
		answers->nr_good++;
	}
	return 1;
}

/*
 * The bus stands still with many calls on their way to the service. What the socket does not take
 * would pile up in the service, up to the product of calls and objects.
 */
START_TEST(test_a_bus_that_stands_still_gets_short_answers_instead_of_a_pile_of_long_ones)
{
	struct answers answers = {};
	char name[16];

	for (unsigned i = 0; i < 500; i++) {
		struct pool_view view;

		(void) snprintf(name, sizeof(name), "p%u", i);
		view = sample_pool(name);
		show_pool(&view);
	}
	for (unsigned i = 0; i < NR_CALLS_OPEN; i++)
		ck_assert_int_ge(sd_bus_call_method_async(
					 scene.client, NULL, NODEINIT_BUS_NAME, NODEINIT_PATH,
					 "org.freedesktop.DBus.ObjectManager", "GetManagedObjects",
					 on_large_reply, &answers, ""),
		                 0);
	ck_assert_int_ge(sd_bus_call_method(scene.client, "org.freedesktop.DBus",
	                                    "/org/freedesktop/DBus", "org.freedesktop.DBus",
	                                    "GetId", NULL, NULL, ""),
	                 0);
	ck_assert_int_eq(kill(scene.fixture.pid, SIGSTOP), 0);
	for (unsigned i = 0; i < NR_CALLS_OPEN; i++)
		(void) ev_run(scene.loop, EVRUN_NOWAIT);
	ck_assert_int_eq(kill(scene.fixture.pid, SIGCONT), 0);
	scene_until(&scene, answers.nr_good + answers.nr_refused == NR_CALLS_OPEN);
	ck_assert_uint_ge(answers.nr_good, 1);
	ck_assert_uint_ge(answers.nr_refused, 1);
}
END_TEST

static sd_bus_message *set_log(const char *property, const char *value)
{
	return scene_call(&scene, LOG_PATH, PROPERTIES, "Set", "ssv", LOG_INTERFACE, property, "s",
	                  value);
}

START_TEST(test_the_log_level_can_be_set_and_a_word_that_is_none_is_refused)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *good = NULL, *bad = NULL;

	good = set_log("LogLevel", "debug");
	ck_assert(!sd_bus_message_is_method_error(good, NULL));
	ck_assert_uint_eq(scene.nr_levels, 1);
	ck_assert_int_eq(scene.level, LOG_LEVEL_DEBUG);
	scene_assert_property(&scene, LOG_PATH, LOG_INTERFACE, "LogLevel", "v(s\"debug\" )");
	bad = set_log("LogLevel", "loud");
	assert_error(bad, INVALID_ARGS, "\"loud\"");
	scene_assert_property(&scene, LOG_PATH, LOG_INTERFACE, "LogLevel", "v(s\"debug\" )");
}
END_TEST

START_TEST(test_the_log_target_is_shown_and_stays)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *same = NULL, *other = NULL;

	same = set_log("LogTarget", log_target());
	ck_assert(!sd_bus_message_is_method_error(same, NULL));
	other = set_log("LogTarget", "kmsg");
	assert_error(other, "org.freedesktop.DBus.Error.NotSupported", "\"kmsg\"");
	scene_assert_property(&scene, LOG_PATH, LOG_INTERFACE, "SyslogIdentifier",
	                      "v(s\"nodeinitd\" )");
}
END_TEST

START_TEST(test_the_shipped_policy_lets_nothing_through_that_it_does_not_list)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

	reply = scene_call(&scene, NODEINIT_PATH, "org.example.Other", "Anything", "");
	assert_error(reply, "org.freedesktop.DBus.Error.AccessDenied", NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bus-limits");
	TCase *tcase = tcase_create("one client");

	bus_fixture_require();
	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_a_flood_of_calls_is_answered_bounded_and_survived);
	tcase_add_test(
		tcase,
		test_a_bus_that_stands_still_gets_short_answers_instead_of_a_pile_of_long_ones);
	tcase_add_test(tcase, test_the_log_level_can_be_set_and_a_word_that_is_none_is_refused);
	tcase_add_test(tcase, test_the_log_target_is_shown_and_stays);
	tcase_add_test(tcase, test_the_shipped_policy_lets_nothing_through_that_it_does_not_list);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
