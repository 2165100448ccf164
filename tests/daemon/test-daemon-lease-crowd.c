/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Many who lease at once, while everything else changes. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "../../dbus/names.h"
#include "hostile-scene.h"
#include "suite.h"

#define NR_CLIENTS 256

struct member {
	sd_bus *bus;
	sd_bus_slot *question;
	int lifetime_fd; /* -1: has none */
	unsigned nr_granted;
	unsigned nr_refused;
};

static struct member crowd[NR_CLIENTS];

static bool may_pool_be_gone;

/* What is refused is refused for want of a region, or for asking too much at once. */
static void expect_refusal(const sd_bus_error *error)
{
	if (may_pool_be_gone && (strcmp(error->name, NODEINIT_ERROR_NO_SUCH_POOL) == 0 ||
	                         strcmp(error->name, SD_BUS_ERROR_UNKNOWN_OBJECT) == 0))
		return;
	ck_assert_msg(strcmp(error->name, NODEINIT_ERROR_SHORTFALL) == 0 ||
	                      strcmp(error->name, NODEINIT_ERROR_NOT_READY) == 0 ||
	                      strcmp(error->name, SD_BUS_ERROR_LIMITS_EXCEEDED) == 0,
	              "%s: %s", error->name, error->message);
}

static void mark(const struct daemon_lease *lease)
{
	uint64_t word = 1;

	ck_assert_int_eq(pread(lease->memory_fd, &word, sizeof(word), 0), sizeof(word));
	ck_assert_uint_eq(word, 0);
	word = UINT64_MAX;
	ck_assert_int_eq(pwrite(lease->memory_fd, &word, sizeof(word), 0), sizeof(word));
}

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct member *member = userdata;
	struct daemon_lease lease;

	(void) ret_error;
	member->question = sd_bus_slot_unref(member->question);
	if (sd_bus_message_is_method_error(reply, NULL)) {
		expect_refusal(sd_bus_message_get_error(reply));
		member->nr_refused++;
		return 1;
	}
	daemon_lease_read(reply, &lease);
	mark(&lease);
	lease.memory_fd = fd_close(lease.memory_fd);
	member->lifetime_fd = lease.lifetime_fd;
	member->nr_granted++;
	return 1;
}

static void ask(struct member *member, bool may_wait)
{
	struct daemon_lease_options options = { .may_wait = may_wait };
	scoped(sd_bus_message_unrefp) sd_bus_message *call = NULL;

	if (!member->bus)
		member->bus = bus_fixture_connect(&d.bus);
	call = daemon_lease_call(member->bus, POOL, 0, &options);
	ck_assert_int_ge(
		sd_bus_call_async(member->bus, &member->question, call, on_answer, member, 0), 0);
}

static void leave(struct member *member)
{
	member->question = sd_bus_slot_unref(member->question);
	member->bus = sd_bus_flush_close_unref(member->bus);
}

static void turn(struct member *member, unsigned dice)
{
	if (member->bus)
		while (sd_bus_process(member->bus, NULL) > 0)
			;
	if (member->lifetime_fd >= 0 && dice % 2)
		member->lifetime_fd = fd_close(member->lifetime_fd);
	else if (member->question && dice % 8 == 0)
		leave(member);
	else if (!member->question && member->lifetime_fd < 0)
		ask(member, dice % 4 < 3);
}

static unsigned nr_granted(unsigned nr_members)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < nr_members; i++)
		nr += crowd[i].nr_granted;
	return nr;
}

static void disperse(unsigned nr_members)
{
	for (unsigned i = 0; i < nr_members; i++) {
		leave(&crowd[i]);
		crowd[i].lifetime_fd = fd_close(crowd[i].lifetime_fd);
	}
}

START_TEST(test_a_crowd_that_asks_at_once_and_leaves_at_any_moment_leaves_nothing_behind)
{
	unsigned seed = 4;

	for (unsigned i = 0; i < NR_CLIENTS; i++)
		crowd[i] = (struct member){ .lifetime_fd = -1 };
	while (nr_granted(NR_CLIENTS) < NR_CLIENTS / 8)
		for (unsigned i = 0; i < NR_CLIENTS; i++)
			turn(&crowd[i], (unsigned) rand_r(&seed) >> 4);
	disperse(NR_CLIENTS);
	expect_as_at_start();
}
END_TEST

static int on_any(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	(void) reply, (void) ret_error;
	--*(unsigned *) userdata;
	return 1;
}

static void call_later(sd_bus *bus, const char *path, const char *interface, const char *method,
                       unsigned *nr_open)
{
	++*nr_open;
	ck_assert_int_ge(sd_bus_call_method_async(bus, NULL, NODEINIT_BUS_NAME, path, interface,
	                                          method, on_any, nr_open, "a{sv}", 0),
	                 0);
}

static void change_pool(unsigned round)
{
	static const char *const sizes[] = { "32M", "8M", "64M", "0" };

	if (round % 7 == 3)
		daemon_remove_pool(&d, POOL);
	else
		scene_write_pool(&d, POOL, sizes[round % 4], round % 3 ? "4M" : "8M", NULL);
}

static void process_until(sd_bus *bus, const unsigned *nr_open, unsigned nr)
{
	while (*nr_open > nr) {
		int r = sd_bus_process(bus, NULL);

		ck_assert_int_ge(r, 0);
		if (r == 0)
			ck_assert_int_ge(sd_bus_wait(bus, UINT64_MAX), 0);
	}
}

#define NR_STORMS  150
#define NR_SAILORS 16

START_TEST(test_leases_in_a_storm_of_reloads_pauses_and_retries_come_out_right)
{
	scoped(sd_bus_flush_close_unrefp) sd_bus *bus = bus_fixture_connect(&d.bus);
	unsigned nr_open = 0, seed = 7;

	may_pool_be_gone = true;
	for (unsigned i = 0; i < NR_SAILORS; i++)
		crowd[i] = (struct member){ .lifetime_fd = -1 };
	for (unsigned round = 0; round < NR_STORMS || nr_granted(NR_SAILORS) < NR_SAILORS;
	     round++) {
		change_pool(round);
		call_later(bus, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Reload", &nr_open);
		call_later(bus, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE,
		           round % 2 ? "Pause" : "Resume", &nr_open);
		call_later(bus, POOL_PATH(POOL), NODEINIT_POOL_INTERFACE, "Retry", &nr_open);
		for (unsigned i = 0; i < NR_SAILORS; i++)
			turn(&crowd[i], (unsigned) rand_r(&seed) >> 4);
		process_until(bus, &nr_open, 4);
		if (round % 7 == 3)
			scene_write_pool(&d, POOL, "32M", "4M", NULL);
	}
	process_until(bus, &nr_open, 0);
	scene_write_pool(&d, POOL, "32M", "4M", NULL);
	scene_reload(&d);
	(void) daemon_call(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Resume", NULL);
	disperse(NR_SAILORS);
	expect_as_at_start();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lease crowd");
	TCase *all = tcase_create("all");

	bus_fixture_require();
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_set_timeout(all, 120);
	tcase_add_test(
		all, test_a_crowd_that_asks_at_once_and_leaves_at_any_moment_leaves_nothing_behind);
	tcase_add_test(all, test_leases_in_a_storm_of_reloads_pauses_and_retries_come_out_right);
	suite_add_tcase(suite, all);
	return suite_main(suite);
}
