/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls that no careful client makes, asked of the whole daemon. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "../../dbus/names.h"
#include "hostile-scene.h"
#include "suite.h"

struct odd_call {
	const char *what;
	int (*fill)(sd_bus_message *call);
	const char *error;
};

static int fill_nothing(sd_bus_message *call)
{
	(void) call;
	return 0;
}

static int fill_swapped(sd_bus_message *call)
{
	return sd_bus_message_append(call, "a{sv}t", 0, UINT64_C(1));
}

static int fill_signed(sd_bus_message *call)
{
	return sd_bus_message_append(call, "xa{sv}", INT64_C(-1), 0);
}

static int fill_too_much(sd_bus_message *call)
{
	return sd_bus_message_append(call, "ta{sv}s", UINT64_C(1), 0, "more");
}

static int fill_all_bytes(sd_bus_message *call)
{
	return sd_bus_message_append(call, "ta{sv}", UINT64_MAX, 0);
}

static int fill_node_of_ones(sd_bus_message *call)
{
	return sd_bus_message_append(call, "ta{sv}", UINT64_C(1), 1, "node", "u", UINT32_MAX);
}

static int fill_node_text(sd_bus_message *call)
{
	return sd_bus_message_append(call, "ta{sv}", UINT64_C(1), 1, "node", "s", "0");
}

static int fill_twice(sd_bus_message *call)
{
	return sd_bus_message_append(call, "ta{sv}", UINT64_C(1), 2, "wait", "b", 0, "wait", "b",
	                             1);
}

static int fill_no_name(sd_bus_message *call)
{
	return sd_bus_message_append(call, "ta{sv}", UINT64_C(1), 1, "", "b", 1);
}

#define NR_MANY 4096

static int fill_many_options(sd_bus_message *call)
{
	int r = sd_bus_message_append(call, "t", UINT64_C(1));

	if (r >= 0)
		r = sd_bus_message_open_container(call, 'a', "{sv}");
	for (unsigned i = 0; i < NR_MANY && r >= 0; i++)
		r = sd_bus_message_append(call, "{sv}", i == 0 ? "strict" : "more", "b", 1);
	return r < 0 ? r : sd_bus_message_close_container(call);
}

#define NR_LONG (1U << 20)

static int fill_long_array(sd_bus_message *call)
{
	scoped(freep) unsigned char *bytes = calloc(1, NR_LONG);
	int r = sd_bus_message_append(call, "t", UINT64_C(1));

	r = r < 0 ? r : sd_bus_message_open_container(call, 'a', "{sv}");
	r = r < 0 ? r : sd_bus_message_open_container(call, 'e', "sv");
	r = r < 0 ? r : sd_bus_message_append(call, "s", "node");
	r = r < 0 ? r : sd_bus_message_open_container(call, 'v', "ay");
	r = r < 0 ? r : sd_bus_message_append_array(call, 'y', bytes, NR_LONG);
	for (unsigned i = 0; i < 3 && r >= 0; i++)
		r = sd_bus_message_close_container(call);
	return r;
}

/* As deep as the bus lets through: 64 containers, of which array and entry are two. */
#define NR_NESTED 61

static int fill_nested(sd_bus_message *call)
{
	int r = sd_bus_message_append(call, "t", UINT64_C(1));

	r = r < 0 ? r : sd_bus_message_open_container(call, 'a', "{sv}");
	r = r < 0 ? r : sd_bus_message_open_container(call, 'e', "sv");
	r = r < 0 ? r : sd_bus_message_append(call, "s", "node");
	for (unsigned i = 0; i < NR_NESTED && r >= 0; i++)
		r = sd_bus_message_open_container(call, 'v', i + 1 < NR_NESTED ? "v" : "u");
	r = r < 0 ? r : sd_bus_message_append(call, "u", 0);
	for (unsigned i = 0; i < NR_NESTED + 2 && r >= 0; i++)
		r = sd_bus_message_close_container(call);
	return r;
}

static int fill_descriptor(sd_bus_message *call)
{
	return sd_bus_message_append(call, "ta{sv}", UINT64_C(1), 1, "node", "h", STDERR_FILENO);
}

