/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pool.Lease, ListLeases, ReleaseLease as one client sees them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "scene.h"

#define POOL_PATH       NODEINIT_POOL_PREFIX "/guests"
#define INVALID_ARGS    SD_BUS_ERROR_INVALID_ARGS
#define LIMITS_EXCEEDED SD_BUS_ERROR_LIMITS_EXCEEDED
#define ACCESS_DENIED   SD_BUS_ERROR_ACCESS_DENIED

static struct scene scene;

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

static sd_bus_message *lease(void)
{
	return scene_call(&scene, POOL_PATH, NODEINIT_POOL_INTERFACE, "Lease", "ta{sv}",
	                  UINT64_C(4096), 0);
}

static unsigned count_open_fds(void)
{
	scoped(dir_closep) DIR *dir = opendir("/proc/self/fd");
	unsigned nr_fds = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		nr_fds++;
	return nr_fds;
}

/* A call that is not waited for, by @client; its reply is counted. */
struct pending {
	unsigned nr_replies;
	char error[128]; /* of the last reply; "" */
};

static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct pending *pending = userdata;
	const sd_bus_error *error = sd_bus_message_get_error(reply);

	(void) ret_error;
	pending->nr_replies++;
	(void) snprintf(pending->error, sizeof(pending->error), "%s", error ? error->name : "");
	return 1;
}

static void begin_lease(sd_bus *client, struct pending *pending)
{
	ck_assert_int_ge(sd_bus_call_method_async(client, NULL, NODEINIT_BUS_NAME, POOL_PATH,
	                                          NODEINIT_POOL_INTERFACE, "Lease", on_reply,
	                                          pending, "ta{sv}", UINT64_C(0), 0),
	                 0);
}

/* A second client, which can leave. */
static sd_bus *other;
static struct bus_loop *other_loop;

static void on_other_lost(int error, void *arg)
{
	(void) error, (void) arg;
}

static void connect_other(void)
{
	other = bus_fixture_connect(&scene.fixture);
	ck_assert_int_eq(bus_loop_new(scene.loop, other, on_other_lost, NULL, &other_loop), 0);
}

static void disconnect_other(void)
{
	other_loop = bus_loop_free(other_loop);
	other = sd_bus_unref(other);
}

