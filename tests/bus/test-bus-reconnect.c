/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Name and connection: the first call, a bus that restarts, a name that is taken. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../daemon/base/scoped.h"
#include "scene.h"

#define NODE_PATH      NODEINIT_NODE_PREFIX "/0"
#define NR_FIRST_CALLS 100

static struct scene scene;

static void setup(void)
{
	scene_begin_without_service(&scene);
}

static void teardown(void)
{
	scene_end(&scene);
}

static void show_some(void)
{
	struct manager_view manager = sample_manager();
	struct node_view node = sample_node(0);
	struct pool_view pool = sample_pool("guests");

	ck_assert_int_eq(bus_service_show_manager(scene.service, &manager), 0);
	ck_assert_int_eq(bus_service_show_node(scene.service, &node), 0);
	ck_assert_int_eq(bus_service_show_pool(scene.service, &pool), 0);
}

static void start(void)
{
	ck_assert_int_eq(bus_service_start(scene.service), 0);
}

static char *everything(void)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply =
		scene_call(&scene, NODEINIT_PATH, "org.freedesktop.DBus.ObjectManager",
	                   "GetManagedObjects", "");

	ck_assert(!sd_bus_message_is_method_error(reply, NULL));
	return scene_render(reply);
}

struct first_calls {
	unsigned nr_good, nr_bad;
};

static int on_first_reply(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct first_calls *calls = userdata;

	(void) ret_error;
	if (sd_bus_message_is_method_error(reply, NULL))
		calls->nr_bad++;
	else
		calls->nr_good++;
	return 1;
}

static int on_owner_changed(sd_bus_message *signal, void *userdata, sd_bus_error *ret_error)
{
	const char *name, *before, *now;

	(void) ret_error;
	ck_assert_int_gt(sd_bus_message_read(signal, "sss", &name, &before, &now), 0);
	if (strcmp(name, NODEINIT_BUS_NAME) != 0 || now[0] == '\0')
		return 0;
	ck_assert_int_ge(sd_bus_call_method_async(
				 sd_bus_message_get_bus(signal), NULL, NODEINIT_BUS_NAME, NODE_PATH,
				 "org.freedesktop.DBus.Properties", "Get", on_first_reply, userdata,
				 "ss", NODEINIT_NODE_INTERFACE, "State"),
	                 0);
	return 0;
}

START_TEST(test_a_hundred_of_a_hundred_first_calls_succeed_right_after_the_name_appears)
{
	struct first_calls calls = {};

	scene_connect_client(&scene);
	ck_assert_int_ge(sd_bus_match_signal(scene.client, NULL, "org.freedesktop.DBus", NULL,
	                                     "org.freedesktop.DBus", "NameOwnerChanged",
	                                     on_owner_changed, &calls),
	                 0);
	for (unsigned i = 0; i < NR_FIRST_CALLS; i++) {
		scene_add_service(&scene, bus_fixture_address(&scene.fixture));
		show_some();
		start();
		scene_until(&scene, calls.nr_good + calls.nr_bad == i + 1);
		scene.service = bus_service_free(scene.service);
	}
	ck_assert_uint_eq(calls.nr_good, NR_FIRST_CALLS);
}
END_TEST

START_TEST(test_after_a_restart_of_the_bus_the_service_is_back_with_the_same_values)
{
	scoped(freep) char *before = NULL, *after = NULL;

	scene_add_service(&scene, bus_fixture_address(&scene.fixture));
	show_some();
	start();
	scene_connect_client(&scene);
	scene_until(&scene, scene.nr_owned == 1);
	before = everything();

	bus_fixture_kill(&scene.fixture);
	scene_until(&scene, scene.nr_lost == 1);
	ck_assert_int_lt(scene.lost_error, 0);
	ck_assert(!bus_service_is_connected(scene.service));
	scene.client_loop = bus_loop_free(scene.client_loop);
	scene.client = sd_bus_unref(scene.client);

	bus_fixture_revive(&scene.fixture);
	scene_until(&scene, scene.nr_owned == 2);
	ck_assert_uint_eq(scene.nr_lost, 1);
	scene_connect_client(&scene);
	after = everything();
	ck_assert_str_eq(before, after);
}
END_TEST

