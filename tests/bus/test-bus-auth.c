/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who may change something. Everybody else is played by a process of uid nobody. */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../daemon/base/log.h"
#include "../../daemon/base/scoped.h"
#include "scene.h"

#define POOL_PATH     NODEINIT_POOL_PREFIX "/guests"
#define PROPERTIES    "org.freedesktop.DBus.Properties"
#define LOG_PATH      "/org/freedesktop/LogControl1"
#define NOBODY        65534
#define ACCESS_DENIED "org.freedesktop.DBus.Error.AccessDenied"

static struct scene scene;

/* A polkit that answers as the test says and remembers what it was asked. */
static struct {
	sd_bus *bus;
	struct bus_loop *loop;
	int is_authorized, is_challenge;
	unsigned nr_questions;
	char action[64];
	uint32_t flags;
} polkit;

static int on_check(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	const char *kind, *key, *name, *action;

	(void) userdata, (void) ret_error;

	ck_assert_int_gt(
		sd_bus_message_read(call, "(sa{sv})s", &kind, 1, &key, "s", &name, &action), 0);
	ck_assert_str_eq(kind, "system-bus-name");
	ck_assert_str_eq(key, "name");
	ck_assert_int_eq(name[0], ':');
	(void) snprintf(polkit.action, sizeof(polkit.action), "%s", action);
	ck_assert_int_gt(sd_bus_message_skip(call, "a{ss}"), 0);
	ck_assert_int_gt(sd_bus_message_read(call, "u", &polkit.flags), 0);
	polkit.nr_questions++;
	return sd_bus_reply_method_return(call, "(bba{ss})", polkit.is_authorized,
	                                  polkit.is_challenge, 0);
}

static const sd_bus_vtable polkit_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("CheckAuthorization", "(sa{sv})sa{ss}us", "(bba{ss})", on_check,
	              SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

static void on_polkit_lost(int error, void *arg)
{
	(void) error, (void) arg;
}

static void begin_polkit(int is_authorized, int is_challenge)
{
	memset(&polkit, 0, sizeof(polkit));
	polkit.is_authorized = is_authorized;
	polkit.is_challenge = is_challenge;
	polkit.bus = bus_fixture_connect(&scene.fixture);
	ck_assert_int_ge(sd_bus_add_object_vtable(
				 polkit.bus, NULL, "/org/freedesktop/PolicyKit1/Authority",
				 "org.freedesktop.PolicyKit1.Authority", polkit_vtable, NULL),
	                 0);
	ck_assert_int_ge(sd_bus_request_name(polkit.bus, "org.freedesktop.PolicyKit1", 0), 0);
	ck_assert_int_eq(bus_loop_new(scene.loop, polkit.bus, on_polkit_lost, NULL, &polkit.loop),
	                 0);
}

static void end_polkit(void)
{
	bus_loop_free(polkit.loop);
	sd_bus_unref(polkit.bus);
}

static void setup(void)
{
	scene_begin(&scene);
	scene_show_guests(&scene);
}

static void setup_system_bus(void)
{
	scene_begin_as_system_bus(&scene);
	scene_show_guests(&scene);
}

static void teardown(void)
{
	scene_end(&scene);
}

static const char *ask(const char *member)
{
	return scene_call_as_nobody(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, member,
	                            false, NULL);
}

static void assert_untouched(void)
{
	ck_assert_uint_eq(scene.nr_reloads + scene.nr_pauses + scene.nr_resumes + scene.nr_retries +
	                          scene.nr_levels + scene.leases.nr_releases,
	                  0);
}

START_TEST(test_an_unprivileged_user_may_read_everything)
{
	ck_assert_str_eq(ask("ListNodes"), "");
	ck_assert_str_eq(ask("ListPools"), "");
	ck_assert_str_eq(ask("GetTimeline"), "");
}
END_TEST

START_TEST(test_an_unprivileged_user_is_refused_whatever_changes_something)
{
	static const char *const set[] = { "org.freedesktop.LogControl1", "LogLevel", "debug" };

	log_set_level(LOG_LEVEL_INFO);
	ck_assert_str_eq(ask("Reload"), ACCESS_DENIED);
	ck_assert_str_eq(ask("Pause"), ACCESS_DENIED);
	ck_assert_str_eq(ask("Resume"), ACCESS_DENIED);
	ck_assert_str_eq(scene_call_as_nobody(&scene, POOL_PATH, NODEINIT_POOL_INTERFACE, "Retry",
	                                      false, NULL),
	                 ACCESS_DENIED);
	ck_assert_str_eq(scene_call_as_nobody(&scene, LOG_PATH, PROPERTIES, "Set", false, set),
	                 ACCESS_DENIED);
	ck_assert_int_eq(log_level(), LOG_LEVEL_INFO);
	assert_untouched();
}
END_TEST

START_TEST(test_off_the_system_bus_nobody_can_play_polkit)
{
	begin_polkit(1, 0);
	ck_assert_str_eq(ask("Reload"), ACCESS_DENIED);
	ck_assert_uint_eq(polkit.nr_questions, 0);
	assert_untouched();
	end_polkit();
}
END_TEST

START_TEST(test_without_a_polkit_the_answer_is_no)
{
	ck_assert_str_eq(ask("Reload"), ACCESS_DENIED);
	assert_untouched();
}
END_TEST

START_TEST(test_root_is_not_sent_to_polkit)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

	begin_polkit(0, 0);
	reply = scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Reload", "a{sv}", 0);
	ck_assert(!sd_bus_message_is_method_error(reply, NULL));
	ck_assert_uint_eq(polkit.nr_questions, 0);
	ck_assert_uint_eq(scene.nr_reloads, 1);
	end_polkit();
}
END_TEST

