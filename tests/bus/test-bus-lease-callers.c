/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who calls, on a bus that says less than today's, or something strange. The test itself is that
 * bus: it lets the service in, and sends it a call of Lease as if a client had.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "scene.h"

#define POOL_PATH     NODEINIT_POOL_PREFIX "/guests"
#define CLIENT        ":1.77"
#define ACCESS_DENIED SD_BUS_ERROR_ACCESS_DENIED

static struct scene scene;

static struct {
	char directory[64];
	int listener;
	sd_bus *bus; /* our end of the service's connection */
	struct bus_loop *loop;
	int (*append_credentials)(sd_bus_message *reply); /* NULL: an error */
	unsigned nr_other_questions;                      /* that could tell who calls */
} played;

static int nothing(sd_bus_message *reply)
{
	(void) reply;
	return 0;
}

static int append_uid(sd_bus_message *reply, uint32_t uid)
{
	return sd_bus_message_append(reply, "{sv}", "UnixUserID", "u", uid);
}

static int uid_and_pid(sd_bus_message *reply)
{
	int r = append_uid(reply, 1000);

	return r < 0 ? r : sd_bus_message_append(reply, "{sv}", "ProcessID", "u", 77);
}

static int uid_among_others(sd_bus_message *reply)
{
	static const char label[] = "a label";
	static const uint32_t gids[] = { 3, 4, 5 };
	int r;

	r = sd_bus_message_append(reply, "{sv}", "LinuxSecurityLabel", "s", label);
	if (r >= 0)
		r = sd_bus_message_append(reply, "{sv}", "UnixGroupIDs", "au", 3, gids[0], gids[1],
		                          gids[2]);
	if (r >= 0)
		r = append_uid(reply, 1000);
	return r < 0 ? r : sd_bus_message_append(reply, "{sv}", "Unheard", "(ss)", "of", "it");
}

static int no_uid(sd_bus_message *reply)
{
	return sd_bus_message_append(reply, "{sv}", "ProcessID", "u", 77);
}

static int uid_of_nobody_at_all(sd_bus_message *reply)
{
	return append_uid(reply, UINT32_MAX);
}

static int uid_of_another_type(sd_bus_message *reply)
{
	return sd_bus_message_append(reply, "{sv}", "UnixUserID", "s", "0");
}

static int groups_of_another_type(sd_bus_message *reply)
{
	int r = append_uid(reply, 0);

	return r < 0 ? r : sd_bus_message_append(reply, "{sv}", "UnixGroupIDs", "as", 1, "0");
}

static void reply_credentials(sd_bus_message *call)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

	if (!played.append_credentials) {
		ck_assert_int_ge(sd_bus_reply_method_errorf(call, SD_BUS_ERROR_NAME_HAS_NO_OWNER,
		                                            "It is gone."),
		                 0);
		return;
	}
	ck_assert_int_ge(sd_bus_message_new_method_return(call, &reply), 0);
	ck_assert_int_ge(sd_bus_message_open_container(reply, 'a', "{sv}"), 0);
	ck_assert_int_ge(played.append_credentials(reply), 0);
	ck_assert_int_ge(sd_bus_message_close_container(reply), 0);
	ck_assert_int_ge(sd_bus_send(NULL, reply, NULL), 0);
}

/* Everything that the service wants from the bus. */
static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *ret_error)
{
	const char *member = sd_bus_message_get_member(message);

	(void) userdata, (void) ret_error;

	if (!sd_bus_message_is_method_call(message, "org.freedesktop.DBus", NULL))
		return 0;
	if (strcmp(member, "Hello") == 0)
		return sd_bus_reply_method_return(message, "s", ":1.1");
	if (strcmp(member, "RequestName") == 0)
		return sd_bus_reply_method_return(message, "u", 1);
	if (strcmp(member, "ReleaseName") == 0)
		return sd_bus_reply_method_return(message, "u", 1);
	if (strcmp(member, "GetConnectionCredentials") == 0)
		reply_credentials(message);
	else if (strncmp(member, "GetConnection", strlen("GetConnection")) == 0)
		played.nr_other_questions++;
	else
		(void) sd_bus_reply_method_return(message, "");
	return 1;
}

static void on_lost(int error, void *arg)
{
	(void) error, (void) arg;
}

