/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A store that gives back what no nodeinitd ever put there: the daemon starts all the same. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "../../dbus/names.h"
#include "hostile-scene.h"
#include "suite.h"

/* --- descriptors of every kind but the right one; -1 is never returned --- */

static int open_pipe(int keep)
{
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	(void) close(ends[!keep]);
	return ends[keep];
}

static int odd_pipe_to_read(void)
{
	return open_pipe(0);
}

static int odd_pipe_to_write(void)
{
	return open_pipe(1);
}

static int odd_fifo(void)
{
	char path[] = "/tmp/nodeinit-fifo-XXXXXX";
	int fd;

	ck_assert_ptr_nonnull(mktemp(path));
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	(void) unlink(path);
	return fd;
}

static int odd_directory(void)
{
	return open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int odd_device(void)
{
	return open("/dev/zero", O_RDWR | O_CLOEXEC);
}

static int odd_path(void)
{
	return open("/dev/null", O_PATH | O_CLOEXEC);
}

static int odd_socket(void)
{
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
	(void) close(ends[1]);
	return ends[0];
}

static int odd_listener(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(listen(fd, 1), 0);
	return fd;
}

static int odd_epoll(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

static int odd_event(void)
{
	return eventfd(0, EFD_CLOEXEC);
}

static int odd_empty(void)
{
	return memfd_create("odd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

static int odd_sparse(void)
{
	int fd = memfd_create("odd", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_eq(ftruncate(fd, (off_t) 1 << 40), 0);
	return fd;
}

static int odd_written(void)
{
	int fd = memfd_create("odd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char bytes[4096];

	memset(bytes, 0xa5, sizeof(bytes));
	ck_assert_int_eq(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL), 0);
	return fd;
}

static int odd_process(void)
{
	return open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
}

#define NR_ODD_PIPES 3 /* the first ones */

static int (*const odd_descriptors[])(void) = {
	odd_pipe_to_read, odd_pipe_to_write, odd_fifo,     odd_directory, odd_device,
	odd_path,         odd_socket,        odd_listener, odd_epoll,     odd_event,
	odd_empty,        odd_sparse,        odd_written,  odd_process,
};

static void put_odd(const char *name, int (*make)(void))
{
	int fd = make();

	ck_assert_int_ge(fd, 0);
	daemon_store_put(&d, name, fd);
	(void) close(fd);
}

/* In the place of what is kept under @name. */
static void replace(const char *name, int (*make)(void))
{
	ck_assert_uint_ge(daemon_store_drop(&d, name, SIZE_MAX, 0), 1);
	put_odd(name, make);
}

static void start_again(void)
{
	ck_assert_uint_eq(scene_start(&d, POOL), total_bytes);
	scene_wait_pool_bytes(&d, POOL, "BytesDone", total_bytes);
}

static void expect_usable(void)
{
	struct daemon_lease lease;

	scene_lease(&d, POOL, 0, NULL, &lease);
	scene_expect_zero(&lease);
	daemon_lease_close(&lease);
	scene_wait_lease_state(&d, lease.id, "");
	ck_assert_int_eq(daemon_end(&d, SIGTERM), 0);
}

START_TEST(test_a_record_that_is_no_file_of_ours_is_made_anew)
{
	struct daemon_lease lease;

	scene_lease(&d, POOL, 0, NULL, &lease);
	scene_write_pattern(&lease, 1);
	(void) daemon_end(&d, SIGKILL);
	replace("state", odd_descriptors[_i]);
	start_again();
	scene_expect_pattern(&lease, 1);
	daemon_lease_close(&lease);
	expect_usable();
}
END_TEST

START_TEST(test_a_ready_region_that_is_none_is_filled_again)
{
	scoped(freep) char *names = NULL;
	char *first;

	(void) daemon_end(&d, SIGKILL);
	names = daemon_store_names(&d);
	first = strstr(names, "region-");
	ck_assert_ptr_nonnull(first);
	*strchr(first, '\n') = '\0';
	replace(first, odd_descriptors[_i]);
	start_again();
	expect_usable();
}
END_TEST

/* What is no pipe would keep the lease for ever. */
START_TEST(test_a_lifetime_that_is_none_has_ended)
{
	struct daemon_lease lease;

	scene_lease(&d, POOL, 0, NULL, &lease);
	(void) daemon_end(&d, SIGKILL);
	replace("lifetime-0*", odd_descriptors[_i]);
	daemon_lease_close(&lease);
	start_again();
	scene_wait_lease_state(&d, lease.id, "");
	expect_usable();
}
END_TEST

static const char *const odd_names[] = {
	"stored",
	"region-",
	"region-1",
	"region-000000000000000g",
	"region-0000000000000000",
	"region-ffffffffffffffff",
	"region-00000000000000001",
	"lifetime-",
	"lifetime-00000000deadbeef",
	"State",
	"state ",
	"../state",
	"\xff\xfe",
	"%s%n%n",
	"a-name-of-255-characters-"
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	"xxxxx"
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
};

START_TEST(test_what_nobody_knows_is_closed_and_taken_out)
{
	struct daemon_lease lease;

	scene_lease(&d, POOL, 0, NULL, &lease);
	(void) daemon_end(&d, SIGKILL);
	for (size_t i = 0; i < ELEMENTS(odd_names); i++)
		put_odd(odd_names[i], odd_descriptors[i % ELEMENTS(odd_descriptors)]);
	daemon_store_shuffle(&d, 3);
	start_again();
	ck_assert_str_eq(scene_lease_state(&d, lease.id), "leased");
	for (size_t i = 0; i < ELEMENTS(odd_names); i++)
		daemon_store_wait(&d, odd_names[i], 0);
	daemon_lease_close(&lease);
	scene_wait_lease_state(&d, lease.id, "");
	expect_usable();
}
END_TEST

START_TEST(test_a_start_that_fails_forgets_neither_leases_nor_regions)
{
	struct daemon_lease lease;

	scene_lease(&d, POOL, 0, NULL, &lease);
	scene_write_pattern(&lease, 1);
	(void) daemon_end(&d, SIGKILL);
	d.client = sd_bus_flush_close_unref(d.client);
	bus_fixture_kill(&d.bus);
	daemon_launch(&d, NULL);
	ck_assert_int_eq(daemon_wait_end(&d), 1);
	bus_fixture_revive(&d.bus);
	ck_assert_uint_eq(daemon_store_nr(&d, "region-*"), total_bytes / REGION_BYTES);
	start_again();
	ck_assert_str_eq(scene_lease_state(&d, lease.id), "leased");
	scene_expect_pattern(&lease, 1);
	daemon_lease_close(&lease);
	scene_wait_lease_state(&d, lease.id, "");
	expect_usable();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("odd store");
	TCase *odd = tcase_create("odd");

	bus_fixture_require();
	tcase_add_checked_fixture(odd, setup, teardown);
	tcase_set_timeout(odd, 60);
	tcase_add_loop_test(odd, test_a_record_that_is_no_file_of_ours_is_made_anew, 0,
	                    (int) ELEMENTS(odd_descriptors));
	tcase_add_loop_test(odd, test_a_ready_region_that_is_none_is_filled_again, 0,
	                    (int) ELEMENTS(odd_descriptors));
	tcase_add_loop_test(odd, test_a_lifetime_that_is_none_has_ended, NR_ODD_PIPES,
	                    (int) ELEMENTS(odd_descriptors));
	tcase_add_test(odd, test_what_nobody_knows_is_closed_and_taken_out);
	tcase_add_test(odd, test_a_start_that_fails_forgets_neither_leases_nor_regions);
	suite_add_tcase(suite, odd);
	return suite_main(suite);
}
