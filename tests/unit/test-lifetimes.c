/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../../daemon/lease/lifetimes.h"
#include "book-world.h"
#include "suite.h"

static struct lifetimes *make(void)
{
	struct lifetimes *lifetimes;

	ck_assert_int_eq(lifetimes_new(&lifetimes), 0);
	return lifetimes;
}

/* Return: the other end. */
static int add(struct lifetimes *lifetimes, uint64_t id)
{
	int ours, theirs;

	ck_assert_int_eq(lifetime_pipe(&ours, &theirs), 0);
	ck_assert(!lifetime_has_ended(ours));
	ck_assert_int_eq(lifetimes_add(lifetimes, id, ours), 0);
	return theirs;
}

/* Whether the loop would be woken up. */
static bool is_readable(const struct lifetimes *lifetimes)
{
	struct pollfd look = { .fd = lifetimes_fd(lifetimes), .events = POLLIN };

	return poll(&look, 1, 0) == 1;
}

static void expect_quiet(struct lifetimes *lifetimes)
{
	uint64_t id = 7;

	ck_assert(!is_readable(lifetimes));
	ck_assert_int_eq(lifetimes_next_ended(lifetimes, &id), 0);
	ck_assert_uint_eq(id, 7);
}

static void expect_ended(struct lifetimes *lifetimes, uint64_t expected)
{
	uint64_t id = 0;

	ck_assert(is_readable(lifetimes));
	ck_assert_int_eq(lifetimes_next_ended(lifetimes, &id), 1);
	ck_assert_uint_eq(id, expected);
}

