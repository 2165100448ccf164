/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>

#include "../base/clock.h"
#include "loop.h"

/*
 * Messages of one turn. What is left over makes the deadline lie in the past, so the next turn
 * goes on; the workers' bell and the watchdog get theirs in between, however busy a client is.
 */
#define MESSAGES_PER_TURN 16

struct bus_loop {
	struct ev_loop *loop; /* borrowed */
	sd_bus *bus;          /* one reference */
	bus_lost_fn lost;
	void *arg;

	ev_prepare before_sleep;
	ev_io io;
	ev_timer deadline;
};

static void stop_watching(struct bus_loop *bus_loop)
{
	ev_prepare_stop(bus_loop->loop, &bus_loop->before_sleep);
	ev_io_stop(bus_loop->loop, &bus_loop->io);
	ev_timer_stop(bus_loop->loop, &bus_loop->deadline);
}

/* The owner may free @bus_loop in here: nothing may look at it afterwards. */
static void give_up(struct bus_loop *bus_loop, int error)
{
	stop_watching(bus_loop);
	bus_loop->lost(error, bus_loop->arg);
}

static void process(struct bus_loop *bus_loop)
{
	for (unsigned i = 0; i < MESSAGES_PER_TURN; i++) {
		int r = sd_bus_process(bus_loop->bus, NULL);

		if (r < 0) {
			give_up(bus_loop, r);
			return;
		}
		if (r == 0)
			return;
	}
}

static void on_io(struct ev_loop *loop, ev_io *watcher, int revents)
{
	(void) loop, (void) revents;
	process(watcher->data);
}

static void on_deadline(struct ev_loop *loop, ev_timer *watcher, int revents)
{
	(void) loop, (void) revents;
	process(watcher->data);
}

static void watch_events(struct bus_loop *bus_loop, int poll_events)
{
	int wanted = (poll_events & POLLIN ? EV_READ : 0) | (poll_events & POLLOUT ? EV_WRITE : 0);

	if (ev_is_active(&bus_loop->io) && (bus_loop->io.events & (EV_READ | EV_WRITE)) == wanted)
		return;
	ev_io_stop(bus_loop->loop, &bus_loop->io);
	ev_io_set(&bus_loop->io, bus_loop->io.fd, wanted);
	if (wanted)
		ev_io_start(bus_loop->loop, &bus_loop->io);
}

/* @deadline_usec is a point of the monotonic clock: 0 or any time gone by means now. */
static void watch_deadline(struct bus_loop *bus_loop, uint64_t deadline_usec)
{
	uint64_t now_usec = clock_monotonic_usec();
	uint64_t wait_usec = deadline_usec > now_usec ? deadline_usec - now_usec : 0;

	ev_timer_stop(bus_loop->loop, &bus_loop->deadline);
	if (deadline_usec == UINT64_MAX)
		return;
	ev_timer_set(&bus_loop->deadline, (ev_tstamp) wait_usec * 1e-6, 0.);
	ev_timer_start(bus_loop->loop, &bus_loop->deadline);
}

/* Anything that ran in this turn may have queued a message: ask for both anew. */
static void on_before_sleep(struct ev_loop *loop, ev_prepare *watcher, int revents)
{
	struct bus_loop *bus_loop = watcher->data;
	uint64_t deadline_usec;
	int poll_events, r;

	(void) loop, (void) revents;

	poll_events = sd_bus_get_events(bus_loop->bus);
	if (poll_events < 0) {
		give_up(bus_loop, poll_events);
		return;
	}
	r = sd_bus_get_timeout(bus_loop->bus, &deadline_usec);
	if (r < 0) {
		give_up(bus_loop, r);
		return;
	}
	watch_events(bus_loop, poll_events);
	watch_deadline(bus_loop, deadline_usec);
}

int bus_loop_new(struct ev_loop *loop, sd_bus *bus, bus_lost_fn lost, void *arg,
                 struct bus_loop **ret)
{
	struct bus_loop *bus_loop;
	int fd;

	fd = sd_bus_get_fd(bus);
	if (fd < 0)
		return fd;

	bus_loop = calloc(1, sizeof(*bus_loop));
	if (!bus_loop)
		return -ENOMEM;

	bus_loop->loop = loop;
	bus_loop->bus = sd_bus_ref(bus);
	bus_loop->lost = lost;
	bus_loop->arg = arg;
	ev_prepare_init(&bus_loop->before_sleep, on_before_sleep);
	ev_io_init(&bus_loop->io, on_io, fd, 0);
	ev_timer_init(&bus_loop->deadline, on_deadline, 0., 0.);
	bus_loop->before_sleep.data = bus_loop;
	bus_loop->io.data = bus_loop;
	bus_loop->deadline.data = bus_loop;
	ev_prepare_start(loop, &bus_loop->before_sleep);

	*ret = bus_loop;
	return 0;
}

struct bus_loop *bus_loop_free(struct bus_loop *bus_loop)
{
	if (!bus_loop)
		return NULL;

	stop_watching(bus_loop);
	/* Before the bus has let us in, a flush would wait for it, perhaps for long. */
	if (sd_bus_is_ready(bus_loop->bus) > 0)
		(void) sd_bus_flush(bus_loop->bus);
	sd_bus_close(bus_loop->bus);
	sd_bus_unref(bus_loop->bus);
	free(bus_loop);
	return NULL;
}
