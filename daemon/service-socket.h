/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * service-socket.h - how a message gets to the service manager, also without a free descriptor
 *
 * Layer: top. Threads: main. sd_notify(3) makes a socket for every message and fails where the
 * process has no descriptor left. But what is said just then cannot be said later: a region that is
 * not taken out of the store keeps its memory as long as the service runs, and a watchdog that is
 * not told ends a daemon that is well. So one socket is made at the start and kept.
 */
#pragma once

/* Keep a socket. Where none can be made, or there is no NOTIFY_SOCKET, nothing is kept. */
void service_socket_open(void);

/* Harmless where none is kept. */
void service_socket_close(void);

/*
 * Send @text, with a duplicate of @fd unless that is -1. By a socket of its own, as sd_notify(3)
 * does, where none is kept, or where NOTIFY_SOCKET is neither a path nor an abstract address.
 * Blocks while the service manager's socket is full. Return: 0, also without NOTIFY_SOCKET: nobody
 * is to be told; -errno.
 */
int service_socket_send(const char *text, int fd);
