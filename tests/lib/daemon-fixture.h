/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * daemon-fixture.h - the real nodeinitd on a bus, a configuration and a notify socket of its own
 *
 * Faults are ck_assert()s. One test, one thread. Every wait has a limit, and none of them is a
 * sleep: they end with the event. The binary is $NODEINITD.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bus-fixture.h"

#define DAEMON_LIMIT_MSEC 20000

/* Embedded by value; all zero before daemon_fixture_start(). */
struct daemon_fixture {
	struct bus_fixture bus;
	char directory[64]; /* --config: nodeinitd.conf, pools.d; also the log */
	char log_path[96];
	int notify_fd; /* the service manager's end of NOTIFY_SOCKET */
	pid_t pid;     /* 0: not running */
	sd_bus *client;
	char *notified; /* all messages so far, a line each */
	size_t notified_bytes;
};

/* Bus, empty configuration, notify socket; no daemon yet. */
void daemon_fixture_start(struct daemon_fixture *fixture);
/* End what still runs and remove everything. */
void daemon_fixture_stop(struct daemon_fixture *fixture);

/* Write pools.d/NAME.pool, or nodeinitd.conf. */
void daemon_write_pool(struct daemon_fixture *fixture, const char *name, const char *text);
void daemon_write_conf(struct daemon_fixture *fixture, const char *text);
void daemon_remove_pool(struct daemon_fixture *fixture, const char *name);

/* Start it; @environment holds NAME=VALUE texts, NULL terminated, or is NULL. */
void daemon_launch(struct daemon_fixture *fixture, const char *const *environment);

/* Read notify messages until a line equals @line, or begins with it where it ends in "*". */
void daemon_wait_notified(struct daemon_fixture *fixture, const char *line);
/* Whether such a line has been read, or waits to be read. */
bool daemon_was_notified(struct daemon_fixture *fixture, const char *line);

/* Send @signal and wait for the end. Return: the exit status, or 128 + signal. */
int daemon_end(struct daemon_fixture *fixture, int signal);
/* Wait for it to end by itself. */
int daemon_wait_end(struct daemon_fixture *fixture);

/* Everything it wrote to standard error so far. The caller frees. */
char *daemon_log(struct daemon_fixture *fixture);

/* Properties by Get. Texts are the caller's to free. */
char *daemon_get_text(struct daemon_fixture *fixture, const char *path, const char *interface,
                      const char *property);
uint64_t daemon_get_u64(struct daemon_fixture *fixture, const char *path, const char *interface,
                        const char *property);
bool daemon_get_bool(struct daemon_fixture *fixture, const char *path, const char *interface,
                     const char *property);

/* Wait until State of the object is @state, by its PropertiesChanged. */
void daemon_wait_state(struct daemon_fixture *fixture, const char *path, const char *interface,
                       const char *state);

/* The same for a number: until it is above @value, or exactly that. */
void daemon_wait_above(struct daemon_fixture *fixture, const char *path, const char *interface,
                       const char *property, uint64_t value);
void daemon_wait_u64(struct daemon_fixture *fixture, const char *path, const char *interface,
                     const char *property, uint64_t value);

/* Call a method with only a{sv} options. Return: 0; -errno, and *ret_error where not NULL. */
int daemon_call(struct daemon_fixture *fixture, const char *path, const char *interface,
                const char *method, sd_bus_error *ret_error);

/* One line of /proc/PID/status in kB or as a number. */
uint64_t daemon_proc_status(struct daemon_fixture *fixture, const char *key);
