/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * client.h - what one run of meminitctl was asked to do, and its verbs
 *
 * One thread. A verb gets the operands behind it and returns the exit status; it has then said on
 * standard error what went wrong.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The exit status, for scripts: meminitctl(1). */
enum client_exit {
	CLIENT_REACHED = 0,
	CLIENT_FAILED = 1,
	CLIENT_USAGE = 2,
	CLIENT_NOT_READY = 3,
	CLIENT_NO_SUCH_OBJECT = 4,
	CLIENT_NO_DAEMON = 5,
};

/* Filled by main(), read by everybody. Texts are borrowed from argv. */
struct client {
	const char *verb;
	const char *address;   /* "system", "session" or a D-Bus address */
	const char *host;      /* NULL: here */
	const char *machine;   /* NULL: here */
	const char *root;      /* for plan */
	const char *config;    /* for plan */
	uint64_t timeout_usec; /* UINT64_MAX: none was given, or infinity */
	uint32_t node_id;      /* for lease and run, if has_node */
	bool is_json;
	bool is_bytes;
	bool is_quiet;
	bool is_notify;
	bool is_strict;
	bool has_node;
	bool is_auto_node; /* for run: --node=auto, which is as good as none */
	bool has_timeout;
	bool has_legend;
	bool has_out_color, has_err_color;
	bool has_err_terminal; /* lines can be redrawn there */
	bool is_utf8;
};

/* A verb: @operands ends with NULL. Return: the exit status. */
typedef int (*client_verb_fn)(const struct client *client, char **operands);

int verb_status(const struct client *client, char **operands);
int verb_nodes(const struct client *client, char **operands);
int verb_pools(const struct client *client, char **operands);
int verb_watch(const struct client *client, char **operands);
int verb_wait(const struct client *client, char **operands);
int verb_plan(const struct client *client, char **operands);
int verb_reload(const struct client *client, char **operands);
int verb_pause(const struct client *client, char **operands);
int verb_resume(const struct client *client, char **operands);
int verb_retry(const struct client *client, char **operands);
int verb_lease(const struct client *client, char **operands);
int verb_leases(const struct client *client, char **operands);
int verb_run(const struct client *client, char **operands);
int verb_release(const struct client *client, char **operands);
