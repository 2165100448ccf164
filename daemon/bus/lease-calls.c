/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/scoped.h"
#include "error.h"
#include "lease-calls.h"
#include "service-parts.h"

/*
 * Of one connection; of one user over all connections, once the bus has said whose it is; in all.
 * Each that waits has a match on the bus, of which a system bus grants 512. Those that the bus was
 * only just asked about have more room: all connections of one user together do not fill it.
 */
#define CALLS_MAX            4096
#define CALLS_PER_SENDER_MAX 8
#define WAITING_MAX          256
#define WAITING_PER_USER_MAX 64

#define BUS_LIMIT_USEC UINT64_C(25000000)

_Static_assert(sizeof(gid_t) == sizeof(uint32_t), "groups are taken from the message as they are");

struct lease_call {
	struct lease_call *next, *previous;
	struct bus_service *service; /* borrowed */
	sd_bus_message *head;        /* see copy_head() */
	char *pool;
	struct lease_request request; /* borrows @pool */
	sd_bus_slot *question;        /* to the bus: who is it, and later: is it still there */
	sd_bus_slot *watch;           /* tells when the client goes */
	bool is_waiting;
};

static struct lease_call *call_free(struct lease_call *call)
{
	if (!call)
		return NULL;

	sd_bus_slot_unref(call->watch);
	sd_bus_slot_unref(call->question);
	sd_bus_message_unref(call->head);
	free(call->pool);
	free(call);
	return NULL;
}
DEFINE_SCOPED(struct lease_call *, call_free)

static void link_call(struct lease_calls *calls, struct lease_call *call)
{
	call->next = calls->calls;
	if (call->next)
		call->next->previous = call;
	calls->calls = call;
	calls->nr_calls++;
}

static void drop_call(struct lease_call *call)
{
	struct lease_calls *calls = &call->service->lease_calls;

	if (call->previous)
		call->previous->next = call->next;
	else
		calls->calls = call->next;
	if (call->next)
		call->next->previous = call->previous;
	calls->nr_calls--;
	calls->nr_waiting -= call->is_waiting;
	if (calls->handling == call)
		calls->handling = NULL;
	call_free(call);
}

static void send_error(const struct lease_call *call, int error, const char *sentence)
{
	scoped(sd_bus_error_free) sd_bus_error reason = SD_BUS_ERROR_NULL;

	(void) bus_error_set(&reason, error, sentence);
	(void) sd_bus_reply_method_error(call->head, &reason);
}

/* The client is gone. */
static void forget_call(struct lease_call *call)
{
	if (call->is_waiting)
		call->service->ops->lease_cancelled(call->service->arg, call);
	drop_call(call);
}

static void refuse_call(struct lease_call *call, int error, const char *sentence)
{
	send_error(call, error, sentence);
	forget_call(call);
}

void lease_calls_clear(struct bus_service *service)
{
	while (service->lease_calls.calls)
		refuse_call(service->lease_calls.calls, -ECANCELED,
		            "nodeinitd leaves the bus; ask again when it is back.");
}

/*
 * A call of the same sender and serial, which is all that a reply takes from it. The original may
 * carry as many descriptors as the bus lets through, and keeps them for as long as it lives.
 */
static int copy_head(sd_bus *bus, sd_bus_message *call, sd_bus_message **ret)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *head = NULL;
	uint64_t cookie;
	int r;

	r = sd_bus_message_get_cookie(call, &cookie);
	if (r < 0)
		return r;
	r = sd_bus_message_new_method_call(bus, &head, NULL, sd_bus_message_get_path(call),
	                                   sd_bus_message_get_interface(call),
	                                   sd_bus_message_get_member(call));
	if (r < 0)
		return r;
	r = sd_bus_message_set_sender(head, sd_bus_message_get_sender(call));
	if (r < 0)
		return r;
	r = sd_bus_message_seal(head, cookie, 0);
	if (r < 0)
		return r;
	*ret = take(head);
	return 0;
}

