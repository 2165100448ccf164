/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "error.h"
#include "options.h"

static int refuse_unknown(sd_bus_message *call, const char *name, size_t nr_options,
                          sd_bus_error *ret_error)
{
	if (nr_options == 0)
		return bus_error_setf(
			ret_error, -EINVAL,
			"%s has no option \"%.64s\"; leave it out, the dictionary may be empty.",
			sd_bus_message_get_member(call), name);
	return bus_error_setf(ret_error, -EINVAL,
	                      "%s has no option \"%.64s\"; org.nodeinit1(5) lists all.",
	                      sd_bus_message_get_member(call), name);
}

/* @call stands before the variant of @option. */
static int read_value(sd_bus_message *call, const struct option *option, sd_bus_error *ret_error)
{
	const char type[] = { option->type, '\0' };
	const char *given;
	uint32_t number;
	int r, truth;

	r = sd_bus_message_peek_type(call, NULL, &given);
	if (r < 0)
		return r;
	if (strcmp(given, type) != 0)
		return bus_error_setf(ret_error, -EINVAL,
		                      "Option \"%s\" of %s has type %s, not %.16s.", option->name,
		                      sd_bus_message_get_member(call), type, given);
	if (option->type == 'b') {
		r = sd_bus_message_read(call, "v", "b", &truth);
		if (r >= 0)
			*(bool *) option->value = truth;
	} else {
		r = sd_bus_message_read(call, "v", "u", &number);
		if (r >= 0)
			*(uint32_t *) option->value = number;
	}
	if (r >= 0 && option->is_given)
		*option->is_given = true;
	return r;
}

/* @seen: a bit for each of @options. */
static int read_option(sd_bus_message *call, const struct option *options, size_t nr_options,
                       uint32_t *seen, sd_bus_error *ret_error)
{
	const char *name;
	size_t i = 0;
	int r;

	r = sd_bus_message_read(call, "s", &name);
	if (r < 0)
		return r;
	while (i < nr_options && strcmp(options[i].name, name) != 0)
		i++;
	if (i == nr_options)
		return refuse_unknown(call, name, nr_options, ret_error);
	if (*seen & UINT32_C(1) << i)
		return bus_error_setf(ret_error, -EINVAL, "Option \"%s\" of %s is given twice.",
		                      name, sd_bus_message_get_member(call));
	*seen |= UINT32_C(1) << i;
	return read_value(call, &options[i], ret_error);
}

int options_read(sd_bus_message *call, const struct option *options, size_t nr_options,
                 sd_bus_error *ret_error)
{
	uint32_t seen = 0;
	int r;

	assert(nr_options <= 32);
	r = sd_bus_message_enter_container(call, 'a', "{sv}");
	if (r < 0)
		return r;
	while ((r = sd_bus_message_enter_container(call, 'e', "sv")) > 0) {
		r = read_option(call, options, nr_options, &seen, ret_error);
		if (r >= 0)
			r = sd_bus_message_exit_container(call);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	r = sd_bus_message_exit_container(call);
	return r < 0 ? r : 0;
}

int options_read_none(sd_bus_message *call, sd_bus_error *ret_error)
{
	return options_read(call, NULL, 0, ret_error);
}