START_TEST(test_a_lease_is_two_descriptors_and_what_they_are)
{
	unsigned nr_before, memory_fd, lifetime_fd, node_id;
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	struct stat lent, got;
	const char *id;
	uint64_t bytes;

	sd_bus_message_unref(lease()); /* what is made once is made now */
	nr_before = count_open_fds();
	reply = lease();
	ck_assert_int_eq(sd_bus_message_has_signature(reply, "hhsut"), 1);
	ck_assert_int_gt(sd_bus_message_read(reply, "hhsut", &memory_fd, &lifetime_fd, &id,
	                                     &node_id, &bytes),
	                 0);
	ck_assert_str_eq(id, "2");
	ck_assert_uint_eq(node_id, 3);
	ck_assert_uint_eq(bytes, 4096);

	ck_assert_int_eq(fstat(scene.leases.memory, &lent), 0);
	ck_assert_int_eq(fstat((int) memory_fd, &got), 0);
	ck_assert_uint_eq(lent.st_ino, got.st_ino);
	ck_assert_uint_eq(lent.st_dev, got.st_dev);
	ck_assert_int_eq(fstat((int) lifetime_fd, &got), 0);
	ck_assert(S_ISFIFO(got.st_mode));
	ck_assert_int_eq(fcntl((int) memory_fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl((int) lifetime_fd, F_GETFD), FD_CLOEXEC);

	/* Two of the client, and the other end of the lifetime: the service keeps nothing. */
	ck_assert_uint_eq(count_open_fds(), nr_before + 3);
	scene_await_lifetimes(&scene, 1);
	reply = sd_bus_message_unref(reply);
	scene_await_lifetimes(&scene, 0);
}
END_TEST

START_TEST(test_the_request_says_who_asks_and_for_what)
{
	const struct lease_request *request = &scene.leases.request;
	scoped(sd_bus_message_unrefp) sd_bus_message *plain = lease(), *full = NULL;

	ck_assert_str_eq(scene.leases.pool, "guests");
	ck_assert_uint_eq(request->bytes, 4096);
	ck_assert(!request->has_node && !request->is_strict && !request->may_wait);
	ck_assert_uint_eq(request->uid, getuid());
	ck_assert_int_eq(request->pid, getpid());

	full = scene_call(&scene, POOL_PATH, NODEINIT_POOL_INTERFACE, "Lease", "ta{sv}", UINT64_MAX,
	                  3, "wait", "b", 1, "node", "u", 4711, "strict", "b", 1);
	ck_assert(!sd_bus_message_is_method_error(full, NULL));
	ck_assert_uint_eq(request->bytes, UINT64_MAX);
	ck_assert(request->has_node && request->is_strict && request->may_wait);
	ck_assert_uint_eq(request->node_id, 4711);
}
END_TEST

static int fill_lease(sd_bus_message *call)
{
	return sd_bus_message_append(call, "ta{sv}", UINT64_C(1), 0);
}

START_TEST(test_the_groups_of_another_user_are_those_that_the_bus_saw)
{
	ck_assert_str_eq(scene_call_filled_as_nobody(&scene, POOL_PATH, NODEINIT_POOL_INTERFACE,
	                                             "Lease", fill_lease),
	                 "");
	ck_assert_uint_eq(scene.leases.request.uid, 65534);
	ck_assert_uint_eq(scene.leases.request.nr_gids, 2);
	ck_assert_uint_eq(scene.leases.gids[0] + scene.leases.gids[1], 65534 + SCENE_NOBODYS_GROUP);
}
END_TEST

static void assert_refused(sd_bus_message *reply, const char *part)
{
	assert_error(reply, INVALID_ARGS, part);
	sd_bus_message_unref(reply);
	ck_assert_uint_eq(scene.leases.nr_requests, 0);
}

#define LEASE_WITH(...)                                                                        \
	scene_call(&scene, POOL_PATH, NODEINIT_POOL_INTERFACE, "Lease", "ta{sv}", UINT64_C(1), \
	           __VA_ARGS__)

START_TEST(test_an_option_that_is_not_understood_is_refused_by_name)
{
	assert_refused(LEASE_WITH(1, "frobnicate", "b", 1), "\"frobnicate\"");
	assert_refused(LEASE_WITH(2, "wait", "b", 1, "frobnicate", "b", 1), "\"frobnicate\"");
	assert_refused(LEASE_WITH(1, "node", "t", UINT64_C(1)), "\"node\" of Lease has type u");
	assert_refused(LEASE_WITH(1, "strict", "s", "yes"), "\"strict\" of Lease has type b");
	assert_refused(LEASE_WITH(1, "wait", "u", 1), "\"wait\" of Lease has type b");
	assert_refused(LEASE_WITH(2, "node", "u", 1, "node", "u", 2), "\"node\" of Lease is given");
	assert_refused(LEASE_WITH(1, "strict", "b", 1), "\"node\", which is missing");
	sd_bus_message_unref(LEASE_WITH(1, "strict", "b", 0));
	ck_assert_uint_eq(scene.leases.nr_requests, 1);
}
END_TEST

START_TEST(test_a_lease_without_a_reply_is_not_begun)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *call = NULL, *later = NULL;

	ck_assert_int_ge(sd_bus_message_new_method_call(scene.client, &call, NODEINIT_BUS_NAME,
	                                                POOL_PATH, NODEINIT_POOL_INTERFACE,
	                                                "Lease"),
	                 0);
	ck_assert_int_ge(sd_bus_message_append(call, "ta{sv}", UINT64_C(1), 0), 0);
	ck_assert_int_ge(sd_bus_message_set_expect_reply(call, 0), 0);
	ck_assert_int_ge(sd_bus_send(scene.client, call, NULL), 0);
	later = lease();
	ck_assert(!sd_bus_message_is_method_error(later, NULL));
	ck_assert_uint_eq(scene.leases.nr_requests, 1);
}
END_TEST

