/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "../base/scoped.h"
#include "service-parts.h"

#define MANAGER_NAME "org.freedesktop.systemd1"
#define MANAGER_PATH "/org/freedesktop/systemd1"

#define QUESTION_USEC UINT64_C(1000000)

static void answer(struct bus_service *service, const char *job_type)
{
	void (*answered)(void *arg, const char *job_type) = service->unit_job.answered;

	service->unit_job.answered = NULL;
	if (answered)
		answered(service->unit_job.arg, job_type);
}

/* Ask, and have @callback go on. What cannot be asked is answered with "". */
static void ask(struct bus_service *service, sd_bus_message *question,
                sd_bus_message_handler_t callback)
{
	service->unit_job.question = sd_bus_slot_unref(service->unit_job.question);
	if (sd_bus_message_set_auto_start(question, false) < 0 ||
	    sd_bus_call_async(service->bus, &service->unit_job.question, question, callback,
	                      service, QUESTION_USEC) < 0)
		answer(service, "");
}

static void ask_property(struct bus_service *service, const char *path, const char *interface,
                         const char *property, sd_bus_message_handler_t callback)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *question = NULL;

	if (sd_bus_message_new_method_call(service->bus, &question, MANAGER_NAME, path,
	                                   "org.freedesktop.DBus.Properties", "Get") < 0 ||
	    sd_bus_message_append(question, "ss", interface, property) < 0)
		answer(service, "");
	else
		ask(service, question, callback);
}

static int on_type(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	const char *type;

	(void) ret_error;
	if (sd_bus_message_is_method_error(reply, NULL) ||
	    sd_bus_message_read(reply, "v", "s", &type) < 0)
		type = "";
	answer(userdata, type);
	return 1;
}

static int on_job(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct bus_service *service = userdata;
	const char *path;
	uint32_t id;

	(void) ret_error;
	if (sd_bus_message_is_method_error(reply, NULL) ||
	    sd_bus_message_read(reply, "v", "(uo)", &id, &path) < 0 || id == 0)
		answer(service, "");
	else
		ask_property(service, path, MANAGER_NAME ".Job", "JobType", on_type);
	return 1;
}

static int on_unit(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct bus_service *service = userdata;
	const char *path;

	(void) ret_error;
	if (sd_bus_message_is_method_error(reply, NULL) ||
	    sd_bus_message_read(reply, "o", &path) < 0)
		answer(service, "");
	else
		ask_property(service, path, MANAGER_NAME ".Unit", "Job", on_job);
	return 1;
}

int bus_service_ask_job(struct bus_service *service,
                        void (*answered)(void *arg, const char *job_type), void *arg)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *question = NULL;
	int r;

	if (!service->bus)
		return -ENOTCONN;
	r = sd_bus_message_new_method_call(service->bus, &question, MANAGER_NAME, MANAGER_PATH,
	                                   MANAGER_NAME ".Manager", "GetUnitByPID");
	if (r >= 0)
		r = sd_bus_message_append(question, "u", (uint32_t) getpid());
	if (r < 0)
		return r;
	service->unit_job.answered = answered;
	service->unit_job.arg = arg;
	ask(service, question, on_unit);
	return 0;
}

void unit_job_clear(struct bus_service *service)
{
	service->unit_job.question = sd_bus_slot_unref(service->unit_job.question);
	service->unit_job.answered = NULL;
}