START_TEST(test_a_lease_ends_when_every_copy_is_closed)
{
	scoped(lifetimes_freep) struct lifetimes *lifetimes = make();
	int theirs = add(lifetimes, 5), copy = dup(theirs), other = add(lifetimes, 6);
	char path[64];
	int again;

	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", theirs);
	again = open(path, O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(again, 0);
	expect_quiet(lifetimes);
	(void) close(theirs);
	expect_quiet(lifetimes);
	(void) close(copy);
	expect_quiet(lifetimes);
	(void) close(again);
	ck_assert_uint_eq(lifetimes_nr(lifetimes), 2);
	expect_ended(lifetimes, 5);
	ck_assert_uint_eq(lifetimes_nr(lifetimes), 1);
	expect_quiet(lifetimes);
	(void) close(other);
	expect_ended(lifetimes, 6);
}
END_TEST

START_TEST(test_a_lease_outlives_its_process_while_a_child_has_it)
{
	scoped(lifetimes_freep) struct lifetimes *lifetimes = make();
	int theirs = add(lifetimes, 5), gate[2];
	uint64_t id;
	pid_t child;

	ck_assert_int_eq(pipe2(gate, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		char byte;

		(void) close(gate[1]);
		_exit(read(gate[0], &byte, 1) != 0);
	}
	(void) close(theirs);
	expect_quiet(lifetimes);
	(void) close(gate[1]);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	(void) close(gate[0]);
	ck_assert_int_eq(lifetimes_next_ended(lifetimes, &id), 1);
}
END_TEST

START_TEST(test_what_a_client_writes_wakes_nobody_and_ends_nothing)
{
	scoped(lifetimes_freep) struct lifetimes *lifetimes = make();
	int theirs = add(lifetimes, 5);
	char path[64], bytes[4096] = { 0 };
	int reader;

	ck_assert_int_eq(write(theirs, bytes, 1), 1);
	expect_quiet(lifetimes);
	/* Until it is full. */
	ck_assert_int_eq(fcntl(theirs, F_SETFL, O_NONBLOCK), 0);
	while (write(theirs, bytes, sizeof(bytes)) > 0)
		;
	ck_assert_int_eq(errno, EAGAIN);
	expect_quiet(lifetimes);
	/* It becomes a reader, too, and takes all out again. */
	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", theirs);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_ge(reader, 0);
	expect_quiet(lifetimes);
	while (read(reader, bytes, sizeof(bytes)) > 0)
		;
	expect_quiet(lifetimes);
	ck_assert_int_eq(write(theirs, bytes, 1), 1);
	/* A reader is no copy of the writing end. */
	(void) close(theirs);
	expect_ended(lifetimes, 5);
	expect_quiet(lifetimes);
	(void) close(reader);
}
END_TEST

START_TEST(test_an_end_that_has_hung_up_already_is_told_at_once)
{
	scoped(lifetimes_freep) struct lifetimes *lifetimes = make();
	int ours, theirs;

	ck_assert_int_eq(lifetime_pipe(&ours, &theirs), 0);
	ck_assert_int_eq(write(theirs, "x", 1), 1);
	ck_assert(!lifetime_has_ended(ours));
	(void) close(theirs);
	ck_assert(lifetime_has_ended(ours));
	ck_assert_int_eq(lifetimes_add(lifetimes, 9, ours), 0);
	expect_ended(lifetimes, 9);
}
END_TEST

/* The service manager has a duplicate, so closing ours does not end the watch by itself. */
START_TEST(test_what_ended_or_was_removed_is_told_no_more_while_a_duplicate_exists)
{
	scoped(lifetimes_freep) struct lifetimes *lifetimes = make();
	int ours[2], theirs[2], duplicate[2];

	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(lifetime_pipe(&ours[i], &theirs[i]), 0);
		duplicate[i] = dup(ours[i]);
		ck_assert_int_eq(lifetimes_add(lifetimes, 5 + i, ours[i]), 0);
	}
	(void) close(theirs[0]);
	expect_ended(lifetimes, 5);
	expect_quiet(lifetimes);
	lifetimes_remove(lifetimes, 6);
	(void) close(theirs[1]);
	expect_quiet(lifetimes);
	ck_assert_uint_eq(lifetimes_nr(lifetimes), 0);
	lifetimes_remove(lifetimes, 6); /* harmless */
	ck_assert_int_eq(fcntl(ours[0], F_GETFD), -1);
	ck_assert_int_eq(fcntl(ours[1], F_GETFD), -1);
	(void) close(duplicate[0]);
	(void) close(duplicate[1]);
}
END_TEST

START_TEST(test_both_ends_are_closed_on_exec_and_ours_never_blocks)
{
	int ours, theirs;
	char byte;

	ck_assert_int_eq(lifetime_pipe(&ours, &theirs), 0);
	ck_assert_int_eq(fcntl(ours, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert_int_eq(fcntl(theirs, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	ck_assert_int_eq(fcntl(theirs, F_GETFL) & O_ACCMODE, O_WRONLY);
	ck_assert_int_eq(read(ours, &byte, 1), -1);
	ck_assert_int_eq(errno, EAGAIN);
	(void) close(ours);
	(void) close(theirs);
}
END_TEST

START_TEST(test_what_cannot_be_watched_is_closed_and_not_told)
{
	scoped(lifetimes_freep) struct lifetimes *lifetimes = make();
	size_t nr_fds = world_nr_fds();
	/* epoll(7) does not watch regular files. */
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(lifetimes_add(lifetimes, 5, fd), -EPERM);
	ck_assert_uint_eq(lifetimes_nr(lifetimes), 0);
	ck_assert_uint_eq(world_nr_fds(), nr_fds);
	(void) close(add(lifetimes, 5));
	expect_ended(lifetimes, 5);
}
END_TEST

START_TEST(test_without_descriptors_there_is_no_pipe)
{
	struct rlimit limit, none;
	struct lifetimes *lifetimes = NULL;
	int ours = 7, theirs = 8, r;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 3;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	r = lifetime_pipe(&ours, &theirs);
	ck_assert_int_eq(lifetimes_new(&lifetimes), -EMFILE);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(r, -EMFILE);
	ck_assert_int_eq(ours, 7);
	ck_assert_int_eq(theirs, 8);
	ck_assert_ptr_null(lifetimes);
	ck_assert_ptr_null(lifetimes_free(NULL));
}
END_TEST

enum { NR_CLIENTS = 10, NR_EACH = 1000 };

/* A client of its own has the other ends, until its gate is closed. Return: the gate. */
static int start_client(struct lifetimes *lifetimes, uint64_t first_id, pid_t *ret_child)
{
	int theirs[NR_EACH], gate[2];

	for (unsigned i = 0; i < NR_EACH; i++)
		theirs[i] = add(lifetimes, first_id + i);
	ck_assert_int_eq(pipe2(gate, O_CLOEXEC), 0);
	*ret_child = fork();
	ck_assert_int_ge(*ret_child, 0);
	if (*ret_child == 0) {
		char byte;

		(void) close(gate[1]);
		_exit(read(gate[0], &byte, 1) != 0);
	}
	(void) close(gate[0]);
	for (unsigned i = 0; i < NR_EACH; i++)
		(void) close(theirs[i]);
	return gate[1];
}

START_TEST(test_ten_thousand_are_watched_and_each_end_is_told_once)
{
	static bool is_told[NR_CLIENTS * NR_EACH];
	size_t nr_fds = world_nr_fds();
	struct lifetimes *lifetimes = make();
	int gates[NR_CLIENTS];
	pid_t children[NR_CLIENTS];
	struct rlimit limit;
	uint64_t id;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	/* Gates of earlier clients are copied by fork: the last one has to end first. */
	for (unsigned n = 0; n < NR_CLIENTS; n++)
		gates[n] = start_client(lifetimes, 1 + n * NR_EACH, &children[n]);
	ck_assert_uint_eq(lifetimes_nr(lifetimes), NR_CLIENTS * NR_EACH);
	expect_quiet(lifetimes);
	for (unsigned n = NR_CLIENTS; n-- > 0;) {
		(void) close(gates[n]);
		ck_assert_int_eq(waitpid(children[n], NULL, 0), children[n]);
		for (unsigned i = 0; i < NR_EACH; i++) {
			ck_assert_int_eq(lifetimes_next_ended(lifetimes, &id), 1);
			ck_assert_uint_eq((id - 1) / NR_EACH, n);
			ck_assert(!is_told[id - 1]);
			is_told[id - 1] = true;
		}
		expect_quiet(lifetimes);
	}
	/* Those that are watched at the end are closed. */
	(void) close(add(lifetimes, 5));
	lifetimes = lifetimes_free(lifetimes);
	ck_assert_uint_eq(world_nr_fds(), nr_fds);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lifetimes");
	TCase *tcase = tcase_create("lifetimes");

	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, test_a_lease_ends_when_every_copy_is_closed);
	tcase_add_test(tcase, test_a_lease_outlives_its_process_while_a_child_has_it);
	tcase_add_test(tcase, test_what_a_client_writes_wakes_nobody_and_ends_nothing);
	tcase_add_test(tcase, test_an_end_that_has_hung_up_already_is_told_at_once);
	tcase_add_test(tcase,
	               test_what_ended_or_was_removed_is_told_no_more_while_a_duplicate_exists);
	tcase_add_test(tcase, test_both_ends_are_closed_on_exec_and_ours_never_blocks);
	tcase_add_test(tcase, test_what_cannot_be_watched_is_closed_and_not_told);
	tcase_add_test(tcase, test_without_descriptors_there_is_no_pipe);
	tcase_add_test(tcase, test_ten_thousand_are_watched_and_each_end_is_told_once);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
