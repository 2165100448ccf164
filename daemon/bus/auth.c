/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../base/scoped.h"
#include "auth.h"
#include "error.h"
#include "polkit.h"
#include "service-parts.h"

/*
 * Calls that wait for an answer, in all, of one connection, and, where a person may be asked and
 * take minutes, of one user. A flood from one client leaves room for everybody else.
 */
#define REQUESTS_MAX            256
#define REQUESTS_PER_SENDER_MAX 8
#define QUESTIONS_PER_USER_MAX  4

#define UID_LIMIT_USEC UINT64_C(25000000)

struct auth_request {
	struct auth_request *next, *previous;
	struct bus_service *service; /* borrowed */
	sd_bus_message *call;        /* one reference */
	sd_bus_slot *question;       /* the call to the bus or to polkit that waits for its reply */
	enum auth_action action;
	bool has_owner;
	struct auth_owner owner;
	auth_granted_fn granted;
	bool is_at_polkit;
	uid_t uid; /* of the caller, once the bus has said it */
};

static const struct {
	const char *what;
	const char *polkit; /* NULL: polkit is not asked */
} actions[] = {
	[AUTH_RELOAD] = { "Reload", "org.nodeinit1.reload" },
	[AUTH_PAUSE] = { "Pause and Resume", "org.nodeinit1.pause" },
	[AUTH_RETRY] = { "Retry", "org.nodeinit1.retry" },
	[AUTH_RELEASE] = { "ReleaseLease", "org.nodeinit1.release-lease" },
	[AUTH_LOG_LEVEL] = { "Writing LogLevel", NULL },
};

static struct auth_request *request_free(struct auth_request *request)
{
	struct auth *auth = &request->service->auth;

	if (request->previous)
		request->previous->next = request->next;
	else
		auth->requests = request->next;
	if (request->next)
		request->next->previous = request->previous;
	auth->nr_requests--;

	sd_bus_slot_unref(request->question);
	sd_bus_message_unref(request->call);
	free(request);
	return NULL;
}

static struct auth_request *request_new(struct bus_service *service, sd_bus_message *call,
                                        enum auth_action action, const struct auth_owner *owner,
                                        auth_granted_fn granted)
{
	struct auth_request *request = calloc(1, sizeof(*request));

	if (!request)
		return NULL;
	request->service = service;
	request->call = sd_bus_message_ref(call);
	request->action = action;
	request->has_owner = owner != NULL;
	if (owner)
		request->owner = *owner;
	request->granted = granted;
	request->next = service->auth.requests;
	if (request->next)
		request->next->previous = request;
	service->auth.requests = request;
	service->auth.nr_requests++;
	return request;
}

void auth_clear(struct bus_service *service)
{
	while (service->auth.requests)
		request_free(service->auth.requests);
}

static void refuse(struct auth_request *request, int error, const char *sentence)
{
	scoped(sd_bus_error_free) sd_bus_error reason = SD_BUS_ERROR_NULL;

	(void) bus_error_set(&reason, error, sentence);
	(void) sd_bus_reply_method_error(request->call, &reason);
	request_free(request);
}

static bool has_polkit(const struct auth_request *request)
{
	return request->service->is_system_bus && actions[request->action].polkit;
}

static void refuse_not_root(struct auth_request *request)
{
	scoped(freep) char *sentence = NULL;
	const char *what = actions[request->action].what, *others = "";
	int r;

	if (has_polkit(request))
		others = " and for whom polkit lets";
	else if (!request->service->is_system_bus)
		others = " and for the user the daemon runs as";
	if (request->has_owner)
		r = asprintf(
			&sentence,
			"%s belongs to uid %u; %s is for that user, for root%s, not for uid %u.",
			request->owner.what, request->owner.uid, what, others, request->uid);
	else
		r = asprintf(&sentence, "%s: for root%s, not for uid %u; ask again as root.", what,
		             others, request->uid);
	if (r < 0)
		sentence = NULL; /* asprintf(3) leaves it undefined */
	refuse(request, -EACCES, sentence);
}