START_TEST(test_what_is_shown_while_the_bus_is_away_is_there_when_it_comes_back)
{
	struct node_view node = sample_node(0);
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	scoped(freep) char *text = NULL;

	scene_add_service(&scene, bus_fixture_address(&scene.fixture));
	show_some();
	start();
	scene_until(&scene, scene.nr_owned == 1);
	bus_fixture_kill(&scene.fixture);
	scene_until(&scene, scene.nr_lost == 1);

	node.done_bytes = 777;
	ck_assert_int_eq(bus_service_show_node(scene.service, &node), 0);
	bus_service_hide_pool(scene.service, "guests");
	node = sample_node(9);
	ck_assert_int_eq(bus_service_show_node(scene.service, &node), 0);

	bus_fixture_revive(&scene.fixture);
	scene_until(&scene, scene.nr_owned == 2);
	scene_connect_client(&scene);
	reply = scene_get(&scene, NODE_PATH, NODEINIT_NODE_INTERFACE, "BytesDone");
	text = scene_render(reply);
	ck_assert_str_eq(text, "v(t777 )");
	free(text);
	text = everything();
	ck_assert_ptr_null(strstr(text, "/pool/guests"));
	ck_assert_ptr_nonnull(strstr(text, "/node/9"));
}
END_TEST

static void on_end(struct ev_loop *loop, ev_timer *watcher, int revents)
{
	(void) loop, (void) watcher, (void) revents;
}

/* A second: several attempts later (after 0.1 s, 0.2 s, 0.4 s). */
static void let_it_try(void)
{
	ev_timer end;

	ev_timer_init(&end, on_end, 1., 0.);
	ev_now_update(scene.loop);
	ev_timer_start(scene.loop, &end);
	while (ev_is_active(&end))
		(void) scene_turn(&scene);
}

START_TEST(test_a_bus_that_stays_away_is_reported_once)
{
	scene_add_service(&scene, bus_fixture_address(&scene.fixture));
	start();
	scene_until(&scene, scene.nr_owned == 1);
	bus_fixture_kill(&scene.fixture);
	scene_until(&scene, scene.nr_lost == 1);
	let_it_try();
	ck_assert_uint_eq(scene.nr_lost, 1);
	ck_assert_uint_eq(scene.nr_owned, 1);
}
END_TEST

START_TEST(test_a_name_that_another_owns_is_left_to_it)
{
	sd_bus *other = bus_fixture_connect(&scene.fixture);
	const char *unique;
	scoped(freep) char *owner = NULL;
	sd_bus_message *reply = NULL;

	ck_assert_int_ge(
		sd_bus_request_name(other, NODEINIT_BUS_NAME, SD_BUS_NAME_ALLOW_REPLACEMENT), 0);
	ck_assert_int_ge(sd_bus_get_unique_name(other, &unique), 0);
	scene_add_service(&scene, bus_fixture_address(&scene.fixture));
	start();
	scene_until(&scene, scene.nr_lost == 1);
	ck_assert_int_eq(scene.lost_error, -EEXIST);
	let_it_try();
	ck_assert_uint_eq(scene.nr_owned, 0);
	ck_assert_uint_eq(scene.nr_lost, 1);

	ck_assert_int_ge(sd_bus_call_method(other, "org.freedesktop.DBus", "/org/freedesktop/DBus",
	                                    "org.freedesktop.DBus", "GetNameOwner", NULL, &reply,
	                                    "s", NODEINIT_BUS_NAME),
	                 0);
	owner = scene_render(reply);
	ck_assert_ptr_nonnull(strstr(owner, unique));
	sd_bus_message_unref(reply);

	/* It leaves, and the service takes the name at its next attempt. */
	sd_bus_flush_close_unref(other);
	scene_until(&scene, scene.nr_owned == 1);
}
END_TEST

