/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a lessee may do to its two descriptors. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "../../dbus/names.h"
#include "hostile-scene.h"
#include "suite.h"

static void fill_pipe(int fd)
{
	char bytes[4096] = "";

	ck_assert_int_eq(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	ck_assert_int_eq(errno, EAGAIN);
}

START_TEST(test_what_is_written_into_a_lifetime_neither_ends_nor_keeps_it)
{
	struct daemon_lease lease;
	uint64_t ticks;

	scene_lease(&d, POOL, 0, NULL, &lease);
	fill_pipe(lease.lifetime_fd);
	ticks = daemon_proc_status(&d, "voluntary_ctxt_switches");
	ck_assert_str_eq(scene_lease_state(&d, lease.id), "leased");
	/* it does not spin upon what nobody reads */
	ck_assert_uint_lt(daemon_proc_status(&d, "voluntary_ctxt_switches") - ticks, 50);
	daemon_lease_close(&lease);
	expect_as_at_start();
}
END_TEST

/* Put @fd into the queue of @socket. */
static void send_fd(int socket, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr alignment;
	} control = { 0 };
	char text[] = "x";
	struct iovec byte = { text, 1 };
	struct msghdr message = { .msg_iov = &byte,
		                  .msg_iovlen = 1,
		                  .msg_control = control.bytes,
		                  .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	ck_assert_int_eq(sendmsg(socket, &message, MSG_NOSIGNAL), 1);
}

START_TEST(test_a_lease_in_a_socket_that_is_in_its_own_queue_ends)
{
	struct daemon_lease lease;
	int ends[2], more[2];

	scene_lease(&d, POOL, 0, NULL, &lease);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	send_fd(ends[0], lease.lifetime_fd);
	send_fd(ends[0], lease.memory_fd);
	send_fd(ends[0], ends[1]);
	daemon_lease_close(&lease);
	ck_assert_str_eq(scene_lease_state(&d, lease.id), "leased");
	(void) close(ends[0]);
	(void) close(ends[1]);
	/* the kernel collects such when the next socket of the kind is closed */
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, more), 0);
	(void) close(more[0]);
	(void) close(more[1]);
	expect_as_at_start();
}
END_TEST

#define NR_HOLDERS 200

START_TEST(test_a_lease_lasts_as_long_as_one_of_many_processes_has_it)
{
	struct daemon_lease lease;
	pid_t pids[NR_HOLDERS];

	scene_lease(&d, POOL, 0, NULL, &lease);
	for (unsigned i = 0; i < NR_HOLDERS; i++) {
		pids[i] = fork();
		ck_assert_int_ge(pids[i], 0);
		if (pids[i] == 0) {
			(void) pause();
			_exit(0);
		}
	}
	daemon_lease_close(&lease);
	for (unsigned i = 0; i < NR_HOLDERS; i++) {
		if (i + 1 == NR_HOLDERS)
			ck_assert_str_eq(scene_lease_state(&d, lease.id), "leased");
		ck_assert_int_eq(kill(pids[i], SIGKILL), 0);
		ck_assert_int_eq(waitpid(pids[i], NULL, 0), pids[i]);
	}
	expect_as_at_start();
}
END_TEST

#define NR_OPENED 2000

START_TEST(test_memory_that_is_opened_many_times_drains_until_the_last)
{
	struct daemon_lease lease;
	int fds[NR_OPENED];
	char path[64];

	scene_lease(&d, POOL, 0, NULL, &lease);
	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", lease.memory_fd);
	for (unsigned i = 0; i < NR_OPENED; i++) {
		fds[i] = open(path, (i % 2 ? O_RDONLY : O_RDWR) | O_CLOEXEC);
		ck_assert_int_ge(fds[i], 0);
	}
	daemon_lease_close(&lease);
	for (unsigned i = 0; i + 1 < NR_OPENED; i++)
		(void) close(fds[i]);
	scene_wait_lease_state(&d, lease.id, "draining");
	scene_wait_pool_bytes(&d, POOL, "BytesDraining", REGION_BYTES);
	(void) close(fds[NR_OPENED - 1]);
	expect_as_at_start();
}
END_TEST

START_TEST(test_a_lessee_that_is_stopped_keeps_its_lease_and_holds_nobody_up)
{
	struct daemon_lease lease, other;
	pid_t pid;

	scene_lease(&d, POOL, 0, NULL, &lease);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void) raise(SIGSTOP);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, NULL, WUNTRACED), pid);
	daemon_lease_close(&lease);
	scene_lease(&d, POOL, 0, NULL, &other);
	daemon_lease_close(&other);
	ck_assert_str_eq(scene_lease_state(&d, lease.id), "leased");
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	expect_as_at_start();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hostile lessees");
	TCase *all = tcase_create("all");

	bus_fixture_require();
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_set_timeout(all, 120);
	tcase_add_test(all, test_what_is_written_into_a_lifetime_neither_ends_nor_keeps_it);
	tcase_add_test(all, test_a_lease_in_a_socket_that_is_in_its_own_queue_ends);
	tcase_add_test(all, test_a_lease_lasts_as_long_as_one_of_many_processes_has_it);
	tcase_add_test(all, test_memory_that_is_opened_many_times_drains_until_the_last);
	tcase_add_test(all, test_a_lessee_that_is_stopped_keeps_its_lease_and_holds_nobody_up);
	suite_add_tcase(suite, all);
	return suite_main(suite);
}