static const struct {
	int error;
	const char *name;
} errors[] = {
	{ -EACCES, SD_BUS_ERROR_ACCESS_DENIED },
	{ -EINVAL, SD_BUS_ERROR_INVALID_ARGS },
	{ -EOPNOTSUPP, SD_BUS_ERROR_NOT_SUPPORTED },
	{ -EMFILE, SD_BUS_ERROR_LIMITS_EXCEEDED },
	{ -ENFILE, SD_BUS_ERROR_LIMITS_EXCEEDED },
	{ -ENOENT, "org.nodeinit1.Error.NoSuchPool" },
	{ -ENXIO, "org.nodeinit1.Error.NoSuchNode" },
	{ -EBUSY, "org.nodeinit1.Error.NotReady" },
	{ -ENOSPC, "org.nodeinit1.Error.Shortfall" },
	{ -EDQUOT, "org.nodeinit1.Error.QuotaExceeded" },
	{ -EIO, SD_BUS_ERROR_FAILED },
};

START_TEST(test_what_the_manager_refuses_has_its_error_and_its_sentence)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *told = NULL, *general = NULL;

	scene.leases.error = errors[_i].error;
	scene.sentence = "Pool guests has 0 of 3 regions.";
	told = lease();
	assert_error(told, errors[_i].name, "Pool guests has 0 of 3 regions.");
	scene.sentence = NULL;
	general = lease();
	assert_error(general, errors[_i].name, NULL);
	ck_assert_int_eq(scene.leases.result, 0);
	ck_assert_uint_eq(scene.leases.nr_lent, 0);
}
END_TEST

START_TEST(test_an_answer_that_cannot_be_sent_is_told_to_both_sides)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

	scene.leases.memory = 1 << 20; /* no descriptor is open under this number */
	reply = lease();
	ck_assert_int_lt(scene.leases.result, 0);
	ck_assert(sd_bus_message_is_method_error(reply, NULL));
	ck_assert_uint_eq(scene_open_lifetimes(&scene), 0);
	scene.leases.memory = -1;
}
END_TEST

static void kill_bus(struct scene *of)
{
	bus_fixture_kill(&of->fixture);
}

START_TEST(test_an_answer_to_a_bus_that_is_gone_is_told_to_who_granted)
{
	struct pending pending = {};

	scene.leases.hook = kill_bus;
	begin_lease(scene.client, &pending);
	scene_until(&scene, scene.nr_lost == 1);
	ck_assert_uint_eq(scene.leases.nr_lent, 1);
	ck_assert_int_lt(scene.leases.result, 0);
	ck_assert_uint_eq(scene.leases.nr_cancelled, 0);
	scene_await_lifetimes(&scene, 0);
}
END_TEST

START_TEST(test_a_lease_that_waits_is_answered_once_and_later)
{
	struct pending first = {}, second = {};

	scene.leases.is_late = true;
	begin_lease(scene.client, &first);
	begin_lease(scene.client, &second);
	scene_until(&scene, scene.leases.nr_calls == 2);
	scene_answer_lease(&scene, 1);
	scene_until(&scene, second.nr_replies == 1);
	ck_assert_str_eq(second.error, "");
	ck_assert_uint_eq(first.nr_replies, 0);
	scene.leases.error = -EBUSY;
	scene_answer_lease(&scene, 0);
	scene_until(&scene, first.nr_replies == 1);
	ck_assert_str_eq(first.error, "org.nodeinit1.Error.NotReady");
	ck_assert_uint_eq(second.nr_replies, 1);
	ck_assert_uint_eq(scene.leases.nr_cancelled, 0);
}
END_TEST

