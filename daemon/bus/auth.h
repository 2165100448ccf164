/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * auth.h - who may change something
 *
 * Layer: bus, private to it. Threads: main. Never blocks: both questions, to the bus (whose
 * connection is this) and to polkit, are asked with a call whose reply comes through the loop.
 *
 * Reading is for everybody and does not come here. The rest is for uid 0; for the owner, where what
 * is changed has one; on a bus that is not the system bus also for the user the daemon runs as; on
 * the system bus also for whom polkit lets. Pool.Lease has rules of its own (lease-calls.h).
 * Any fault on the way, from a caller that is gone to a polkit that is not there, means no.
 *
 * The uid is the one the bus saw when the caller connected. /proc is not asked: a process can be
 * another one by the time it is looked at.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>

struct bus_service;
struct auth_request;

enum auth_action {
	AUTH_RELOAD,
	AUTH_PAUSE, /* and Resume */
	AUTH_RETRY,
	AUTH_RELEASE,
	AUTH_LOG_LEVEL, /* root only: polkit is not asked */
};

/* Whose the thing is that a call is about. */
struct auth_owner {
	uid_t uid;
	char what[48]; /* "Lease 17" */
};

/* Embedded by value; all zero is "nobody asks". */
struct auth {
	struct auth_request *requests;
	size_t nr_requests;
};

/*
 * The caller may: do it and reply to @call. Return: not negative after a reply; negative, then the
 * error is sent (from @ret_error when it is set).
 */
typedef int (*auth_granted_fn)(struct bus_service *service, sd_bus_message *call,
                               sd_bus_error *ret_error);

/*
 * Find out whether the sender of @call may do @action, then run @granted or refuse. For method
 * handlers. Takes a reference to @call. @owner (copied) may, too; NULL: there is none.
 * Return: 1 the reply comes later; negative with @ret_error filled in (LimitsExceeded: too many of
 * this client's calls wait already).
 */
int auth_request(struct bus_service *service, sd_bus_message *call, enum auth_action action,
                 const struct auth_owner *owner, auth_granted_fn granted, sd_bus_error *ret_error);

/* Forget all requests, without replies: the connection is going away. */
void auth_clear(struct bus_service *service);
