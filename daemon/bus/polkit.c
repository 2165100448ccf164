/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdint.h>

#include "../base/scoped.h"
#include "polkit.h"

#define ALLOW_USER_INTERACTION 1u

#define ANSWER_LIMIT_USEC UINT64_C(25000000)
#define PERSON_LIMIT_USEC UINT64_C(120000000) /* to find and type a password */

int polkit_ask(sd_bus *bus, sd_bus_message *call, const char *action_id,
               sd_bus_message_handler_t answered, void *arg, sd_bus_slot **ret_slot)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *question = NULL;
	int may_ask_person = sd_bus_message_get_allow_interactive_authorization(call) > 0;
	int r;

	r = sd_bus_message_new_method_call(bus, &question, "org.freedesktop.PolicyKit1",
	                                   "/org/freedesktop/PolicyKit1/Authority",
	                                   "org.freedesktop.PolicyKit1.Authority",
	                                   "CheckAuthorization");
	if (r < 0)
		return r;
	r = sd_bus_message_append(question, "(sa{sv})sa{ss}us", "system-bus-name", 1, "name", "s",
	                          sd_bus_message_get_sender(call), action_id, 0,
	                          may_ask_person ? ALLOW_USER_INTERACTION : 0, "");
	if (r < 0)
		return r;
	r = sd_bus_call_async(bus, ret_slot, question, answered, arg,
	                      may_ask_person ? PERSON_LIMIT_USEC : ANSWER_LIMIT_USEC);
	return r < 0 ? r : 0;
}

enum polkit_answer polkit_answer(sd_bus_message *reply)
{
	int is_authorized, is_challenge;

	if (sd_bus_message_is_method_error(reply, NULL) ||
	    sd_bus_message_enter_container(reply, 'r', "bba{ss}") <= 0 ||
	    sd_bus_message_read(reply, "bb", &is_authorized, &is_challenge) <= 0)
		return POLKIT_NO;
	if (is_authorized)
		return POLKIT_YES;
	return is_challenge ? POLKIT_IF_ASKED : POLKIT_NO;
}