static void begin_bus(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char text[PATH_MAX];
	sd_id128_t id;
	int fd;

	(void) snprintf(played.directory, sizeof(played.directory), "/tmp/nodeinit-bus.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(played.directory));
	(void) snprintf(address.sun_path, sizeof(address.sun_path), "%s/bus", played.directory);
	played.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(played.listener, (struct sockaddr *) &address, sizeof(address)), 0);
	ck_assert_int_eq(listen(played.listener, 1), 0);

	(void) snprintf(text, sizeof(text), "unix:path=%s", address.sun_path);
	scene_add_service(&scene, text);
	ck_assert_int_eq(bus_service_start(scene.service), 0);
	fd = accept4(played.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	ck_assert_int_ge(fd, 0);

	ck_assert_int_ge(sd_id128_randomize(&id), 0);
	ck_assert_int_ge(sd_bus_new(&played.bus), 0);
	ck_assert_int_ge(sd_bus_set_fd(played.bus, fd, fd), 0);
	ck_assert_int_ge(sd_bus_set_server(played.bus, 1, id), 0);
	ck_assert_int_ge(sd_bus_negotiate_fds(played.bus, 1), 0);
	ck_assert_int_ge(sd_bus_start(played.bus), 0);
	ck_assert_int_ge(sd_bus_add_filter(played.bus, NULL, on_message, NULL), 0);
	ck_assert_int_eq(bus_loop_new(scene.loop, played.bus, on_lost, NULL, &played.loop), 0);
}

static void setup(void)
{
	struct pool_view view = sample_pool("guests");

	memset(&played, 0, sizeof(played));
	scene_begin_without_service(&scene);
	begin_bus();
	ck_assert_int_eq(bus_service_show_pool(scene.service, &view), 0);
	scene_until(&scene, scene.nr_owned == 1);
}

static void teardown(void)
{
	char path[PATH_MAX];

	scene.service = bus_service_free(scene.service);
	played.loop = bus_loop_free(played.loop);
	played.bus = sd_bus_unref(played.bus);
	(void) close(played.listener);
	(void) snprintf(path, sizeof(path), "%s/bus", played.directory);
	(void) unlink(path);
	(void) rmdir(played.directory);
	scene_end(&scene);
}

static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	(void) ret_error;
	*(sd_bus_message **) userdata = sd_bus_message_ref(reply);
	return 1;
}

/* @sender NULL: the bus does not say it. The caller owns the reply. */
static sd_bus_message *lease_as(const char *sender)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *call = NULL;
	sd_bus_message *reply = NULL;

	ck_assert_int_ge(sd_bus_message_new_method_call(played.bus, &call, NODEINIT_BUS_NAME,
	                                                POOL_PATH, NODEINIT_POOL_INTERFACE,
	                                                "Lease"),
	                 0);
	ck_assert_int_ge(sd_bus_message_append(call, "ta{sv}", UINT64_C(0), 0), 0);
	if (sender)
		ck_assert_int_ge(sd_bus_message_set_sender(call, sender), 0);
	ck_assert_int_ge(sd_bus_call_async(played.bus, NULL, call, on_reply, &reply, 0), 0);
	scene_until(&scene, reply);
	return reply;
}

START_TEST(test_a_bus_that_says_no_groups_leaves_the_caller_without_any)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

	played.append_credentials = uid_and_pid;
	reply = lease_as(CLIENT);
	ck_assert(!sd_bus_message_is_method_error(reply, NULL));
	ck_assert_str_eq(sd_bus_message_get_destination(reply), CLIENT);
	ck_assert_uint_eq(scene.leases.request.uid, 1000);
	ck_assert_int_eq(scene.leases.request.pid, 77);
	ck_assert_uint_eq(scene.leases.request.nr_gids, 0);
	ck_assert_uint_eq(played.nr_other_questions, 0);
}
END_TEST

START_TEST(test_what_else_a_bus_says_is_passed_over)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

	played.append_credentials = uid_among_others;
	reply = lease_as(CLIENT);
	ck_assert(!sd_bus_message_is_method_error(reply, NULL));
	ck_assert_uint_eq(scene.leases.request.uid, 1000);
	ck_assert_int_eq(scene.leases.request.pid, 0);
	ck_assert_uint_eq(scene.leases.request.nr_gids, 3);
	ck_assert_uint_eq(scene.leases.gids[2], 5);
}
END_TEST

static int (*const not_said[])(sd_bus_message *reply) = {
	NULL, nothing, no_uid, uid_of_nobody_at_all, uid_of_another_type, groups_of_another_type,
};

START_TEST(test_whose_user_the_bus_does_not_say_is_refused)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

	played.append_credentials = not_said[_i];
	reply = lease_as(CLIENT);
	assert_error(reply, ACCESS_DENIED, "does not say which user");
	ck_assert_uint_eq(scene.leases.nr_requests, 0);
}
END_TEST

START_TEST(test_a_call_without_a_sender_is_refused)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

	played.append_credentials = uid_and_pid;
	reply = lease_as(NULL);
	assert_error(reply, ACCESS_DENIED, "no sender");
	ck_assert_uint_eq(scene.leases.nr_requests, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bus-lease-callers");
	TCase *tcase = tcase_create("a played bus");

	bus_fixture_require();
	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_a_bus_that_says_no_groups_leaves_the_caller_without_any);
	tcase_add_test(tcase, test_what_else_a_bus_says_is_passed_over);
	tcase_add_loop_test(tcase, test_whose_user_the_bus_does_not_say_is_refused, 0,
	                    (int) ELEMENTS(not_said));
	tcase_add_test(tcase, test_a_call_without_a_sender_is_refused);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
