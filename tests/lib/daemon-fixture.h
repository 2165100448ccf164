/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * daemon-fixture.h - the real nodeinitd on a bus, a configuration and a notify socket of its own
 *
 * Faults are ck_assert()s. One test, one thread beside that of the notify socket. Every wait has a
 * limit, and none of them is a sleep: they end with the event. The binary is $NODEINITD.
 *
 * Descriptors that a daemon puts into the store of its service manager (FDSTORE=1) are kept over
 * its end and given to the next one that is launched, until the fixture is stopped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bus-fixture.h"
#include "notify-socket.h"

#define DAEMON_LIMIT_MSEC 20000

/* Embedded by value; all zero before daemon_fixture_start(). */
struct daemon_fixture {
	struct bus_fixture bus;
	char directory[64]; /* --config: nodeinitd.conf, pools.d; also the log */
	char log_path[96];
	struct notify_socket notify; /* the service manager: notify messages, the store */
	pid_t pid;                   /* 0: not running */
	sd_bus *client;
};

/* Bus, empty configuration, notify socket; no daemon yet. */
void daemon_fixture_start(struct daemon_fixture *fixture);
/* End what still runs and remove everything. */
void daemon_fixture_stop(struct daemon_fixture *fixture);

/* Write pools.d/NAME.pool, or nodeinitd.conf. */
void daemon_write_pool(struct daemon_fixture *fixture, const char *name, const char *text);
void daemon_write_conf(struct daemon_fixture *fixture, const char *text);
void daemon_remove_pool(struct daemon_fixture *fixture, const char *name);

/* Start it with what is in the store; @environment: NAME=VALUE texts, NULL terminated, or NULL. */
void daemon_launch(struct daemon_fixture *fixture, const char *const *environment);

/* Read notify messages until a line equals @line, or begins with it where it ends in "*". */
void daemon_wait_notified(struct daemon_fixture *fixture, const char *line);
/* Whether such a line has been read, or waits to be read. */
bool daemon_was_notified(struct daemon_fixture *fixture, const char *line);
/* Begin anew: what was read so far does not count any more. */
void daemon_forget_notified(struct daemon_fixture *fixture);

/*
 * The store, as of all that was sent so far. @pattern: of names, as fnmatch(3); "*" is all.
 * systemd keeps a descriptor that comes a second time, or comes too many, out of it in silence.
 */
size_t daemon_store_nr(struct daemon_fixture *fixture, const char *pattern);
/* How many were refused in silence. */
size_t daemon_store_nr_dropped(struct daemon_fixture *fixture);
/* A line with each name, in the order in which the next daemon gets them. The caller frees. */
char *daemon_store_names(struct daemon_fixture *fixture);
/* A duplicate of the first one with that name; the caller closes it. Return: -1: there is none. */
int daemon_store_get(struct daemon_fixture *fixture, const char *name);
/* Put @fd in as if the daemon had; stays the caller's. */
void daemon_store_put(struct daemon_fixture *fixture, const char *name, int fd);
/* Wait until so many are in it. */
void daemon_store_wait(struct daemon_fixture *fixture, const char *pattern, size_t nr);

/* Take at most @nr of the matching ones out, chosen by @seed (SIZE_MAX: all). Return: how many. */
size_t daemon_store_drop(struct daemon_fixture *fixture, const char *pattern, size_t nr,
                         unsigned seed);
void daemon_store_shuffle(struct daemon_fixture *fixture, unsigned seed);
/* Have what is kept under @name twice. Return: how many were added. */
size_t daemon_store_duplicate(struct daemon_fixture *fixture, const char *name);
/* Have room for @nr, FileDescriptorStoreMax=; what is in it already stays. */
void daemon_store_limit(struct daemon_fixture *fixture, size_t nr);

/* Send @signal and wait for the end. Return: the exit status, or 128 + signal. */
int daemon_end(struct daemon_fixture *fixture, int signal);
/* Wait for it to end by itself. */
int daemon_wait_end(struct daemon_fixture *fixture);

/* Everything it wrote to standard error so far. The caller frees. */
char *daemon_log(struct daemon_fixture *fixture);

/* The connection by which the fixture asks. Borrowed. */
sd_bus *daemon_client(struct daemon_fixture *fixture);

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
