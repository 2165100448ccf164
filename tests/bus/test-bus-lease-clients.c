/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What clients of leases do wrong, or do a lot of; and the service manager that is asked for units.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/base/scoped.h"
#include "raw-client.h"
#include "scene.h"

#define POOL_PATH        NODEINIT_POOL_PREFIX "/guests"
#define LIMITS_EXCEEDED  SD_BUS_ERROR_LIMITS_EXCEEDED
#define NR_CLIENTS       256
#define WAITING_PER_USER 64
#define NR_IN_A_ROW      10000
#define NR_UNREAD        250 /* answers that a socket and the bus keep */
#define NR_UNREAD_LIMIT  60  /* and somewhat more than they do */
#define P99_LIMIT_USEC   50000
#define NR_BURSTS        10

/* More than a system bus grants: the connections are of one user, which a test is. */
#define MANY_CLIENTS                                                 \
	"  <limit name=\"max_connections_per_user\">600</limit>\n"   \
	"  <limit name=\"max_completed_connections\">1000</limit>\n" \
	"  <limit name=\"max_incomplete_connections\">600</limit>\n"
#define MANY_FDS "  <limit name=\"max_message_unix_fds\">64</limit>\n"

static struct scene scene;

static void setup(void)
{
	scene_begin(&scene);
	scene_show_guests(&scene);
}

static void setup_many_clients(void)
{
	scene_begin_with_limits(&scene, MANY_CLIENTS);
	scene_show_guests(&scene);
}

static void setup_many_fds(void)
{
	scene_begin_with_limits(&scene, MANY_FDS);
	scene_show_guests(&scene);
}

static void teardown(void)
{
	scene_end(&scene);
}

/* One client among many, with its one call. */
struct client {
	sd_bus *bus;
	struct bus_loop *loop;
	uint64_t asked_usec, answer_usec; /* when, and after how long */
	unsigned nr_leases, nr_refused;
};

static struct client clients[NR_CLIENTS];

static int on_lease(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct client *client = userdata;

	(void) ret_error;
	client->answer_usec = clock_monotonic_usec() - client->asked_usec;
	if (sd_bus_message_is_method_error(reply, NULL)) {
		assert_error(reply, LIMITS_EXCEEDED, NULL);
		client->nr_refused++;
	} else {
		client->nr_leases++;
	}
	return 1;
}

static void begin_lease(struct client *client)
{
	client->asked_usec = clock_monotonic_usec();
	ck_assert_int_ge(sd_bus_call_method_async(client->bus, NULL, NODEINIT_BUS_NAME, POOL_PATH,
	                                          NODEINIT_POOL_INTERFACE, "Lease", on_lease,
	                                          client, "ta{sv}", UINT64_C(0), 0),
	                 0);
}

static void on_client_lost(int error, void *arg)
{
	(void) arg;
	ck_abort_msg("a client lost the bus: %s", strerror(-error));
}

static void connect_clients(unsigned nr_clients)
{
	for (unsigned i = 0; i < nr_clients; i++) {
		clients[i].bus = bus_fixture_connect(&scene.fixture);
		ck_assert_int_eq(bus_loop_new(scene.loop, clients[i].bus, on_client_lost, NULL,
		                              &clients[i].loop),
		                 0);
	}
	for (unsigned i = 0; i < nr_clients; i++)
		scene_until(&scene, sd_bus_is_ready(clients[i].bus) > 0);
}

static void disconnect_client(struct client *client)
{
	client->loop = bus_loop_free(client->loop);
	client->bus = sd_bus_unref(client->bus);
}

static unsigned sum_leases(void)
{
	unsigned nr_leases = 0;

	for (unsigned i = 0; i < NR_CLIENTS; i++)
		nr_leases += clients[i].nr_leases;
	return nr_leases;
}

static unsigned sum_refused(void)
{
	unsigned nr_refused = 0;

	for (unsigned i = 0; i < NR_CLIENTS; i++)
		nr_refused += clients[i].nr_refused;
	return nr_refused;
}

static int by_number(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *) a, right = *(const uint64_t *) b;

	return (left > right) - (left < right);
}

/* Return: whether they were. A sanitizer's time is not the daemon's: it is shown and not judged. */
static bool are_fast(uint64_t *usecs, size_t nr, const char *what)
{
	uint64_t p99_usec;

	qsort(usecs, nr, sizeof(usecs[0]), by_number);
	p99_usec = usecs[nr * 99 / 100];
	printf("%s: %zu answers, p50 %llu µs, p99 %llu µs, longest %llu µs\n", what, nr,
	       (unsigned long long) usecs[nr / 2], (unsigned long long) p99_usec,
	       (unsigned long long) usecs[nr - 1]);
	(void) fflush(stdout);
	return p99_usec < P99_LIMIT_USEC || strcmp(NODEINIT_SANITIZE, "none") != 0;
}

