/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "error.h"
#include "options.h"

int options_read_none(sd_bus_message *call, sd_bus_error *ret_error)
{
	const char *name;
	int r;

	r = sd_bus_message_enter_container(call, 'a', "{sv}");
	if (r < 0)
		return r;
	r = sd_bus_message_enter_container(call, 'e', "sv");
	if (r < 0)
		return r;
	if (r == 0)
		return sd_bus_message_exit_container(call);

	r = sd_bus_message_read(call, "s", &name);
	if (r < 0)
		return r;
	return bus_error_setf(
		ret_error, -EINVAL,
		"%s has no option \"%.64s\"; leave it out, the dictionary may be empty.",
		sd_bus_message_get_member(call), name);
}
