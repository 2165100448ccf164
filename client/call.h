/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * call.h - calls of the daemon that end with its options
 *
 * They never start the daemon: one that is not there has nothing to steer and nothing to lend.
 */
#pragma once

#include <systemd/sd-bus.h>

/* A call of @member without arguments as yet. Return: 0 and *ret, which the caller owns; -errno. */
int call_new(sd_bus *bus, const char *path, const char *interface, const char *member,
             sd_bus_message **ret);

/*
 * Call @member with @name in front of the options, or with the options only where it is NULL. No
 * option is set. @ret_reply may be NULL. Return: as sd_bus_call(3).
 */
int call_named(sd_bus *bus, const char *path, const char *interface, const char *member,
               const char *name, sd_bus_error *ret_error, sd_bus_message **ret_reply);

/*
 * The object of the pool called @name, which the caller frees; the answer has @limit_usec, 0: that
 * of every call. Return: as sd_bus_call(3); -EBADMSG.
 */
int call_get_pool(sd_bus *bus, const char *name, uint64_t limit_usec, sd_bus_error *ret_error,
                  char **ret_path);
