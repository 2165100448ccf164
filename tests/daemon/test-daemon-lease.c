/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who gets a lease, of what, and who does not: asked of the whole daemon. */
#include <check.h>
#include <errno.h>
#include <numaif.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "../../dbus/names.h"
#include "lease-scene.h"
#include "suite.h"

#define REGION_BYTES (4 * MIB)
/* nobody: a bus lets no user in whom it cannot look up */
#define OTHER_UID 65534

static struct daemon_fixture d;

static void setup(void)
{
	daemon_fixture_start(&d);
}

static void teardown(void)
{
	daemon_fixture_stop(&d);
}

/* Every page of it, as the kernel says. */
static void expect_on_node(const struct daemon_lease *lease, unsigned node_id)
{
	unsigned char *memory = scene_map(lease);
	size_t page_bytes = (size_t) getpagesize(), nr_pages = lease->bytes / page_bytes;
	scoped(freep) void **pages = calloc(nr_pages, sizeof(*pages));
	scoped(freep) int *nodes = calloc(nr_pages, sizeof(*nodes));

	for (size_t i = 0; i < nr_pages; i++) {
		pages[i] = memory + i * page_bytes;
		ck_assert_uint_eq(*(volatile unsigned char *) pages[i], 0); /* into our table */
	}
	if (move_pages(0, nr_pages, pages, NULL, nodes, 0) < 0) {
		ck_assert_int_eq(errno, ENOSYS);
		memset(nodes, 0, nr_pages * sizeof(*nodes));
	}
	for (size_t i = 0; i < nr_pages; i++)
		ck_assert_int_eq(nodes[i], (int) node_id);
	ck_assert_int_eq(munmap(memory, lease->bytes), 0);
}

static void lease_two_of(const char *name)
{
	struct daemon_lease first, second;
	uint64_t total_bytes = scene_start(&d, name);

	scene_lease(&d, name, 0, NULL, &first);
	scene_lease(&d, name, REGION_BYTES, NULL, &second);
	ck_assert_uint_eq(first.bytes, REGION_BYTES);
	ck_assert_uint_eq(second.bytes, REGION_BYTES);
	ck_assert_str_ne(first.id, second.id);
	ck_assert_uint_ne(scene_inode(first.memory_fd), scene_inode(second.memory_fd));
	scene_expect_zero(&first);
	expect_on_node(&first, first.node_id);
	expect_on_node(&second, second.node_id);

	scene_write_pattern(&first, 1);
	scene_expect_zero(&second);
	scene_expect_pattern(&first, 1);
	scene_wait_pool_bytes(&d, name, "BytesLeased", 2 * REGION_BYTES);
	ck_assert_uint_eq(scene_pool_bytes(&d, name, "BytesDone"), total_bytes);
	daemon_lease_close(&first);
	daemon_lease_close(&second);
}

START_TEST(test_a_lease_is_zeroed_memory_of_its_node_and_no_one_elses)
{
	scene_write_pool(&d, "small", "32M", "4M", NULL);
	lease_two_of("small");
}
END_TEST

START_TEST(test_a_lease_of_transparent_huge_pages_is_the_same)
{
	daemon_write_pool(&d, "wide",
	                  "[Pool]\nKind=region\nPageSize=thp\nSize=32M\nEarly=none\n"
	                  "[Region]\nRegionSize=4M\n");
	lease_two_of("wide");
}
END_TEST

START_TEST(test_the_list_says_who_has_what_since_when)
{
	scoped(freep) struct daemon_lease_line *lines = NULL;
	struct daemon_lease lease;

	scene_write_pool(&d, "small", "32M", "4M", NULL);
	(void) scene_start(&d, "small");
	ck_assert_uint_eq(daemon_leases(&d, &lines), 0);
	freep(&lines);
	scene_lease(&d, "small", 0, NULL, &lease);
	ck_assert_uint_eq(daemon_leases(&d, &lines), 1);
	ck_assert_str_eq(lines[0].id, lease.id);
	ck_assert_str_eq(lines[0].pool, "small");
	ck_assert_str_eq(lines[0].state, "leased");
	ck_assert_uint_eq(lines[0].node_id, lease.node_id);
	ck_assert_uint_eq(lines[0].bytes, REGION_BYTES);
	ck_assert_uint_eq(lines[0].uid, getuid());
	ck_assert_int_eq(lines[0].pid, getpid());
	ck_assert_uint_gt(lines[0].since_realtime_usec, 0);
	ck_assert_uint_gt(lines[0].since_monotonic_usec, 0);
	daemon_lease_close(&lease);
}
END_TEST