static bool are_clients_fast(const char *what)
{
	uint64_t usecs[NR_CLIENTS];

	for (unsigned i = 0; i < NR_CLIENTS; i++)
		usecs[i] = clients[i].answer_usec;
	return are_fast(usecs, NR_CLIENTS, what);
}

/* All of it, clients too, is one thread of a machine that may have other work: the best burst
 * counts. */
START_TEST(test_all_connections_of_a_user_that_ask_at_once_are_served)
{
	bool is_fast = false;

	connect_clients(NR_CLIENTS);
	for (unsigned burst = 1; burst <= NR_BURSTS && !is_fast; burst++) {
		for (unsigned i = 0; i < NR_CLIENTS; i++)
			begin_lease(&clients[i]);
		scene_until(&scene, sum_leases() + sum_refused() == burst * NR_CLIENTS);
		ck_assert_uint_eq(sum_leases(), burst * NR_CLIENTS);
		is_fast = are_clients_fast("256 connections at once");
	}
	ck_assert(is_fast);
}
END_TEST

static int fill_lease(sd_bus_message *call)
{
	return sd_bus_message_append(call, "ta{sv}", UINT64_C(1), 0);
}

/* Another user's call is taken while one user's wait; it waits, too, until all are answered. */
static void assert_another_user_is_served(void)
{
	if (geteuid() != 0 || (getenv("CK_FORK") && strcmp(getenv("CK_FORK"), "no") == 0)) {
		printf("left out: another user, who needs root and a process of its own\n");
		return;
	}
	scene.leases.is_late = false;
	ck_assert_str_eq(scene_call_filled_as_nobody(&scene, POOL_PATH, NODEINIT_POOL_INTERFACE,
	                                             "Lease", fill_lease),
	                 "");
	ck_assert_uint_eq(scene.leases.request.uid, 65534);
}

START_TEST(test_of_one_user_so_many_calls_wait_and_the_rest_is_refused_at_once)
{
	scene.leases.is_late = true;
	connect_clients(NR_CLIENTS);
	for (unsigned i = 0; i < NR_CLIENTS; i++)
		begin_lease(&clients[i]);
	scene_until(&scene, sum_refused() + scene.leases.nr_calls == NR_CLIENTS);
	ck_assert_uint_eq(scene.leases.nr_calls, WAITING_PER_USER);
	ck_assert_uint_eq(scene.leases.nr_requests, WAITING_PER_USER);
	ck_assert_uint_eq(sum_leases(), 0);

	assert_another_user_is_served();
	while (scene.leases.nr_calls > 0)
		scene_answer_lease(&scene, 0);
	scene_until(&scene, sum_leases() == WAITING_PER_USER);

	/* The places are free again. */
	scene.leases.is_late = true;
	for (unsigned i = 0; i < WAITING_PER_USER; i++)
		begin_lease(&clients[i]);
	scene_until(&scene, scene.leases.nr_calls == WAITING_PER_USER);
	for (unsigned i = 0; i < NR_CLIENTS; i++)
		disconnect_client(&clients[i]);
	scene_until(&scene, scene.leases.nr_calls == 0);
	ck_assert_uint_eq(scene.leases.nr_cancelled, WAITING_PER_USER);
}
END_TEST

START_TEST(test_one_connection_may_have_eight_calls_waiting)
{
	scene.leases.is_late = true;
	connect_clients(2);
	for (unsigned i = 0; i < 20; i++)
		begin_lease(&clients[0]);
	begin_lease(&clients[1]);
	scene_until(&scene, scene.leases.nr_calls == 9 && clients[0].nr_refused == 12);
	while (scene.leases.nr_calls > 0)
		scene_answer_lease(&scene, 0);
	scene_until(&scene, clients[0].nr_leases == 8 && clients[1].nr_leases == 1);
}
END_TEST

START_TEST(test_ten_thousand_leases_in_a_row_are_quick)
{
	static uint64_t usecs[NR_IN_A_ROW];
	struct client *client = &clients[0];

	connect_clients(1);
	for (unsigned i = 0; i < NR_IN_A_ROW; i++) {
		begin_lease(client);
		scene_until(&scene, client->nr_leases + client->nr_refused == i + 1);
		usecs[i] = client->answer_usec;
	}
	ck_assert_uint_eq(client->nr_leases, NR_IN_A_ROW);
	scene_await_lifetimes(&scene, 0);
	ck_assert(are_fast(usecs, NR_IN_A_ROW, "10 000 in a row"));
	ck_assert_uint_eq(scene.nr_lost, 0);
}
END_TEST

