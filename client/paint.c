/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "paint.h"
#include "scoped.h"

static const struct look {
	const char *state;
	const char *icon, *plain_icon;
	const char *color, *sequence;
} looks[] = {
	{ "idle", "○", "-", NULL, "" },
	{ "waiting", "○", ".", NULL, "" },
	{ "early", "◐", "~", "cyan", "\033[36m" },
	{ "deferred", "◐", "~", "cyan", "\033[36m" },
	{ "ready", "●", "*", "green", "\033[32m" },
	{ "degraded", "●", "!", "yellow", "\033[33m" },
	{ "failed", "×", "x", "red", "\033[31m" },
	{ "cancelled", "×", "x", "red", "\033[31m" },
};

void paint_probe(struct client *client)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	bool is_capable = term && *term && strcmp(term, "dumb") != 0;
	bool is_wanted = is_capable && !(no_color && *no_color);

	client->has_out_color = is_wanted && isatty(STDOUT_FILENO);
	client->has_err_color = is_wanted && isatty(STDERR_FILENO);
	client->has_err_terminal = is_capable && isatty(STDERR_FILENO);
	client->is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static const struct look *look_of(const char *state)
{
	static const struct look unknown = { "", "?", "?", NULL, "" };
	size_t i;

	for (i = 0; i < ELEMENTS(looks); i++)
		if (strcmp(looks[i].state, state) == 0)
			return &looks[i];
	return &unknown;
}

const char *paint_icon(const struct client *client, const char *state)
{
	return client->is_utf8 ? look_of(state)->icon : look_of(state)->plain_icon;
}

const char *paint_color(const char *state)
{
	return look_of(state)->color;
}

const char *paint_begin(bool has_color, const char *state)
{
	return has_color ? look_of(state)->sequence : "";
}

const char *paint_end(bool has_color)
{
	return has_color ? "\033[0m" : "";
}
