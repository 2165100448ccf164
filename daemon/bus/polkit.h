/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * polkit.h - the question to polkit
 *
 * Layer: bus, private to it. Threads: main. Does not block. Only on the system bus: elsewhere
 * anybody could own the name. Source of the call: the polkit reference manual, interface
 * org.freedesktop.PolicyKit1.Authority.
 */
#pragma once

#include <systemd/sd-bus.h>

enum polkit_answer {
	POLKIT_NO, /* or no polkit, or no answer in time, or one that makes no sense */
	POLKIT_YES,
	POLKIT_IF_ASKED, /* a person could confirm, but the call did not allow to ask */
};

/*
 * Ask whether the sender of @call may do @action_id. A person is asked only when @call carries the
 * flag that allows it. @answered gets the reply for polkit_answer().
 * Return: 0 and *ret_slot, one reference, whose release withdraws the question; -errno.
 */
int polkit_ask(sd_bus *bus, sd_bus_message *call, const char *action_id,
               sd_bus_message_handler_t answered, void *arg, sd_bus_slot **ret_slot);

/* What @reply says. */
enum polkit_answer polkit_answer(sd_bus_message *reply);