/* Run @body as another user, on a connection of its own. To be followed by wait_other_user(). */
static pid_t start_other_user(void (*body)(struct daemon_fixture *fixture))
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct daemon_fixture other = d;

		other.client = NULL;
		if (setresgid(OTHER_UID, OTHER_UID, OTHER_UID) < 0 ||
		    setresuid(OTHER_UID, OTHER_UID, OTHER_UID) < 0)
			_exit(126);
		body(&other); /* a failed assertion ends the child with another status */
		_exit(0);
	}
	return pid;
}

static void wait_other_user(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the other user: %x", status);
}

static void as_other_user(void (*body)(struct daemon_fixture *fixture))
{
	wait_other_user(start_other_user(body));
}

static void other_may(struct daemon_fixture *fixture)
{
	scoped(freep) struct daemon_lease_line *lines = NULL;
	struct daemon_lease lease;

	scene_lease(fixture, "small", 0, NULL, &lease);
	ck_assert_uint_eq(daemon_leases(fixture, &lines), 1);
	ck_assert_uint_eq(lines[0].uid, OTHER_UID);
	ck_assert_int_eq(lines[0].pid, getpid());
	scene_write_pattern(&lease, 3);
	ck_assert_int_eq(daemon_release(fixture, lease.id, NULL), 0);
}

static void other_may_not(struct daemon_fixture *fixture)
{
	scene_refused(fixture, "small", 0, NULL, SD_BUS_ERROR_ACCESS_DENIED, "uid 65534");
}

START_TEST(test_only_users_and_groups_of_the_pool_may_lease)
{
	scene_write_pool(&d, "small", "32M", "4M", "Users=65533\n");
	(void) scene_start(&d, "small");
	as_other_user(other_may_not);
	scene_wait_pool_bytes(&d, "small", "BytesLeased", 0);

	scene_write_pool(&d, "small", "32M", "4M", "Users=65533 nobody\n");
	scene_reload(&d);
	as_other_user(other_may);
	scene_wait_pool_bytes(&d, "small", "BytesLeased", 0);

	scene_write_pool(&d, "small", "32M", "4M", "Groups=65534\n");
	scene_reload(&d);
	scene_wait_pool_bytes(&d, "small", "BytesDraining", 0);
	as_other_user(other_may);

	scene_write_pool(&d, "small", "32M", "4M", NULL);
	scene_reload(&d);
	as_other_user(other_may_not);
}
END_TEST

static char foreign_id[24];

static void release_foreign(struct daemon_fixture *fixture)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;

	ck_assert_int_lt(daemon_release(fixture, foreign_id, &error), 0);
	ck_assert_str_eq(error.name, SD_BUS_ERROR_ACCESS_DENIED);
}

START_TEST(test_a_lease_is_released_by_its_owner_and_root_only)
{
	struct daemon_lease lease;

	scene_write_pool(&d, "small", "32M", "4M", "Users=65533\n");
	(void) scene_start(&d, "small");
	scene_lease(&d, "small", 0, NULL, &lease);
	(void) snprintf(foreign_id, sizeof(foreign_id), "%s", lease.id);
	as_other_user(release_foreign);
	ck_assert_str_eq(scene_lease_state(&d, lease.id), "leased");
	daemon_lease_close(&lease);
}
END_TEST

START_TEST(test_a_quota_of_leases_is_kept_and_named)
{
	struct daemon_lease leases[2];

	daemon_write_conf(&d, "[Daemon]\nMaxLeases=2\n");
	scene_write_pool(&d, "small", "32M", "4M", NULL);
	(void) scene_start(&d, "small");
	scene_lease(&d, "small", 0, NULL, &leases[0]);
	scene_lease(&d, "small", 0, NULL, &leases[1]);
	scene_refused(&d, "small", 0, NULL, NODEINIT_ERROR_QUOTA_EXCEEDED, "2");
	scene_wait_pool_bytes(&d, "small", "BytesLeased", 2 * REGION_BYTES);

	daemon_lease_close(&leases[0]);
	scene_wait_lease_state(&d, leases[0].id, "");
	scene_lease(&d, "small", 0, NULL, &leases[0]);
	daemon_lease_close(&leases[0]);
	daemon_lease_close(&leases[1]);
}
END_TEST

START_TEST(test_a_quota_of_bytes_is_kept_and_named)
{
	struct daemon_lease lease;

	daemon_write_conf(&d, "[Daemon]\nMaxBytes=6M\n");
	scene_write_pool(&d, "small", "32M", "4M", NULL);
	(void) scene_start(&d, "small");
	scene_lease(&d, "small", 1, NULL, &lease);
	scene_refused(&d, "small", 1, NULL, NODEINIT_ERROR_QUOTA_EXCEEDED, "6 MiB");
	daemon_lease_close(&lease);
}
END_TEST