START_TEST(test_a_client_that_leaves_while_it_waits_is_forgotten)
{
	struct pending leaving = {}, staying = {};

	scene.leases.is_late = true;
	begin_lease(scene.client, &staying);
	connect_other();
	begin_lease(other, &leaving);
	begin_lease(other, &leaving);
	scene_until(&scene, scene.leases.nr_calls == 3);
	disconnect_other();
	scene_until(&scene, scene.leases.nr_cancelled == 2);
	ck_assert_uint_eq(scene.leases.nr_calls, 1);
	scene_answer_lease(&scene, 0);
	scene_until(&scene, staying.nr_replies == 1);
	ck_assert_str_eq(staying.error, "");
}
END_TEST

/* The bus has seen it go by the time that the hook returns, and nobody was told of it. */
static void lose_other(struct scene *of)
{
	char name[64];
	const char *unique;
	scoped(sd_bus_flush_close_unrefp) sd_bus *asking = bus_fixture_connect(&of->fixture);

	ck_assert_int_ge(sd_bus_get_unique_name(other, &unique), 0);
	(void) snprintf(name, sizeof(name), "%s", unique);
	sd_bus_close(other);
	while (sd_bus_call_method(asking, "org.freedesktop.DBus", "/org/freedesktop/DBus",
	                          "org.freedesktop.DBus", "GetNameOwner", NULL, NULL, "s",
	                          name) >= 0) {
	}
}

START_TEST(test_a_client_that_left_before_it_was_watched_is_forgotten)
{
	struct pending pending = {};

	scene.leases.is_late = true;
	scene.leases.hook = lose_other;
	connect_other();
	begin_lease(other, &pending);
	scene_until(&scene, scene.leases.nr_requests == 1);
	scene_until(&scene, scene.leases.nr_cancelled == 1);
	disconnect_other();
}
END_TEST

START_TEST(test_a_bus_that_is_lost_cancels_all_that_wait)
{
	struct pending pending = {};

	scene.leases.is_late = true;
	begin_lease(scene.client, &pending);
	begin_lease(scene.client, &pending);
	scene_until(&scene, scene.leases.nr_calls == 2);
	bus_fixture_kill(&scene.fixture);
	scene_until(&scene, scene.nr_lost == 1);
	ck_assert_uint_eq(scene.leases.nr_cancelled, 2);
	ck_assert_uint_eq(scene.leases.nr_calls, 0);

	bus_fixture_revive(&scene.fixture);
	scene_until(&scene, scene.nr_owned == 2);
	scene.client_loop = bus_loop_free(scene.client_loop);
	scene.client = sd_bus_unref(scene.client);
	scene_connect_client(&scene);
	scene.leases.is_late = false;
	sd_bus_message_unref(lease());
	ck_assert_uint_eq(scene.leases.nr_lent, 1);
}
END_TEST

START_TEST(test_a_service_that_ends_tells_who_waits)
{
	struct pending pending = {};

	scene.leases.is_late = true;
	begin_lease(scene.client, &pending);
	scene_until(&scene, scene.leases.nr_calls == 1);
	scene.service = bus_service_free(scene.service);
	ck_assert_uint_eq(scene.leases.nr_cancelled, 1);
	scene_until(&scene, pending.nr_replies == 1);
	ck_assert_str_eq(pending.error, "org.nodeinit1.Error.Cancelled");
}
END_TEST

