/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The four mistakes of glue between sd-bus and a loop: mutants.sh makes each, a test turns red. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/bus/loop.h"
#include "../../dbus/names.h"
#include "bus-fixture.h"
#include "suite.h"

#define NR_QUEUED 20
#define NR_MORE   16

struct counter {
	struct ev_loop *loop;
	unsigned nr_got;
	unsigned nr_wanted;
	int error;
};

static struct bus_fixture fixture;

static void setup(void)
{
	memset(&fixture, 0, sizeof(fixture));
	bus_fixture_start(&fixture);
}

static void teardown(void)
{
	bus_fixture_stop(&fixture);
}

static void on_unexpected_loss(int error, void *arg)
{
	(void) arg;
	ck_abort_msg("the connection was lost: %s", strerror(-error));
}

static void count(struct counter *counter)
{
	if (++counter->nr_got == counter->nr_wanted)
		ev_break(counter->loop, EVBREAK_ALL);
}

static int on_signal(sd_bus_message *message, void *userdata, sd_bus_error *ret_error)
{
	(void) message, (void) ret_error;
	count(userdata);
	return 0;
}

/* A blocking call: also what is queued before it has gone out and come in when it returns. */
static void call_bus(sd_bus *bus)
{
	ck_assert_int_ge(sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
	                                    "org.freedesktop.DBus", "GetId", NULL, NULL, ""),
	                 0);
}

static void watch_signals(sd_bus *bus, struct counter *counter)
{
	ck_assert_int_ge(sd_bus_match_signal(bus, NULL, NULL, "/test", "test.Test", "Signal",
	                                     on_signal, counter),
	                 0);
}

/*
 * The blocking call takes the signals off the socket and puts them into a queue. The descriptor is
 * silent from then on; only the deadline, which lies in the past, says that there is work.
 */
START_TEST(test_messages_already_taken_off_the_socket_are_delivered)
{
	struct counter counter = { .loop = ev_loop_new(EVFLAG_AUTO), .nr_wanted = NR_QUEUED };
	sd_bus *sender = bus_fixture_connect(&fixture);
	sd_bus *receiver = bus_fixture_connect(&fixture);
	struct bus_loop *bus_loop;

	watch_signals(receiver, &counter);
	for (unsigned i = 0; i < NR_QUEUED; i++)
		ck_assert_int_ge(sd_bus_emit_signal(sender, "/test", "test.Test", "Signal", "u", i),
		                 0);
	call_bus(sender);
	call_bus(receiver);

	ck_assert_int_eq(bus_loop_new(counter.loop, receiver, on_unexpected_loss, NULL, &bus_loop),
	                 0);
	ev_run(counter.loop, 0);
	ck_assert_uint_eq(counter.nr_got, NR_QUEUED);

	bus_loop_free(bus_loop);
	sd_bus_unref(receiver);
	sd_bus_flush_close_unref(sender);
	ev_loop_destroy(counter.loop);
}
END_TEST

/*
 * The bus stands still meanwhile, so the socket does fill up, however fast the machine is. Return:
 * how many signals there are, of which the last ones are still with the sender.
 */
static unsigned emit_more_than_the_socket_takes(sd_bus *sender)
{
	static char large[64 * 1024];
	uint64_t nr_unsent = 0;
	unsigned nr_signals;

	memset(large, 'x', sizeof(large) - 1);
	call_bus(sender);
	while (sd_bus_process(sender, NULL) > 0) {
	}
	ck_assert_int_eq(kill(fixture.pid, SIGSTOP), 0);
	for (nr_signals = 0; nr_unsent < NR_MORE; nr_signals++) {
		ck_assert_int_ge(
			sd_bus_emit_signal(sender, "/test", "test.Test", "Signal", "s", large), 0);
		ck_assert_int_ge(sd_bus_get_n_queued_write(sender, &nr_unsent), 0);
	}
	ck_assert_int_eq(kill(fixture.pid, SIGCONT), 0);
	return nr_signals;
}

