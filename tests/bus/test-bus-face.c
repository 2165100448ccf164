/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What clients see: values, signals, lists, errors. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/bus/error.h"
#include "scene.h"

#define NODE_PATH    NODEINIT_NODE_PREFIX "/0"
#define POOL_PATH    NODEINIT_POOL_PREFIX "/guests"
#define PROPERTIES   "org.freedesktop.DBus.Properties"
#define SIGNALS_MAX  64
#define INVALID_ARGS "org.freedesktop.DBus.Error.InvalidArgs"

/* Every signal that came, in order. */
struct record {
	sd_bus_message *signals[SIGNALS_MAX];
	unsigned nr_signals;
};

static struct scene scene;
static struct record record;

static void setup(void)
{
	memset(&record, 0, sizeof(record));
	scene_begin(&scene);
}

static void teardown(void)
{
	for (unsigned i = 0; i < record.nr_signals; i++)
		sd_bus_message_unref(record.signals[i]);
	scene_end(&scene);
}

static int on_signal(sd_bus_message *signal, void *userdata, sd_bus_error *ret_error)
{
	struct record *into = userdata;

	(void) ret_error;
	ck_assert_uint_lt(into->nr_signals, SIGNALS_MAX);
	into->signals[into->nr_signals++] = sd_bus_message_ref(signal);
	return 0;
}

/* The reply to AddMatch precedes whatever comes after the round trip. */
static void watch(const char *interface, const char *member)
{
	ck_assert_int_ge(sd_bus_match_signal_async(scene.client, NULL, NODEINIT_BUS_NAME, NULL,
	                                           interface, member, on_signal, NULL, &record),
	                 0);
	sd_bus_message_unref(
		scene_call(&scene, NODEINIT_PATH, "org.freedesktop.DBus.Peer", "Ping", ""));
}

static void show_node(const struct node_view *view)
{
	ck_assert_int_eq(bus_service_show_node(scene.service, view), 0);
}

static void show_pool(const struct pool_view *view)
{
	ck_assert_int_eq(bus_service_show_pool(scene.service, view), 0);
}