START_TEST(test_a_bus_that_is_not_there_is_an_error_at_the_start)
{
	scene_add_service(&scene, "unix:path=/nonexistent/bus");
	ck_assert_int_eq(bus_service_start(scene.service), -ENOENT);
	ck_assert_uint_eq(scene.nr_lost, 0);
}
END_TEST

START_TEST(test_an_address_that_names_no_bus_is_told_from_a_bus_that_is_not_there)
{
	scene_add_service(&scene, "sessoin");
	ck_assert_int_eq(bus_service_start(scene.service), -EINVAL);
}
END_TEST

START_TEST(test_a_service_that_is_freed_has_sent_the_last_value)
{
	struct node_view node = sample_node(0);
	struct first_calls calls = {};

	scene_add_service(&scene, bus_fixture_address(&scene.fixture));
	show_some();
	start();
	scene_connect_client(&scene);
	scene_until(&scene, scene.nr_owned == 1);
	ck_assert_int_ge(sd_bus_match_signal(scene.client, NULL, NULL, NODE_PATH, NULL,
	                                     "PropertiesChanged", on_first_reply, &calls),
	                 0);
	node.done_bytes = 1;
	ck_assert_int_eq(bus_service_show_node(scene.service, &node), 0);
	scene.service = bus_service_free(scene.service);
	scene_until(&scene, calls.nr_good == 1);
}
END_TEST

struct heard {
	unsigned nr_signals;
	char path[64]; /* of the last one */
};

static int on_changed(sd_bus_message *signal, void *userdata, sd_bus_error *ret_error)
{
	struct heard *heard = userdata;

	(void) ret_error;
	heard->nr_signals++;
	(void) snprintf(heard->path, sizeof(heard->path), "%s", sd_bus_message_get_path(signal));
	return 0;
}

/* Node 0 changes before the objects are exported, node 1 after that and before the name is ours. */
START_TEST(test_what_changed_since_the_export_is_told_once_the_name_is_owned)
{
	struct node_view zero = sample_node(0), one = sample_node(1);
	struct heard heard = {};

	scene_connect_client(&scene);
	ck_assert_int_ge(sd_bus_match_signal(scene.client, NULL, NULL, NULL, NULL,
	                                     "PropertiesChanged", on_changed, &heard),
	                 0);
	scene_add_service(&scene, bus_fixture_address(&scene.fixture));
	ck_assert_int_eq(bus_service_show_node(scene.service, &zero), 0);
	ck_assert_int_eq(bus_service_show_node(scene.service, &one), 0);
	zero.done_bytes = 1;
	ck_assert_int_eq(bus_service_show_node(scene.service, &zero), 0);
	start();
	one.done_bytes = 1;
	ck_assert_int_eq(bus_service_show_node(scene.service, &one), 0);

	scene_until(&scene, heard.nr_signals > 0);
	ck_assert_str_eq(heard.path, NODEINIT_NODE_PREFIX "/1");
	ck_assert_uint_eq(heard.nr_signals, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bus-reconnect");
	TCase *tcase = tcase_create("connection and name");

	bus_fixture_require();
	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(
		tcase,
		test_a_hundred_of_a_hundred_first_calls_succeed_right_after_the_name_appears);
	tcase_add_test(tcase,
	               test_after_a_restart_of_the_bus_the_service_is_back_with_the_same_values);
	tcase_add_test(tcase, test_what_is_shown_while_the_bus_is_away_is_there_when_it_comes_back);
	tcase_add_test(tcase, test_a_bus_that_stays_away_is_reported_once);
	tcase_add_test(tcase, test_a_name_that_another_owns_is_left_to_it);
	tcase_add_test(tcase, test_a_bus_that_is_not_there_is_an_error_at_the_start);
	tcase_add_test(tcase,
	               test_an_address_that_names_no_bus_is_told_from_a_bus_that_is_not_there);
	tcase_add_test(tcase, test_a_service_that_is_freed_has_sent_the_last_value);
	tcase_add_test(tcase, test_what_changed_since_the_export_is_told_once_the_name_is_owned);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