START_TEST(test_leases_are_listed_with_all_that_is_known)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *none = NULL, *two = NULL;
	scoped(freep) char *text = NULL, *empty = NULL;

	none = scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ListLeases", "a{sv}",
	                  0);
	empty = scene_render(none);
	ck_assert_str_eq(empty, "a()");
	scene.leases.nr_listed = 2;
	two = scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ListLeases", "a{sv}",
	                 0);
	text = scene_render(two);
	ck_assert_str_eq(text,
	                 "a(r(s\"1\" s\"guests\" u3 t4096 s\"draining\" u1000 u77 s\"\" t5 t6 "
	                 "a())r(s\"2\" s\"guests\" u3 t4096 s\"leased\" u1000 u77 "
	                 "s\"guest-with-a-long-name@17.service\" t5 t6 a()))");
}
END_TEST

START_TEST(test_the_list_takes_ten_thousand_leases)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	const char *id = NULL;
	unsigned nr_leases = 0;

	scene.leases.nr_listed = 10000;
	reply = scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ListLeases", "a{sv}",
	                   0);
	ck_assert_int_gt(sd_bus_message_enter_container(reply, 'a', "(ssutsuustta{sv})"), 0);
	while (sd_bus_message_enter_container(reply, 'r', "ssutsuustta{sv}") > 0) {
		ck_assert_int_gt(sd_bus_message_read(reply, "s", &id), 0);
		ck_assert_int_gt(sd_bus_message_skip(reply, "sutsuustta{sv}"), 0);
		ck_assert_int_ge(sd_bus_message_exit_container(reply), 0);
		nr_leases++;
	}
	ck_assert_uint_eq(nr_leases, 10000);
	ck_assert_str_eq(id, "10000");
}
END_TEST

static sd_bus_message *release(const char *id)
{
	return scene_call(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ReleaseLease",
	                  "sa{sv}", id, 0);
}

START_TEST(test_root_releases_the_lease_of_whomever)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

	scene.leases.owner = 1000;
	reply = release("7");
	ck_assert(!sd_bus_message_is_method_error(reply, NULL));
	ck_assert_uint_eq(scene.leases.nr_releases, 1);
	ck_assert_str_eq(scene.leases.released_id, "7");
}
END_TEST

START_TEST(test_an_id_that_is_none_or_not_any_more_is_named)
{
	static const char *const ids[] = { "8",  "",     "-7",
		                           " 7", "7 ",   "07x",
		                           "0",  "\n7",  "123456789012345678901",
		                           "x7", "0x07", "18446744073709551616" };

	for (size_t i = 0; i < ELEMENTS(ids); i++) {
		scoped(sd_bus_message_unrefp) sd_bus_message *reply = release(ids[i]);
		char quoted[64];

		(void) snprintf(quoted, sizeof(quoted), "no lease \"%s\"", ids[i]);
		assert_error(reply, "org.nodeinit1.Error.NoSuchLease", quoted);
	}
	ck_assert_uint_eq(scene.leases.nr_releases, 0);
}
END_TEST

START_TEST(test_a_lease_that_is_over_meanwhile_is_told_from_one_that_drains)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *gone = NULL, *drains = NULL, *told = NULL;

	scene.result = -ESRCH;
	gone = release("7");
	assert_error(gone, "org.nodeinit1.Error.NoSuchLease", "no lease \"7\"");
	scene.result = -EALREADY;
	drains = release("7");
	assert_error(drains, "System.Error.EALREADY", "Lease 7 drains already");
	scene.sentence = "It is the manager's to say.";
	told = release("7");
	assert_error(told, "System.Error.EALREADY", "It is the manager's to say.");
}
END_TEST

static int fill_release(sd_bus_message *call)
{
	return sd_bus_message_append(call, "sa{sv}", "7", 0);
}

static const char *release_as_nobody(void)
{
	return scene_call_filled_as_nobody(&scene, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE,
	                                   "ReleaseLease", fill_release);
}

START_TEST(test_who_leased_may_release)
{
	scene.leases.owner = 65534;
	ck_assert_str_eq(release_as_nobody(), "");
	ck_assert_uint_eq(scene.leases.nr_releases, 1);
}
END_TEST