START_TEST(test_every_property_of_the_manager_is_what_was_shown)
{
	struct manager_view view = sample_manager();

	view.is_ready = true;
	ck_assert_int_eq(bus_service_show_manager(scene.service, &view), 0);
	scene_assert_property(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "State",
	                      "v(s\"deferred\" )");
	scene_assert_property(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Ready", "v(b1 )");
	scene_assert_property(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Paused",
	                      "v(b0 )");
	scene_assert_property(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "BytesTotal",
	                      "v(t1000 )");
	scene_assert_property(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "StartedRealtime",
	                      "v(t6 )");
}
END_TEST

START_TEST(test_the_shares_of_a_pool_are_shown_with_their_reasons)
{
	struct pool_view view = sample_pool("guests");

	show_pool(&view);
	scene_assert_property(&scene, POOL_PATH, NODEINIT_POOL_INTERFACE, "Shares",
	                      "v(a(r(u0 s\"deferred\" t500 t100 t50 t0 s\"\" )"
	                      "r(u1 s\"degraded\" t500 t100 t400 t100 s\"fragmented\" )))");
}
END_TEST

START_TEST(test_what_one_lease_of_a_pool_gets_is_shown_and_its_change_told)
{
	struct pool_view view = sample_pool("guests");

	show_pool(&view);
	scene_assert_property(&scene, POOL_PATH, NODEINIT_POOL_INTERFACE, "RegionSize",
	                      "v(t8192 )");
	view.region_bytes = 0;
	show_pool(&view);
	scene_assert_property(&scene, POOL_PATH, NODEINIT_POOL_INTERFACE, "RegionSize", "v(t0 )");
}
END_TEST

START_TEST(test_a_cpuless_node_names_its_helper_and_others_say_minus_one)
{
	struct node_view view = sample_node(0);

	show_node(&view);
	scene_assert_property(&scene, NODE_PATH, NODEINIT_NODE_INTERFACE, "HelperNode", "v(i-1 )");
	view.helper_node_id = 3;
	show_node(&view);
	scene_assert_property(&scene, NODE_PATH, NODEINIT_NODE_INTERFACE, "HelperNode", "v(i3 )");
}
END_TEST

/* Each (name, value) of the signal against a Get. Return: how many there were. */
static unsigned assert_signal_equals_get(sd_bus_message *signal)
{
	unsigned nr_properties = 0;
	const char *interface, *name;

	ck_assert_int_gt(sd_bus_message_read(signal, "s", &interface), 0);
	ck_assert_int_gt(sd_bus_message_enter_container(signal, 'a', "{sv}"), 0);
	while (sd_bus_message_enter_container(signal, 'e', "sv") > 0) {
		scoped(freep) char *sent = NULL;

		ck_assert_int_gt(sd_bus_message_read(signal, "s", &name), 0);
		sent = scene_render(signal);
		scene_assert_property(&scene, sd_bus_message_get_path(signal), interface, name,
		                      sent);
		ck_assert_int_ge(sd_bus_message_exit_container(signal), 0);
		nr_properties++;
	}
	return nr_properties;
}

START_TEST(test_one_signal_tells_every_change_with_the_value_that_get_gives)
{
	struct node_view node = sample_node(0);
	struct pool_view pool = sample_pool("guests");
	struct manager_view manager = { .version = NODEINIT_VERSION, .state = "waiting" };
	struct share_view share = { 0, "ready", 9, 8, 7, 6, "raced" };

	show_node(&node);
	show_pool(&pool);
	watch(PROPERTIES, "PropertiesChanged");

	show_node(
		&(struct node_view){ 0, "7", 1, 2, 3, 4, 5, 6, 7, 8, 9, true, "ready", "x", 1, 2 });
	show_pool(&(struct pool_view){ "guests", "hugetlb", 1, 7, false, "ready", 2, 3, 4, 5, 6,
	                               &share, 1 });
	manager = (struct manager_view){
		"ignored: constant", "ready", true, true, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
	};
	ck_assert_int_eq(bus_service_show_manager(scene.service, &manager), 0);
	scene_until(&scene, record.nr_signals == 3);

	ck_assert_uint_eq(assert_signal_equals_get(record.signals[0]), 15);
	ck_assert_uint_eq(assert_signal_equals_get(record.signals[1]), 11);
	ck_assert_uint_eq(assert_signal_equals_get(record.signals[2]), 13);
	ck_assert_uint_eq(record.nr_signals, 3);
}
END_TEST

START_TEST(test_nothing_is_sent_when_nothing_changed)
{
	struct node_view a = sample_node(0), b = sample_node(1);

	show_node(&a);
	show_node(&b);
	watch(PROPERTIES, "PropertiesChanged");

	show_node(&a);
	b.done_bytes++;
	show_node(&b);
	scene_until(&scene, record.nr_signals == 1);
	ck_assert_str_eq(sd_bus_message_get_path(record.signals[0]), NODEINIT_NODE_PREFIX "/1");
	ck_assert_uint_eq(assert_signal_equals_get(record.signals[0]), 1);
}
END_TEST

/* The reader that saw it early would wait for ever: to it, "early" is the last word. */
START_TEST(test_a_state_that_was_read_before_its_signal_and_changed_back_is_told_again)
{
	struct node_view node = sample_node(0);

	node.state = "ready";
	show_node(&node);
	watch(PROPERTIES, "PropertiesChanged");
	for (unsigned i = 1; i <= 4; i++) {
		node.state = i % 2 ? "early" : "ready";
		show_node(&node);
		scene_until(&scene, record.nr_signals == i);
	}

	/* That were as many as a second may have: these two happen within one wait. */
	node.state = "early";
	show_node(&node);
	scene_assert_property(&scene, NODE_PATH, NODEINIT_NODE_INTERFACE, "State",
	                      "v(s\"early\" )");
	node.state = "ready";
	show_node(&node);
	scene_until(&scene, record.nr_signals == 5);
	ck_assert_uint_eq(assert_signal_equals_get(record.signals[4]), 1);
}
END_TEST

/* Both objects have just sent; the one whose state changes need not wait for the interval. */
START_TEST(test_a_state_goes_out_before_an_amount_that_changed_earlier)
{
	struct node_view amount = sample_node(0), state = sample_node(1);

	show_node(&amount);
	show_node(&state);
	watch(PROPERTIES, "PropertiesChanged");
	amount.done_bytes = state.done_bytes = 1;
	show_node(&amount);
	show_node(&state);
	scene_until(&scene, record.nr_signals == 2);

	amount.done_bytes = 2;
	show_node(&amount);
	state.state = "ready";
	show_node(&state);
	scene_until(&scene, record.nr_signals == 4);
	ck_assert_str_eq(sd_bus_message_get_path(record.signals[2]), NODEINIT_NODE_PREFIX "/1");
	ck_assert_str_eq(sd_bus_message_get_path(record.signals[3]), NODEINIT_NODE_PREFIX "/0");
}
END_TEST

struct feed {
	struct node_view node;
	ev_timer timer;
	unsigned nr_left;
	ev_tstamp arrivals[SIGNALS_MAX];
	uint64_t values[SIGNALS_MAX];
	unsigned nr_arrivals;
};

/* A run: bytes every 10 ms, a change of state now and then. */
static void on_feed(struct ev_loop *loop, ev_timer *watcher, int revents)
{
	static const char *const states[] = { "waiting", "early", "deferred" };
	struct feed *feed = watcher->data;

	(void) revents;
	feed->node.done_bytes += 1000;
	feed->node.state = states[feed->nr_left / 7 % 3];
	if (--feed->nr_left == 0) {
		feed->node.state = "ready";
		ev_timer_stop(loop, watcher);
	}
	show_node(&feed->node);
}

static int on_fed(sd_bus_message *signal, void *userdata, sd_bus_error *ret_error)
{
	struct feed *feed = userdata;
	const char *name;

	(void) ret_error;
	ck_assert_uint_lt(feed->nr_arrivals, SIGNALS_MAX);
	ck_assert_int_ge(sd_bus_message_skip(signal, "s"), 0);
	ck_assert_int_gt(sd_bus_message_enter_container(signal, 'a', "{sv}"), 0);
	while (sd_bus_message_enter_container(signal, 'e', "sv") > 0) {
		ck_assert_int_gt(sd_bus_message_read(signal, "s", &name), 0);
		if (strcmp(name, "BytesDone") == 0)
			ck_assert_int_gt(sd_bus_message_read(signal, "v", "t",
			                                     &feed->values[feed->nr_arrivals]),
			                 0);
		else
			ck_assert_int_gt(sd_bus_message_skip(signal, "v"), 0);
		ck_assert_int_ge(sd_bus_message_exit_container(signal), 0);
	}
	feed->arrivals[feed->nr_arrivals++] = ev_time();
	return 0;
}

START_TEST(test_a_run_shows_at_most_four_signals_a_second_none_backwards_the_last_final)
{
	struct feed feed = { .node = sample_node(0), .nr_left = 250 };
	unsigned nr_allowed;

	show_node(&feed.node);
	ck_assert_int_ge(sd_bus_match_signal_async(scene.client, NULL, NODEINIT_BUS_NAME, NODE_PATH,
	                                           PROPERTIES, "PropertiesChanged", on_fed, NULL,
	                                           &feed),
	                 0);
	sd_bus_message_unref(
		scene_call(&scene, NODEINIT_PATH, "org.freedesktop.DBus.Peer", "Ping", ""));
	ev_timer_init(&feed.timer, on_feed, 0., 0.01);
	feed.timer.data = &feed;
	ev_timer_start(scene.loop, &feed.timer);
	scene_until(&scene, feed.nr_arrivals && feed.values[feed.nr_arrivals - 1] == 250000);

	nr_allowed = 4 * (1 + (unsigned) (feed.arrivals[feed.nr_arrivals - 1] - feed.arrivals[0]));
	ck_assert_uint_ge(feed.nr_arrivals, 5);
	ck_assert_uint_le(feed.nr_arrivals, nr_allowed);
	for (unsigned i = 1; i < feed.nr_arrivals; i++)
		ck_assert_uint_gt(feed.values[i], feed.values[i - 1]);
	scene_assert_property(&scene, NODE_PATH, NODEINIT_NODE_INTERFACE, "State",
	                      "v(s\"ready\" )");
}
END_TEST

START_TEST(test_an_idle_service_does_not_wake_the_loop)
{
	struct node_view node = sample_node(0);
	ev_timer end;
	unsigned nr_turns = 0;

	show_node(&node);
	watch(PROPERTIES, "PropertiesChanged");
	node.done_bytes = 1;
	show_node(&node);
	scene_until(&scene, record.nr_signals == 1);
	while (ev_run(scene.loop, EVRUN_NOWAIT), sd_bus_process(scene.client, NULL) > 0) {
	}

	ev_timer_stop(scene.loop, &scene.limit);
	ev_timer_init(&end, NULL, 0.8, 0.);
	ev_set_cb(&end, on_feed);
	end.data = &(struct feed){ .node = node, .nr_left = 2 };
	ev_now_update(scene.loop);
	ev_timer_start(scene.loop, &end);
	while (ev_is_active(&end)) {
		(void) ev_run(scene.loop, EVRUN_ONCE);
		nr_turns++;
	}
	ck_assert_uint_le(nr_turns, 2);
}
END_TEST

START_TEST(test_objects_come_and_go_with_signals_and_in_the_object_manager)
{
	struct node_view node = sample_node(0);
	struct pool_view pool = sample_pool("guests"), odd = sample_pool("a-b.c");
	scoped(sd_bus_message_unrefp) sd_bus_message *before = NULL, *after = NULL;
	scoped(freep) char *all = NULL, *left = NULL;

	watch("org.freedesktop.DBus.ObjectManager", NULL);
	show_node(&node);
	show_pool(&pool);
	show_pool(&odd);
	before = scene_call(&scene, NODEINIT_PATH, "org.freedesktop.DBus.ObjectManager",
	                    "GetManagedObjects", "");
	all = scene_render(before);
	ck_assert_ptr_nonnull(strstr(all, "o\"" NODE_PATH "\""));
	ck_assert_ptr_nonnull(strstr(all, "o\"" POOL_PATH "\""));
	ck_assert_ptr_nonnull(strstr(all, "o\"" NODEINIT_POOL_PREFIX "/a_2db_2ec\""));

	bus_service_hide_pool(scene.service, "guests");
	bus_service_hide_node(scene.service, 0);
	after = scene_call(&scene, NODEINIT_PATH, "org.freedesktop.DBus.ObjectManager",
	                   "GetManagedObjects", "");
	left = scene_render(after);
	ck_assert_ptr_null(strstr(left, "o\"" NODE_PATH "\""));
	ck_assert_ptr_null(strstr(left, "o\"" POOL_PATH "\""));

	ck_assert_uint_eq(record.nr_signals, 5);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_str_eq(sd_bus_message_get_member(record.signals[i]),
		                 i < 3 ? "InterfacesAdded" : "InterfacesRemoved");
}
END_TEST

START_TEST(test_lists_are_in_order_and_get_finds_what_they_name)
{
	struct node_view nodes[] = { sample_node(255), sample_node(0), sample_node(8) };
	struct pool_view pools[] = { sample_pool("b"), sample_pool("a") };
	scoped(sd_bus_message_unrefp) sd_bus_message *list = NULL, *names = NULL, *node = NULL,
						     *pool = NULL;
	scoped(freep) char *list_text = NULL, *names_text = NULL, *node_text = NULL,
			   *pool_text = NULL;

	for (unsigned i = 0; i < 3; i++)
		show_node(&nodes[i]);
	for (unsigned i = 0; i < 2; i++)
		show_pool(&pools[i]);
	list = scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ListNodes", "a{sv}",
	                  0);
	list_text = scene_render(list);
	ck_assert_str_eq(list_text, "a(r(u0 o\"/org/nodeinit1/node/0\" )"
	                            "r(u8 o\"/org/nodeinit1/node/8\" )"
	                            "r(u255 o\"/org/nodeinit1/node/255\" ))");
	names = scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ListPools", "a{sv}",
	                   0);
	names_text = scene_render(names);
	ck_assert_str_eq(names_text, "a(r(s\"a\" o\"/org/nodeinit1/pool/a\" )"
	                             "r(s\"b\" o\"/org/nodeinit1/pool/b\" ))");
	node = scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "GetNode", "ua{sv}", 8,
	                  0);
	node_text = scene_render(node);
	ck_assert_str_eq(node_text, "o\"/org/nodeinit1/node/8\" ");
	pool = scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "GetPool", "sa{sv}",
	                  "b", 0);
	pool_text = scene_render(pool);
	ck_assert_str_eq(pool_text, "o\"/org/nodeinit1/pool/b\" ");
}
END_TEST

