/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the service manager is told arrives, also from a process that has no descriptor left. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "../../daemon/fdstore.h"
#include "../../daemon/service-socket.h"
#include "notify-socket.h"
#include "suite.h"

#define NAME "region-0000000000000001"

static char directory[] = "/tmp/nodeinit-service-XXXXXX";
static char path[64];
static struct notify_socket manager;

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(directory));
	(void) snprintf(path, sizeof(path), "%s/notify", directory);
	notify_socket_open(&manager, path);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", path, 1), 0);
}

static void teardown(void)
{
	service_socket_close();
	notify_socket_close(&manager);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(directory), 0);
}

static bool was_told(const char *line)
{
	bool was;

	notify_socket_lock(&manager);
	was = manager.text && strcmp(manager.text, line) == 0;
	notify_socket_unlock(&manager);
	return was;
}

/* Whether exactly that is in the store. */
static bool is_stored(const char *name, int fd)
{
	const struct fd_store *store = &manager.store;
	struct stat st;
	bool is;

	ck_assert_int_eq(fstat(fd, &st), 0);
	notify_socket_lock(&manager);
	is = store->nr == 1 && strcmp(store->entries[0].name, name) == 0 &&
	     store->entries[0].inode == st.st_ino && !store->entries[0].is_watched;
	notify_socket_unlock(&manager);
	return is;
}

static size_t nr_stored(void)
{
	size_t nr;

	notify_socket_lock(&manager);
	nr = manager.store.nr;
	notify_socket_unlock(&manager);
	return nr;
}

/* In a process that cannot open any more, as who takes the messages in needs descriptors. Return:
 * what @act returned. */
static int without_descriptors(int (*act)(int fd), int fd)
{
	pid_t pid = fork();
	int status;

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct rlimit none = { 0, 0 };

		if (setrlimit(RLIMIT_NOFILE, &none) < 0 || dup(fd) >= 0)
			_exit(255);
		_exit(-act(fd));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_ne(WEXITSTATUS(status), 255);
	return -WEXITSTATUS(status);
}

static int say_hello(int fd)
{
	(void) fd;
	return service_socket_send("STATUS=hello", -1);
}

static int put(int fd)
{
	return fdstore_ops()->put(NULL, NAME, fd);
}

static int take_out(int fd)
{
	(void) fd;
	fdstore_ops()->remove(NULL, NAME);
	return 0;
}

START_TEST(test_a_message_needs_no_free_descriptor)
{
	service_socket_open();
	ck_assert_int_eq(without_descriptors(say_hello, STDIN_FILENO), 0);
	ck_assert(was_told("STATUS=hello\n"));
}
END_TEST

START_TEST(test_a_descriptor_is_put_in_and_taken_out_without_a_free_one)
{
	scoped(fd_closep) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	service_socket_open();
	ck_assert_int_eq(without_descriptors(put, fd), 0);
	ck_assert(is_stored(NAME, fd));
	ck_assert_int_eq(without_descriptors(take_out, fd), 0);
	ck_assert_uint_eq(nr_stored(), 0);
}
END_TEST

START_TEST(test_where_no_socket_is_kept_every_message_has_its_own)
{
	scoped(fd_closep) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(without_descriptors(say_hello, fd), -EMFILE);
	ck_assert_int_eq(say_hello(-1), 0);
	ck_assert(was_told("STATUS=hello\n"));
	ck_assert_int_eq(put(fd), 0);
	ck_assert(is_stored(NAME, fd));
}
END_TEST

/* The lowest descriptor that is free. */
static int free_fd(void)
{
	scoped(fd_closep) int fd = dup(STDIN_FILENO);

	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(test_one_that_was_closed_is_not_used_any_more)
{
	int fd = free_fd();

	service_socket_open();
	ck_assert_int_ne(free_fd(), fd);
	service_socket_close();
	ck_assert_int_eq(free_fd(), fd);
	ck_assert_int_eq(without_descriptors(say_hello, STDIN_FILENO), -EMFILE);
	ck_assert_int_eq(say_hello(-1), 0);
}
END_TEST

START_TEST(test_a_manager_that_makes_its_socket_anew_is_reached)
{
	service_socket_open();
	ck_assert_int_eq(say_hello(-1), 0);
	notify_socket_close(&manager);
	ck_assert_int_eq(say_hello(-1), -ECONNREFUSED);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(say_hello(-1), -ENOENT);
	notify_socket_open(&manager, path);
	ck_assert_int_eq(say_hello(-1), 0);
	ck_assert(was_told("STATUS=hello\n"));
}
END_TEST

START_TEST(test_an_abstract_address_is_reached)
{
	scoped(fd_closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t address_bytes = sizeof(address);
	char name[sizeof(address.sun_path) + 1] = "@", text[32];

	/* the kernel chooses one that nobody has */
	ck_assert_int_eq(bind(fd, (struct sockaddr *) &address, sizeof(sa_family_t)), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *) &address, &address_bytes), 0);
	memcpy(name + 1, address.sun_path + 1, address_bytes - sizeof(sa_family_t) - 1);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
	service_socket_open();
	ck_assert_int_eq(without_descriptors(say_hello, STDIN_FILENO), 0);
	ck_assert_int_eq(recv(fd, text, sizeof(text), MSG_DONTWAIT), strlen("STATUS=hello"));
	ck_assert_int_eq(strncmp(text, "STATUS=hello", strlen("STATUS=hello")), 0);
}
END_TEST

START_TEST(test_an_address_that_is_none_is_an_error_and_nobody_to_tell_is_not)
{
	char longer[sizeof(((struct sockaddr_un *) NULL)->sun_path) + 2];

	service_socket_open();
	/* where the path does lead, from here */
	ck_assert_int_eq(chdir(directory), 0);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", "notify", 1), 0);
	ck_assert_int_lt(say_hello(-1), 0);
	memset(longer, '/', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", longer, 1), 0);
	ck_assert_int_lt(say_hello(-1), 0);
	ck_assert_int_eq(unsetenv("NOTIFY_SOCKET"), 0);
	ck_assert_int_eq(say_hello(-1), 0);
	ck_assert(!was_told("STATUS=hello\n"));
}
END_TEST

START_TEST(test_no_socket_is_kept_where_there_is_nobody_to_tell)
{
	int fd = free_fd();

	ck_assert_int_eq(unsetenv("NOTIFY_SOCKET"), 0);
	service_socket_open();
	ck_assert_int_eq(free_fd(), fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("service-socket");
	TCase *all = tcase_create("all");

	tcase_set_timeout(all, 60);
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_add_test(all, test_a_message_needs_no_free_descriptor);
	tcase_add_test(all, test_a_descriptor_is_put_in_and_taken_out_without_a_free_one);
	tcase_add_test(all, test_where_no_socket_is_kept_every_message_has_its_own);
	tcase_add_test(all, test_one_that_was_closed_is_not_used_any_more);
	tcase_add_test(all, test_a_manager_that_makes_its_socket_anew_is_reached);
	tcase_add_test(all, test_an_abstract_address_is_reached);
	tcase_add_test(all, test_an_address_that_is_none_is_an_error_and_nobody_to_tell_is_not);
	tcase_add_test(all, test_no_socket_is_kept_where_there_is_nobody_to_tell);
	suite_add_tcase(suite, all);
	return suite_main(suite);
}