START_TEST(test_the_lease_of_somebody_else_stays_and_the_refusal_says_whose_it_is)
{
	scene.leases.owner = 1000;
	ck_assert_str_eq(release_as_nobody(), ACCESS_DENIED);
	ck_assert_ptr_nonnull(strstr(scene_nobodys_sentence(), "Lease 7 belongs to uid 1000;"));
	ck_assert_ptr_nonnull(strstr(scene_nobodys_sentence(), "not for uid 65534"));
	scene.leases.owner = 0;
	ck_assert_str_eq(release_as_nobody(), ACCESS_DENIED);
	ck_assert_uint_eq(scene.leases.nr_releases, 0);
}
END_TEST

static void add_tests_of_leasing(TCase *tcase)
{
	tcase_add_test(tcase, test_a_lease_is_two_descriptors_and_what_they_are);
	tcase_add_test(tcase, test_the_request_says_who_asks_and_for_what);
	tcase_add_test(tcase, test_an_option_that_is_not_understood_is_refused_by_name);
	tcase_add_test(tcase, test_a_lease_without_a_reply_is_not_begun);
	tcase_add_loop_test(tcase, test_what_the_manager_refuses_has_its_error_and_its_sentence, 0,
	                    (int) ELEMENTS(errors));
	tcase_add_test(tcase, test_an_answer_that_cannot_be_sent_is_told_to_both_sides);
	tcase_add_test(tcase, test_an_answer_to_a_bus_that_is_gone_is_told_to_who_granted);
	tcase_add_test(tcase, test_a_lease_that_waits_is_answered_once_and_later);
	tcase_add_test(tcase, test_a_client_that_leaves_while_it_waits_is_forgotten);
	tcase_add_test(tcase, test_a_client_that_left_before_it_was_watched_is_forgotten);
	tcase_add_test(tcase, test_a_bus_that_is_lost_cancels_all_that_wait);
	tcase_add_test(tcase, test_a_service_that_ends_tells_who_waits);
}

static void add_tests_of_other_users(TCase *tcase)
{
	if (geteuid() != 0 || (getenv("CK_FORK") && strcmp(getenv("CK_FORK"), "no") == 0)) {
		printf("left out: other users, who need root and a process of their own\n");
		return;
	}
	tcase_add_test(tcase, test_the_groups_of_another_user_are_those_that_the_bus_saw);
	tcase_add_test(tcase, test_who_leased_may_release);
	tcase_add_test(tcase,
	               test_the_lease_of_somebody_else_stays_and_the_refusal_says_whose_it_is);
}

int main(void)
{
	Suite *suite = suite_create("bus-lease");
	TCase *leasing = tcase_create("leasing"), *leases = tcase_create("leases");
	TCase *system_bus = tcase_create("the system bus");

	bus_fixture_require();
	tcase_set_timeout(leasing, 30);
	tcase_add_checked_fixture(leasing, setup, teardown);
	add_tests_of_leasing(leasing);
	suite_add_tcase(suite, leasing);

	tcase_set_timeout(leases, 30);
	tcase_add_checked_fixture(leases, setup, teardown);
	tcase_add_test(leases, test_leases_are_listed_with_all_that_is_known);
	tcase_add_test(leases, test_the_list_takes_ten_thousand_leases);
	tcase_add_test(leases, test_root_releases_the_lease_of_whomever);
	tcase_add_test(leases, test_an_id_that_is_none_or_not_any_more_is_named);
	tcase_add_test(leases, test_a_lease_that_is_over_meanwhile_is_told_from_one_that_drains);
	add_tests_of_other_users(leases);
	suite_add_tcase(suite, leases);

	tcase_set_timeout(system_bus, 30);
	tcase_add_checked_fixture(system_bus, setup_system_bus, teardown);
	add_tests_of_other_users(system_bus);
	suite_add_tcase(suite, system_bus);
	return suite_main(suite);
}
