/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fake-objects.h - the objects of fake-daemon, and how a scenario changes them
 *
 * What is impossible ends the program with a line on standard error: a test that scripts it is
 * wrong.
 */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

struct object;

extern sd_bus *bus; /* fake-daemon.c's, the one connection */

/* End the program when @r is an error of @what. */
void fake_check(int r, const char *what);

/* Put the byte in the place of each \xNN. */
void fake_unescape(char *text);

/* Make the manager's object, idle. */
void fake_host(void);

/* The object of @interface called @key ("host", "3", "guests"). Return: NULL for none. */
struct object *fake_find(const char *interface, const char *key);

/* Find or make one. A new one is announced by fake_apply() with @is_new. */
struct object *fake_node(const char *id, bool *ret_is_new);
struct object *fake_pool(const char *name, bool *ret_is_new);

/* Apply "KEY=VALUE KEY=VALUE" (cut up here; may be NULL) and send one signal. */
void fake_apply(struct object *object, char *words, bool is_new);

/* "POOL NODE STATE TOTAL EARLY DONE SHORT REASON" */
void fake_share(char *words);

void fake_withdraw(const char *name);

/* A machine with @nr nodes of 64 GiB: a third done, a third at work, the rest waiting. */
void fake_many(unsigned nr);

/* Have the pools that are made from now on no RegionSize, as an older daemon. */
void fake_unsaid(void);

/* Have the manager's State be a number. */
void fake_retype(void);