static int fill_release(sd_bus_message *call)
{
	return sd_bus_message_append(call, "sa{sv}", "7", 0);
}

START_TEST(test_whom_polkit_lets_may_under_the_action_of_the_method)
{
	begin_polkit(1, 0);
	ck_assert_str_eq(ask("Reload"), "");
	ck_assert_str_eq(polkit.action, "org.nodeinit1.reload");
	ck_assert_str_eq(ask("Pause"), "");
	ck_assert_str_eq(polkit.action, "org.nodeinit1.pause");
	ck_assert_str_eq(ask("Resume"), "");
	ck_assert_str_eq(polkit.action, "org.nodeinit1.pause");
	ck_assert_str_eq(scene_call_as_nobody(&scene, POOL_PATH, NODEINIT_POOL_INTERFACE, "Retry",
	                                      false, NULL),
	                 "");
	ck_assert_str_eq(polkit.action, "org.nodeinit1.retry");
	ck_assert_uint_eq(scene.nr_reloads + scene.nr_pauses + scene.nr_resumes + scene.nr_retries,
	                  4);
	ck_assert_str_eq(scene_call_filled_as_nobody(&scene, NODEINIT_PATH,
	                                             NODEINIT_MANAGER_INTERFACE, "ReleaseLease",
	                                             fill_release),
	                 "");
	ck_assert_str_eq(polkit.action, "org.nodeinit1.release-lease");
	ck_assert_uint_eq(scene.leases.nr_releases, 1);
	end_polkit();
}
END_TEST

START_TEST(test_a_person_is_asked_only_when_the_call_allows_it)
{
	begin_polkit(0, 1);
	ck_assert_str_eq(ask("Reload"),
	                 "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired");
	ck_assert_uint_eq(polkit.flags, 0);
	(void) scene_call_as_nobody(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Reload",
	                            true, NULL);
	ck_assert_uint_eq(polkit.flags, 1);
	assert_untouched();
	end_polkit();
}
END_TEST