static const struct odd_call odd_calls[] = {
	{ "no argument", fill_nothing, SD_BUS_ERROR_INVALID_ARGS },
	{ "arguments in another order", fill_swapped, SD_BUS_ERROR_INVALID_ARGS },
	{ "-1 bytes", fill_signed, SD_BUS_ERROR_INVALID_ARGS },
	{ "one more argument", fill_too_much, SD_BUS_ERROR_INVALID_ARGS },
	{ "16 EiB", fill_all_bytes, NODEINIT_ERROR_SHORTFALL },
	{ "node 4294967295", fill_node_of_ones, NODEINIT_ERROR_NO_SUCH_NODE },
	{ "a node that is a text", fill_node_text, SD_BUS_ERROR_INVALID_ARGS },
	{ "an option twice", fill_twice, SD_BUS_ERROR_INVALID_ARGS },
	{ "an option without a name", fill_no_name, SD_BUS_ERROR_INVALID_ARGS },
	{ "4096 options", fill_many_options, SD_BUS_ERROR_INVALID_ARGS },
	{ "a node that is a mebibyte", fill_long_array, SD_BUS_ERROR_INVALID_ARGS },
	{ "a node 61 variants deep", fill_nested, SD_BUS_ERROR_INVALID_ARGS },
	{ "a node that is a descriptor", fill_descriptor, SD_BUS_ERROR_INVALID_ARGS },
};

START_TEST(test_what_is_no_call_is_refused_by_the_right_name)
{
	const struct odd_call *odd = &odd_calls[_i];
	scoped(sd_bus_message_unrefp) sd_bus_message *call = NULL;
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus *bus = daemon_client(&d);

	ck_assert_int_ge(sd_bus_message_new_method_call(bus, &call, NODEINIT_BUS_NAME,
	                                                POOL_PATH(POOL), NODEINIT_POOL_INTERFACE,
	                                                "Lease"),
	                 0);
	ck_assert_msg(odd->fill(call) >= 0, "%s cannot be written down", odd->what);
	ck_assert_msg(sd_bus_call(bus, call, 0, &error, NULL) < 0, "%s is a lease", odd->what);
	ck_assert_msg(strcmp(error.name, odd->error) == 0, "%s: %s: %s", odd->what, error.name,
	              error.message);
	ck_assert_uint_lt(strlen(error.message), 256);
	sd_bus_error_free(&error);
	expect_as_at_start();
}
END_TEST

static const char *const odd_ids[] = {
	"",
	"0",
	"-1",
	"+1",
	" 1",
	"1 ",
	"01",
	"0x1",
	"1e0",
	"1\n",
	"18446744073709551615",
	"18446744073709551616",
	"99999999999999999999999999999999",
	"\xc3\xa9\xe2\x82\xac",
	"%s%n",
	"NULL",
};

static void expect_no_lease(const char *id)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;

	ck_assert_int_lt(daemon_release(&d, id, &error), 0);
	ck_assert_msg(strcmp(error.name, NODEINIT_ERROR_NO_SUCH_LEASE) == 0, "'%.40s': %s: %s", id,
	              error.name, error.message);
	ck_assert_uint_lt(strlen(error.message), 256);
	sd_bus_error_free(&error);
}

START_TEST(test_an_id_that_is_none_ends_no_lease)
{
	scoped(freep) char *long_id = malloc(NR_LONG + 1);
	struct daemon_lease lease;

	memset(long_id, '1', NR_LONG);
	long_id[NR_LONG] = '\0';
	scene_lease(&d, POOL, 0, NULL, &lease);
	for (size_t i = 0; i < ELEMENTS(odd_ids); i++)
		expect_no_lease(odd_ids[i]);
	expect_no_lease(long_id);
	ck_assert_str_eq(scene_lease_state(&d, lease.id), "leased");
	ck_assert_int_eq(daemon_release(&d, lease.id, NULL), 0);
	daemon_lease_close(&lease);
	expect_as_at_start();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lease calls");
	TCase *all = tcase_create("all");

	bus_fixture_require();
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_set_timeout(all, 120);
	tcase_add_loop_test(all, test_what_is_no_call_is_refused_by_the_right_name, 0,
	                    (int) ELEMENTS(odd_calls));
	tcase_add_test(all, test_an_id_that_is_none_ends_no_lease);
	suite_add_tcase(suite, all);
	return suite_main(suite);
}