/*
 * The bus keeps for a client what that does not read, up to its limits; then it takes nothing more
 * from it. The leases last until the client goes.
 */
START_TEST(test_a_client_that_never_reads_harms_nobody)
{
	int silent = raw_client_connect(&scene.fixture);
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	unsigned nr_calls = 0;

	while (nr_calls < NR_UNREAD) {
		raw_client_lease(silent, ++nr_calls + 1, POOL_PATH, -1, 0);
		scene_until(&scene, scene.leases.nr_requests == nr_calls);
		ck_assert_int_eq(scene.leases.result, 0);
	}
	for (unsigned i = 0; i < 2 * NR_UNREAD_LIMIT; i++)
		raw_client_lease(silent, ++nr_calls + 1, POOL_PATH, -1, 0);

	scene.leases.error = -EBUSY;
	reply = scene_call(&scene, POOL_PATH, NODEINIT_POOL_INTERFACE, "Lease", "ta{sv}",
	                   UINT64_C(0), 0);
	assert_error(reply, NODEINIT_ERROR_NOT_READY, NULL);
	ck_assert_uint_ge(scene_open_lifetimes(&scene), NR_UNREAD);
	(void) close(silent);
	scene_await_lifetimes(&scene, 0);
	ck_assert_uint_eq(scene.nr_lost, 0);
}
END_TEST

static unsigned count_open_fds(void)
{
	scoped(dir_closep) DIR *dir = opendir("/proc/self/fd");
	unsigned nr_fds = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		nr_fds++;
	return nr_fds;
}

/* Also while the call waits: eight calls of each connection with so many would add up. */
START_TEST(test_descriptors_that_come_with_a_call_are_closed_at_once)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int raw = raw_client_connect(&scene.fixture);
	unsigned nr_before;

	ck_assert_int_ge(fd, 0);
	scene.leases.is_late = true;
	raw_client_lease(raw, 2, POOL_PATH, -1, 0);
	scene_until(&scene, scene.leases.nr_calls == 1);
	nr_before = count_open_fds();
	raw_client_lease(raw, 3, POOL_PATH, fd, 17);
	scene_until(&scene, scene.leases.nr_calls == 2);
	ck_assert_uint_eq(count_open_fds(), nr_before);
	(void) close(raw);
	scene_until(&scene, scene.leases.nr_cancelled == 2);
	ck_assert_uint_eq(count_open_fds(), nr_before - 1);
	(void) close(fd);
}
END_TEST

/* The bus throws the client out; of us it wants nothing. */
START_TEST(test_more_descriptors_than_a_system_bus_lets_through_do_not_reach_us)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int raw = raw_client_connect(&scene.fixture);
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;

	ck_assert_int_ge(fd, 0);
	raw_client_lease(raw, 2, POOL_PATH, fd, 17);
	reply = scene_call(&scene, POOL_PATH, NODEINIT_POOL_INTERFACE, "Lease", "ta{sv}",
	                   UINT64_C(0), 0);
	ck_assert(!sd_bus_message_is_method_error(reply, NULL));
	ck_assert_uint_eq(scene.leases.nr_requests, 1);
	ck_assert_uint_eq(scene.nr_lost, 0);
	(void) close(raw);
	(void) close(fd);
}
END_TEST

static int on_huge(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	(void) ret_error;
	*(sd_bus_message **) userdata = sd_bus_message_ref(reply);
	return 1;
}