START_TEST(test_a_node_is_taken_by_preference_strictly_or_not_at_all)
{
	struct daemon_lease_options here = { .has_node = true }, strict = here, nowhere = here;
	struct daemon_lease lease;

	scene_write_pool(&d, "small", "4M", "4M", NULL);
	(void) scene_start(&d, "small");
	scene_lease(&d, "small", 0, NULL, &lease);
	here.node_id = strict.node_id = lease.node_id;
	strict.is_strict = true;
	daemon_lease_close(&lease);
	scene_wait_lease_state(&d, lease.id, "");
	scene_wait_pool_bytes(&d, "small", "BytesDone",
	                      scene_pool_bytes(&d, "small", "BytesTotal"));

	scene_lease(&d, "small", 0, &strict, &lease);
	ck_assert_uint_eq(lease.node_id, strict.node_id);
	expect_on_node(&lease, strict.node_id);
	scene_refused(&d, "small", 0, &strict, NODEINIT_ERROR_SHORTFALL, "on node");
	daemon_lease_close(&lease);

	nowhere.node_id = 4711;
	scene_refused(&d, "small", 0, &nowhere, NODEINIT_ERROR_NO_SUCH_NODE, "4711");
}
END_TEST

START_TEST(test_what_cannot_be_had_is_said_with_what_there_is)
{
	scene_write_pool(&d, "small", "32M", "4M", NULL);
	daemon_write_pool(&d, "large", "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=0p\n");
	(void) scene_start(&d, "small");
	scene_refused(&d, "small", 5 * MIB, NULL, NODEINIT_ERROR_SHORTFALL, "regions of 4 MiB");
	scene_refused(&d, "small", 5 * MIB, NULL, NODEINIT_ERROR_SHORTFALL, "5 MiB were asked for");
	scene_refused(&d, "large", 0, NULL, SD_BUS_ERROR_NOT_SUPPORTED, "hugetlb");
	scene_wait_pool_bytes(&d, "small", "BytesLeased", 0);
}
END_TEST

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	(void) ret_error;
	*(sd_bus_message **) userdata = sd_bus_message_ref(reply);
	return 0;
}

/* Ask for one and do not wait for the answer. */
static void ask(const char *pool, uint64_t bytes, const struct daemon_lease_options *options,
                sd_bus_message **answer)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *call =
		daemon_lease_call(daemon_client(&d), pool, bytes, options);

	ck_assert_int_ge(sd_bus_call_async(d.client, NULL, call, on_answer, answer, 0), 0);
}

static void wait_answer(sd_bus_message *const *answer)
{
	for (int r = 0; !*answer; r = sd_bus_process(d.client, NULL)) {
		ck_assert_int_ge(r, 0);
		if (r == 0)
			ck_assert_int_ge(sd_bus_wait(d.client, DAEMON_LIMIT_MSEC * UINT64_C(1000)),
			                 0);
	}
}

static int asked[2];