START_TEST(test_what_a_full_socket_did_not_take_is_sent_when_it_drains)
{
	struct counter counter = { .loop = ev_loop_new(EVFLAG_AUTO) };
	sd_bus *sender = bus_fixture_connect(&fixture);
	sd_bus *receiver = bus_fixture_connect(&fixture);
	struct bus_loop *from, *to;

	watch_signals(receiver, &counter);
	counter.nr_wanted = emit_more_than_the_socket_takes(sender);
	ck_assert_int_eq(bus_loop_new(counter.loop, sender, on_unexpected_loss, NULL, &from), 0);
	ck_assert_int_eq(bus_loop_new(counter.loop, receiver, on_unexpected_loss, NULL, &to), 0);

	ev_run(counter.loop, 0);
	ck_assert_uint_eq(counter.nr_got, counter.nr_wanted);

	bus_loop_free(to);
	bus_loop_free(from);
	sd_bus_unref(receiver);
	sd_bus_unref(sender);
	ev_loop_destroy(counter.loop);
}
END_TEST

static int on_time_out(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	(void) ret_error;
	ck_assert(sd_bus_message_is_method_error(reply, SD_BUS_ERROR_NO_REPLY));
	count(userdata);
	return 1;
}

/* Read as a duration, the deadline would be the machine's uptime from now. */
START_TEST(test_a_call_that_nobody_answers_ends_at_its_deadline)
{
	struct counter counter = { .loop = ev_loop_new(EVFLAG_AUTO), .nr_wanted = 1 };
	sd_bus *mute = bus_fixture_connect(&fixture);
	sd_bus *caller = bus_fixture_connect(&fixture);
	sd_bus_message *call = NULL;
	struct bus_loop *bus_loop;
	const char *peer;

	ck_assert_int_ge(sd_bus_get_unique_name(mute, &peer), 0); /* connected, never served */
	call_bus(caller);
	ck_assert_int_eq(bus_loop_new(counter.loop, caller, on_unexpected_loss, NULL, &bus_loop),
	                 0);
	/* Peer-to-peer calls are denied by the policy, except to the name of the service. */
	ck_assert_int_ge(sd_bus_request_name(mute, NODEINIT_BUS_NAME, 0), 0);
	ck_assert_int_ge(sd_bus_message_new_method_call(caller, &call, peer, "/test",
	                                                "org.nodeinit1.Manager", "Reload"),
	                 0);
	ck_assert_int_ge(sd_bus_call_async(caller, NULL, call, on_time_out, &counter, 100 * 1000),
	                 0);

	ev_run(counter.loop, 0);
	ck_assert_uint_eq(counter.nr_got, 1);

	sd_bus_message_unref(call);
	bus_loop_free(bus_loop);
	sd_bus_unref(caller);
	sd_bus_close_unref(mute);
	ev_loop_destroy(counter.loop);
}
END_TEST

static void on_loss(int error, void *arg)
{
	struct counter *counter = arg;

	counter->error = error;
	counter->nr_got++;
}

START_TEST(test_a_bus_that_dies_is_reported_once_and_leaves_nothing_on_the_loop)
{
	struct counter counter = { .loop = ev_loop_new(EVFLAG_AUTO) };
	sd_bus *bus = bus_fixture_connect(&fixture);
	struct bus_loop *bus_loop;

	call_bus(bus);
	ck_assert_int_eq(bus_loop_new(counter.loop, bus, on_loss, &counter, &bus_loop), 0);
	bus_fixture_kill(&fixture);

	ev_run(counter.loop, 0); /* returns because no watcher is left */
	ck_assert_uint_eq(counter.nr_got, 1);
	ck_assert_int_lt(counter.error, 0);

	bus_loop_free(bus_loop);
	sd_bus_unref(bus);
	ev_loop_destroy(counter.loop);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bus-loop");
	TCase *tcase = tcase_create("private bus");

	bus_fixture_require();
	tcase_set_timeout(tcase, 2);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_messages_already_taken_off_the_socket_are_delivered);
	tcase_add_test(tcase, test_what_a_full_socket_did_not_take_is_sent_when_it_drains);
	tcase_add_test(tcase, test_a_call_that_nobody_answers_ends_at_its_deadline);
	tcase_add_test(tcase, test_a_bus_that_dies_is_reported_once_and_leaves_nothing_on_the_loop);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