START_TEST(test_an_option_of_a_mebibyte_is_refused_as_any_other)
{
	static const char *const names[] = { "wait", "other" };
	static uint8_t huge[1024 * 1024];

	for (size_t i = 0; i < ELEMENTS(names); i++) {
		scoped(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;

		ck_assert_int_ge(sd_bus_message_new_method_call(scene.client, &call,
		                                                NODEINIT_BUS_NAME, POOL_PATH,
		                                                NODEINIT_POOL_INTERFACE, "Lease"),
		                 0);
		ck_assert_int_ge(sd_bus_message_append(call, "t", UINT64_C(0)), 0);
		ck_assert_int_ge(sd_bus_message_open_container(call, 'a', "{sv}"), 0);
		ck_assert_int_ge(sd_bus_message_open_container(call, 'e', "sv"), 0);
		ck_assert_int_ge(sd_bus_message_append(call, "s", names[i]), 0);
		ck_assert_int_ge(sd_bus_message_open_container(call, 'v', "ay"), 0);
		ck_assert_int_ge(sd_bus_message_append_array(call, 'y', huge, sizeof(huge)), 0);
		for (unsigned open = 0; open < 3; open++)
			ck_assert_int_ge(sd_bus_message_close_container(call), 0);
		ck_assert_int_ge(sd_bus_call_async(scene.client, NULL, call, on_huge, &reply, 0),
		                 0);
		scene_until(&scene, reply);
		assert_error(reply, SD_BUS_ERROR_INVALID_ARGS, names[i]);
	}
	ck_assert_uint_eq(scene.leases.nr_requests, 0);
}
END_TEST

/* The service manager of the test. It answers when told to. */
static struct {
	sd_bus *bus;
	struct bus_loop *loop;
	const char *path; /* that it answers; NULL: there is no such process */
	bool is_late;     /* keep the calls */
	sd_bus_message *calls[NR_CLIENTS];
	unsigned nr_calls, nr_questions;
	uint32_t pid;
} manager;

static void answer_unit(sd_bus_message *call)
{
	if (manager.path)
		ck_assert_int_ge(sd_bus_reply_method_return(call, "o", manager.path), 0);
	else
		ck_assert_int_ge(sd_bus_reply_method_errorf(
					 call, "org.freedesktop.systemd1.NoUnitForPID", "None."),
		                 0);
}

static int on_get_unit(sd_bus_message *call, void *userdata, sd_bus_error *ret_error)
{
	(void) userdata, (void) ret_error;
	ck_assert_int_gt(sd_bus_message_read(call, "u", &manager.pid), 0);
	manager.nr_questions++;
	if (manager.is_late) {
		ck_assert_uint_lt(manager.nr_calls, NR_CLIENTS);
		manager.calls[manager.nr_calls++] = sd_bus_message_ref(call);
	} else {
		answer_unit(call);
	}
	return 1;
}

static const sd_bus_vtable manager_vtable[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("GetUnitByPID", "u", "o", on_get_unit, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

static void begin_manager(const char *path)
{
	manager.path = path;
	manager.bus = bus_fixture_connect(&scene.fixture);
	ck_assert_int_ge(sd_bus_add_object_vtable(manager.bus, NULL, "/org/freedesktop/systemd1",
	                                          "org.freedesktop.systemd1.Manager",
	                                          manager_vtable, NULL),
	                 0);
	ck_assert_int_ge(sd_bus_request_name(manager.bus, "org.freedesktop.systemd1", 0), 0);
	ck_assert_int_eq(bus_loop_new(scene.loop, manager.bus, on_client_lost, NULL, &manager.loop),
	                 0);
}

static void end_manager(void)
{
	manager.loop = bus_loop_free(manager.loop);
	manager.bus = sd_bus_unref(manager.bus);
}

START_TEST(test_the_unit_of_who_leased_is_found_out)
{
	begin_manager("/org/freedesktop/systemd1/unit/guest_2dof_2dmine_4017_2eservice");
	connect_clients(1);
	begin_lease(&clients[0]);
	scene_until(&scene, scene.leases.nr_units == 1);
	ck_assert_str_eq(scene.leases.unit_id, "1");
	ck_assert_str_eq(scene.leases.unit, "guest-of-mine@17.service");
	ck_assert_uint_eq(manager.pid, (uint32_t) getpid());
	end_manager();
}
END_TEST

START_TEST(test_a_refused_lease_asks_for_no_unit)
{
	begin_manager("/org/freedesktop/systemd1/unit/a_2eservice");
	connect_clients(1);
	scene.leases.error = -ENOBUFS;
	begin_lease(&clients[0]);
	scene_until(&scene, clients[0].nr_refused == 1);
	scene.leases.error = 0;
	begin_lease(&clients[0]);
	scene_until(&scene, scene.leases.nr_units == 1);
	ck_assert_uint_eq(manager.nr_questions, 1);
	end_manager();
}
END_TEST

static const char *const no_units[] = {
	NULL,
	"/org/freedesktop/systemd1/job/17",
	"/org/freedesktop/systemd1/unit/_ff_fe",
	"/org/freedesktop/systemd1/unit/a_0ab_2eservice",
	"/org/freedesktop/systemd1/unit/a/b",
};

START_TEST(test_what_names_no_unit_is_passed_over)
{
	begin_manager(no_units[_i]);
	connect_clients(1);
	begin_lease(&clients[0]);
	scene_until(&scene, manager.nr_questions == 1);
	manager.path = "/org/freedesktop/systemd1/unit/a_2eservice";
	begin_lease(&clients[0]);
	scene_until(&scene, scene.leases.nr_units == 1);
	ck_assert_str_eq(scene.leases.unit_id, "2");
	ck_assert_str_eq(scene.leases.unit, "a.service");
	end_manager();
}
END_TEST

START_TEST(test_few_questions_for_units_are_open_at_once_and_none_is_forgotten)
{
	begin_manager("/org/freedesktop/systemd1/unit/a_2eservice");
	manager.is_late = true;
	connect_clients(1);
	for (unsigned i = 0; i < 20; i++) {
		begin_lease(&clients[0]);
		scene_until(&scene, clients[0].nr_leases == i + 1);
	}
	for (unsigned i = 0; i < 20; i++) {
		unsigned nr_open = 20 - i < 4 ? 20 - i : 4;

		scene_until(&scene, manager.nr_calls == nr_open);
		ck_assert_uint_eq(manager.nr_questions, i + nr_open);
		answer_unit(manager.calls[0]);
		sd_bus_message_unref(manager.calls[0]);
		memmove(&manager.calls[0], &manager.calls[1],
		        --manager.nr_calls * sizeof(manager.calls[0]));
		scene_until(&scene, scene.leases.nr_units == i + 1);
	}
	ck_assert_str_eq(scene.leases.unit_id, "20");
	end_manager();
}
END_TEST

START_TEST(test_more_leases_than_are_remembered_stay_without_a_unit)
{
	begin_manager("/org/freedesktop/systemd1/unit/a_2eservice");
	manager.is_late = true;
	connect_clients(1);
	for (unsigned i = 0; i < 300; i++) {
		begin_lease(&clients[0]);
		scene_until(&scene, clients[0].nr_leases == i + 1);
	}
	manager.is_late = false;
	scene_until(&scene, manager.nr_calls == 4);
	while (manager.nr_calls > 0) {
		answer_unit(manager.calls[--manager.nr_calls]);
		sd_bus_message_unref(manager.calls[manager.nr_calls]);
	}
	scene_until(&scene, scene.leases.nr_units == 4 + 256);

	/* There is room again, and nothing is left over that would come before this one. */
	begin_lease(&clients[0]);
	scene_until(&scene, scene.leases.nr_units == 4 + 256 + 1);
	ck_assert_str_eq(scene.leases.unit_id, "301");
	ck_assert_uint_eq(manager.nr_questions, 4 + 256 + 1);
	end_manager();
}
END_TEST

static TCase *add_case(Suite *suite, const char *name, void (*set_up)(void))
{
	TCase *tcase = tcase_create(name);

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, teardown);
	suite_add_tcase(suite, tcase);
	return tcase;
}

int main(void)
{
	Suite *suite = suite_create("bus-lease-clients");
	TCase *clients_case, *fds, *one;

	bus_fixture_require();
	clients_case = add_case(suite, "many clients", setup_many_clients);
	tcase_add_test(clients_case, test_all_connections_of_a_user_that_ask_at_once_are_served);
	tcase_add_test(clients_case,
	               test_of_one_user_so_many_calls_wait_and_the_rest_is_refused_at_once);

	fds = add_case(suite, "many descriptors", setup_many_fds);
	tcase_add_test(fds, test_descriptors_that_come_with_a_call_are_closed_at_once);

	one = add_case(suite, "one client", setup);
	tcase_add_test(one, test_one_connection_may_have_eight_calls_waiting);
	tcase_add_test(one, test_ten_thousand_leases_in_a_row_are_quick);
	tcase_add_test(one, test_a_client_that_never_reads_harms_nobody);
	tcase_add_test(one, test_more_descriptors_than_a_system_bus_lets_through_do_not_reach_us);
	tcase_add_test(one, test_an_option_of_a_mebibyte_is_refused_as_any_other);
	tcase_add_test(one, test_the_unit_of_who_leased_is_found_out);
	tcase_add_test(one, test_a_refused_lease_asks_for_no_unit);
	tcase_add_loop_test(one, test_what_names_no_unit_is_passed_over, 0,
	                    (int) ELEMENTS(no_units));
	tcase_add_test(one, test_few_questions_for_units_are_open_at_once_and_none_is_forgotten);
	tcase_add_test(one, test_more_leases_than_are_remembered_stay_without_a_unit);
	return suite_main(suite);
}
