/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../base/scoped.h"
#include "lease-units.h"
#include "service-parts.h"

#define ANSWER_LIMIT_USEC UINT64_C(5000000)

/* The longest name of a unit; source: systemd.unit(5), 255 characters with the suffix. */
#define UNIT_CHARACTERS_MAX 255

static void ask_next(struct bus_service *service);

/* What has other characters than systemd.unit(5) allows is no unit, and goes to no client. */
static bool is_unit_name(const char *text)
{
	size_t nr_characters = strspn(text, "abcdefghijklmnopqrstuvwxyz"
	                                    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                                    "0123456789:-_.\\@");

	return nr_characters > 0 && nr_characters <= UNIT_CHARACTERS_MAX &&
	       text[nr_characters] == '\0';
}

static int on_unit(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	struct unit_question *question = userdata;
	struct bus_service *service = question->service;
	scoped(freep) char *unit = NULL;
	const char *path;

	(void) ret_error;

	question->slot = sd_bus_slot_unref(question->slot);
	if (!sd_bus_message_is_method_error(reply, NULL) &&
	    sd_bus_message_read(reply, "o", &path) > 0 &&
	    sd_bus_path_decode(path, "/org/freedesktop/systemd1/unit", &unit) > 0 &&
	    is_unit_name(unit))
		service->ops->lease_unit(service->arg, question->lease_id, unit);
	ask_next(service);
	return 1;
}

static int ask(struct unit_question *question)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *message = NULL;
	sd_bus *bus = question->service->bus;
	int r;

	r = sd_bus_message_new_method_call(bus, &message, "org.freedesktop.systemd1",
	                                   "/org/freedesktop/systemd1",
	                                   "org.freedesktop.systemd1.Manager", "GetUnitByPID");
	if (r < 0)
		return r;
	r = sd_bus_message_set_auto_start(message, 0);
	if (r < 0)
		return r;
	r = sd_bus_message_append(message, "u", (uint32_t) question->pid);
	if (r < 0)
		return r;
	return sd_bus_call_async(bus, &question->slot, message, on_unit, question,
	                         ANSWER_LIMIT_USEC);
}

static void ask_next(struct bus_service *service)
{
	struct lease_units *units = &service->lease_units;

	for (size_t i = 0; i < UNIT_QUESTIONS_MAX && units->nr_waiting > 0; i++) {
		if (units->asked[i].slot)
			continue;
		units->asked[i] = units->waiting[units->first];
		units->first = (units->first + 1) % UNIT_WAITING_MAX;
		units->nr_waiting--;
		(void) ask(&units->asked[i]);
	}
}

void lease_units_ask(struct bus_service *service, const char *lease_id, pid_t pid)
{
	struct lease_units *units = &service->lease_units;
	struct unit_question *question;

	if (pid <= 0 || units->nr_waiting == UNIT_WAITING_MAX)
		return;
	question = &units->waiting[(units->first + units->nr_waiting) % UNIT_WAITING_MAX];
	*question = (struct unit_question){ .service = service, .pid = pid };
	(void) snprintf(question->lease_id, sizeof(question->lease_id), "%s", lease_id);
	units->nr_waiting++;
	ask_next(service);
}

void lease_units_clear(struct bus_service *service)
{
	struct lease_units *units = &service->lease_units;

	for (size_t i = 0; i < UNIT_QUESTIONS_MAX; i++)
		units->asked[i].slot = sd_bus_slot_unref(units->asked[i].slot);
	units->nr_waiting = 0;
}
