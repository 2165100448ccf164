/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * notify-socket.h - the service manager's end of NOTIFY_SOCKET, and its store of descriptors
 *
 * Such a socket has room for a few messages only, and who sends to a full one waits: a thread of
 * its own takes them in, whatever the test does meanwhile. It blocks every signal.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fd-store.h"

/* Embedded by value; all zero before notify_socket_open(). */
struct notify_socket {
	bool is_open;
	int fd;
	int stop_fd;
	pthread_t thread;

	/* With the lock. */
	pthread_mutex_t lock;
	pthread_cond_t news; /* a message was taken in */
	char *text;          /* all messages so far, but for the lines about the store */
	size_t text_bytes;
	struct fd_store store;
};

/* Listen at @path. Faults are ck_assert()s. */
void notify_socket_open(struct notify_socket *socket, const char *path);

/* One that is not open is fine. */
void notify_socket_close(struct notify_socket *socket);

/* Hold what was taken in; all that was sent before the call is in it. */
void notify_socket_lock(struct notify_socket *socket);
void notify_socket_unlock(struct notify_socket *socket);

/* With the lock: until the next message, but not after @end_usec (monotonic). Return: false: it is
 * over. */
bool notify_socket_wait(struct notify_socket *socket, uint64_t end_usec);
