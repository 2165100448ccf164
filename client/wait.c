/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* wait: until the host or some pools are ready, without asking twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "follow.h"
#include "report.h"
#include "scoped.h"
#include "sentence.h"

#define SPEAK_USEC UINT64_C(1000000)

/*
 * A daemon that is being stopped shows cancelled shares and leaves. One that is restarted comes
 * back, and the wait goes on; so cancelled is an end only when the daemon stays with it.
 */
#define CANCELLED_USEC UINT64_C(3000000)

struct waiter {
	const struct client *client;
	char **names; /* of pools, ends with NULL */
	bool is_notifying;
	bool has_line; /* a progress line stands on the terminal */
	uint64_t spoken_usec;
	uint64_t cancelled_usec; /* since when; 0: it is not */
	char *spoken;            /* what was said last */
};

static const char *aim_state(const struct waiter *waiter, const struct model *model, size_t i)
{
	return waiter->names[0] ? model_pool(model, waiter->names[i])->state : model->host.state;
}

static bool is_there(const struct waiter *waiter, const struct model *model)
{
	bool is_ready = !waiter->names[0] && model->host.is_ready;
	size_t i;

	for (i = 0; i == 0 || (waiter->names[0] && waiter->names[i]); i++)
		if (!is_ready && !model_is_reached(aim_state(waiter, model, i)))
			return false;
	return true;
}

/* Has what is waited for ended in @state? For the host, Ready decides first. */
static bool has_ended(const struct waiter *waiter, const struct model *model, const char *state)
{
	size_t i;

	if (!waiter->names[0] && model->host.is_ready)
		return false;
	for (i = 0; i == 0 || (waiter->names[0] && waiter->names[i]); i++)
		if (strcmp(aim_state(waiter, model, i), state) == 0)
			return true;
	return false;
}

static void end_line(struct waiter *waiter)
{
	if (waiter->has_line)
		fputs("\r\033[K", stderr);
	waiter->has_line = false;
}

static void say_missing(const struct pool *pool)
{
	scoped(freep) char *lines = NULL;
	char *line, *rest;

	if (!model_is_failed(pool->state))
		return;
	lines = sentence_missing(pool);
	for (line = lines ? strtok_r(lines, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		fprintf(stderr, "meminitctl: %s\n", line);
}

static int fail(struct waiter *waiter, const struct model *model)
{
	size_t i;

	end_line(waiter);
	if (!waiter->names[0]) {
		scoped(freep) char *progress = sentence_progress(model, waiter->names);

		fprintf(stderr, "meminitctl: nodeinitd: %s\n", progress ? progress : "failed");
		if (model_has_refused(model))
			fputs("meminitctl: " SENTENCE_REFUSED "\n", stderr);
		for (i = 0; i < model->nr_pools; i++)
			if (model->pools[i].is_required)
				say_missing(&model->pools[i]);
	}
	for (i = 0; waiter->names[i]; i++)
		say_missing(model_pool(model, waiter->names[i]));
	return CLIENT_FAILED;
}

static void say_progress(struct waiter *waiter, const char *progress)
{
	if (waiter->is_notifying)
		(void) sd_notifyf(0, "STATUS=%s", progress);
	if (waiter->client->has_err_terminal && !waiter->client->is_quiet) {
		fprintf(stderr, "\r\033[K%.78s", progress);
		(void) fflush(stderr);
		waiter->has_line = true;
	}
}

/* Takes @progress. */
static void speak(struct waiter *waiter, char *progress, uint64_t now_usec, uint64_t *wake_usec)
{
	if (!progress || (waiter->spoken && strcmp(waiter->spoken, progress) == 0)) {
		free(progress);
		return;
	}
	if (waiter->spoken_usec && now_usec - waiter->spoken_usec < SPEAK_USEC) {
		if (waiter->spoken_usec + SPEAK_USEC < *wake_usec)
			*wake_usec = waiter->spoken_usec + SPEAK_USEC;
		free(progress);
		return;
	}
	say_progress(waiter, progress);
	free(waiter->spoken);
	waiter->spoken = progress;
	waiter->spoken_usec = now_usec;
}

/* The last status stays where systemctl status shows it. */
static int reached(struct waiter *waiter, const struct model *model)
{
	scoped(freep) char *progress = sentence_progress(model, waiter->names);

	end_line(waiter);
	if (waiter->is_notifying && progress)
		(void) sd_notifyf(0, "STATUS=%s", progress);
	return CLIENT_REACHED;
}

static int look(struct model *model, uint64_t now_usec, uint64_t *wake_usec, void *arg)
{
	struct waiter *waiter = arg;
	size_t i;

	if (!model) {
		waiter->cancelled_usec = 0;
		waiter->has_line = false;
		speak(waiter, strdup("nodeinitd is away, waiting for it"), now_usec, wake_usec);
		return FOLLOW_ON;
	}
	for (i = 0; waiter->names[i]; i++)
		if (!model_pool(model, waiter->names[i])) {
			end_line(waiter);
			return report_no_such("pool", waiter->names[i]);
		}
	if (is_there(waiter, model))
		return reached(waiter, model);
	if (has_ended(waiter, model, "failed"))
		return fail(waiter, model);
	if (!has_ended(waiter, model, "cancelled")) {
		waiter->cancelled_usec = 0;
	} else if (!waiter->cancelled_usec) {
		waiter->cancelled_usec = now_usec;
	} else if (now_usec - waiter->cancelled_usec >= CANCELLED_USEC) {
		return fail(waiter, model);
	}
	speak(waiter, sentence_progress(model, waiter->names), now_usec, wake_usec);
	if (waiter->cancelled_usec && waiter->cancelled_usec + CANCELLED_USEC < *wake_usec)
		*wake_usec = waiter->cancelled_usec + CANCELLED_USEC;
	return FOLLOW_ON;
}

int verb_wait(const struct client *client, char **operands)
{
	struct waiter waiter = {
		.client = client,
		.names = operands,
		.is_notifying = client->is_notify || getenv("NOTIFY_SOCKET"),
	};
	bool is_patient;
	int status;

	if (client->is_notify && !getenv("NOTIFY_SOCKET") && !client->is_quiet)
		fprintf(stderr,
		        "meminitctl: --notify: nobody listens (NOTIFY_SOCKET is not set)\n");
	/* Who sets a time has a use for it: a daemon that was killed a moment ago comes back. */
	is_patient = client->has_timeout && client->timeout_usec;
	status = follow(client, client->timeout_usec, is_patient, look, &waiter);
	end_line(&waiter);
	if (status == CLIENT_NOT_READY && !client->is_quiet)
		fprintf(stderr, "meminitctl: not ready within the time limit: %s\n",
		        waiter.spoken ? waiter.spoken : "?");
	free(waiter.spoken);
	return status;
}