START_TEST(test_what_does_not_exist_is_named_in_the_error)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *node = NULL, *pool = NULL;

	node = scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "GetNode", "ua{sv}",
	                  77, 0);
	assert_error(node, NODEINIT_ERROR_NO_SUCH_NODE, "node 77");
	pool = scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "GetPool", "sa{sv}",
	                  "gone", 0);
	assert_error(pool, NODEINIT_ERROR_NO_SUCH_POOL, "\"gone\"");
}
END_TEST

START_TEST(test_the_timeline_has_an_entry_for_each_share_and_stage)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	scoped(freep) char *text = NULL;

	reply = scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "GetTimeline",
	                   "a{sv}", 0);
	text = scene_render(reply);
	ck_assert_str_eq(text, "a(r(u3 s\"guests\" s\"early\" s\"settled\" t10 t20 t30 "
	                       "a(e(s\"threads\" v(u4 ))e(s\"cpu_usec\" v(t50 ))e(s\"attempts\" "
	                       "v(u6 ))e(s\"by_other\" v(u3 ))))"
	                       "r(u4 s\"guests\" s\"deferred\" s\"waiting\" t0 t0 t0 "
	                       "a(e(s\"threads\" v(u0 ))e(s\"cpu_usec\" v(t0 ))e(s\"attempts\" "
	                       "v(u0 ))e(s\"by_other\" v(u0 )))))");
}
END_TEST