static int call_new(struct bus_service *service, sd_bus_message *message,
                    const struct lease_request *asked, struct lease_call **ret)
{
	scoped(call_freep) struct lease_call *call = calloc(1, sizeof(*call));
	int r;

	if (!call)
		return -ENOMEM;
	call->service = service;
	call->request = *asked;
	call->pool = strdup(asked->pool);
	if (!call->pool)
		return -ENOMEM;
	call->request.pool = call->pool;
	r = copy_head(service->bus, message, &call->head);
	if (r < 0)
		return r;
	*ret = take(call);
	return 0;
}

static int call_bus(struct lease_call *call, const char *member, sd_bus_message_handler_t answered)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *question = NULL;
	sd_bus *bus = call->service->bus;
	int r;

	r = sd_bus_message_new_method_call(bus, &question, "org.freedesktop.DBus",
	                                   "/org/freedesktop/DBus", "org.freedesktop.DBus", member);
	if (r < 0)
		return r;
	r = sd_bus_message_append(question, "s", sd_bus_message_get_sender(call->head));
	if (r < 0)
		return r;
	call->question = sd_bus_slot_unref(call->question);
	r = sd_bus_call_async(bus, &call->question, question, answered, call, BUS_LIMIT_USEC);
	return r < 0 ? r : 0;
}

/* A name of a connection has an owner once in its life, so any change means that it is gone. */
static int on_owner_changed(sd_bus_message *signal, void *userdata, sd_bus_error *ret_error)
{
	(void) signal, (void) ret_error;
	forget_call(userdata);
	return 0;
}

static int on_watched(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	(void) ret_error;
	if (sd_bus_message_is_method_error(reply, NULL))
		refuse_call(userdata, -ENOBUFS, NULL);
	return 1;
}

/* The bus takes one after the other: who is there now is watched, and who is not went before. */
static int on_is_there(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	(void) ret_error;
	if (sd_bus_message_is_method_error(reply, NULL))
		forget_call(userdata);
	return 1;
}

static int watch_client(struct lease_call *call)
{
	scoped(freep) char *match = NULL;
	int r;

	if (asprintf(&match,
	             "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
	             "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='%s'",
	             sd_bus_message_get_sender(call->head)) < 0) {
		match = NULL; /* asprintf(3) leaves it undefined */
		return -ENOMEM;
	}
	r = sd_bus_add_match_async(call->service->bus, &call->watch, match, on_owner_changed,
	                           on_watched, call);
	return r < 0 ? r : call_bus(call, "GetNameOwner", on_is_there);
}

/* The manager may answer before ops->lease returns, and then @call is gone. */
static void hand_over(struct lease_call *call)
{
	struct bus_service *service = call->service;
	struct lease_calls *calls = &service->lease_calls;
	int r;

	call->is_waiting = true;
	calls->nr_waiting++;
	calls->handling = call;
	service->ops->lease(service->arg, call, &call->request);
	if (!calls->handling)
		return;
	calls->handling = NULL;
	call->request.gids = NULL;
	call->request.nr_gids = 0;
	r = watch_client(call);
	if (r < 0)
		refuse_call(call, r, NULL);
}

static bool has_room_for_user(const struct lease_calls *calls, uid_t uid)
{
	unsigned nr_of_user = 0;

	for (const struct lease_call *i = calls->calls; i; i = i->next)
		nr_of_user += i->is_waiting && i->request.uid == uid;
	return calls->nr_waiting < WAITING_MAX && nr_of_user < WAITING_PER_USER_MAX;
}

/* @reply stands within an entry, after its name. */
static int read_credential(sd_bus_message *reply, const char *name, struct lease_request *request,
                           uint32_t *uid)
{
	size_t gids_bytes;
	const void *gids;
	uint32_t pid;
	int r;

	if (strcmp(name, "UnixUserID") == 0)
		return sd_bus_message_read(reply, "v", "u", uid);
	if (strcmp(name, "ProcessID") == 0) {
		r = sd_bus_message_read(reply, "v", "u", &pid);
		if (r >= 0 && pid <= INT32_MAX)
			request->pid = (pid_t) pid;
		return r;
	}
	if (strcmp(name, "UnixGroupIDs") != 0)
		return sd_bus_message_skip(reply, "v");

	r = sd_bus_message_enter_container(reply, 'v', "au");
	if (r < 0)
		return r;
	r = sd_bus_message_read_array(reply, 'u', &gids, &gids_bytes);
	if (r < 0)
		return r;
	request->gids = gids;
	request->nr_gids = gids_bytes / sizeof(gid_t);
	return sd_bus_message_exit_container(reply);
}

