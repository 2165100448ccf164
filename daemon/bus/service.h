/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * service.h - org.nodeinit1 on the bus: connection, name, objects, signals
 *
 * Layer: bus. Threads: main.
 *
 * Objects are exported before the name is asked for, so the first call after the name appears
 * succeeds. Loss of the bus is a state: everything that was shown is kept, the service connects
 * again (after 100 ms, then doubling, up to 10 s) and exports and asks for the name anew; the
 * manager notices only through on_connected.
 *
 * PropertiesChanged: one signal per object, at most every 250 ms; at once when a state changed
 * (still at most 4 in any second), the last value is always sent; nothing when nothing changed.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

#include "../base/scoped.h"
#include "view.h"

struct bus_service;
struct lease_call; /* a call of Pool.Lease that waits for its answer; the service's */

/* What Pool.Lease asked for, and who. Borrowed for the call of bus_service_ops.lease. */
struct lease_request {
	const char *pool;
	uint64_t bytes;
	bool has_node;
	unsigned node_id;
	bool is_strict; /* that node or none */
	bool may_wait;
	uid_t uid;
	pid_t pid;         /* 0: the bus did not say */
	const gid_t *gids; /* all groups that the bus saw */
	size_t nr_gids;
};

struct lease_answer {
	const char *id;
	unsigned node_id;
	uint64_t bytes;
	int memory_fd;   /* duplicated for the reply; stays the caller's */
	int lifetime_fd; /* as well */
};

/*
 * What clients may ask for; called on the main thread while a message is handled, must not block.
 * @ret_sentence (the caller of the callback frees it with free(3)) may be set together with an
 * error: object, numbers and remedy, for the D-Bus error; without it a general sentence is used.
 */
struct bus_service_ops {
	/* Return: 0; -EBADMSG the configuration has refused files (the rest is applied); -errno. */
	int (*reload)(void *arg, char **ret_sentence);
	int (*pause)(void *arg);
	int (*resume)(void *arg);
	/* Return: 0; -ENOENT no such pool; -EALREADY nothing missing or still at it; -errno. */
	int (*retry)(void *arg, const char *pool, char **ret_sentence);
	/* Return: 0 and an array that the service frees with free(3) (texts are static or borrowed
	 * until the next turn of the loop); -ENOMEM. */
	int (*timeline)(void *arg, struct timeline_entry **ret, size_t *ret_nr);
	/*
	 * Pool.Lease. The caller was looked up, nothing else was checked. Answered now or later, in
	 * any case once, by bus_service_answer_lease(), unless lease_cancelled() comes first.
	 */
	void (*lease)(void *arg, struct lease_call *call, const struct lease_request *request);
	/* The client of a call that was not answered yet is gone, or the bus is, or the service is
	 * being freed. Forget @call. */
	void (*lease_cancelled)(void *arg, struct lease_call *call);
	/* Which unit the client of a granted lease runs in, when the service manager said it. */
	void (*lease_unit)(void *arg, const char *id, const char *unit);
	/* As timeline; ListLeases. */
	int (*leases)(void *arg, struct lease_view **ret, size_t *ret_nr);
	/* The uid that holds lease @id. Return: 0 and *ret_uid; -ESRCH no such lease. */
	int (*lease_owner)(void *arg, const char *id, uid_t *ret_uid);
	/* Manager.ReleaseLease, after the caller was found to be its owner or root. Return: 0;
	 * -ESRCH no such lease; -EALREADY it drains already; -errno. */
	int (*release)(void *arg, const char *id, char **ret_sentence);
	/* LogControl1.LogLevel was set. */
	void (*log_level_changed)(void *arg, int level);
	/* The name is owned (true), or the connection or the name was lost (false, with -errno). */
	void (*on_connected)(void *arg, bool is_connected, int error);
};

/*
 * @address: "system", "session" or a D-Bus address. Borrows @ops and @arg for its life.
 * Connects to nothing yet. Return: 0 and *ret, which the caller owns; -ENOMEM.
 */
int bus_service_new(struct ev_loop *loop, const char *address, const struct bus_service_ops *ops,
                    void *arg, struct bus_service **ret);

/*
 * First connection: connects, exports what was shown so far, asks for the name. The answer comes
 * through on_connected. Return: 0; -EINVAL @address of bus_service_new() names no bus; -errno the
 * bus cannot be reached (no retry was begun).
 */
int bus_service_start(struct bus_service *service);

/* Send what is pending, release the name, close. NULL is fine. */
struct bus_service *bus_service_free(struct bus_service *service);
DEFINE_SCOPED(struct bus_service *, bus_service_free)

/*
 * Ask the service manager what it is about to do with this process's unit. @answered is called at
 * most once, from the loop or, when nothing can be asked, before this returns: with "stop",
 * "restart", another type of job, or "" when it has none or does not say. Return: 0; -ENOTCONN
 * there is nobody to ask; -errno. @answered is not called then.
 */
int bus_service_ask_job(struct bus_service *service,
                        void (*answered)(void *arg, const char *job_type), void *arg);

/* Whether the name is owned now. */
bool bus_service_is_connected(const struct bus_service *service);

/* Show a view: adds the object (InterfacesAdded) or takes over its new values. Return: 0; -ENOMEM;
 * -errno of sd-bus. */
int bus_service_show_manager(struct bus_service *service, const struct manager_view *view);
int bus_service_show_node(struct bus_service *service, const struct node_view *view);
int bus_service_show_pool(struct bus_service *service, const struct pool_view *view);

/*
 * Answer a Lease: with @answer when @error is 0, else with the D-Bus error of @error (see error.c)
 * and @sentence (NULL: a general one). May be called from within ops->lease. The call is gone
 * afterwards. After a lease was answered the service manager is asked for the client's unit, which
 * may come through ops->lease_unit.
 * Return: 0 the reply is on its way; -errno it could not be sent: whoever granted takes it back,
 * and the client gets that error.
 */
int bus_service_answer_lease(struct bus_service *service, struct lease_call *call, int error,
                             const char *sentence, const struct lease_answer *answer);

/* Withdraw an object (InterfacesRemoved). */
void bus_service_hide_pool(struct bus_service *service, const char *name);
void bus_service_hide_node(struct bus_service *service, unsigned node_id);
