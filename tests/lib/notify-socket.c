/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "notify-socket.h"

#define MESSAGE_BYTES_MAX 4096
#define FDS_MAX           253   /* of one message: SCM_MAX_FD */
#define STORE_MAX         16384 /* as the unit has it */

/* One message, as far as the store is concerned. */
struct message {
	bool is_store;
	bool is_removal;
	bool is_unwatched;
	const char *name;
	int fds[FDS_MAX];
	size_t nr_fds;
};

static void keep_line(struct notify_socket *socket, const char *line)
{
	size_t bytes = strlen(line);
	char *grown = realloc(socket->text, socket->text_bytes + bytes + 2);

	if (!grown)
		abort();
	memcpy(grown + socket->text_bytes, line, bytes);
	socket->text_bytes += bytes;
	grown[socket->text_bytes++] = '\n';
	grown[socket->text_bytes] = '\0';
	socket->text = grown;
}

static void read_line(struct notify_socket *socket, struct message *message, const char *line)
{
	if (strcmp(line, "FDSTORE=1") == 0)
		message->is_store = true;
	else if (strcmp(line, "FDSTOREREMOVE=1") == 0)
		message->is_removal = true;
	else if (strcmp(line, "FDPOLL=0") == 0)
		message->is_unwatched = true;
	else if (strncmp(line, "FDNAME=", 7) == 0)
		message->name = line + 7;
	else if (strcmp(line, "BARRIER=1") != 0)
		keep_line(socket, line);
}

static void take_fds(struct msghdr *header, struct message *message)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		message->nr_fds = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(message->fds, CMSG_DATA(part), message->nr_fds * sizeof(int));
	}
}

static void obey(struct notify_socket *socket, const struct message *message)
{
	struct fd_store *store = &socket->store;

	if (message->is_removal && message->name)
		fd_store_forget(store, message->name);
	for (size_t i = 0; i < message->nr_fds; i++) {
		/* a barrier is told by closing it */
		if (message->is_store)
			fd_store_add(store, message->name ? message->name : "stored",
			             message->fds[i], !message->is_unwatched);
		else
			(void) close(message->fds[i]);
	}
}

/* With the lock: take in one message if there is one. Return: whether there was. */
static bool take_message(struct notify_socket *socket)
{
	union {
		struct cmsghdr header; /* for its alignment */
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control;
	char text[MESSAGE_BYTES_MAX + 1], *rest = text, *line;
	struct iovec iov = { text, MESSAGE_BYTES_MAX };
	struct msghdr header = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct message message = { 0 };
	ssize_t nr = recvmsg(socket->fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (nr < 0)
		return false;
	text[nr] = '\0';
	take_fds(&header, &message);
	while ((line = strsep(&rest, "\n")))
		read_line(socket, &message, line);
	obey(socket, &message);
	return true;
}

static void *listen_main(void *arg)
{
	struct notify_socket *socket = arg;
	struct pollfd poll_fds[] = {
		{ .fd = socket->fd, .events = POLLIN },
		{ .fd = socket->stop_fd, .events = POLLIN },
	};

	while (poll(poll_fds, 2, -1) >= 0 && !poll_fds[1].revents) {
		notify_socket_lock(socket);
		(void) pthread_cond_broadcast(&socket->news);
		notify_socket_unlock(socket);
	}
	return NULL;
}

static void start_thread(struct notify_socket *socket)
{
	pthread_condattr_t attributes;
	sigset_t all, before;

	(void) pthread_condattr_init(&attributes);
	(void) pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void) pthread_cond_init(&socket->news, &attributes);
	(void) pthread_condattr_destroy(&attributes);
	(void) pthread_mutex_init(&socket->lock, NULL);

	(void) sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	ck_assert_int_eq(pthread_create(&socket->thread, NULL, listen_main, socket), 0);
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void notify_socket_open(struct notify_socket *notify, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	*notify = (struct notify_socket){ .store.max_nr = STORE_MAX };
	ck_assert_uint_lt(strlen(path), sizeof(address.sun_path));
	(void) snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(notify->fd, 0);
	ck_assert_int_eq(bind(notify->fd, (struct sockaddr *) &address, sizeof(address)), 0);
	notify->stop_fd = eventfd(0, EFD_CLOEXEC);
	ck_assert_int_ge(notify->stop_fd, 0);
	start_thread(notify);
	notify->is_open = true;
}

void notify_socket_close(struct notify_socket *socket)
{
	if (!socket->is_open)
		return;
	(void) eventfd_write(socket->stop_fd, 1);
	(void) pthread_join(socket->thread, NULL);
	(void) pthread_cond_destroy(&socket->news);
	(void) pthread_mutex_destroy(&socket->lock);
	(void) fd_close(socket->stop_fd);
	(void) fd_close(socket->fd);
	fd_store_clear(&socket->store);
	free(socket->text);
	*socket = (struct notify_socket){ 0 };
}

void notify_socket_lock(struct notify_socket *socket)
{
	(void) pthread_mutex_lock(&socket->lock);
	while (take_message(socket))
		;
	fd_store_settle(&socket->store);
}

void notify_socket_unlock(struct notify_socket *socket)
{
	(void) pthread_mutex_unlock(&socket->lock);
}

bool notify_socket_wait(struct notify_socket *socket, uint64_t end_usec)
{
	struct timespec end = {
		.tv_sec = (time_t) (end_usec / 1000000),
		.tv_nsec = (long) (end_usec % 1000000) * 1000,
	};

	return pthread_cond_timedwait(&socket->news, &socket->lock, &end) != ETIMEDOUT;
}