static void grant(struct auth_request *request)
{
	scoped(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	int r;

	r = request->granted(request->service, request->call, &error);
	if (r < 0 && sd_bus_error_is_set(&error))
		(void) sd_bus_reply_method_error(request->call, &error);
	else if (r < 0)
		(void) sd_bus_reply_method_errno(request->call, r, NULL);
	request_free(request);
}

static int on_polkit_answer(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct auth_request *request = userdata;

	(void) ret_error;

	switch (polkit_answer(reply)) {
	case POLKIT_YES:
		grant(request);
		break;
	case POLKIT_IF_ASKED: {
		scoped(sd_bus_error_free) sd_bus_error reason = SD_BUS_ERROR_NULL;

		(void) sd_bus_error_set(&reason, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED,
		                        "A person has to confirm this, and the call does not allow "
		                        "to ask one.");
		(void) sd_bus_reply_method_error(request->call, &reason);
		request_free(request);
		break;
	}
	case POLKIT_NO:
		refuse_not_root(request);
		break;
	}
	return 1;
}

static unsigned questions_of_user(const struct auth *auth, uid_t uid)
{
	unsigned nr_questions = 0;

	for (const struct auth_request *i = auth->requests; i; i = i->next)
		nr_questions += i->is_at_polkit && i->uid == uid;
	return nr_questions;
}

static void ask_polkit(struct auth_request *request)
{
	struct bus_service *service = request->service;
	int r;

	if (questions_of_user(&service->auth, request->uid) >= QUESTIONS_PER_USER_MAX) {
		refuse(request, -ENOBUFS, NULL);
		return;
	}
	request->is_at_polkit = true;
	request->question = sd_bus_slot_unref(request->question);
	r = polkit_ask(service->bus, request->call, actions[request->action].polkit,
	               on_polkit_answer, request, &request->question);
	if (r < 0)
		refuse_not_root(request);
}

static int on_uid(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct auth_request *request = userdata;
	const struct bus_service *service = request->service;
	uint32_t uid;

	(void) ret_error;

	if (sd_bus_message_is_method_error(reply, NULL) ||
	    sd_bus_message_read(reply, "u", &uid) < 0) {
		refuse(request, -EACCES, "The bus does not say which user is asking.");
		return 1;
	}
	request->uid = uid;
	if (uid == 0 || (request->has_owner && uid == request->owner.uid) ||
	    (!service->is_system_bus && uid == geteuid()))
		grant(request);
	else if (has_polkit(request))
		ask_polkit(request);
	else
		refuse_not_root(request);
	return 1;
}

static bool has_room(const struct auth *auth, const char *sender)
{
	unsigned nr_of_sender = 0;

	for (const struct auth_request *i = auth->requests; i; i = i->next)
		nr_of_sender += strcmp(sd_bus_message_get_sender(i->call), sender) == 0;
	return auth->nr_requests < REQUESTS_MAX && nr_of_sender < REQUESTS_PER_SENDER_MAX;
}

int auth_request(struct bus_service *service, sd_bus_message *call, enum auth_action action,
                 const struct auth_owner *owner, auth_granted_fn granted, sd_bus_error *ret_error)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *question = NULL;
	const char *sender = sd_bus_message_get_sender(call);
	struct auth_request *request;
	int r;

	if (!sender)
		return bus_error_set(ret_error, -EACCES, "The call says no sender.");
	if (!has_room(&service->auth, sender))
		return bus_error_set(ret_error, -ENOBUFS, NULL);

	r = sd_bus_message_new_method_call(service->bus, &question, "org.freedesktop.DBus",
	                                   "/org/freedesktop/DBus", "org.freedesktop.DBus",
	                                   "GetConnectionUnixUser");
	if (r < 0)
		return r;
	r = sd_bus_message_append(question, "s", sender);
	if (r < 0)
		return r;

	request = request_new(service, call, action, owner, granted);
	if (!request)
		return -ENOMEM;
	r = sd_bus_call_async(service->bus, &request->question, question, on_uid, request,
	                      UID_LIMIT_USEC);
	if (r < 0) {
		request_free(request);
		return r;
	}
	return 1;
}