static void other_waits_and_is_refused(struct daemon_fixture *fixture)
{
	const struct daemon_lease_options waiting = { .may_wait = true };
	scoped(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
	scoped(freep) struct daemon_lease_line *lines = NULL;

	d = *fixture; /* in this process, the other user's connection */
	ask("small", 0, &waiting, &answer);
	/* answered in order: it has been read, and waits */
	ck_assert_uint_eq(daemon_leases(&d, &lines), 2);
	ck_assert_ptr_null(answer);
	ck_assert_int_eq(write(asked[1], "x", 1), 1);
	wait_answer(&answer);
	ck_assert(sd_bus_message_is_method_error(answer, SD_BUS_ERROR_ACCESS_DENIED));
}

START_TEST(test_who_waits_is_judged_by_what_a_reload_has_left_him)
{
	struct daemon_lease leases[2];
	char letter;
	pid_t pid;

	scene_write_pool(&d, "small", "8M", "4M", "Users=65534\n");
	(void) scene_start(&d, "small");
	for (size_t i = 0; i < 2; i++)
		scene_lease(&d, "small", 0, NULL, &leases[i]);
	ck_assert_int_eq(pipe(asked), 0);
	pid = start_other_user(other_waits_and_is_refused);
	(void) close(asked[1]);
	ck_assert_int_eq(read(asked[0], &letter, 1), 1);
	scene_write_pool(&d, "small", "8M", "4M", NULL);
	scene_reload(&d);
	wait_other_user(pid);
	for (size_t i = 0; i < 2; i++)
		daemon_lease_close(&leases[i]);
}
END_TEST

START_TEST(test_when_all_is_leased_one_may_wait_for_the_next)
{
	const struct daemon_lease_options waiting = { .may_wait = true };
	scoped(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
	scoped(freep) struct daemon_lease *leases = NULL;
	struct daemon_lease lease;
	size_t nr;

	scene_write_pool(&d, "small", "8M", "4M", NULL);
	nr = scene_start(&d, "small") / REGION_BYTES;
	leases = calloc(nr, sizeof(*leases));
	for (size_t i = 0; i < nr; i++)
		scene_lease(&d, "small", 0, NULL, &leases[i]);
	scene_refused(&d, "small", 0, NULL, NODEINIT_ERROR_SHORTFALL, "leased");

	ask("small", 0, &waiting, &answer);
	/* answered in order: the waiting call has been read, and is not answered */
	ck_assert_str_eq(scene_lease_state(&d, leases[0].id), "leased");
	ck_assert_ptr_null(answer);
	scene_write_pattern(&leases[0], 7);
	daemon_lease_close(&leases[0]);
	wait_answer(&answer);
	ck_assert(!sd_bus_message_is_method_error(answer, NULL));
	daemon_lease_read(answer, &lease);
	ck_assert_str_ne(lease.id, leases[0].id);
	scene_expect_zero(&lease);
	daemon_lease_close(&lease);
	for (size_t i = 1; i < nr; i++)
		daemon_lease_close(&leases[i]);
}
END_TEST

static void manager_call(const char *method)
{
	ck_assert_int_ge(daemon_call(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, method, NULL),
	                 0);
}

/* A pool that is declared while nothing may be begun. */
static void declare_paused(const char *name, const char *size, const char *region_size)
{
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	manager_call("Pause");
	scene_write_pool(&d, name, size, region_size, NULL);
	scene_reload(&d);
}

START_TEST(test_nothing_filled_yet_is_not_ready_and_one_may_wait)
{
	const struct daemon_lease_options waiting = { .may_wait = true };
	scoped(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
	struct daemon_lease lease;

	declare_paused("small", "32M", "4M");
	scene_refused(&d, "small", 0, NULL, NODEINIT_ERROR_NOT_READY, "no region ready");
	ask("small", 0, &waiting, &answer);
	manager_call("Resume");
	wait_answer(&answer);
	ck_assert(!sd_bus_message_is_method_error(answer, NULL));
	daemon_lease_read(answer, &lease);
	scene_expect_zero(&lease);
	daemon_lease_close(&lease);
}
END_TEST

/* The pool that comes later by its name has a region before the one before it is done. */
START_TEST(test_what_is_waited_for_is_filled_first)
{
	const struct daemon_lease_options waiting = { .may_wait = true };
	scoped(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
	uint64_t done_bytes, total_bytes;
	struct daemon_lease lease;

	scene_write_pool(&d, "along", "1G", "64M", NULL);
	declare_paused("later", "64M", "64M");
	ask("later", 0, &waiting, &answer);
	(void) daemon_get_bool(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Paused");
	ck_assert_ptr_null(answer);
	manager_call("Resume");
	wait_answer(&answer);
	ck_assert(!sd_bus_message_is_method_error(answer, NULL));
	daemon_lease_read(answer, &lease);
	done_bytes = scene_pool_bytes(&d, "along", "BytesDone");
	total_bytes = scene_pool_bytes(&d, "along", "BytesTotal");
	ck_assert_msg(done_bytes < total_bytes / 2, "%llu of %llu bytes were first",
	              (unsigned long long) done_bytes, (unsigned long long) total_bytes);
	daemon_lease_close(&lease);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon-lease");
	TCase *tc = tcase_create("lease");

	bus_fixture_require();
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_a_lease_is_zeroed_memory_of_its_node_and_no_one_elses);
	/* a tmpfs of huge pages is root's */
	if (geteuid() == 0)
		tcase_add_test(tc, test_a_lease_of_transparent_huge_pages_is_the_same);
	tcase_add_test(tc, test_the_list_says_who_has_what_since_when);
	/* only root can become somebody else */
	if (geteuid() == 0) {
		tcase_add_test(tc, test_only_users_and_groups_of_the_pool_may_lease);
		tcase_add_test(tc, test_who_waits_is_judged_by_what_a_reload_has_left_him);
		tcase_add_test(tc, test_a_lease_is_released_by_its_owner_and_root_only);
	}
	tcase_add_test(tc, test_a_quota_of_leases_is_kept_and_named);
	tcase_add_test(tc, test_a_quota_of_bytes_is_kept_and_named);
	tcase_add_test(tc, test_a_node_is_taken_by_preference_strictly_or_not_at_all);
	tcase_add_test(tc, test_what_cannot_be_had_is_said_with_what_there_is);
	tcase_add_test(tc, test_when_all_is_leased_one_may_wait_for_the_next);
	tcase_add_test(tc, test_nothing_filled_yet_is_not_ready_and_one_may_wait);
	tcase_add_test(tc, test_what_is_waited_for_is_filled_first);
	suite_add_tcase(suite, tc);
	return suite_main(suite);
}