START_TEST(test_whom_polkit_refuses_is_refused)
{
	begin_polkit(0, 0);
	ck_assert_str_eq(ask("Reload"), ACCESS_DENIED);
	ck_assert_uint_eq(polkit.nr_questions, 1);
	assert_untouched();
	end_polkit();
}
END_TEST

START_TEST(test_polkit_has_no_say_in_the_log_level)
{
	static const char *const set[] = { "org.freedesktop.LogControl1", "LogLevel", "debug" };

	begin_polkit(1, 0);
	ck_assert_str_eq(scene_call_as_nobody(&scene, LOG_PATH, PROPERTIES, "Set", true, set),
	                 ACCESS_DENIED);
	ck_assert_uint_eq(polkit.nr_questions, 0);
	assert_untouched();
	end_polkit();
}
END_TEST

/* For good: each test has a process of its own. */
static void become_nobody(void)
{
	ck_assert_int_eq(setgroups(0, NULL), 0);
	ck_assert_int_eq(setgid(NOBODY), 0);
	ck_assert_int_eq(setuid(NOBODY), 0);
}

START_TEST(test_the_daemon_of_an_ordinary_user_obeys_that_user)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

	become_nobody();
	scene_begin(&scene);
	reply = scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Reload", "a{sv}", 0);
	ck_assert(!sd_bus_message_is_method_error(reply, NULL));
	ck_assert_uint_eq(scene.nr_reloads, 1);
	scene_end(&scene);
}
END_TEST

START_TEST(test_on_the_system_bus_the_uid_of_the_daemon_is_no_privilege)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

	become_nobody();
	scene_begin_as_system_bus(&scene);
	reply = scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Reload", "a{sv}", 0);
	assert_error(reply, ACCESS_DENIED, "uid 65534");
	assert_untouched();
	scene_end(&scene);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bus-auth");
	TCase *own = tcase_create("a bus of one's own");
	TCase *system_bus = tcase_create("the system bus");
	TCase *ordinary = tcase_create("the daemon of an ordinary user");

	bus_fixture_require();
	if (geteuid() != 0)
		suite_skip("becoming uid nobody needs root");
	if (getenv("CK_FORK") && strcmp(getenv("CK_FORK"), "no") == 0)
		suite_skip("becoming uid nobody needs a process of its own");

	tcase_set_timeout(own, 30);
	tcase_add_checked_fixture(own, setup, teardown);
	tcase_add_test(own, test_an_unprivileged_user_may_read_everything);
	tcase_add_test(own, test_an_unprivileged_user_is_refused_whatever_changes_something);
	tcase_add_test(own, test_off_the_system_bus_nobody_can_play_polkit);
	suite_add_tcase(suite, own);

	tcase_set_timeout(system_bus, 30);
	tcase_add_checked_fixture(system_bus, setup_system_bus, teardown);
	tcase_add_test(system_bus, test_an_unprivileged_user_may_read_everything);
	tcase_add_test(system_bus, test_an_unprivileged_user_is_refused_whatever_changes_something);
	tcase_add_test(system_bus, test_without_a_polkit_the_answer_is_no);
	tcase_add_test(system_bus, test_root_is_not_sent_to_polkit);
	tcase_add_test(system_bus, test_whom_polkit_lets_may_under_the_action_of_the_method);
	tcase_add_test(system_bus, test_a_person_is_asked_only_when_the_call_allows_it);
	tcase_add_test(system_bus, test_whom_polkit_refuses_is_refused);
	tcase_add_test(system_bus, test_polkit_has_no_say_in_the_log_level);
	suite_add_tcase(suite, system_bus);

	tcase_set_timeout(ordinary, 30);
	tcase_add_test(ordinary, test_the_daemon_of_an_ordinary_user_obeys_that_user);
	tcase_add_test(ordinary, test_on_the_system_bus_the_uid_of_the_daemon_is_no_privilege);
	suite_add_tcase(suite, ordinary);
	return suite_main(suite);
}
