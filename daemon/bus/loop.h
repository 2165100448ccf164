/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * loop.h - one sd-bus connection on the libev loop
 *
 * Layer: bus. Threads: main; an sd-bus object belongs to one thread for life.
 *
 * sd-bus wants to be polled with a mask and an absolute deadline that change whenever anything is
 * queued, also from outside its callbacks; so both are asked for again before every sleep
 * (sd_bus_get_fd(3)). Here is where the bus is polled, and nowhere else.
 */
#pragma once

#include <ev.h>
#include <systemd/sd-bus.h>

#include "../base/scoped.h"

struct bus_loop;

/* The connection failed with @error (-errno) and is off the loop; called at most once. */
typedef void (*bus_lost_fn)(int error, void *arg);

/*
 * Put @bus on @loop. Takes one reference to @bus; borrows @loop.
 * Return: 0 and *ret, which the caller owns; -ENOMEM; the error of sd_bus_get_fd(3).
 */
int bus_loop_new(struct ev_loop *loop, sd_bus *bus, bus_lost_fn lost, void *arg,
                 struct bus_loop **ret);

/* Take it off the loop, flush, close, drop the reference. NULL is fine. */
struct bus_loop *bus_loop_free(struct bus_loop *bus_loop);
DEFINE_SCOPED(struct bus_loop *, bus_loop_free)