static void assert_option_refused(sd_bus_message *reply, const char *member)
{
	assert_error(reply, INVALID_ARGS, "\"frobnicate\"");
	assert_error(reply, INVALID_ARGS, member);
	sd_bus_message_unref(reply);
}

START_TEST(test_every_method_refuses_an_unknown_option_by_name)
{
	static const char *const members[] = { "ListNodes", "ListPools", "GetTimeline",
		                               "Reload",    "Pause",     "Resume" };
	struct pool_view view = sample_pool("guests");

	show_pool(&view);
	for (unsigned i = 0; i < ELEMENTS(members); i++)
		assert_option_refused(scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE,
		                                 members[i], "a{sv}", 1, "frobnicate", "b", 1),
		                      members[i]);
	assert_option_refused(scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE,
	                                 "GetNode", "ua{sv}", 0, 1, "frobnicate", "b", 1),
	                      "GetNode");
	assert_option_refused(scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE,
	                                 "GetPool", "sa{sv}", "guests", 1, "frobnicate", "b", 1),
	                      "GetPool");
	assert_option_refused(scene_call(&scene, POOL_PATH, NODEINIT_POOL_INTERFACE, "Retry",
	                                 "a{sv}", 1, "frobnicate", "b", 1),
	                      "Retry");
	ck_assert_uint_eq(scene.nr_reloads + scene.nr_pauses + scene.nr_resumes + scene.nr_retries,
	                  0);
}
END_TEST