/*
 * Source: D-Bus specification, org.freedesktop.DBus.GetConnectionCredentials. An old bus does not
 * say the groups; they are not looked up elsewhere: that may wait for a name service.
 * Return: 0, and @request borrows the groups from @reply; -ENODATA no uid; -errno.
 */
static int read_credentials(sd_bus_message *reply, struct lease_request *request)
{
	uint32_t uid = UINT32_MAX; /* not the id of any user */
	const char *name;
	int r;

	r = sd_bus_message_enter_container(reply, 'a', "{sv}");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
		r = sd_bus_message_read(reply, "s", &name);
		if (r >= 0)
			r = read_credential(reply, name, request, &uid);
		if (r >= 0)
			r = sd_bus_message_exit_container(reply);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	if (uid == UINT32_MAX)
		return -ENODATA;
	request->uid = uid;
	return 0;
}

static int on_credentials(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct lease_call *call = userdata;

	(void) ret_error;

	if (sd_bus_message_is_method_error(reply, NULL) ||
	    read_credentials(reply, &call->request) < 0)
		refuse_call(call, -EACCES, "The bus does not say which user is asking.");
	else if (!has_room_for_user(&call->service->lease_calls, call->request.uid))
		refuse_call(call, -ENOBUFS, NULL);
	else
		hand_over(call);
	return 1;
}

static bool has_room(const struct lease_calls *calls, const char *sender)
{
	unsigned nr_of_sender = 0;

	for (const struct lease_call *i = calls->calls; i; i = i->next)
		nr_of_sender += strcmp(sd_bus_message_get_sender(i->head), sender) == 0;
	return calls->nr_calls < CALLS_MAX && nr_of_sender < CALLS_PER_SENDER_MAX;
}

int lease_calls_begin(struct bus_service *service, sd_bus_message *message,
                      const struct lease_request *asked, sd_bus_error *ret_error)
{
	scoped(call_freep) struct lease_call *call = NULL;
	const char *sender = sd_bus_message_get_sender(message);
	int r;

	if (!sender)
		return bus_error_set(ret_error, -EACCES, "The call says no sender.");
	/* Nobody would get the descriptors, and the lease would end as it began. */
	if (!sd_bus_message_get_expect_reply(message))
		return bus_error_set(ret_error, -EINVAL, "The call wants no reply.");
	if (!has_room(&service->lease_calls, sender))
		return bus_error_set(ret_error, -ENOBUFS, NULL);

	r = call_new(service, message, asked, &call);
	if (r < 0)
		return r;
	r = call_bus(call, "GetConnectionCredentials", on_credentials);
	if (r < 0)
		return r;
	link_call(&service->lease_calls, take(call));
	return 1;
}

static int send_answer(const struct lease_call *call, const struct lease_answer *answer)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	int r;

	r = sd_bus_message_new_method_return(call->head, &reply);
	if (r < 0)
		return r;
	r = sd_bus_message_append(reply, "hhsut", answer->memory_fd, answer->lifetime_fd,
	                          answer->id, answer->node_id, answer->bytes);
	if (r < 0)
		return r;
	r = sd_bus_send(call->service->bus, reply, NULL);
	return r < 0 ? r : 0;
}

int bus_service_answer_lease(struct bus_service *service, struct lease_call *call, int error,
                             const char *sentence, const struct lease_answer *answer)
{
	int r = 0;

	assert(call->is_waiting && call->service == service);

	if (error == 0)
		r = send_answer(call, answer);
	if (error != 0 || r < 0)
		send_error(call, error != 0 ? error : r, error != 0 ? sentence : NULL);
	else
		lease_units_ask(service, answer->id, call->request.pid);
	drop_call(call);
	return r;
}