/*
 * Sentences quote at most 64 bytes of what the client wrote. Half a character is no text, and a bus
 * closes the connection of whoever sends it: anybody could have the daemon thrown off.
 */
START_TEST(test_a_quotation_that_ends_within_a_character_is_mended)
{
	static const char name[] = "123456789-123456789-123456789-123456789-123456789-123456789-123"
				   "\xc3\xa9 and more";
	scoped(sd_bus_message_unrefp) sd_bus_message *option = NULL, *pool = NULL;

	option = scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ListNodes", "a{sv}",
	                    1, name, "b", 1);
	assert_error(option, INVALID_ARGS, "-123?\"");
	pool = scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "GetPool", "sa{sv}",
	                  name, 0);
	assert_error(pool, NODEINIT_ERROR_NO_SUCH_POOL, "-123?\"");
	ck_assert_uint_eq(scene.nr_lost, 0);
}
END_TEST

/* What is whole stays: a character of each length, and next to them what only looks like one. */
START_TEST(test_text_that_is_utf_8_passes_unchanged_and_nothing_else_does)
{
	static const struct {
		const char *given, *sent;
	} texts[] = {
		{ "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z",
		  "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z" },
		{ "\xc0\xaf|\xc1\x81|\xe0\x80\xaf|\xf0\x80\x80\xaf",
		  "??|??|???|????" },                                          /* overlong */
		{ "\xed\xa0\x80|\xf4\x90\x80\x80|\xf8|\xff", "???|????|?|?" }, /* no character */
		{ "\x80|\xc3|\xe2\x82", "?|?|??" },                            /* cut off */
		{ "\xee\x80\x80\xf4\x8f\xbf\xbf",
		  "\xee\x80\x80\xf4\x8f\xbf\xbf" }, /* the borders */
	};

	for (size_t i = 0; i < ELEMENTS(texts); i++) {
		scoped(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

		ck_assert_int_lt(bus_error_set(&error, -EINVAL, texts[i].given), 0);
		ck_assert_str_eq(error.message, texts[i].sent);
	}
}
END_TEST

static void call_plain(const char *path, const char *interface, const char *member)
{
	sd_bus_message *reply = scene_call(&scene, path, interface, member, "a{sv}", 0);

	ck_assert(!sd_bus_message_is_method_error(reply, NULL));
	sd_bus_message_unref(reply);
}

START_TEST(test_the_owner_of_the_daemon_may_reload_pause_resume_and_retry)
{
	struct pool_view view = sample_pool("a-b");

	show_pool(&view);
	call_plain(NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Reload");
	call_plain(NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Pause");
	call_plain(NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Resume");
	call_plain(NODEINIT_POOL_PREFIX "/a_2db", NODEINIT_POOL_INTERFACE, "Retry");
	ck_assert_uint_eq(scene.nr_reloads, 1);
	ck_assert_uint_eq(scene.nr_pauses, 1);
	ck_assert_uint_eq(scene.nr_resumes, 1);
	ck_assert_uint_eq(scene.nr_retries, 1);
	ck_assert_str_eq(scene.retried_pool, "a-b");
}
END_TEST

START_TEST(test_an_operation_that_fails_gives_its_own_name_and_sentence)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reload = NULL, *retry = NULL;
	struct pool_view view = sample_pool("guests");

	show_pool(&view);
	scene.result = -EBADMSG;
	scene.sentence = "x.pool:3: Size=banana";
	reload =
		scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Reload", "a{sv}", 0);
	assert_error(reload, NODEINIT_ERROR_CONFIG_INVALID, "x.pool:3: Size=banana");
	scene.result = -EALREADY;
	scene.sentence = NULL;
	retry = scene_call(&scene, POOL_PATH, NODEINIT_POOL_INTERFACE, "Retry", "a{sv}", 0);
	assert_error(retry, "System.Error.EALREADY", "\"guests\"");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bus-face");
	TCase *tcase = tcase_create("one client");

	bus_fixture_require();
	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_every_property_of_the_manager_is_what_was_shown);
	tcase_add_test(tcase, test_the_shares_of_a_pool_are_shown_with_their_reasons);
	tcase_add_test(tcase, test_what_one_lease_of_a_pool_gets_is_shown_and_its_change_told);
	tcase_add_test(tcase, test_a_cpuless_node_names_its_helper_and_others_say_minus_one);
	tcase_add_test(tcase, test_one_signal_tells_every_change_with_the_value_that_get_gives);
	tcase_add_test(tcase, test_nothing_is_sent_when_nothing_changed);
	tcase_add_test(tcase,
	               test_a_state_that_was_read_before_its_signal_and_changed_back_is_told_again);
	tcase_add_test(tcase, test_a_state_goes_out_before_an_amount_that_changed_earlier);
	tcase_add_test(
		tcase,
		test_a_run_shows_at_most_four_signals_a_second_none_backwards_the_last_final);
	tcase_add_test(tcase, test_an_idle_service_does_not_wake_the_loop);
	tcase_add_test(tcase, test_objects_come_and_go_with_signals_and_in_the_object_manager);
	tcase_add_test(tcase, test_lists_are_in_order_and_get_finds_what_they_name);
	tcase_add_test(tcase, test_what_does_not_exist_is_named_in_the_error);
	tcase_add_test(tcase, test_the_timeline_has_an_entry_for_each_share_and_stage);
	tcase_add_test(tcase, test_every_method_refuses_an_unknown_option_by_name);
	tcase_add_test(tcase, test_a_quotation_that_ends_within_a_character_is_mended);
	tcase_add_test(tcase, test_text_that_is_utf_8_passes_unchanged_and_nothing_else_does);
	tcase_add_test(tcase, test_the_owner_of_the_daemon_may_reload_pause_resume_and_retry);
	tcase_add_test(tcase, test_an_operation_that_fails_gives_its_own_name_and_sentence);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
